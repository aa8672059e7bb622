"""One policy's meters in one partition: their windows, their accounts, and their releases."""

from dataclasses import dataclass

import numpy as np

from meteragent.privacy.arrays import Integers, Mask, counted, run_starts
from meteragent.privacy.domain import ABSENT, Watts
from meteragent.privacy.entropy import TAG_BYTES, NoiseKey, tag
from meteragent.privacy.ledger import NEVER, Ledger
from meteragent.privacy.ledger_record import dump
from meteragent.privacy.policy import Policy
from meteragent.privacy.release import Releaser
from meteragent.stream.releases import Releases, Step, Withheld
from meteragent.stream.strips import Closed
from meteragent.stream.window import Store

_COLUMNS = 4  # of a meter besides its slots and buckets: head, spent, released_until, next


@dataclass(frozen=True, slots=True)
class Assigned:
    """A policy, for the meters whose id begins with `prefix`."""

    prefix: str
    policy: Policy


@dataclass(frozen=True, slots=True)
class Holding:
    """What a partition holds for the meters of one policy: how many, and none of their names."""

    policy: Policy
    meters: int
    ledger: Ledger
    """The first `meters` accounts are in use."""
    open_windows: int
    """Windows not yet decided that hold a reading; of hopping ones, hops."""
    bytes_per_meter: int
    """In arrays."""


class Cohort:
    """Closes windows of its meters, pays for them, and releases what is paid for."""

    def __init__(self, assigned: Assigned, key: NoiseKey) -> None:
        self.prefix = assigned.prefix
        self.policy = assigned.policy
        self.store = Store(self.policy)
        self.ledger = Ledger(self.policy.terms)
        self.meters: list[str] = []
        self._tags = np.empty((0, TAG_BYTES), dtype=np.uint8)
        self._releaser = Releaser(self.policy, key)

    def move_in(self, meters: list[str]) -> int:
        """Give meters their rows; answer with the first."""
        first = len(self.meters)
        self.meters += meters
        rows = len(self.meters)
        self.store.grow(rows)
        self.ledger.grow(rows)
        tags = b"".join(map(tag, meters))
        if rows > len(self._tags):
            room = np.empty((len(self.store.next), TAG_BYTES), dtype=np.uint8)
            room[:first] = self._tags[:first]
            self._tags = room
        self._tags[first:rows] = np.frombuffer(tags, dtype=np.uint8).reshape(-1, TAG_BYTES)
        return first

    def go_on(self) -> None:
        """Leave decided what the ledger says is."""
        rows = np.arange(len(self.meters))
        until = self.ledger.released_until[rows]
        known = until != NEVER
        self.store.decided_until(rows[known], until[known])

    def holding(self) -> Holding:
        """What there is."""
        ledger, slots = self.ledger, self.store.open_slots
        account = ledger.buckets_kept * ledger.buckets.itemsize + ledger.head.itemsize * _COLUMNS
        return Holding(
            self.policy,
            len(self.meters),
            ledger,
            slots.open_hops(),
            slots.bytes_per_row + account + TAG_BYTES,
        )

    def decide(self, closed: Closed) -> Step:
        """Charge closed windows, release what is paid for, and write the accounts down."""
        starts = self.policy.windows.start(closed.windows)
        present = closed.levels != ABSENT
        granted, withheld = self._pay(closed.rows, starts, present)
        values, unbiased = self._release(closed, starts, granted)
        meters = [self.meters[row] for row in closed.rows.tolist()]
        releases = Releases(
            self.policy, meters, starts, granted, withheld.tolist(), present, values, unbiased
        )
        return Step(releases, self._accounts(closed.rows))

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
        return granted

    def _release(self, closed: Closed, starts: Integers, granted: Integers) -> tuple[Watts, Watts]:
        """What is released of each window that has paid."""
        values = np.full((len(starts), self._releaser.outputs), np.nan)
        unbiased = values.copy()
        paid = np.flatnonzero(granted)
        if len(paid):
            values[paid], unbiased[paid] = self._releaser.release(
                self._tags[closed.rows[paid]], starts[paid], closed.levels[paid]
            )
        return values, unbiased

    def _accounts(self, rows: Integers) -> list[tuple[str, bytes]]:
        """The accounts of meters as they are now, once each; rows come in runs."""
        changed = rows[run_starts(rows)]
        names = [self.meters[row] for row in changed.tolist()]
        return list(zip(names, dump(self.ledger, changed), strict=True))


def _nth_of_row(rows: Integers) -> Integers:
    """0 for the first window of each row, 1 for its second, …; rows come in runs."""
    return counted(np.diff(run_starts(rows), append=len(rows)))
