"""The windows that traces touch, and what queries truly answer of them, whatever their lengths."""

import numpy as np
from numpy.typing import NDArray

from meteragent.privacy.policy import Policy
from meteragent.privacy.query import answer
from simulations.kit.traces import Watts

Levels = NDArray[np.int64]


def whole(begin: int, end: int, policy: Policy) -> tuple[int, list[int]]:
    """When the first window begins that a stretch of time touches, and at which slot each ends.

    Precondition: windows follow one another without a gap, as all do but hopping ones.
    """
    windows = policy.windows
    touched = range(windows.newest(begin), windows.newest(end - 1) + 1)
    first = windows.start(touched[0])
    return first, [(windows.end(one) - first) // policy.interval for one in touched]


def answered(watts: Watts, ends: list[int], policy: Policy) -> Levels:
    """levels[row, window, output] of `watts[row, slot]`, in whole windows that end at these slots.

    By the product's own queries. Precondition: every window holds a reading.
    """
    queries = tuple(asked.query for asked in policy.questions)
    levels = policy.domain.levels(watts)
    if len({*np.diff([0, *ends]).tolist()}) == 1:
        one_by_one = answer(queries, levels.reshape(-1, ends[0]))
        return one_by_one.reshape(len(watts), len(ends), one_by_one.shape[-1])
    parts = np.split(levels, ends[:-1], axis=1)
    return np.stack([answer(queries, part) for part in parts], axis=1)
