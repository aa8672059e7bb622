"""Trouble is said, shown by readiness and got over; and no release is ever without its charge."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import time
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import NewPartitions, RecordsToDelete

from meteragent.commands.exit_codes import Exit
from tests.integration.fleet import QUICK, Agent, Fleet, reasons, watching
from tests.integration.load import Load, produce
from tests.integration.local_broker import NOT_RUNNING, Broker
from tests.integration.oracle import assert_exactly_once, assert_paid

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

pytestmark = pytest.mark.integration

GUEST = """
[kafka.security]
protocol = "SASL_PLAINTEXT"
mechanism = "SCRAM-SHA-256"
username = "guest"
password_file = "{}"
"""
RIGHTS = {
    "reading": ("Read DescribeConfigs", "topic", "in"),
    "releasing": ("Write DescribeConfigs", "topic", "out"),
    "accounting": ("Read Write DescribeConfigs", "topic", "ledger"),
    "telling": ("Write DescribeConfigs", "topic", "rejected", "policies"),
    "joining": ("Read", "group", ""),
    "deciding": ("Write", "transactional-id", "{name}-in-"),
}
"""All that an agent needs, in the words of Kafka's tool; its input has one partition."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broker, dict[str, str]]]:
    """A broker on which a guest may do what it was given rights to."""
    shared = Broker(tmp_path_factory.mktemp("kafka"))
    yield shared, shared("start", "--sasl", *QUICK)
    shared("stop")


@pytest.fixture(scope="module")
def servers(cluster: tuple[Broker, dict[str, str]]) -> str:
    return cluster[1]["bootstrap"]


@asynccontextmanager
async def made(fleet: Fleet) -> AsyncIterator[Fleet]:
    """Its topics are there; none of its agents outlives it."""
    try:
        await fleet.create()
        yield fleet
    finally:
        await fleet.kill()


async def not_ready(agent: Agent, error: str) -> None:
    """It says what is wrong, and stays not ready for a while, trying again ever more slowly."""
    await agent.becomes("not ready")
    await agent.says("partition failed", error=error)
    for _ in range(20):
        assert await agent.shows("/readyz") == (503, "not ready\n")
        assert await agent.shows("/healthz") == (200, "alive\n")
        await asyncio.sleep(0.1)
    waits = [line["retry_in"] for line in agent.said("partition failed", partition=0)]
    assert len(waits) < 12
    assert waits == sorted(waits)


def test_topics_that_are_unfit_are_all_told_at_once(tmp_path: Path, servers: str) -> None:
    async def scenario() -> None:
        async with made(Fleet(tmp_path, servers, 2)) as fleet:
            names = fleet.config.kafka
            async with watching(servers) as (_, admin):
                await admin.delete_topics([names.output])
                await admin.create_partitions({names.ledger: NewPartitions(3)})
            await fleet.alter(names.ledger, cleanup_policy="delete")
            await fleet.alter(names.input, retention_ms="5000")
            for command in ("check", "run"):
                code, said = await fleet.command(command)
                assert code == Exit.TOPICS, said
                for problem in (
                    f"kafka.output: topic {names.output} does not exist; run `meteragent topics",
                    f"kafka.ledger: {names.ledger} has 3 partitions, {names.input} has 2",
                    f"kafka.ledger: {names.ledger} has cleanup.policy=delete",
                    f"kafka.input: {names.input} keeps records for 5s, open windows need 2m40s",
                    f"kafka.input: records of {names.input} carry their senders' time",
                    f"kafka.ledger: records of {names.ledger} carry their senders' time",
                ):
                    assert sum(reason.startswith(problem) for reason in reasons(said)) == 1, said
                assert len(reasons(said)) == 6

    asyncio.run(scenario())


@pytest.mark.parametrize("problem", ["there is no such file", "is open to others (mode 0644)"])
def test_a_key_that_is_missing_or_public_is_refused(tmp_path: Path, problem: str) -> None:
    async def scenario() -> None:
        fleet = Fleet(tmp_path, "127.0.0.1:1")
        fleet.write()
        if "0644" in problem:
            (tmp_path / "noise.key").chmod(0o644)
        else:
            (tmp_path / "noise.key").unlink()
        for command in (("check", "--offline"), ("run",)):
            code, said = await fleet.command(*command)
            assert code == Exit.KEY
            [reason] = reasons(said)
            assert f"noise.key: {problem}" in reason or f"noise.key {problem}" in reason

    asyncio.run(scenario())


