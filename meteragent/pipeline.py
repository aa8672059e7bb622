"""One partition's readings in, releases out: pure, without a clock of its own and without I/O.

    readings -> windows -> budget -> queries and noise -> releases and ledger records

Whoever runs a pipeline feeds it all records of a partition in order, and commits, in one
transaction, what the steps held and the `position` after the last of them. Fed again from
there, with the ledger records committed so far, another instance goes on as if nothing had
happened: open windows are filled again by the same records, and decided ones stay decided.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, count

import numpy as np

from meteragent.columns import Integers, Mask, Readings, Reason, Reject, Releases, Withheld
from meteragent.domain import ABSENT, Watts
from meteragent.entropy import TAG_BYTES, NoiseKey, tag
from meteragent.ledger import NEVER, Ledger
from meteragent.ledger_record import dump, load
from meteragent.policy import Policy
from meteragent.release import Releaser
from meteragent.ring import Arrivals
from meteragent.window import Closed, Store, Tally

DAWN = -(2**62)
"""The clock of a partition from which nothing was read yet."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far a partition has come, and from where it could be rebuilt."""

    offset: int
    """The oldest record that an open window still needs; the one to commit."""
    clock: int
    """The partition's event time before that record."""
    processed: int
    """One past the last record taken in."""


START = Position(offset=0, clock=DAWN, processed=0)


@dataclass(frozen=True, slots=True)
class Step:
    """Windows decided together: to be published in one transaction, or not at all."""

    releases: Releases
    accounts: list[tuple[str, bytes]]
    """The ledger record of each meter that was charged or decided."""


@dataclass(slots=True)
class Counts:
    """What happened since somebody last asked; readings that were read again do not count."""

    tally: Tally = field(default_factory=Tally)
    rejects: list[Reject] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Assigned:
    """A policy, for the meters whose id begins with `prefix`."""

    prefix: str
    policy: Policy


@dataclass(frozen=True, slots=True)
class Holding:
    """What a partition holds for the meters of one policy: how many, and none of their names."""

    policy: Policy
    meters: int
    ledger: Ledger
    """The first `meters` accounts are in use."""
    open_windows: int
    """Windows not yet decided that hold a reading; of hopping ones, hops."""
    bytes_per_meter: int
    """In arrays."""


