"""One partition on Kafka: carries out the commands of its life, and reports what came of them.

Every change in the group takes all partitions from everybody and deals them out again. One that
was left whole, with everything committed, and comes back to the same instance is inherited by
its new worker: producer, pipeline and all, instead of being fenced, restored and read again.
That is as safe as it is for a running worker to go on: whoever else had the partition in between
has fenced this producer first, so the next transaction fails, and with it goes the memory.
"""

import asyncio
from functools import partial

from aiokafka import TopicPartition

from meteragent.formats.registered import SchemasLacking
from meteragent.kafka.clock import LastFetch
from meteragent.kafka.handover import Handover, Shared
from meteragent.kafka.intake import Intake
from meteragent.kafka.outbox import Sent, send_all
from meteragent.kafka.ownership import NOT_OURS
from meteragent.kafka.portions import Portion
from meteragent.kafka.rights import DENIED
from meteragent.kafka.schemas import Wanted
from meteragent.kafka.takeover import take_over
from meteragent.kafka.walk import Fetched
from meteragent.process.loop import Work, back_off, within
from meteragent.stream.partition import Command, Event, Life, State
from meteragent.stream.pipeline import Pipeline
from meteragent.watch import events

FIRST_RETRY_SECONDS, LONG_SECONDS = 0.2, 10.0

AT_WORK = frozenset({State.RUNNING, State.COMMITTING})
AWAITING = frozenset({State.FENCING, State.COMMITTING, State.DRAINING})


