"""The consumer of an agent: membership, polling, back-pressure, and who is caught up."""

import asyncio
import time
from collections.abc import Callable, Iterable

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.coordinator.assignors.range import RangePartitionAssignor

from meteragent.codec import Decoder
from meteragent.config import Config
from meteragent.encode import Encoder
from meteragent.entropy import NoiseKey
from meteragent.events import Listener, Rebalanced
from meteragent.kafka import clients
from meteragent.kafka.pulse import Pulse
from meteragent.kafka.worker import Surroundings, Worker
from meteragent.partition import Event, State

POLL_MS = 100
TICK_SECONDS = 1.0
POSITION_ONLY = 10  # commits without releases are this many intervals apart
MOST_WAITING = 50_000  # releases of one partition
HEARD_SECONDS = 10.0  # brokers that say nothing for longer are not there

Clock = Callable[[], float]


class Group(ConsumerRebalanceListener):  # type: ignore[misc]
    """Runs the partitions that the consumer group deals out to this instance."""

    def __init__(
        self, config: Config, key: NoiseKey, tell: Listener, *, wall: Clock = time.time
    ) -> None:
        self._config = config
        self._key = key
        self._tell = tell
        self._wall = wall
        self.workers: dict[TopicPartition, Worker] = {}
        self.polled = time.monotonic()
        self.pulse: Pulse | None = None
        self._joined = False
        self._stopping = asyncio.Event()
        self._leaving: list[Worker] = []
        self._due_at: dict[TopicPartition, float] = {}
        self._tick_at = 0.0

    def stop(self) -> None:
        """Drain, and leave the group."""
        self._stopping.set()

    @property
    def ready(self) -> bool:
        """Whether the brokers answer, and every partition that is ours is running."""
        heard = self.pulse is not None and time.monotonic() - self.pulse.heard < HEARD_SECONDS
        return heard and self._joined and all(map(_runs, self.workers.values()))

    @property
    def progressed(self) -> float:
        """Until when everything got on: the loop, the brokers, and every commit that is due."""
        commits = [w.due_since for w in self.workers.values() if w.due_since is not None]
        return min(self.polled, *([self.pulse.heard] if self.pulse else []), *commits)

    async def run(self) -> None:
        """Work until stopped; an exception means that the consumer must be made anew."""
        kafka = self._config.kafka
        consumer = clients.consumer(
            kafka,
            group_id=kafka.group,
            partition_assignment_strategy=[RangePartitionAssignor],
            session_timeout_ms=kafka.session_timeout,
            heartbeat_interval_ms=max(1, min(1000, kafka.session_timeout // 3)),
            rebalance_timeout_ms=kafka.rebalance_timeout,
            max_poll_interval_ms=self._config.agent.progress_deadline,
        )
        options = clients.connection(kafka)
        admin = AIOKafkaAdminClient(**options)
        self._around = Surroundings(
            self._config, self._key, consumer, admin, Decoder(), Encoder(), self._tell
        )
        try:
            await admin.start()
            await consumer.start()
            consumer.subscribe([kafka.input], listener=self)
            self.pulse = Pulse(consumer, kafka.input)
            asking = asyncio.create_task(self.pulse.run(self._running))
            try:
                await self._poll(consumer)
            finally:
                asking.cancel()
        finally:
            await self._drain(self.workers.values())
            self.workers.clear()
            await clients.close(consumer)
            await admin.close()
            await asyncio.gather(*(worker.closed() for worker in self._leaving))
            self._leaving.clear()

    # The group's side. Exceptions in here would be swallowed by aiokafka.

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Commit what there is, within the deadline; the group waits for us that long."""
        del revoked  # eager rebalancing: always all
        self._joined = False
        await self._drain(self.workers.values())
        self.workers.clear()

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Only note what is ours: no heartbeat goes out before this returns."""
        sources = sorted(assigned)
        if sources:
            self._around.consumer.pause(*sources)
        for source in sources:
            # Any position will do until the worker knows the right one; with none, the
            # consumer would look for a committed offset, and fail where there is none yet.
            self._around.consumer.seek(source, 0)
        self._tell(Rebalanced(tuple(source.partition for source in sources)))
        for source in sources:
            worker = self.workers[source] = Worker(self._around, source.partition)
            worker.on(Event.BEGIN)
        self._joined = True

    async def _drain(self, workers: Iterable[Worker]) -> None:
        leaving = list(workers)
        self._leaving += leaving
        for worker in leaving:
            worker.on(Event.REVOKED)
        waits = [asyncio.create_task(worker.left.wait()) for worker in leaving]
        if waits:
            await asyncio.wait(waits, timeout=self._config.agent.drain_deadline / 1000)
        for worker in leaving:
            worker.on(Event.TIMEOUT)
        for wait in waits:
            wait.cancel()

    # Our side.

    async def _poll(self, consumer: AIOKafkaConsumer) -> None:
        most = self._config.agent.max_batch
        wait = min(POLL_MS, max(1, self._config.agent.commit_interval // 4))
        stopped = asyncio.create_task(self._stopping.wait())
        try:
            while not self._stopping.is_set():
                polling = asyncio.create_task(consumer.getmany(timeout_ms=wait, max_records=most))
                await asyncio.wait({polling, stopped}, return_when=asyncio.FIRST_COMPLETED)
                if not polling.done():
                    polling.cancel()
                    return
                await self._deal_out(polling.result())
                await self._look_after(consumer)
                self.polled = time.monotonic()
        finally:
            stopped.cancel()

    def _running(self) -> list[TopicPartition]:
        return [source for source, worker in self.workers.items() if _runs(worker)]

    async def _deal_out(self, portions: dict[TopicPartition, list[object]]) -> None:
        for source, records in portions.items():
            worker = self.workers.get(source)
            if worker is not None:
                await worker.take(records)

    async def _look_after(self, consumer: AIOKafkaConsumer) -> None:
        """Let the wall clock in where nothing is left to read; commit what is due."""
        now = time.monotonic()
        ticks = now >= self._tick_at
        if ticks:
            self._tick_at = now + TICK_SECONDS
        for source, worker in list(self.workers.items()):
            if ticks and await self._is_caught_up(consumer, worker):
                await worker.caught_up(int(self._wall() * 1000))
            worker.hold_or_let_go(MOST_WAITING)
            if now >= self._due_at.get(source, 0.0):
                self._commit_soon(source, worker, now)

    def _commit_soon(self, source: TopicPartition, worker: Worker, now: float) -> None:
        interval = self._config.agent.commit_interval / 1000
        quiet = now - worker.progressed >= POSITION_ONLY * interval
        if worker.has_news or quiet:
            worker.on(Event.DUE)
            self._due_at[source] = now + interval

    async def _is_caught_up(self, consumer: AIOKafkaConsumer, worker: Worker) -> bool:
        """Markers and aborted records count as read: so positions are compared, not records."""
        if not _runs(worker):
            return False
        end = consumer.highwater(worker.source)
        return end is not None and await consumer.position(worker.source) >= end


def _runs(worker: Worker) -> bool:
    return worker.life.state in {State.RUNNING, State.COMMITTING}
