"""The attacker who knows the mechanism, and asks which of two lives was released.

A release `z` of a level `y` has the probability `c(z) * alpha**|y - z|`, and `c` depends on `z`
alone: it is the same for both lives. What remains of their ratio is exact, and no attacker with
the same knowledge is right more often than who follows it (Neyman and Pearson).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.exact import NANO
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import answer
from simulations.kit.product import release
from simulations.kit.statistics import Share
from simulations.kit.traces import Trace, Watts

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Levels = NDArray[np.int64]


def rates(policy: Policy) -> Floats:
    """`-ln alpha` of each output of a release."""
    step = float(policy.domain.step)
    nano = [q.nano for q in policy.questions for _ in range(q.query.outputs(policy.slots))]
    return np.array(nano) * step / NANO


def answers(trace: Trace, policy: Policy) -> Levels:
    """What the queries truly answer: `levels[window, output]`, in the windows that are touched.

    Precondition: every window holds a reading.
    """
    before = trace.begin % policy.size // policy.interval
    after = -(before + len(trace.watts)) % policy.slots
    padded = np.pad(trace.watts, (before, after), constant_values=np.nan)
    windows = policy.domain.levels(padded).reshape(-1, policy.slots)
    return answer(tuple(q.query for q in policy.questions), windows)


def released_levels(values: Watts, policy: Policy) -> Levels:
    """Released watts, back on the grid."""
    grid = (values - float(policy.domain.minimum)) / float(policy.domain.step)
    levels: Levels = np.round(grid).astype(np.int64)
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
    rate = rates(policy)
    scores = np.zeros(len(pairs))
    for number, (pair, seen) in enumerate(zip(pairs, release(lived, policy, key), strict=True)):
        levels = released_levels(seen.values, policy)
        apart = np.abs(levels - answers(pair.lacking, policy))
        apart -= np.abs(levels - answers(pair.having, policy))
        scores[number] = (rate * apart).sum()
    return Judged(scores, truths, draw.random(len(pairs)) < 0.5)


def auc(scores: Floats, truths: Mask) -> float:
    """The chance that a true case scores higher than a false one; ties count half."""
    ranks, many = rankdata(scores), int(truths.sum())
    few = len(truths) - many
    if not many or not few:
        return 0.5
    return float((ranks[truths].sum() - many * (many + 1) / 2) / (many * few))
