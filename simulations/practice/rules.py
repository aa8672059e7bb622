"""Rules under which sums over homes are published today, and a feeder's release with noise.

A rule sees what each home of a group used, and answers with what is published of it; nothing, if
it withholds the sum.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from meteragent.explain.advantage import Draw
from meteragent.privacy.domain import Domain
from meteragent.privacy.exact import NANO
from meteragent.privacy.mechanism import TruncatedGeometric

Watts = NDArray[np.float64]
Publish = Callable[[Watts], Watts | None]
"""Of `watts[home, window]`: a number for each window, or nothing."""

GRID = 100
"""Watts between the levels of a noisy sum."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What is published, in words, and by what."""

    name: str
    meaning: str
    smallest: int
    """How many homes a group has at least, so that what is left without one is published too."""
    publish: Publish


def at_least(homes: int, share: float = 1.0) -> Publish:
    """Exact sums of so many homes or more, none of which has more than a share of the energy."""

    def publish(watts: Watts) -> Watts | None:
        used = watts.sum(axis=1)
        if len(watts) < homes or used.max() > share * used.sum():
            return None
        total: Watts = watts.sum(axis=0, dtype=np.float64)
        return total

    return publish


def rounded(to: float, homes: int) -> Publish:
    """Sums of so many homes or more, rounded."""
    exact = at_least(homes)

    def publish(watts: Watts) -> Watts | None:
        total = exact(watts)
        return None if total is None else np.round(total / to) * to

    return publish


RULES = (
    Rule("5 homes", "exact sums, held back below five homes", 6, at_least(5)),
    Rule(
        "15/15",
        "exact sums of 15 homes or more, none of which has more than 15 % of it",
        16,
        at_least(15, 0.15),
    ),
    Rule("100 homes", "exact sums, held back below 100 homes", 101, at_least(100)),
    Rule("1 kW", "sums of 15 homes or more, rounded to 1 kW", 16, rounded(1000, 15)),
)


@dataclass(frozen=True, slots=True)
class Noisy:
    """A feeder's sum with noise, under a promise to each of its homes."""

    radius: int
    """Watts by which a home may be another, in all of a window, at epsilon 1."""

    @property
    def name(self) -> str:
        """For a table."""
        return f"noise of {self.radius:,} W"

    @property
    def nano(self) -> int:
        """The loss of a release, in nano-units per watt."""
        return NANO // self.radius

    @property
    def error(self) -> float:
        """By how many watts a sum is off on average, clamping apart."""
        domain = Domain(0, GRID, GRID)
        return TruncatedGeometric(domain, Decimal(self.nano) / NANO).expected_error()

    def noise(self, shape: tuple[int, ...], draw: np.random.Generator) -> Watts:
        """Watts of noise: simulated, by numpy."""
        stop = -np.expm1(-GRID / self.radius)
        up, down = (draw.geometric(stop, shape) for _ in range(2))
        noise: Watts = (up - down).astype(np.float64) * GRID
        return noise

    def draws(self, moved: Watts) -> dict[Draw, int]:
        """How a home that is another moves the sum of the group that it is in, window by window.

        Sums are rounded to the grid, so each moves by no more than the next level.
        """
        levels, counts = np.unique(
            np.ceil(np.abs(moved) / GRID).astype(np.int64), return_counts=True
        )
        steps = zip(levels.tolist(), counts.tolist(), strict=True)
        return {Draw(self.nano, (level,)): count for level, count in steps}
