"""Windows of which a part was lost: they are withheld, and said to be, though nothing more comes.

What is kept of open windows is of one policy. Where the policy was changed meanwhile, or a meter
had several records, it is lost, and so are the windows that it was a part of. Which these are is
written down with the next record of their meter: else another restart would take what came later
for all there was.
"""

import numpy as np

from meteragent.errors import LedgerDamaged
from meteragent.privacy.arrays import Integers, Mask, counted, lengthen
from meteragent.privacy.calendar import AnyWindows
from meteragent.privacy.domain import ABSENT
from meteragent.stream.closed import Closed
from meteragent.stream.order import NEVER
from meteragent.stream.panes import UNKNOWN
from meteragent.stream.pieces import Bytes, as_bytes, as_numbers
from meteragent.stream.strips import Panes

_INT64 = np.dtype(np.int64)


class Losses:
    """What was lost of one policy's meters, a row per meter; nothing, mostly."""

    def __init__(self, windows: AnyWindows) -> None:
        self._windows = windows
        self._rows = 0
        self._whole_from = np.empty(0, dtype=np.int64)
        """The first window of each row of which nothing is lost; nothing, while nothing is ..."""
        self._owed_from = np.empty(0, dtype=np.int64)
        """... and the first before it of which somebody is to be told, or NEVER."""

    def grow(self, rows: int) -> None:
        """Make room for so many rows."""
        self._rows = max(rows, self._rows)
        if self.any():
            lengthen(self, "_whole_from", self._rows, UNKNOWN)
            lengthen(self, "_owed_from", self._rows, NEVER)

    def lose(self, rows: Integers, since: Integers, until: Integers) -> None:
        """Nothing is left of what these rows held before these times.

        They held something from `since` on, so that their windows are said to be lost, whatever
        comes; or nobody knows whether they did, and it is NEVER. A row may come several times.
        """
        if not self.any():
            self._whole_from = np.full(self._rows, UNKNOWN)
            self._owed_from = np.full(self._rows, NEVER)
        np.maximum.at(self._whole_from, rows, self._windows.newest(until - 1) + 1)
        held = since != NEVER
        np.minimum.at(self._owed_from, rows[held], self._windows.first_open(since[held]))

    def any(self) -> bool:
        """Whether anything was lost of any row."""
        return len(self._whole_from) > 0

    def whole(self, rows: Integers, windows: Integers) -> Mask:
        """Of which of these windows nothing was lost."""
        if not self.any():
            return np.ones(len(rows), dtype=np.bool_)
        whole: Mask = windows >= self._whole_from[rows]
        return whole

    def awaited(self, rows: Integers) -> Integers:
        """The first window of each row of which somebody is to be told, or NEVER.

        Precondition: something was lost of some row.
        """
        owed, whole_from = self._owed_from[rows], self._whole_from[rows]
        return np.where(owed < whole_from, owed, NEVER)

    def told(self, rows: Integers, before: Integers) -> tuple[Integers, Integers]:
        """The windows to tell of, now that those `before` these are over: of which row, and which.

        Nobody is told of them again. Precondition: something was lost of some row.
        """
        first, after = self.awaited(rows), np.minimum(before, self._whole_from[rows])
        many = np.where(first < after, after - first, 0)
        now = np.flatnonzero(many)
        self._owed_from[rows[now]] = after[now]
        return np.repeat(now, many[now]), np.repeat(first[now], many[now]) + counted(many[now])

    # What is written down.

    def open(self, rows: Integers, first: Integers) -> Mask:
        """Which rows have lost anything of these windows or later ones. Precondition: any has."""
        lost: Mask = self._whole_from[rows] > first
        return lost

    def until(self, rows: Integers) -> Integers:
        """Windows that begin before this time have lost something. Precondition: some have."""
        until: Integers = self._windows.start(self._whole_from[rows])
        return until

    def state(self, rows: Integers) -> Bytes:
        """From when on these rows held something that is lost, or NEVER, as bytes."""
        owed = self.awaited(rows)
        since = self._windows.start(np.where(owed == NEVER, 0, owed))
        return as_bytes(np.where(owed == NEVER, NEVER, since)[:, np.newaxis])


def since_in(state: Bytes) -> Integers:
    """The time with which the state of each row begins."""
    if state.shape[1] < _INT64.itemsize:
        raise LedgerDamaged("a ledger record is cut short")
    return as_numbers(state[:, : _INT64.itemsize], _INT64)[:, 0]


def with_those(closed: Closed, nth: Integers, panes: Integers) -> Panes:
    """Panes that have closed, and those that are told of though they hold nothing.

    `nth` of the rows they are of. Postcondition: each once, by row and then by time.
    """
    held = closed.panes
    if not len(nth):
        return held
    rows = np.concatenate([held.rows, closed.rows[nth]])
    numbers = np.concatenate([held.panes, panes])
    nothing = np.full((len(nth), held.levels.shape[1]), ABSENT, dtype=held.levels.dtype)
    levels = np.concatenate([held.levels, nothing])
    order = np.lexsort((np.arange(len(rows)), numbers, rows))
    again = (np.diff(rows[order]) == 0) & (np.diff(numbers[order]) == 0)
    each = order[np.concatenate([[True], ~again])]
    return Panes(rows[each], numbers[each], levels[each])
