"""One partition's worker, command for command as `meteragent.kafka.worker` carries them out.

Where the real one awaits, this one yields; what is done without an await there is one step
here. A `Design` names the parts, so that tests can plant a bug into any of them.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from meteragent.formats.encoder import Encoder
from meteragent.stream.partition import TABLE, Command, Event, Life, Reaction, State
from meteragent.stream.pipeline import START, Pipeline, Position
from tests.schedules.client import Consumer, Delivery, Producer, Refused
from tests.schedules.intake import Handover, Intake, Outbox
from tests.schedules.kafka_model import Fenced, Kafka
from tests.schedules.scheduler import Lost, Running, Scheduler, Steps, Task
from tests.schedules.world import KEY, MAX_METERS, MAX_SKEW, World

if TYPE_CHECKING:
    from collections.abc import Callable

READINGS, SANITIZED, LEDGER, REJECTED = "readings", "sanitized", "ledger", "rejected"
GROUP = "group"
AT_WORK = frozenset({State.RUNNING, State.COMMITTING})
Accounts = dict[str, bytes]

_encode = Encoder().encode


@dataclass
class Around:
    """What the workers of one instance share."""

    scheduler: Scheduler
    kafka: Kafka
    world: World
    design: "Design"
    consumer: Consumer
    home: object


class Worker:
    """One assignment of one partition."""

    def __init__(self, around: Around, partition: int, inherited: Handover | None = None) -> None:
        self.around = around
        self.partition = partition
        self.name = f"{around.home}/{partition}"
        self.life = Life(around.design.table)
        self.left = False
        self.handover = inherited or Handover()
        self.sought: object = None
        """The last time that the consumer was sent to a record of this partition."""
        self.whole = False
        """Whether it has left its handover as another worker may go on with it."""
        self._task: Running | None = None
        self._sent: Position | None = None

    @property
    def intake(self) -> Intake | None:
        """What takes records in, once it is restored."""
        return self.handover.intake

    def on(self, event: Event) -> bool:
        """Take an event; answer whether records are to be fed now."""
        before = self.life.state
        commands = self.life.on(event)
        if self.life.state is not before:
            ends_well = event is Event.COMMITTED or self.around.design.inherits_anything
            self.whole = self.life.state is State.LOST and ends_well
        if self.around.scheduler.trace is not None:
            orders = " ".join(c.value for c in commands)
            said = f"{event.value} -> {self.life.state.value} [{orders}]"
            self.around.scheduler.say(self.name, said)
        for command in commands:
            self._carry_out(command)
        return Command.FEED in commands

    def _carry_out(self, command: Command) -> None:
        background: dict[Command, tuple[Callable[[], Steps[None]], Event]] = {
            Command.FENCE: (self._fence, Event.FENCED),
            Command.RESTORE: (self._restore, Event.RESTORED),
            Command.SEND: (self._send, Event.DELIVERED),
            Command.COMMIT: (self._commit, Event.COMMITTED),
            Command.WAIT: (self._wait, Event.RETRY),
        }
        if command in background:
            work, done = background[command]
            self._start(work(), done)
        elif command is Command.SEEK:
            self._seek()
        elif command is Command.PAUSE:
            self.around.consumer.paused.add(self.partition)
        elif command is Command.FORGET:
            self._forget()
        elif command is Command.LEAVE:
            self.left = True

    def _start(self, work: Steps[None], done: Event) -> None:
        def until_done() -> Task:
            try:
                yield from work
            except (Fenced, Lost, Refused) as error:
                if self._task is not self.around.scheduler.current:
                    return
                self.around.scheduler.say(self.name, f"{type(error).__name__}: {error}")
                self.on(Event.ERROR)
            else:
                if self._task is self.around.scheduler.current:
                    self.on(done)

        name = f"{self.name} until {done.value}"
        self._task = self.around.scheduler.start(name, until_done(), self.around.home)

    def _wait(self) -> Steps[None]:
        yield "backs off"

    @property
    def at_rest(self) -> bool:
        """Whether all there was to commit is committed."""
        intake, position = self.intake, self.around.design.position
        return (
            intake is not None
            and not intake.outbox
            and self.handover.committed == position(intake.pipeline)
        )

    # Fence, restore, seek: from nothing to running.

    def _fence(self) -> Steps[None]:
        if self.handover.producer is not None:
            return  # inherited
        around = self.around
        name = f"{GROUP}-{self.partition}"
        self.handover.producer = Producer(around.kafka, around.scheduler, name, around.home)
        yield from self.handover.producer.start()

    def _restore(self) -> Steps[None]:
        if self.intake is not None:
            yield from self.intake.settle()
            return
        accounts = yield from self._read_ledger()
        yield "reads the position"
        found = self.around.kafka.committed(self.partition)
        yield "builds"
        position = found if isinstance(found, Position) else START
        pipeline = self.around.design.pipeline(
            self.around.world.assigned,
            KEY,
            max_skew=MAX_SKEW,
            max_meters=MAX_METERS,
            start=position,
        )
        pipeline.restore(accounts)
        yield "built"
        self.handover.committed = position
        self.handover.intake = Intake(self.around.world, self.partition, pipeline)

    def _read_ledger(self) -> Steps[Accounts]:
        only_committed = self.around.design.restores_committed
        log = self.around.kafka.log((LEDGER, self.partition))
        yield "asks for the ledger's end"
        end, at = log.end(committed=only_committed), 0
        accounts: Accounts = {}
        while at < end:
            entries, at = log.read(at, 8, committed=only_committed)
            accounts.update((entry.key, entry.value) for entry in entries)
            yield f"reads the ledger to {at}"
        return accounts

    def _seek(self) -> None:
        self._go_on()
        self.around.consumer.paused.discard(self.partition)

    def _go_on(self) -> None:
        assert self.intake is not None
        self.around.consumer.seek(self.partition, self.intake.next)
        self.sought = object()

    # Take in: records, and the passing of time.

    def take(self, records: range, sought: object) -> Steps[None]:
        """Feed records of a poll that began when `sought` was the last seek."""
        intake = self.intake
        if intake is None or self.life.state not in AT_WORK:
            return
        stale = self.sought is not sought and self.around.design.drops_stale_records
        if stale or intake.pipeline.announced:
            self._go_on()
        elif self.on(Event.RECORDS):
            yield from intake.take(records)

    def pass_time(self, now: int) -> Steps[None]:
        """Every record there is has been fed: the wall clock may close windows."""
        if self.intake is None or self.life.state not in AT_WORK:
            return
        if self.around.design.announces_ticks:
            self.intake.announce(now)
        else:
            yield from self.intake.tick(now)

    def hold_or_let_go(self, most: int) -> None:
        """Back-pressure: read no further while too much waits to be committed, or a tick does."""
        intake = self.intake
        full = intake is not None and (len(intake.outbox) >= most or intake.pipeline.announced)
        if full:
            self.on(Event.DUE)
        if full and self.life.state is State.COMMITTING:
            self.around.consumer.paused.add(self.partition)
        elif not full and self.life.state is State.RUNNING:
            self.around.consumer.paused.discard(self.partition)

    # Send and commit: what waits, in one transaction with the position.

    def _send(self) -> Steps[None]:
        intake, producer = self.intake, self.handover.producer
        assert intake is not None
        assert producer is not None
        outbox, position = yield from intake.empty(self.around.design.position)
        if not outbox and position == self.handover.committed:
            return
        self._sent = position
        producer.begin()
        deliveries = []
        for topic, records in self.around.design.batches(outbox):
            deliveries.append(producer.hand_over((topic, self.partition), records))
            yield f"handed over to {topic}"
        yield from producer.send_offset(self.partition, position)
        yield from self.around.design.delivered(deliveries)

    def _commit(self) -> Steps[None]:
        handover = self.handover
        if self._sent is not None and handover.producer is not None:
            yield from handover.producer.commit()
            handover.committed, self._sent = self._sent, None
        if handover.intake is not None and handover.committed is not None:
            yield from handover.intake.keep(handover.committed)

    def hand_over(self) -> Handover:
        """Hand on what was left whole."""
        handover, self.handover, self.whole = self.handover, Handover(), False
        return handover

    def _forget(self) -> None:
        if not self.whole:
            self.discard()

    def discard(self) -> None:
        """Throw memory and producer away."""
        task, self._task = self._task, None
        if task is not None and task is not self.around.scheduler.current:
            self.around.scheduler.cancel(task)
        self._sent = None
        if self.around.design.forgets:
            handover = self.hand_over()
            if handover.intake is not None:
                handover.intake.forget()


Batches = list[tuple[str, list[tuple[str, Any]]]]


class Design:
    """The parts that a planted bug may replace; as they stand, they are the real ones."""

    table: dict[tuple[State, Event], Reaction] = TABLE
    restores_committed = True
    forgets = True
    drops_stale_records = True
    announces_ticks = True
    inherits_anything = False

    def pipeline(self, *arguments: Any, **settings: Any) -> Pipeline:  # noqa: ANN401
        """Build a partition's pipeline."""
        return Pipeline(*arguments, **settings)

    def position(self, pipeline: Pipeline) -> Position:
        """What to commit."""
        return pipeline.position()

    def batches(self, outbox: Outbox) -> Batches:
        """What a transaction holds, by topic."""
        batches: Batches = [
            (SANITIZED, list(outbox.releases)),
            (LEDGER, list(outbox.accounts.items())),
            (REJECTED, list(outbox.rejects)),
        ]
        return [(topic, records) for topic, records in batches if records]

    def delivered(self, deliveries: list[Delivery]) -> Steps[None]:
        """Wait until every record has arrived; an error if one has not."""
        yield lambda: all(delivery.done for delivery in deliveries)
        for delivery in deliveries:
            if delivery.error is not None:
                raise delivery.error
