"""Sliding-horizon privacy accounts, in whole nano-units of epsilon per watt.

The promise (`mechanism.md`, claim 6): over any stretch of a meter's life of length
`horizon`, counted in whole windows, the losses of all releases that touch it add up to at
most `budget`. Windows that overlap the stretch from before count too, so with hopping
windows an account looks back over `horizon + size - hop` of window starts.

An account is a ring of buckets, each the sum of what a few neighbouring windows spent. A
charge is granted only if every run of `span` buckets that contains it stays within budget;
`span` buckets cover every horizon that touches them, so a coarse account may refuse early
but can never overdraw. It refuses at most what an exact account with a horizon longer by
`slack` windows would refuse.

Arrays are indexed by account (one per meter); a batch costs a few array operations. No
float takes part: one that arrives is an error.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meteragent.errors import InvalidSetting, NotExact

Integers = NDArray[np.int64]

NEVER = -(2**62)
"""Head and `released_until` of an account without a release: before every time there is."""

MOST_BUCKETS = 128
REACH_BACK = 16  # buckets behind the newest that a late charge may still go to
MOST_BUDGET = 2**62


@dataclass(frozen=True, slots=True)
class Terms:
    """What an account promises: times in milliseconds, `budget` and `costs` in nano-units.

    `costs` are those of one window's queries in their configured order. A window that does
    not fit is refused whole, or with `partial` loses queries from the last one up.
    """

    budget: int
    horizon: int
    size: int
    hop: int
    costs: tuple[int, ...]
    partial: bool = False

    def __post_init__(self) -> None:
        for name in ("budget", "horizon", "size", "hop"):
            _whole(name, getattr(self, name))
        for cost in self.costs:
            _whole("costs", cost)
        if not self.costs:
            raise InvalidSetting("costs", "is empty", "name at least one query")
        if self.budget > MOST_BUDGET:
            raise InvalidSetting("budget", "is too large to count", "write a smaller one")
        if self.horizon < self.size:
            raise InvalidSetting(
                "horizon", "is shorter than a window", f"write at least {self.size} ms"
            )
        if self.hop > self.size:
            raise InvalidSetting(
                "hop", "is longer than a window, readings would be lost", f"write {self.size} ms"
            )

    @property
    def windows(self) -> int:
        """The most windows that touch one horizon."""
        return -(-(self.horizon + self.size - self.hop) // self.hop)

    @property
    def bucket_windows(self) -> int:
        """How many windows share a bucket: one, unless that takes too many buckets."""
        return max(1, -(-(self.windows - 1) // (MOST_BUCKETS - REACH_BACK - 1)))

    @property
    def span(self) -> int:
        """How many buckets one horizon can touch."""
        return -(-(self.windows - 1) // self.bucket_windows) + 1

    @property
    def slack(self) -> int:
        """By how many windows coarseness can lengthen the horizon at most."""
        return self.span * self.bucket_windows - self.windows

    @property
    def bucket(self) -> int:
        """The width of a bucket in milliseconds."""
        return self.bucket_windows * self.hop


class Ledger:
    """The accounts of many meters under one set of terms, and what each has released."""

    def __init__(self, terms: Terms, accounts: int = 0) -> None:
        self.terms = terms
        self.ring = terms.span + REACH_BACK
        self._prices = np.cumsum([0, *terms.costs], dtype=np.int64)
        narrow = terms.budget <= np.iinfo(np.int32).max
        self.buckets = np.zeros((0, self.ring), dtype=np.int32 if narrow else np.int64)
        """buckets[account, bucket % ring]: what was spent"""
        self.head = np.empty(0, dtype=np.int64)
        """The newest bucket of each account."""
        self.spent = np.empty(0, dtype=np.int64)
        """The sum of the span of buckets that ends with the head."""
        self.released_until = np.empty(0, dtype=np.int64)
        """The end of each meter's last window that was released or suppressed."""
        self.grow(accounts)

    def __len__(self) -> int:
        return len(self.head)

    def grow(self, accounts: int) -> None:
        """Make room for at least this many accounts."""
        new = accounts - len(self)
        if new > 0:
            self.buckets = np.concatenate(
                [self.buckets, np.zeros((new, self.ring), dtype=self.buckets.dtype)]
            )
            self.head = np.concatenate([self.head, np.full(new, NEVER)])
            self.spent = np.concatenate([self.spent, np.zeros(new, dtype=np.int64)])
            self.released_until = np.concatenate([self.released_until, np.full(new, NEVER)])

    def charge(self, accounts: Integers, starts: Integers) -> Integers:
        """Pay for one window per account; answer how many leading queries each may release.

        Precondition: no account twice in one call. Postcondition: no run of `span` buckets
        of any account exceeds the budget. Why here: the debit comes before the answer, so
        nothing is released that has not been paid.
        """
        accounts, starts = _integers("accounts", accounts), _integers("starts", starts)
        buckets = starts // self.terms.bucket
        left = self._left(accounts, buckets)
        queries = len(self.terms.costs)
        granted = np.searchsorted(self._prices, left, side="right") - 1
        if not self.terms.partial:
            granted = np.where(granted == queries, queries, 0)
        price = self._prices[granted]
        paying = np.flatnonzero(granted > 0)
        accounts, buckets, price = accounts[paying], buckets[paying], price[paying]
        self.buckets[accounts, buckets % self.ring] += price.astype(self.buckets.dtype)
        self.spent[accounts] += np.where(buckets > self.head[accounts] - self.terms.span, price, 0)
        return granted

    def _left(self, accounts: Integers, buckets: Integers) -> Integers:
        """What each account may still spend in its bucket, after moving on to it."""
        behind = buckets < self.head[accounts]
        self._advance(accounts[~behind], buckets[~behind])
        left = self.terms.budget - self.spent[accounts]
        if behind.any():
            left[behind] = self._left_behind(accounts[behind], buckets[behind])
        return np.maximum(left, 0)

    def _left_behind(self, accounts: Integers, buckets: Integers) -> Integers:
        """The same for buckets behind the head: every run that contains them must hold."""
        span, head = self.terms.span, self.head[accounts]
        back = (head - buckets)[:, np.newaxis]
        newest_first = self.aligned(accounts)
        sums = np.cumsum(newest_first, axis=1)
        runs = sums[:, span - 1 :].copy()  # runs[account, e]: ends e buckets behind the head
        runs[:, 1:] -= sums[:, :-span]
        ends_behind = np.arange(runs.shape[1])
        contains = (ends_behind <= back) & (ends_behind > back - span)
        fullest = np.where(contains, runs, 0).max(axis=1)
        too_old = head - buckets > REACH_BACK
        return np.where(too_old, 0, self.terms.budget - fullest)

    def _advance(self, accounts: Integers, buckets: Integers) -> None:
        """Move heads forward to `buckets`, letting what falls out of the span go."""
        by_one = buckets == self.head[accounts] + 1
        self._advance_by_one(accounts[by_one])
        self._start_anew(accounts, buckets)
        further = buckets > self.head[accounts]
        if further.any():
            self._advance_far(accounts[further], buckets[further])

    def _advance_by_one(self, accounts: Integers) -> None:
        head = self.head[accounts] + 1
        self.head[accounts] = head
        self.spent[accounts] -= self.buckets[accounts, (head - self.terms.span) % self.ring]
        self.buckets[accounts, head % self.ring] = 0

    def _start_anew(self, accounts: Integers, buckets: Integers) -> None:
        """Accounts that are new, or were silent for longer than a ring."""
        anew = buckets - self.head[accounts] >= self.ring
        accounts, buckets = accounts[anew], buckets[anew]
        self.buckets[accounts] = 0
        self.spent[accounts] = 0
        self.head[accounts] = buckets

    def _advance_far(self, accounts: Integers, buckets: Integers) -> None:
        ages = np.arange(self.ring)
        ahead = (buckets - self.head[accounts])[:, np.newaxis]
        kept = np.where(ages + ahead < self.ring, self.aligned(accounts), 0)
        self.buckets[accounts[:, np.newaxis], self._positions(accounts)] = kept
        self.spent[accounts] = np.where(ages + ahead < self.terms.span, kept, 0).sum(axis=1)
        self.head[accounts] = buckets

    def aligned(self, accounts: Integers) -> Integers:
        """aligned[account, age]: what was spent so many buckets before each head."""
        return self.buckets[accounts[:, np.newaxis], self._positions(accounts)].astype(np.int64)

    def _positions(self, accounts: Integers) -> Integers:
        return (self.head[accounts][:, np.newaxis] - np.arange(self.ring)) % self.ring

    def settle(self, accounts: Integers, until: Integers) -> None:
        """Note that every window ending by `until` has been decided, for good."""
        self.released_until[accounts] = np.maximum(self.released_until[accounts], until)

    def left(self, accounts: Integers, now: int) -> Integers:
        """What each account may spend on a window that starts at `now`; changes nothing."""
        ages = np.arange(self.ring) + (now // self.terms.bucket - self.head[accounts])[:, None]
        within = np.where(ages < self.terms.span, self.aligned(accounts), 0).sum(axis=1)
        left: Integers = np.maximum(self.terms.budget - within, 0)
        return left

    def history(self, account: int) -> dict[int, int]:
        """Bucket start in milliseconds -> nano-units spent, for every bucket that spent."""
        head, width = int(self.head[account]), self.terms.bucket
        spent = self.aligned(np.array([account]))[0].tolist()
        return {(head - age) * width: s for age, s in enumerate(spent) if s}

    def merge(self, accounts: Integers, other: "Ledger", others: Integers) -> None:
        """Take over what `other`, a ledger under the same terms, knows of these meters.

        Both sides are states of one history, so the larger bucket is the later one:
        merging is idempotent, and order does not matter.
        """
        if other.terms != self.terms:
            raise InvalidSetting("terms", "differ", "load the snapshot under the ledger's own")
        newest = np.maximum(self.head[accounts], other.head[others])
        self._advance(accounts, newest)
        other._advance(others, newest)  # noqa: SLF001 - the same class
        both = np.maximum(self.buckets[accounts], other.buckets[others])
        self.buckets = self.buckets.astype(both.dtype, copy=False)
        self.buckets[accounts] = both
        self.recount(accounts)
        self.settle(accounts, other.released_until[others])

    def recount(self, accounts: Integers) -> None:
        """Add up the span of these accounts anew, after their buckets were written."""
        behind = self.head[accounts][:, np.newaxis] - np.arange(self.terms.span, self.ring)
        out_of_span = self.buckets[accounts[:, np.newaxis], behind % self.ring]
        everything = self.buckets[accounts].sum(axis=1, dtype=np.int64)
        self.spent[accounts] = everything - out_of_span.sum(axis=1, dtype=np.int64)


def _whole(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise NotExact(name, f"{type(value).__name__} is not a whole number", "write an integer")
    if value <= 0:
        raise InvalidSetting(name, "must be positive", "write a whole number above 0")


def _integers(name: str, values: Integers) -> Integers:
    if values.dtype.kind != "i":
        raise NotExact(name, f"{values.dtype} is not a whole number type", "pass int64")
    return values
