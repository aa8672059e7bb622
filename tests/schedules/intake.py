"""What a partition has taken in and made of it, as `meteragent.kafka.intake` keeps it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from meteragent.formats.encoder import Encoder
from meteragent.stream.pipeline import Pipeline, Position
from meteragent.stream.releases import Step
from tests.schedules.client import Producer
from tests.schedules.scheduler import Lost, Steps
from tests.schedules.world import World

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
    accounts: dict[str, bytes] = field(default_factory=dict)
    rejects: list[tuple[str, tuple[int, str]]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.releases) + len(self.rejects)


class Intake:
    """A pipeline with what it has made since the last transaction."""

    def __init__(self, world: World, partition: int, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.next = pipeline.position().offset
        """The record that it is to be fed next."""
        self.outbox = Outbox()
        self._world = world
        self._partition = partition
        self._turns: list[object] = []
        self._forgotten = False

    def forget(self) -> None:
        """Let go of everything: what is under way in here belongs to the past."""
        self._forgotten = True
        self.outbox = Outbox()

    def take(self, records: range) -> Steps[None]:
        """Feed records."""
        yield from self._in_turn(self._take(records))

    def tick(self, now: int) -> Steps[None]:
        """Let the wall clock close windows at once."""
        yield from self._in_turn(self._collect(self.pipeline.tick(now)))

    def announce(self, now: int) -> None:
        """Let it close windows as soon as that is committed. Not while something is under way."""
        if not self._turns and not self._forgotten:
            self.pipeline.announce(now)

    def keep(self, committed: Position) -> Steps[None]:
        """Tick as announced."""
        if self.pipeline.announced:
            yield from self._in_turn(self._collect(self.pipeline.keep(committed)))

    def settle(self) -> Steps[None]:
        """Wait for what is under way in here."""
        yield from self._in_turn(self._alive())

    def empty(self, position: Callable[[Pipeline], Position]) -> Steps[tuple[Outbox, Position]]:
        """Hand over what waits, with the position to be committed with it."""
        yield from self.settle()
        outbox, self.outbox = self.outbox, Outbox()
        return outbox, position(self.pipeline)

    def _in_turn(self, work: Steps[None]) -> Steps[None]:
        """Do it alone, in the order of asking, and at once if nobody else is at it."""
        turn = object()
        self._turns.append(turn)
        try:
            if self._turns[0] is not turn:
                yield lambda: self._turns[0] is turn
            yield from work
        finally:
            self._turns.remove(turn)

    def _take(self, records: range) -> Steps[None]:
        readings = self._world.readings(self._partition, records)
        yield from self._collect(self.pipeline.feed(readings))
        if not self._forgotten:
            self.next = records.stop
            counts = self.pipeline.counts
            rejects, counts.rejects = counts.rejects, []
            self.outbox.rejects += [("", (r.offset, r.reason.value)) for r in rejects]

    def _collect(self, steps: Iterator[Step]) -> Steps[None]:
        for step in steps:
            if self._forgotten:
                return
            self.outbox.releases += releases(step)
            self.outbox.accounts.update(step.accounts)
            yield "collects"

    def _alive(self) -> Steps[None]:
        yield from ()
        if self._forgotten:
            raise Lost("forgotten")


@dataclass
class Handover:
    """What a worker has built up, all of it or nothing."""

    producer: Producer | None = None
    intake: Intake | None = None
    committed: Position | None = None


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
