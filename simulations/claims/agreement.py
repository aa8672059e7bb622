"""Whether what was tried agrees with what is worked out, all contests together.

Trials are independent, and each is right with a chance of its own. By Chernoff's bound (Hoeffding,
1963, theorem 1) their share is as far from its mean as a divergence of `d` with a chance of at most
`2 exp(-n d)`, whatever these chances are; all contests together are wrongly rejected once in a
thousand times at most.
"""

import math
from dataclasses import dataclass
from typing import Any

TOGETHER = 1e-3
"""The chance of any false alarm among all contests."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One contest under one preset."""

    preset: str
    contest: str
    told: float
    """How often the best attacker is right, worked out."""
    exact: bool
    hits: int
    trials: int

    def agrees(self, contests: int) -> bool:
        """Whether so many hits may be by luck, where so many contests are looked at."""
        seen = self.hits / self.trials
        if not self.exact and seen <= self.told:
            return True
        return self.trials * divergence(seen, self.told) <= allowed(contests)

    def document(self, contests: int) -> dict[str, Any]:
        """For JSON."""
        return {
            "preset": self.preset,
            "contest": self.contest,
            "told": round(self.told, 6),
            "exact": self.exact,
            "hits": self.hits,
            "trials": self.trials,
            "seen": round(self.hits / self.trials, 6),
            "agrees": self.agrees(contests),
        }


def allowed(contests: int) -> float:
    """Which divergence may be by luck, times the number of trials."""
    return math.log(2 * contests / TOGETHER)


def between(told: float, trials: int, contests: int) -> tuple[float, float]:
    """The shares that agree with what is worked out: all others would have been noticed."""
    most = allowed(contests) / trials
    ends = []
    for end in (0.0, 1.0):
        far, near = end, told
        for _ in range(50):  # halved until it is a double's last digits
            middle = (far + near) / 2
            far, near = (middle, near) if divergence(middle, told) > most else (far, middle)
        ends.append(near)
    return ends[0], ends[1]


def divergence(seen: float, told: float) -> float:
    """Of two coins (Kullback and Leibler); infinite, if what never happens was seen."""
    parts = [(one, other) for one, other in ((seen, told), (1 - seen, 1 - told)) if one > 0]
    return sum(one * math.log(one / other) if other > 0 else math.inf for one, other in parts)
