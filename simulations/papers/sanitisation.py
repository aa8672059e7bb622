"""Sanitising a database row by row, and what follows for every query put to the result.

A sanitisation draws a database in the place of the true one; `delta` is the chance that a
promise may fail by. All of it in fractions, over every event of small worlds.

*Identity query* (Theorem 4): what is asked of a sanitised database is as private as the database.
*Product* (Theorem 5): rows sanitised one by one, each on its own, keep for databases that differ
in one row exactly the promise of one row; where all rows may differ at once, the losses add up.
*Sufficient sets* (Theorem 3): with `delta = 0` single outputs decide whether a promise is kept;
with any other, events must be tried, or an algebra of them.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product

from simulations.papers.exact import Matrix, Vector, delta, side_by_side, times


def categories(others: int, odds: Fraction, failing: Fraction = Fraction()) -> Matrix:
    """Say the truth, or each of `m` other categories with `(1 - delta) / (m + exp(epsilon))`."""
    wrong = (1 - failing) / (others + odds)
    size = range(others + 1)
    return [[1 - others * wrong if x == z else wrong for z in size] for x in size]


def least_delta(channel: Matrix, odds: Fraction) -> Fraction:
    """The smallest `delta` with which any two secrets keep these odds."""
    return max(delta(one, other, odds) for one, other in permutations(channel, 2))


def sanitised(channel: Matrix, rows: int) -> Matrix:
    """A database of so many rows, each sanitised by itself."""
    whole = channel
    for _ in range(rows - 1):
        whole = side_by_side(whole, channel)
    return whole


def delta_of_neighbours(channel: Matrix, rows: int, odds: Fraction, apart: int = 1) -> Fraction:
    """The smallest `delta` for databases that differ in at most so many rows."""
    whole, databases = sanitised(channel, rows), [*product(range(len(channel)), repeat=rows)]
    return max(
        delta(whole[x], whole[y], odds)
        for x, y in permutations(range(len(databases)), 2)
        if sum(a != b for a, b in zip(databases[x], databases[y], strict=True)) <= apart
    )


def queries(outputs: int, answers: int) -> Iterator[Matrix]:
    """Every function of a sanitised database, as a channel."""
    for told in product(range(answers), repeat=outputs):
        yield [[Fraction(answer == a) for a in range(answers)] for answer in told]


def worst_query(channel: Matrix, odds: Fraction, answers: int = 2) -> Fraction:
    """The largest `delta` of any query put to what a channel gives."""
    asked = queries(len(channel[0]), answers)
    return max(least_delta(times(channel, query), odds) for query in asked)


def by_outputs(one: Vector, other: Vector, odds: Fraction) -> Fraction:
    """The `delta` that single outputs ask for."""
    return max(Fraction(), *(p - odds * q for p, q in zip(one, other, strict=True)))


def by_events(one: Vector, other: Vector, odds: Fraction) -> Fraction:
    """The `delta` that all events ask for, each of them tried."""
    return max(
        sum(
            (p - odds * q for p, q, held in zip(one, other, event, strict=True) if held), Fraction()
        )
        for event in product((False, True), repeat=len(one))
    )


def laplace_scale(diameter: float, epsilon: float, failing: float) -> float:
    """Example 5: noise of this scale keeps `epsilon` with a chance of failing of `delta`."""
    return diameter / (epsilon - math.log1p(-failing))


def laplace_delta(diameter: float, epsilon: float, scale: float) -> float:
    """What noise of this scale asks for, exactly: two Laplace laws a diameter apart."""
    return max(0.0, -math.expm1((epsilon - diameter / scale) / 2))


def least_laplace_scale(diameter: float, epsilon: float, failing: float) -> float:
    """The smallest scale that keeps the promise: the root of the line above."""
    return diameter / (epsilon - 2 * math.log1p(-failing))
