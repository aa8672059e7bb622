"""What numpy has no word for, and several rooms need."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
Values = NDArray[np.float64]


SPARE = 16
"""What grows gets room for a sixteenth more."""


def roomy(had: int, needed: int) -> int:
    """How many rows to make room for."""
    return max(needed, had + had // SPARE)


def lengthen(owner: object, name: str, rows: int, value: int) -> None:
    """Let an array that is somebody's attribute have so many rows; new ones hold this value.

    It grows where it is: large memory is moved by the page, and nothing is copied. Only where
    somebody else looks at it, it has to be.
    """
    had = len(getattr(owner, name))
    shape = (rows, *getattr(owner, name).shape[1:])
    try:
        getattr(owner, name).resize(shape)
    except ValueError:
        longer = np.empty(shape, dtype=getattr(owner, name).dtype)
        longer[:had] = getattr(owner, name)
        setattr(owner, name, longer)
    getattr(owner, name)[had:] = value


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


def begins(rows: Integers) -> Mask:
    """Whether a run of equal rows begins here."""
    begin = np.ones(len(rows), dtype=np.bool_)
    np.not_equal(rows[1:], rows[:-1], out=begin[1:])
    return begin


def run_starts(rows: Integers) -> Integers:
    """Where each run of equal rows begins."""
    starts: Integers = np.flatnonzero(begins(rows))
    return starts


def parted(
    part_of: Integers, columns: Sequence[Integers], counts: Integers, values: Values
) -> Iterator[tuple[int, list[Integers], Integers, Values]]:
    """What belongs to each part that anything belongs to, in its order; parts ascend.

    To each entry of the columns belong as many values as its count says, one entry's after the
    other's. Precondition: there is an entry. If there is but one part, nobody has to say which.
    """
    if (part_of == part_of[:1]).all():
        yield int(part_of.max(initial=0)), [*columns], counts, values
        return
    order = np.argsort(part_of, kind="stable")
    part_of = part_of[order]
    first = run_starts(part_of)
    where, columns = np.cumsum(counts) - counts, [column[order] for column in columns]
    counts = counts[order]
    ends = np.cumsum(counts)
    values = values[np.repeat(where[order] - ends + counts, counts) + np.arange(len(values))]
    cuts, edges = [*first.tolist(), len(order)], [0, *ends.tolist()]
    for part, (low, high) in zip(part_of[first].tolist(), pairwise(cuts), strict=True):
        its = [column[low:high] for column in columns]
        yield part, its, counts[low:high], values[edges[low] : edges[high]]


def stretches(flat: NDArray[np.signedinteger], length: int) -> NDArray[np.signedinteger]:
    """`stretches[cell, nth]`: so many values from each cell on, of the same memory."""
    shape, step = (len(flat) - length + 1, length), flat.itemsize
    return np.ndarray(shape, flat.dtype, flat, strides=(step, step))


def alike(values: Integers) -> list[Integers]:
    """Where each distinct value stands."""
    if len(values) and (values == values[0]).all():
        return [np.arange(len(values))]
    order = np.argsort(values, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(values[order])) + 1) if len(values) else []
