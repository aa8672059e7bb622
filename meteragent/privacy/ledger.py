"""Sliding-horizon privacy accounts, in whole nano-units of epsilon per watt.

The promise (`mechanism.md`, claim 6): over any stretch of a meter's life of length
`horizon` that starts or ends with a window, the losses of all releases that touch it add up
to at most `budget`. Windows that overlap the stretch from before count too, so with hopping
windows an account looks back over `horizon + size - hop` of window starts; of the windows of a
calendar, over as many as any horizon touches.

An account is a ring of buckets, each the sum of what a few neighbouring windows spent. A
charge is granted only if every run of `span` buckets that contains it stays within budget;
`span` buckets cover every horizon that touches them, so a coarse account may refuse early
but can never overdraw. It refuses at most what an exact account with a horizon longer by
`slack` windows would refuse.

Arrays are indexed by account (one per meter) and count in the largest unit that every cost
is a multiple of, so that small integers hold them exactly; a batch costs a few array operations.
No float takes part: one that arrives is an error.
"""

from collections.abc import Callable

import numpy as np

from meteragent.errors import InvalidSetting, NotExact
from meteragent.privacy.arrays import Integers, alike, lengthen, roomy
from meteragent.privacy.terms import MOST_BUDGET, REACH_BACK, Terms

NEVER = -(2**62)
"""Head and `released_until` of an account without a release: before every time there is."""
AT_ONCE = 8192  # accounts, so that temporaries stay in the processor's cache


