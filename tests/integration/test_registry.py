"""Schemas in a registry, on a real Kafka: what confluent-kafka writes we read, and the other way.

Its clients and serializers are others' word for the wire format and for the registry's interface.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.config import load
from meteragent.config.works import Work, works
from meteragent.kafka import schemas
from meteragent.kafka.agent import Agent
from meteragent.stream.readings import Reason
from meteragent.watch.events import BatchTaken, Occurrence, PartitionFailed, SchemasAwaited
from tests.files.given import CONFIGURATION, lively, write_key
from tests.formats.test_avro import GAPS
from tests.formats.written import PROTO, READING
from tests.gateway.mosquitto import free_port
from tests.integration.fleet import watching
from tests.integration.street import by_group, closing, day, soon
from tests.integration.test_same_as_files import (
    Published,
    configured,
    partition_of,
    through_kafka,
)
from tests.integration.test_same_as_files import through_files as meters_through_files
from tests.integration.test_topics import alter
from tests.registry.real import apicurio
from tests.registry.server import GLOBAL, Registry, registry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from meteragent.config import Config
    from tests.integration.street import Street

    Write = Callable[[str, dict[str, Any]], bytes]

pytestmark = pytest.mark.integration

LINES = 600
KINDS, PORTION = 12, 10
"""Of schemas; and how many records are sent at once."""
MOST_DEATHS = 100
EVER = 10**6
"""Tries; the test ends sooner."""
EITHER = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Reading",
    "type": "object",
    "properties": {"meter_id": {"type": "string"}, "ts": {"type": "integer"}},
    "required": ["meter_id"],
}


def written(serializer: Any, topic: str, record: Any) -> bytes:  # noqa: ANN401 - not typed
    found: bytes = serializer(record, SerializationContext(topic, MessageField.VALUE))
    return found


def as_avro(client: SchemaRegistryClient, schema: dict[str, Any], kind: str) -> AvroSerializer:
    conf = {"subject.name.strategy": named(kind)}
    return AvroSerializer(client, json.dumps(schema), conf=conf)


def in_avro(client: SchemaRegistryClient) -> Write:
    both = [as_avro(client, READING, "reading"), as_avro(client, GAPS, "block")]
    return lambda topic, record: written(both["value" not in record], topic, record)


def named(kind: str) -> Callable[..., str]:
    """A topic that holds several kinds of records has a subject for each."""
    return lambda context, _: f"{context.topic}-{kind}"


def in_protobuf(client: SchemaRegistryClient) -> Write:
    pool = DescriptorPool()
    pool.Add(PROTO)
    kinds = [GetMessageClass(pool.FindMessageTypeByName(name)) for name in ("Reading", "Block")]
    both = [ProtobufSerializer(kind, client) for kind in kinds]

    def write(topic: str, record: dict[str, Any]) -> bytes:
        which = "value" not in record
        return written(both[which], topic, kinds[which](**record))

    return write


def in_json(client: SchemaRegistryClient) -> Write:
    serializer = JSONSerializer(json.dumps(EITHER), client)
    return lambda topic, record: written(serializer, topic, record)


FORMATS: dict[str, Callable[[SchemaRegistryClient], Write]] = {
    "avro": in_avro,
    "protobuf": in_protobuf,
    "json-schema": in_json,
}


@pytest.fixture
def server() -> Iterator[Registry]:
    with registry() as made:
        yield made


@pytest.fixture
def client(server: Registry) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": server.url}) as made:
        yield made


def good(seed: int, *, gaps: bool) -> list[bytes]:
    """Lines that hold readings and blocks, some of them late or double."""
    lines = [line for line in lively(LINES, seed).splitlines() if line.startswith(b'{"meter_id"')]
    return lines if gaps else [line for line in lines if b"null" not in line]


@dataclass
class Place:
    """A configuration and its topics."""

    config: Config
    partitions: int
    topic: str = field(init=False)

    def __post_init__(self) -> None:
        self.topic = self.config.kafka.input
        create = ["topics", "create", "-c", "agent.toml", "--partitions", str(self.partitions)]
        assert main(create) == Exit.OK
        asyncio.run(alter(self.config, self.config.kafka.output, retention_ms="-1"))


def place(
    kafka: str, url: str, directory: Path, *, written: str, partitions: int = 2, more: str = "",
    name: str = "registry", output: str = "json",
) -> Place:  # fmt: skip
    write_key(directory)
    text = configured(kafka, f"{name}-{written}-{os.getpid()}", CONFIGURATION)
    (directory / "plain.toml").write_text(text)
    text += f'output_format = "{output}"\n[kafka.registry]\nurl = "{url}"\n{more}\n'
    text += f'[input]\nformat = "{written}"\n'
    text = text.replace("[agent]", "[agent]\nmax_batch = 1")
    (directory / "agent.toml").write_text(text)
    return Place(load(directory / "agent.toml", {}), partitions)


def sending(write: Write) -> Callable[[Config, int, list[bytes]], Awaitable[None]]:
    """Lines, each as another writes what it says, in the partition of its meter."""

    async def send(config: Config, partitions: int, lines: list[bytes]) -> None:
        topic = config.kafka.input

        def messages() -> list[tuple[bytes, int]]:
            homes = (partition_of(line, partitions) for line in lines)
            return [
                (write(topic, json.loads(line)), at) for line, at in zip(lines, homes, strict=True)
            ]

        await put(config, await asyncio.to_thread(messages))  # its clients block

    return send


async def put(config: Config, messages: list[tuple[bytes, int]]) -> None:
    async with AIOKafkaProducer(
        bootstrap_servers=list(config.kafka.bootstrap_servers), acks="all", enable_idempotence=True
    ) as producer:
        for message, partition in messages:
            await producer.send(config.kafka.input, message, partition=partition)
        await producer.flush()


def from_files(where: Place, lines: list[bytes]) -> Published:
    """What the same lines give as JSON, without Kafka."""
    file = Path("agent.toml")
    kept = file.read_text()
    file.write_text(Path("plain.toml").read_text())
    try:
        return meters_through_files(where.partitions, lines, ())
    finally:
        file.write_text(kept)


@pytest.mark.parametrize("written", FORMATS)
def test_what_others_serializers_write_is_released_as_json_is(
    kafka: str,
    server: Registry,
    client: SchemaRegistryClient,
    written: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    where = place(kafka, server.url, tmp_path, written=written)
    lines = good(1, gaps=written != "protobuf")
    expected = from_files(where, lines)
    count = sum(map(len, expected.values()))
    assert count > 50
    write = FORMATS[written](client)
    read = asyncio.run(through_kafka(where.config, 2, lines, count, send=sending(write)))
    assert read == expected


def test_schemas_that_headers_name_are_read_by_apicurios_own_interface(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = good(6, gaps=True)[:200]

    async def send(config: Config, partitions: int, lines: list[bytes]) -> None:
        write = await asyncio.to_thread(in_avro, client)
        brokers = [*config.kafka.bootstrap_servers]
        async with AIOKafkaProducer(bootstrap_servers=brokers, acks="all") as producer:
            for line in lines:
                message = await asyncio.to_thread(write, config.kafka.input, json.loads(line))
                number = GLOBAL + int.from_bytes(message[1:5])
                headers = [("apicurio.value.globalId", number.to_bytes(8))]
                at = partition_of(line, partitions)
                await producer.send(config.kafka.input, message[5:], partition=at, headers=headers)
            await producer.flush()

    with registry(under="/apis/registry/v3") as server:
        more = 'framing = "apicurio-headers"\nids = "global"'
        where = place(kafka, server.url, tmp_path, written="avro", name="headers", more=more)
        expected = from_files(where, lines)
        count = sum(map(len, expected.values()))
        with SchemaRegistryClient({"url": server.url.removesuffix(server.under)}) as client:
            read = asyncio.run(through_kafka(where.config, 2, lines, count, send=send))
        assert read == expected
        assert "/apis/registry/v3/ids/globalIds/" in " ".join(server.behaviour.asked)


def test_releases_in_avro_are_read_by_others_deserializer(
    kafka: str,
    server: Registry,
    client: SchemaRegistryClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    where = place(kafka, server.url, tmp_path, written="avro", output="avro", name="out")
    released_alike(where, client, in_avro(client), good(2, gaps=True))


def released_alike(
    where: Place, client: SchemaRegistryClient, write: Write, lines: list[bytes]
) -> None:
    """Fails unless another's deserializer reads of releases in Avro what files say as JSON."""
    expected = from_files(where, lines)
    deserialize = AvroDeserializer(client)

    def document(value: bytes) -> dict[str, Any]:
        topic = where.config.kafka.output
        found = deserialize(value, SerializationContext(topic, MessageField.VALUE))
        return {key: its for key, its in found.items() if its is not None}

    count = sum(map(len, expected.values()))
    read = asyncio.run(
        through_kafka(
            where.config, 2, lines, count,
            send=sending(write),
            policy=lambda value: document(value)["policy"],
        )
    )  # fmt: skip
    told = {
        whose: [(end, document(value)) for end, value in releases]
        for whose, releases in read.items()
    }
    assert told == {
        whose: [(end, json.loads(text)) for end, text in its] for whose, its in expected.items()
    }
    registered = client.get_latest_version(f"{where.config.kafka.output}-value")
    assert json.loads(registered.schema.schema_str)["name"] == "Release"


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with apicurio(tmp_path_factory.mktemp("apicurio"), free_port()) as url:
        yield url


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("written", FORMATS)
def test_a_real_registry_serves_both_sides(
    kafka: str, real: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url = f"{real}/apis/ccompat/v7"
    where = place(kafka, url, tmp_path, written=written, output="avro", name="real")
    with SchemaRegistryClient({"url": url}) as client:
        lines = good(7, gaps=written != "protobuf")
        released_alike(where, client, FORMATS[written](client), lines)
    assert main(["check", "-c", "agent.toml"]) == Exit.OK


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_real_registry_tells_schemas_by_its_own_interface(
    kafka: str, real: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own, more = f"{real}/apis/registry/v2", 'framing = "apicurio-4"\nids = "global"'
    where = place(kafka, own, tmp_path, written="avro", name="own", more=more)
    lines = good(8, gaps=True)
    expected = from_files(where, lines)
    count = sum(map(len, expected.values()))
    with SchemaRegistryClient({"url": f"{real}/apis/ccompat/v7"}) as client:
        send = sending(in_avro(client))
        read = asyncio.run(through_kafka(where.config, 2, lines, count, send=send))
    assert read == expected


IN_AVRO = 'output_format = "avro"\n[kafka.registry]\nurl = "{url}"\n'


def test_releases_of_groups_in_avro_are_read_by_others_deserializer(
    street: Street,
    server: Registry,
    client: SchemaRegistryClient,
) -> None:
    """Those of copies for others too."""
    begin = soon()
    lines = [*day(begin, 1, hours=2), *closing(begin, street.partitions)]

    async def scenario() -> tuple[list[bytes], list[bytes]]:
        await street.prepare()
        expected = await street.as_of_one_file(lines)
        street.kafka += IN_AVRO.format(url=server.url)
        street.write()
        await street.produce(lines)
        async with street.working():
            return expected, await street.published(len(expected))

    expected, found = asyncio.run(scenario())
    assert len(expected) > 50
    deserialize, outputs = AvroDeserializer(client), works(street.config)[Work.GROUPS].kafka.outputs
    context = SerializationContext(outputs[0], MessageField.VALUE)
    told = [
        {key: its for key, its in deserialize(value, context).items() if its is not None}
        for value in found
    ]
    assert by_group([json.dumps(one, sort_keys=True).encode() for one in told]) == by_group(
        [json.dumps(json.loads(text), sort_keys=True).encode() for text in expected]
    )
    for topic in outputs:
        registered = client.get_latest_version(f"{topic}-value")
        assert json.loads(registered.schema.schema_str)["name"] == "Release"


class Heard(list[Occurrence]):
    """All that an agent tells."""

    __call__ = list.append

    def records(self) -> int:
        return sum(event.records for event in self.of(BatchTaken))

    def of(self, kind: type) -> list[Any]:
        return [event for event in self if isinstance(event, kind)]


async def until(true: Callable[[], bool], tries: int = 4500) -> None:
    for _ in range(tries):
        if true():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it has not come true in time")


def grown(count: Callable[[], int], *, or_else: Callable[[], bool]) -> Callable[[], bool]:
    """Whether there are more of them than now."""
    before = count()
    return lambda: count() > before or or_else()


def evolving(
    client: SchemaRegistryClient, topic: str, lines: list[bytes], kinds: int
) -> list[tuple[bytes, int]]:
    """The lines, written by senders that are upgraded again and again: a new schema each time."""
    messages = []
    for at in range(kinds):
        fields = [*READING["fields"], {"name": f"firmware_{at}", "type": "int", "default": 0}]
        fields = fields[at % 3 :] + fields[: at % 3]  # and their order is not always the same
        serializer = as_avro(client, READING | {"fields": fields}, f"v{at}")
        for line in lines[at * len(lines) // kinds : (at + 1) * len(lines) // kinds]:
            message = written(serializer, topic, json.loads(line) | {f"firmware_{at}": at})
            messages.append((message, partition_of(line, 2)))
    return messages


def test_a_registry_that_dies_again_and_again_loses_nothing(
    kafka: str,
    server: Registry,
    client: SchemaRegistryClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Under load; and whoever needs a schema meanwhile waits, says so, and goes on."""
    monkeypatch.chdir(tmp_path)
    where = place(kafka, server.url, tmp_path, written="avro", name="dies", more="cache = 3")
    lines = [line for line in good(3, gaps=False) if b"values" not in line]
    expected = from_files(where, lines)
    messages = evolving(client, where.topic, lines, KINDS)
    heard = Heard()

    async def scenario() -> Published:
        server.kill()

        async def disturbed(config: Config, partitions: int, lines: list[bytes]) -> None:
            del partitions, lines
            for at in range(0, len(messages), PORTION):
                await put(config, messages[at : at + PORTION])
            agent = Agent(config, config.agent.noise_key(), heard)
            running = asyncio.create_task(agent.run())
            await until(lambda: max(agent.awaited().values(), default=0) > schemas.PATIENCE_SECONDS)
            assert not agent.ready
            assert agent.alive
            taken, asked = heard.records, server.behaviour.asked
            assert taken() == 0

            def done() -> bool:
                return taken() == len(messages)

            for _ in range(MOST_DEATHS):
                server.start()
                await until(grown(lambda: len(asked), or_else=done))
                server.kill()
                await until(grown(lambda: len(heard.of(SchemasAwaited)), or_else=done))
                if done():
                    break
            assert len(asked) >= KINDS
            server.start()
            await until(lambda: agent.ready and done())
            agent.stop()
            await running

        count = sum(map(len, expected.values()))
        return await through_kafka(where.config, 2, lines, count, send=disturbed)

    assert asyncio.run(scenario()) == expected
    assert len(heard.of(SchemasAwaited)) > KINDS // 2
    assert not heard.of(PartitionFailed)
    assert {reason for event in heard.of(BatchTaken) for reason in event.rejects} == {
        Reason.NO_POLICY  # of meters that nothing is released of
    }


async def rejected(kafka: str, where: Place) -> list[dict[str, Any]]:
    """All that is said of rejects."""
    async with watching(kafka) as (consumer, _):
        sources = [
            TopicPartition(where.config.kafka.rejected, at) for at in range(where.partitions)
        ]
        consumer.assign(sources)
        await consumer.seek_to_beginning(*sources)
        ends = await consumer.end_offsets(sources)
        found = []
        while [s for s in sources if await consumer.position(s) < ends[s]]:
            for records in (await consumer.getmany(timeout_ms=200)).values():
                found += [json.loads(record.value) for record in records]
        return found


@dataclass
class UnderLoad:
    """A backlog, a registry that dies and comes back, and an agent that reads meanwhile.

    All was sent before: an agent that has read everything lets the clock close windows, and what
    is sent then is late.
    """

    where: Place
    server: Registry
    messages: list[tuple[bytes, int]]
    rng: Random
    unknown: str
    heard: Heard = field(default_factory=Heard)

    def awaited(self) -> int:
        """How often somebody has waited in vain; or given up, where that is what they do."""
        events = self.heard.of(SchemasAwaited)
        return sum(self.unknown == "wait" or not event.retry_in for event in events)

    async def disturb(self) -> None:
        """The registry dies once it was asked, and comes back once somebody has waited for it."""
        asked = self.server.behaviour.asked
        while True:
            self.server.kill()
            await until(grown(self.awaited, or_else=_never), EVER)
            await asyncio.sleep(self.rng.uniform(0, 0.1))
            self.server.start()
            await until(grown(lambda: len(asked), or_else=_never), EVER)

    async def play(self, *, agents: int) -> None:
        """Until all was taken in and decided; by several agents, one after the other.

        Decided, because what one rejects another takes in, if it reads it again for a window that
        is still open and the registry tells it more: as the option says.
        """
        config = self.where.config
        await put(config, self.messages)
        disturbing = asyncio.create_task(self.disturb())
        for left in range(agents - 1, -1, -1):
            agent = Agent(config, config.agent.noise_key(), self.heard)
            running = asyncio.create_task(agent.run())
            if left:
                await asyncio.sleep(self.rng.uniform(0.5, 2.0))
            else:
                counts = Counter(at for _, at in self.messages)
                await until(partial(_has_decided_all, agent, counts))
            agent.stop()
            await running
        disturbing.cancel()
        self.server.kill()
        self.server.start()


def _never() -> bool:
    return False


def _has_decided_all(agent: Agent, counts: Mapping[int, int]) -> bool:
    """What was read may wait to be decoded, or for its schemas, or be needed for open windows."""
    workers = agent.group.workers.values() if agent.group else ()
    intakes = {w.partition: w.intake for w in workers if w.intake is not None}
    quiet = all(not intake.busy and not intake.waiting for intake in intakes.values())
    past = {at: intake.pipeline.position().offset for at, intake in intakes.items()}
    return agent.ready and quiet and all(past.get(at, 0) >= count for at, count in counts.items())


def under_load(
    kafka: str, server: Registry, client: SchemaRegistryClient, directory: Path, seed: int,
    unknown: str,
) -> None:  # fmt: skip
    """Fails unless every record is taken in once, or rejected once as of an unknown schema."""
    where = place(
        kafka, server.url, directory, written="avro", name=f"load-{unknown}-{seed}",
        more=f'cache = 3\nunknown = "{unknown}"',
    )  # fmt: skip
    lines = [line for line in good(seed, gaps=False) if b"values" not in line]
    messages = evolving(client, where.topic, lines, KINDS)
    load = UnderLoad(where, server, messages, Random(seed), unknown)
    asyncio.run(load.play(agents=3 if unknown == "wait" else 1))
    told = asyncio.run(rejected(kafka, where))
    without = [(one["partition"], one["offset"]) for one in told if one["reason"] != "no_policy"]
    assert {one["reason"] for one in told} <= {"no_policy", "unknown_schema"}
    assert len(without) == len({*without})
    assert bool(without) == (unknown == "reject")
    seen, taken = Counter[int](), []
    for line, (_, partition) in zip(lines, messages, strict=True):
        if (partition, seen[partition]) not in without:
            taken.append(line)
        seen[partition] += 1
    expected = from_files(where, taken)
    count = sum(map(len, expected.values()))
    assert count > 50

    async def nothing_more(*_: object) -> None:
        """All of it was sent."""

    assert asyncio.run(through_kafka(where.config, 2, lines, count, send=nothing_more)) == expected
    assert not load.heard.of(PartitionFailed)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(schemas, "UNKNOWN_SECONDS", 0.5)  # so long that a busy machine rejects
    monkeypatch.setattr(schemas, "FIRST_RETRY_SECONDS", 0.02)


@pytest.mark.parametrize("unknown", ["wait", "reject"])
@pytest.mark.usefixtures("impatient")
def test_a_registry_that_dies_under_load_loses_nothing_and_nothing_comes_twice(
    kafka: str, server: Registry, client: SchemaRegistryClient, unknown: str, tmp_path: Path
) -> None:
    under_load(kafka, server, client, tmp_path, 5, unknown)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("unknown", ["wait", "reject"])
@pytest.mark.usefixtures("impatient")
def test_a_registry_that_dies_under_load_often(
    kafka: str,
    server: Registry,
    client: SchemaRegistryClient,
    unknown: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for seed in range(6, 16):
        directory = tmp_path / str(seed)
        directory.mkdir()
        monkeypatch.chdir(directory)
        under_load(kafka, server, client, directory, seed, unknown)


def test_records_of_unknown_schemas_are_rejected_where_that_is_set(
    kafka: str,
    server: Registry,
    client: SchemaRegistryClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(schemas, "UNKNOWN_SECONDS", 0.5)
    where = place(
        kafka, server.url, tmp_path, written="avro", name="reject", partitions=1,
        more='unknown = "reject"',
    )  # fmt: skip
    write = in_avro(client)
    lines = good(4, gaps=True)[:100]
    messages = [write(where.topic, json.loads(line)) for line in lines]
    unknown = b"\x00\x00\x00\x63\x00"
    heard = Heard()

    async def scenario() -> list[dict[str, Any]]:
        agent = Agent(where.config, where.config.agent.noise_key(), heard)
        running = asyncio.create_task(agent.run())

        taken = heard.records
        await put(where.config, [(m, 0) for m in [*messages[:50], unknown + b"secret", b"plain"]])
        await until(lambda: taken() == 52)
        server.kill()
        await put(where.config, [(b"\x00\x00\x00\x00\x64" + b"secret", 0)])
        await until(lambda: taken() == 53)
        assert agent.ready
        server.start()
        await asyncio.sleep(0.6)
        server.store.schemas[100] = {"schema": '"string"', "schemaType": "AVRO", "references": []}
        others = [b"\x00\x00\x00\x00\x64" + b"secret", *messages[50:]]
        await put(where.config, [(message, 0) for message in others])
        await until(lambda: taken() == 54 + len(messages) - 50)
        agent.stop()
        await running
        return await rejected(kafka, where)

    told = [(one["offset"], one["reason"]) for one in asyncio.run(scenario())]
    found = [one for one in told if one[1] != "no_policy"]
    reasons = ("unknown_schema", "bad_framing", "unknown_schema", "bad_schema")
    assert found == [*enumerate(reasons, 50)]


def test_check_says_whether_schemas_can_be_had(
    kafka: str,
    server: Registry,
    client: SchemaRegistryClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    where = place(kafka, server.url, tmp_path, written="protobuf", name="check", output="avro")
    check = ["check", "-c", "agent.toml"]
    subject = f"{where.topic}-value"

    assert main(check) == Exit.OK
    said = capsys.readouterr().out
    assert f"{subject}: no schema is registered yet" in said
    assert "schema registry: good" in said
    assert client.get_latest_version(f"{where.config.kafka.output}-value").schema_id is not None

    client.register_schema(subject, Schema(json.dumps(READING), "AVRO"))
    assert main(check) == Exit.DENIED
    assert "is not read as protobuf" in capsys.readouterr().err

    in_protobuf(client)(where.topic, {"meter_id": "m", "ts": 1, "value": 1.0})
    assert main(check) == Exit.OK
    assert "is read" in capsys.readouterr().out

    server.behaviour.login = "agent:secret"
    assert main(check) == Exit.DENIED
    assert "the login was refused; check username" in capsys.readouterr().err
    server.behaviour.login = None
    server.kill()
    assert main(check) == Exit.UNAVAILABLE
    assert f"kafka.registry.url: {server.url} does not answer" in capsys.readouterr().err
