"""Joint noise by fractions, big integers and plain loops: infinite sums have closed forms here."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product
from typing import TYPE_CHECKING

from tests.twins.noise import WORDS_READ

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

BITS = 64 * WORDS_READ


def total(alpha: Fraction, values: Callable[[int], int], degree: int, bend: int = 0) -> Fraction:
    """`sum alpha**s * values(s)` over all s >= 0, for what is a polynomial from `bend` on.

    By its differences: the sum of `alpha**s * C(s, j)` is `alpha**j / (1 - alpha)**(j + 1)`.
    """
    head = sum((alpha**s * values(s) for s in range(bend)), Fraction(0))
    column = [Fraction(values(bend + s)) for s in range(degree + 1)]
    tail, scale = Fraction(0), 1 / (1 - alpha)
    for _ in range(degree + 1):
        tail += column[0] * scale
        scale *= alpha / (1 - alpha)
        column = [after - before for before, after in pairwise(column)]
    return head + alpha**bend * tail


def norm(alpha: Fraction, answers: int) -> Fraction:
    """The sum of `alpha**max(|z|)` over all vectors: of radius s there are differences of cubes."""
    return (1 - alpha) * total(alpha, lambda s: (2 * s + 1) ** answers, answers)


def chance(alpha: Fraction, noise: Sequence[int]) -> Fraction:
    """Of one vector of noise."""
    return alpha ** max(map(abs, noise)) / norm(alpha, len(noise))


Span = tuple[int | None, int | None]
"""From where to where noise may lie; None is without an end."""


def within(alpha: Fraction, spans: Sequence[Span]) -> Fraction:
    """The chance that each entry of the noise lies in its span, ends included."""

    def length(s: int, low: int | None, high: int | None) -> int:
        last = s if high is None else min(s, high)
        first = -s if low is None else max(-s, low)
        return max(0, last - first + 1)

    def vectors(s: int) -> int:
        return math.prod(length(s, *span) for span in spans)

    bend = 1 + max((abs(end) for span in spans for end in span if end is not None), default=0)
    cubes = total(alpha, vectors, len(spans), bend)
    return (1 - alpha) * cubes / norm(alpha, len(spans))


def clamped(alpha: Fraction, top: int, levels: Sequence[int]) -> list[Fraction]:
    """law[released] of all vectors of levels in 0..top, in the order of `product`."""

    def span(released: int, level: int) -> Span:
        low, high = released > 0, released < top
        return (released - level if low else None, released - level if high else None)

    return [
        within(alpha, [span(z, y) for z, y in zip(released, levels, strict=True)])
        for released in product(range(top + 1), repeat=len(levels))
    ]


FINE = 1 << 1200


def radii(alpha: Fraction, answers: int) -> Iterator[int]:
    """`P(radius <= s) * FINE` for s = 0, 1, …; rounded so finely that it stays affordable."""
    whole = math.floor(total(alpha, lambda s: (2 * s + 1) ** answers, answers) * FINE)
    power, sums, s = FINE, 0, 0
    ratio = math.floor(alpha * FINE)
    while True:
        sums += power * (2 * s + 1) ** answers
        yield sums * FINE // whole
        power = power * ratio >> 1200
        s += 1


def drawn(thresholds: Sequence[int], rows: Sequence[Sequence[int]]) -> list[int]:
    """The noise that these words mean, `rows[0]` for the radius."""
    numbers = [sum(word << (BITS - 64 * n) for n, word in enumerate(row, 1)) for row in rows]
    radius = next((s for s, t in enumerate(thresholds) if numbers[0] < t), len(thresholds))
    return [(number * (2 * radius + 1) >> BITS) - radius for number in numbers[1:]]
