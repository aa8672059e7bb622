"""What open windows hold of the panes that have closed: sums and extremes, or all their slots.

A pane that has closed is folded into every window that it is a part of, and the last pane of a
window decides it. So a window costs the same however long it is, unless a query needs its slots.
Where windows are panes nothing is folded, and nothing kept.
"""

from dataclasses import dataclass, replace

import numpy as np

from meteragent.privacy.arrays import Integers, Mask, counted
from meteragent.privacy.domain import ABSENT, Levels
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import Sums
from meteragent.privacy.windows import Some
from meteragent.stream.closed import Closed
from meteragent.stream.kept import Bytes, KeptSlots, KeptSums, Parts, as_bytes, as_numbers
from meteragent.stream.order import NEVER
from meteragent.stream.panes import UNKNOWN


@dataclass(frozen=True, slots=True)
class Decided:
    """Windows that are over, by row and then by time."""

    rows: Integers
    windows: Integers
    contents: Levels | Sums
    moments: Integers
    """When each has closed, as `order` counts it ..."""
    dues: Integers
    """... and when that was due, if it was not a record of its meter's that closed it."""
    whole: Mask
    """Of which nothing was lost."""

    def where(self, windows: Mask) -> "Decided":
        """Some of them."""
        if windows.all():
            return self
        contents = self.contents
        return Decided(
            self.rows[windows],
            self.windows[windows],
            contents.where(windows) if isinstance(contents, Sums) else contents[windows],
            self.moments[windows],
            self.dues[windows],
            self.whole[windows],
        )


