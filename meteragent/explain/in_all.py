"""What one home has lost in all: by releases of its own, and by those of the groups it is in.

Its own account and that of each of its groups are rings of one policy each. What is told here is
one sum over all of them, of one stretch of time: as long as the horizon, and ending with the newest
window that any of them has decided. Of a group's ring only windows count in which the home was a
member. So a home that moved is told of both groups for as long as both count, and of the one it
left no longer than that.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from meteragent.explain.accounts import Shelf, rings, shelves_of
from meteragent.explain.document import Bound, InGroup, OfHome
from meteragent.explain.words import at_most, listed, power_text, time_text
from meteragent.privacy.exact import epsilon_at, per_watt_text
from meteragent.privacy.ledger import NEVER, Ledger
from meteragent.privacy.members import ALWAYS, FOR_EVER, Membership
from meteragent.privacy.terms import Terms


class Loss(NamedTuple):
    """What one policy has taken."""

    policy: str
    group: str | None
    """None: it releases the home itself."""
    nano: int


@dataclass(frozen=True, slots=True)
class InAll:
    """What is lost in one stretch of time, in nano-units per watt."""

    until: int
    """When it ends, in milliseconds; `NEVER`, if nothing was ever decided."""
    horizon: int
    """How long it is."""
    losses: tuple[Loss, ...]
    most: int
    """What may be lost at most."""

    @property
    def spent(self) -> int:
        """By all together."""
        return sum(loss.nano for loss in self.losses)


class _Stretch(NamedTuple):
    """A stretch of time: what touches it ends after `begin`, and begins before `end`."""

    begin: int
    end: int


class Shelved(NamedTuple):
    """The accounts of meters, or those of groups."""

    shelves: Sequence[Shelf]
    """The policies that they are kept under ..."""
    records: Mapping[str, bytes]
    """... and the latest record of each."""


class _Spender(NamedTuple):
    policy: str
    group: str | None
    ledger: Ledger
    memberships: Sequence[Membership]
    """Of its windows these count."""


def in_all(
    home: str, own: Shelved, groups: Shelved, members: Iterable[Membership], reserve: int
) -> InAll:
    """Add it up: the accounts of homes and of groups, who is where, and what homes reserve.

    Precondition: at least one shelf; memberships of the home in one group do not overlap.
    Postcondition: nothing that touches the stretch is left out; where buckets hold several windows,
    more may be counted, by no more than the account itself counts. Where accounts were charged
    as they have to be, `spent <= most`.
    """
    mine = [one for one in members if one.home == home]
    every = [*_of_itself(home, own), *_of_groups(groups, mine)]
    until = max((int(ring.ledger.released_until[0]) for ring in every), default=NEVER)
    horizon = min(shelf.policy.horizon for shelf in (*own.shelves, *groups.shelves))
    stretch = _Stretch(until - horizon, until)
    losses = (Loss(r.policy, r.group, _lost(r.ledger, stretch, r.memberships)) for r in every)
    budgets = sum(shelf.policy.budget for shelf in shelves_of(own.shelves, home))
    return InAll(until, horizon, tuple(losses), budgets + reserve)


def _of_itself(home: str, kept: Shelved) -> Iterator[_Spender]:
    if (record := kept.records.get(home)) is not None:
        for shelf, ledger in rings(kept.shelves, home, record):
            yield _Spender(shelf.name, None, ledger, [Membership(home, "")])


def _of_groups(kept: Shelved, memberships: Sequence[Membership]) -> Iterator[_Spender]:
    for group in dict.fromkeys(one.group for one in memberships):
        its = [one for one in memberships if one.group == group]
        if (record := kept.records.get(group)) is not None:
            for shelf, ledger in rings(kept.shelves, group, record):
                yield _Spender(shelf.name, group, ledger, its)


def _lost(ledger: Ledger, stretch: _Stretch, memberships: Sequence[Membership]) -> int:
    """What a ring says of the windows that touch the stretch, and that count for the home."""
    return sum(
        nano
        for start, nano in ledger.history(0).items()
        if _touches(ledger.terms, start, stretch, memberships)
    )


def _touches(
    terms: Terms, first: int, stretch: _Stretch, memberships: Sequence[Membership]
) -> bool:
    """Whether any window does of the bucket that begins with the window of that start."""
    windows, count = terms.windows, terms.bucket_windows
    bucket = windows.bucket_of(first, count)
    for window in range(bucket * count, (bucket + 1) * count):
        start, end = windows.start(window), windows.end(window)
        touches = stretch.begin < end and start < stretch.end
        if touches and any(one.since <= start < one.until for one in memberships):
            return True
    return False


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may be lost of homes, as the configuration has it."""

    shelves: Sequence[Shelf]
    """The policies that release meters themselves."""
    reserve: int
    """Nano-units per watt that all groups of a home may lose in a horizon; 0 without groups."""
    horizon: int
    radius: Decimal
    unit: str
    """Of what is measured."""

    def of(self, home: str, members: Iterable[Membership] | None = None) -> OfHome:
        """Of this one; `members` are those that take effect, if somebody has said who is where.

        Postcondition: what `in_all` may ever say of it is at most `together`.
        """
        own = shelves_of(self.shelves, home)
        nano = sum(shelf.policy.budget for shelf in own)
        groups = None if members is None else (*_groups(home, members),)
        together = epsilon_at(nano + self.reserve, self.radius)
        return OfHome(
            meter_id=home,
            policies=tuple(shelf.name for shelf in own),
            groups=groups,
            horizon_ms=self.horizon,
            own_per_watt=per_watt_text(nano),
            groups_per_watt=per_watt_text(self.reserve),
            together_per_watt=per_watt_text(nano + self.reserve),
            together=Bound.of(float(together)),
            sentences=(*self._said(own, nano, groups),),
        )

    def of_any(self) -> str:
        """Of whichever home has the most policies of its own, in words."""
        prefixes = {shelf.prefix for shelf in self.shelves} or {""}
        most = max(
            sum(shelf.policy.budget for shelf in self.shelves if shelf.prefix == prefix)
            for prefix in prefixes
        )
        return (
            "For any home, everything released about it and about all groups that it is in: "
            f"{self._odds(most + self.reserve)} in {time_text(self.horizon)} that start or end "
            "with a window of each policy, between two versions of the home that are "
            f"{power_text(self.radius, self.unit)} apart in every reading."
        )

    def _said(
        self, own: Sequence[Shelf], nano: int, groups: tuple[InGroup, ...] | None
    ) -> Iterator[str]:
        span, radius = time_text(self.horizon), power_text(self.radius, self.unit)
        if own:
            names = listed(shelf.name for shelf in own)
            yield f"Its own releases, by {names}: {self._odds(nano)} in {span}."
        else:
            yield "It has no releases of its own."
        if groups:
            names = listed(dict.fromkeys(one.group_id for one in groups))
            yield f"It is in {names}: {self._odds(self.reserve)} in {span}, by all of them."
        elif groups is not None:
            yield "It is in no group."
        elif self.reserve:
            yield (
                f"Whichever groups it is in: {self._odds(self.reserve)} in {span}, by all of them, "
                "because a membership takes effect only if it fits what is reserved for them."
            )
        most = nano if groups == () else nano + self.reserve
        yield (
            f"In all, of two versions of the home that are {radius} apart in every reading: "
            f"{self._odds(most)} in {span} that start or end with a window of each policy. "
            "`meteragent ledger show` says what it has lost so far."
        )

    def _odds(self, nano: int) -> str:
        changed = at_most(float(epsilon_at(nano, self.radius)))
        return f"odds change {changed}"


def _groups(home: str, members: Iterable[Membership]) -> Iterator[InGroup]:
    for one in sorted(one for one in members if one.home == home):
        since, until = one.since, one.until
        yield InGroup(
            one.group,
            None if since == ALWAYS else since,
            None if until == FOR_EVER else until,
        )
