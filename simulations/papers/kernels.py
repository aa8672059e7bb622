"""Kernel mechanisms: sets of vertices of which no smaller set makes up the uniform prior.

Each output of a mechanism leaves a posterior; their mean is the prior. A *kernel* is a mechanism
whose posteriors are linearly independent vertices. Every mechanism of a type is a mixture of
kernels with something forgotten, so what no kernel does, no mechanism does.

Kernels are the vertices of `{w >= 0 : sum of w_v v = 1}` over all vertices v, and are found as
such: the double description method adds one secret's equation after another, and keeps the
solutions with the fewest vertices in use. In whole numbers, so that zero is zero. Which sets are
independent depends on epsilon: at exp(epsilon) = 2, the papers' choice, powers of two cancel that
do not cancel elsewhere.
"""

from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulations.papers.exact import Matrix
from simulations.papers.vertices import UNIT, Heights

Integers = NDArray[Any]
"""Of 64 bits where that is enough, of any size where it is not."""
WIDEST = 63
"""Vertices that fit the sets of bits in which supports are kept."""


def powers(vertices: Sequence[Heights], base: int = 2) -> Integers:
    """columns[secret, vertex]: each vertex up to a factor, `exp(epsilon)` a whole number."""
    rows = [[base ** (height - min(vertex)) for height in vertex] for vertex in vertices]
    return np.array(rows, dtype=np.int64).T


def powers_of_roots(vertices: Sequence[Heights]) -> Integers:
    """The same at exp(epsilon) = 2 where heights are `a + b sqrt(2)`.

    `t = 2**sqrt(2)` is transcendental, so what cancels does so whatever t is; a fraction within
    1e-40 of it in its place keeps every zero and every sign.
    """
    with localcontext(Context(prec=80)):
        t = int(Decimal(2) ** Decimal(2).sqrt() * UNIT)
    made = [[_parts(height) for height in vertex] for vertex in vertices]
    ones = [a for row in made for a, _ in row]
    roots = [b for row in made for _, b in row]
    rows = [
        [2 ** (a - min(ones)) * t ** (b - min(roots)) * UNIT ** (max(roots) - b) for a, b in row]
        for row in made
    ]
    return np.array(rows, dtype=np.object_).T


def _parts(height: int) -> tuple[int, int]:
    root = isqrt(2 * UNIT**2)
    return next(
        ((height - b * root) // UNIT, b) for b in range(-9, 10) if (height - b * root) % UNIT == 0
    )


def kernels(columns: Integers) -> Integers:
    """weights[kernel, vertex], each row up to a factor. Precondition: `WIDEST` vertices at most.

    A row of weights solves the equations so far with as few vertices as possible: no other
    solution does with some of them. The next equation keeps the rows that satisfy it, and joins
    one that exceeds it with one that falls short wherever the two stand side by side, which is
    where no third row does with the vertices of both.
    """
    if columns.shape[1] > WIDEST:
        raise ValueError(f"{columns.shape[1]} vertices, of {WIDEST} at most")
    weights: Integers = np.eye(columns.shape[1], dtype=columns.dtype)
    for used, equation in enumerate(columns[1:] - columns[:1], start=2):
        value = weights @ equation
        support = _supports(weights)
        over, under = np.flatnonzero(value > 0), np.flatnonzero(value < 0)
        joined = [weights[value == 0]]
        for one in over:
            both = support[one] | support[under]
            near = np.flatnonzero(np.bitwise_count(both) <= used)
            others = (support[np.newaxis] & ~both[near, np.newaxis] == 0).sum(axis=1)
            partners = under[near[others == 2]]
            joined.append(
                weights[one] * -value[partners, np.newaxis] + weights[partners] * value[one]
            )
        weights = np.concatenate(joined)
        weights //= np.gcd.reduce(weights, axis=1)[:, np.newaxis]
    return weights


def _supports(weights: Integers) -> NDArray[np.uint64]:
    places = np.left_shift(np.uint64(1), np.arange(weights.shape[1], dtype=np.uint64))
    found: NDArray[np.uint64] = ((weights > 0) * places).sum(axis=1, dtype=np.uint64)
    return found


def mechanism(columns: Integers, weights: Integers) -> Matrix:
    """The channel of one kernel, an output for each of its vertices."""
    used = np.flatnonzero(weights)
    rows = [[Fraction(int(entry)) for entry in row] for row in columns[:, used] * weights[used]]
    return [[entry / sum(row) for entry in row] for row in rows]
