"""Vertex mechanisms: the posteriors that a promise allows at the very edge.

With a uniform prior, what an adversary may believe after an output is a distribution whose odds
keep the promise: `delta_x <= exp(epsilon d(x, y)) delta_y`. These form a polytope. In logarithms
it says `f(x) - f(y) <= d(x, y)`, and a point is a vertex where the pairs that meet it with
equality join all secrets together. So vertices are whole-number geometry: none of it depends on
epsilon, and distances are kept as integers (roots to forty digits, the same in every place), so
that equal is equal.
"""

from collections.abc import Sequence
from itertools import product
from math import isqrt

Distances = list[list[int]]
Heights = tuple[int, ...]
"""Logarithms of a vertex in units of epsilon (of 1e-40 where there are roots); the first is 0."""
UNIT = 10**40


def manhattan(points: Sequence[tuple[int, ...]]) -> Distances:
    """Whole numbers: lines, lattices, and cubes under the Hamming distance."""
    return [[sum(abs(a - b) for a, b in zip(p, q, strict=True)) for q in points] for p in points]


def discrete(size: int) -> Distances:
    """All secrets at distance one."""
    return [[int(x != y) for y in range(size)] for x in range(size)]


def euclidean(points: Sequence[tuple[int, ...]]) -> Distances:
    """Roots, as multiples of `UNIT`; a multiple of a root is exactly that of the other root."""
    return [
        [_root(sum((a - b) ** 2 for a, b in zip(p, q, strict=True))) for q in points]
        for p in points
    ]


def _root(square: int) -> int:
    outside = max(k for k in range(1, isqrt(square) + 2) if square % (k * k) == 0)
    return outside * isqrt(square // outside**2 * UNIT**2)


def lattice(*sides: int) -> list[tuple[int, ...]]:
    """Points of a box."""
    return [*product(*(range(side) for side in sides))]


def vertices(distances: Distances) -> list[Heights]:
    """All of them, in order: from each vertex along every edge of the polytope to the next.

    Any two vertices of a polytope are joined by edges, so none is missed.
    """
    start = tuple(distances[0])
    found, todo = {start}, [start]
    while todo:
        for beyond in _next(todo.pop(), distances):
            if beyond not in found:
                found.add(beyond)
                todo.append(beyond)
    return sorted(found)


def _next(heights: Heights, distances: Distances) -> list[Heights]:
    """Along each edge: the secrets part in two, each joined within, and one part moves.

    It moves away from the other as far as the next constraint; one direction at most is free,
    for the vertex's own constraints between the parts forbid the other one.
    """
    size = len(heights)
    everybody = (1 << size) - 1
    above = [
        sum(1 << y for y in range(size) if y != x and heights[x] - heights[y] == distances[x][y])
        for x in range(size)
    ]
    below = [sum(1 << x for x in range(size) if above[x] >> y & 1) for y in range(size)]
    joined = [up | down for up, down in zip(above, below, strict=True)]
    reached = []
    for part in range(2, everybody, 2):
        rest = everybody & ~part
        inside = [x for x in range(size) if part >> x & 1]
        high = any(above[x] & rest for x in inside)
        if high == any(below[x] & rest for x in inside):
            continue
        if not (_connected(part, joined) and _connected(rest, joined)):
            continue
        outside = [y for y in range(size) if rest >> y & 1]
        pairs = product(inside, outside)
        if high:
            step = -min(distances[y][x] - heights[y] + heights[x] for x, y in pairs)
        else:
            step = min(distances[x][y] - heights[x] + heights[y] for x, y in pairs)
        reached.append(tuple(h + step * (part >> x & 1) for x, h in enumerate(heights)))
    return reached


def _connected(part: int, joined: Sequence[int]) -> bool:
    seen = front = part & -part
    while front:
        lowest = front & -front
        front &= ~lowest
        fresh = joined[lowest.bit_length() - 1] & part & ~seen
        seen |= fresh
        front |= fresh
    return seen == part
