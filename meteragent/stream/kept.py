"""What is kept of windows that are not over: a few numbers for each, or every slot."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meteragent.privacy.arrays import Integers, Mask
from meteragent.privacy.domain import ABSENT, Levels
from meteragent.privacy.fill import carried
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import Sums
from meteragent.stream.closed import Closed

Bytes = NDArray[np.uint8]
"""bytes[row, byte]"""


@dataclass(frozen=True, slots=True)
class Parts:
    """Which panes, and which that were folded before, are parts of which windows."""

    nth: Integers
    """Of each window: which of the rows it is of ..."""
    windows: Integers
    """... and its number."""
    told: Integers
    """Of each part that has closed now: which of the panes it is ..."""
    told_of: Integers
    """... and of which window it is a part."""
    kept: tuple[Integers, Integers]
    """Of each window that was open before: which of the rows, and in which column ..."""
    kept_of: Integers
    """... and which window it is."""
    row_of: Integers
    """Of each of the panes: which of the rows it is of."""


class KeptSums:
    """Sums and extremes of open windows."""

    def __init__(self, policy: Policy) -> None:
        self._columns = policy.windows.overlap
        self._kind = policy.domain.dtype
        self._totals = np.empty((0, self._columns), dtype=np.int64)
        self._lowest = np.empty((0, self._columns), dtype=self._kind)
        self._highest = np.empty((0, self._columns), dtype=self._kind)
        self._last = LastReadings(policy)

    @property
    def bytes_per_row(self) -> int:
        """What a meter takes here."""
        window = self._totals.itemsize + 2 * self._lowest.itemsize
        return self._columns * window + self._last.bytes_per_row

    def grow(self, rows: int) -> None:
        """Make room for so many rows."""
        shape = (rows - len(self._totals), self._columns)
        self._totals = np.concatenate([self._totals, np.zeros(shape, dtype=np.int64)])
        empty = np.zeros(shape, dtype=self._kind)
        self._lowest = np.concatenate([self._lowest, empty])
        self._highest = np.concatenate([self._highest, empty])
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


class LastReadings:
    """The last reading of each row, which fills slots behind its pane: `privacy.fill` in parts.

    A slot that is filled makes no window's minimum less, and no maximum greater: so it is enough
    to know how many are filled, and with what.
    """

    def __init__(self, policy: Policy) -> None:
        self._windows, self._panes = policy.windows, policy.panes
        self._most = policy.carried
        self._slots = np.empty(0, dtype=np.int64)
        """Of a row whose open windows hold nothing, it is of no meaning ..."""
        self._levels = np.empty(0, dtype=policy.domain.dtype)
        """... nor is its level."""

    @property
    def bytes_per_row(self) -> int:
        """What a meter takes here."""
        return self._slots.itemsize + self._levels.itemsize if self._most else 0

    def grow(self, rows: int) -> None:
        """Make room for so many rows."""
        if self._most:
            new = rows - len(self._slots)
            self._slots = np.concatenate([self._slots, np.zeros(new, dtype=np.int64)])
            self._levels = np.concatenate([self._levels, np.zeros(new, dtype=self._levels.dtype)])

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


class KeptSlots:
    """The slots of the last panes of each row, as many as the longest window has."""

    def __init__(self, policy: Policy) -> None:
        self._windows, self._panes = policy.windows, policy.panes
        self._count = self._windows.slots // self._panes.slots
        self._levels = np.empty((0, self._count, self._panes.slots), dtype=policy.domain.dtype)
        """levels[row, pane % count, slot]"""

    @property
    def bytes_per_row(self) -> int:
        """What a meter takes here."""
        return self._windows.slots * self._levels.itemsize

    def grow(self, rows: int) -> None:
        """Make room for so many rows."""
        shape = (rows - len(self._levels), *self._levels.shape[1:])
        empty = np.full(shape, ABSENT, dtype=self._levels.dtype)
        self._levels = np.concatenate([self._levels, empty])

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


def as_bytes(numbers: NDArray[np.signedinteger]) -> Bytes:
    """bytes[row, byte] of numbers[row, column], little endian."""
    little = numbers.dtype.newbyteorder("<")
    return np.ascontiguousarray(numbers, dtype=little).view(np.uint8)


def as_numbers(state: Bytes, kind: np.dtype[np.signedinteger]) -> NDArray[np.signedinteger]:
    """The inverse."""
    return np.ascontiguousarray(state).view(kind.newbyteorder("<"))
