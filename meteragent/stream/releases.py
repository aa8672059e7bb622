"""What goes out, as columns: decided windows, and the accounts that paid for them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import compress, groupby, repeat
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from meteragent.privacy.arrays import Integers, Mask
from meteragent.privacy.domain import Watts
from meteragent.privacy.policy import Policy
from meteragent.privacy.terms import Charge


class Withheld(StrEnum):
    """Why a window, or some of its queries, was not released."""

    NOTHING = ""
    BUDGET = "budget"
    COVERAGE = "coverage"
    LOST = "lost"
    """A part of it had been folded under another policy, and was not kept."""
    HOMES = "homes"
    """The group has fewer members than it is to have."""


class Kind(NamedTuple):
    """What a window says, whatever its answers are."""

    released: tuple[int, ...]
    """Which of the policy's questions are answered."""
    withheld: Withheld

    def paid(self, policy: Policy) -> list[Charge]:
        """What it has paid for: nothing for what is not asked of it."""
        return [charge for charge in policy.charges if charge.is_paid(self.released)]


@dataclass(frozen=True, slots=True)
class Releases:
    """Decided windows of one policy: the only thing that leaves the trusted side.

    `granted` counts the leading queries that are released, all or fewer; their outputs stand
    in the first columns of `values` and `unbiased`, what stands behind them is no release. Nor is
    what stands for a query that is not asked of a window, as it holds none of its hours.
    """

    policy: Policy
    meters: list[str]
    starts: Integers
    granted: Integers
    withheld: list[Withheld]
    held: Integers
    """How many slots of each window hold a reading: public only where presence is ..."""
    present: Mask
    """... and which; present[window, slot] has no slots where windows are kept as sums."""
    values: Watts
    """values[window, output]: in range and in order; for whom none is better, claim 4 says."""
    unbiased: Watts
    """unbiased[window, output]: right on average, for sums over many windows or homes."""
    homes: Integers | None = None
    """Of groups: how many members each has, heard or not."""
    tiers: tuple["Releases", ...] = ()
    """What each tier of the policy is told of the same windows."""

    @property
    def ends(self) -> Integers:
        """When each window was over."""
        return self.policy.windows.end_of(self.starts)

    @property
    def slots(self) -> Integers | int:
        """How many slots each window has, or all of them have."""
        return self.policy.windows.slots_of(self.starts)

    @property
    def reasons(self) -> Counter[Withheld]:
        """How many windows were withheld, or some of their queries, for each reason."""
        return Counter(reason for reason in self.withheld if reason)

    @property
    def released(self) -> Mask:
        """Which queries are: released[window, query]."""
        queries = np.arange(len(self.policy.questions))
        released: Mask = queries < self.granted[:, np.newaxis]
        return released & self.policy.asking.of(self.starts)

    def paid(self) -> dict[str, int]:
        """How many windows have paid each charge."""
        released = self.released
        return {
            charge.name: int(released[:, charge.first : charge.queries].any(axis=1).sum())
            for charge in self.policy.charges
        }

    def kind_of_all(self) -> Kind | None:
        """Of every window, where all are of one and what is asked is asked of all."""
        if self.policy.asking.of_hours or not self.meters:
            return None
        granted, why = int(self.granted[0]), self.withheld[0]
        alike = (self.granted == granted).all() and self.withheld.count(why) == len(self.withheld)
        return Kind(tuple(range(granted)), why) if alike else None

    def kinds(self) -> list[Kind]:
        """Of each window; those of one kind have the very same one."""
        every = range(len(self.policy.questions))
        if not self.policy.asking.of_hours:
            known = {granted: tuple(every[:granted]) for granted in range(len(every) + 1)}
            found = [known[granted] for granted in self.granted.tolist()]
        else:
            found = [tuple(compress(every, row)) for row in self.released.tolist()]
        told = list(zip(found, self.withheld, strict=True))
        kinds = {one: Kind(*one) for one in dict.fromkeys(told)}
        return [kinds[one] for one in told]

    def of_homes(self, homes: Integers) -> "Releases":
        """The same of groups that have so many members."""
        tiers = tuple(tier.of_homes(homes) for tier in self.tiers)
        return replace(self, homes=homes, tiers=tiers)

    def chosen(self, windows: list[int]) -> "Releases":
        """Some of the windows, in this order, without what tiers are told of them."""
        return Releases(
            self.policy,
            [self.meters[window] for window in windows],
            self.starts[windows],
            self.granted[windows],
            [self.withheld[window] for window in windows],
            self.held[windows],
            self.present[windows],
            self.values[windows],
            self.unbiased[windows],
            None if self.homes is None else self.homes[windows],
        )


class Document(NamedTuple):
    """What is published of a window.

    They sort as they are to be published: by what closed the window, and not by batches (`order`).
    """

    moment: int
    due: int
    place: int
    """Of the policy, among those of the partition."""
    end: int
    """When the window was over: the time of its record, too."""
    meter: str
    text: bytes
    policy: str
    """By which people call it; a tier's is behind that of its policy and a slash."""


_document = partial(tuple.__new__, Document)  # as `_make`, a third of a microsecond sooner


def tier_name(policy: str, tier: str) -> str:
    """By which releases of a tier are known: no policy's own name has a slash."""
    return f"{policy}/{tier}"


@dataclass(frozen=True, slots=True)
class Step:
    """Windows decided together: to be published in one transaction, or not at all."""

    name: str
    """By which people call the policy."""
    releases: Releases
    accounts: list[tuple[str, bytes]]
    """The ledger record of each meter that was charged or decided."""
    moments: Integers
    """When each window has closed, as `order` counts it ..."""
    dues: Integers
    """... and when that was due."""
    place: int = 0
    """Of the policy, in the order in which windows of the partition's policies are closed."""
    stage: int = 0
    """All windows of a later stage come behind all of an earlier one; within one, they are to
    be put in order."""
    homes: dict[str, bytes] = field(default_factory=dict)
    """What is written down of homes whose groups were told of a pane."""
    told: list[tuple[int, bytes]] = field(default_factory=list)
    """What those are told who decide groups: to which partition of sums, and what."""

    def audiences(self) -> Iterator[tuple[str, Releases]]:
        """What is released, and what tiers are told of it, each by its name."""
        yield self.name, self.releases
        for tier in self.releases.tiers:
            assert tier.policy.tier is not None  # noqa: S101 - or it is none
            yield tier_name(self.name, tier.policy.tier.name), tier

    def written(self, encode: Callable[[Releases], list[bytes]]) -> Iterator[Document]:
        """What `encode` writes of each window, and of what tiers are told of it."""
        for name, releases in self.audiences():
            yield from self._written(encode, releases, name)

    def _written(
        self, encode: Callable[[Releases], list[bytes]], releases: Releases, name: str
    ) -> Iterator[Document]:
        return map(
            _document,
            zip(
                self.moments.tolist(),
                self.dues.tolist(),
                repeat(self.place),
                releases.ends.tolist(),
                releases.meters,
                encode(releases),
                repeat(name),
                strict=False,  # what is repeated has no end
            ),
        )


def stages(steps: Iterable[Step]) -> Iterator[Iterator[Step]]:
    """The steps of one stage after the other; each is to be taken before the next."""
    return (stage for _, stage in groupby(steps, attrgetter("stage")))
