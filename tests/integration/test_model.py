"""The simulation's model of Kafka does what the real broker does, on drawn sequences."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Protocol

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupCoordinatorNotAvailableError, KafkaError
from aiokafka.structs import OffsetAndMetadata

from tests.integration.local_broker import new_topic
from tests.schedules.kafka_model import OFFSETS, Busy, Fenced, Identity, Kafka

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

pytestmark = pytest.mark.integration

SEQUENCES = 24
LENGTH = 35
NAMES = ("a", "b")
WHAT = [*["produce"] * 4, *["commit", "read"] * 2, "append", "start", "offset", "abort"]
PATIENCE = 10.0  # seconds until a decided transaction must be complete everywhere

Operation = tuple[str, int, int]
"""(what, which producer, a number)"""
Outcome = object


def sequence(seed: int) -> list[Operation]:
    """Producers start, fence one another, write, decide, are abandoned; others write and look."""
    random = Random(f"sequence {seed}")
    operations: list[Operation] = [("start", 0, 0), ("start", 1, 0)]
    for number in range(LENGTH):
        what = random.choice(WHAT)
        producers = sum(what == "start" for what, _, _ in operations)
        # The latest two are usually meant; now and then one of the past wakes up.
        which = random.choice(
            [producers - 1, producers - 1, producers - 2, random.randrange(producers)]
        )
        operations.append((what, number % 2 if what == "start" else which, number))
    return [*operations, ("start", 0, 0), ("start", 1, 0), ("read", 0, 0)]


class Side(Protocol):
    """A Kafka to which operations can be done: the model, or the real one."""

    async def do(self, operation: Operation) -> Outcome: ...


@dataclass
class Modelled:
    """The model, with as little of a client around it as makes sense."""

    kafka: Kafka = field(default_factory=Kafka)
    producers: list[Identity] = field(default_factory=list)
    touched: set[int] = field(default_factory=set)
    broken: set[int] = field(default_factory=set)

    async def do(self, operation: Operation) -> Outcome:
        what, which, number = operation
        if what == "read":
            return [self._read(p, committed=c) for p in (0, 1) for c in (True, False)]
        if what == "start":
            return self._start(NAMES[which])
        if what == "append":
            self.kafka.append(("topic", number % 2), None, number)
            return "done"
        if which in self.broken:
            return "broken"
        try:
            getattr(self, f"_{what}")(which, number)
        except Fenced:
            self.broken.add(which)
            return "refused"
        self._complete()
        return "done"

    def _start(self, name: str) -> Outcome:
        with suppress(Busy):
            self.producers.append(self.kafka.start(name))
            return self.kafka.committed(name)
        self._complete()
        return self._start(name)

    def _produce(self, which: int, number: int) -> None:
        place = "topic", number % 2
        self.kafka.add(self.producers[which], place)
        self.touched.add(which)
        self.kafka.produce(self.producers[which], place, [(None, number)])

    def _offset(self, which: int, number: int) -> None:
        identity = self.producers[which]
        self.kafka.add(identity, OFFSETS)
        self.touched.add(which)
        self.kafka.commit_offset(identity, identity.name, number)

    def _commit(self, which: int, number: int, *, commit: bool = True) -> None:
        del number
        if which in self.touched:  # of an empty transaction the broker is told nothing
            self.touched.discard(which)
            self.kafka.end(self.producers[which], commit=commit)

    def _abort(self, which: int, number: int) -> None:
        self._commit(which, number, commit=False)

    def _complete(self) -> None:
        while self.kafka.markers:
            self.kafka.write_marker()

    def _read(self, partition: int, *, committed: bool) -> Outcome:
        log = self.kafka.log(("topic", partition))
        entries, _ = log.read(0, len(log.entries), committed=committed)
        return [entry.value for entry in entries], log.end(committed=committed)


@dataclass
class Real:
    """The broker, through aiokafka."""

    bootstrap: str
    topic: str
    stack: AsyncExitStack
    admin: AIOKafkaAdminClient
    readers: dict[bool, AIOKafkaConsumer]
    outsider: AIOKafkaProducer
    """Has no part in transactions."""
    producers: list[tuple[str, AIOKafkaProducer]] = field(default_factory=list)
    begun: set[int] = field(default_factory=set)
    broken: set[int] = field(default_factory=set)

    async def do(self, operation: Operation) -> Outcome:
        what, which, number = operation
        if what == "read":
            return [await self._read(p, committed=c) for p in (0, 1) for c in (True, False)]
        if what == "start":
            return await self._start(NAMES[which])
        if what == "append":
            await self._produce(self.outsider, number)
            return "done"
        if which in self.broken:
            return "broken"
        name, producer = self.producers[which]
        work: dict[str, Callable[[], Awaitable[object]]] = {
            "produce": lambda: self._produce(producer, number),
            "offset": lambda: producer.send_offsets_to_transaction(
                {TopicPartition(self.topic, NAMES.index(name)): OffsetAndMetadata(number, "")},
                self.topic,
            ),
            "commit": producer.commit_transaction,
            "abort": producer.abort_transaction,
        }
        try:
            if which not in self.begun:
                await producer.begin_transaction()
                self.begun.add(which)
            await work[what]()
        except KafkaError:
            self.broken.add(which)
            return "refused"
        if what in {"commit", "abort"}:
            self.begun.discard(which)
        return "done"

    async def _start(self, name: str) -> Outcome:
        producer = AIOKafkaProducer(
            bootstrap_servers=self.bootstrap,
            transactional_id=f"{self.topic}-{name}",
            retry_backoff_ms=20,
        )
        self.stack.push_async_callback(producer.stop)
        await producer.start()
        self.producers.append((name, producer))
        source = TopicPartition(self.topic, NAMES.index(name))
        found = await self.admin.list_consumer_group_offsets(self.topic, partitions=[source])
        offset = found[source].offset if source in found else -1
        return None if offset < 0 else offset

    async def _produce(self, producer: AIOKafkaProducer, number: int) -> None:
        await producer.send_and_wait(self.topic, str(number).encode(), partition=number % 2)

    async def _read(self, partition: int, *, committed: bool) -> Outcome:
        reader, source = self.readers[committed], TopicPartition(self.topic, partition)
        reader.assign([source])
        await reader.seek_to_beginning(source)
        end = (await reader.end_offsets([source]))[source]
        values: list[int] = []
        while await reader.position(source) < end:
            for records in (await reader.getmany(source, timeout_ms=100)).values():
                values += [int(record.value) for record in records]
        return values, end


async def real(bootstrap: str, stack: AsyncExitStack) -> Real:
    topic = await new_topic(bootstrap, partitions=2)
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    stack.push_async_callback(admin.close)
    await coordinator(admin, topic)
    readers = {}
    for committed in (True, False):
        reader = readers[committed] = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            isolation_level="read_committed" if committed else "read_uncommitted",
            fetch_max_wait_ms=20,
        )
        stack.push_async_callback(reader.stop)
        await reader.start()
    outsider = AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True)
    stack.push_async_callback(outsider.stop)
    await outsider.start()
    return Real(bootstrap, topic, stack, admin, readers, outsider)


async def coordinator(admin: AIOKafkaAdminClient, group: str) -> None:
    """Wait until groups are looked after: a new broker has to make the topic for it first."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(GroupCoordinatorNotAvailableError):
                await admin.find_coordinator(group)
                return
            await asyncio.sleep(0.05)


