"""One partition on Kafka: carries out the commands of its life, and reports what came of them."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.structs import OffsetAndMetadata

from meteragent.codec import Decoder
from meteragent.config import Config
from meteragent.encode import Encoder, reject_document
from meteragent.entropy import NoiseKey
from meteragent.events import (
    BatchTaken,
    Listener,
    PartitionFailed,
    PartitionMoved,
    PartitionRestored,
    TransactionAbandoned,
    TransactionEnded,
    WindowsDecided,
)
from meteragent.kafka import clients, restore
from meteragent.kafka.outbox import Outbox, send
from meteragent.partition import Command, Event, Life, State
from meteragent.pipeline import Assigned, Counts, Pipeline, Position, Step

FIRST_RETRY_SECONDS = 0.2
LAST_RETRY_SECONDS = 15.0


@dataclass(frozen=True)
class Surroundings:
    """What the workers of one agent share."""

    config: Config
    key: NoiseKey
    consumer: AIOKafkaConsumer
    admin: AIOKafkaAdminClient
    decoder: Decoder
    encoder: Encoder
    tell: Listener

    @property
    def assigned(self) -> tuple[Assigned, ...]:
        """The policies, by the prefix of the meters they are for."""
        return tuple(Assigned(prefix, p) for prefix, p in self.config.policies.items())


class Worker:
    """One assignment of one partition."""

    def __init__(self, surroundings: Surroundings, partition: int) -> None:
        self._around = surroundings
        self._kafka = surroundings.config.kafka
        self.source = TopicPartition(self._kafka.input, partition)
        self.partition = partition
        self.life = Life()
        self.left = asyncio.Event()
        self.failures = 0
        self.progressed = time.monotonic()
        self._due_since: float | None = None
        self.pipeline: Pipeline | None = None
        self._producer: AIOKafkaProducer | None = None
        self._task: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._outbox = Outbox()
        self._committed: Position | None = None
        self._in_transaction = False
        self._settled = asyncio.Event()
        self._settled.set()
        self._held_back = False

    # Events come in here; commands go out.

    def on(self, event: Event) -> bool:
        """Take an event; answer whether records are to be fed now."""
        before = self.life.state
        commands = self.life.on(event)
        if self.life.state is not before:
            self._around.tell(PartitionMoved(self.partition, self.life.state))
            if self._due_since is None and self.life.state in {State.COMMITTING, State.FAILED}:
                self._due_since = time.monotonic()
        for command in commands:
            self._carry_out(command)
        return Command.FEED in commands

    def _carry_out(self, command: Command) -> None:
        background = {
            Command.FENCE: (self._fence, Event.FENCED),
            Command.RESTORE: (self._restore, Event.RESTORED),
            Command.SEND: (self._send, Event.DELIVERED),
            Command.COMMIT: (self._commit, Event.COMMITTED),
            Command.WAIT: (self._wait, Event.RETRY),
        }
        at_once = {
            Command.SEEK: self._seek,
            Command.PAUSE: self._hold_back,
            Command.FORGET: self._forget,
            Command.LEAVE: self.left.set,
        }
        if command in background:
            work, done = background[command]
            self._start(work(), done)
        elif command in at_once:
            at_once[command]()

    def _start(self, work: Awaitable[None], done: Event) -> None:
        """Work in the background; `done` when it is, or ERROR."""

        async def until_done() -> None:
            try:
                await work
            except Exception as error:  # noqa: BLE001 - whatever it is, the partition is built anew
                self.fail(error)
            else:
                self.on(done)

        self._task = asyncio.create_task(until_done(), name=f"{done.value}-{self.partition}")

    def fail(self, error: BaseException) -> None:
        """Something went wrong: say it, and start over."""
        if self.life.state not in {State.LOST, State.FAILED}:
            self.failures += 1
            self._around.tell(PartitionFailed(self.partition, error, self._back_off()))
        self.on(Event.ERROR)

    async def _wait(self) -> None:
        await asyncio.sleep(self._back_off())

    def _back_off(self) -> float:
        doublings = min(self.failures - 1, 10)
        return min(FIRST_RETRY_SECONDS * (1 << doublings), LAST_RETRY_SECONDS)

    # Fence, restore, seek: from nothing to running.

    async def _fence(self) -> None:
        name = f"{self._kafka.group}-{self._kafka.input}-{self.partition}"
        self._producer = clients.producer(self._kafka, name)
        await self._producer.start()

    async def _restore(self) -> None:
        begun = time.monotonic()
        accounts = await restore.accounts(self._kafka, self.partition)
        position, lost = await restore.position(
            self._around.admin, self._around.consumer, self._kafka, self.partition
        )
        agent = self._around.config.agent
        pipeline = Pipeline(
            self._around.assigned,
            self._around.key,
            max_skew=agent.max_skew,
            max_meters=agent.max_meters,
            start=position,
        )
        await asyncio.to_thread(pipeline.restore, accounts)
        self.pipeline, self._committed = pipeline, position
        seconds = time.monotonic() - begun
        self._around.tell(PartitionRestored(self.partition, len(accounts), seconds, lost))

    def _seek(self) -> None:
        assert self._committed is not None  # noqa: S101 - RESTORED comes after _restore
        self._around.consumer.seek(self.source, self._committed.offset)
        self._let_go()
        self.progressed = time.monotonic()

    # Feed: records in, the outbox fills.

    async def take(self, records: Sequence[ConsumerRecord]) -> None:
        """Feed records of this partition, if it is running."""
        if not self.on(Event.RECORDS) or self.pipeline is None:
            return
        pipeline = self.pipeline
        readings = self._around.decoder.decode(
            [r.value for r in records],
            [r.offset for r in records],
            [r.timestamp for r in records],
        )
        await self._collect(pipeline, pipeline.feed(readings))
        if self.pipeline is not pipeline:
            return
        counts, pipeline.counts = pipeline.counts, Counts()
        self._reject(counts)
        self._around.tell(
            BatchTaken(
                self.partition,
                len(records),
                counts.tally.accepted,
                counts.tally.late,
                counts.tally.duplicate,
                Counter(reject.reason for reject in counts.rejects),
            )
        )

    async def caught_up(self, now: int) -> None:
        """Every record there is has been fed: the wall clock may close windows."""
        if self.life.state in {State.RUNNING, State.COMMITTING} and self.pipeline is not None:
            await self._collect(self.pipeline, self.pipeline.tick(now))

    async def _collect(self, pipeline: Pipeline, steps: Iterable[Step]) -> None:
        """Take steps one by one, so that the loop is never held up for long.

        A transaction may not begin before the last step: the position is whole only then.
        """
        self._settled.clear()
        try:
            for step in steps:
                if self.pipeline is not pipeline:
                    return  # built anew meanwhile: what is left of this belongs to the past
                keys = [meter.encode() for meter in step.releases.meters]
                self._outbox.releases += zip(
                    keys, self._around.encoder.encode(step.releases), strict=True
                )
                self._outbox.accounts.update(step.accounts)
                self._around.tell(_decided(self.partition, step))
                await asyncio.sleep(0)
        except Exception as error:  # noqa: BLE001 - whatever it is, the partition is built anew
            self.fail(error)
        finally:
            self._settled.set()

    def _reject(self, counts: Counts) -> None:
        self._outbox.rejects += [
            (b"", reject_document(self._kafka.input, self.partition, reject))
            for reject in counts.rejects
        ]

    def hold_or_let_go(self, most: int) -> None:
        """Back-pressure: read no further while too much waits to be committed."""
        full = len(self._outbox) >= most
        if full:
            self.on(Event.DUE)
        if full and self.life.state is State.COMMITTING and not self._held_back:
            self._hold_back()
        elif not full and self._held_back and self.life.state is State.RUNNING:
            self._let_go()

    def _hold_back(self) -> None:
        self._held_back = True
        with contextlib.suppress(Exception):  # the assignment may be gone already
            self._around.consumer.pause(self.source)

    def _let_go(self) -> None:
        self._held_back = False
        self._around.consumer.resume(self.source)

    # Send and commit: the outbox, in one transaction with the position.

    async def _send(self) -> None:
        await self._settled.wait()
        pipeline, producer = self.pipeline, self._producer
        assert pipeline is not None  # noqa: S101 - a partition that runs has both
        assert producer is not None  # noqa: S101
        position = pipeline.position()
        outbox, self._outbox = self._outbox, Outbox()
        if not outbox and position == self._committed:
            return
        await producer.begin_transaction()
        self._in_transaction = True
        hand_over = partial(send, producer)
        futures = [
            *await hand_over(self._kafka.output, self.partition, outbox.releases),
            *await hand_over(self._kafka.ledger, self.partition, outbox.ledger()),
            *await hand_over(self._kafka.rejected, self.partition, outbox.rejects),
        ]
        offset = OffsetAndMetadata(position.offset, restore.metadata(position))
        await producer.send_offsets_to_transaction({self.source: offset}, self._kafka.group)
        await asyncio.gather(*futures)
        self._sent = outbox, position, time.monotonic()

    async def _commit(self) -> None:
        if self._in_transaction and self._producer is not None:
            await self._producer.commit_transaction()
            self._in_transaction = False
            outbox, self._committed, begun = self._sent
            seconds = time.monotonic() - begun
            self._around.tell(TransactionEnded(self.partition, len(outbox.releases), seconds))
        self.failures = 0
        self.progressed = time.monotonic()
        self._due_since = None

    @property
    def due_since(self) -> float | None:
        """Since when a commit is due that has not come; a long restore is no standstill."""
        return None if self.life.state is State.RESTORING else self._due_since

    @property
    def has_news(self) -> bool:
        """Whether releases or rejects wait to be committed."""
        return bool(self._outbox)

    def _forget(self) -> None:
        """Throw memory and producer away. The pipeline's open windows are read again."""
        task, self._task = self._task, None
        if task is not None and task is not asyncio.current_task():
            task.cancel()
        self.pipeline, self._committed = None, None
        if self._in_transaction:
            self._around.tell(TransactionAbandoned(self.partition))
        self._outbox, self._in_transaction = Outbox(), False
        producer, self._producer = self._producer, None
        if producer is not None:
            closing = asyncio.create_task(clients.close(producer))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def closed(self) -> None:
        """Wait until producers of the past are closed."""
        if self._closing:
            await asyncio.wait(self._closing)


def _decided(partition: int, step: Step) -> WindowsDecided:
    releases = step.releases
    questions = releases.policy.questions
    granted = [int((releases.granted > i).sum()) for i in range(len(questions))]
    costs = releases.policy.terms.costs
    names = [question.query.name for question in questions]
    return WindowsDecided(
        partition,
        releases.policy.id,
        len(releases.meters),
        dict(zip(names, granted, strict=True)),
        Counter(w for w in releases.withheld if w),
        {n: g * c for n, g, c in zip(names, granted, costs, strict=True)},
        int(releases.starts.max()) + releases.policy.size,
    )