def test_an_output_that_is_deleted_costs_nobody_a_second_charge(
    tmp_path: Path, servers: str
) -> None:
    async def scenario() -> None:
        quick = 'transaction_timeout = "3s"\n'
        async with made(Fleet(tmp_path, servers, 1, kafka=quick)) as fleet:
            output = fleet.config.kafka.output
            load = Load(20, meters=200, partitions=1, steps=30)
            production = asyncio.create_task(produce(servers, fleet.config.kafka.input, load, 12))
            agent = await fleet.start()
            await agent.becomes("ready")
            await asyncio.sleep(4)
            async with watching(servers) as (_, admin):
                await admin.delete_topics([output])
            await not_ready(agent, "TransactionTooLong")
            code, said = await fleet.command("topics", "create", "--partitions", "1")
            assert (code, said) == (Exit.OK, f"{output}: made\n")
            await agent.becomes("ready", seconds=60)
            await production
            await fleet.all_done()
            await fleet.stop()
            await assert_paid(servers, fleet.config, 1, lost=True)

    asyncio.run(scenario())


def test_rights_that_are_missing_or_taken_away(
    tmp_path: Path, cluster: tuple[Broker, dict[str, str]]
) -> None:
    broker, told = cluster

    async def rights(change: str, fleet: Fleet, *which: str) -> None:
        for operations, kind, *ends in map(RIGHTS.__getitem__, which):
            names = ["-".join(filter(None, (fleet.name, e.format(name=fleet.name)))) for e in ends]
            done = await asyncio.to_thread(
                broker.run,
                *("tool", "acls", change, "--force", "--allow-principal", "User:guest"),
                *(part for name in names for part in (f"--{kind}", name)),
                *(part for operation in operations.split() for part in ("--operation", operation)),
                *(("--resource-pattern-type", "prefixed") if kind == "transactional-id" else ()),
            )
            assert done.returncode == 0, done.stderr

    async def scenario() -> None:
        security = GUEST.format(told["guest_password_file"])
        listener = told["sasl_plaintext"]
        async with made(Fleet(tmp_path, told["bootstrap"], 1)) as fleet:
            fleet.kafka, fleet.listener = security, listener
            fleet.write()
            for command in ("check", "run"):
                code, said = await fleet.command(command)
                assert code == Exit.DENIED
                [reason] = reasons(said)
                assert f"kafka.security: {listener}: guest has no right to " in reason
            await rights("--add", fleet, *RIGHTS)
            code, said = await fleet.command("check")
            assert code == Exit.OK, said
            load = Load(21, meters=200, partitions=1, steps=30)
            production = asyncio.create_task(
                produce(fleet.servers, fleet.config.kafka.input, load, 20)
            )
            agent = await fleet.start()
            await agent.becomes("ready")
            for one in ("releasing", "joining", "reading"):
                await rights("--remove", fleet, one)
                assert await agent.ended(45) == Exit.DENIED
                assert f"kafka.security: {listener}: guest has no right " in agent.log.read_text()
                await rights("--add", fleet, one)
                agent = await fleet.start()
                await agent.becomes("ready")
            await production
            await fleet.all_done()
            await fleet.stop()
            await assert_exactly_once(fleet.servers, fleet.config, 1)

    asyncio.run(scenario())


@contextmanager
def small_disk(directory: Path, size: str) -> Iterator[Path]:
    """A file system of its own, in memory."""
    directory.mkdir()
    mount = ("mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(directory))
    subprocess.run(mount, check=True)  # noqa: S603 - a fixed command
    try:
        yield directory
    finally:
        subprocess.run(["umount", "--lazy", directory], check=True)  # noqa: S603, S607 - as well


def fill(path: Path) -> None:
    """Take all the room that there is."""
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 4096):
                pass
        except OSError:
            pass


def has_ended(broker: Broker) -> bool:
    """Whether it gives up within half a minute, as Kafka does that cannot write."""
    for _ in range(150):
        if broker.run("status").returncode == NOT_RUNNING:
            return True
        time.sleep(0.2)
    return False


def test_a_broker_whose_disk_is_full_loses_nothing(tmp_path: Path) -> None:
    async def scenario(broker: Broker) -> None:
        servers = (await asyncio.to_thread(broker, "start", *QUICK))["bootstrap"]
        async with made(Fleet(tmp_path, servers, 2)) as fleet:
            load = Load(22, meters=400, partitions=2, steps=24)
            production = asyncio.create_task(produce(servers, fleet.config.kafka.input, load, 12))
            agent = await fleet.start()
            await agent.becomes("ready")
            await asyncio.sleep(3)
            await asyncio.to_thread(fill, broker.directory / "filler")
            await agent.becomes("not ready", seconds=60)
            assert await asyncio.to_thread(has_ended, broker)
            (broker.directory / "filler").unlink()
            await asyncio.to_thread(broker, "restart", "1")
            await agent.becomes("ready", seconds=60)
            await production
            await fleet.all_done()
            await fleet.stop()
            await assert_exactly_once(servers, fleet.config, 2)

    with small_disk(tmp_path / "disk", "96m") as directory:
        broker = Broker(directory)
        try:
            asyncio.run(scenario(broker))
        finally:
            broker("stop")


