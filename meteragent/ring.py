"""Where open windows are kept: a ring of slots per meter, all meters in one array.

A *block* is what lies between two window starts. A row's ring begins with the first block
that is not decided, `begin`, and holds as many slots as a window and its grace take; what
lies beyond is not in the ring yet. Of each block the ring remembers the record that first
touched it, because the committed offset may not pass a record that an open window needs.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meteragent.domain import ABSENT, Levels
from meteragent.policy import Policy

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

NOT_OPEN = np.iinfo(np.int64).max
SPARE_ROWS = 64


@dataclass(frozen=True, slots=True)
class Records:
    """Records in their order; `times` and `levels` have an entry per reading, others per record.

    The readings of a record are of one meter, and each as long after the one before as the next.
    """

    rows: Integers
    offsets: Integers
    before: Integers
    """The partition's clock before each record."""
    counts: Integers
    starts: Integers
    """The time of each record's first reading ..."""
    ends: Integers
    """... and that of its last."""
    times: Integers
    levels: Levels

    def where(self, chosen: Integers) -> "Records":
        """Some of them, in this order."""
        counts = self.counts[chosen]
        shift = (np.cumsum(self.counts) - self.counts)[chosen] - (np.cumsum(counts) - counts)
        readings = np.repeat(shift, counts) + np.arange(counts.sum())
        return Records(
            self.rows[chosen],
            self.offsets[chosen],
            self.before[chosen],
            counts,
            self.starts[chosen],
            self.ends[chosen],
            self.times[readings],
            self.levels[readings],
        )

    def cut(self, chosen: Mask) -> "Records":
        """The chosen readings. Precondition: those of a record are the first or last of it."""
        through = np.cumsum(np.concatenate([[0], chosen]))
        counts = np.diff(through[np.cumsum(np.concatenate([[0], self.counts]))])
        times, left = self.times[chosen], counts > 0
        counts = counts[left]
        last = np.cumsum(counts) - 1
        return Records(
            self.rows[left],
            self.offsets[left],
            self.before[left],
            counts,
            times[last + 1 - counts],
            times[last],
            times,
            self.levels[chosen],
        )

    def singly(self) -> "Arrivals":
        """The same, each reading by itself."""
        rows, offsets, before = (
            np.repeat(column, self.counts) for column in (self.rows, self.offsets, self.before)
        )
        clock = np.maximum(before, self.times)
        return Arrivals(rows, self.times, self.levels, offsets, before, clock)


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

    def take(self, records: Records, begin: Integers) -> int:
        """Put whole records into their slots; answer how many readings found theirs empty.

        Precondition: all lie in the ring, which for each record begins with block `begin`, and
        no record steps over a block.
        """
        self._open(records)
        doubtful = self._may_meet(records, begin)
        if doubtful.all() or not doubtful.any():
            return self._fill(records, first_wins=bool(doubtful.any()))
        alone, others = records.where(np.flatnonzero(~doubtful)), np.flatnonzero(doubtful)
        return self._fill(alone) + self._fill(records.where(others), first_wins=True)

    def _fill(self, records: Records, *, first_wins: bool = False) -> int:
        """Put records into their slots: where two may meet in one, the first wins."""
        flat, levels = self._levels.reshape(-1), records.levels
        rows = np.repeat(records.rows * self.length, records.counts)
        cells = rows + records.times // self._interval % self.length
        fresh = flat[cells] == ABSENT
        if levels.min(initial=0) == ABSENT:
            fresh &= levels != ABSENT
        if not fresh.all():
            cells, levels = cells[fresh], levels[fresh]
        if first_wins:
            put_first(flat, cells, levels)
            return distinct(cells)
        flat[cells] = levels
        return len(cells)

    def _may_meet(self, records: Records, begin: Integers) -> Mask:
        """Which records may hold a slot twice, or one that another record holds too."""
        if len(records.times) == len(records.rows):
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
        slots = (windows * self.hop_slots)[:, np.newaxis] + np.arange(self.slots)
        levels: Levels = self._levels[rows[:, np.newaxis], slots % self.length]
        beyond = (begin * self.hop_slots + self.length)[:, np.newaxis]
        levels[slots >= beyond] = ABSENT
        return levels

    def forget(self, rows: Integers, begin: Integers, final: Integers) -> None:
        """Empty the blocks from `begin` up to `final`: no open window covers them any more."""
        for step in range(self.blocks):
            leaving = final - begin > step
            row, block = rows[leaving], begin[leaving] + step
            ages = np.arange(min(self.hop_slots, self.length - step * self.hop_slots))
            slots = (block * self.hop_slots)[:, np.newaxis] + ages
            self._levels[row[:, np.newaxis], slots % self.length] = ABSENT
            self._opened[row, block % self.blocks] = NOT_OPEN

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


def put_first(
    flat: NDArray[np.signedinteger], cells: Integers, values: NDArray[np.signedinteger]
) -> None:
    """Assign values to cells; of several values for one cell the first stays."""
    flat[cells[::-1]] = values[::-1]


def distinct(values: Integers) -> int:
    """How many different ones there are."""
    ordered = np.sort(values)
    return len(ordered) - int(np.count_nonzero(ordered[1:] == ordered[:-1]))
