"""The attacker who knows the mechanism: how likely what was released is if this was on.

A release `z` of a level `y` has the probability `c(z) * alpha**|y - z|`. As `c` depends on what
was released alone, it is the same for every candidate, also at the ends of the domain: what
remains is exact, and nobody who guesses by anything else is right more often.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from meteragent.explain import reader
from meteragent.privacy.policy import Policy
from simulations.tv.attacks import Scores

Levels = NDArray[np.float64]
"""levels[content, output]: all outputs of all windows of a content, NaN where none is released"""


def rates(policy: Policy, windows: int) -> NDArray[np.float64]:
    """`-ln alpha` of every output of so many windows, window after window.

    Precondition: each answer has a draw of its own.
    """
    return np.tile(reader.rates(policy), windows)


def known_home(released: Levels, answers: Levels, rates: NDArray[np.float64]) -> Scores:
    """Log-likelihoods where everything else in the home is known.

    `answers[candidate, output]` are what the queries would truly have answered.
    """
    scores = np.zeros((len(released), len(answers)))
    for seen, known, rate in zip(released.T, answers.T, rates, strict=True):
        scores -= np.where(np.isnan(seen), 0.0, rate)[:, np.newaxis] * np.abs(
            np.nan_to_num(seen)[:, np.newaxis] - known
        )
    return scores


@dataclass(frozen=True, slots=True)
class Habits:
    """What the attacker believes of the rest of a home, from other homes: `levels[home, output]`.

    A home has its own base, and around it each window has its own surplus.
    """

    levels: Levels
    bases: int = 12
    """How many bases the attacker tries."""

    def scores(self, released: Levels, answers: Levels, rates: NDArray[np.float64]) -> Scores:
        """Log-likelihoods with the rest of the home summed over all that it might be.

        Precondition: with the home, an answer is higher by what the home adds, which is exact
        for averages. Why bases: what is common to an evening's windows is seen in all of them,
        and one who took every window's home for another's would be easier to deceive.
        """
        base = np.median(self.levels, axis=1)
        tried = np.quantile(base, (np.arange(self.bases) + 0.5) / self.bases)
        surplus = np.round(self.levels - base[:, np.newaxis]).astype(np.int64)
        tables = [_Table.of(surplus[:, output], rate) for output, rate in enumerate(rates.tolist())]
        under = [self._given(released, answers + round(b), tables) for b in tried.tolist()]
        scores: Scores = np.logaddexp.reduce(under, axis=0)
        return scores

    def _given(self, released: Levels, answers: Levels, tables: list["_Table"]) -> Scores:
        scores = np.zeros((len(released), len(answers)))
        for seen, known, table in zip(released.T, answers.T, tables, strict=True):
            difference = np.round(np.nan_to_num(seen)[:, np.newaxis] - known).astype(np.int64)
            scores += np.where(np.isnan(seen)[:, np.newaxis], 0.0, table.at(difference))
        return scores


@dataclass(frozen=True, slots=True)
class _Table:
    """`ln sum_b P(b) alpha**|d - b|` for every whole difference `d` that a surplus explains."""

    logarithms: NDArray[np.float64]
    first: int
    rate: float

    @classmethod
    def of(cls, surplus: NDArray[np.int64], rate: float) -> "_Table":
        """Every observed surplus with equal weight: two sweeps add the tails of them all."""
        first = int(surplus.min())
        counts = np.bincount(surplus - first).astype(np.float64) / len(surplus)
        alpha = np.exp(-rate)
        right = lfilter([1.0], [1.0, -alpha], counts)
        left = lfilter([1.0], [1.0, -alpha], counts[::-1])[::-1]
        return cls(np.log(right + left - counts), first, rate)

    def at(self, difference: NDArray[np.int64]) -> NDArray[np.float64]:
        """Beyond either end the sum falls like one tail."""
        place = np.clip(difference - self.first, 0, len(self.logarithms) - 1)
        beyond = np.abs(difference - self.first - place)
        found: NDArray[np.float64] = self.logarithms[place] - self.rate * beyond
        return found
