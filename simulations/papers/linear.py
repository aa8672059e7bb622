"""Linear queries under a metric on what a record may be: scales of noise, shares of a budget.

A linear query adds up `q(x)` over records x. Under d_X-privacy two values x, x' of one record are
protected by `d_X(x, x')`. The meta procedure: divide every query by a scale c so that all
together move by no more than the metric,

    sum over i of |q_i(x) - q_i(x')| / c_i <= d_X(x, x')   for all x, x',

and give query i Laplace noise of scale c_i (Theorem 1); then no answer is off by more than
`max c ln(K / beta)` but with a chance of beta (Theorem 2). The *improvement factor* is the scale
of standard differential privacy, which must protect all pairs as the closest one, over c; of
several queries, the geometric mean.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
ROUNDS = 60


@dataclass(frozen=True)
class Universe:
    """What a record may be."""

    name: str
    points: Floats
    """points[value, coordinate]"""
    distances: Floats
    """distances[value, value]: the budget of every pair; infinite between a value and itself."""

    @property
    def least(self) -> float:
        """The smallest budget, which standard differential privacy spends on every pair."""
        return float(self.distances.min())


def universe(name: str, points: Floats, per_unit: float = 1.0) -> Universe:
    """Euclidean distance, so much budget per unit of it."""
    apart = np.sqrt(((points[:, np.newaxis] - points) ** 2).sum(axis=2)) * per_unit
    np.fill_diagonal(apart, np.inf)
    return Universe(name, points, apart)


def loads(top: float = 6000, width: float = 250, radius: float = 500) -> Universe:
    """Homes by their load in bins; a budget of one for every radius."""
    watts = np.arange(0, top + width / 2, width)[:, np.newaxis]
    return universe("loads", watts, 1 / radius)


def moved(queries: Floats) -> Floats:
    """moved[query, x, x']: by how much one record moves each answer."""
    apart: Floats = np.abs(queries[:, :, np.newaxis] - queries[:, np.newaxis, :])
    return apart


def spent(queries: Floats, scales: Floats, distances: Floats) -> float:
    """The largest share of a pair's budget that is spent; private if it is one at most."""
    return float(
        ((moved(queries) / scales[:, np.newaxis, np.newaxis]).sum(axis=0) / distances).max()
    )


def vanilla(queries: Floats, distances: Floats) -> Floats:
    """Standard differential privacy: all queries together, every pair as the closest."""
    return np.full(len(queries), moved(queries).sum(axis=0).max() / distances.min())


def equal_shares(queries: Floats, distances: Floats) -> Floats:
    """Strategy 1: an equal share of every pair's budget for each query."""
    scales: Floats = len(queries) * (moved(queries) / distances).max(axis=(1, 2))
    return scales


def one_scale(queries: Floats, distances: Floats) -> Floats:
    """Strategy 2: the same scale for all queries, as small as it can be."""
    return np.full(len(queries), (moved(queries).sum(axis=0) / distances).max())


def by_need(queries: Floats, distances: Floats) -> Floats:
    """Strategy 3 (Algorithm 3): share each pair's budget by need, and share again what is left.

    A round gives every query, of what is left of a pair, a part in proportion to what the
    query would use of it alone; what the worst pair cannot use is left for the next round.
    """
    left, move = distances.copy(), moved(queries)
    taken = np.zeros(len(queries))
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(ROUNDS):
            alone = np.nan_to_num(move / left, nan=0.0, posinf=np.inf).max(axis=(1, 2))
            if not np.isfinite(alone).any():
                break
            need = move / alone[:, np.newaxis, np.newaxis]
            own = np.nan_to_num(left * np.nan_to_num(need / need.sum(axis=0)), posinf=np.inf)
            scale = np.where(move > 1e-12, move / own, 0.0)
            more = 1 / np.nan_to_num(scale, nan=np.inf, posinf=np.inf).max(axis=(1, 2))
            if more.max() <= 1e-9 * taken.max():
                break
            taken += more
            left = np.maximum(left - (more[:, np.newaxis, np.newaxis] * move).sum(axis=0), 0)
    return 1 / taken


Strategy = Callable[[Floats, Floats], Floats]
STRATEGIES: tuple[Strategy, ...] = (equal_shares, one_scale, by_need)


def improvement(queries: Floats, distances: Floats, strategy: Strategy) -> float:
    """How many times less noise than under standard differential privacy."""
    ratios = vanilla(queries, distances) / strategy(queries, distances)
    return float(np.exp(np.log(ratios).mean()))


def drawn_queries(kind: str, count: int, size: int, draw: np.random.Generator) -> Floats:
    """Random linear queries: weights between 0 and 1, or sets of values."""
    while True:
        made = draw.random((count, size))
        if kind == "binary":
            made = (made < 0.5).astype(np.float64)
        if (np.ptp(made, axis=1) > 0).all():
            return made


def layers(of: Universe, width: float) -> Floats:
    """Soft thresholds side by side: how much of each layer of so many watts a home fills."""
    watts = of.points[:, 0]
    below = np.arange(0, watts.max(), width)[:, np.newaxis]
    filled: Floats = np.clip((watts - below) / width, 0, 1)
    return filled


def blowfish(queries: Floats, edges: NDArray[np.bool_], epsilon: float) -> Floats:
    """Blowfish: the same budget for every pair that its graph joins, and none for others."""
    scales: Floats = (moved(queries) * edges).sum(axis=0).max() / epsilon * np.ones(len(queries))
    return scales


def along(edges: NDArray[np.bool_], epsilon: float) -> Floats:
    """The metric that a Blowfish graph stands for: the budget times the steps between."""
    steps = np.where(edges, 1.0, np.inf)
    np.fill_diagonal(steps, 0.0)
    for middle in range(len(steps)):
        steps = np.minimum(steps, steps[:, middle, np.newaxis] + steps[middle])
    steps *= epsilon
    np.fill_diagonal(steps, np.inf)
    return steps


def tail(queries: int, beta: float) -> float:
    """The chance that some answer is off by more than `c ln(K / beta)`, exactly: below beta."""
    return -math.expm1(queries * math.log1p(-beta / queries))
