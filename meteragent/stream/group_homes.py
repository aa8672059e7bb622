"""The homes of groups: a row for each that was heard, and which sums are which groups'."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from meteragent.errors import LedgerDamaged
from meteragent.privacy.arrays import Integers
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.ledger import NEVER
from meteragent.privacy.members import Membership
from meteragent.stream.closed import Closed
from meteragent.stream.cohort import Holding
from meteragent.stream.groups import Groups
from meteragent.stream.home_panes import KEPT, HomePanes
from meteragent.stream.meters import AssignedGroups, by_prefix, longest_prefix
from meteragent.stream.order import Course
from meteragent.stream.releases import Step
from meteragent.stream.rolls import Rolls


def with_members(
    assigned: Sequence[AssignedGroups], members: Iterable[Membership]
) -> list[tuple[list[AssignedGroups], list[Membership]]]:
    """The policies of each prefix, and who is in the groups that they are for."""
    policies = by_prefix(assigned)
    prefixes = [its[0].prefix for its in policies]
    found: list[list[Membership]] = [[] for _ in policies]
    for member in members:
        if (nth := longest_prefix(prefixes, member.group)) is not None:
            found[nth].append(member)
    return [*zip(policies, found, strict=True)]


def without_members(assigned: Sequence[AssignedGroups], members: Iterable[Membership]) -> list[str]:
    """The names of the policies that are for no group which anybody is ever in."""
    found = with_members(assigned, members)
    return [one.name for policies, who in found for one in policies if not who]


class GroupHomes:
    """What every policy of groups keeps of homes, and the groups of each prefix."""

    prefix = ""

    def __init__(
        self, assigned: Sequence[AssignedGroups], key: NoiseKey, members: Sequence[Membership]
    ) -> None:
        self._names = sorted({member.home for member in members})
        self.places = {name: at for at, name in enumerate(self._names)}
        self._homes = np.empty(0, dtype=np.int64)
        """homes[row]: which home it is."""
        self.groups = [
            Groups(its, key, Rolls(roll, self.places))
            for its, roll in with_members(assigned, members)
        ]
        self._ways = [
            (HomePanes(one, groups.rolls), groups, nth)
            for groups in self.groups
            for nth, one in enumerate(groups.assigned)
        ]

    @property
    def branches(self) -> list[HomePanes]:
        """One for each policy."""
        return [panes for panes, _, _ in self._ways]

    def move_in(self, meters: list[str]) -> int:
        """Give homes their rows; answer with the first."""
        first = len(self._homes)
        self._homes = np.append(self._homes, [self.places[meter] for meter in meters])
        for panes in self.branches:
            panes.store.grow(len(self._homes))
        return first

    def go_on(self, accounts: Mapping[str, bytes], clock: int) -> None:
        """Take over what the ledger knows of groups. Precondition: none is known yet."""
        for groups in self.groups:
            groups.restore(accounts, clock)
        for panes, groups, nth in self._ways:
            until = groups.done(nth)
            if until != NEVER:
                panes.done = panes.policy.panes.newest(until)

    def restore(self, meters: list[str], records: Sequence[Sequence[bytes]], clock: int) -> int:
        """Take over what was written down of the first homes."""
        del clock
        first = self.move_in(meters)
        several = [(nth, one) for nth, its in enumerate(records) for one in its]
        if any(len(one) % KEPT.itemsize for _, one in several):
            raise LedgerDamaged("what is kept of a home is cut short or too long")
        many = [len(b"".join(its)) // KEPT.itemsize for its in records]
        rows = np.repeat(np.arange(len(meters)), many)
        kept = np.frombuffer(b"".join(one for _, one in several), dtype=KEPT)
        for panes in self._keeping:
            panes.take_over(rows, self._homes[rows], kept)
        return first

    @property
    def _keeping(self) -> list[HomePanes]:
        return [panes for panes in self.branches if panes.keeps]

    def holdings(self) -> list[Holding]:
        """What is held for each policy of groups."""
        return [one for groups in self.groups for one in groups.cohort.holdings()]

    def carry(self, branch: HomePanes, rows: Integers) -> None:
        """Write nothing down of open panes: what they hold is read again."""
        del branch, rows

    def decide(self, branch: HomePanes, closed: Closed) -> None:
        """Take in panes of homes: nothing is decided until they are summed."""
        branch.take(closed, self._homes)

    def passed(self, clock: int, course: Course) -> Iterator[tuple[HomePanes, Step]]:
        """Sum what is over by the partition's clock, and decide what that decides."""
        for panes, groups, nth in self._ways:
            for told in panes.sums(clock):
                step = groups.take(nth, told, course)
                if step is not None or panes.counts:
                    step = step or groups.nothing(nth)
                    yield panes, replace(step, homes=self._records(told.homes))

    def _records(self, homes: Integers) -> dict[str, bytes]:
        """What is to be written down of homes that were heard: none where windows are panes."""
        kept = [its for panes in self._keeping for its in panes.kept(homes)]
        if not kept:
            return {}
        rows = np.stack(kept, axis=1)
        names = [self._names[home] for home in homes.tolist()]
        return {name: row.tobytes() for name, row in zip(names, rows, strict=True)}
