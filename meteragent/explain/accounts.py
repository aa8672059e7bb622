"""What accounts say: spent, remaining, when budget comes back, and the history; all exact.

An account is looked at as of its own newest window, not of a clock: what is said then follows
from the ledger alone, and holds for a trace of years ago as well as for a living meter.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from meteragent.errors import InvalidSetting
from meteragent.explain.guarantee import Guarantee
from meteragent.privacy.billing import load
from meteragent.privacy.ledger import Ledger
from meteragent.privacy.policy import Policy
from meteragent.privacy.terms import Share
from meteragent.stream.meters import longest_prefix


@dataclass(frozen=True, slots=True)
class Shelf:
    """A policy, and which meters' accounts have a ring for it."""

    prefix: str
    guarantee: Guarantee

    def epsilon(self, nano: int) -> str:
        """Nano-units per watt as epsilon at the radius, exactly."""
        return f"{self.guarantee.epsilon(nano).normalize():f}"

    @property
    def name(self) -> str:
        """What people call the policy."""
        return self.guarantee.name

    @property
    def policy(self) -> Policy:
        """What the rings are kept under."""
        return self.guarantee.policy

    @property
    def share(self) -> Share:
        """Its part of the accounts."""
        return Share(self.name, self.policy.terms, self.policy.presence == "private")


@dataclass(frozen=True, slots=True)
class Account:
    """What one policy has spent of a meter's account, in nano-units per watt and milliseconds."""

    meter: str
    shelf: Shelf
    until: int
    """Every window ending by then has been decided."""
    spent: int
    """What counts against the budget."""

    @property
    def remaining(self) -> int:
        """What may be spent; none, if an older policy allowed more than this one does."""
        return max(0, self.shelf.policy.budget - self.spent)

    @property
    def exhausted(self) -> bool:
        """Whether the least release of a window is not covered."""
        return self.remaining < self.shelf.policy.terms.least


@dataclass(frozen=True, slots=True)
class Statement:
    """One account with its past and its next refresh."""

    account: Account
    refresh: tuple[int, int] | None
    """From which window's start on, and how much comes back; none, if nothing is spent."""
    history: tuple[tuple[int, int], ...]
    """Start of some neighbouring windows -> what they spent, from the oldest on."""


def accounts(shelves: Sequence[Shelf], records: Mapping[str, bytes]) -> list[Account]:
    """The accounts of all meters that a policy is for, one for each of their policies."""
    prefixes = list(dict.fromkeys(shelf.prefix for shelf in shelves))
    meters: dict[int, list[str]] = {}
    for meter in records:
        number = longest_prefix(prefixes, meter)
        if number is not None:
            meters.setdefault(number, []).append(meter)
    return [
        account
        for number, its in meters.items()
        for _, found in _read(shelves, prefixes[number], its, [records[meter] for meter in its])
        for account in found
    ]


def statements(shelves: Sequence[Shelf], meter: str, record: bytes) -> list[Statement]:
    """All that is known of one meter, policy by policy."""
    found = [
        Statement(account, _refresh(ledger), tuple(sorted(ledger.history(0).items())))
        for account, ledger in _rings(shelves, meter, record)
    ]
    if not found:
        raise InvalidSetting(
            "METER", "is a meter that no policy is for", "name the configuration it was kept under"
        )
    return found


def shelves_of(shelves: Sequence[Shelf], meter: str) -> list[Shelf]:
    """Those that are for this meter."""
    prefixes = list(dict.fromkeys(shelf.prefix for shelf in shelves))
    number = longest_prefix(prefixes, meter)
    return [s for s in shelves if number is not None and s.prefix == prefixes[number]]


def rings(shelves: Sequence[Shelf], meter: str, record: bytes) -> list[tuple[Shelf, Ledger]]:
    """The ring of each policy that is for this meter; none, if no policy is."""
    return [(account.shelf, ledger) for account, ledger in _rings(shelves, meter, record)]


def _rings(shelves: Sequence[Shelf], meter: str, record: bytes) -> Iterator[tuple[Account, Ledger]]:
    if its := shelves_of(shelves, meter):
        for ledger, [account] in _read(its, its[0].prefix, [meter], [record]):
            yield account, ledger


def _read(
    shelves: Sequence[Shelf], prefix: str, meters: Sequence[str], records: Sequence[bytes]
) -> Iterator[tuple[Ledger, list[Account]]]:
    """The ring of each policy that these meters have, and what it says of them."""
    its = [shelf for shelf in shelves if shelf.prefix == prefix]
    for shelf, ledger in zip(its, load([shelf.share for shelf in its], records), strict=True):
        spent = (ledger.spent * ledger.unit).tolist()
        until = ledger.released_until.tolist()
        yield (
            ledger,
            [Account(m, shelf, u, s) for m, u, s in zip(meters, until, spent, strict=True)],
        )


def _refresh(ledger: Ledger) -> tuple[int, int] | None:
    """When the first bucket that spent something leaves the horizon, and what it frees.

    An account that owes more than its budget has to wait until something is left again.
    """
    if not ledger.spent[0]:
        return None
    one, terms, head = np.zeros(1, dtype=np.int64), ledger.terms, int(ledger.head[0])
    before = int(ledger.left(one, terms.start_of(head))[0])
    starts = [*map(terms.start_of, range(head + 1, head + terms.span + 1))]
    left = ((start, int(ledger.left(one, start)[0])) for start in starts)
    return next((start, more - before) for start, more in left if more > before)


def dearest(found: Sequence[Account], count: int) -> list[Account]:
    """Those that have spent the largest share of their budgets."""
    return sorted(found, key=lambda a: (Fraction(-a.spent, a.shelf.policy.budget), a.meter))[:count]


@dataclass(frozen=True, slots=True)
class Total:
    """All accounts of one policy together."""

    shelf: Shelf
    meters: int
    exhausted: int
    spent: int
    remaining: int


def totals(shelves: Sequence[Shelf], found: Sequence[Account]) -> list[Total]:
    """One for each policy."""
    return [
        Total(
            shelf,
            len(its),
            sum(account.exhausted for account in its),
            sum(account.spent for account in its),
            sum(account.remaining for account in its),
        )
        for shelf in shelves
        for its in [[account for account in found if account.shelf is shelf]]
    ]
