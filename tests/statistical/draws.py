"""Releases as production makes them: readings, levels, eight queries, keyed words, noise."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from meteragent import Domain, Entropy, TruncatedGeometric
from meteragent.privacy.entropy import tag
from meteragent.privacy.query import answer, query
from tests.given import KEY
from tests.twins import noise as twin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tests.statistical.judge import Counts

TOP = 40
DOMAIN = Domain(-200, 200, 10)
TAG = np.frombuffer(tag("m-17"), dtype=np.uint8)
EIGHT = tuple(map(query, ("avg", "min", "median", "max", "p10", "p25", "p75", "p90")))
ENTROPY = Entropy(KEY, bytes(16))
BATCH = 100_000


def per_watt(alpha: float) -> str:
    """The loss per watt at which one level more has `alpha` times the chance."""
    return f"{-math.log(alpha) / 10:.9f}"


def mechanism(alpha: float) -> TruncatedGeometric:
    return TruncatedGeometric(DOMAIN, per_watt(alpha))


def law(alpha: float) -> NDArray[np.float64]:
    """law[level, released], from the twin."""
    exact = twin.alpha(int(Fraction(per_watt(alpha)) * 10**9), Fraction(10))
    return np.array(twin.law(TOP, exact), dtype=np.float64)


def releases(
    mechanism: TruncatedGeometric, watts: tuple[float, ...], draws: int
) -> Iterator[NDArray[np.int64]]:
    """Releases of so many windows with the same readings, eight for each, in batches."""
    for begin in range(0, draws, BATCH):
        windows = min(BATCH, draws - begin) // len(EIGHT)
        starts = (begin + np.arange(windows)) * 900_000
        levels = np.tile(mechanism.domain.levels(np.array(watts)), (windows, 1))
        answers = answer(EIGHT, levels)
        tags, heard = np.tile(TAG, (windows, 1)), np.full(windows, levels.shape[1])
        words = ENTROPY.words(tags, starts, heard, answers, len(EIGHT))
        yield mechanism.sample(answers, words)


def counted(released: NDArray[np.int64]) -> Counts:
    return np.bincount(released.ravel(), minlength=TOP + 1)


def count(mechanism: TruncatedGeometric, level: int, draws: int) -> Counts:
    """count[released] of draws on a constant window."""
    constant = (float(level * 10 - 200),) * 4
    counts = np.zeros(TOP + 1, dtype=np.int64)
    for released in releases(mechanism, constant, draws):
        counts += counted(released)
    return counts
