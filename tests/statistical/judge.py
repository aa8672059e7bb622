"""Verdicts on counts of releases that err in favour of the product, with a stated chance.

Every tail is an exact binomial one; no statistic is assumed to be nearly normal. A verdict
condemns a right sampler with chance at most `FALSE_POSITIVE` = 1e-8. All tests of this
directory together pass fewer than a hundred verdicts, so a right product fails any of them
with chance at most 1e-6, over the choice of the noise key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Chances = NDArray[np.float64]

FALSE_POSITIVE = 1e-8


def contradict(counts: Counts, law: Chances) -> bool:
    """Whether `counts[released]` of independent draws contradict `law[released]`.

    The events are each release and each "at most this release": e = 2 k + 1 of them. The
    count of an event with chance p in n draws is Binomial(n, p), so its two-sided tail is
    at most q with chance at most q. Each is held against 1e-8 / e: all together, 1e-8.
    """
    chances = np.concatenate([law, np.cumsum(law)[:-1]])
    seen = np.concatenate([counts, np.cumsum(counts)[:-1]])
    draws = counts.sum()
    below = stats.binom.cdf(seen, draws, chances)
    above = stats.binom.sf(seen - 1, draws, chances)
    tails = np.minimum(1, 2 * np.minimum(below, above))
    return bool(tails.min() <= FALSE_POSITIVE / tails.size)


def break_promise(one: Counts, other: Counts, odds: float) -> bool:
    """Whether draws from two windows show odds above `odds` for some event, either way.

    Events are all "at most" and "at least" a release, both ways: e = 4 k of them. An event's
    chance is at least `low` given one window and at most `high` given the other, by
    Clopper and Pearson's exact bounds, each wrong with chance at most 1e-8 / (2 e). If
    `low > odds * high` for any event, the promise is broken, but for a chance of 1e-8.
    """
    seen, other_seen = (
        np.stack([np.cumsum(c)[:-1], c.sum() - np.cumsum(c)[:-1]]) for c in (one, other)
    )
    seen, other_seen = np.stack([seen, other_seen]), np.stack([other_seen, seen])
    wrong = FALSE_POSITIVE / (2 * seen.size)
    low = stats.beta.ppf(wrong, seen, one.sum() - seen + 1)
    high = stats.beta.isf(wrong, other_seen + 1, other.sum() - other_seen)
    return bool((np.nan_to_num(low) > odds * np.nan_to_num(high, nan=1.0)).any())


def margin_of_mean(values: Chances, law: Chances, draws: int) -> float:
    """How far the mean of so many draws is off its expectation, but for a chance of 1e-8.

    Bernstein: draws with variance v that are at most b from their mean have a mean that is
    off by t or more with chance at most 2 exp(-n t**2 / (2 v + 2 b t / 3)). Solved for t.
    """
    mean = values @ law
    variance, most = (values - mean) ** 2 @ law, np.abs(values - mean).max()
    need = np.log(2 / FALSE_POSITIVE) / draws
    return float(need * most / 3 + np.sqrt((need * most / 3) ** 2 + 2 * need * variance))
