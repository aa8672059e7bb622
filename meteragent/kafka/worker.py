"""One partition on Kafka: carries out the commands of its life, and reports what came of them."""

import asyncio
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.structs import OffsetAndMetadata

from meteragent.config import Config
from meteragent.entropy import NoiseKey
from meteragent.events import (
    Listener,
    PartitionFailed,
    PartitionMoved,
    PartitionRestored,
    TransactionAbandoned,
    TransactionEnded,
)
from meteragent.kafka import clients, restore
from meteragent.kafka.intake import Intake
from meteragent.kafka.outbox import Outbox, send
from meteragent.partition import Command, Event, Life, State
from meteragent.pipeline import Assigned, Pipeline, Position

FIRST_RETRY_SECONDS = 0.2
LAST_RETRY_SECONDS = 15.0

AT_WORK = frozenset({State.RUNNING, State.COMMITTING})
AWAITING = frozenset({State.FENCING, State.COMMITTING, State.DRAINING})


@dataclass(frozen=True)
class Surroundings:
    """What the workers of one agent share."""

    config: Config
    key: NoiseKey
    consumer: AIOKafkaConsumer
    admin: AIOKafkaAdminClient
    tell: Listener

    @cached_property
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
        self.committed_at = time.monotonic()
        """When the last commit was made, or found to have nothing in it."""
        self.intake: Intake | None = None
        self._since = time.monotonic()
        self._producer: AIOKafkaProducer | None = None
        self._task: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._committed: Position | None = None
        self._sent: tuple[Outbox, Position, float] | None = None
        self._held_back = False

    @property
    def runs(self) -> bool:
        """Whether records are taken in."""
        return self.life.state in AT_WORK

    @property
    def pipeline(self) -> Pipeline | None:
        """What it holds, for those who count."""
        return None if self.intake is None else self.intake.pipeline

    @property
    def due_since(self) -> float | None:
        """Since when it waits for an answer of the brokers.

        A long restore is no standstill, nor is a partition that fails, says so and tries again.
        """
        return self._since if self.life.state in AWAITING else None

    # Events come in here; commands go out.

    def on(self, event: Event) -> bool:
        """Take an event; answer whether records are to be fed now."""
        before = self.life.state
        commands = self.life.on(event)
        if self.life.state is not before:
            self._since = time.monotonic()
            self._around.tell(PartitionMoved(self.partition, self.life.state))
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
            self._task = asyncio.create_task(
                self._until_done(work(), done), name=f"{command.value} {self.partition}"
            )
        elif command in at_once:
            at_once[command]()

    async def _until_done(self, work: Awaitable[None], done: Event) -> None:
        """Report `done`, or ERROR; what has been forgotten meanwhile reports nothing.

        A cancellation that is not ours comes from inside the client, and is an error too.
        """
        try:
            await work
            if self._task is asyncio.current_task():
                self.on(done)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - it is built anew
            if self._task is asyncio.current_task():
                self.fail(error)

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
        self._committed = position
        self.intake = Intake(self._kafka.input, self.partition, pipeline, self._around.tell)
        seconds = time.monotonic() - begun
        self._around.tell(PartitionRestored(self.partition, len(accounts), seconds, lost))

    def _seek(self) -> None:
        assert self._committed is not None  # noqa: S101 - RESTORED comes after _restore
        self._around.consumer.seek(self.source, self._committed.offset)
        self._let_go()
        self.committed_at = time.monotonic()

    # Take in: records, and the passing of time.

    async def take(self, records: Sequence[ConsumerRecord], polled_for: Intake | None) -> None:
        """Feed records that were polled while `polled_for` was the intake.

        Those of a former intake's poll would leave a gap in the present one, to which nothing
        has been fed yet: it begins again where it begins.
        """
        intake = self.intake
        if intake is None or not self.runs:
            return
        if intake is not polled_for:
            self._around.consumer.seek(self.source, intake.begin)
        elif self.on(Event.RECORDS):
            await self._guard(intake, intake.take(records))

    async def pass_time(self, now: int) -> None:
        """Every record up to now has been fed: the wall clock may close windows."""
        if self.intake is not None and self.runs:
            await self._guard(self.intake, self.intake.pass_time(now))

    async def _guard(self, intake: Intake, work: Awaitable[None]) -> None:
        """One partition's trouble is not that of its neighbours."""
        try:
            await work
        except Exception as error:  # noqa: BLE001 - whatever it is, the partition is built anew
            if self.intake is intake:
                self.fail(error)

    @property
    def waiting(self) -> int:
        """How many releases and rejects wait to be committed."""
        return 0 if self.intake is None else self.intake.waiting

    def hold_or_let_go(self, most: int) -> None:
        """Back-pressure: read no further while too much waits to be committed."""
        full = self.waiting >= most
        if full:
            self.on(Event.DUE)
        if full and self.life.state is State.COMMITTING and not self._held_back:
            self._hold_back()
        elif not full and self._held_back and self.life.state is State.RUNNING:
            self._let_go()

    def _hold_back(self) -> None:
        self._held_back = True
        if self.source in self._around.consumer.assignment():
            self._around.consumer.pause(self.source)

    def _let_go(self) -> None:
        self._held_back = False
        self._around.consumer.resume(self.source)

    # Send and commit: what waits, in one transaction with the position.

    async def _send(self) -> None:
        intake, producer = self.intake, self._producer
        assert intake is not None  # noqa: S101 - a partition that runs has both
        assert producer is not None  # noqa: S101
        outbox, position = await intake.empty()
        if not outbox and position == self._committed:
            return
        self._sent = outbox, position, time.monotonic()
        await producer.begin_transaction()
        hand_over = partial(send, producer)
        futures = [
            *await hand_over(self._kafka.output, self.partition, outbox.releases),
            *await hand_over(self._kafka.ledger, self.partition, outbox.ledger()),
            *await hand_over(self._kafka.rejected, self.partition, outbox.rejects),
        ]
        offset = OffsetAndMetadata(position.offset, restore.metadata(position))
        await producer.send_offsets_to_transaction({self.source: offset}, self._kafka.group)
        await asyncio.gather(*futures)

    async def _commit(self) -> None:
        if self._sent is not None and self._producer is not None:
            await self._producer.commit_transaction()
            (outbox, self._committed, begun), self._sent = self._sent, None
            seconds = time.monotonic() - begun
            self._around.tell(TransactionEnded(self.partition, len(outbox.releases), seconds))
            self.failures = 0
        self.committed_at = time.monotonic()

    def _forget(self) -> None:
        """Throw memory and producer away. The pipeline's open windows are read again."""
        task, self._task = self._task, None
        if task is not None and task is not asyncio.current_task():
            task.cancel()
        if self.intake is not None:
            self.intake.forget()
        if self._sent is not None:
            self._around.tell(TransactionAbandoned(self.partition))
        self.intake, self._committed, self._sent = None, None, None
        producer, self._producer = self._producer, None
        if producer is not None:
            closing = asyncio.create_task(clients.close(producer))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    @property
    def closing(self) -> frozenset[asyncio.Task[None]]:
        """What is still to be closed of producers of the past."""
        return frozenset(self._closing)
