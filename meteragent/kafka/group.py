"""The consumer of an agent: membership, polling, back-pressure, and who is caught up."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping

from aiokafka import ConsumerRebalanceListener, TopicPartition

from meteragent.config import Config
from meteragent.errors import PartitionsChanged
from meteragent.formats.forms import ReleaseEncoder
from meteragent.kafka import ownership
from meteragent.kafka.ahead import Ahead, Polled
from meteragent.kafka.assignor import SteadyAssignor
from meteragent.kafka.clients import Clients
from meteragent.kafka.clock import BrokersClock
from meteragent.kafka.handover import Handover, Shared
from meteragent.kafka.liveness import Liveness
from meteragent.kafka.preparing import Prepared
from meteragent.kafka.worker import Worker
from meteragent.privacy.entropy import NoiseKey
from meteragent.process.loop import Clock, unless
from meteragent.stream.partition import Event
from meteragent.watch.events import Listener, Rebalanced

POLL_MS = 100
TICK_SECONDS = 1.0
POSITION_ONLY = 10  # commits without releases are this many intervals apart
MOST_WAITING = 50_000  # releases of all partitions together
LEAST_WAITING = 1_000  # of one partition, however many there are
HEARD_SECONDS = 10.0  # brokers that say nothing for longer are not there


class Group(ConsumerRebalanceListener):  # type: ignore[misc]
    """Runs the partitions that the consumer group deals out to this instance."""

    def __init__(
        self,
        config: Config,
        key: NoiseKey,
        tell: Listener,
        clients: Clients,
        clock: Clock,
        wall: Clock,
        *,
        partitions: int,
        owner: ownership.Ownership,
        lasting: Mapping[str, int],
        encoder: ReleaseEncoder,
        prepared: Prepared = Prepared(),  # noqa: B008 - nobody changes it
    ) -> None:
        self._config = config
        self._partitions = partitions
        self._tell = tell
        self._clients = clients
        self._now = clock
        self.workers: dict[TopicPartition, Worker] = {}
        self.polled = clock()
        self._joined = False
        self._ending = asyncio.Event()
        self._failure: Exception | None = None
        self._leaving: list[Worker] = []
        self._tick_at = 0.0
        kafka = config.kafka
        self._consumer = clients.input(
            group_id=kafka.group,
            partition_assignment_strategy=[SteadyAssignor],
            session_timeout_ms=kafka.session_timeout,
            heartbeat_interval_ms=max(1, min(1000, kafka.session_timeout // 3)),
            rebalance_timeout_ms=kafka.rebalance_timeout,
            max_poll_interval_ms=config.agent.progress_deadline,
        )
        self._admin = clients.admin()
        self._shared = Shared(
            config,
            key,
            tell,
            clients,
            clock,
            self._consumer,
            self._admin,
            partitions,
            owner,
            self._fail,
            lasting,
            wall,
            encoder,
            work=prepared.kind,
            once=prepared.once,
        )
        self._watch = prepared.watch
        self.liveness = Liveness(self._consumer, clients, clock)
        self.clock = BrokersClock(config, tell, clients, clock, wall)
        self._beside: list[asyncio.Task[None]] = []
        self._ahead = Ahead()

    def stop(self) -> None:
        """Drain, and leave the group."""
        self._ending.set()

    @property
    def ready(self) -> bool:
        """Whether the brokers answer, every partition that is ours gets on, and so does time."""
        heard = self._now() - self.liveness.heard < HEARD_SECONDS
        timely = self.clock.trusted or not self.workers
        return heard and timely and self._joined and all(w.well for w in self.workers.values())

    @property
    def progressed(self) -> float:
        """Until when everything got on: the loop, the brokers, and all that waits for them."""
        waits = [w.due_since for w in self.workers.values() if w.due_since is not None]
        return min(self.polled, self.liveness.heard, *waits)

    async def run(self) -> None:
        """Work until stopped; an exception means that all of this must be made anew."""
        try:
            await unless(self._ending, self._begin())
            self._beside = [
                asyncio.create_task(self.liveness.run(self._running, self._fail)),
                asyncio.create_task(self.clock.run(self.workers.keys, self._fail)),
                asyncio.create_task(ownership.watch(self._look_around, self._fail)),
            ]
            if self._watch is not None:
                self._beside.append(asyncio.create_task(self._heed(self._watch)))
            await self._poll()
        finally:
            for task in self._beside:
                task.cancel()
            self._ending.set()
            await self._drain()
            self._hand_on()
            await self._close()
        if self._failure is not None:
            raise self._failure

    async def _begin(self) -> None:
        await self._admin.start()
        await self._consumer.start()
        self._consumer.subscribe([self._config.kafka.input], listener=self)

    async def _close(self) -> None:
        self._ahead.close()
        close = self._clients.close
        await asyncio.gather(close(self._consumer), close(self._admin))
        closing = frozenset(self._beside).union(*(worker.closing for worker in self._leaving))
        if closing:
            await asyncio.wait(closing)

    # The group's side. An exception in here would be swallowed by aiokafka, and the partitions
    # stay ours with nobody at work.

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Commit what there is, within the deadline; the group waits for us that long."""
        del revoked  # eager rebalancing: always all
        self._joined = False
        try:
            await self._drain()
        except Exception as error:  # noqa: BLE001 - told by `run`
            self._fail(error)

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Only note what is ours: no heartbeat goes out before this returns."""
        if self._ending.is_set():
            return
        try:
            self._take_over(sorted(assigned))
        except Exception as error:  # noqa: BLE001 - told by `run`
            self._fail(error)

    async def _heed(self, watch: Callable[[], Awaitable[Exception]]) -> None:
        """Begin anew, when what was known before has changed, or nobody would notice any more."""
        try:
            self._fail(await watch())
        except Exception as error:  # noqa: BLE001 - told by `run`
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self._failure = error
        self._ending.set()

    def _take_over(self, sources: list[TopicPartition]) -> None:
        topic = self._config.kafka.input
        now = len(self._consumer.partitions_for_topic(topic) or ())
        if now != self._partitions:
            raise PartitionsChanged(topic, self._partitions, now)
        if sources:
            self._consumer.pause(*sources)
        for source in sources:
            # Any position will do until the worker knows the right one; with none, the
            # consumer would look for a committed offset, and fail where there is none yet.
            self._consumer.seek(source, 0)
        self._tell(Rebalanced(tuple(source.partition for source in sources)))
        handed_on = self._hand_on(*sources)
        for source in sources:
            worker = Worker(self._shared, source.partition, handed_on.get(source))
            self.workers[source] = worker
            worker.on(Event.BEGIN)
        self._joined = True

    def _hand_on(self, *sources: TopicPartition) -> dict[TopicPartition, Handover]:
        """What was left whole of these partitions; what was left of others is thrown away."""
        whole = {w.source: w for w in self._leaving if w.whole}
        for source in [source for source in whole if source not in sources]:
            whole.pop(source).discard()
        self._leaving = [w for w in self._leaving if w.closing or not w.left.is_set()]
        return {source: worker.hand_over() for source, worker in whole.items()}

    async def _drain(self) -> None:
        """Give up all partitions. Called again while it is under way, it waits for the same."""
        leaving = [worker for worker in self.workers.values() if not worker.left.is_set()]
        self._leaving += [worker for worker in leaving if worker not in self._leaving]
        for worker in leaving:
            worker.on(Event.REVOKED)
        waits = [asyncio.create_task(worker.left.wait()) for worker in leaving]
        if waits:
            await asyncio.wait(waits, timeout=self._config.agent.drain_deadline / 1000)
        for worker, wait in zip(leaving, waits, strict=True):
            worker.on(Event.TIMEOUT)
            wait.cancel()
        for source, worker in list(self.workers.items()):
            if worker in leaving:
                del self.workers[source]

    # Our side.

    async def _poll(self) -> None:
        most = self._config.agent.max_batch
        wait = min(POLL_MS, max(1, self._config.agent.commit_interval // 4))
        while not self._ending.is_set():
            sought = {source: worker.sought for source, worker in self.workers.items()}
            waits = 0 if self._ahead else wait
            polling = self._consumer.getbatches(timeout_ms=waits, max_records=most)
            found = await unless(self._ending, polling)
            if found is None:  # what it may have read is gone, and no tick must pass over it
                return
            polled = [
                Polled(source, fetched, sought.get(source), self.workers[source].intake)
                for source, fetched in found.items()
                if source in self.workers
            ]
            for source, fetched, since, _ in await self._ahead.turn(polled):
                if (worker := self.workers.get(source)) is not None:
                    await worker.take(fetched, since)
                    if worker.sought is not since:
                        self._ahead.drop(source)
            await self._look_after()
            self.polled = self._now()

    async def _look_around(self) -> None:
        """Leave, if somebody with a newer configuration is at work."""
        bonds = await ownership.bonds(self._admin, self._config, self._partitions)
        self._shared.ownership.refuse_others(self._shared.claim, bonds.values())

    def _running(self) -> list[TopicPartition]:
        return [source for source, worker in self.workers.items() if worker.runs]

    async def _look_after(self) -> None:
        """Let the brokers' clock in where nothing is left to read; commit what is due."""
        now = self._now()
        ticks = now >= self._tick_at
        if ticks:
            self._tick_at = now + TICK_SECONDS
        interval = self._config.agent.commit_interval / 1000
        most = max(LEAST_WAITING, MOST_WAITING // max(1, len(self.workers)))
        for worker in list(self.workers.values()):
            read_all_at = await self._read_all_at(worker)
            if ticks and read_all_at is not None:
                worker.pass_time(read_all_at)
            worker.hold_or_let_go(most)
            age = now - worker.sent_at
            if age >= interval * (1 if worker.waiting else POSITION_ONLY):
                worker.on(Event.DUE)

    async def _read_all_at(self, worker: Worker) -> int | None:
        """When nothing was left to read of a partition, if it was so when Kafka last answered.

        Markers and aborted records count as read: so positions are compared, not records. The
        time is that of the brokers before they were asked: while they are silent, nobody knows
        what is left to read.
        """
        consumer, source = self._consumer, worker.source
        if not worker.runs or source not in consumer.assignment() or self._ahead.holds(source):
            return None
        worker.fetch.look(consumer.last_poll_timestamp(source), self._now())
        end, asked_after = consumer.highwater(source), worker.fetch.asked_after
        if end is None or asked_after is None or await consumer.position(source) < end:
            return None
        return self.clock.at(asked_after)
