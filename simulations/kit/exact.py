"""How often the best attacker is right about traces, from the law of the noise and no trials.

Of what the product's own queries answer, and by the product's own reckoning
(`meteragent.explain.advantage`); the attacker knows every other reading of the home.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from meteragent.explain.advantage import Draw, Named, named, right
from meteragent.privacy.policy import Policy
from meteragent.privacy.terms import JOINT

Levels = NDArray[np.int64]
"""levels[window, output]"""


def told_apart(one: Levels, other: Levels, policy: Policy) -> float:
    """Of two versions of the same windows; guessing is right in half of all cases."""
    return right(draws(one, other, policy), float(policy.domain.resolution))


def draws(one: Levels, other: Levels, policy: Policy) -> Counter[Draw]:
    """How far two versions move each draw of noise."""
    moved = np.abs(one - other)
    if policy.noise == JOINT:
        rows, counts = np.unique(moved, axis=0, return_counts=True)
        nano = policy.questions[0].nano
        joint = zip(rows.tolist(), counts.tolist(), strict=True)
        return Counter({Draw(nano, tuple(row)): count for row, count in joint})
    found: Counter[Draw] = Counter()
    for nano, column in zip(losses(policy), moved.T, strict=True):
        levels, counts = np.unique(column, return_counts=True)
        for level, count in zip(levels.tolist(), counts.tolist(), strict=True):
            found[Draw(nano, (level,))] += count
    return found


def losses(policy: Policy) -> list[int]:
    """Of each output of a window, in nano-units per watt."""
    return [q.nano for q in policy.questions for _ in range(q.query.outputs(policy.slots))]


def named_of(stories: Sequence[Levels], policy: Policy) -> Named:
    """Of many versions of the same windows.

    Precondition: each answer has a draw of its own.
    """
    answers = np.stack([levels.reshape(-1) for levels in stories])
    nano = losses(policy) * len(stories[0])
    return named(answers, nano, float(policy.domain.resolution))
