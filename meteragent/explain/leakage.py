"""What a setting reveals, and what a reader of its releases still learns.

Everything here is computed from the policy alone, never from readings; it may be published.
The numbers are for people, so they are floats; accounts are kept elsewhere, in integers.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meteragent.errors import InvalidSetting
from meteragent.privacy.domain import Domain
from meteragent.privacy.exact import NANO
from meteragent.privacy.mechanism import Mechanism, TruncatedGeometric
from meteragent.privacy.query import Query
from meteragent.privacy.windows import Windows

Floats = NDArray[np.float64]


def odds(nano: int, watts: float) -> float:
    """By how much a loss of `nano` can raise the odds between two worlds `watts` apart."""
    exponent = nano * watts / NANO
    return math.exp(exponent) if exponent < math.log(float(np.finfo(float).max)) else math.inf


def bits(mechanism: Mechanism) -> float:
    """The most that a release tells, in bits: its min-entropy leakage under a uniform prior."""
    return math.log2(mechanism.multiplicative_capacity)


@dataclass(frozen=True, slots=True)
class Load:
    """Something in the home that draws up to `watts` for `seconds`, or does not."""

    watts: float
    seconds: float

    def __post_init__(self) -> None:
        for name, value in (("watts", self.watts), ("seconds", self.seconds)):
            if not (math.isfinite(value) and value > 0):
                raise InvalidSetting(name, "must be positive and finite", "write for example 2000")

    def exponent(
        self, query: Query, nano: int, domain: Domain, windows: Windows, held: int, carried: int = 0
    ) -> float:
        """Log-odds by which all releases of one query can tell that the load ran.

        Precondition: nothing else in the home changes with it, and every window that is
        released holds `held` readings or more, of which each may be `carried` on for as many
        slots of its window. Postcondition: an upper bound over every home,
        every starting time and every such pattern of gaps, whether readings are samples or
        means of their intervals. Why per query: an average moves only by the energy in its
        window, a percentile by up to the whole load, and the reading-by-reading release once
        for each reading.
        """
        levels, readings = domain.steps(self.watts), windows.readings(self.seconds * 1000)
        return (nano * float(domain.step) / NANO) * max(
            sum(
                query.moved(min(covered + carried, windows.slots), held, levels)
                for covered in shares
            )
            for shares in windows.shares(readings)
        )


@dataclass(frozen=True, slots=True)
class Reader:
    """The best that a consumer can make of each released level, given what it believed."""

    guess: NDArray[np.int64]
    """guess[released]: the level that minimises the expected loss"""
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    """low[released]..high[released] holds the true level with at least the asked-for share"""
    expected_loss: float


Loss = Callable[[NDArray[np.int64], NDArray[np.int64]], Floats]
"""loss(guess, truth), elementwise on levels"""


def absolute(guess: NDArray[np.int64], truth: NDArray[np.int64]) -> Floats:
    """How far off a guess is."""
    off: Floats = np.abs(guess - truth).astype(np.float64)
    return off


def squared(guess: NDArray[np.int64], truth: NDArray[np.int64]) -> Floats:
    """How far off, squared."""
    return absolute(guess, truth) ** 2


def zero_one(guess: NDArray[np.int64], truth: NDArray[np.int64]) -> Floats:
    """Whether a guess is off at all."""
    wrong: Floats = (guess != truth).astype(np.float64)
    return wrong


def remap(
    mechanism: TruncatedGeometric, prior: Floats, loss: Loss, *, share: float = 0.9
) -> Reader:
    """The Bayesian reading of released levels, for a consumer with this prior and loss.

    Universal optimality (claim 4) is about this reader: whatever its prior, and whatever its
    loss as long as it grows with the distance, no other mechanism with the same promise that
    sees no more of the window than this one answer would serve it better.
    """
    levels = np.arange(mechanism.domain.top + 1)
    if prior.shape != levels.shape or not np.isclose(prior.sum(), 1) or (prior < 0).any():
        raise InvalidSetting(
            "prior", "is not a distribution over the levels", f"give {len(levels)} shares of 1"
        )
    if not 0 < share < 1:
        raise InvalidSetting("share", "must be in (0, 1)", 'write for example "0.9"')
    belief, weight = _beliefs(mechanism, prior)
    losses = loss(levels[:, np.newaxis], levels) @ belief  # losses[guess, released]
    cumulative = np.cumsum(belief, axis=0)
    tail = (1 - share) / 2
    return Reader(
        guess=losses.argmin(axis=0),
        low=(cumulative <= tail * cumulative[-1]).sum(axis=0),
        high=(cumulative < (1 - tail) * cumulative[-1]).sum(axis=0),
        expected_loss=float(losses.min(axis=0) @ weight),
    )


def _beliefs(mechanism: TruncatedGeometric, prior: Floats) -> tuple[Floats, Floats]:
    """`belief[level, released] * weight[released]` is the chance of both.

    Why apart, and by logarithms: no belief vanishes, however unlikely the release was.
    """
    levels, alpha = np.arange(len(prior)), float(mechanism.alpha)
    rate = float(mechanism.epsilon * mechanism.domain.step)
    with np.errstate(divide="ignore"):
        likelihood = np.log(prior)[:, np.newaxis] - rate * np.abs(levels[:, np.newaxis] - levels)
    largest = likelihood.max(axis=0)
    weight = np.exp(largest) * float(1 - mechanism.alpha) / (1 + alpha)
    weight[[0, -1]] = np.exp(largest[[0, -1]]) / (1 + alpha)
    return np.exp(likelihood - largest), weight
