"""Which panes are pieces of which windows, and what is kept of these as bytes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meteragent.privacy.arrays import Integers

Bytes = NDArray[np.uint8]
"""bytes[row, byte]"""


@dataclass(frozen=True, slots=True)
class Parts:
    """Which panes, and which that were folded before, are parts of which windows."""

    nth: Integers
    """Of each window: which of the rows it is of ..."""
    windows: Integers
    """... and its number."""
    told: Integers
    """Of each part that has closed now: which of the panes it is ..."""
    told_of: Integers
    """... and of which window it is a part."""
    kept: tuple[Integers, Integers]
    """Of each window that was open before: which of the rows, and in which column ..."""
    kept_of: Integers
    """... and which window it is."""
    row_of: Integers
    """Of each of the panes: which of the rows it is of."""


def as_bytes(numbers: NDArray[np.signedinteger]) -> Bytes:
    """bytes[row, byte] of numbers[row, column], little endian."""
    little = numbers.dtype.newbyteorder("<")
    return np.ascontiguousarray(numbers, dtype=little).view(np.uint8)


def as_numbers(state: Bytes, kind: np.dtype[np.signedinteger]) -> NDArray[np.signedinteger]:
    """The inverse."""
    return np.ascontiguousarray(state).view(kind.newbyteorder("<"))
