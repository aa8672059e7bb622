"""The tight-constraints mechanism, and the region of priors for which it is the best there is.

*Privacy constraints matrix*: `phi[i][j] = exp(-epsilon d(i, j))`, where d counts how many people
must change for one answer to become the other.
*Regular*: a prior is regular if it is a mixture of the rows of phi with weights `y >= 0`. The
rows, made to add up to one, are the *corners* of the region.
*Bound*: no private mechanism names the answer rightly more often than `sum of y` for a regular
prior (Theorem 1).
*Tight*: if `phi z = 1` has a solution `z >= 0`, the mechanism `phi diag(z)` meets every constraint
with equality, and reaches the bound for every regular prior (Theorem 3). On a line it is the
truncated geometric mechanism.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

from simulations.papers.exact import Matrix, Vector, solved

Distances = list[list[int]]


def constraints(distances: Distances, ratio: Fraction) -> Matrix:
    """Phi; `ratio` is exp(-epsilon)."""
    return [[ratio**apart for apart in row] for row in distances]


def weights(prior: Vector, phi: Matrix) -> Vector:
    """The mixture `y` of rows that makes up the prior; phi is symmetric."""
    return solved(phi, prior)


def regular(prior: Vector, phi: Matrix) -> bool:
    """Whether the prior lies within the region."""
    return min(weights(prior, phi)) >= 0


def corners(phi: Matrix) -> Matrix:
    """The region's extreme priors."""
    return [[entry / sum(row) for entry in row] for row in phi]


def mixed(shares: Vector, phi: Matrix) -> Vector:
    """A regular prior: so much of each corner."""
    return [
        sum((share * entry for share, entry in zip(shares, column, strict=True)), Fraction())
        for column in zip(*corners(phi), strict=True)
    ]


def utility_bound(prior: Vector, phi: Matrix) -> Fraction:
    """The chance to name the answer rightly that no mechanism exceeds if the prior is regular."""
    return sum(weights(prior, phi), Fraction())


def diagonal(phi: Matrix) -> Vector:
    """`z` with `phi z = 1`: the mechanism's chances to tell the truth, if none is negative."""
    return solved(phi, [Fraction(1)] * len(phi))


def tight(phi: Matrix) -> Matrix:
    """The mechanism. Precondition: no entry of `diagonal` is negative."""
    truth = diagonal(phi)
    return [[entry * z for entry, z in zip(row, truth, strict=True)] for row in phi]


def named_rightly(prior: Vector, channel: Matrix) -> Fraction:
    """How often the most likely answer is the true one: the prior, seen through a channel."""
    joint = [[p * entry for entry in row] for p, row in zip(prior, channel, strict=True)]
    return sum((max(column) for column in zip(*joint, strict=True)), Fraction())


def line(answers: int, step: int = 1) -> Distances:
    """Answers in a row, of which one person moves `step` at once."""
    return [[-(-abs(x - y) // step) for y in range(answers)] for x in range(answers)]


def two_counts(people: int) -> Distances:
    """Pairs of counts: one person moves each of them by one, or both at once."""
    points = [*product(range(people + 1), repeat=2)]
    return [[max(abs(a - c), abs(b - d)) for c, d in points] for a, b in points]


def cube(bits: int) -> Distances:
    """Databases themselves, each row of two values."""
    points = [*product(range(2), repeat=bits)]
    return [[sum(a != b for a, b in zip(x, y, strict=True)) for y in points] for x in points]


def augmented_cube() -> Distances:
    """Three bits of which one step changes one, or all."""
    return [[min(apart, 1 + (3 - apart)) for apart in row] for row in cube(3)]


def induced(
    people: int, values: int, asked: Callable[[Sequence[int]], object]
) -> tuple[list[object], Distances]:
    """The answers to a query and how many people lie between them, by walking over databases."""
    rows = [*product(range(values), repeat=people)]
    neighbours: dict[object, set[object]] = {}
    for row in rows:
        changed = (
            (*row[:i], value, *row[i + 1 :]) for i in range(people) for value in range(values)
        )
        neighbours.setdefault(asked(row), set()).update(map(asked, changed))
    answers = sorted(neighbours, key=repr)
    return answers, [[_steps(neighbours, x, y) for y in answers] for x in answers]


def _steps(neighbours: dict[object, set[object]], start: object, end: object) -> int:
    reached, steps = {start}, 0
    while end not in reached:
        reached |= {after for before in reached for after in neighbours[before]}
        steps += 1
    return steps
