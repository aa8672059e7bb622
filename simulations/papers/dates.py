"""Registration dates: the earliest of them, under standard privacy and under a metric on dates.

A social network publishes the earliest of its members' registration dates, which lie within
5,000 days. Standard differential privacy, `epsilon * d_h`, lets one member's date be any other:
the earliest may move by 5,000 days. Under `(epsilon / 5) * d_1` dates up to five days apart are
as hard to tell apart as any two are in the former, and those farther apart less; the earliest
moves by no more than the dates do. The Laplace mechanism's noise is in proportion, so the scales
are `5,000 / epsilon` and `5 / epsilon` days: a factor of 1,000.

An answer is (a, delta)-useful if it is off by more than `a` days with a chance of `delta` at
most; for Laplace noise of scale b that is `delta = exp(-a / b)`.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from simulations.papers.sensitivity import sensitivity

Floats = NDArray[np.float64]

DAYS = 5000
NEAR = 5
"""Days that `(epsilon / 5) * d_1` treats as standard differential privacy treats any distance."""


@dataclass(frozen=True)
class Setting:
    """One promise, and the scale of its noise in days."""

    name: str
    scale: float

    def useful(self, days: Floats) -> Floats:
        """The share of answers that are off by no more than this: 1 - delta."""
        share: Floats = -np.expm1(-days / self.scale)
        return share

    def within(self, share: float) -> float:
        """The days that so many answers are within."""
        return float(-self.scale * np.log1p(-share))


def settings(epsilon: float) -> tuple[Setting, Setting]:
    """Any date, and days."""
    return (
        Setting("ε·d_h: any date for any other", DAYS / epsilon),
        Setting("(ε/5)·d₁: dates up to 5 days apart", NEAR / epsilon),
    )


def sensitivities(members: int = 3, days: int = 4) -> tuple[Fraction, Fraction]:
    """Of the earliest date under `d_h` and under `d_1`, over all databases of a small world."""
    rows = [*product(range(days + 1), repeat=members)]
    answers = [min(row) for row in rows]

    def differ(x: int, y: int) -> int:
        return sum(a != b for a, b in zip(rows[x], rows[y], strict=True))

    def apart(x: int, y: int) -> int:
        return sum(abs(a - b) for a, b in zip(rows[x], rows[y], strict=True))

    return sensitivity(answers, differ), sensitivity(answers, apart)


def measured(setting: Setting, draw: np.random.Generator, answers: int = 20_000) -> float:
    """The days that 95 % of drawn answers are within, nothing held back at the range's ends."""
    return float(np.quantile(np.abs(draw.laplace(scale=setting.scale, size=answers)), 0.95))
