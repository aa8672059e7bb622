"""What numpy has no word for, and several rooms need."""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


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
