"""The attacker who knows the mechanism, and asks which of two lives was released.

What both lives have in common of a likelihood is left out (`meteragent.explain.reader`). What
remains of their ratio is exact, and no attacker with the same knowledge is right more often than
who follows it (Neyman and Pearson).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from meteragent.explain.reader import drawn, log_likelihood
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from simulations.kit.product import release
from simulations.kit.statistics import Share
from simulations.kit.traces import Trace
from simulations.kit.windows import Levels, answered, whole

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def answers(trace: Trace, policy: Policy) -> Levels:
    """What the queries truly answer: `levels[window, output]`, in the windows that are touched.

    Precondition: every window holds a reading.
    """
    end = trace.begin + len(trace.watts) * trace.interval
    begin, ends = whole(trace.begin, end, policy)
    before = (trace.begin - begin) // policy.interval
    after = ends[-1] - before - len(trace.watts)
    padded = np.pad(trace.watts, (before, after), constant_values=np.nan)
    levels: Levels = answered(padded[np.newaxis], ends, policy)[0]
    return levels


@dataclass(frozen=True, slots=True)
class Pair:
    """Two versions of the same hours: with what is to be hidden, and without."""

    having: Trace
    lacking: Trace


@dataclass(frozen=True, slots=True)
class Judged:
    """What the attacker made of many pairs: how far the releases speak for `having`."""

    scores: Floats
    """Log-likelihood ratios."""
    truths: Mask
    """Which version was released."""
    coins: Mask
    """What the attacker says where the releases speak for neither."""

    def share(self) -> Share:
        """How often the attacker is right; guessing is right in half of all cases."""
        said = np.where(self.scores == 0, self.coins, self.scores > 0)
        return Share(int((said == self.truths).sum()), len(said))


def tell_apart(
    pairs: Sequence[Pair], policy: Policy, key: NoiseKey, draw: np.random.Generator
) -> Judged:
    """A coin decides which version of each pair is released; the attacker holds both.

    Why this strong: the attacker knows every other reading of the home, which is the one of
    whom the guarantee speaks. Anyone who knows less does no better.
    """
    truths = draw.random(len(pairs)) < 0.5
    lived = [
        replace(pair.having if truth else pair.lacking, name=f"pair-{number}")
        for number, (pair, truth) in enumerate(zip(pairs, truths, strict=True))
    ]
    scores = np.zeros(len(pairs))
    for number, (pair, seen) in enumerate(zip(pairs, release(lived, policy, key), strict=True)):
        levels = drawn(seen.unbiased, policy)
        having, lacking = (
            log_likelihood(levels, answers(life, policy), policy)
            for life in (pair.having, pair.lacking)
        )
        scores[number] = (having - lacking).sum()
    return Judged(scores, truths, draw.random(len(pairs)) < 0.5)


def auc(scores: Floats, truths: Mask) -> float:
    """The chance that a true case scores higher than a false one; ties count half."""
    ranks, many = rankdata(scores), int(truths.sum())
    few = len(truths) - many
    if not many or not few:
        return 0.5
    return float((ranks[truths].sum() - many * (many + 1) / 2) / (many * few))
