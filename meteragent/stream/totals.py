"""What partitions of the input tell of panes, added up: when a pane of groups is decided.

A pane is decided when every partition of the input in which its groups have members has passed
it, and by nothing else: no clock, no silence, and no member that was heard or was not. A
partition that stands still holds its groups back; that is for somebody to be told of, and nothing
to be released. What is told of a pane that was decided is late; what is told twice counts once.
Partials in which somebody else is a member than here are refused, and so is what a partition ought
to have told and is not there, or told of under another policy, as before that was changed: the
windows that they are of are withheld as lost, and said to be.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from meteragent.privacy.policy import Policy
from meteragent.stream.groups import Groups
from meteragent.stream.home_panes import PaneSum
from meteragent.stream.panes import UNKNOWN
from meteragent.stream.partial import Partial, way_of
from meteragent.stream.readings import Reason
from meteragent.stream.roster import Roster


class Arrived(NamedTuple):
    """A partial, and where it was read."""

    offset: int
    partial: Partial


class Settled(NamedTuple):
    """What outlives a rebuild; all else is read again."""

    done: int = UNKNOWN
    """The first pane that is not decided."""
    lost: int = UNKNOWN
    """The last pane of which something is lost."""
    began: dict[int, int] = {}  # noqa: RUF012 - nobody changes it
    """Partition of the input -> the first pane that it told of, where that was decided."""
    by: int = -1
    """Which record decided the last of them: what came before it may be read again."""

    @classmethod
    def anew(cls, policy: Policy, since: int, sources: int) -> "Settled":
        """Where all that was settled is lost: nothing that begins before `since` is decided.

        Each of so many partitions of the input is to tell of all panes that follow.
        """
        done = int(policy.panes.newest(since - 1)) + 1
        return cls(done, done - 1, dict.fromkeys(range(sources), done))


class PaneTotals:
    """The panes of the groups of one partition, under one policy."""

    def __init__(self, groups: Groups, nth: int, roster: Roster, partition: int) -> None:
        self.groups, self.nth = groups, nth
        self.name = groups.assigned[nth].name
        self.way = way_of(groups.assigned[nth])
        self.policy = groups.assigned[nth].policy
        self.done = self.lost = UNKNOWN
        self._by = -1
        self._began: dict[int, int] = {}
        self._after: dict[int, int] = {}
        """Partition of the input -> the first pane that it told of, where it had told of those
        before under another policy."""
        self._passed: dict[int, int] = {}
        """Partition of the input -> the first pane that it has not told of."""
        self._pending: defaultdict[int, dict[tuple[int, int], Arrived]] = defaultdict(dict)
        """Pane -> (partition of the input, part) -> what was told."""
        self._roster, self._partition = roster, partition
        self._places = {mark: at for at, mark in enumerate(groups.rolls.tags)}

    # What outlives a rebuild.

    def kept(self) -> Settled:
        """As it is now."""
        began = {source: pane for source, pane in self._began.items() if pane < self.done}
        return Settled(self.done, self.lost, began, self._by)

    def go_on(self, kept: Settled) -> None:
        """Take over what was kept. Precondition: nothing was told yet."""
        self.done, self.lost, began, self._by = kept
        self._began = dict(began)

    def oldest(self) -> int | None:
        """The oldest record that a pane still needs which is not decided."""
        offsets = (its.offset for told in self._pending.values() for its in told.values())
        return min(offsets, default=None)

    # What is told.

    def take(self, arrived: Arrived) -> Reason | None:
        """Note what a partition tells; answer why it is refused, if it is."""
        offset, partial = arrived
        pane, source = partial.pane, partial.source
        if pane < self.done:
            again = offset <= self._by or source not in self.awaited(pane)
            return None if again else Reason.LATE_PARTIAL
        key = (source, partial.part)
        if key in self._pending[pane]:
            return Reason.REPEATED_PARTIAL
        self._pending[pane][key] = arrived
        self._began[source] = min(pane, self._began.get(source, pane))
        if partial.follows:
            self._after[source] = pane
        if partial.is_last:
            self._passed[source] = max(pane + 1, self._passed.get(source, UNKNOWN))
        return Reason.OTHER_MEMBERS if self._is_of_others(partial) else None

    def _is_of_others(self, partial: Partial) -> bool:
        as_here = partial.members == self._roster.digest(self._start(partial.pane))
        alike = partial.sums.shape[1] == len(self.policy.at_rest)
        return not (as_here and alike and self._places.keys() >= set(partial.groups))

    def _start(self, pane: int) -> int:
        """When the window begins that a pane is of."""
        windows = self.policy.windows
        return int(windows.start(windows.newest(self.policy.panes.start(pane))))

    # What is decided by that.

    @property
    def next(self) -> int | None:
        """The pane to be decided next, if every partition with members in it has passed it."""
        pane, begun = self.done, self.done != UNKNOWN
        if not begun:
            pane = min(self._pending, default=UNKNOWN)
        if pane >= max(self._passed.values(), default=UNKNOWN):
            return None
        waits = self.awaited(pane) if begun else self._roster.ever(self._partition)
        return pane if all(self._passed.get(one, UNKNOWN) > pane for one in waits) else None

    def awaited(self, pane: int) -> frozenset[int]:
        """Which partitions of the input are to pass a pane."""
        return self._roster.sources(self._partition, self._start(pane))

    def sums(self, by: int) -> Iterator[tuple[PaneSum, bool]]:
        """Sum what this record lets be summed, with whether something of it is lost."""
        while (pane := self.next) is not None:
            told = [its.partial for its in self._pending.pop(pane, {}).values()]
            lost = any(self._is_of_others(partial) for partial in told)
            first = int(self.policy.panes.newest(self._start(pane)))
            for source in self.awaited(pane):
                lost |= self._is_missing(source, pane, told)
                lost |= self._after.get(source, UNKNOWN) > first
            self.done, self._by = pane + 1, by
            if lost:
                self.lost = pane
            yield self._sum(pane, [p for p in told if not self._is_of_others(p)]), lost

    def _is_missing(self, source: int, pane: int, told: list[Partial]) -> bool:
        """Whether a partition told of this pane, and it is not here."""
        mine = [partial for partial in told if partial.source == source]
        whole = len(mine) == (mine[0].parts if mine else 1)
        return not whole and self._began.get(source, pane + 1) <= pane

    def _sum(self, pane: int, told: list[Partial]) -> PaneSum:
        start = self._start(pane)
        roll = self.groups.rolls.at(start)
        sums = roll.counts[:, np.newaxis] * self.policy.at_rest
        heard = np.zeros(len(roll.counts), dtype=np.bool_)
        for partial in told:
            rows = [self._places[mark] for mark in partial.groups]
            sums[rows] += partial.sums
            heard[rows] = True
        first = int(self.policy.panes.newest(start))
        return PaneSum(pane, first, sums, heard, heard, roll, np.empty(0, dtype=np.int64))

    @property
    def behind(self) -> int:
        """How many panes some partition has passed that are not decided, as others have not."""
        newest = max(self._passed.values(), default=UNKNOWN)
        first = self.done if self.done != UNKNOWN else min(self._pending, default=newest)
        return max(0, newest - first)

    def holds_back(self) -> list[int]:
        """Which partitions of the input the next pane waits for, if any waits."""
        if not self.behind:
            return []
        pane = self.done if self.done != UNKNOWN else min(self._pending)
        return sorted(s for s in self.awaited(pane) if self._passed.get(s, UNKNOWN) <= pane)
