"""Groups whose homes are spread over partitions are released exactly once, as of one file."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections import Counter, defaultdict
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import NewTopic

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.config import keyfile
from meteragent.config.works import Work, works
from meteragent.kafka import memberships, topics
from meteragent.kafka.agents import Agents
from meteragent.kafka.clients import Clients
from meteragent.kafka.fitness import BROKERS, STAMPED_BY
from meteragent.kafka.memberships import MembersTopic
from meteragent.privacy.members import FOR_EVER, Membership
from meteragent.stream.homes import Homes
from meteragent.watch.events import AgentFailed, BatchTaken, MembersRead
from tests.given import DAY, HOUR, MINUTE
from tests.integration.fleet import Fleet, watching

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from meteragent.config import Config
    from meteragent.watch.events import Occurrence

pytestmark = pytest.mark.integration

GROUPS = """
[[group]]
name = "quarters"
match = "f-"
window = "15m"
interval = "5m"
grace = "5m"
idle = "5m"
maximum = "20kW"
home_maximum = "2kW"
min_homes = 2
epsilon = "1"
budget = "1000"
horizon = "1d"
[[group.tier]]
name = "research"
epsilon = "0.5"
[[group]]
name = "hours"
match = "s-"
window = "1h"
queries = ["avg", "max"]
interval = "5m"
grace = "5m"
idle = "20m"
maximum = "50kW"
home_maximum = "2kW"
epsilon = "2"
budget = "1000"
horizon = "1d"
"""
SUMS = 2
"""Partitions of sums."""
KAFKA = """
groups = "{name}-groups"
groups_output = "{name}-groups-out"
partials = "{name}-partials"
homes_ledger = "{name}-homes-ledger"
groups_ledger = "{name}-groups-ledger"
"""
HOMES = [f"h-{nth}" for nth in range(30)]
MEMBERS = [
    *(Membership(home, f"f-{nth % 5}") for nth, home in enumerate(HOMES)),
    *(Membership(home, f"s-{nth % 3}") for nth, home in enumerate(HOMES)),
]
Published = dict[tuple[str, str], list[bytes]]
"""Policy and group -> releases, in their order."""


class Street(Fleet):
    """Agents that work on groups."""

    def __init__(self, directory: Path, servers: str, partitions: int = 3) -> None:
        super().__init__(directory, servers, partitions, policies=GROUPS)
        self.kafka = KAFKA.format(name=self.name)

    async def create(self) -> None:
        self.write()
        stamped, replicas = {STAMPED_BY: BROKERS}, self.servers.count(",") + 1
        sums = NewTopic(self.config.kafka.partials, SUMS, replicas, topic_configs=stamped)
        async with watching(self.servers) as (_, admin):
            await admin.create_topics([sums])
        for work, own in works(self.config).items():
            count = SUMS if work is Work.GROUPS else self.partitions
            await topics.create(own, Clients(own.kafka), count, replicas)


def day(begin: int, seed: int, hours: int = 5) -> list[bytes]:
    """Readings of all homes, in their order, with gaps."""
    random = Random(seed)
    lines = []
    for minute in range(0, hours * 60, 5):
        for home in HOMES:
            if random.random() < 0.8:
                reading = {"meter_id": home, "ts": begin + minute * MINUTE}
                lines.append(json.dumps({**reading, "value": random.randrange(2500)}).encode())
    return lines


async def produce(config: Config, partitions: int, lines: list[bytes]) -> None:
    homes = Homes("murmur2", partitions)
    async with AIOKafkaProducer(
        bootstrap_servers=list(config.kafka.bootstrap_servers), enable_idempotence=True
    ) as producer:
        for line in lines:
            partition = homes.of(json.loads(line)["meter_id"])
            await producer.send(config.kafka.input, line, partition=partition)
        await producer.flush()


async def tell_members(street: Street, members: list[Membership]) -> str:
    """As people do it; what the command says."""
    rows = [f"{one.home},{one.group}" for one in members]
    (street.directory / "groups.csv").write_text("\n".join(["meter_id,group_id", *rows]) + "\n")
    code, said = await street.command("topics", "members", str(street.directory / "groups.csv"))
    assert code == Exit.OK, said
    return said


async def published(
    config: Config, count: int, seconds: float = 90, sums: int = SUMS
) -> list[bytes]:
    """What is released, once there are so many; and no more than these."""
    found: list[bytes] = []
    consumer = AIOKafkaConsumer(
        bootstrap_servers=list(config.kafka.bootstrap_servers),
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    )
    async with consumer:
        outputs = works(config)[Work.GROUPS].kafka.outputs
        consumer.assign([TopicPartition(topic, n) for topic in outputs for n in range(sums)])
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while len(found) < count:
                    found.append((await consumer.getone()).value)
        with suppress(TimeoutError):
            async with asyncio.timeout(2):
                found.append((await consumer.getone()).value)
    return found


def by_group(texts: list[bytes]) -> Published:
    found: Published = defaultdict(list)
    for text in texts:
        told = json.loads(text)
        found[told["policy"], told["group_id"]].append(text)
    return found


def closing(begin: int, partitions: int) -> list[bytes]:
    """A reading for each partition that closes all before it."""
    homes = Homes("murmur2", partitions)
    first = {homes.of(home): home for home in reversed(HOMES)}
    assert len(first) == partitions
    ends = ({"meter_id": home, "ts": begin + 9 * HOUR, "value": 0} for home in first.values())
    return [json.dumps(end).encode() for end in ends]


def through_files(directory: Path, lines: list[bytes]) -> list[bytes]:
    """What `sanitize --groups` makes of it, copies for others too."""
    (directory / "in.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    copies = directory / "copies.jsonl"
    files = [str(directory / "in.jsonl"), "-o", str(directory / "out.jsonl")]
    files += ["--tier", f"research={copies}"]
    more = ["--ledger", str(directory / "spend.db"), "-c", str(directory / "agent.toml")]
    assert main(["sanitize", *files, *more, "--groups", str(directory / "groups.csv")]) == Exit.OK
    return [*(directory / "out.jsonl").read_bytes().splitlines(), *copies.read_bytes().splitlines()]


@asynccontextmanager
async def working(street: Street) -> AsyncIterator[list[tuple[Work, Occurrence]]]:
    """All the work in this process; what it tells."""
    told: list[tuple[Work, Occurrence]] = []
    config = street.config
    agents = Agents(
        config, config.agent.noise_key(), lambda work: lambda event: told.append((work, event))
    )
    running = asyncio.create_task(agents.run())
    try:
        yield told
    finally:
        agents.stop()
        await running


def soon() -> int:
    """An hour that begins tomorrow: no clock closes its windows, but readings alone."""
    return (int(time.time() * 1000) + DAY) // HOUR * HOUR


REGISTERS = """
[input]
kind = "register"
unit = "Wh"
"""


def shown(lines: list[bytes]) -> list[bytes]:
    """What registers show of these readings, one after the other."""
    used: Counter[str] = Counter()
    found = []
    for reading in map(json.loads, lines):
        used[reading["meter_id"]] += reading["value"] / 12
        found.append(json.dumps(reading | {"value": used[reading["meter_id"]]}).encode())
    return found


@pytest.mark.parametrize("of", ["power", "registers"])
def test_groups_are_released_as_of_one_file(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: str
) -> None:
    monkeypatch.chdir(tmp_path)
    street = Street(tmp_path, kafka)
    begin = soon()

    async def scenario() -> None:
        lines = [*day(begin, 1, hours=3), *closing(begin, street.partitions)]
        if of == "registers":
            street.policies, lines = REGISTERS + GROUPS, shown(lines)
        await street.create()
        await tell_members(street, MEMBERS)
        expected = await asyncio.to_thread(through_files, tmp_path, lines)
        await produce(street.config, street.partitions, lines)
        async with working(street) as told:
            found = await published(street.config, len(expected))
            rejects = Counter(
                event.rejects
                for work, event in told
                if isinstance(event, BatchTaken) and work is Work.GROUPS and event.rejects
            )
        assert by_group(found) == by_group(expected)
        assert not rejects

    asyncio.run(scenario())


async def killed(street: Street, begin: int) -> None:
    """Agents come, are killed and frozen, and others take over, while readings come."""
    lines = day(begin, 2, hours=8)
    await street.start()
    await street.start()
    size = len(lines) // 8
    for nth, low in enumerate(range(0, len(lines), size)):
        await produce(street.config, street.partitions, lines[low : low + size])
        await asyncio.sleep(1)
        if nth % 2:
            victim = street.running()[0]
            victim.signal(signal.SIGKILL)
            await victim.ended()
            await street.start()
    await produce(street.config, street.partitions, closing(begin, street.partitions))


def test_killed_agents_leave_no_release_out_and_none_twice(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    street = Street(tmp_path, kafka)
    begin = soon()

    async def scenario() -> None:
        await street.create()
        await tell_members(street, MEMBERS)
        lines = [*day(begin, 2, hours=8), *closing(begin, street.partitions)]
        expected = await asyncio.to_thread(through_files, tmp_path, lines)
        try:
            await killed(street, begin)
            found = await published(street.config, len(expected))
            assert by_group(found) == by_group(expected)
            await street.stop()
        finally:
            await street.kill()

    asyncio.run(scenario())


def test_members_that_change_do_so_a_lead_later(kafka: str, tmp_path: Path) -> None:
    street = Street(tmp_path, kafka)

    async def scenario() -> None:
        await street.create()
        assert "30 homes written\n" in await tell_members(street, MEMBERS)
        assert "0 homes written, for windows that begin from" in await tell_members(street, MEMBERS)
        assert "1 homes written, for windows" in await tell_members(street, MEMBERS[1:])
        config = street.config
        told = await MembersTopic(config, Clients(config.kafka)).read()
        assert (told.homes, told.damaged, told.too_soon) == (30, 0, 0)
        [moved] = [one for one in told.memberships if one.until != FOR_EVER]
        assert moved[:2] == ("h-0", "f-0")
        assert moved.until > time.time() * 1000 + config.kafka.groups_lead
        code, said = await street.command("check")
        assert code == Exit.OK, said

    asyncio.run(scenario())


def test_agents_notice_that_members_have_changed(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memberships, "LOOK_SECONDS", 0.5)
    street = Street(tmp_path, kafka)

    async def scenario() -> None:
        await street.create()
        await tell_members(street, MEMBERS)
        async with working(street) as told:

            async def read(count: int) -> list[MembersRead]:
                async with asyncio.timeout(60):
                    while True:
                        found = [e for _, e in told if isinstance(e, MembersRead)]
                        if len(found) >= count:
                            return found
                        await asyncio.sleep(0.1)

            before = await read(2)
            later = [*MEMBERS, Membership("h-new", "f-0"), Membership("h-new", "other")]
            await tell_members(street, later)
            after = (await read(4))[2:]
        assert [e.members for e in (*before, *after)] == [60, 60, 61, 61]  # nobody releases `other`
        assert not any(isinstance(e, AgentFailed) for _, e in told)

    asyncio.run(scenario())


def windows(texts: list[bytes]) -> list[tuple[str, str, int]]:
    """Which window of which group each is of."""
    told = [json.loads(text) for text in texts]
    return sorted((one["policy"], one["group_id"], one["window_start"]) for one in told)


def test_a_replaced_key_is_adopted_by_the_ledgers_of_homes_and_of_groups(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was released is not released again with other noise, and what was spent counts on."""
    monkeypatch.chdir(tmp_path)
    street = Street(tmp_path, kafka)
    begin = soon()

    async def scenario() -> None:
        await street.create()
        await tell_members(street, MEMBERS)
        one = [*day(begin, 3, hours=2), *closing(begin, 3)]
        two = [*day(begin + DAY, 4, hours=1), *closing(begin + DAY, 3)]
        before = await asyncio.to_thread(through_files, tmp_path, one)
        for name in ("spend.db", "out.jsonl", "copies.jsonl"):
            (tmp_path / name).unlink()
        expected = await asyncio.to_thread(through_files, tmp_path, [*one, *two])
        try:
            agent = await street.start()
            await produce(street.config, 3, one)
            first = await published(street.config, len(before))
            assert by_group(first) == by_group(before)
            code, said = await street.command("key", "adopt")
            assert (code, "has running agents" in said) == (Exit.UNAVAILABLE, True)
            await street.stop()

            (tmp_path / "noise.key").unlink()
            keyfile.create(tmp_path / "noise.key")
            agent = await street.start()
            assert await agent.ended(60) == Exit.OWNER
            for homes, groups in ((3, SUMS), (0, 0)):
                code, said = await street.command("key", "adopt")
                assert code == Exit.OK, said
                assert f"-homes-ledger: {homes} partitions are this key's" in said
                assert f"-groups-ledger: {groups} partitions are this key's" in said

            await street.start()
            await produce(street.config, 3, two)
            found = await published(street.config, len(expected))
            assert windows(found) == windows(expected)
            assert {*first} <= {*found}
            assert by_group(found) != by_group(expected)  # the later ones have other noise
            code, said = await street.command("ledger", "show", "h-0")
            assert code == Exit.OK, said
            assert "in group f-0, policy quarters" in said
            assert "in group s-0, policy hours" in said
            await street.stop()
        finally:
            await street.kill()

    asyncio.run(scenario())
