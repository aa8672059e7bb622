"""The homes of one partition, and what they add to the sums of groups: told, and not decided."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from meteragent.errors import LedgerDamaged
from meteragent.privacy.arrays import Integers
from meteragent.privacy.entropy import NoiseKey
from meteragent.stream.group_homes import GroupHomes
from meteragent.stream.groups import Groups
from meteragent.stream.home_panes import HomePanes, PaneSum
from meteragent.stream.meters import AssignedGroups
from meteragent.stream.order import Course
from meteragent.stream.panes import UNKNOWN
from meteragent.stream.partial import Partial, way_of
from meteragent.stream.position import DAWN
from meteragent.stream.releases import Step
from meteragent.stream.roster import Roster

PASSED = "\0passed"
"""Under which a ledger keeps how far its partition has come: no meter's id begins so."""
ANEW = b'{"lost":0}'
"""What stands there once nobody knows any more: panes were told of, under policies of before."""


@dataclass(frozen=True, slots=True)
class _Way:
    """Who is told of the sums under a policy."""

    name: bytes
    roster: Roster
    tags: list[bytes]
    """Of each group."""
    of_output: dict[int, Integers]
    """Partition of sums -> which groups are decided there."""


class PartialHomes(GroupHomes):
    """What every policy of groups keeps of the homes of one partition of the input."""

    def __init__(
        self,
        assigned: Sequence[AssignedGroups],
        key: NoiseKey,
        rosters: Mapping[str, Roster],
        partition: int,
    ) -> None:
        """`rosters`: who is in the groups of each prefix."""
        members = [one for roster in rosters.values() for one in roster.of_input(partition)]
        super().__init__(assigned, key, members)
        self._partition = partition
        self._following: set[HomePanes] = set()
        """Of which nobody was told yet, but others of others."""
        self._told = {
            panes: _way(groups, nth, rosters[groups.cohort.prefix])
            for panes, groups, nth in self._ways
        }

    def go_on(self, accounts: Mapping[str, bytes], clock: int) -> None:
        """Take over how far this partition has told of panes. Precondition: of none yet.

        Where only others were told of, under other policies, what they were told of is not read
        again: so somebody new is told of the panes that begin once all that was read before has
        been read again, and that the panes before are lost to it.
        """
        done = passed(accounts.get(PASSED))
        for panes in self.branches:
            panes.done = done.get(self._told[panes].name.hex(), UNKNOWN)
        self._following = {panes for panes in self.branches if done and panes.done == UNKNOWN}
        self.relive(clock)

    def relive(self, clock: int) -> None:
        """The clock comes this far by what was read before.

        No home that others do not take for late is further ahead than that.
        """
        for panes in self._following if clock != DAWN else ():
            policy = panes.policy
            ahead = clock + policy.grace + policy.idle
            panes.done = policy.panes.newest(ahead) + 1

    def due(self, clock: int) -> bool:
        """Whether such a clock has closed a pane that somebody is still to be told of."""
        return any(self._told[p].of_output and p.reached(clock) > p.done for p in self.branches)

    def passed(self, clock: int, course: Course) -> Iterator[tuple[HomePanes, Step]]:
        """Tell of what is over by the partition's clock, one pane after the other."""
        del course
        none = np.empty(0, dtype=np.int64)
        for panes, groups, nth in self._ways:
            if not self._told[panes].of_output:
                continue
            panes.begin(clock)
            branch = groups.cohort.branches[nth]
            for told in panes.sums(clock):
                records = [(PASSED, self._passed(panes, told.pane + 1))]
                step = Step(branch.name, branch.nothing, records, none, none)
                partials = [*self._partials(panes, groups.assigned[nth], told)]
                self._following.discard(panes)
                yield panes, replace(step, homes=self._records(told.homes), told=partials)

    def _passed(self, panes: HomePanes, done: int) -> bytes:
        """As it is written down once all panes before this one are told of, under one policy.

        Of what is still to follow others nothing is: whoever takes over lets it follow too.
        """
        told = (one for one in self.branches if one not in self._following)
        known = {self._told[one].name.hex(): one.done for one in told}
        own = {self._told[panes].name.hex(): done}
        return written_passed({**known, **own})

    def _partials(
        self, panes: HomePanes, one: AssignedGroups, told: PaneSum
    ) -> Iterator[tuple[int, bytes]]:
        way, policy = self._told[panes], one.policy
        windows = policy.windows
        start = int(windows.start(windows.newest(policy.panes.start(told.pane))))
        digest = way.roster.digest(start)
        more = told.sums - told.roll.counts[:, np.newaxis] * policy.at_rest
        for output, groups in way.of_output.items():
            heard = groups[told.so_far[groups]]
            tags = b"".join(way.tags[group] for group in heard.tolist())
            partial = Partial(way.name, digest, told.pane, self._partition, tags, more[heard])
            for record in replace(partial, follows=panes in self._following).records():
                yield output, record


def _way(groups: Groups, nth: int, roster: Roster) -> _Way:
    names = [*groups.rolls.groups]
    outputs = np.array([roster.output_of(name) for name in names], dtype=np.int64)
    found = {to: np.flatnonzero(outputs == to) for to in np.unique(outputs).tolist()}
    return _Way(way_of(groups.assigned[nth]), roster, groups.rolls.tags, found)


def written_passed(known: Mapping[str, int]) -> bytes:
    """Way -> the first pane that was not told of, as a ledger keeps it."""
    return json.dumps(known, separators=(",", ":")).encode()


def passed(record: bytes | None) -> dict[str, int]:
    """Way -> the first pane that was not told of, as it was written down."""
    try:
        found = {} if record is None else json.loads(record)
        return {str(way): int(done) for way, done in found.items()}
    except (ValueError, TypeError, AttributeError):
        raise LedgerDamaged("how far its partition has come is not told as it is here") from None