class Ledger:
    """The accounts of many meters under one set of terms, and what each has released."""

    def __init__(self, terms: Terms, accounts: int = 0) -> None:
        self.terms = terms
        self.buckets_kept = terms.span + REACH_BACK
        self._span = terms.span
        self._windows, self._bucket_windows = terms.windows, terms.bucket_windows
        self.unit = terms.unit
        self._budget = terms.budget // self.unit
        self._prices = np.cumsum([0, *terms.costs], dtype=np.int64) // self.unit
        kind = next(k for k in (np.int16, np.int32, np.int64) if self._budget < np.iinfo(k).max)
        self.buckets = np.zeros((0, self.buckets_kept), dtype=kind)
        """buckets[account, bucket % buckets_kept]: what was spent, in units, or `full`"""
        self.full = full(self.buckets.dtype, self.unit)
        self.head = np.zeros(0, dtype=np.int64)
        """The newest bucket of each account."""
        self.spent = np.zeros(0, dtype=np.int64)
        """The sum of the span of buckets that ends with the head, in units."""
        self.released_until = np.zeros(0, dtype=np.int64)
        """The end of each meter's last window that was released or suppressed."""
        self.grow(accounts)

    def __len__(self) -> int:
        return len(self.head)

    def grow(self, accounts: int) -> None:
        """Make room for at least this many accounts; those not asked for yet are empty."""
        had = len(self)
        if accounts > had:
            room = roomy(had, accounts)
            lengthen(self, "buckets", room, 0)
            lengthen(self, "spent", room, 0)
            lengthen(self, "head", room, NEVER)
            lengthen(self, "released_until", room, NEVER)

    def charge(self, accounts: Integers, starts: Integers) -> Integers:
        """Pay for one window per account; answer how many leading queries each may release.

        Those that are not asked of a window cost nothing, and of one that pays nothing the answer
        is none. Precondition: no account twice in one call, which is checked. Postcondition: no run
        of `span` buckets of any account exceeds the budget. Why here: the debit comes before
        the answer, so nothing is released that has not been paid.
        """
        accounts, starts = _integers("accounts", accounts), _integers("starts", starts)
        _refuse_twice(accounts)
        granted = np.empty(len(accounts), dtype=np.int64)
        for first in range(0, len(accounts), AT_ONCE):
            some = slice(first, first + AT_ONCE)
            granted[some] = self._charge(accounts[some], starts[some])
        return granted

    def _charge(self, accounts: Integers, starts: Integers) -> Integers:
        buckets = self._windows.bucket_of(starts, self._bucket_windows)
        left = self._left_after_advance(accounts, buckets)
        queries = len(self.terms.costs)
        granted, prices = self._granted(starts, left)
        if not self.terms.partial:
            granted = np.where(granted == queries, queries, 0)
        price = prices[np.arange(len(prices)), granted] if prices.ndim > 1 else prices[granted]
        granted[price == 0] = 0
        paying = np.flatnonzero(granted)
        accounts, buckets, price = accounts[paying], buckets[paying], price[paying]
        self.buckets[accounts, buckets % self.buckets_kept] += price.astype(self.buckets.dtype)
        self.spent[accounts] += np.where(buckets > self.head[accounts] - self._span, price, 0)
        return granted

    def _granted(self, starts: Integers, left: Integers) -> tuple[Integers, Integers]:
        """How many queries what is left is enough for, and prices[query], or [window, query]."""
        timetable = self.terms.timetable
        if timetable is None:
            return np.searchsorted(self._prices, left, side="right") - 1, self._prices
        costs = np.where(timetable.asked(starts), np.diff(self._prices), 0)
        prices = np.pad(np.cumsum(costs, axis=1), ((0, 0), (1, 0)))
        return np.count_nonzero(prices[:, 1:] <= left[:, np.newaxis], axis=1), prices

    def _left_after_advance(self, accounts: Integers, buckets: Integers) -> Integers:
        """What each account may still spend in its bucket, after moving on to it."""
        behind = buckets < self.head[accounts]
        self._advance(accounts[~behind], buckets[~behind])
        left = self._budget - self.spent[accounts]
        if behind.any():
            left[behind] = self._left_behind(accounts[behind], buckets[behind])
        return np.maximum(left, 0)

    def _left_behind(self, accounts: Integers, buckets: Integers) -> Integers:
        """The same for buckets behind the head: every run that contains them must hold."""
        span, head = self._span, self.head[accounts]
        behind = head - buckets
        run = self.spent[accounts]
        fullest = np.where(behind < span, run, 0)
        for end in range(1, min(REACH_BACK, behind.max(initial=0)) + 1):
            run += self._at(accounts, head - end - span + 1) - self._at(accounts, head - end + 1)
            contains = (end <= behind) & (behind < end + span)
            fullest = np.maximum(fullest, np.where(contains, run, 0))
        return np.where(behind > REACH_BACK, -1, self._budget - fullest)

    def _at(self, accounts: Integers, buckets: Integers) -> Integers:
        return self.buckets[accounts, buckets % self.buckets_kept].astype(np.int64)

    def _advance(self, accounts: Integers, buckets: Integers) -> None:
        """Move heads forward to `buckets`, letting what falls out of the span go."""
        self._start_anew(accounts, buckets)
        while len(accounts):
            behind = self.head[accounts] < buckets
            accounts, buckets = accounts[behind], buckets[behind]
            head = self.head[accounts] + 1
            self.spent[accounts] -= self._at(accounts, head - self._span)
            self.buckets[accounts, head % self.buckets_kept] = 0
            self.head[accounts] = head

    def _start_anew(self, accounts: Integers, buckets: Integers) -> None:
        """Accounts that are new, or were silent for longer than a ring."""
        anew = buckets - self.head[accounts] >= self.buckets_kept
        accounts, buckets = accounts[anew], buckets[anew]
        self.buckets[accounts[self.head[accounts] != NEVER]] = 0
        self.spent[accounts] = 0
        self.head[accounts] = buckets

    def settle(self, accounts: Integers, until: Integers) -> None:
        """Note that every window ending by `until` has been decided, for good."""
        until = _integers("until", until)
        self.released_until[accounts] = np.maximum(self.released_until[accounts], until)

    def left(self, accounts: Integers, now: int) -> Integers:
        """Nano-units that each account may spend on a window starting at `now`; changes nothing."""
        now = int(_integers("now", np.asarray(now)))
        bucket = self._windows.bucket_of(now, self._bucket_windows)
        head, span = self.head[accounts], self._span
        spent = np.where(bucket < head + span, self.spent[accounts], 0)
        left: Integers = self._budget - spent
        behind = np.flatnonzero(bucket < head)
        left[behind] = self._left_behind(accounts[behind], np.full(len(behind), bucket))
        ahead = np.flatnonzero((bucket > head) & (bucket < head + span))
        for some in alike(head[ahead]):
            left[ahead[some]] += self._fallen_out(accounts[ahead[some]], bucket)
        nano: Integers = np.maximum(left, -1) * self.unit + self.terms.budget % self.unit
        return nano.clip(0)

    def _fallen_out(self, accounts: Integers, bucket: int) -> Integers:
        """What of `spent` is out of the span that ends with `bucket`; all heads are the same.

        Of the two parts of what was spent, that which is out and that which is not, the one
        with fewer buckets is added up: a fleet that was silent for long is counted in no time.
        """
        head = int(self.head[accounts[0]])
        out = bucket - head
        if out <= self._span - out:
            return self._sum(accounts, head - self._span + 1, out)
        return self.spent[accounts] - self._sum(accounts, bucket - self._span + 1, self._span - out)

    def _sum(self, accounts: Integers, first: int, count: int) -> Integers:
        """The sum of `count` buckets from `first` on."""
        in_a_row = (
            accounts[-1] - accounts[0] == len(accounts) - 1 and (np.diff(accounts) == 1).all()
        )
        rows = self.buckets[accounts[0] : accounts[-1] + 1] if in_a_row else self.buckets[accounts]
        begin = first % self.buckets_kept
        total: Integers = np.einsum("ab->a", rows[:, begin : begin + count], dtype=np.int64)
        if begin + count > self.buckets_kept:
            total += np.einsum(
                "ab->a", rows[:, : begin + count - self.buckets_kept], dtype=np.int64
            )
        return total

    def history(self, account: int) -> dict[int, int]:
        """Bucket start in milliseconds -> nano-units spent, for every bucket that spent."""
        head = int(self.head[account])
        buckets = range(head, head - self.buckets_kept, -1)
        spent = {
            b: min(self.unit * int(self.buckets[account, b % self.buckets_kept]), MOST_BUDGET)
            for b in buckets
        }
        return {self.terms.start_of(b): nano for b, nano in spent.items() if nano}

    def merge(self, accounts: Integers, other: "Ledger", others: Integers) -> None:
        """Take over what `other`, a ledger under the same terms, knows of these meters.

        Both sides are states of one history, so the larger bucket is the later one:
        merging is idempotent, and order does not matter. `other` is used up.
        """
        self._join(np.maximum, accounts, other, others)

    def add(self, accounts: Integers, other: "Ledger", others: Integers) -> None:
        """Take over what `other`, a ledger under the same terms, says that these meters spent too.

        The two sides are histories of two accounts that turn out to be one meter's: all that
        either has spent counts. Where one is a copy of the other, its spending counts twice,
        so less is released than could be, and never more. `other` is used up.
        """
        self._join(self._sum_of_buckets, accounts, other, others)

    def _sum_of_buckets(self, one: Integers, other: Integers) -> Integers:
        total = one.astype(np.int64) + other
        bounded: Integers = np.minimum(total, self.full).astype(self.buckets.dtype)
        return bounded

    def _join(
        self,
        join: Callable[[Integers, Integers], Integers],
        accounts: Integers,
        other: "Ledger",
        others: Integers,
    ) -> None:
        """Put buckets of the same time together; accounts that never spent hold zeros."""
        if other.terms != self.terms:
            raise InvalidSetting("terms", "differ", "load the snapshot under the ledger's own")
        newest = np.maximum(self.head[accounts], other.head[others])
        self._advance(accounts, newest)
        other._advance(others, newest)  # noqa: SLF001 - the same class
        self.buckets[accounts] = join(self.buckets[accounts], other.buckets[others])
        self.recount(accounts)
        self.settle(accounts, other.released_until[others])

    def recount(self, accounts: Integers) -> None:
        """Add up the span of these accounts anew, after their buckets were written."""
        behind = self.head[accounts][:, np.newaxis] - np.arange(self._span, self.buckets_kept)
        out_of_span = self.buckets[accounts[:, np.newaxis], behind % self.buckets_kept]
        everything = self.buckets[accounts].sum(axis=1, dtype=np.int64)
        self.spent[accounts] = everything - out_of_span.sum(axis=1, dtype=np.int64)


def full(kind: np.dtype[np.signedinteger], unit: int) -> int:
    """The entry of a bucket that spent as much as this or more, which is beyond any budget."""
    return min(np.iinfo(kind).max, -(-MOST_BUDGET // unit))


def _integers(name: str, values: Integers) -> Integers:
    if values.dtype.kind != "i":
        raise NotExact(name, f"{values.dtype} is not a whole number type", "pass int64")
    return values


def _refuse_twice(accounts: Integers) -> None:
    ascending = (accounts[1:] > accounts[:-1]).all()
    if not ascending and len(np.unique(accounts)) < len(accounts):
        raise ValueError("an account is charged twice in one call; one of the two would be free")
