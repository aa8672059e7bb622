"""The averages of parts of windows, folded: for what is asked about them.

A part that is no longer than a pane is averaged when its pane closes. Of longer ones the sum is
carried from pane to pane, until something is told of a later part, or a window is over: so that
what is carried does not depend on batches.
"""

from dataclasses import replace

import numpy as np

from meteragent.privacy.arrays import Integers, lengthen
from meteragent.privacy.domain import ABSENT
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import averages, rounded
from meteragent.stream.closed import Closed
from meteragent.stream.fold import Fold, Over, each_once
from meteragent.stream.grain import Grain
from meteragent.stream.panes import UNKNOWN
from meteragent.stream.pieces import Bytes, as_bytes, as_numbers
from meteragent.stream.strips import Panes


class PartFold:
    """The averages of parts of one length, folded into windows, a row per meter."""

    def __init__(self, policy: Policy, part: int) -> None:
        grain = Grain.of_parts(policy, part)
        self._fold = Fold(grain)
        self._private, self._kind = grain.private, grain.dtype
        self._windows, self._panes, self._parts = policy.windows, policy.panes, grain.panes
        self._slots = part // policy.interval
        self._longer = part > policy.panes.size
        self._sums = np.empty((0, 3 if self._longer else 0), dtype=np.int64)
        """sums[row]: which part is not over, its readings' sum, and how many they are."""
        self._nth = np.empty(0, dtype=np.int64)

    def grow(self, rows: int) -> None:
        """Make room for so many rows."""
        lengthen(self, "_sums", rows, 0)
        lengthen(self, "_nth", rows, 0)
        self._fold.grow(rows)

    @property
    def bytes_per_row(self) -> int:
        """What a meter takes here."""
        return self._sums.shape[1] * self._sums.itemsize + self._fold.bytes_per_row

    @property
    def bytes_of_state(self) -> int:
        """How many bytes are written down of a row."""
        sums = self._sums.shape[1] * self._sums.itemsize
        return self._nth.itemsize + sums + self._fold.bytes_of_state

    def state(self, rows: Integers) -> Bytes:
        """What is kept of these rows, as bytes."""
        until = self._fold.until(rows)[:, np.newaxis]
        columns = (as_bytes(until), as_bytes(self._sums[rows]), self._fold.state(rows))
        return np.concatenate(columns, axis=1)

    def take_over(self, rows: Integers, state: Bytes) -> None:
        """What `state` said of these rows."""
        wide = self._nth.itemsize
        ends = [wide, wide * (1 + self._sums.shape[1])]
        until, sums, folded = np.split(state, ends, axis=1)
        if self._longer:
            self._sums[rows] = as_numbers(sums, self._sums.dtype)
        times = as_numbers(until, self._nth.dtype)[:, 0]
        known = times != UNKNOWN
        self._fold.take_over(rows[known], times[known], folded[known])

    def take(self, closed: Closed, owed: tuple[Integers, Integers]) -> Over:
        """Fold panes, each of which holds something; answer what windows that are over hold.

        `owed` are windows that are told of, though they hold nothing.
        """
        panes = closed.panes
        if self._longer:
            closed = self._in_parts(closed)
        else:
            levels = averages(panes.levels, self._slots)
            closed = replace(closed, panes=Panes(panes.rows, panes.panes, levels))
        return self._fold.take(closed, owed)

    def _in_parts(self, closed: Closed) -> Closed:
        """The same with parts for panes: those that are over."""
        panes, held = closed.panes, closed.panes.levels != ABSENT
        self._nth[closed.rows] = np.arange(len(closed.rows))
        row_of = self._nth[panes.rows]
        newest = self._parts.newest(self._panes.start(panes.panes))
        kept = self._sums[closed.rows]
        some = np.flatnonzero(kept[:, 2])
        nth, numbers, of = each_once([some, row_of], [kept[some, 0], newest])
        sums = np.zeros((len(numbers), 2), dtype=np.int64)
        np.add.at(sums, of[: len(some)], kept[some, 1:])
        totals = np.where(held, panes.levels, 0).sum(axis=1, dtype=np.int64)
        counts = np.count_nonzero(held, axis=1)
        np.add.at(sums, of[len(some) :], np.stack([totals, counts], axis=1))
        reached = self._over_before(closed)
        np.maximum.at(reached, row_of, newest)
        over = numbers < reached[nth]
        self._sums[closed.rows] = 0
        columns = (numbers[~over], sums[~over, 0], sums[~over, 1])
        self._sums[closed.rows[nth[~over]]] = np.stack(columns, axis=1)
        levels = rounded(sums[over, 0], sums[over, 1])[:, np.newaxis].astype(self._kind)
        parts = Panes(closed.rows[nth[over]], numbers[over], levels)
        begin = self._parts.newest(self._panes.start(closed.begin))
        if not self._private:  # where nothing was told of, nothing is
            begin[nth[::-1]] = numbers[::-1]
        return replace(closed, panes=parts, begin=begin, reached=reached)

    def _over_before(self, closed: Closed) -> Integers:
        """The part with which each row's first window begins or goes on that is not over."""
        first = self._windows.first_open(self._panes.start(closed.reached))
        over: Integers = self._parts.newest(self._windows.end(first - 1))
        return over
