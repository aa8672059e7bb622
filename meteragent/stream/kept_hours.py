"""What is kept of the hours of a register, of windows that are not over: a few numbers for each."""

from dataclasses import replace

import numpy as np

from meteragent.privacy.arrays import Integers, Mask, lengthen
from meteragent.privacy.hours import Hours
from meteragent.privacy.query import Sums
from meteragent.stream.closed import Closed
from meteragent.stream.grain import Grain
from meteragent.stream.kept import KeptSums, counts_of
from meteragent.stream.pieces import Bytes, Parts, as_bytes, as_numbers
from meteragent.stream.strips import Panes


class KeptHours:
    """Numbers, sums and extremes of what open windows hold in these hours."""

    def __init__(self, grain: Grain, hours: Hours) -> None:
        self.register = hours.register
        self._hours, self._panes = hours, grain.panes
        self._columns = grain.windows.overlap
        self._counts = np.empty((0, self._columns), dtype=np.int32)
        """counts[row, window % columns]: how many slots of these hours hold a reading."""
        self._sums = KeptSums(grain)

    @property
    def bytes_per_row(self) -> int:
        """What a meter takes here."""
        return self._columns * self._counts.itemsize + self._sums.bytes_per_row

    def grow(self, rows: int) -> None:
        """Make room for so many rows."""
        lengthen(self, "_counts", rows, 0)
        self._sums.grow(rows)

    def fold(
        self,
        closed: Closed,
        parts: Parts,
        before: Integers,
        decided: Integers,
        open_windows: Integers,
    ) -> Sums:
        """Fold panes in, keep what stays open, answer what is decided."""
        told = closed.panes
        levels = self._hours.masked(told.levels, self._panes.start(told.panes))
        within = replace(closed, panes=Panes(told.rows, told.panes, levels))
        counts = counts_of(within, parts, self._counts)
        sums = self._sums.fold(within, parts, before, counts, decided, open_windows)
        self._counts[closed.rows] = 0
        columns = parts.windows[open_windows] % self._columns
        self._counts[closed.rows[parts.nth[open_windows]], columns] = counts[open_windows]
        return sums

    def state(self, rows: Integers, held: Mask) -> Bytes:
        """As bytes, of the windows that are `held`."""
        sums = self._sums.state(rows, held, rows, rows)
        return np.concatenate([as_bytes(self._counts[rows]), sums], axis=1)

    def take_over(self, rows: Integers, state: Bytes) -> None:
        """What `state` said of these rows."""
        counts, sums = np.split(state, [self._columns * self._counts.itemsize], axis=1)
        self._counts[rows] = as_numbers(counts, self._counts.dtype)
        self._sums.take_over(rows, sums)
