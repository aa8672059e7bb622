"""Columns that were read apart, put together again."""

import numpy as np

from meteragent.privacy.arrays import Integers, counted
from meteragent.stream.readings import Readings


def merged(one: Readings, other: Readings, after: int) -> Readings:
    """The runs and rejects of both, in the order of their records."""
    order = np.argsort(np.concatenate([one.offsets, other.offsets]), kind="stable")
    names = [*one.meters, *other.meters]
    counts: Integers = np.concatenate([one.counts, other.counts])
    begins = (np.cumsum(counts) - counts)[order]
    watts = np.repeat(begins, counts[order]) + counted(counts[order])

    def both(mine: Integers, its: Integers) -> Integers:
        column: Integers = np.concatenate([mine, its])[order]
        return column

    return Readings(
        [names[run] for run in order.tolist()],
        both(one.offsets, other.offsets),
        both(one.timestamps, other.timestamps),
        counts[order],
        both(one.starts, other.starts),
        both(one.intervals, other.intervals),
        np.concatenate([one.watts, other.watts])[watts],
        sorted([*one.rejects, *other.rejects]),
        after,
    )
