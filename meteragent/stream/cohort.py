"""The meters of one partition that have the same policies, and their accounts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from meteragent.privacy.arrays import Integers, Mask, alike, lengthen, roomy, run_starts
from meteragent.privacy.billing import load_together
from meteragent.privacy.entropy import TAG_BYTES, NoiseKey, tag
from meteragent.privacy.ledger import Ledger
from meteragent.privacy.ledger_record import FIRST_MAGIC, behind, dump
from meteragent.privacy.policy import Policy
from meteragent.stream import fold_record
from meteragent.stream.branch import Branch
from meteragent.stream.closed import Closed
from meteragent.stream.fold_record import Folded
from meteragent.stream.meters import Of
from meteragent.stream.releases import Step


@dataclass(frozen=True, slots=True)
class Holding:
    """What a partition holds for the meters of one policy: how many, and none of their names."""

    policy: Policy
    meters: int
    ledger: Ledger
    """The first `meters` accounts are in use."""
    open_windows: int
    """Windows not yet decided that hold a reading; of those of several panes, open panes too."""
    bytes_per_meter: int
    """In arrays."""


class Cohort:
    """A row for each meter, in the windows and in the ring of each of its policies."""

    def __init__(
        self,
        assigned: Sequence[Of],
        key: NoiseKey,
        branch: Callable[[Of, NoiseKey, Callable[[Integers], Integers]], Branch] = Branch,
    ) -> None:
        """`branch` makes what each policy does of its meters."""
        self.prefix = assigned[0].prefix
        self.branches = [branch(one, key, self._by_name) for one in assigned]
        self._shares = [branch.share for branch in self.branches]
        self.meters: list[str] = []
        self._tags = np.empty((0, TAG_BYTES), dtype=np.uint8)

    def move_in(self, meters: list[str]) -> int:
        """Give meters their rows; answer with the first."""
        first = len(self.meters)
        self.meters += meters
        rows = len(self.meters)
        for branch in self.branches:
            branch.grow(rows)
        tags = b"".join(map(tag, meters))
        if rows > len(self._tags):
            lengthen(self, "_tags", roomy(len(self._tags), rows), 0)
        self._tags[first:rows] = np.frombuffer(tags, dtype=np.uint8).reshape(-1, TAG_BYTES)
        return first

    def restore(self, meters: list[str], records: Sequence[Sequence[bytes]], clock: int) -> None:
        """Take over the accounts of its first meters, and leave decided what they say is.

        Precondition: nobody has moved in yet. At this time of the partition's clock all that
        they do not tell of is read again.
        """
        ledgers = load_together(self._shares, records)
        for branch, ledger in zip(self.branches, ledgers, strict=True):
            branch.ledger = ledger
        self.move_in(meters)
        for branch in self.branches:
            branch.go_on(np.arange(len(meters)))
        every = [record for of_meter in records for record in of_meter]
        several = np.array([*map(len, records)])
        row_of, newer = np.repeat(np.arange(len(meters)), several), self._are_newer(every)
        for members, kept in fold_record.parsed(behind(every)):
            rows = row_of[members]
            alone, known = several[rows] == 1, newer[members]
            for branch in self.branches:
                branch.unfold(rows, kept, known, alone, clock)
                branch.reopen(rows, kept, alone)
                branch.lose(rows, kept)
        for branch in self.branches:
            branch.settle_losses(np.arange(len(meters)), clock)

    @staticmethod
    def _are_newer(records: Sequence[bytes]) -> Mask:
        """Which of them would hold open windows: those of version 0.1 never do."""
        return np.array([record[:4] != FIRST_MAGIC for record in records], dtype=np.bool_)

    def holdings(self) -> list[Holding]:
        """What there is, for each policy."""
        return [
            Holding(
                branch.policy,
                len(self.meters),
                branch.ledger,
                branch.store.open_slots.open_panes() + branch.folds.open_windows(),
                branch.bytes_per_meter + TAG_BYTES,
            )
            for branch in self.branches
        ]

    def decide(self, branch: Branch, closed: Closed) -> Step | None:
        """Let one of the policies decide windows that are over, and write the accounts down.

        None: nothing has changed that has to be.
        """
        decided = branch.fold(closed)
        changed = decided.rows[run_starts(decided.rows)]
        if branch.folds.several:
            changed = np.union1d(closed.panes.rows, changed)
        if not len(changed):
            return None
        meters = [self.meters[row] for row in decided.rows.tolist()]
        releases = branch.decide(decided, meters, self._tags)
        accounts = self.accounts(changed)
        return Step(branch.name, releases, accounts, decided.moments, decided.dues)

    def carry(self, branch: Branch, before: int, most: int) -> Step | None:
        """Write down open panes of one of the policies that need a record from before this one.

        Of so many meters at most, and of those that need the oldest. None: none does.
        """
        slots = branch.store.open_slots
        rows = slots.opened_before(before)[:most]
        if not len(rows):
            return None
        slots.carry(rows)
        none = np.empty(0, dtype=np.int64)
        return Step(branch.name, branch.nothing, self.accounts(rows), none, none)

    def _by_name(self, rows: Integers) -> Integers:
        return np.array(sorted(rows.tolist(), key=self.meters.__getitem__), dtype=np.int64)

    def accounts(self, changed: Integers) -> list[tuple[str, bytes]]:
        """The ledger records of meters as they are now, once each."""
        names = [self.meters[row] for row in changed.tolist()]
        ledgers = [branch.ledger for branch in self.branches]
        records = dump(self._shares, ledgers, changed)
        tails = self._tails(changed)
        if tails:
            records = [account + tail for account, tail in zip(records, tails, strict=True)]
        return list(zip(names, records, strict=True))

    def _tails(self, rows: Integers) -> list[bytes]:
        """What stands behind the accounts of rows, if anything does."""
        some_of_them = [
            (write, mask)
            for branch in self.branches
            for write, mask in (
                (branch.carried, branch.store.open_slots.carried(rows)),
                (branch.lost, branch.are_lost(rows)),
            )
            if mask.any()
        ]
        if not some_of_them:
            return self._tails_with(rows, [])
        tails = [b""] * len(rows)
        masks = np.stack([mask for _, mask in some_of_them])
        for some in alike(np.unique(masks, axis=1, return_inverse=True)[1].reshape(-1)):
            its = [write for write, mask in some_of_them if mask[some[0]]]
            for row, tail in zip(some.tolist(), self._tails_with(rows[some], its), strict=False):
                tails[row] = tail
        return tails

    def _tails_with(
        self, rows: Integers, others: Sequence[Callable[[Integers], Folded]]
    ) -> list[bytes]:
        """The same, where these are written of all of them, besides open windows."""
        kept = [branch.kept(rows) for branch in self.branches if branch.folds.several]
        kept += [write(rows) for write in others]
        return fold_record.dump(kept) if kept else []
