"""Where open windows are kept: a ring of slots per meter, all meters in one array.

A *block* is what lies between two window starts. A row's ring begins with the first block
that is not decided, `begin`, and holds as many slots as a window and its grace take; what
lies beyond is not in the ring yet. Of each block the ring remembers the record that first
touched it, because the committed offset may not pass a record that an open window needs.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from meteragent.arrays import Integers, Mask, alike, distinct, put_first
from meteragent.domain import ABSENT, Levels
from meteragent.policy import Policy

NOT_OPEN = np.iinfo(np.int64).max
SPARE_ROWS = 64


@dataclass(frozen=True, slots=True)
class Records:
    """Records in their order, an entry each: readings of one meter, equally far apart."""

    rows: Integers
    offsets: Integers
    before: Integers
    """The partition's clock before each record."""
    starts: Integers
    """The time of each record's first reading ..."""
    intervals: Integers
    """... and from each of its readings to the next."""
    counts: Integers
    firsts: Integers
    """Where the level of each record's first reading stands; the others follow."""
    levels: Levels
    """Of these records and of others."""

    @property
    def ends(self) -> Integers:
        """The time of each record's last reading."""
        ends: Integers = self.starts + self.intervals * (self.counts - 1)
        return ends

    def where(self, chosen: Integers) -> "Records":
        """Some of them, in this order."""
        return Records(
            self.rows[chosen],
            self.offsets[chosen],
            self.before[chosen],
            self.starts[chosen],
            self.intervals[chosen],
            self.counts[chosen],
            self.firsts[chosen],
            self.levels,
        )

    def cut(self, times: Integers) -> tuple["Records", "Records"]:
        """Each record's readings before its own one of these times, and the others."""
        early = np.clip(-((self.starts - times) // self.intervals), 0, self.counts)
        return self._part(np.zeros_like(early), early), self._part(early, self.counts)

    def _part(self, first: Integers, end: Integers) -> "Records":
        """From one reading of each record to another, of those where this is any."""
        some = np.flatnonzero(first < end)
        part = self.where(some)
        skipped, left = first[some], (end - first)[some]
        starts, firsts = part.starts + part.intervals * skipped, part.firsts + skipped
        return replace(part, starts=starts, counts=left, firsts=firsts)

    def spread(self) -> tuple["Each", Integers]:
        """How a column is spread over the readings, and which of its record each of them is.

        If all records are of one length there is a row for each of them, else one for all.
        """
        longest = int(self.counts.max(initial=0))
        if (self.counts == longest).all():
            return _as_rows, np.arange(longest)
        nth = np.arange(self.counts.sum())
        nth -= np.repeat(np.cumsum(self.counts) - self.counts, self.counts)
        return lambda column: np.repeat(column, self.counts), nth

    def singly(self) -> "Arrivals":
        """The same, each reading by itself."""
        each, nth = self.spread()
        times = each(self.starts) + each(self.intervals) * nth
        columns = (each(column) + 0 * nth for column in (self.rows, self.offsets, self.before))
        rows, offsets, before = (column.reshape(-1) for column in columns)
        levels, times = self.levels[each(self.firsts) + nth].reshape(-1), times.reshape(-1)
        return Arrivals(rows, times, levels, offsets, before, np.maximum(before, times))


Each = Callable[[Integers], Integers]


def _as_rows(column: Integers) -> Integers:
    return column[:, np.newaxis]


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Readings in record order; an entry each."""

    rows: Integers
    times: Integers
    levels: Levels
    offsets: Integers
    """Where the reading's record stands."""
    before: Integers
    """The partition's clock before that record."""
    clock: Integers
    """The partition's clock with this reading."""

    @property
    def latest(self) -> int:
        """The newest clock of all."""
        return int(self.clock.max())

    def where(self, chosen: Mask | Integers) -> "Arrivals":
        """Some of them."""
        return Arrivals(
            self.rows[chosen],
            self.times[chosen],
            self.levels[chosen],
            self.offsets[chosen],
            self.before[chosen],
            self.clock[chosen],
        )


class Ring:
    """The slots of one policy's open windows, a row per meter."""

    def __init__(self, policy: Policy) -> None:
        self._interval = policy.interval
        self._hop = policy.hop
        self.slots = policy.slots
        self.hop_slots = policy.hop // policy.interval
        self.length = self.slots + -(-policy.grace // policy.interval)
        self.blocks = -(-self.length // self.hop_slots)
        """The most blocks of one row that can be open at once."""
        self._levels = np.empty((0, self.length), dtype=policy.domain.dtype)
        self._opened = np.empty((0, self.blocks), dtype=np.int64)
        self._opened_clock = np.empty((0, self.blocks), dtype=np.int64)

    def grow(self, rows: int) -> None:
        """Make room for so many rows."""
        new = rows - len(self._levels)
        self._levels = np.concatenate(
            [self._levels, np.full((new, self.length), ABSENT, dtype=self._levels.dtype)]
        )
        empty = np.full((new, self.blocks), NOT_OPEN)
        self._opened = np.concatenate([self._opened, empty])
        self._opened_clock = np.concatenate([self._opened_clock, empty])

    @property
    def bytes_per_row(self) -> int:
        """What a meter takes here."""
        return self.length * self._levels.itemsize + 2 * self.blocks * self._opened.itemsize

    def end(self, begin: Integers) -> Integers:
        """The time at which a ring that begins with this block ends."""
        return (begin * self.hop_slots + self.length) * self._interval

    def slot(self, arrivals: Arrivals) -> Integers:
        """Which slot, counted from the epoch, a reading belongs to."""
        return arrivals.times // self._interval

    def block(self, arrivals: Arrivals) -> Integers:
        """Which block, counted from the epoch, a reading belongs to."""
        return arrivals.times // self._hop

    def cells(self, arrivals: Arrivals) -> Integers:
        """Where readings stand in the flat ring, if they lie in it."""
        return arrivals.rows * self.length + self.slot(arrivals) % self.length

    def fresh(self, arrivals: Arrivals) -> Mask:
        """Which readings hold a value and find their slot empty, if they lie in the ring."""
        empty = self._levels.reshape(-1)[self.cells(arrivals)] == ABSENT
        fresh: Mask = empty & (arrivals.levels != ABSENT)
        return fresh

    def take(self, records: Records, begin: Integers) -> tuple[int, int]:
        """Put whole records into their slots; answer how many hold a value, and how many stay.

        Precondition: all lie in the ring, which for each record begins with block `begin`, and
        no record steps over a block.
        """
        self._open(records)
        doubtful = self._may_meet(records, begin)
        if doubtful.all() or not doubtful.any():
            return self._fill(records, first_wins=bool(doubtful.any()))
        held, stay = self._fill(records.where(np.flatnonzero(~doubtful)), first_wins=False)
        more, others = self._fill(records.where(np.flatnonzero(doubtful)), first_wins=True)
        return held + more, stay + others

    def _fill(self, records: Records, *, first_wins: bool) -> tuple[int, int]:
        """Put records into their slots: where two may meet in one, the first wins."""
        each, nth = records.spread()
        flat, cells = self._levels.reshape(-1), self._cells(records, each, nth)
        levels = records.levels[each(records.firsts) + nth]
        holds = levels != ABSENT
        held = int(np.count_nonzero(holds))
        fresh = flat[cells] == ABSENT
        fresh &= holds
        if not fresh.all():
            cells, levels = cells[fresh], levels[fresh]
        if first_wins:
            cells = cells.reshape(-1)
            put_first(flat, cells, levels.reshape(-1))
            return held, distinct(cells)
        flat[cells] = levels
        return held, cells.size

    def _cells(self, records: Records, each: Each, nth: Integers) -> Integers:
        """Where the readings of whole records stand in the flat ring."""
        first = records.starts // self._interval
        if (records.intervals == self._interval).all():
            after = nth
        else:
            into = records.starts - first * self._interval
            after = (each(into) + each(records.intervals) * nth) // self._interval
        place = each(first % self.length) + after
        place -= self.length * (place >= self.length)
        place += each(records.rows * self.length)
        return place

    def _may_meet(self, records: Records, begin: Integers) -> Mask:
        """Which records may hold a slot twice, or one that another record holds too."""
        if records.counts.max(initial=0) <= 1:
            return np.ones(len(records.rows), dtype=np.bool_)  # to find out is to sort them
        first = records.starts // self._interval
        span = records.ends // self._interval - first + 1
        twice: Mask = span < records.counts
        first += records.rows * self.length - begin * self.hop_slots
        order = np.argsort(first)
        meet = np.flatnonzero(np.diff(first[order]) < span[order][:-1])
        if len(meet):
            twice |= np.isin(records.rows, records.rows[order[meet]])
        return twice

    def _open(self, records: Records) -> None:
        """Note the record that touches a block first. Precondition: none steps over a block."""
        block = records.starts // self._hop
        span = records.ends // self._hop - block
        which = np.arange(len(block))
        if span.any():
            which = np.repeat(which, span + 1)
            block = block[which] + np.arange(len(which)) - (np.cumsum(span + 1) - span - 1)[which]
        cells = records.rows[which] * self.blocks + block % self.blocks
        opened = self._opened.reshape(-1)
        opens = np.flatnonzero(opened[cells] == NOT_OPEN)
        if len(opens):
            put_first(opened, cells[opens], records.offsets[which[opens]])
            clocks = self._opened_clock.reshape(-1)
            put_first(clocks, cells[opens], records.before[which[opens]])

    def put(self, arrivals: Arrivals, fresh: Mask) -> None:
        """Put the fresh ones of these readings, all of open blocks, into their slots."""
        put_first(self._levels.reshape(-1), self.cells(arrivals)[fresh], arrivals.levels[fresh])
        cells = arrivals.rows * self.blocks + self.block(arrivals) % self.blocks
        opened = self._opened.reshape(-1)
        opens = np.flatnonzero(opened[cells] == NOT_OPEN)
        put_first(opened, cells[opens], arrivals.offsets[opens])
        put_first(self._opened_clock.reshape(-1), cells[opens], arrivals.before[opens])

    def windows(self, rows: Integers, begin: Integers, windows: Integers) -> Levels:
        """levels[window, slot] of these windows, as far as the ring holds them."""
        levels = np.full((len(rows), self.slots), ABSENT, dtype=self._levels.dtype)
        first = windows * self.hop_slots
        held = np.clip(begin * self.hop_slots + self.length - first, 0, self.slots)
        for some, there, here in self._stretches(first, held):
            levels[some, here] = self._levels[rows[some], there]
        return levels

    def forget(self, rows: Integers, begin: Integers, final: Integers) -> None:
        """Empty the blocks from `begin` up to `final`: no open window covers them any more."""
        first = begin * self.hop_slots
        leaving = np.minimum((final - begin) * self.hop_slots, self.length)
        for some, there, _ in self._stretches(first, leaving):
            self._levels[rows[some], there] = ABSENT
        for step in range(self.blocks):
            left = np.flatnonzero(final - begin > step)
            self._opened[rows[left], (begin[left] + step) % self.blocks] = NOT_OPEN

    def _stretches(
        self, first: Integers, counts: Integers
    ) -> Iterator[tuple[Integers, slice, slice]]:
        """Which of them find so many slots from `first` on where in the ring, and which slots.

        Neighbours in time mostly stand at the same place: then there are one or two.
        """
        keys = first % self.length * (self.length + 1) + counts
        for some in alike(keys):
            place, count = divmod(int(keys[some[0]]), self.length + 1)
            until_end = min(count, self.length - place)
            yield some, slice(place, place + until_end), slice(until_end)
            if count > until_end:
                yield some, slice(count - until_end), slice(until_end, count)

    def touched(self) -> Mask:
        """Which rows have an open block."""
        touched: Mask = (self._opened != NOT_OPEN).any(axis=1)
        return touched

    def open_blocks(self) -> int:
        """How many blocks of all rows are open."""
        return int(np.count_nonzero(self._opened != NOT_OPEN))

    def oldest(self) -> tuple[int, int] | None:
        """The oldest record that an open window still needs, and the clock before it."""
        if not self._opened.size:
            return None
        at = int(self._opened.argmin())
        offset = int(self._opened.flat[at])
        return None if offset == NOT_OPEN else (offset, int(self._opened_clock.flat[at]))
