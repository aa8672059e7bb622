"""One policy of a cohort: its windows, its ring of every account, and its releases."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from meteragent.privacy.arrays import Integers, Mask, counted, run_starts
from meteragent.privacy.domain import ABSENT, Watts
from meteragent.privacy.entropy import NoiseKey, Tags
from meteragent.privacy.fill import carried
from meteragent.privacy.ledger import NEVER, Ledger
from meteragent.privacy.release import Releaser
from meteragent.stream.meters import Assigned
from meteragent.stream.releases import Releases, Withheld
from meteragent.stream.strips import Closed
from meteragent.stream.window import Store

_COLUMNS = 4  # of a meter besides its slots and buckets: head, spent, released_until, next


class Branch:
    """Closes windows of its meters, pays for them, and releases what is paid for."""

    def __init__(
        self, assigned: Assigned, key: NoiseKey, by_name: Callable[[Integers], Integers]
    ) -> None:
        """`by_name` puts rows in the order of their meters' names."""
        self.name = assigned.name
        self.policy = assigned.policy
        self.share = assigned.share
        self.store = Store(self.policy, by_name)
        self.ledger = Ledger(self.policy.terms)
        self._releaser = Releaser(self.policy, key)

    def grow(self, rows: int) -> None:
        """Make room for at least this many meters."""
        self.store.grow(rows)
        self.ledger.grow(rows)

    def go_on(self, rows: Integers) -> None:
        """Leave decided what the ledger says is."""
        until = self.ledger.released_until[rows]
        known = until != NEVER
        self.store.decided_until(rows[known], until[known])

    @property
    def bytes_per_meter(self) -> int:
        """In arrays."""
        ledger = self.ledger
        account = ledger.buckets_kept * ledger.buckets.itemsize + ledger.head.itemsize * _COLUMNS
        return self.store.open_slots.bytes_per_row + account

    def decide(self, closed: Closed, meters: list[str], tags: Tags) -> Releases:
        """Charge closed windows, and release what is paid for; `meters` are those of the windows.

        `tags` are those of all rows.
        """
        starts = self.policy.windows.start(closed.windows)
        closed = replace(closed, levels=carried(closed.levels, self.policy.carried))
        present = closed.levels != ABSENT
        granted, withheld = self._pay(closed.rows, starts, present)
        values, unbiased = self._release(closed, tags, starts, granted)
        return Releases(
            self.policy, meters, starts, granted, withheld.tolist(), present, values, unbiased
        )

    def _pay(self, rows: Integers, starts: Integers, present: Mask) -> tuple[Integers, Integers]:
        """How many queries of each window are paid for, and why not all of them.

        Who pays is decided by the clock, by past spending and, where presence is public, by
        which readings are there: never by what a reading says.
        """
        covered = np.ones(len(starts), dtype=np.bool_)
        if self.policy.presence == "public":
            covered = present.sum(axis=1) >= self.policy.needed
        granted = self._charge(rows, starts, covered)
        self.ledger.settle(rows, self.policy.windows.end_of(starts))
        short = granted < len(self.policy.questions)
        withheld = np.where(short, Withheld.BUDGET, Withheld.NOTHING)
        return granted, np.where(covered, withheld, Withheld.COVERAGE)

    def _charge(self, rows: Integers, starts: Integers, covered: Mask) -> Integers:
        """A meter's windows in their order, one of each meter at a time."""
        granted = np.zeros(len(rows), dtype=np.int64)
        nth = _nth_of_row(rows)
        for turn in range(int(nth.max()) + 1):
            now = np.flatnonzero((nth == turn) & covered)
            granted[now] = self.ledger.charge(rows[now], starts[now])
        return self.policy.answered(granted)

    def _release(
        self, closed: Closed, tags: Tags, starts: Integers, granted: Integers
    ) -> tuple[Watts, Watts]:
        """What is released of each window that has paid."""
        values = np.full((len(starts), self._releaser.outputs), np.nan)
        unbiased = values.copy()
        paid = np.flatnonzero(granted)
        if len(paid):
            values[paid], unbiased[paid] = self._releaser.release(
                tags[closed.rows[paid]], starts[paid], closed.levels[paid], granted[paid]
            )
        return values, unbiased


def _nth_of_row(rows: Integers) -> Integers:
    """0 for the first window of each row, 1 for its second, …; rows come in runs."""
    return counted(np.diff(run_starts(rows), append=len(rows)))
