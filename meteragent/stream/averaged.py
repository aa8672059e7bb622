"""Panes of homes, of which the average alone is asked: what they add up to, by the wheel.

Presence of homes is private: their panes close by the partition's clock alone, those of all homes
together. So nothing is to be known of a reading but whether it is late by the clock before it, and
whether it is the first of its slot: a pane is the sum of its levels, and a bit for each slot. That
is a fifth of what slots themselves take, and beside a meter's own store what memory has to be asked
for is most of the time. Where there is no wheel, `panes` does it.
"""

from collections.abc import Iterator

import numpy as np

from meteragent.privacy import native
from meteragent.privacy.arrays import Integers, lengthen
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import rounded
from meteragent.stream.closed import Closed, Tally, nobody
from meteragent.stream.open_slots import NOT_OPEN, OpenSlots
from meteragent.stream.order import Course, Timing
from meteragent.stream.panes import Store
from meteragent.stream.records import Records
from meteragent.stream.strips import Panes

_BITS = 64
_OFFSET, _ROW, _CLOCK = range(3)


class OpenSums(OpenSlots):
    """What the open panes of all rows add up to, instead of their slots."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        part = 1 + -(-policy.panes.slots // _BITS)
        self.cells = np.empty((0, self.panes * part), dtype=np.int64)
        """cells[row, part]: of each pane its sum, and the bits of its slots."""
        self.first = np.full((self.panes, 3), NOT_OPEN)
        """first[pane]: the record that touched it first; of several, that of the first row."""

    def grow(self, rows: int) -> None:
        """Make room for so many rows."""
        lengthen(self, "cells", rows, 0)

    @property
    def bytes_per_row(self) -> int:
        """What a meter takes here."""
        return self.cells.shape[1] * self.cells.itemsize

    def open_panes(self, rows: Integers | slice = slice(None)) -> int:
        """How many panes are open of any row."""
        del rows
        return int(np.count_nonzero(self.first[:, _OFFSET] != NOT_OPEN))

    def oldest(self) -> tuple[int, int] | None:
        """The oldest record that an open pane still needs, and the clock before it."""
        offset, _, clock = min(self.first.tolist(), key=lambda its: its[:_CLOCK])
        return None if offset == NOT_OPEN else (offset, clock)

    def opened_before(self, offset: int) -> Integers:
        """No rows: of homes nothing is carried."""
        del offset
        return nobody()


class AveragedStore(Store):
    """The open panes of homes under one policy of groups. Precondition: presence is private.

    What it tells of a pane is its average, in the place of all slots; of one that holds nothing it
    tells nothing.
    """

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self.open_slots = self._sums = OpenSums(policy)
        panes, wait = policy.panes, policy.grace + policy.idle
        self._shape = panes.size, panes.interval, policy.grace, wait, self._sums.panes

    def add(self, records: Records, course: Course, tally: Tally) -> Iterator[Closed]:
        """Take readings in; close what the clock comes to leave behind with them."""
        (held, fresh, late), self._advanced_to, closed = native.wheel.add_up(
            records.columns, records.levels, self._state, self._advanced_to, self._shape
        )
        tally.count(held, fresh)
        tally.late += late
        yield from self._closed(closed, course)

    def advance(self, clock: int, course: Course) -> Iterator[Closed]:
        """Close what the partition's clock has left behind."""
        reached = int(self._idle(clock))
        if reached > self._advanced_to:
            closed = native.wheel.close_sums(self._state, self._advanced_to, reached, self._shape)
            self._advanced_to = reached
            yield from self._closed(closed, course)

    @property
    def _state(self) -> tuple[Integers, Integers, Integers]:
        return self.next, self._sums.cells, self._sums.first.reshape(-1)

    def _closed(self, found: list[Integers], course: Course) -> Iterator[Closed]:
        rows, panes, sums, counts = found
        if len(rows):
            averages = rounded(sums * self.policy.domain.finer, counts)
            told = Panes(rows, panes, averages[:, np.newaxis])
            yield Closed(told, nobody(), nobody(), nobody(), Timing(self.policy, course))


def averaging_store_of(policy: Policy) -> Store:
    """The store of homes' open panes, by the fastest way there is."""
    by_wheel = native.fits() and policy.panes.start(0) == 0
    return (AveragedStore if by_wheel else Store)(policy)
