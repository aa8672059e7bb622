"""Readings taken in by turns: `panes` on the fast way, where the wheel is installed.

The wheel puts records one after the other, as long as they are calm; from the first other one of
a meter on its records wait. Of these the first is moved, as `panes` moves it, and then the others
have their turn.
"""

from collections.abc import Callable, Iterator

import numpy as np

from meteragent.privacy import native
from meteragent.privacy.arrays import Integers, begins
from meteragent.privacy.policy import Policy
from meteragent.stream.closed import Closed, Tally
from meteragent.stream.order import Course
from meteragent.stream.panes import Store
from meteragent.stream.records import Records

TURNS = 8
"""At most; then all that is left is moved together."""


def store_of(policy: Policy, by_name: Callable[[Integers], Integers] = lambda rows: rows) -> Store:
    """The store of a policy's open panes, by the fastest way there is."""
    return (StoreByTurns if native.fits() else Store)(policy, by_name)


class StoreByTurns(Store):
    """The same as a store, by the wheel."""

    def add(self, records: Records, course: Course, tally: Tally) -> Iterator[Closed]:
        """Take readings in; close what they close of their own meters' panes."""
        for turn in range(TURNS):
            left = self.open_slots.put_calm(records, self.next, self._marked, tally)
            if not len(left):
                return
            records = records.where(left)
            self._meet(records)
            by_row = np.argsort(records.rows, kind="stable")
            first = begins(records.rows[by_row])
            if turn == TURNS - 1 or len(first) < 2 * np.count_nonzero(first):
                first[:] = True
            yield from self._move(records.where(by_row[first]), course, tally)
            records = records.where(np.sort(by_row[~first]))
