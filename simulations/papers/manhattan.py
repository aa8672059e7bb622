"""Sums, averages and percentiles of people's values, under metrics that add up over people.

A value lies on the grid 0, q, .. qk or is absent, which is as far from any value as the grid is
wide. Databases are as far apart as their people together (*Manhattan*), or that by the width of
the grid (*normalised*, in which one person is worth 1 at most, as in standard differential
privacy), or by the number of people who differ (*Hamming*: standard differential privacy).

Under the first two, sum, average and percentiles are uniformly sensitive, hence geometric noise
is universally optimal; under the third they are not.

A group of homes is such a database whose people are windows: home by home the farthest reading,
summed over homes. The group's slot-by-slot sum then moves by no more than the homes do.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from meteragent.privacy.query import answer, query
from simulations.papers.capacities import line, solve
from simulations.papers.exact import geometric
from simulations.papers.sensitivity import Metric, Number, sensitivity, uniformly

Database = tuple[int | None, ...]
TOP = 2
"""k: the grid is 0, 1 and 2 steps of q."""
PEOPLE = 3


def databases(people: int = PEOPLE, top: int = TOP, *, absent: bool = True) -> list[Database]:
    """All of them."""
    values: list[int | None] = [*range(top + 1), *([None] if absent else [])]
    return [*product(values, repeat=people)]


def between(one: int | None, other: int | None, top: int = TOP) -> int:
    """How far one person's values are apart, in steps."""
    if one is None or other is None:
        return 0 if one is other else top
    return abs(one - other)


def manhattan(rows: Sequence[Database]) -> Metric:
    """Steps, summed over people."""
    return lambda x, y: sum(between(a, b) for a, b in zip(rows[x], rows[y], strict=True))


def normalised(rows: Sequence[Database]) -> Metric:
    """The same in widths of the grid."""
    steps = manhattan(rows)
    return lambda x, y: Fraction(steps(x, y), TOP)


def hamming(rows: Sequence[Database]) -> Metric:
    """The number of people who differ, present or absent."""
    return lambda x, y: sum(a != b for a, b in zip(rows[x], rows[y], strict=True))


def removals(rows: Sequence[Database]) -> Metric:
    """How many people must be taken out and put in: a changed value is both."""
    return lambda x, y: sum(
        (a != b) * (1 + (a is not None and b is not None))
        for a, b in zip(rows[x], rows[y], strict=True)
    )


def half_up(total: int, count: int) -> int:
    """The average on the grid, as the product rounds it."""
    return (2 * total + count) // (2 * count)


def _present(row: Database) -> list[int]:
    return sorted(value for value in row if value is not None) or [0]


def average(row: Database) -> Fraction:
    """Of those present, not rounded."""
    there = _present(row)
    return Fraction(sum(there), len(there))


def _percentile(percent: int) -> Callable[[Database], int]:
    def asked(row: Database) -> int:
        there = _present(row)
        return there[len(there) * percent // 100]

    return asked


QUERIES: dict[str, Callable[[Database], Number]] = {
    "sum": lambda row: sum(_present(row)),
    "average": lambda row: half_up(sum(_present(row)), len(_present(row))),
    "minimum": lambda row: _present(row)[0],
    "25th percentile": _percentile(25),
    "median": _percentile(50),
    "maximum": lambda row: _present(row)[-1],
}


@dataclass(frozen=True)
class Found:
    """What a query's answers do under a metric."""

    sensitivity: Fraction
    uniform: bool


def found(asked: Callable[[Database], Number], metric: str, *, absent: bool = True) -> Found:
    """Over every pair of databases of a few people."""
    rows = databases(absent=absent)
    apart = {"manhattan": manhattan, "normalised": normalised, "hamming": hamming}[metric](rows)
    answers = [asked(row) for row in rows]
    return Found(sensitivity(answers, apart), uniformly(answers, apart))


def metrics_in_order() -> bool:
    """Half the removals <= Hamming <= removals, and normalised Manhattan <= Hamming."""
    rows = databases()
    pairs = list(product(range(len(rows)), repeat=2))
    out, changed, near = removals(rows), hamming(rows), normalised(rows)
    return all(
        out(x, y) <= 2 * changed(x, y) and near(x, y) <= changed(x, y) <= out(x, y)
        for x, y in pairs
    )


GROUP_QUERIES = ("avg", "min", "p25", "median", "max")


def group(asked: str, homes: int = 2, slots: int = 2, top: int = 2) -> Found:
    """A query to the slot-by-slot sum of homes, at the distance of the homes together."""
    windows = [*product(product(range(top + 1), repeat=slots), repeat=homes)]
    held = np.array(windows, dtype=np.int8)
    moved = np.abs(held[:, np.newaxis] - held).max(axis=3).sum(axis=2)
    sums = held.sum(axis=1).astype(np.int8)
    answers = [int(level) for level in answer((query(asked),), sums)[:, 0]]

    def apart(x: int, y: int) -> int:
        return int(moved[x, y])

    return Found(sensitivity(answers, apart), uniformly(answers, apart))


def optimality_gap(levels: int, epsilon: float, priors: int, draw: np.random.Generator) -> float:
    """How far from the best of all private mechanisms geometric noise is, at most.

    Readers differ by what they believe and take the guess of least expected distance; the best
    mechanism for each is the optimum of a linear programme over all of them.
    """
    law = np.array(geometric(levels, Fraction(np.exp(-epsilon))), dtype=np.float64)
    miss = np.abs(np.subtract.outer(np.arange(levels), np.arange(levels))).astype(np.float64)
    gaps = []
    for _ in range(priors):
        prior = draw.dirichlet(np.ones(levels))
        best = solve(line(levels), epsilon, prior[:, np.newaxis] * miss)
        ours = (miss @ (prior[:, np.newaxis] * law)).min(axis=0).sum()
        gaps.append(ours - best)
    return float(max(gaps))
