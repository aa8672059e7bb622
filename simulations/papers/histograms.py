"""Mechanisms that see a whole load histogram: exponential, small database, multiplicative weights.

Each is the standard one with `sensitivity / epsilon` replaced by a scale c, the most that a score
moves per unit of d_X when one home's load changes. The bounds are those of the standard
theorems with c in that place.

*Exponential* (Theorems 3, 4): output z with a chance in proportion to `exp(score / 2c)`; it falls
short of the best of R by more than `2c (ln R + t)` with a chance of `exp(-t)` at most.
*Small database* (Algorithm 1, Theorems 5, 6): the exponential mechanism over all histograms of a
few homes, scored by the query they serve worst.
*Multiplicative weights* (Algorithm 2, Theorems 7, 8): start from the flat histogram; T times, find
the query that it serves worst, ask it with noise, and shift weight towards the answer. Half of
each round's budget finds, half asks. Off by at most `2 sqrt(ln X / T) + 10 T c ln Q / n`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from scipy.special import softmax

from simulations.papers.linear import (
    Floats,
    Universe,
    layers,
    loads,
    moved,
    one_scale,
    vanilla,
)


def exponential(scores: Floats, scale: float) -> Floats:
    """law[output], of `scores[..., output]`."""
    law: Floats = softmax(scores / (2 * scale), axis=-1)
    return law


def shortfall(outputs: int, scale: float, beta: float) -> float:
    """By how much the exponential mechanism falls short at most, but with a chance of beta."""
    return 2 * scale * (math.log(outputs) + math.log(1 / beta))


def scale_of(queries: Floats, distances: Floats) -> float:
    """The most that any one query moves per unit of d_X when one home's load changes."""
    return float((moved(queries) / distances).max())


def databases(values: int, homes: int) -> Floats:
    """Every histogram of so many homes, histograms[database, value], in shares."""
    made = [
        np.bincount(loads, minlength=values) / homes
        for loads in combinations_with_replacement(range(values), homes)
    ]
    return np.array(made)


def neighbours(histograms: Floats, homes: int) -> Iterator[tuple[int, int, int, int]]:
    """Two databases that one home's load tells apart, and the two loads."""
    for one, row in enumerate(histograms):
        for other in range(one):
            change = np.round((row - histograms[other]) * homes).astype(int)
            if np.abs(change).sum() == 2:
                yield one, other, int(change.argmax()), int(change.argmin())


def spent(law: Floats, histograms: Floats, homes: int, distances: Floats) -> float:
    """The largest share of d_X that the log-odds of any output use; private if one at most."""
    odds = np.log(law)
    return max(
        float(np.abs(odds[one] - odds[other]).max() / distances[x, y])
        for one, other, x, y in neighbours(histograms, homes)
    )


@dataclass(frozen=True)
class SmallDatabase:
    """The law of Algorithm 1 over every database of a small world."""

    law: Floats
    """law[database, candidate]"""
    errors: Floats
    """errors[database, candidate]: of the query that it serves worst"""
    scale: float

    def missed(self, beta: float) -> float:
        """The chance to fall short of the best candidate by more than the bound, at worst."""
        allowed = self.errors.min(axis=1) + shortfall(self.law.shape[1], self.scale, beta)
        return float((self.law * (self.errors > allowed[:, np.newaxis])).sum(axis=1).max())


def small_database(
    of: Universe, queries: Floats, homes: int, few: int
) -> tuple[SmallDatabase, Floats]:
    """Algorithm 1 for every database of so many homes; and these databases."""
    rows, candidates = databases(len(of.points), homes), databases(len(of.points), few)
    errors = np.abs((rows @ queries.T)[:, np.newaxis] - candidates @ queries.T).max(axis=2)
    scale = scale_of(queries, of.distances) / homes
    return SmallDatabase(exponential(-errors, scale), errors, scale), rows


def multiplicative_weights(
    truth: Floats, queries: Floats, scale: float, rounds: int, draw: np.random.Generator
) -> Floats:
    """Algorithm 2: a histogram that serves the queries. `scale` is that of a share of homes.

    One round has `1 / rounds` of the budget, half of it for each of its two draws, so its
    scales are `2 rounds` times as large. The mean of the rounds' histograms is returned.
    """
    weights = np.full(len(truth), 1 / len(truth))
    history, wider = [], 2 * rounds * scale
    for _ in range(rounds):
        error = np.abs(queries @ (truth - weights))
        asked = queries[draw.choice(len(queries), p=exponential(error, wider))]
        answer = asked @ truth + draw.laplace(scale=wider)
        weights = weights * np.exp(asked * (answer - asked @ weights) / 2)
        weights /= weights.sum()
        history.append(weights)
    mean: Floats = np.mean(history, axis=0)
    return mean


def weights_bound(values: int, queries: int, scale: float, rounds: int) -> float:
    """Theorem 8: the error of the query served worst, in shares of homes."""
    return 2 * math.sqrt(math.log(values) / rounds) + 10 * rounds * scale * math.log(queries)


def homes_by_load(of: Universe, homes: int, draw: np.random.Generator) -> Floats:
    """A histogram of drawn homes: many at rest, some cooking, few charging a car."""
    watts = of.points[:, 0]
    drawn = np.minimum(draw.lognormal(math.log(600), 0.8, homes), watts[-1])
    bins = np.abs(watts[:, np.newaxis] - drawn).argmin(axis=0)
    shares: Floats = np.bincount(bins, minlength=len(watts)) / homes
    return shares


@dataclass(frozen=True)
class Served:
    """Multiplicative weights on a street's histogram."""

    by_metric: float
    standard: float
    bound: float
    layers: float
    flat: float


def served(draw: np.random.Generator, homes: int, rounds: int, runs: int) -> Served:
    """The mean error of the layer served worst, in shares of homes."""
    of = loads()
    queries = layers(of, 500)
    truth = homes_by_load(of, homes, draw)
    scale = scale_of(queries, of.distances) / homes
    alone = max(vanilla(query[np.newaxis], of.distances)[0] for query in queries) / homes
    every = one_scale(queries, of.distances)[0] / homes

    def error(found: Floats) -> float:
        return float(np.abs(queries @ (found - truth)).max())

    def mean(of_scale: float) -> float:
        drawn = (
            multiplicative_weights(truth, queries, of_scale, rounds, draw) for _ in range(runs)
        )
        return float(np.mean([error(found) for found in drawn]))

    return Served(
        mean(scale),
        mean(alone),
        weights_bound(len(truth), len(queries), scale, rounds),
        float(np.abs(draw.laplace(scale=every, size=(runs, len(queries)))).max(axis=1).mean()),
        error(np.full(len(truth), 1 / len(truth))),
    )
