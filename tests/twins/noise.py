"""The noise by fractions and plain loops: thresholds are sums of single chances here."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

FIXED_BITS = 1200
WORDS_READ = 5


def _rounded(number: Fraction) -> Fraction:
    """Down to 1200 bits, so that long sums stay affordable."""
    return Fraction(math.floor(number * 2**FIXED_BITS), 2**FIXED_BITS)


def exp_minus(exponent: Fraction) -> Fraction:
    """`exp(-exponent)` to some 1100 bits: a power series on a small part, then squarings."""
    halvings = max(0, math.ceil(exponent).bit_length() + 1)
    small = _rounded(exponent / 2**halvings)
    total, term, order = Fraction(1), Fraction(1), 0
    while term:
        order += 1
        term = _rounded(term * small / order)
        total += term * (-1) ** order
    for _ in range(halvings):
        total = _rounded(total * total)
    return total


def alpha(nano: int, step: Fraction) -> Fraction:
    return exp_minus(Fraction(nano, 10**9) * step)


def chances(top: int, alpha: Fraction) -> list[Fraction]:
    """`P(noise = d)` for d in 0..top: two-sided geometric, falling by alpha at each step."""
    falling = [(1 - alpha) / (1 + alpha)]
    for _ in range(top):
        falling.append(falling[-1] * alpha)
        if falling[-1].denominator.bit_length() > FIXED_BITS:
            falling[-1] = _rounded(falling[-1])
    return falling


def at_most(top: int, alpha: Fraction) -> list[Fraction]:
    """`P(noise <= j)` for j in -top-1..top, adding single chances to one side of one half."""
    chance = chances(top, alpha)
    above = [(1 + chance[0]) / 2]
    for d in range(1, top + 1):
        above.append(above[-1] + chance[d])
    return [*(1 - p for p in reversed(above)), *above]


def law(top: int, alpha: Fraction) -> list[list[Fraction]]:
    """law[level][released]: the noise, clamped."""
    below = dict(zip(range(-top - 1, top + 1), at_most(top, alpha), strict=True))
    return [
        [
            (below[z - y] if z < top else Fraction(1)) - (below[z - y - 1] if z > 0 else 0)
            for z in range(top + 1)
        ]
        for y in range(top + 1)
    ]


def thresholds(top: int, alpha: Fraction) -> list[int]:
    """`P(noise <= j)` for j in -top..top-1 in 320 bits, the smaller side rounded down.

    Of thresholds that are next to nothing, 1 each, only the innermost one on either side.
    """
    lower = whole_thresholds(top, alpha)[:top]
    lower = lower[max(0, lower.count(1) - 1) :]
    return lower + [2 ** (64 * WORDS_READ) - t for t in reversed(lower)]


def whole_thresholds(top: int, alpha: Fraction) -> list[int]:
    """All of them: up to version 0.2 of the project, they were what noise was drawn by."""
    scale = 2 ** (64 * WORDS_READ)
    lower = [max(1, math.floor(p * scale)) for p in at_most(top, alpha)[1 : top + 1]]
    return lower + [scale - t for t in reversed(lower)]


def noise(thresholds: Sequence[int], words: Sequence[int]) -> int:
    """The smallest j with `u < P(noise <= j)`, where the words are the digits of u."""
    uniform = 0
    for word in words[:WORDS_READ]:
        uniform = uniform * 2**64 + word
    top = len(thresholds) // 2
    return next((j for j, t in enumerate(thresholds, start=-top) if uniform < t), top)


class GivenWords:
    """Words as a test wants them, `rows[window, output, depth]`; counts how often it is asked."""

    def __init__(self, rows: NDArray[np.uint64]) -> None:
        self.rows = rows
        self.first = rows[:, :, 0]
        self.asked = 0

    def further(self, window: int, output: int, depth: int) -> int:
        self.asked += 1
        return int(self.rows[window, output, depth])
