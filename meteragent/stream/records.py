"""Records and readings as columns, and how records are put into slots."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

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
        return self._each, counted(self.counts)

    def _each(self, column: Integers) -> Integers:
        return np.repeat(column, self.counts)

    def singly(self) -> "Arrivals":
        """The same, each reading by itself."""
        each, nth = self._each, counted(self.counts)
        times, before = each(self.starts) + each(self.intervals) * nth, each(self.before)
        levels = self.levels[each(self.firsts) + nth]
        clock = np.maximum(before, times)
        return Arrivals(each(self.rows), times, levels, each(self.offsets), before, clock)


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


class Places(NamedTuple):
    """Where records are put in rows of slots, an entry each."""

    rows: Integers
    first: Integers
    """How far from the first slot of its row the record's first reading stands."""
    shift: Integers
    """Where in the row its first slot is: what would be beyond the end is at the beginning."""


def fill(levels: Levels, records: Records, places: Places, interval: int) -> tuple[int, int]:
    """Put records into `levels[row, slot]`; answer how many hold a value, and how many stay.

    Of several values for one slot the first stays. Precondition: they all lie in their rows.
    """
    doubtful = _may_meet(records, places, interval, levels.shape[1])
    if doubtful.all() or not doubtful.any():
        return _fill(levels, records, places, interval, first_wins=bool(doubtful.any()))
    holding = stay = 0
    for some, first_wins in ((np.flatnonzero(~doubtful), False), (np.flatnonzero(doubtful), True)):
        chosen = Places(*(column[some] for column in places))
        found = _fill(levels, records.where(some), chosen, interval, first_wins=first_wins)
        holding, stay = holding + found[0], stay + found[1]
    return holding, stay


def _fill(
    levels: Levels, records: Records, places: Places, interval: int, *, first_wins: bool
) -> tuple[int, int]:
    each, nth = records.spread()
    flat, cells = levels.reshape(-1), _cells(records, places, interval, levels.shape[1], each, nth)
    values = records.levels[each(records.firsts) + nth]
    holding = held(values)
    fresh = flat[cells] == ABSENT
    fresh &= values != ABSENT
    if not fresh.all():
        cells, values = cells[fresh], values[fresh]
    if first_wins:
        cells = cells.reshape(-1)
        put_first(flat, cells, values.reshape(-1))
        return holding, distinct(cells)
    flat[cells] = values
    return holding, cells.size


def _cells(
    records: Records, places: Places, interval: int, width: int, each: Each, nth: Integers
) -> Integers:
    """Where the readings stand in the flat rows."""
    if (records.intervals == interval).all():
        after = nth
    else:
        into = records.starts % interval
        after = (each(into) + each(records.intervals) * nth) // interval
    cells = each(places.first + places.shift) + after
    if places.shift.any():
        cells -= width * (cells >= width)
    cells += each(places.rows * width)
    return cells


def _may_meet(records: Records, places: Places, interval: int, width: int) -> Mask:
    """Which records may hold a slot twice, or one that another record holds too."""
    if records.counts.max(initial=0) <= 1:
        return np.ones(len(records.rows), dtype=np.bool_)  # to find out is to sort them
    span = records.ends // interval - records.starts // interval + 1
    twice: Mask = span < records.counts
    first = places.rows * width + places.first
    order = np.argsort(first)
    meet = np.flatnonzero(np.diff(first[order]) < span[order][:-1])
    if len(meet):
        twice |= np.isin(records.rows, records.rows[order[meet]])
    return twice