class Worker:
    """One assignment of one partition."""

    def __init__(self, shared: Shared, partition: int, inherited: Handover | None = None) -> None:
        self._shared = shared
        self._now = shared.clock
        self._kafka = shared.config.kafka
        self.source = TopicPartition(self._kafka.input, partition)
        self.partition = partition
        self.life, self.left = Life(), asyncio.Event()
        self.failures, self._sound = 0, True
        self.sent_at = self._now()
        """When the last transaction was begun, or found to have nothing in it."""
        self.handover = inherited or Handover()
        self.fetch = LastFetch()
        self.sought: object = None
        """The last time that the consumer was sent to a record of this partition."""
        self.whole = False
        """Whether it has left its handover as another worker may go on with it."""
        self._since = self._now()
        self._task: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._sent: Sent | None = None
        self._held_back, self._portion = False, Portion()
        self.wanted = Wanted(self._now)

    @property
    def intake(self) -> Intake | None:
        """What takes records in, once it is restored."""
        return self.handover.intake

    @property
    def runs(self) -> bool:
        """Whether records are taken in."""
        return self.life.state in AT_WORK

    @property
    def well(self) -> bool:
        """Whether it runs, has committed since it last failed, and waits for nothing for long."""
        due = self.due_since
        stands = self.wanted.stands_still or (due is not None and self._now() - due >= LONG_SECONDS)
        return self.runs and self._sound and not stands

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
            self._since = self._now()
            self.whole = event is Event.COMMITTED and self.life.state is State.LOST
            self._shared.tell(events.PartitionMoved(self.partition, self.life.state))
        for command in commands:
            self._carry_out(command)
        return Command.FEED in commands

    def _carry_out(self, command: Command) -> None:
        limit = self._kafka.transaction_timeout  # brokers abort what takes longer
        background: dict[Command, tuple[Work, Event]] = {
            Command.FENCE: (self._fence, Event.FENCED),
            Command.RESTORE: (self._restore, Event.RESTORED),
            Command.SEND: (partial(within, limit, self._send), Event.DELIVERED),
            Command.COMMIT: (partial(within, limit, self._commit), Event.COMMITTED),
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
                self._until_done(work, done), name=f"{command.value} {self.partition}"
            )
        elif command in at_once:
            at_once[command]()

    async def _until_done(self, work: Work, done: Event) -> None:
        """Report `done`, or ERROR; what has been forgotten meanwhile reports nothing.

        A cancellation that is not ours comes from inside the client, and is an error too.
        """
        try:
            await work()
            if self._task is asyncio.current_task():
                self.on(done)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - it is built anew
            if self._task is asyncio.current_task():
                self.fail(error)

    def fail(self, error: BaseException) -> None:
        """Something went wrong: say it, and start over."""
        if isinstance(error, TimeoutError) and self._sent is not None:
            error = self._portion.failed(self.partition, len(self._sent.outbox))
        if self.life.state not in {State.LOST, State.FAILED}:
            self.failures += 1
            self._sound = False
            self._shared.tell(events.PartitionFailed(self.partition, error, self._back_off()))
        self.on(Event.ERROR)
        if isinstance(error, (*DENIED, *NOT_OURS)):
            self._shared.give_up(error)  # of rights the agent asks anew, and names what lacks

    async def _wait(self) -> None:
        await asyncio.sleep(self._back_off())

    def _back_off(self) -> float:
        return back_off(FIRST_RETRY_SECONDS, self.failures)

    # Fence, restore, seek: from nothing to running.

    async def _fence(self) -> None:
        if self.handover.producer is not None:
            return  # inherited
        self.handover.producer = self._shared.clients.of_partition(self.partition)
        await self.handover.producer.start()

    async def _restore(self) -> None:
        if self.intake is not None:  # inherited; the last it was fed may still be under way
            await self.intake.settle()
            return
        begun = self._now()
        found = await take_over(self._shared, self.source, self.handover)
        took = self._now() - begun
        self._shared.tell(events.PartitionRestored(self.partition, found.meters, took, found.lost))

    def _seek(self) -> None:
        self._go_on()
        self._let_go()
        self.sent_at = self._now()

    def _go_on(self) -> None:
        assert self.intake is not None  # noqa: S101 - RESTORED comes after _restore
        self.intake.portion = self._portion
        self._shared.consumer.seek(self.source, self.intake.next)
        self.sought = object()

    # Take in: records, and the passing of time.

    async def take(self, fetched: Fetched, sought: object) -> None:
        """Feed what came of a poll that began when `sought` was the last seek.

        If there was another seek since, nobody knows from where they were read: they might
        leave a gap, or come twice. So they are read again.
        """
        intake = self.intake
        if intake is None or not self.runs:
            return
        if self.sought is not sought or intake.busy:
            self._go_on()
        elif self.on(Event.RECORDS):
            try:
                await intake.take(fetched)
                self.wanted.met()
            except SchemasLacking as lacking:
                self._lack(intake, lacking)
            except Exception as error:  # noqa: BLE001 - one partition's trouble is its own
                if self.intake is intake:
                    self.fail(error)

    def _lack(self, intake: Intake, lacking: SchemasLacking) -> None:
        """Read the same again, once its schemas are known."""
        if self.intake is intake and self.runs:
            self._go_on()
            self._hold_back()
            learning = partial(self._shared.schemas.learn, self.partition, lacking)
            taken = partial(self._shared.schemas.taken, self.partition)
            self.wanted.begin(learning, self.fail, taken)

    def pass_time(self, now: int) -> None:
        """Every record up to now has been fed: the brokers' clock may close windows."""
        if self.intake is not None and self.runs:
            self.intake.pass_time(now)

    @property
    def waiting(self) -> int:
        """How many releases and rejects wait to be committed."""
        return 0 if self.intake is None else self.intake.waiting

    def hold_or_let_go(self, most: int) -> None:
        """Back-pressure: read no further while too much waits to be committed, or time does."""
        full = self.intake is not None and self.intake.is_full(most)
        held = full or self.wanted.waits
        if full:
            self.on(Event.DUE)
        if full and self.life.state is State.COMMITTING and not self._held_back:
            self._hold_back()
        elif not held and self._held_back and self.life.state is State.RUNNING:
            self._let_go()

    def _hold_back(self) -> None:
        self._held_back = True
        if self.source in self._shared.consumer.assignment():
            self._shared.consumer.pause(self.source)

    def _let_go(self) -> None:
        self._held_back = False
        self._shared.consumer.resume(self.source)

    # Send and commit: what waits, in one transaction with the position.

    async def _send(self) -> None:
        intake, producer = self.intake, self.handover.producer
        assert intake is not None  # noqa: S101 - a partition that runs has both
        assert producer is not None  # noqa: S101
        self.sent_at = self._now()
        outbox, position = await intake.empty()
        outbox.reserved |= self.handover.unwritten
        if not outbox and position == self.handover.committed:
            return
        bond = self.handover.bond
        assert bond is not None  # noqa: S101 - as above
        sent = self._sent = Sent(outbox, position, self._now())
        sent.bond = await send_all(producer, self._kafka, self.source, outbox, position, bond)

    async def _commit(self) -> None:
        if self._sent is not None and self.handover.producer is not None:
            await self.handover.producer.commit_transaction()
            sent, self._sent = self._sent, None
            self.handover.committed, self.handover.bond = sent.position, sent.bond
            seconds = self._now() - sent.begun
            self._portion.ended(seconds, self._kafka.transaction_timeout / 1000)
            windows, gone = sent.outbox.released, self._shared.outlived(sent.outbox)
            self._shared.tell(events.TransactionEnded(self.partition, windows, seconds, gone))
            self.failures, self.handover.unwritten = 0, {}
        if self.handover.intake is not None and self.handover.committed is not None:
            await self.handover.intake.go_on(self.handover.committed)
        self._sound = True

    def hand_over(self) -> Handover:
        """Hand on what was left whole."""
        handover, self.handover, self.whole = self.handover, Handover(), False
        return handover

    def _forget(self) -> None:
        self.wanted.end()
        if not self.whole:
            self.discard()

    def discard(self) -> None:
        """Throw memory and producer away. The pipeline's open windows are read again."""
        task, self._task = self._task, None
        if task is not None and task is not asyncio.current_task():
            task.cancel()
        handover = self.hand_over()
        if handover.intake is not None:
            handover.intake.forget()
        if self._sent is not None:
            self._shared.tell(events.TransactionAbandoned(self.partition))
            self._sent = None
        if handover.producer is not None:
            closing = asyncio.create_task(self._shared.clients.close(handover.producer))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    @property
    def closing(self) -> frozenset[asyncio.Task[None]]:
        """What is still to be closed of producers of the past."""
        return frozenset(self._closing)
