"""Groups of homes: virtual meters, whose panes are sums, and their accounts.

A group is known from the first pane in which one of its homes was heard. From the window of that
pane on, each of its windows is decided in time, whoever is heard: panes before that one hold what
homes hold that were not heard.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from meteragent.privacy.arrays import Integers, Mask, counted
from meteragent.privacy.entropy import GROUP, NoiseKey, Tags
from meteragent.privacy.group import GroupPolicy
from meteragent.privacy.ledger import NEVER
from meteragent.privacy.query import READINGS, Sums
from meteragent.stream.branch import Branch
from meteragent.stream.closed import Closed
from meteragent.stream.cohort import Cohort
from meteragent.stream.folds import Contents, Decided
from meteragent.stream.home_panes import PaneSum
from meteragent.stream.meters import AssignedGroups
from meteragent.stream.order import NEVER as NOT_KNOWN
from meteragent.stream.order import Course, Timing
from meteragent.stream.releases import Releases, Step, Withheld
from meteragent.stream.rolls import Rolls
from meteragent.stream.strips import Panes


class Groups:
    """The groups that have the same policies: a row for each that is known."""

    def __init__(self, assigned: Sequence[AssignedGroups], key: NoiseKey, rolls: Rolls) -> None:
        self.assigned, self.rolls = assigned, rolls
        self._groups = np.empty(0, dtype=np.int64)
        """groups[row]: which group it is."""
        self._begun = [np.empty(0, dtype=np.bool_) for _ in assigned]
        """begun[policy][row]: whether a pane was summed in which one of its homes was heard."""
        self._lost: dict[int, int] = {}
        """Policy -> up to when something is lost of all groups."""
        self.cohort = Cohort(assigned, key, partial(GroupBranch, homes_of=self._homes_of))

    def _homes_of(self, rows: Integers, starts: Integers) -> Integers:
        """How many members each group has for the window that begins then."""
        return self.rolls.counts(self._groups[rows], starts)

    def restore(self, accounts: Mapping[str, bytes], clock: int) -> None:
        """Take over what the ledger knows of these groups. Precondition: none is known yet."""
        its = {name: record for name, record in accounts.items() if name in self.rolls.groups}
        if its:
            self.cohort.restore([*its], [[record] for record in its.values()], clock)
            self._know([self.rolls.groups[name] for name in its])
            for nth, begun in enumerate(self._begun):
                begun[:] = self._until(nth) != NEVER

    def done(self, nth: int) -> int:
        """Up to when panes are summed under a policy, as its accounts say it, or NEVER."""
        return int(self._until(nth).max(initial=NEVER))

    def _until(self, nth: int) -> Integers:
        """The same of each group."""
        branch, rows = self.cohort.branches[nth], np.arange(len(self._groups))
        until: Integers = branch.ledger.released_until[rows]
        return np.maximum(until, branch.folds.until(rows)) if branch.folds.several else until

    def take(self, nth: int, told: PaneSum, course: Course) -> Step | None:
        """Let a policy take in what homes draw in a pane; None: nothing is decided by that."""
        new = np.setdiff1d(np.flatnonzero(told.heard), self._groups)
        if len(new):
            names = [*self.rolls.groups]
            self.cohort.move_in([names[group] for group in new.tolist()])
            self._know(new.tolist())
        before = self._begun[nth].copy()
        self._begun[nth] |= told.heard[self._groups]
        rows = np.flatnonzero(self._begun[nth])
        if not len(rows):
            return None
        begin = np.where(before[rows], told.pane, told.first)
        closed = _closed(self.assigned[nth].policy, told, rows, self._groups[rows], begin, course)
        return self.cohort.decide(self.cohort.branches[nth], closed)

    def lose(self, nth: int, pane: int) -> None:
        """Something of a pane is lost: all windows that it is of are withheld, and said to be."""
        self._lost[nth] = int(self.assigned[nth].policy.panes.end(pane))
        self._heed_lost(np.arange(len(self._groups)))

    def _heed_lost(self, rows: Integers) -> None:
        for nth, until in self._lost.items():
            losses = self.cohort.branches[nth].folds.losses
            losses.lose(rows, np.full(len(rows), NOT_KNOWN), np.full(len(rows), until))

    def nothing(self, nth: int) -> Step:
        """What is decided where nothing is."""
        branch, none = self.cohort.branches[nth], np.empty(0, dtype=np.int64)
        return Step(branch.name, branch.nothing, [], none, none)

    def _know(self, groups: list[int]) -> None:
        self._groups = np.append(self._groups, np.array(groups, dtype=np.int64))
        new = np.zeros(len(groups), dtype=np.bool_)
        self._begun = [np.append(begun, new) for begun in self._begun]
        self._heed_lost(np.arange(len(self._groups) - len(groups), len(self._groups)))


def _closed(
    policy: GroupPolicy,
    told: PaneSum,
    rows: Integers,
    groups: Integers,
    begin: Integers,
    course: Course,
) -> Closed:
    """The pane of these groups, and those before it, from `begin` on, in which nobody was heard."""
    counts = told.pane + 1 - begin
    of, panes = np.repeat(np.arange(len(rows)), counts), np.repeat(begin, counts) + counted(counts)
    homes = told.roll.counts[groups[of]]
    now = (panes == told.pane)[:, np.newaxis]
    sums = np.where(now, told.sums[groups[of]], policy.at_rest * homes[:, np.newaxis])
    levels = policy.levels_of(sums, homes)
    timing = Timing(policy, course)
    return Closed(Panes(rows[of], panes, levels), rows, begin, begin + counts, timing)


class GroupBranch(Branch):
    """One policy of groups: its windows, its ring of every account, and its releases."""

    kind = GROUP
    thin = Withheld.HOMES

    def __init__(
        self,
        assigned: AssignedGroups,
        key: NoiseKey,
        name_of: Callable[[int], str],
        *,
        homes_of: Callable[[Integers, Integers], Integers],
    ) -> None:
        """`homes_of` answers how many members rows have for the windows that begin then."""
        super().__init__(assigned, key, name_of)
        self._least = assigned.policy.homes.least
        self._layers = assigned.policy.layers
        self._homes_of = homes_of

    @property
    def nothing(self) -> Releases:
        """No window at all."""
        nothing = super().nothing
        return replace(nothing, homes=nothing.starts)

    def fold(self, closed: Closed) -> Decided:
        """Fold panes into their windows; answer those that are over, and that anybody is in."""
        decided = self._parted(super().fold(closed))
        starts = self.policy.windows.start(decided.windows)
        return decided.where(self._homes_of(decided.rows, starts) > 0)

    def _parted(self, decided: Decided) -> Decided:
        """With what stands beside the levels of panes under the names of those who ask for it."""
        if not self._layers:
            return decided
        abouts = [READINGS, *(layers.about for layers in self._layers)]
        ends = np.cumsum([1, *(layers.count for layers in self._layers)])[:-1]
        levels = decided.contents[READINGS]
        assert not isinstance(levels, Sums)  # noqa: S101 - a policy of layers has windows of one
        contents = dict(zip(abouts, np.split(levels, ends, axis=1), strict=True))
        return replace(decided, contents=contents)

    def decide(self, decided: Decided, meters: list[str], tags: Tags) -> Releases:
        """Charge windows, and release what is paid for; say how many members there are."""
        releases = super().decide(decided, meters, tags)
        return releases.of_homes(self._homes_of(decided.rows, releases.starts))

    def are_covered(
        self, rows: Integers, starts: Integers, held: Integers, contents: Contents
    ) -> Mask:
        """Which have members enough."""
        del held, contents
        covered: Mask = self._homes_of(rows, starts) >= self._least
        return covered
