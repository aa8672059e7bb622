"""Where open windows are kept: a ring of slots per meter, all meters in one array.

A *block* is what lies between two window starts. A row's ring begins with the first block
that is not decided, `begin`, and holds as many slots as a window and its grace take; what
lies beyond is not in the ring yet. Of each block the ring remembers the record that first
touched it, because the committed offset may not pass a record that an open window needs.
"""

from collections.abc import Iterator

import numpy as np

from meteragent.privacy.arrays import Integers, Mask, alike, counted, put_first
from meteragent.privacy.domain import ABSENT, Levels
from meteragent.privacy.policy import Policy
from meteragent.stream.records import Arrivals, Places, Records, fill

NOT_OPEN = np.iinfo(np.int64).max
SPARE_ROWS = 64


class Ring:
    """The slots of one policy's open windows, a row per meter."""

    def __init__(self, policy: Policy) -> None:
        self.interval = policy.interval
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
        return (begin * self.hop_slots + self.length) * self.interval

    def slot(self, arrivals: Arrivals) -> Integers:
        """Which slot, counted from the epoch, a reading belongs to."""
        return arrivals.times // self.interval

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
        self.open(records)
        origin = begin * self.hop_slots
        first = records.starts // self.interval - origin
        places = Places(records.rows, first, origin % self.length)
        return fill(self._levels, records, places, self.interval)

    def open(self, records: Records) -> None:
        """Note the record that touches a block first. Precondition: none steps over a block."""
        block = records.starts // self._hop
        span = records.ends // self._hop - block
        which = np.arange(len(block))
        if span.any():
            which = np.repeat(which, span + 1)
            block = block[which] + counted(span + 1)
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

    def strips(self, rows: Integers, begin: Integers, width: int) -> Levels:
        """What these rings hold, laid out straight, with room up to a width."""
        strips = np.full((len(rows), width), ABSENT, dtype=self._levels.dtype)
        for some, there, here in self._stretches(begin * self.hop_slots, self._whole(rows)):
            strips[some, here] = self._levels[rows[some], there]
        return strips

    def go_on(self, rows: Integers, begin: Integers, final: Integers, strips: Levels) -> None:
        """Hold what strips that begin with `begin` hold from `final` on."""
        self._leave(rows, begin, final)
        for mine in alike(final - begin):
            skip = int(final[mine[0]] - begin[mine[0]]) * self.hop_slots
            first = final[mine] * self.hop_slots
            for some, there, here in self._stretches(first, self._whole(mine)):
                part = slice(here.start + skip, here.stop + skip)
                self._levels[rows[mine[some]], there] = strips[mine[some], part]

    def forget(self, rows: Integers, begin: Integers, final: Integers) -> None:
        """Empty the blocks from `begin` up to `final`: no open window covers them any more."""
        self._leave(rows, begin, final)
        leaving = np.minimum((final - begin) * self.hop_slots, self.length)
        for some, there, _ in self._stretches(begin * self.hop_slots, leaving):
            self._levels[rows[some], there] = ABSENT

    def _leave(self, rows: Integers, begin: Integers, final: Integers) -> None:
        """No record of these blocks is needed any more."""
        for step in range(self.blocks):
            left = np.flatnonzero(final - begin > step)
            self._opened[rows[left], (begin[left] + step) % self.blocks] = NOT_OPEN

    def _whole(self, rows: Integers) -> Integers:
        return np.full(len(rows), self.length)

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
            yield some, slice(place, place + until_end), slice(0, until_end)
            if count > until_end:
                yield some, slice(0, count - until_end), slice(until_end, count)

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
