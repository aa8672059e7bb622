"""Queries and the grid by fractions, one window and one reading at a time."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def average(present: Sequence[int]) -> int:
    return math.floor(Fraction(sum(present), len(present)) + Fraction(1, 2))


def percentile(percent: Fraction) -> Callable[[Sequence[int]], int]:
    def ranked(present: Sequence[int]) -> int:
        rank = math.floor(percent / 100 * len(present) + 1)
        return sorted(present)[rank - 1]

    return ranked


def level(reading: Fraction, minimum: Fraction, maximum: Fraction, step: Fraction) -> int:
    """Clip, then round half up onto the grid."""
    within = min(max(reading, minimum), maximum)
    return math.floor((within - minimum) / step + Fraction(1, 2))
