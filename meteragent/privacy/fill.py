"""What a slot holds that no reading came for: the last one of its window, for a while.

Meters that report on change are silent while nothing changes. Filled, their windows hold what they
drew; nothing is carried into a window from before it, so that a reading is in its own windows only.
"""

import numpy as np

from meteragent.privacy.arrays import Integers
from meteragent.privacy.domain import ABSENT, Levels


def carried(levels: Levels, most: int) -> Levels:
    """`levels[window, slot]`, each absent one as the last before it that is at most so far back.

    Postcondition: which slot is a copy of which follows from the pattern of present ones alone, so
    that windows of one pattern are no farther apart than they were (claim 1).
    """
    if not most:
        return levels
    slots = np.arange(levels.shape[1], dtype=np.int32)
    last = np.maximum.accumulate(np.where(levels != ABSENT, slots, -1), axis=1)
    within = (last >= 0) & (slots - last <= most)
    copies = np.take_along_axis(levels, np.maximum(last, 0), axis=1)
    return np.where(within, copies, np.asarray(ABSENT, dtype=levels.dtype))


def within(levels: Levels, slots: Integers | int) -> Levels:
    """`levels[window, slot]` without what stands behind the slots that a window has."""
    if isinstance(slots, int):
        return levels
    behind = np.arange(levels.shape[1]) >= slots[:, np.newaxis]
    return np.where(behind, np.asarray(ABSENT, dtype=levels.dtype), levels)
