"""What goes out, as columns: decided windows, and the accounts that paid for them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from meteragent.privacy.arrays import Integers, Mask
from meteragent.privacy.domain import Watts
from meteragent.privacy.policy import Policy


class Withheld(StrEnum):
    """Why a window, or some of its queries, was not released."""

    NOTHING = ""
    BUDGET = "budget"
    COVERAGE = "coverage"


@dataclass(frozen=True, slots=True)
class Releases:
    """Decided windows of one policy: the only thing that leaves the trusted side.

    `granted` counts the leading queries that are released, all or fewer; their outputs stand
    in the first columns of `values` and `unbiased`, what stands behind them is no release.
    """

    policy: Policy
    meters: list[str]
    starts: Integers
    granted: Integers
    withheld: list[Withheld]
    present: Mask
    """present[window, slot]: public only where the policy says that presence is."""
    values: Watts
    """values[window, output]: in range; for whom none is better, claim 4 says."""
    unbiased: Watts
    """unbiased[window, output]: right on average, for sums over many windows or homes."""

    @property
    def ends(self) -> Integers:
        """When each window was over."""
        return self.policy.windows.end_of(self.starts)

    @property
    def reasons(self) -> Counter[Withheld]:
        """How many windows were withheld, or some of their queries, for each reason."""
        return Counter(reason for reason in self.withheld if reason)

    def chosen(self, windows: list[int]) -> "Releases":
        """Some of the windows, in this order."""
        return Releases(
            self.policy,
            [self.meters[window] for window in windows],
            self.starts[windows],
            self.granted[windows],
            [self.withheld[window] for window in windows],
            self.present[windows],
            self.values[windows],
            self.unbiased[windows],
        )


@dataclass(frozen=True, slots=True)
class Step:
    """Windows decided together: to be published in one transaction, or not at all."""

    releases: Releases
    accounts: list[tuple[str, bytes]]
    """The ledger record of each meter that was charged or decided."""

    def written(self, encode: Callable[[Releases], list[bytes]]) -> list[tuple[int, str, bytes]]:
        """Each window's start, its meter and its document, as `encode` writes them."""
        releases = self.releases
        return [*zip(releases.starts.tolist(), releases.meters, encode(releases), strict=True)]
