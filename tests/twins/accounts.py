"""The obvious twin of `ledger.Ledger`: every grant ever made, every horizon added up."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from meteragent.privacy.terms import Terms


class Grant(NamedTuple):
    start: int
    end: int
    nano: int


@dataclass
class Account:
    """The life of one meter; `terms` may change, what was granted stays."""

    terms: Terms
    longer: int = 0  # milliseconds that the horizon is longer by
    grants: list[Grant] = field(default_factory=list)

    def horizons(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Every stretch that touches this one, and starts or ends with a window."""
        length, windows = self.terms.horizon + self.longer, self.terms.windows
        first = windows.first_open(start - length) - windows.overlap
        for window in range(first, windows.newest(end + length) + 2):
            for begin in {windows.start(window), windows.end(window) - length}:
                if begin < end and start < begin + length:
                    yield begin, begin + length

    def spent(self, begin: int, end: int) -> int:
        return sum(g.nano for g in self.grants if g.start < end and begin < g.end)

    def fullest(self, start: int) -> int:
        """What the fullest horizon that touches a window at `start` has spent."""
        return max(
            self.spent(*horizon)
            for horizon in self.horizons(start, self.terms.windows.end_of(start))
        )

    def left(self, start: int) -> int:
        return max(0, self.terms.budget - self.fullest(start))

    def charge(self, start: int) -> int:
        """How many leading queries fit; they are paid for."""
        left, costs = self.left(start), self.terms.costs
        fit = sum(price <= left for price in accumulate(costs))
        granted = fit if self.terms.partial or fit == len(costs) else 0
        self.pay(start, granted)
        return granted

    def pay(self, start: int, granted: int) -> None:
        if granted:
            nano = sum(self.terms.costs[:granted])
            self.grants.append(Grant(start, self.terms.windows.end_of(start), nano))
