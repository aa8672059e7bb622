"""Which home is in which group when, as far as the reserve of homes for their groups covers it.

Each group spends from an account of its own, and all that it spends is a loss of each of its homes.
So a home reserves a part of what it may lose for the groups that it is in, and a membership takes
effect only while the budgets of all groups that the home is in, or was in within a horizon, fit
that reserve (`mechanism.md`, claim 14). One that would not fit begins later, as soon as it fits;
where it is over before that, it is refused. Both are counted.

Members are public, and what takes effect follows from what is said of them, from what took effect
before, and from how far time has come: from no reading, and not from who was heard.

A membership counts for the windows that *begin* in `since <= start < until`. What has begun stays
as it was counted, whatever is said later: before the `frontier` nothing changes any more.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

ALWAYS, FOR_EVER = -(2**62), 2**61


class Membership(NamedTuple):
    """A home of a group, for the windows that begin in this stretch of time."""

    home: str
    group: str
    since: int = ALWAYS
    until: int = FOR_EVER
    nano: int = 0
    """What its group might spend over a horizon, in nano-units per watt, when it took effect ..."""
    lasting: int = 0
    """... and how long its windows lasted at most."""


@dataclass(frozen=True, slots=True)
class MemberPlan:
    """Which memberships take effect."""

    members: tuple[Membership, ...] = ()
    """By home; those of one home in one group do not overlap."""
    later: int = 0
    """How many begin later than they were to ..."""
    refused: int = 0
    """... and how many never do."""


@dataclass(frozen=True, slots=True)
class Reserve:
    """What each home may lose to its groups, and what each of these spends of it."""

    nano: int
    """Nano-units per watt that every home reserves ..."""
    horizon: int
    """... for each stretch of time of this length, in milliseconds."""
    budget: Callable[[str], int]
    """What a group may spend over a horizon."""
    lasting: int
    """How long windows of groups last at most."""

    def plan(
        self, wanted: Iterable[Membership], had: Iterable[Membership] = (), frontier: int = ALWAYS
    ) -> MemberPlan:
        """What takes effect of what is wanted, where `had` took effect before the frontier.

        Precondition: of either, no two of a home in one group overlap. Postcondition: over any
        stretch as long as the horizon, the budgets of the groups that a home is in, and of which a
        window touches the stretch, add up to no more than the reserve (or than they did before,
        if that was more: then no other is added); and what is planned anew at a later frontier is
        the same.
        """
        begun = (one for one in _begun(had, frontier) if self.counts_until(one) > frontier)
        asked, before = _by_home(wanted), _by_home(begun)
        members: list[Membership] = []
        later = refused = 0
        for home in sorted({*asked, *before}):
            own = _Home(self, before[home])
            for one in sorted(asked[home], key=attrgetter("since", "group")):
                goes_on = any(m.group == one.group and m.until == frontier for m in before[home])
                begins = max(one.since, frontier)
                if begins < one.until:
                    since = own.admit(one._replace(since=begins))
                    refused += since >= one.until
                    later += one.since < since < one.until and not goes_on
            members += own.members
        return MemberPlan(tuple(members), later, refused)

    def counts_until(self, member: Membership) -> int:
        """By when no stretch that ends then touches any of its windows."""
        return member.until + max(member.lasting, self.lasting) + self.horizon

    def spent(self, members: Iterable[Membership], at: int) -> dict[str, int]:
        """What each group may spend of a stretch that ends at this time, of those of a home."""
        found: dict[str, int] = {}
        for one in members:
            if one.since <= at < self.counts_until(one):
                found[one.group] = max(found.get(one.group, 0), one.nano)
        return found


class _Home:
    """The memberships of one home, one after the other."""

    def __init__(self, reserve: Reserve, had: list[Membership]) -> None:
        self._reserve = reserve
        self.members = had

    def admit(self, one: Membership) -> int:
        """Let it take effect as soon as it fits; answer when that is, be it after its end."""
        reserve = self._reserve
        since = max((end for _, end in self._obstacles(one)), default=one.since)
        if since < one.until:
            nano, lasting = reserve.budget(one.group), reserve.lasting
            self._add(one._replace(since=since, nano=nano, lasting=lasting))
        return since

    def _add(self, one: Membership) -> None:
        """Put it behind what it goes on with, if it goes on with anything."""
        for place, member in enumerate(self.members):
            if member._replace(since=member.until, until=one.until) == one:
                self.members[place] = one._replace(since=member.since)
                return
        self.members.append(one)

    def _obstacles(self, one: Membership) -> Iterator[tuple[int, int]]:
        """Stretches of time in which its group would be one too many."""
        reserve, own = self._reserve, self._reserve.budget(one.group)
        last = reserve.counts_until(one)
        bounds = {one.since, last}
        for member in self.members:
            bounds |= {member.since, reserve.counts_until(member)}
        ordered = sorted(bound for bound in bounds if one.since <= bound <= last)
        for begin, end in pairwise(ordered):
            spent = reserve.spent(self.members, begin)
            more = max(own - spent.get(one.group, 0), 0)
            if more and sum(spent.values()) + more > reserve.nano:
                yield begin, end


def _begun(had: Iterable[Membership], frontier: int) -> Iterator[Membership]:
    """What took effect of these before the frontier."""
    for one in had:
        if one.since < frontier:
            yield one._replace(until=min(one.until, frontier))


def _by_home(members: Iterable[Membership]) -> dict[str, list[Membership]]:
    found: dict[str, list[Membership]] = defaultdict(list)
    for member in members:
        found[member.home].append(member)
    return found