class Pipeline:
    """The windows and accounts of one partition's meters."""

    def __init__(
        self,
        assigned: Sequence[Assigned],
        key: NoiseKey,
        *,
        max_skew: int,
        max_meters: int,
        start: Position = START,
    ) -> None:
        longest_first = sorted(assigned, key=lambda a: -len(a.prefix))
        self._lanes = [_Lane(a, key) for a in longest_first]
        self._max_skew = max_skew
        self._max_meters = max_meters
        self._homes: dict[str, int] = {}  # meter -> row * lanes + lane
        self._clock = start.clock
        self._processed = start.offset
        self._known_until = start.processed
        self.counts = Counts()

    def restore(self, accounts: Mapping[str, bytes]) -> None:
        """Take over the meters that the ledger knows. Precondition: nothing was fed yet."""
        for number, meters in self._by_lane(accounts):  # none is turned away
            lane = self._lanes[number]
            lane.ledger = load(lane.policy.terms, [accounts[meter] for meter in meters])
            self._move_in(number, meters)
            lane.go_on()

    def feed(self, readings: Readings) -> Iterator[Step]:
        """Take in the next records. The state is whole when the last step has been taken."""
        for part in readings.split(self._known_until):
            yield from self._feed(part)

    def _feed(self, readings: Readings) -> Iterator[Step]:
        again = readings.next_offset <= self._known_until
        counts = Counts() if again else self.counts
        counts.rejects += readings.rejects
        homes = self._admit(readings, counts)
        for lane, arrivals in self._arrivals(readings, homes):
            for closed in lane.store.add(arrivals, counts.tally):
                yield lane.decide(closed)
        self._processed = readings.next_offset
        yield from self._advance()

    def tick(self, now: int) -> Iterator[Step]:
        """Let the wall clock close windows. Precondition: every record there is was fed."""
        self._clock = max(self._clock, now)
        yield from self._advance()

    def position(self) -> Position:
        """Where to go on, once everything before has been published."""
        needed = [old for lane in self._lanes if (old := lane.store.ring.oldest())]
        offset, clock = min(needed, default=(self._processed, self._clock))
        return Position(offset, clock, max(self._processed, self._known_until))

    @property
    def clock(self) -> int:
        """The newest event time so far."""
        return self._clock

    def holdings(self) -> list[Holding]:
        """What is held for each policy, to be looked at and not to be changed."""
        return [lane.holding() for lane in self._lanes]

    def _advance(self) -> Iterator[Step]:
        for lane in self._lanes:
            for closed in lane.store.advance(self._clock):
                yield lane.decide(closed)

    def _admit(self, readings: Readings, counts: Counts) -> Integers:
        """The home of each run, or a negative number where it has none and was rejected."""
        last = np.cumsum(readings.counts) - 1
        future = readings.times[last] > readings.timestamps + self._max_skew
        homes = np.where(future, _FUTURE, self._homes_of(readings.meters, future))
        for run in np.flatnonzero(homes < 0).tolist():
            reason = _REASONS[int(homes[run])]
            counts.rejects.append(Reject(int(readings.offsets[run]), reason))
        return homes

    def _homes_of(self, meters: list[str], future: Mask) -> Integers:
        homes = self._homes
        try:
            return np.array([*map(homes.__getitem__, meters)], dtype=np.int64)
        except KeyError:  # some are new, which is rare
            new = [m for m in dict.fromkeys(compress(meters, ~future)) if m not in homes]
            room = max(0, self._max_meters - len(homes))
            for number, mine in self._by_lane([m for m in new if self._lane_of(m) >= 0][:room]):
                self._move_in(number, mine)
            return np.array(
                [homes[m] if m in homes else self._refusal(m) for m in meters], dtype=np.int64
            )

    def _by_lane(self, meters: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
        """The meters of each lane; some may have none."""
        by_lane = defaultdict(list)
        for meter in meters:
            by_lane[self._lane_of(meter)].append(meter)
        by_lane.pop(-1, None)
        yield from by_lane.items()

    def _move_in(self, number: int, meters: list[str]) -> None:
        """Give new meters their rows in a lane."""
        first = self._lanes[number].move_in(meters) * len(self._lanes) + number
        self._homes.update(zip(meters, count(first, len(self._lanes)), strict=False))

    def _lane_of(self, meter: str) -> int:
        return next((i for i, x in enumerate(self._lanes) if meter.startswith(x.prefix)), -1)

    def _refusal(self, meter: str) -> int:
        return _NO_POLICY if self._lane_of(meter) < 0 else _TOO_MANY_METERS

    def _arrivals(self, readings: Readings, homes: Integers) -> Iterator[tuple["_Lane", Arrivals]]:
        """The admitted readings of each lane; moves the clock on."""
        admitted = homes >= 0
        if not admitted.all():
            readings, homes = readings.chosen(admitted, [], readings.next_offset), homes[admitted]
        if not len(homes):
            return
        counts = readings.counts
        clock = np.maximum(np.maximum.accumulate(readings.times), self._clock)
        at_end = clock[np.cumsum(counts) - 1]
        before = np.concatenate([[self._clock], at_end[:-1]])
        self._clock = int(at_end[-1])
        lane_of = np.repeat(homes % len(self._lanes), counts)
        rows = np.repeat(homes // len(self._lanes), counts)
        offsets, before = np.repeat(readings.offsets, counts), np.repeat(before, counts)
        for number, lane in enumerate(self._lanes):
            mine = lane_of == number
            if mine.any():
                levels = lane.store.policy.domain.levels(readings.watts)
                arrivals = Arrivals(rows, readings.times, levels, offsets, before, clock)
                yield lane, arrivals if mine.all() else arrivals.where(mine)


_COLUMNS = 4  # of a meter besides its rings: head, spent, released_until, next
_FUTURE, _NO_POLICY, _TOO_MANY_METERS = -1, -2, -3
_REASONS = {
    _FUTURE: Reason.FUTURE,
    _NO_POLICY: Reason.NO_POLICY,
    _TOO_MANY_METERS: Reason.TOO_MANY_METERS,
}


class _Lane:
    """One policy's meters: their windows, their accounts, and how their releases are made."""

    def __init__(self, assigned: Assigned, key: NoiseKey) -> None:
        self.prefix = assigned.prefix
        self.policy = assigned.policy
        self.store = Store(self.policy)
        self.ledger = Ledger(self.policy.terms)
        self.meters: list[str] = []
        self._tags = np.empty((0, TAG_BYTES), dtype=np.uint8)
        self._releaser = Releaser(self.policy, key)

    def move_in(self, meters: list[str]) -> int:
        """Give meters their rows; answer with the first."""
        first = len(self.meters)
        self.meters += meters
        rows = len(self.meters)
        self.store.grow(rows)
        self.ledger.grow(rows)
        tags = b"".join(map(tag, meters))
        if rows > len(self._tags):
            room = np.empty((len(self.store.next), TAG_BYTES), dtype=np.uint8)
            room[:first] = self._tags[:first]
            self._tags = room
        self._tags[first:rows] = np.frombuffer(tags, dtype=np.uint8).reshape(-1, TAG_BYTES)
        return first

    def go_on(self) -> None:
        """Leave decided what the ledger says is."""
        rows = np.arange(len(self.meters))
        until = self.ledger.released_until[rows]
        known = until != NEVER
        self.store.decided_until(rows[known], until[known])

    def holding(self) -> Holding:
        """What there is."""
        ledger, ring = self.ledger, self.store.ring
        account = ledger.ring * ledger.buckets.itemsize + ledger.head.itemsize * _COLUMNS
        return Holding(
            self.policy,
            len(self.meters),
            ledger,
            ring.open_blocks(),
            ring.bytes_per_row + account + TAG_BYTES,
        )

    def decide(self, closed: Closed) -> Step:
        """Charge closed windows, release what is paid for, and write the accounts down."""
        starts = closed.windows * self.policy.hop
        present = closed.levels != ABSENT
        covered = np.ones(len(starts), dtype=np.bool_)
        if self.policy.presence == "public":
            covered = present.sum(axis=1) >= self.policy.needed
        granted = self._charge(closed.rows, starts, covered)
        self.ledger.settle(closed.rows, starts + self.policy.size)
        values, unbiased = self._release(closed, starts, granted)
        meters = [self.meters[row] for row in closed.rows.tolist()]
        whole = len(self.policy.questions)
        withheld = np.where(
            covered, np.where(granted < whole, Withheld.BUDGET, Withheld.NOTHING), Withheld.COVERAGE
        )
        releases = Releases(
            self.policy, meters, starts, granted, withheld.tolist(), present, values, unbiased
        )
        changed = np.unique(closed.rows)
        names = [self.meters[row] for row in changed.tolist()]
        return Step(releases, list(zip(names, dump(self.ledger, changed), strict=True)))

    def _charge(self, rows: Integers, starts: Integers, covered: Mask) -> Integers:
        """How many queries of each window are paid for; a meter's windows in their order."""
        granted = np.zeros(len(rows), dtype=np.int64)
        nth = _nth_of_row(rows)
        for turn in range(int(nth.max()) + 1):
            now = np.flatnonzero((nth == turn) & covered)
            granted[now] = self.ledger.charge(rows[now], starts[now])
        return granted

    def _release(self, closed: Closed, starts: Integers, granted: Integers) -> tuple[Watts, Watts]:
        values = np.full((len(starts), self._releaser.outputs), np.nan)
        unbiased = values.copy()
        paid = np.flatnonzero(granted)
        if len(paid):
            values[paid], unbiased[paid] = self._releaser.release(
                self._tags[closed.rows[paid]], starts[paid], closed.levels[paid]
            )
        return values, unbiased


def _nth_of_row(rows: Integers) -> Integers:
    """0 for the first window of each row, 1 for its second, …; rows come in runs."""
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    lengths = np.diff(starts, append=len(rows))
    nth: Integers = np.arange(len(rows)) - np.repeat(starts, lengths)
    return nth
