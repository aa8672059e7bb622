"""What is kept of windows that are not over: a few numbers for each, or every slot."""

import numpy as np
from numpy.typing import NDArray

from meteragent.privacy.arrays import Integers, Mask, lengthen
from meteragent.privacy.domain import ABSENT, Levels
from meteragent.privacy.query import Sums
from meteragent.stream.closed import Closed
from meteragent.stream.grain import Grain
from meteragent.stream.last_readings import LastReadings
from meteragent.stream.pieces import Bytes, Parts, as_bytes, as_numbers


def counts_of(closed: Closed, parts: Parts, before: NDArray[np.int32]) -> Integers:
    """How many slots of each window hold a reading: those `before`, and of panes closed now."""
    counts = np.zeros(len(parts.windows), dtype=np.int64)
    rows, columns = parts.kept
    counts[parts.kept_of] = before[closed.rows[rows], columns]
    held = np.count_nonzero(closed.panes.levels != ABSENT, axis=1)
    np.add.at(counts, parts.told_of, held[parts.told])
    return counts


class KeptSums:
    """Sums and extremes of open windows."""

    def __init__(self, grain: Grain) -> None:
        self._columns = grain.windows.overlap
        self._kind = grain.dtype
        self._totals = np.empty((0, self._columns), dtype=np.int64)
        self._lowest = np.empty((0, self._columns), dtype=self._kind)
        self._highest = np.empty((0, self._columns), dtype=self._kind)
        self._last = LastReadings(grain)

    @property
    def bytes_per_row(self) -> int:
        """What a meter takes here."""
        window = self._totals.itemsize + 2 * self._lowest.itemsize
        return self._columns * window + self._last.bytes_per_row

    def grow(self, rows: int) -> None:
        """Make room for so many rows."""
        for column in ("_totals", "_lowest", "_highest"):
            lengthen(self, column, rows, 0)
        self._last.grow(rows)

    def fold(
        self,
        closed: Closed,
        parts: Parts,
        before: Integers,
        counts: Integers,
        decided: Integers,
        open_windows: Integers,
    ) -> Sums:
        """Fold panes in, keep what stays open, answer what is decided; count what is filled."""
        del before
        levels, totals = self._last.fill(closed, parts, counts, decided)
        held = levels != ABSENT
        most = np.iinfo(self._kind).max
        lowest = np.full(len(counts), most, dtype=np.int64)
        highest = np.zeros(len(counts), dtype=np.int64)
        nth, columns = parts.kept
        rows = closed.rows[nth]
        totals[parts.kept_of] += self._totals[rows, columns]
        lowest[parts.kept_of] = self._lowest[rows, columns]
        highest[parts.kept_of] = self._highest[rows, columns]
        of, told = parts.told_of, parts.told
        np.add.at(totals, of, np.where(held, levels, 0).sum(axis=1, dtype=np.int64)[told])
        np.minimum.at(lowest, of, np.where(held, levels, most).min(axis=1)[told])
        np.maximum.at(highest, of, levels.max(axis=1)[told])
        rows = closed.rows[parts.nth[open_windows]]
        columns = parts.windows[open_windows] % self._columns
        self._totals[rows, columns] = totals[open_windows]
        self._lowest[rows, columns] = lowest[open_windows]
        self._highest[rows, columns] = highest[open_windows]
        return Sums(counts[decided], totals[decided], lowest[decided], highest[decided])

    def state(self, rows: Integers, held: Mask, oldest: Integers, until: Integers) -> Bytes:
        """As bytes, of the windows that are `held`."""
        del oldest, until
        columns = (self._totals[rows], self._lowest[rows], self._highest[rows])
        zero = [np.where(held, column, np.zeros_like(column)) for column in columns]
        last = self._last.state(rows, np.logical_or.reduce(held, axis=1))
        return np.concatenate([*map(as_bytes, zero), last], axis=1)

    def take_over(self, rows: Integers, state: Bytes) -> None:
        """What `state` said of these rows."""
        wide, narrow = (self._columns * a.itemsize for a in (self._totals, self._lowest))
        ends = [wide, wide + narrow, wide + 2 * narrow]
        totals, lowest, highest, last = np.split(state, ends, axis=1)
        self._totals[rows] = as_numbers(totals, self._totals.dtype)
        self._lowest[rows] = as_numbers(lowest, self._kind)
        self._highest[rows] = as_numbers(highest, self._kind)
        self._last.take_over(rows, last)


class KeptSlots:
    """The slots of the last panes of each row, as many as the longest window has."""

    def __init__(self, grain: Grain) -> None:
        self._windows, self._panes = grain.windows, grain.panes
        self._count = self._windows.slots // self._panes.slots
        self._levels = np.empty((0, self._count, self._panes.slots), dtype=grain.dtype)
        """levels[row, pane % count, slot]"""

    @property
    def bytes_per_row(self) -> int:
        """What a meter takes here."""
        return self._windows.slots * self._levels.itemsize

    def grow(self, rows: int) -> None:
        """Make room for so many rows."""
        lengthen(self, "_levels", rows, ABSENT)

    def fold(
        self,
        closed: Closed,
        parts: Parts,
        before: Integers,
        counts: Integers,
        decided: Integers,
        open_windows: Integers,
    ) -> Levels:
        """Fold panes in, keep what stays open, answer what is decided."""
        del open_windows
        found = self._before(closed, parts, before, decided)
        place = np.full(len(counts), -1)
        place[decided] = np.arange(len(decided))
        told = np.flatnonzero(place[parts.told_of] >= 0)
        which, of = parts.told[told], parts.told_of[told]
        first = self._panes.newest(self._windows.start(parts.windows[of]))
        found[place[of], closed.panes.panes[which] - first] = closed.panes.levels[which]
        self._keep(closed, parts.row_of, before)
        return found.reshape(len(decided), self._windows.slots)

    def _before(self, closed: Closed, parts: Parts, before: Integers, decided: Integers) -> Levels:
        """What was folded before of windows that are decided."""
        first = self._panes.newest(self._windows.start(parts.windows[decided]))
        panes = first[:, np.newaxis] + np.arange(self._count)
        nth = parts.nth[decided]
        found: Levels = self._levels[closed.rows[nth][:, np.newaxis], panes % self._count]
        found[panes >= before[nth][:, np.newaxis]] = ABSENT
        return found

    def _keep(self, closed: Closed, row_of: Integers, before: Integers) -> None:
        """Let go of what is older than a window, and keep what is new."""
        newest = closed.reached[:, np.newaxis] - 1
        panes = newest - (newest - np.arange(self._count)) % self._count
        nth, place = np.nonzero(panes >= before[:, np.newaxis])
        self._levels[closed.rows[nth], place] = ABSENT
        told = closed.panes
        late = told.panes >= closed.reached[row_of] - self._count
        self._levels[told.rows[late], told.panes[late] % self._count] = told.levels[late]

    def state(self, rows: Integers, held: Mask, oldest: Integers, until: Integers) -> Bytes:
        """As bytes, of the panes from the `oldest` on."""
        del held
        newest = until[:, np.newaxis] - 1
        panes = newest - (newest - np.arange(self._count)) % self._count
        levels = self._levels[rows]
        levels[panes < oldest[:, np.newaxis]] = ABSENT
        return as_bytes(levels.reshape(len(rows), -1))

    def take_over(self, rows: Integers, state: Bytes) -> None:
        """What `state` said of these rows."""
        levels = as_numbers(state, self._levels.dtype)
        self._levels[rows] = levels.reshape(len(rows), *self._levels.shape[1:])
