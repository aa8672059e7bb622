"""Readings taken in one after the other: `panes` on the fast way, where the wheel is installed.

The wheel does what the obvious twin does, reading by reading, in the same arrays. What it leaves is
moved as `panes` moves it: the records of meters that are new, and where presence is private those
of meters of which anything closes.
"""

from collections.abc import Callable, Iterator

import numpy as np

from meteragent.privacy import native
from meteragent.privacy.arrays import Integers, run_starts
from meteragent.privacy.policy import Policy
from meteragent.stream.closed import Closed, Tally
from meteragent.stream.order import Course, OwnTime, Timing
from meteragent.stream.panes import PANES_AT_ONCE, Store
from meteragent.stream.records import Records
from meteragent.stream.shown import Shown
from meteragent.stream.strips import Panes


def store_of(
    policy: Policy,
    by_name: Callable[[Integers], Integers] = lambda rows: rows,
    shown: Shown | None = None,
) -> Store:
    """The store of a policy's open panes, by the fastest way there is.

    The wheel counts panes from the epoch on, as all do whose windows are cut from it.
    """
    by_wheel = native.fits() and policy.panes.start(0) == 0
    return (FastStore if by_wheel else Store)(policy, by_name, shown)


class FastStore(Store):
    """The same as a store, by the wheel."""

    def __init__(
        self,
        policy: Policy,
        by_name: Callable[[Integers], Integers] = lambda rows: rows,
        shown: Shown | None = None,
    ) -> None:
        super().__init__(policy, by_name, shown)
        panes, slots, wait = policy.panes, self.open_slots, policy.grace + policy.idle
        shape = (panes.size, panes.interval, policy.patience, wait, slots.length, slots.panes)
        self._shape = shape, policy.presence == "public"

    def add(self, records: Records, course: Course, tally: Tally) -> Iterator[Closed]:
        """Take readings in; close what they close of their own meters' panes."""
        slots = self.open_slots
        state = self.next, self._marked, slots.opened, slots.opened_clock
        (held, fresh, late), left, panes, passed = native.wheel.add(
            records.columns, records.levels, state, slots.levels, self._shape
        )
        tally.count(held, fresh)
        tally.late += late
        if len(passed):
            yield from self._closed(Panes(*panes), passed.reshape(-1, 4), course)
        if len(left):
            rest = records.where(left)
            self._meet(rest)
            by_row = np.argsort(rest.rows, kind="stable")
            yield from self._move(rest.where(by_row), course, tally)

    def _closed(self, panes: Panes, passed: Integers, course: Course) -> Iterator[Closed]:
        """What has closed; `passed` says which record came past which pane of its row."""
        rows, begin, reached, offsets = passed[np.argsort(passed[:, 0], kind="stable")].T
        own = OwnTime.of(rows, reached, offsets)
        timing = Timing(self.policy, course, own)
        first = run_starts(rows)
        last = np.append(first[1:], len(rows)) - 1
        levels = panes.levels.reshape(-1, self._panes.slots)
        order = np.argsort(panes.rows, kind="stable")
        panes = Panes(panes.rows[order], panes.panes[order], levels[order])
        rows, begin, reached = rows[first], begin[first], reached[last]
        step = max(1, PANES_AT_ONCE * len(rows) // max(len(rows), len(panes.rows)))
        for low in range(0, len(rows), step):
            some = slice(low, low + step)
            its = slice(*np.searchsorted(panes.rows, [rows[some][0], rows[some][-1] + 1]).tolist())
            told = Panes(panes.rows[its], panes.panes[its], panes.levels[its])
            powers, noted, unpaired = self.shown.powers(told)
            told = powers.without_empty()
            yield Closed(told, rows[some], begin[some], reached[some], timing, noted, unpaired)
