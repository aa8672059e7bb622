"""What is nearest to some numbers and in an order, by the formula of all sets, in fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Set = frozenset[int]


def nearest(
    numbers: Sequence[int], weights: Sequence[int], below: Sequence[tuple[int, int]]
) -> list[Fraction]:
    """Of each, the largest of all upper sets of the smallest of all lower sets of their means.

    The formula is that of Robertson, Wright and Dykstra (1988); `below` are pairs of places.
    """

    def mean(places: Set) -> Fraction:
        total = sum(weights[i] * numbers[i] for i in places)
        return Fraction(total, sum(weights[i] for i in places))

    everything = frozenset(range(len(numbers)))
    lower = list(_lower(len(numbers), below))
    return [
        max(
            min(mean(low & (everything - other)) for low in lower if i in low)
            for other in lower
            if i not in other
        )
        for i in range(len(numbers))
    ]


def _lower(count: int, below: Sequence[tuple[int, int]]) -> Iterator[Set]:
    for chosen in product((False, True), repeat=count):
        if all(chosen[low] or not chosen[high] for low, high in below):
            yield frozenset(i for i in range(count) if chosen[i])


def half_up(number: Fraction) -> int:
    return math.floor(number + Fraction(1, 2))
