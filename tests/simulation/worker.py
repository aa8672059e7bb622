"""One partition's worker, command for command as `meteragent.kafka.worker` carries them out.

Where the real one awaits, this one yields; what is done without an await there is one step
here. A `Design` names the parts, so that tests can plant a bug into any of them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from meteragent.encode import Encoder
from meteragent.partition import TABLE, Answer, Command, Event, Life, State
from meteragent.pipeline import START, Pipeline, Position, Step
from tests.simulation.client import Consumer, Delivery, Producer, Refused
from tests.simulation.kafka_model import Fenced, Kafka
from tests.simulation.scheduler import Lost, Running, Scheduler, Steps, Task
from tests.simulation.world import KEY, MAX_METERS, MAX_SKEW, World

READINGS, SANITIZED, LEDGER, REJECTED = "readings", "sanitized", "ledger", "rejected"
GROUP = "group"
AT_WORK = frozenset({State.RUNNING, State.COMMITTING})
Accounts = dict[str, bytes]

_encode = Encoder().encode


class Release(NamedTuple):
    """A decided window as it is published, and what it costs."""

    start: int
    cost: int
    document: bytes


@dataclass
class Outbox:
    """What the next transaction will hold."""

    releases: list[tuple[str, Release]] = field(default_factory=list)
    accounts: Accounts = field(default_factory=dict)
    rejects: list[tuple[str, tuple[int, str]]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.releases) + len(self.rejects)


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

    def __init__(self, around: Around, partition: int) -> None:
        self.around = around
        self.partition = partition
        self.name = f"{around.home}/{partition}"
        self.life = Life(around.design.table)
        self.left = False
        self.pipeline: Pipeline | None = None
        self.outbox = Outbox()
        self.committed: Position | None = None
        self._producer: Producer | None = None
        self._task: Running | None = None
        self._in_transaction = False
        self._announced = False
        """Whether a tick is to be committed before anything else happens."""
        self._begin = 0
        self._settled = True
        self._sent = START
        self._deliveries: list[Delivery] = []

    def on(self, event: Event) -> bool:
        """Take an event; answer whether records are to be fed now."""
        commands = self.life.on(event)
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
                self.around.scheduler.say(self.name, f"{type(error).__name__}: {error}")
                self.on(Event.ERROR)
            else:
                self.on(done)

        name = f"{self.name} until {done.value}"
        self._task = self.around.scheduler.start(name, until_done(), self.around.home)

    def _wait(self) -> Steps[None]:
        yield "backs off"

    @property
    def at_rest(self) -> bool:
        """Whether all there was to commit is committed."""
        pipeline, position = self.pipeline, self.around.design.position
        return pipeline is not None and not self.outbox and self.committed == position(pipeline)

    # Fence, restore, seek: from nothing to running.

    def _fence(self) -> Steps[None]:
        around = self.around
        name = f"{GROUP}-{self.partition}"
        self._producer = Producer(around.kafka, around.scheduler, name, around.home)
        yield from self._producer.start()

    def _restore(self) -> Steps[None]:
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
        self.pipeline, self.committed = pipeline, position
        self._begin = position.offset

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
        at = 0 if self.committed is None else self.committed.offset
        self.around.consumer.seek(self.partition, at)
        self.around.consumer.paused.discard(self.partition)

    # Feed: records in, the outbox fills.

    def take(self, records: range, polled_for: Pipeline | None) -> Steps[None]:
        """Feed records that were polled while `polled_for` was the pipeline."""
        pipeline = self.pipeline
        if pipeline is None or self.life.state not in AT_WORK:
            return
        if pipeline is not polled_for and self.around.design.drops_stale_records:
            self.around.consumer.seek(self.partition, self._begin)
            return
        if not self.on(Event.RECORDS):
            return
        readings = self.around.world.readings(self.partition, records)
        yield from self._collect(pipeline, pipeline.feed(readings))
        if self.pipeline is pipeline:
            rejects, pipeline.counts.rejects = pipeline.counts.rejects, []
            self.outbox.rejects += [("", (r.offset, r.reason.value)) for r in rejects]

    def pass_time(self, now: int) -> Steps[None]:
        """Every record there is has been fed: the wall clock may close windows."""
        if self.pipeline is None or self.life.state not in AT_WORK:
            return
        if not self.around.design.announces_ticks:
            yield from self._collect(self.pipeline, self.pipeline.tick(now))
        elif self.pipeline.announce(now):
            self._announced = True
            self.around.consumer.paused.add(self.partition)
            self.on(Event.DUE)

    def _collect(self, pipeline: Pipeline, steps: Iterator[Step]) -> Steps[None]:
        self._settled = False
        for step in steps:
            if self.pipeline is not pipeline:
                break
            self.outbox.releases += releases(step)
            self.outbox.accounts.update(step.accounts)
            yield "collects"
        self._settled = True

    def hold_or_let_go(self, most: int) -> None:
        """Back-pressure: read no further while too much waits to be committed."""
        full = len(self.outbox) >= most or self._announced
        if full:
            self.on(Event.DUE)
        if full and self.life.state is State.COMMITTING:
            self.around.consumer.paused.add(self.partition)
        elif not full and self.life.state is State.RUNNING:
            self.around.consumer.paused.discard(self.partition)

    # Send and commit: the outbox, in one transaction with the position.

    def _send(self) -> Steps[None]:
        yield lambda: self._settled
        pipeline, producer = self.pipeline, self._producer
        assert pipeline is not None
        assert producer is not None
        position = self.around.design.position(pipeline)
        outbox, self.outbox = self.outbox, Outbox()
        if not outbox and position == self.committed:
            return
        producer.begin()
        self._in_transaction = True
        deliveries = []
        for topic, records in self.around.design.batches(outbox):
            deliveries.append(producer.hand_over((topic, self.partition), records))
            yield f"handed over to {topic}"
        yield from producer.send_offset(self.partition, position)
        self._sent, self._deliveries = position, deliveries
        yield from self.around.design.delivered(deliveries)

    def _commit(self) -> Steps[None]:
        if self._in_transaction and self._producer is not None:
            yield from self._producer.commit()
            self._in_transaction = False
            self.committed = self._sent
        if self._announced and self.pipeline is not None and self.committed is not None:
            pipeline = self.pipeline
            yield from self._collect(pipeline, pipeline.keep(self.committed))
            self._announced = self.pipeline is pipeline and pipeline.announced

    def _forget(self) -> None:
        task, self._task = self._task, None
        if task is not None and task is not self.around.scheduler.current:
            self.around.scheduler.cancel(task)
        if not self.around.design.forgets:
            return
        self.pipeline, self.committed, self._producer = None, None, None
        self.outbox, self._in_transaction, self._announced = Outbox(), False, False


def releases(step: Step) -> Iterator[tuple[str, Release]]:
    """What a step publishes, by meter."""
    decided = step.releases
    (cost,) = decided.policy.terms.costs
    for meter, start, granted, document in zip(
        decided.meters,
        decided.starts.tolist(),
        decided.granted.tolist(),
        _encode(decided),
        strict=True,
    ):
        yield meter, Release(start, granted * cost, document)


Batches = list[tuple[str, list[tuple[str, Any]]]]


class Design:
    """The parts that a planted bug may replace; as they stand, they are the real ones."""

    table: dict[tuple[State, Event], Answer] = TABLE
    restores_committed = True
    forgets = True
    drops_stale_records = True
    announces_ticks = True

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
