"""A consumer of the model, as aiokafka's behaves where the agent leans on it."""

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from aiokafka import ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError

from meteragent.kafka.walk import Fetched
from tests.batches import Stored, fetched
from tests.schedules.kafka_model import Entry, Log
from tests.schedules.loop import HOME
from tests.schedules.members import Members
from tests.schedules.network import Network

MOST = 4
"""Records of a partition that come together."""
LATE = 0.15
"""How likely an answer is late, or is whoever waits for it ..."""
LONGEST = 6.0
"""... and by how many seconds at most."""


class Record(NamedTuple):
    """A record as it is handed over."""

    key: bytes
    value: bytes
    offset: int
    timestamp: int


@dataclass
class Place:
    """What a consumer knows of a partition that is assigned to it."""

    position: int = 0
    paused: bool = False
    end: int | None = None
    answered: int | None = None


class Answer(NamedTuple):
    """To a fetch; nothing is known of it until it has come."""

    source: TopicPartition
    since: int
    records: list[Record]
    next: int
    end: int


class Consumer:
    """Nothing tells it that it was expelled from the group."""

    def __init__(self, network: Network, members: Members, options: dict[str, Any]) -> None:
        self.home = HOME.get()
        self._network = network
        self._members = members
        self._grouped = "group_id" in options
        self._committed = options.get("isolation_level", "read_committed") == "read_committed"
        self._listener: Any = None
        self._assigned: dict[TopicPartition, Place] = {}
        self._reassigned = asyncio.Event()
        self._reassigned.set()
        self._client = self  # what it knows of topics is always the latest

    async def start(self) -> None:
        await self._network.call(lambda: None)

    async def force_metadata_update(self) -> None:
        await self._network.call(lambda: None)

    async def stop(self) -> None:
        self._members.leave(self)
        await asyncio.sleep(0)

    # The group's side: called in tasks of the instance, as aiokafka's coordinator does.

    def subscribe(self, topics: list[str], *, listener: ConsumerRebalanceListener) -> None:
        del topics
        self._listener = listener
        self._members.join(self)

    async def give_up(self) -> None:
        self._reassigned.clear()
        await self._listener.on_partitions_revoked(set(self._assigned))

    async def receive(self, sources: list[TopicPartition]) -> None:
        self._assigned = {source: Place() for source in sources}
        await self._listener.on_partitions_assigned(sources)
        self._reassigned.set()

    # Our side.

    def assign(self, sources: Iterable[TopicPartition]) -> None:
        self._assigned = {source: Place() for source in sources}

    def assignment(self) -> frozenset[TopicPartition]:
        return frozenset(self._assigned)

    def partitions_for_topic(self, topic: str) -> Collection[int]:
        return range(self._network.kafka.partitions[topic])

    def seek(self, source: TopicPartition, offset: int) -> None:
        self._place(source).position = offset

    async def seek_to_beginning(self, *sources: TopicPartition) -> None:
        for source in sources:
            self.seek(source, 0)

    def pause(self, *sources: TopicPartition) -> None:
        for source in sources:
            self._place(source).paused = True

    def resume(self, *sources: TopicPartition) -> None:
        for source in sources:
            self._place(source).paused = False

    async def position(self, source: TopicPartition) -> int:
        return self._place(source).position

    def highwater(self, source: TopicPartition) -> int | None:
        return self._place(source).end

    def last_poll_timestamp(self, source: TopicPartition) -> int | None:
        return self._place(source).answered

    async def beginning_offsets(
        self, sources: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        return await self._network.call(lambda: dict.fromkeys(sources, 0))

    async def end_offsets(self, sources: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return await self._network.call(lambda: {s: len(self._log(s).entries) for s in sources})

    async def getbatches(
        self, *, timeout_ms: int, max_records: int
    ) -> dict[TopicPartition, Fetched]:
        """The same, in the batches that brokers store."""
        found = await self.getmany(timeout_ms=timeout_ms, max_records=max_records)
        return {
            source: fetched(Stored(r.value, r.offset, max(0, r.timestamp)) for r in records)
            for source, records in found.items()
        }

    async def getmany(
        self, *sources: TopicPartition, timeout_ms: int, max_records: int = MOST
    ) -> dict[TopicPartition, list[Record]]:
        """The next records; those of the group's input only after a rest, if there are none.

        That is longer than `timeout_ms`, to save steps: a machine may be slow.
        """
        random = self._network.loop.random.random
        await asyncio.sleep(random() * (0.7 if self._grouped else timeout_ms / 1000))
        await self._reassigned.wait()  # never while a rebalance is under way
        if self._network.chance(0.002) and self._grouped:
            raise KafkaError("the coordinator says no")
        answers = [
            (place, self._answer(source, place, max_records))
            for source in sources or [*self._assigned]
            if (place := self._assigned.get(source)) is not None and not place.paused
        ]
        if self._grouped and self._network.chance(LATE):
            await asyncio.sleep(LONGEST * random())  # under way, or the machine stands still
        found = {}
        for place, answer in answers:
            if place is self._assigned.get(answer.source) and place.position == answer.since:
                place.position, place.end = answer.next, answer.end
                place.answered = int(1000 * self._network.loop.now)
                if answer.records:
                    found[answer.source] = answer.records
        if found and self._grouped and random() < LATE:
            await asyncio.sleep(LONGEST * random())  # whoever waits for them wakes up late
        return found

    def _answer(self, source: TopicPartition, place: Place, most: int) -> Answer:
        log, first = self._log(source), place.position
        most = min(most, self._network.loop.random.randint(1, MOST))
        found, after = log.read(first, most, committed=self._committed)
        return Answer(source, first, [*map(_record, found)], after, len(log.entries))

    def _log(self, source: TopicPartition) -> Log:
        return self._network.kafka.log((source.topic, source.partition))

    def _place(self, source: TopicPartition) -> Place:
        if source not in self._assigned:
            raise IllegalStateError(f"No current assignment for partition {source}")
        return self._assigned[source]


def _record(entry: Entry) -> Record:
    """Of what is written outside transactions, the value and when that was."""
    value, timestamp = entry.value if isinstance(entry.value, tuple) else (entry.value, -1)
    return Record(entry.key, value, entry.offset, timestamp)
