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
from meteragent.stream.lodging import Lodging
from meteragent.stream.meters import Of
from meteragent.stream.panes import Store
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
        branch: Callable[[Of, NoiseKey, Callable[[int], str]], Branch] = Branch,
    ) -> None:
        """`branch` makes what each policy does of its meters."""
        self.prefix = assigned[0].prefix
        self.branches = [branch(one, key, self._name_of) for one in assigned]
        self._shares = [branch.share for branch in self.branches]
        self.meters: list[str] = []
        self.lodge(Lodging(), [branch.store for branch in self.branches])
        self._tags = np.empty((0, TAG_BYTES), dtype=np.uint8)

    @property
    def shape(self) -> object:
        """Others of the same may share stores with it; None: nobody may."""
        shapes = [branch.shape for branch in self.branches]
        return None if None in shapes else tuple(shapes)

    def lodge(self, lodging: Lodging, stores: Sequence[Store]) -> None:
        """Let its meters have their open panes in these stores. Precondition: there are none."""
        self.lodging = lodging
        for branch, store in zip(self.branches, stores, strict=True):
            branch.lodging, branch.store = lodging, store

    def move_in(self, meters: list[str]) -> int:
        """Give meters their rows; answer with the first that they have where they lodge."""
        first = len(self.meters)
        self.meters += meters
        rows = len(self.meters)
        there = self.lodging.take(len(meters))
        for branch in self.branches:
            branch.grow(rows, there + len(meters))
        tags = b"".join(map(tag, meters))
        if rows > len(self._tags):
            lengthen(self, "_tags", roomy(len(self._tags), rows), 0)
        self._tags[first:rows] = np.frombuffer(tags, dtype=np.uint8).reshape(-1, TAG_BYTES)
        return there

    def restore(self, meters: list[str], records: Sequence[Sequence[bytes]], clock: int) -> int:
        """Take over the accounts of its first meters, and leave decided what they say is.

        Answer with the first row that they have where they lodge. Precondition: nobody has moved
        in yet. At this time of the partition's clock all that they do not tell of is read again.
        """
        ledgers = load_together(self._shares, records)
        for branch, ledger in zip(self.branches, ledgers, strict=True):
            branch.ledger = ledger
        there = self.move_in(meters)
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
                branch.recall(rows, kept, alone)
                branch.reopen(rows, kept, alone)
                branch.lose(rows, kept)
        for branch in self.branches:
            branch.settle_losses(np.arange(len(meters)), clock)
        return there

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
                branch.open_panes() + branch.folds.open_windows(),
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
        if len(closed.noted):
            changed = np.union1d(closed.noted, changed)
        if not len(changed):
            return None
        meters = [self.meters[row] for row in decided.rows.tolist()]
        releases = branch.decide(decided, meters, self._tags)
        accounts = self.accounts(changed)
        return Step(branch.name, releases, accounts, decided.moments, decided.dues)

    def carry(self, branch: Branch, rows: Integers) -> Step | None:
        """Write down open panes of these rows under one of the policies. None: there are none."""
        if not len(rows):
            return None
        branch.store.open_slots.carry(self.lodging.of(rows))
        none = np.empty(0, dtype=np.int64)
        return Step(branch.name, branch.nothing, self.accounts(rows), none, none)

    def _name_of(self, row: int) -> str:
        return self.meters[row]

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
                (branch.carried, branch.are_carried(rows)),
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
        kept += [one for branch in self.branches for one in branch.noted(rows)]
        kept += [write(rows) for write in others]
        return fold_record.dump(kept) if kept else []
