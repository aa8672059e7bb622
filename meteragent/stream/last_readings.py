"""What slots behind a pane are filled with: the last reading before them."""

import numpy as np

from meteragent.privacy.arrays import Integers, Mask, lengthen
from meteragent.privacy.domain import ABSENT, Levels
from meteragent.privacy.fill import carried
from meteragent.stream.closed import Closed
from meteragent.stream.grain import Grain
from meteragent.stream.pieces import Bytes, Parts, as_bytes, as_numbers


class LastReadings:
    """The last reading of each row, which fills slots behind its pane: `privacy.fill` in parts.

    A slot that is filled makes no window's minimum less, and no maximum greater: so it is enough
    to know how many are filled, and with what.
    """

    def __init__(self, grain: Grain) -> None:
        self._windows, self._panes = grain.windows, grain.panes
        self._most = grain.carried
        self._slots = np.empty(0, dtype=np.int64)
        """Of a row whose open windows hold nothing, it is of no meaning ..."""
        self._levels = np.empty(0, dtype=grain.dtype)
        """... nor is its level."""

    @property
    def bytes_per_row(self) -> int:
        """What a meter takes here."""
        return self._slots.itemsize + self._levels.itemsize if self._most else 0

    def grow(self, rows: int) -> None:
        """Make room for so many rows."""
        if self._most:
            lengthen(self, "_slots", rows, 0)
            lengthen(self, "_levels", rows, 0)

    def fill(
        self, closed: Closed, parts: Parts, counts: Integers, decided: Integers
    ) -> tuple[Levels, Integers]:
        """Filled panes, and of each window the sum of what is filled between and behind them.

        `counts` become those of slots that hold something or are filled.
        """
        levels, totals = closed.panes.levels, np.zeros(len(counts), dtype=np.int64)
        if not self._most:
            return levels, totals
        filled = carried(levels, self._most)
        more = np.count_nonzero(filled != ABSENT, axis=1) - np.count_nonzero(
            levels != ABSENT, axis=1
        )
        np.add.at(counts, parts.told_of, more[parts.told])
        held = levels != ABSENT
        base = self._panes.first_slot(closed.panes.panes)
        first = base + held.argmax(axis=1)
        last = held.shape[1] - 1 - held[:, ::-1].argmax(axis=1)
        newest, level = base + last, levels[np.arange(len(levels)), last].astype(np.int64)
        open_before = np.zeros(len(counts), dtype=np.bool_)
        open_before[parts.kept_of] = True
        self._fill_before(closed, parts, open_before, (first, newest, level), counts, totals)
        self._fill_behind(closed, parts, decided, (newest, level), counts, totals)
        rows = closed.panes.rows
        self._slots[rows], self._levels[rows] = newest, level  # of each row, the last one stays
        return filled, totals

    def _fill_before(
        self,
        closed: Closed,
        parts: Parts,
        open_before: Mask,
        panes: tuple[Integers, Integers, Integers],
        counts: Integers,
        totals: Integers,
    ) -> None:
        """Add the slots before the first reading of each pane, in every window that it is in."""
        first, newest, level = panes
        rows = closed.panes.rows
        follows = np.zeros(len(rows), dtype=np.bool_)
        follows[1:] = rows[1:] == rows[:-1]
        since = np.where(follows, np.roll(newest, 1), self._slots[rows])
        with_level = np.where(follows, np.roll(level, 1), self._levels[rows])
        many = self._between(since, first)
        told, of = parts.told, parts.told_of
        begin = self._windows.first_slot(parts.windows[of])
        within = np.where(follows[told], since[told] >= begin, open_before[of])
        np.add.at(counts, of[within], many[told[within]])
        np.add.at(totals, of[within], (many * with_level)[told[within]])

    def _fill_behind(
        self,
        closed: Closed,
        parts: Parts,
        decided: Integers,
        panes: tuple[Integers, Integers],
        counts: Integers,
        totals: Integers,
    ) -> None:
        """Add the slots behind the last reading of each window that is over."""
        newest, level = panes
        last, by_level = np.zeros_like(counts), np.zeros_like(counts)
        rows = closed.rows[parts.kept[0]]
        last[parts.kept_of], by_level[parts.kept_of] = self._slots[rows], self._levels[rows]
        last[parts.told_of], by_level[parts.told_of] = newest[parts.told], level[parts.told]
        over = decided[counts[decided] > 0]
        end = self._windows.slot(self._windows.end(parts.windows[over]))
        many = self._between(last[over], end)
        counts[over] += many
        totals[over] += many * by_level[over]

    def _between(self, last: Integers, until: Integers) -> Integers:
        """How many slots behind the pane of a reading, and before these, hold its copy."""
        begin = self._panes.first_slot(self._panes.newest(last * self._panes.interval) + 1)
        many: Integers = np.maximum(0, np.minimum(until, last + self._most + 1) - begin)
        return many

    def state(self, rows: Integers, held: Mask) -> Bytes:
        """As bytes, of rows whose open windows hold anything."""
        if not self._most:
            return np.empty((len(rows), 0), dtype=np.uint8)
        columns = (self._slots[rows], self._levels[rows])
        zero = [np.where(held, column, np.zeros_like(column)) for column in columns]
        return np.concatenate([as_bytes(column[:, np.newaxis]) for column in zero], axis=1)

    def take_over(self, rows: Integers, state: Bytes) -> None:
        """What `state` said of these rows."""
        if self._most:
            wide = self._slots.itemsize
            self._slots[rows] = as_numbers(state[:, :wide], self._slots.dtype)[:, 0]
            self._levels[rows] = as_numbers(state[:, wide:], self._levels.dtype)[:, 0]
