"""Records of readings as columns, and how they are put into slots."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from meteragent.privacy.arrays import Integers, Mask, counted, distinct, put_first
from meteragent.privacy.domain import ABSENT, Levels, held


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
    open_to: Integers
    """The first pane still open to each record; of no meaning until `panes` has found it."""

    @property
    def columns(self) -> list[Integers]:
        """What is known of each record, but for its levels and what is open to it."""
        its = (self.rows, self.offsets, self.before, self.starts, self.intervals, self.counts)
        return [*map(np.ascontiguousarray, its), self.firsts]

    @property
    def ends(self) -> Integers:
        """The time of each record's last reading."""
        ends: Integers = self.starts + self.intervals * (self.counts - 1)
        return ends

    def where(self, chosen: Integers | slice) -> "Records":
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
            self.open_to[chosen],
        )

    def of_rows(self, first: int, last: int) -> "Records":
        """Those of the rows from one to another. Precondition: sorted by row."""
        return self.where(slice(*np.searchsorted(self.rows, [first, last + 1]).tolist()))

    def until(self, times: Integers) -> "Records":
        """Each record's readings before its own one of these times."""
        return self._part(np.zeros_like(self.counts), self._before(times))

    def since(self, times: Integers) -> "Records":
        """The others."""
        return self._part(self._before(times), self.counts)

    def any(self) -> bool:
        """Whether there are any."""
        return len(self.rows) > 0

    def telling(self) -> "Records":
        """Each from its first reading that holds a value to its last; none that holds no value.

        Absent readings tell nothing, not even what time it is for their meter: nothing remains of
        them once their pane has closed, so that a rebuild would not know.
        """
        if (self.levels != ABSENT).all():
            return self
        each, nth = self.spread()
        holding = self.levels[each(self.firsts) + nth].reshape(-1) != ABSENT
        of = np.repeat(np.arange(len(self.counts)), self.counts)[holding]
        nth = counted(self.counts)[holding]
        begin, end = np.zeros_like(self.counts), np.zeros_like(self.counts)
        begin[of[::-1]] = nth[::-1]
        end[of] = nth + 1
        return self._part(begin, end)

    def _before(self, times: Integers) -> Integers:
        """How many of each record's readings are before its own one of these times."""
        before = np.where(self.ends < times, self.counts, 0)
        torn = np.flatnonzero((self.starts < times) & (before == 0))
        before[torn] = -((self.starts[torn] - times[torn]) // self.intervals[torn])
        return before

    def _part(self, first: Integers, end: Integers) -> "Records":
        """From one reading of each record to another, of those where this is any."""
        left = end - first
        if (left == self.counts).all():
            return self
        some = np.flatnonzero(left > 0)
        part, skipped = self.where(some), first[some]
        starts, firsts = part.starts + part.intervals * skipped, part.firsts + skipped
        return replace(part, starts=starts, counts=left[some], firsts=firsts)

    def spread(self) -> tuple["Each", Integers]:
        """How a column is spread over the readings, and which of its record each of them is.

        If all records are of one length there is a row for each of them, else one for all.
        """
        longest = int(self.counts.max(initial=0))
        if (self.counts == longest).all():
            return _as_rows, np.arange(longest)
        return self._each, counted(self.counts)

    def _each(self, column: Integers) -> Integers:
        return np.repeat(column, self.counts)


NONE = Records(*(np.empty(0, dtype=np.int64),) * 9)
Each = Callable[[Integers], Integers]


def _as_rows(column: Integers) -> Integers:
    return column[:, np.newaxis]


@dataclass(frozen=True, slots=True)
class Places:
    """Where records are put: each into a row of slots; rows stand one after the other."""

    rows: Integers
    """The cell at which the record's row begins."""
    first: Integers
    """How far from the first slot of its row the record's first reading stands."""
    shift: Integers
    """Where in the row its first slot is: what would be beyond the end is at the beginning."""
    length: int
    """Of a row, if its first slot is not at the beginning."""
    interval: int

    def where(self, chosen: Integers) -> "Places":
        """Those of some records."""
        rows, first, shift = self.rows[chosen], self.first[chosen], self.shift[chosen]
        return Places(rows, first, shift, self.length, self.interval)


def fill(cells: Levels, records: Records, places: Places) -> tuple[int, int]:
    """Put records into their places; answer how many hold a value, and how many stay.

    Of several values for one slot the first stays. Precondition: they all lie in their rows.
    """
    doubtful = _may_meet(records, places)
    if doubtful.all() or not doubtful.any():
        return _fill(cells, records, places, first_wins=bool(doubtful.any()))
    holding = stay = 0
    for some, first_wins in ((np.flatnonzero(~doubtful), False), (np.flatnonzero(doubtful), True)):
        found = _fill(cells, records.where(some), places.where(some), first_wins=first_wins)
        holding, stay = holding + found[0], stay + found[1]
    return holding, stay


def _fill(cells: Levels, records: Records, places: Places, *, first_wins: bool) -> tuple[int, int]:
    each, nth = records.spread()
    at = _cells(records, places, each, nth)
    values = records.levels[each(records.firsts) + nth]
    holding = held(values)
    fresh = cells[at] == ABSENT
    fresh &= values != ABSENT
    if not fresh.all():
        at, values = at[fresh], values[fresh]
    if first_wins:
        at = at.reshape(-1)
        put_first(cells, at, values.reshape(-1))
        return holding, distinct(at)
    cells[at] = values
    return holding, at.size


def _cells(records: Records, places: Places, each: Each, nth: Integers) -> Integers:
    """Where the readings stand."""
    if (records.intervals == places.interval).all():
        after = nth
    else:
        into = records.starts % places.interval
        after = (each(into) + each(records.intervals) * nth) // places.interval
    cells = each(places.first + places.shift) + after
    if places.shift.any():
        cells -= places.length * (cells >= places.length)
    cells += each(places.rows)
    return cells


def _may_meet(records: Records, places: Places) -> Mask:
    """Which records may hold a slot twice, or one that another record holds too."""
    if records.counts.max(initial=0) <= 1:
        return np.ones(len(records.rows), dtype=np.bool_)  # to find out is to sort them
    span = records.ends // places.interval - records.starts // places.interval + 1
    twice: Mask = span < records.counts
    first = places.rows + places.first
    order = np.argsort(first)
    meet = np.flatnonzero(np.diff(first[order]) < span[order][:-1])
    if len(meet):
        twice |= np.isin(records.rows, records.rows[order[meet]])
    return twice
