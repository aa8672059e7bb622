"""Panes that have closed, folded into the windows that they are parts of.

The last pane of a window decides it. So a window costs the same however long it is, unless a query
needs its slots.
"""

from typing import NamedTuple

import numpy as np

from meteragent.privacy.arrays import Integers, counted, lengthen
from meteragent.privacy.domain import Levels
from meteragent.privacy.query import Sums
from meteragent.privacy.registers import Register
from meteragent.privacy.windows import Some
from meteragent.stream.closed import Closed
from meteragent.stream.grain import Grain
from meteragent.stream.kept import KeptSlots, KeptSums, counts_of
from meteragent.stream.kept_hours import KeptHours
from meteragent.stream.order import NEVER
from meteragent.stream.panes import UNKNOWN
from meteragent.stream.pieces import Bytes, Parts, as_bytes, as_numbers


class Over(NamedTuple):
    """Windows that are over, by row and then by time."""

    rows: Integers
    windows: Integers
    heard: Integers
    """For how many slots of each a reading came."""
    contents: Levels | Sums
    of_hours: dict[Register, Sums]
    """What registers hold of it, where slots are not kept."""


class Fold:
    """Panes folded into the open windows of one policy's meters, a row per meter."""

    def __init__(self, grain: Grain) -> None:
        self._private = grain.private
        self._windows, self._panes = grain.windows, grain.panes
        self._columns = grain.windows.overlap
        self._until = np.empty(0, dtype=np.int64)
        """Up to which pane each row is folded, or holds nothing: behind the last of which it was
        told, so that it does not depend on batches."""
        self._counts = np.empty((0, self._columns), dtype=np.int32)
        """counts[row, window % columns]: how many slots of open windows hold a reading, or are
        filled."""
        self._fills = grain.carried > 0 and not grain.keeps_slots
        self._heard = np.empty((0, self._columns if self._fills else 0), dtype=np.int32)
        """heard[row, window % columns]: for how many a reading came, where slots are filled."""
        self._kept = KeptSlots(grain) if grain.keeps_slots else KeptSums(grain)
        self._of_hours = [KeptHours(grain, hours) for hours in grain.hours]
        self._nth = np.empty(0, dtype=np.int64)

    def grow(self, rows: int) -> None:
        """Make room for so many rows."""
        if rows <= len(self._nth):
            return
        lengthen(self, "_nth", rows, 0)
        lengthen(self, "_until", rows, UNKNOWN)
        lengthen(self, "_counts", rows, 0)
        lengthen(self, "_heard", rows, 0)
        for kept in (self._kept, *self._of_hours):
            kept.grow(rows)

    @property
    def bytes_per_row(self) -> int:
        """What a meter takes here."""
        return self._until.itemsize + self.bytes_of_state

    def open_windows(self) -> int:
        """How many windows of all rows hold a reading of a pane that has closed."""
        return int(np.count_nonzero(self._counts))

    @property
    def bytes_of_state(self) -> int:
        """How many bytes are written down of a row."""
        counts = (self._columns + self._heard.shape[1]) * self._counts.itemsize
        return counts + sum(kept.bytes_per_row for kept in (self._kept, *self._of_hours))

    def until(self, rows: Integers) -> Integers:
        """Up to when panes are folded, in milliseconds, or NEVER."""
        until = self._until[rows]
        return np.where(until == UNKNOWN, UNKNOWN, self._panes.start(until))

    def state(self, rows: Integers) -> Bytes:
        """What is kept of these rows: of windows that hold something, and nothing else."""
        counts, until = self._counts[rows], self._until[rows]
        kept = self._kept.state(rows, counts > 0, self._oldest(rows), until)
        of_hours = [kept.state(rows, counts > 0) for kept in self._of_hours]
        numbers = [as_bytes(counts), as_bytes(self._heard[rows])]
        return np.concatenate([*numbers, kept, *of_hours], axis=1)

    def _oldest(self, rows: Integers) -> Integers:
        """The first pane of each row's oldest window that holds something, or NEVER."""
        first = self._panes.newest(self._windows.start(self._open(rows)))
        oldest: Integers = np.where(self._counts[rows] > 0, first, NEVER).min(axis=1)
        return oldest

    def _open(self, rows: Integers) -> Integers:
        """open[row, column]: which window stands there."""
        first = self._after(self._until[rows])[:, np.newaxis]
        windows: Integers = first + (np.arange(self._columns) - first) % self._columns
        return windows

    def take_over(self, rows: Integers, until: Integers, state: Bytes) -> None:
        """Go on with what was kept of these rows."""
        wide = [columns.shape[1] * columns.itemsize for columns in (self._counts, self._heard)]
        wide += [kept.bytes_per_row for kept in (self._kept, *self._of_hours)]
        counts, heard, kept, *of_hours = np.split(state, np.cumsum(wide)[:-1], axis=1)
        self._until[rows] = self._panes.newest(until)
        self._counts[rows] = as_numbers(counts, self._counts.dtype)
        if self._fills:
            self._heard[rows] = as_numbers(heard, self._heard.dtype)
        self._kept.take_over(rows, kept)
        for hours, its in zip(self._of_hours, of_hours, strict=True):
            hours.take_over(rows, its)

    def take(self, closed: Closed, owed: tuple[Integers, Integers]) -> Over:
        """Fold panes into their windows; answer those that are over now.

        `owed` are windows to tell of, though they hold nothing: of which of the rows, and which.
        Precondition: each pane holds something.
        """
        until = self._until[closed.rows]
        before = np.where(until == UNKNOWN, closed.begin, until)
        parts = self._parts(closed, before, owed)
        over = parts.windows < self._after(closed.reached)[parts.nth]
        counts = counts_of(closed, parts, self._counts)
        heard = counts_of(closed, parts, self._heard) if self._fills else counts
        open_windows = np.flatnonzero(~over)
        decided = np.flatnonzero(over)
        contents = self._kept.fold(closed, parts, before, counts, decided, open_windows)
        of_hours = {
            kept.register: kept.fold(closed, parts, before, decided, open_windows)
            for kept in self._of_hours
        }
        self._counts[closed.rows] = 0
        self._heard[closed.rows] = 0
        rows, windows = closed.rows[parts.nth], parts.windows
        columns = windows[open_windows] % self._columns
        self._counts[rows[open_windows], columns] = counts[open_windows]
        if self._fills:
            self._heard[rows[open_windows], columns] = heard[open_windows]
        self._until[closed.rows] = before
        last = self._panes.newest(self._windows.end(windows[decided]))
        np.maximum.at(self._until, rows[decided], last)
        np.maximum.at(self._until, closed.panes.rows, closed.panes.panes + 1)
        return Over(rows[decided], windows[decided], heard[decided], contents, of_hours)

    def awaited(self, rows: Integers) -> Integers:
        """By which pane's end each row's next window that holds anything is over, or NEVER."""
        ends = self._panes.newest(self._windows.end(self._open(rows))) - 1
        awaited: Integers = np.where(self._counts[rows] > 0, ends, NEVER).min(axis=1)
        return awaited

    def _after(self, panes: Some) -> Some:
        """The first window that is not over before these panes."""
        return self._windows.first_open(self._panes.start(panes))

    def _parts(self, closed: Closed, before: Integers, owed: tuple[Integers, Integers]) -> Parts:
        """Every window that holds anything; where presence is private, that is over as well."""
        panes, first = closed.panes, self._after(before)
        self._nth[closed.rows] = np.arange(len(closed.rows))
        row_of = self._nth[panes.rows]
        low = np.maximum(self._after(panes.panes), first[row_of])
        many = self._windows.newest(self._panes.start(panes.panes)) - low + 1
        told = np.repeat(np.arange(len(many)), many)
        kept, columns = np.nonzero(self._counts[closed.rows])
        since = first[kept]
        nth = [row_of[told], kept, owed[0]]
        windows = [low[told] + counted(many), since + (columns - since) % self._columns, owed[1]]
        if self._private:
            many = np.maximum(self._after(closed.reached) - first, 0)
            every = np.repeat(np.arange(len(many)), many)
            nth, windows = [*nth, every], [*windows, first[every] + counted(many)]
        rows, numbers, of = each_once(nth, windows)
        told_of, kept_of, *_ = np.split(of, np.cumsum([len(told), len(kept)]))
        return Parts(rows, numbers, told, told_of, (kept, columns), kept_of, row_of)


def each_once(nth: list[Integers], numbers: list[Integers]) -> tuple[Integers, Integers, Integers]:
    """Each number of each row once, in order; and which of them each piece is of."""
    rows, all_of_them = np.concatenate(nth), np.concatenate(numbers)
    low = all_of_them.min(initial=0)
    span = int(all_of_them.max(initial=0) - low) + 1
    keys, of = np.unique(rows * span + (all_of_them - low), return_inverse=True)
    which, number = np.divmod(keys, span)
    return which, number + low, of