async def compare(bootstrap: str, seed: int) -> None:
    modelled, done = Modelled(), []
    async with AsyncExitStack() as stack:
        broker = await real(bootstrap, stack)
        for operation in sequence(seed):
            expected = await modelled.do(operation)
            found = await broker.do(operation)
            with suppress(TimeoutError):  # a marker is on its way: the next look may differ
                async with asyncio.timeout(PATIENCE):
                    while found != expected and operation[0] == "read":
                        found = await broker.do(operation)
            done.append((operation, expected, found))
            assert found == expected, (seed, done)


def test_the_model_answers_like_the_broker(kafka: str) -> None:
    async def scenario() -> None:
        for first in range(0, SEQUENCES, 8):
            await asyncio.gather(*(compare(kafka, first + nth) for nth in range(8)))

    asyncio.run(scenario())


def test_the_sequences_hold_what_matters() -> None:
    """Zombies are refused, transactions are aborted by successors, offsets take effect."""

    async def outcomes(seed: int) -> list[tuple[str, Outcome]]:
        modelled = Modelled()
        return [(operation[0], await modelled.do(operation)) for operation in sequence(seed)]

    seen = [pair for seed in range(SEQUENCES) for pair in asyncio.run(outcomes(seed))]
    assert seen.count(("append", "done")) > SEQUENCES / 2
    for what in ("produce", "offset", "commit", "abort"):
        assert seen.count((what, "refused")) > 0
        assert seen.count((what, "done")) > SEQUENCES / 2
    assert sum(what == "start" and found is not None for what, found in seen) > SEQUENCES / 2