def test_releases_that_a_topic_does_not_take(tmp_path: Path, servers: str) -> None:
    async def scenario() -> None:
        async with made(Fleet(tmp_path, servers, 1)) as fleet:
            names = fleet.config.kafka
            agent = await fleet.start()
            await agent.becomes("ready")
            kept = {"cleanup_policy": "compact", "message_timestamp_type": "LogAppendTime"}
            await fleet.alter(names.ledger, max_message_bytes="100", **kept)
            await produce(servers, names.input, Load(23, meters=200, partitions=1), 0)
            await not_ready(agent, "MessageSizeTooLargeError")
            [message] = {line["message"] for line in agent.said("partition failed")}
            assert "`meteragent check` says which" in message
            code, said = await fleet.command("check")
            assert code == Exit.TOPICS
            assert f"kafka.ledger: {names.ledger} takes records of 100 bytes" in said
            await assert_paid(servers, fleet.config, 1)
            await fleet.alter(names.ledger, **kept)
            await agent.becomes("ready")
            await fleet.all_done()
            await fleet.stop()
            await assert_exactly_once(servers, fleet.config, 1)

    asyncio.run(scenario())


def test_another_program_in_the_group_is_told_of(tmp_path: Path, servers: str) -> None:
    async def scenario() -> None:
        async with made(Fleet(tmp_path, servers, 1)) as fleet:
            names = fleet.config.kafka
            async with AIOKafkaConsumer(
                names.input,
                bootstrap_servers=servers,
                group_id=names.group,
                enable_auto_commit=False,
            ):
                agent = await fleet.start()
                await agent.says("agent failed", error="InconsistentGroupProtocolError")
                assert await agent.shows("/readyz") == (503, "not ready\n")
            [message] = {line["message"] for line in agent.said("agent failed")}
            assert message.startswith("kafka.group: another program is in this group; name ")
            await agent.becomes("ready")
            await fleet.stop()

    asyncio.run(scenario())


def wait_as_by_default(fleet: Fleet) -> None:
    """For an instance that says nothing."""
    fleet.file.write_text(fleet.file.read_text().replace('session_timeout = "2s"', ""))


def test_what_a_killed_agent_had_is_soon_taken_over(tmp_path: Path, servers: str) -> None:
    async def scenario() -> None:
        async with made(Fleet(tmp_path, servers, 1)) as fleet:
            wait_as_by_default(fleet)
            await (await fleet.start()).becomes("ready")
            await fleet.kill()
            await (await fleet.start()).becomes("ready", seconds=25)
            await fleet.stop()

    asyncio.run(scenario())


def test_records_that_are_deleted_under_a_frozen_agent_are_told_of(
    tmp_path: Path, servers: str
) -> None:
    async def scenario() -> None:
        async with made(Fleet(tmp_path, servers, 1)) as fleet:
            wait_as_by_default(fleet)
            source = TopicPartition(fleet.config.kafka.input, 0)
            agent = await fleet.start()
            await produce(servers, source.topic, Load(25, meters=20, partitions=1), 0)
            await fleet.all_done()
            agent.signal(signal.SIGSTOP)
            await produce(servers, source.topic, Load(26, meters=20, partitions=1), 0)
            async with watching(servers) as (consumer, admin):
                end = (await consumer.end_offsets([source]))[source]
                await admin.delete_records({source: RecordsToDelete(before_offset=end)})
            agent.signal(signal.SIGCONT)
            await agent.says("agent failed", error="OffsetOutOfRangeError")
            [message] = {line["message"] for line in agent.said("agent failed")}
            assert message.startswith("kafka.input: Kafka deleted records before they were read; ")
            await agent.says("records are lost that open windows needed")
            await agent.becomes("ready")
            await fleet.stop()

    asyncio.run(scenario())


def test_offsets_of_another_application_are_not_taken_for_ours(
    tmp_path: Path, servers: str
) -> None:
    async def scenario() -> None:
        async with made(Fleet(tmp_path, servers, 2)) as fleet:
            names = fleet.config.kafka
            theirs = TopicPartition(names.input, 0)
            async with AIOKafkaConsumer(
                bootstrap_servers=servers, group_id=names.group, enable_auto_commit=False
            ) as stranger:
                stranger.assign([theirs])
                await stranger.commit({theirs: (0, "theirs")})
            await produce(servers, names.input, Load(24, meters=60, partitions=2), 0)
            agent = await fleet.start()
            await not_ready(agent, "ForeignCommit")
            [message] = {line["message"] for line in agent.said("partition failed")}
            assert message == (
                f"kafka.group: {names.group} has an offset in partition 0 that this agent did not "
                "commit; take another group and ledger, or delete the group"
            )
            assert await released(fleet, 0) == 0
            assert await released(fleet, 1) > 0

    asyncio.run(scenario())


async def released(fleet: Fleet, partition: int) -> int:
    async with watching(fleet.servers) as (consumer, _):
        output = TopicPartition(fleet.config.kafka.output, partition)
        return int((await consumer.end_offsets([output]))[output])
