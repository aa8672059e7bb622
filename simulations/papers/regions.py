"""The third paper's example and case study: where the numbers come out, and where they do not.

Example 3: five people, each of four values, with chances .3, .27, .23 and .2. Section 6: the sum
of 150 people's values, five of them, and two counts over 30 people, both with a uniform prior.
A mechanism is judged by how often the most likely answer is the true one.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from simulations.papers.capacities import Floats, discrete, solve
from simulations.papers.tight import Distances, line, two_counts

PRIOR = tuple(Fraction(part, 100) for part in (30, 27, 23, 20))
INDIVIDUALS, VALUES = 5, 4


@dataclass(frozen=True)
class Leak:
    """What five people's database leaks at most, in bits of min-entropy."""

    epsilon: float
    any_prior: float
    """Theorem 2: over all priors."""
    bound: float
    """Of this prior, by the weights `y`; a bound only where the prior is regular."""
    possible: float
    """Of this prior, by the best mechanism for each person by itself."""

    @property
    def bounded(self) -> bool:
        """Whether the bound is one."""
        return self.possible <= self.bound + 1e-9


def leak(epsilon: float) -> Leak:
    """Of Example 3."""
    ratio, prior = math.exp(-epsilon), np.array(PRIOR, dtype=np.float64)
    phi = np.where(np.eye(VALUES), 1.0, ratio)
    weights = np.linalg.solve(phi, prior)
    best = -solve(discrete(VALUES), epsilon, -np.diag(prior))
    guess = float(prior.max())
    return Leak(
        epsilon,
        any_prior(epsilon, INDIVIDUALS, VALUES),
        INDIVIDUALS * math.log2(float(weights.sum()) / guess),
        INDIVIDUALS * math.log2(best / guess),
    )


def any_prior(epsilon: float, people: int, values: int) -> float:
    """Theorem 2: `u log2(v exp(epsilon) / (v - 1 + exp(epsilon)))` bits."""
    odds = math.exp(epsilon)
    return people * math.log2(values * odds / (values - 1 + odds))


def regular_from(prior: Sequence[Fraction]) -> float:
    """The epsilon from which a prior on values is regular: exact for a complete graph.

    The least weight is in proportion to `min(prior) - a / (1 + (v - 1) a)`, a = exp(-epsilon).
    """
    least, others = min(prior), len(prior) - 1
    return math.log((1 - others * least) / least)


def truth(distances: Floats, epsilon: float) -> Floats:
    """The tight mechanism's chances to tell the truth; negative where it does not exist."""
    phi = np.exp(-epsilon * distances)
    return np.linalg.solve(phi, np.ones(len(phi))).astype(np.float64)


def exists_from(distances: Distances, low: float, high: float, precision: float = 5e-4) -> float:
    """The epsilon from which the tight mechanism exists. Precondition: not at low, but at high."""
    apart = np.array(distances, dtype=np.float64)
    while high - low > precision:
        middle = (low + high) / 2
        low, high = (low, middle) if truth(apart, middle).min() >= -1e-12 else (middle, high)
    return high


@dataclass(frozen=True)
class Study:
    """A query of the case study."""

    name: str
    distances: Distances
    between: tuple[float, float]
    """Where the least epsilon lies."""
    geometric: Callable[[float], float]
    """How often geometric noise with the same promise tells the truth, on average."""

    def least_epsilon(self) -> float:
        """From which the tight mechanism exists."""
        return exists_from(self.distances, *self.between)

    def utility(self, epsilon: float) -> float:
        """Of the tight mechanism, with a uniform prior; none where it does not exist."""
        chances = truth(np.array(self.distances, dtype=np.float64), epsilon)
        return float(chances.mean()) if chances.min() >= -1e-12 else math.nan


def _geometric(answers: int, epsilon: float) -> float:
    ratio = math.exp(-epsilon)
    return (2 + (answers - 2) * (1 - ratio)) / (1 + ratio) / answers


def total(people: int = 150, values: int = 5) -> Study:
    """The sum: one person moves it by `values - 1` at most."""
    step = values - 1
    answers = people * step + 1
    return Study(
        f"sum of {people} people's values 0 to {step}",
        line(answers, step),
        (0.3, 1.5),
        lambda epsilon: _geometric(answers, epsilon / step),
    )


def counts(people: int = 30) -> Study:
    """Two counts: geometric noise on each, with half of the promise each."""
    return Study(
        f"two counts over {people} people",
        two_counts(people),
        (0.5, 1.5),
        lambda epsilon: _geometric(people + 1, epsilon / 2) ** 2,
    )
