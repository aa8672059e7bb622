"""What an account promises, and how it is kept small: the shape of its rings of buckets.

An account is a meter's, and has a ring for each of the meter's policies. Each policy spends a
share of its own: so a month is not starved by quarter hours, and that one policy is withheld tells
nothing of what another one found. The shares add up to what the account may lose.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from math import gcd

from meteragent.errors import InvalidSetting
from meteragent.privacy.calendar import AnyWindows
from meteragent.privacy.exact import per_watt_text, whole
from meteragent.privacy.hours import Timetable
from meteragent.privacy.units import format_duration
from meteragent.privacy.windows import LONGEST

MOST_BUCKETS = 128
REACH_BACK = 16  # buckets behind the newest that a late charge may still go to
MOST_BUDGET = 2**48
"""No budget is larger, so a bucket that spent as much fills any; no sum of a ring overflows."""


JOINT = "joint"
"""What is charged where one draw is for the answers to all queries, and what that is called."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What is paid for at once: the answers to one query, or one draw for those to all of them."""

    name: str
    """The query's, or `JOINT`."""
    nano: int
    """The loss per watt of each draw ..."""
    draws: int
    """... and how many of them there are in a window."""
    first: int
    """The first query that it is for: it is due where one of these is asked."""
    queries: int
    """How many leading queries are released once this is paid, and what stands before it."""

    @property
    def cost(self) -> int:
        """Nano-units per watt that it takes of the account."""
        return self.nano * self.draws

    def is_paid(self, released: Iterable[int]) -> bool:
        """Whether it was for what is released of a window."""
        return any(self.first <= one < self.queries for one in released)

    @property
    def epsilon(self) -> str:
        """The exact loss per watt of a draw, as it is published."""
        return per_watt_text(self.nano)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a ring promises: `horizon` in milliseconds, `budget` and `costs` in nano-units.

    `costs` are those of one window's charges in their order. A window that does not fit is
    refused whole, or with `partial` loses charges from the last one up. Where there is a timetable,
    it says which charges a window has: by the clock alone.
    """

    budget: int
    horizon: int
    windows: AnyWindows
    costs: tuple[int, ...]
    partial: bool = False
    timetable: Timetable | None = None

    def __post_init__(self) -> None:
        whole("budget", self.budget, MOST_BUDGET)
        whole("horizon", self.horizon, LONGEST)
        if not self.costs:
            raise InvalidSetting("costs", "is empty", "name at least one query")
        for cost in self.costs:
            whole("costs", cost, MOST_BUDGET // len(self.costs))
        shortest = self.windows.lasting(1)
        if self.horizon < shortest:
            raise InvalidSetting(
                "horizon",
                "is shorter than a window",
                f'write at least "{format_duration(shortest)}"',
            )

    @property
    def price(self) -> int:
        """What a window costs at most of which everything is released."""
        return self.dearest(1)

    def dearest(self, windows: int) -> int:
        """What so many of them in a row cost at most."""
        if self.timetable is None:
            return windows * sum(self.costs)
        return self.timetable.dearest(self.costs, windows)

    @property
    def least(self) -> int:
        """What a window costs of which as little is released as may be."""
        return self.costs[0] if self.partial else self.price

    @property
    def unit(self) -> int:
        """Nano-units that an account counts in: what every charge is a multiple of."""
        return gcd(*self.costs)

    @property
    def per_horizon(self) -> int:
        """How many windows touch a horizon that starts or ends with a window.

        Another stretch of its length is touched by as many, or by one more (`mechanism.md`,
        claim 6).
        """
        return self.windows.touching_in_line(self.horizon)

    @property
    def bucket_windows(self) -> int:
        """How many windows share a bucket: one, unless that takes too many buckets."""
        return max(1, -(-(self.per_horizon - 1) // (MOST_BUCKETS - REACH_BACK - 1)))

    @property
    def span(self) -> int:
        """How many buckets one horizon can touch."""
        return -(-(self.per_horizon - 1) // self.bucket_windows) + 1

    @property
    def slack(self) -> int:
        """By how many windows coarseness can lengthen the horizon at most."""
        return self.span * self.bucket_windows - self.per_horizon

    @property
    def bucket(self) -> int:
        """The width of a bucket in milliseconds; of a calendar's windows, on average."""
        return self.windows.ahead(self.bucket_windows)

    @property
    def reach(self) -> int:
        """By when all windows of bucket `b` are over, counted from `b * bucket` on."""
        return self.windows.reach(self.bucket_windows)

    def start_of(self, bucket: int) -> int:
        """When the first window of a bucket begins."""
        return self.windows.start(bucket * self.bucket_windows)


@dataclass(frozen=True, slots=True)
class Share:
    """One policy's part of the accounts of its meters."""

    name: str
    """Of the policy: by it the ring is known again, whatever else is changed."""
    terms: Terms
    private: bool = False
    """Whether it must not tell of the presence of readings."""

    @property
    def mark(self) -> int:
        """Its name as a number: the first eight bytes of its BLAKE2b, little endian."""
        return _mark(self.name)

    @property
    def mark_of_open(self) -> int:
        """The same for its open panes: no policy is called so."""
        return _mark(f"{self.name}\0open")

    @property
    def mark_of_lost(self) -> int:
        """The same for what was lost of its windows."""
        return _mark(f"{self.name}\0lost")


def _mark(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")
