"""What numpy has no word for, and several rooms need."""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


def put_first(
    flat: NDArray[np.signedinteger], cells: Integers, values: NDArray[np.signedinteger]
) -> None:
    """Assign values to cells; of several values for one cell the first stays."""
    flat[cells[::-1]] = values[::-1]


def distinct(values: Integers) -> int:
    """How many different ones there are."""
    ordered = np.sort(values)
    return len(ordered) - int(np.count_nonzero(ordered[1:] == ordered[:-1]))


def counted(counts: Integers) -> Integers:
    """0, 1, 2, … up to each of the counts, one after the other."""
    nth: Integers = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return nth


def run_starts(rows: Integers) -> Integers:
    """Where each run of equal rows begins."""
    starts: Integers = np.flatnonzero(np.diff(rows, prepend=-1))
    return starts


def alike(values: Integers) -> list[Integers]:
    """Where each distinct value stands."""
    if len(values) and (values == values[0]).all():
        return [np.arange(len(values))]
    order = np.argsort(values, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(values[order])) + 1) if len(values) else []
