"""What an account promises, and how it is kept small: the shape of its ring of buckets."""

from dataclasses import dataclass
from math import gcd

from meteragent.errors import InvalidSetting, NotExact

MOST_BUCKETS = 128
REACH_BACK = 16  # buckets behind the newest that a late charge may still go to
MOST_BUDGET = 2**48
"""No budget is larger, so a bucket that spent as much fills any; no sum of a ring overflows."""
LONGEST = 2**50  # milliseconds: 35 thousand years


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
        _whole("budget", self.budget, MOST_BUDGET)
        for name in ("horizon", "size", "hop"):
            _whole(name, getattr(self, name), LONGEST)
        if not self.costs:
            raise InvalidSetting("costs", "is empty", "name at least one query")
        for cost in self.costs:
            _whole("costs", cost, MOST_BUDGET // len(self.costs))
        if self.horizon < self.size:
            raise InvalidSetting(
                "horizon", "is shorter than a window", f"write at least {self.size} ms"
            )
        if self.hop > self.size:
            raise InvalidSetting(
                "hop", "is longer than a window, readings would be lost", f"write {self.size} ms"
            )

    @property
    def price(self) -> int:
        """What a window costs of which everything is released."""
        return sum(self.costs)

    @property
    def least(self) -> int:
        """What a window costs of which as little is released as may be."""
        return self.costs[0] if self.partial else self.price

    @property
    def unit(self) -> int:
        """Nano-units that an account counts in: what every charge is a multiple of."""
        return gcd(*self.costs)

    @property
    def windows(self) -> int:
        """How many windows touch a horizon that starts or ends with a window."""
        return -(-self.horizon // self.hop) + -(-self.size // self.hop) - 1

    def touching(self, length: int) -> int:
        """How many windows a stretch of so many milliseconds touches at most, wherever it begins.

        Of a whole horizon these are `windows`, or one more (`mechanism.md`, claim 6).
        """
        return -(-(length + self.size - 1) // self.hop)

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

    @property
    def reach(self) -> int:
        """From the start of a bucket to the end of its last window, in milliseconds."""
        return self.bucket - self.hop + self.size


def _whole(name: str, value: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise NotExact(name, f"{type(value).__name__} is not a whole number", "write an integer")
    if not 0 < value <= most:
        raise InvalidSetting(name, "is out of bounds", f"write a whole number in 1..{most}")
