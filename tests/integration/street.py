"""A street of homes whose groups are released: its readings, its agents, and what they release."""

from __future__ import annotations

import asyncio
import gc
import json
import time
import warnings
from collections import defaultdict
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import TYPE_CHECKING

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import NewTopic

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.config.works import Work, works
from meteragent.kafka import topics
from meteragent.kafka.agents import Agents
from meteragent.kafka.clients import Clients
from meteragent.kafka.fitness import BROKERS, STAMPED_BY
from meteragent.privacy.members import Membership
from meteragent.stream.homes import Homes
from tests.given import DAY, HOUR, MINUTE
from tests.integration.fleet import Fleet, watching

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from meteragent.watch.events import Occurrence

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
        self.sums = SUMS

    async def create(self) -> None:
        self.write()
        stamped, replicas = {STAMPED_BY: BROKERS}, self.servers.count(",") + 1
        sums = NewTopic(self.config.kafka.partials, self.sums, replicas, topic_configs=stamped)
        async with watching(self.servers) as (_, admin):
            await admin.create_topics([sums])
        for work, own in works(self.config).items():
            count = self.sums if work is Work.GROUPS else self.partitions
            await topics.create(own, Clients(own.kafka), count, replicas)

    async def tell_members(self, members: Sequence[Membership] = MEMBERS) -> str:
        """As people do it; what the command says."""
        rows = [f"{one.home},{one.group}" for one in members]
        listed = self.directory / "groups.csv"
        listed.write_text("\n".join(["meter_id,group_id", *rows]) + "\n")
        code, said = await self.command("topics", "members", str(listed))
        assert code == Exit.OK, said
        return said

    async def prepare(self) -> None:
        """All topics are there, and everybody can know who is in which group."""
        await self.create()
        await self.tell_members()

    async def produce(self, lines: list[bytes]) -> None:
        """Readings come, each where its home is."""
        homes = Homes("murmur2", self.partitions)
        kafka = self.config.kafka
        async with AIOKafkaProducer(
            bootstrap_servers=list(kafka.bootstrap_servers), enable_idempotence=True
        ) as producer:
            for line in lines:
                partition = homes.of(json.loads(line)["meter_id"])
                await producer.send(kafka.input, line, partition=partition)
            await producer.flush()

    async def published(self, count: int, seconds: float = 90) -> list[bytes]:
        """What is released, once there are so many; and no more than these."""
        found: list[bytes] = []
        config = self.config
        consumer = AIOKafkaConsumer(
            bootstrap_servers=list(config.kafka.bootstrap_servers),
            isolation_level="read_committed",
            auto_offset_reset="earliest",
        )
        async with consumer:
            outputs = works(config)[Work.GROUPS].kafka.outputs
            each = range(self.sums)
            consumer.assign([TopicPartition(topic, n) for topic in outputs for n in each])
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while len(found) < count:
                        found.append((await consumer.getone()).value)
            with suppress(TimeoutError):
                async with asyncio.timeout(2):
                    found.append((await consumer.getone()).value)
        return found

    async def as_of_one_file(self, lines: list[bytes]) -> list[bytes]:
        """What is to be released of these readings: no broker has a hand in it."""
        return await asyncio.to_thread(self._through_files, lines)

    def _through_files(self, lines: list[bytes]) -> list[bytes]:
        """What `sanitize --groups` makes of it, copies for others too."""
        at = self.directory
        for name in ("spend.db", "out.jsonl", "copies.jsonl"):
            (at / name).unlink(missing_ok=True)
        (at / "in.jsonl").write_bytes(b"\n".join(lines) + b"\n")
        files = [str(at / "in.jsonl"), "-o", str(at / "out.jsonl")]
        files += ["--tier", f"research={at / 'copies.jsonl'}"]
        more = ["--ledger", str(at / "spend.db"), "-c", str(self.file)]
        assert main(["sanitize", *files, *more, "--groups", str(at / "groups.csv")]) == Exit.OK
        outputs = (at / "out.jsonl", at / "copies.jsonl")
        return [line for output in outputs for line in output.read_bytes().splitlines()]

    @asynccontextmanager
    async def working(self) -> AsyncIterator[list[tuple[Work, Occurrence]]]:
        """All the work in this process; what it tells.

        An agent may be told to begin anew while it begins: aiokafka forgets a connection that is
        being made when its client is cancelled. No test is blamed for it, this one or a later one.
        """
        told: list[tuple[Work, Occurrence]] = []
        config = self.config
        agents = Agents(
            config, config.agent.noise_key(), lambda work: lambda event: told.append((work, event))
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            running = asyncio.create_task(agents.run())
            try:
                yield told
            finally:
                agents.stop()
                await running
                gc.collect()


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


def closing(begin: int, partitions: int) -> list[bytes]:
    """A reading for each partition that closes all before it."""
    homes = Homes("murmur2", partitions)
    first = {homes.of(home): home for home in reversed(HOMES)}
    assert len(first) == partitions
    ends = ({"meter_id": home, "ts": begin + 9 * HOUR, "value": 0} for home in first.values())
    return [json.dumps(end).encode() for end in ends]


def soon() -> int:
    """An hour that begins tomorrow: no clock closes its windows, but readings alone."""
    return (int(time.time() * 1000) + DAY) // HOUR * HOUR


def by_group(texts: list[bytes]) -> Published:
    found: Published = defaultdict(list)
    for text in texts:
        told = json.loads(text)
        found[told["policy"], told["group_id"]].append(text)
    return found


def window(text: bytes) -> tuple[str, str, int]:
    """Which window of which group a release is of, for whom."""
    told = json.loads(text)
    policy = told["policy"] + told.get("tier", "")
    return policy, told["group_id"], told["window_start"]


def is_lost(text: bytes) -> bool:
    """Whether a release says that its window lacks readings that were lost."""
    return bool(json.loads(text).get("withheld") == "lost")
