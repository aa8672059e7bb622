"""A producer of the model, as aiokafka's behaves where the agent leans on it.

It delivers in the background: whoever handed a batch over, or asked for the commit, may have
been cancelled by then. Like aiokafka's it commits although a batch was refused.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import SimpleNamespace
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import IllegalOperation, KafkaError, MessageSizeTooLargeError, ProducerFenced
from aiokafka.structs import OffsetAndMetadata

from tests.schedules.kafka_model import OFFSETS, Identity, Place
from tests.schedules.network import Network, once

BATCH = 3
"""Records that fit into a batch."""
REFUSED = 0.02
"""How likely a batch is refused for good."""
FORGOTTEN = 0.003
"""How likely a client waits for an answer that does not come."""


class Batch:
    """Takes records until it is full."""

    def __init__(self) -> None:
        self.records: list[tuple[bytes, bytes]] = []

    def append(self, *, key: bytes, value: bytes, timestamp: int | None, headers: object) -> object:
        del timestamp, headers
        if len(self.records) == BATCH:
            return None
        self.records.append((key, value))
        return object()

    def close(self) -> None: ...

    def record_count(self) -> int:
        return len(self.records)


class Producer:
    """Has a transactional id, or none and then sends policies and asks for the time."""

    def __init__(self, network: Network, name: str | None, timeout: float) -> None:
        self._network = network
        self._name = name
        self._timeout = timeout
        self._started = False
        self._identity: Identity | None = None
        self._open = False
        self._fatal: ProducerFenced | None = None
        self._turn = asyncio.Lock()  # one request to the transaction's coordinator at a time
        self._added: set[Place] = set()
        self._batches: list[asyncio.Task[SimpleNamespace]] = []
        self._last: dict[Place, asyncio.Task[SimpleNamespace]] = {}
        self._work: list[asyncio.Task[Any]] = []
        self._sender = SimpleNamespace(sender_task=self)  # where it is stopped by force
        self.client = self

    async def start(self) -> None:
        name = self._name
        if name is None:
            await self._network.call(lambda: None)
        else:
            self._identity = await self._network.call(lambda: self._network.kafka.start(name))
        self._started = True

    async def stop(self) -> None:
        """Deliver what waits, and end what is under way."""
        if self._work:
            await asyncio.wait(self._work)

    def cancel(self) -> None:
        """End at once; what is in the network may still arrive."""
        for task in self._work:
            task.cancel()

    async def close(self) -> None:
        """Connections are closed."""

    async def send_and_wait(
        self, topic: str, value: bytes | None, *, key: bytes, partition: int = 0
    ) -> SimpleNamespace:
        """Outside any transaction; every topic is one of append times."""
        assert self._started, "aiokafka's would wait for ever"
        kafka, times = self._network.kafka, list[int]()

        def append() -> int:
            if not times:
                kafka.append((topic, partition), key, value)
                times.append(self._network.wall())
            return times[0]

        if self._network.chance(FORGOTTEN):
            await self._network.loop.create_future()
        return SimpleNamespace(timestamp=await self._network.call(append), timestamp_type=1)

    async def begin_transaction(self) -> None:
        self._refuse_fenced()
        assert not self._open, "Invalid state transition"
        self._open = True
        self._added = set()
        self._batches = []

    def create_batch(self) -> Batch:
        return Batch()

    async def send_batch(
        self, batch: Batch, topic: str, *, partition: int
    ) -> "asyncio.Task[SimpleNamespace]":
        self._refuse_closed()
        place = topic, partition
        before = self._last.get(place)
        delivery = self._last[place] = self._background(self._in_turn(before, batch, place))
        self._batches.append(delivery)
        return delivery

    async def _in_turn(
        self, before: "asyncio.Task[SimpleNamespace] | None", batch: Batch, place: Place
    ) -> SimpleNamespace:
        """Batches of a partition are delivered in their order, as an idempotent producer's are."""
        if before is not None:
            await asyncio.wait([before])
        return await self._deliver(batch, place)

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: str
    ) -> None:
        self._refuse_closed()
        await asyncio.shield(self._background(self._send_offsets(offsets, group)))

    async def commit_transaction(self) -> None:
        self._refuse_fenced()
        assert self._open, "Invalid state transition"
        self._open = False
        await asyncio.shield(self._background(self._end()))

    async def _deliver(self, batch: Batch, place: Place) -> SimpleNamespace:
        await self._add(place)
        if self._network.chance(REFUSED):
            raise MessageSizeTooLargeError
        kafka, identity = self._network.kafka, self._known
        offsets: list[int] = []
        await self._call(
            once(lambda: offsets.append(kafka.produce(identity, place, batch.records)))
        )
        return SimpleNamespace(offset=offsets[0])

    async def _send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: str
    ) -> None:
        kafka = self._network.kafka
        await self._add(OFFSETS)
        for source, offset in offsets.items():
            await self._ask(
                lambda i, s=source, o=offset: kafka.commit_offset(i, (group, s.partition), o)  # type: ignore[misc]
            )

    async def _end(self) -> None:
        if self._batches:
            await asyncio.wait(self._batches)
        self._refuse_fenced()
        await self._ask(lambda i: self._network.kafka.end(i, commit=True))

    async def _add(self, place: Place) -> None:
        identity = self._known
        async with self._turn:
            if place not in self._added:
                await self._call(lambda: self._network.begin(identity, place, self._timeout))
                self._added.add(place)

    async def _ask(self, request: Callable[[Identity], None]) -> None:
        """Of the coordinator, in turn."""
        identity = self._known
        async with self._turn:
            await self._call(lambda: request(identity))

    async def _call(self, request: Callable[[], None]) -> None:
        self._refuse_fenced()
        if self._network.chance(FORGOTTEN):
            await self._network.loop.create_future()
        try:
            await self._network.call(request)
        except ProducerFenced as error:
            self._fatal = error
            raise

    def _background(self, work: Awaitable[Any]) -> "asyncio.Task[Any]":
        task = asyncio.ensure_future(work)
        task.add_done_callback(lambda t: t.cancelled() or t.exception())
        self._work.append(task)
        return task

    @property
    def _known(self) -> Identity:
        assert self._identity is not None, "not started"
        return self._identity

    def _refuse_fenced(self) -> None:
        if self._fatal is not None:
            raise self._fatal

    def _refuse_closed(self) -> None:
        self._refuse_fenced()
        if not self._open:
            raise IllegalOperation("Not in the middle of a transaction")


__all__ = ["Batch", "KafkaError", "Producer"]
