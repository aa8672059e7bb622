"""Where the slots of open panes are kept: a row per meter, all meters in one array.

A row begins with the first pane that has not closed, `begin`, and holds as many slots as a pane
and its wait for more take; what lies beyond is not in it yet. Slots go round in it: one stands
where it always stands, whatever `begin` is. Of each pane the row remembers the record that first
touched it, because the committed offset may not pass a record that an open pane needs: unless
what it holds is *carried*, which is to say written down in its meter's ledger record.
"""

from collections.abc import Iterator

import numpy as np

from meteragent.privacy.arrays import Integers, Mask, alike, counted, lengthen, put_first, stretches
from meteragent.privacy.domain import ABSENT, Levels
from meteragent.privacy.policy import Policy
from meteragent.stream.records import Places, Records, fill
from meteragent.stream.strips import Strips

NOT_OPEN = np.iinfo(np.int64).max
CARRIED = NOT_OPEN - 2
"""All that the pane holds is written down."""


Kind = np.dtype[np.signedinteger]


class OpenSlots:
    """The slots of one policy's open panes, a row per meter."""

    def __init__(self, policy: Policy, held: Kind | None = None) -> None:
        """Slots hold levels, unless something else is `held`."""
        self._panes = policy.panes
        self.length = policy.panes.slots + -(-policy.patience // policy.interval)
        self.panes = -(-self.length // policy.panes.slots)
        """The most panes of one row that can be open at once."""
        kind = policy.domain.dtype if held is None else held
        self.levels = np.empty((0, self.length), dtype=kind)
        self.opened = np.empty((0, self.panes), dtype=np.int64)
        """Twice the offset of a record, and one more where older ones are carried."""
        self.opened_clock = np.empty((0, self.panes), dtype=np.int64)
        self._oldest = 0, NOT_OPEN
        """Where the oldest of `opened` stood when somebody asked, and what it was."""

    def grow(self, rows: int) -> None:
        """Make room for so many rows."""
        lengthen(self, "levels", rows, ABSENT)
        lengthen(self, "opened", rows, NOT_OPEN)
        lengthen(self, "opened_clock", rows, NOT_OPEN)

    @property
    def bytes_per_row(self) -> int:
        """What a meter takes here."""
        return self.length * self.levels.itemsize + 2 * self.panes * self.opened.itemsize

    def end(self, begin: Integers) -> Integers:
        """The time at which a row that begins with this pane ends."""
        return self._panes.start(begin) + self.length * self._panes.interval

    def put(self, records: Records, begin: Integers) -> tuple[int, int]:
        """Put records into their slots; answer how many hold a value, and how many stay.

        Precondition: all lie in their rows, which for each record begins with pane `begin`.
        """
        self.open(records)
        origin = self._panes.first_slot(begin)
        places = Places(
            records.rows * self.length,
            self._panes.slot(records.starts) - origin,
            origin % self.length,
            self.length,
            self._panes.interval,
        )
        return fill(self.levels.reshape(-1), records, places)

    def open(self, records: Records) -> None:
        """Note the record that touches a pane first."""
        pane = self._panes.newest(records.starts)
        span = self._panes.newest(records.ends) - pane
        which = np.arange(len(pane))
        if (span >= records.counts).any():  # some step over a pane: each reading by itself
            which = np.repeat(which, records.counts)
            times = records.starts[which] + records.intervals[which] * counted(records.counts)
            pane = self._panes.newest(times)
        elif span.any():
            which = np.repeat(which, span + 1)
            pane = pane[which] + counted(span + 1)
        cells = records.rows[which] * self.panes + pane % self.panes
        opened = self.opened.reshape(-1)
        opens = np.flatnonzero(opened[cells] >= CARRIED)
        if len(opens):
            carried = opened[cells[opens]] == CARRIED
            put_first(opened, cells[opens], 2 * records.offsets[which[opens]] + carried)
            clocks = self.opened_clock.reshape(-1)
            put_first(clocks, cells[opens], records.before[which[opens]])

    def strips(self, rows: Integers, begin: Integers, final: Integers) -> Strips:
        """What these rows hold, with room for all panes from `begin` up to `final`."""
        widths = self._panes.slots_between(begin, final) + self.length
        first = np.cumsum(widths) - widths
        levels = np.full(widths.sum(), ABSENT, dtype=self.levels.dtype)
        slots = stretches(levels, self.length)
        for some, there, here in self._turned(begin):
            slots[first[some], here] = self.levels[rows[some], there]
        return Strips(self._panes, rows, begin, final, first, levels)

    def go_on(self, strips: Strips) -> None:
        """Hold what strips hold from their `final` on."""
        rows, passed = strips.rows, strips.final - strips.begin
        for step in range(self.panes):
            left = np.flatnonzero(passed > step)
            self.opened[rows[left], (strips.begin[left] + step) % self.panes] = NOT_OPEN
        slots = stretches(strips.levels, self.length)
        first = strips.first + self._panes.slots_between(strips.begin, strips.final)
        for some, there, here in self._turned(strips.final):
            self.levels[rows[some], there] = slots[first[some], here]

    def _turned(self, begin: Integers) -> Iterator[tuple[Integers, slice, slice]]:
        """Which rows that begin with these panes hold which slots, and where.

        Neighbours in time mostly stand at the same place: then there are one or two answers.
        """
        place = self._panes.first_slot(begin) % self.length
        for some in alike(place):
            turn = int(place[some[0]])
            yield some, slice(turn, self.length), slice(0, self.length - turn)
            if turn:
                yield some, slice(0, turn), slice(self.length - turn, self.length)

    def touched(self, rows: Integers) -> Mask:
        """Which of these rows have an open pane; others hold nothing."""
        touched: Mask = (self.opened[rows] != NOT_OPEN).any(axis=1)
        return touched

    def open_panes(self, rows: Integers | slice = slice(None)) -> int:
        """How many panes of these rows are open."""
        return int(np.count_nonzero(self.opened[rows] != NOT_OPEN))

    def oldest(self) -> tuple[int, int] | None:
        """The oldest record that an open pane still needs, and the clock before it.

        It stays that for as long as its pane is open: whatever opens others comes after it.
        """
        if not self.opened.size:
            return None
        at, offset = self._oldest
        if offset >= CARRIED or self.opened.flat[at] != offset:
            at = int(self.opened.argmin())
            offset = int(self.opened.flat[at])
            self._oldest = at, offset
        return None if offset >= CARRIED else (offset // 2, int(self.opened_clock.flat[at]))

    # What is carried.

    def opened_before(self, offset: int) -> Integers:
        """The rows that need a record from before this one, those with the oldest first."""
        first = self.opened.min(axis=1, initial=NOT_OPEN)
        rows = np.flatnonzero(first < 2 * offset)
        oldest: Integers = rows[np.argsort(first[rows], kind="stable")]
        return oldest

    def carry(self, rows: Integers) -> None:
        """What these rows hold is written down, and need not be read again."""
        opened = self.opened[rows]
        self.opened[rows] = np.where(opened == NOT_OPEN, NOT_OPEN, CARRIED)

    def carried(self, rows: Integers) -> Mask:
        """Which of these rows hold anything that would not be read again."""
        opened = self.opened[rows]
        carried: Mask = ((opened % 2 == 1) & (opened != NOT_OPEN)).any(axis=1)
        return carried

    def held(self, rows: Integers, begin: Integers) -> tuple[Integers, Integers]:
        """From which pane up to which rows that begin with these hold anything."""
        since, until = begin + self.panes, begin.copy()
        for step in range(self.panes):
            held = self.opened[rows, (begin + step) % self.panes] != NOT_OPEN
            until[held] = begin[held] + step + 1
            since[held] = np.minimum(since[held], begin[held] + step)
        return since, until

    def straight(self, rows: Integers, begin: Integers) -> Levels:
        """levels[row, slot] of rows that begin with these panes."""
        return self.strips(rows, begin, begin).levels.reshape(len(rows), self.length)

    def take_over(self, rows: Integers, begin: Integers, levels: Levels) -> None:
        """Hold what was carried of these rows. Precondition: they hold nothing."""
        first = np.arange(len(rows)) * self.length
        self.go_on(Strips(self._panes, rows, begin, begin, first, levels.reshape(-1)))
        for step in range(self.panes):
            slots = slice(step * self._panes.slots, (step + 1) * self._panes.slots)
            held = np.flatnonzero((levels[:, slots] != ABSENT).any(axis=1))
            self.opened[rows[held], (begin[held] + step) % self.panes] = CARRIED