class Folds:
    """The open windows of one policy's meters, a row per meter."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._windows, self._panes = policy.windows, policy.panes
        self.several = policy.panes.size < policy.windows.lasting(1)
        """Whether windows have several panes."""
        self._columns = policy.windows.overlap
        self._until = np.empty(0, dtype=np.int64)
        """Up to which pane each row is folded, or holds nothing: behind the last of which it was
        told, so that it does not depend on batches."""
        self._counts = np.empty((0, self._columns), dtype=np.int32)
        """counts[row, window % columns]: how many slots of open windows hold a reading."""
        self._kept = KeptSlots(policy) if policy.keeps_slots else KeptSums(policy)
        self._whole_from: Integers | None = None
        """The first window of each row of which nothing is lost, where anything is."""
        self._nth = np.empty(0, dtype=np.int64)

    def grow(self, rows: int) -> None:
        """Make room for so many rows."""
        new = rows - len(self._nth)
        if new <= 0:
            return
        self._nth = np.zeros(rows, dtype=np.int64)
        if self._whole_from is not None:
            self._whole_from = np.concatenate([self._whole_from, np.full(new, UNKNOWN)])
        if self.several:
            self._until = np.concatenate([self._until, np.full(new, UNKNOWN)])
            empty = np.zeros((new, self._columns), dtype=self._counts.dtype)
            self._counts = np.concatenate([self._counts, empty])
            self._kept.grow(rows)

    @property
    def bytes_per_row(self) -> int:
        """What a meter takes here."""
        if not self.several:
            return 0
        counts = self._columns * self._counts.itemsize
        return self._until.itemsize + counts + self._kept.bytes_per_row

    def open_windows(self) -> int:
        """How many windows of all rows hold a reading of a pane that has closed."""
        return int(np.count_nonzero(self._counts))

    @property
    def shape(self) -> tuple[int, int]:
        """Of which digest it is, as a number, and how many bytes are kept of a row."""
        counts = self._columns * self._counts.itemsize
        return int.from_bytes(self._policy.digest[:8], "little"), counts + self._kept.bytes_per_row

    def until(self, rows: Integers) -> Integers:
        """Up to when panes are folded, in milliseconds, or NEVER."""
        until = self._until[rows]
        return np.where(until == UNKNOWN, UNKNOWN, self._panes.start(until))

    def state(self, rows: Integers) -> Bytes:
        """What is kept of these rows: of windows that hold something, and nothing else."""
        counts, until = self._counts[rows], self._until[rows]
        kept = self._kept.state(rows, counts > 0, self._oldest(rows), until)
        return np.concatenate([as_bytes(counts), kept], axis=1)

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
        split = self._columns * self._counts.itemsize
        self._until[rows] = self._panes.newest(until)
        self._counts[rows] = as_numbers(state[:, :split], self._counts.dtype)
        self._kept.take_over(rows, state[:, split:])

    def lose(self, rows: Integers, until: Integers) -> None:
        """Nothing is kept of what these rows held before these times."""
        if self._whole_from is None:
            self._whole_from = np.full(len(self._nth), UNKNOWN)
        self._whole_from[rows] = self._windows.newest(until - 1) + 1

    def take(self, closed: Closed) -> Decided:
        """Fold panes into their windows; answer those that are over now."""
        if not self.several:
            panes = closed.panes
            return self._decided(panes.rows, panes.panes, panes.levels, closed)
        closed = replace(closed, panes=closed.panes.without_empty())
        until = self._until[closed.rows]
        before = np.where(until == UNKNOWN, closed.begin, until)
        parts = self._parts(closed, before)
        over = parts.windows < self._after(closed.reached)[parts.nth]
        counts = self._fold_counts(closed, parts)
        open_windows = np.flatnonzero(~over)
        decided = np.flatnonzero(over)
        contents = self._kept.fold(closed, parts, before, counts, decided, open_windows)
        self._counts[closed.rows] = 0
        rows, windows = closed.rows[parts.nth], parts.windows
        columns = windows[open_windows] % self._columns
        self._counts[rows[open_windows], columns] = counts[open_windows]
        self._until[closed.rows] = before
        last = self._panes.newest(self._windows.end(windows[decided]))
        np.maximum.at(self._until, rows[decided], last)
        np.maximum.at(self._until, closed.panes.rows, closed.panes.panes + 1)
        return self._decided(rows[decided], windows[decided], contents, closed)

    def awaited(self, rows: Integers) -> Integers:
        """By which pane's end each row's next window that holds anything is over, or NEVER."""
        if not self.several:
            return np.full(len(rows), NEVER)
        ends = self._panes.newest(self._windows.end(self._open(rows))) - 1
        awaited: Integers = np.where(self._counts[rows] > 0, ends, NEVER).min(axis=1)
        return awaited

    def _after(self, panes: Some) -> Some:
        """The first window that is not over before these panes."""
        return self._windows.first_open(self._panes.start(panes))

    def _decided(
        self, rows: Integers, windows: Integers, contents: Levels | Sums, closed: Closed
    ) -> Decided:
        last = self._panes.newest(self._windows.end(windows)) - 1
        whole = np.ones(len(rows), dtype=np.bool_)
        if self._whole_from is not None:
            whole = windows >= self._whole_from[rows]
        return Decided(rows, windows, contents, *closed.timing.of(rows, last), whole)

    def _parts(self, closed: Closed, before: Integers) -> Parts:
        """Every window that holds anything; where presence is private, that is over as well."""
        panes, first = closed.panes, self._after(before)
        self._nth[closed.rows] = np.arange(len(closed.rows))
        row_of = self._nth[panes.rows]
        low = np.maximum(self._after(panes.panes), first[row_of])
        many = self._windows.newest(self._panes.start(panes.panes)) - low + 1
        told = np.repeat(np.arange(len(many)), many)
        kept, columns = np.nonzero(self._counts[closed.rows])
        since = first[kept]
        nth = [row_of[told], kept]
        windows = [low[told] + counted(many), since + (columns - since) % self._columns]
        if self._policy.presence == "private":
            many = np.maximum(self._after(closed.reached) - first, 0)
            every = np.repeat(np.arange(len(many)), many)
            nth, windows = [*nth, every], [*windows, first[every] + counted(many)]
        rows, numbers, of = _parted(nth, windows)
        told_of, kept_of, *_ = np.split(of, np.cumsum([len(told), len(kept)]))
        return Parts(rows, numbers, told, told_of, (kept, columns), kept_of, row_of)

    def _fold_counts(self, closed: Closed, parts: Parts) -> Integers:
        counts = np.zeros(len(parts.windows), dtype=np.int64)
        rows, columns = parts.kept
        counts[parts.kept_of] = self._counts[closed.rows[rows], columns]
        held = np.count_nonzero(closed.panes.levels != ABSENT, axis=1)
        np.add.at(counts, parts.told_of, held[parts.told])
        return counts


def _parted(nth: list[Integers], windows: list[Integers]) -> tuple[Integers, Integers, Integers]:
    """Each window of each row once, by row and then by time; and which of them each part is of."""
    rows, numbers = np.concatenate(nth), np.concatenate(windows)
    low = numbers.min(initial=0)
    span = int(numbers.max(initial=0) - low) + 1
    keys, of = np.unique(rows * span + (numbers - low), return_inverse=True)
    which, number = np.divmod(keys, span)
    return which, number + low, of
