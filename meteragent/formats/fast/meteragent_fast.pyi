from collections.abc import Sequence
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from meteragent.formats.asked import Asked
from meteragent.formats.registered import Shape

__version__: str

_Bytes: TypeAlias = NDArray[np.uint8]
_Integers: TypeAlias = NDArray[np.int64]
_Levels: TypeAlias = NDArray[np.signedinteger[Any]]
_Columns: TypeAlias = tuple[
    list[_Integers], NDArray[np.float64], list[tuple[int, int, bytes | None]], list[str]
]
"""Numbers of ids, offsets, timestamps, counts, starts, intervals, which are local; watts; what is
odd; new ids."""

class Reader:
    def __new__(cls) -> Self: ...
    @classmethod
    def mapped(cls, asked: Asked) -> Self | None: ...
    @classmethod
    def table(cls, asked: Asked, delimiter: int, needed: int) -> Self | None: ...
    @classmethod
    def registered(cls, asked: Asked | None = None) -> Self | None: ...
    def learn(self, number: int, shape: Shape) -> bool: ...
    def forget(self, number: int) -> None: ...
    def forget_names(self) -> None: ...
    @property
    def bytes_of_names(self) -> int: ...
    def batches(
        self, raw: _Bytes, spans: Sequence[tuple[int, int]], first: int, until: int, most: int
    ) -> _Columns | None: ...
    def lines(self, text: bytes, first: int, timestamp: int) -> tuple[_Columns, int]: ...

def watts(
    values: NDArray[np.float64], cuts: Sequence[tuple[float, int, int]]
) -> tuple[NDArray[np.float64], _Integers]: ...
def checksum(raw: _Bytes, at: int, end: int) -> int: ...
def levels(
    watts: NDArray[np.float64],
    into: _Levels,
    bounds: tuple[float, float, float],
    steps: tuple[int, int, int],
) -> None: ...
def admit(
    columns: Sequence[_Integers], homes: _Integers, skew: int, clock: int
) -> list[_Integers] | None: ...
def add(
    columns: Sequence[_Integers],
    values: _Levels,
    state: tuple[_Integers, NDArray[np.bool_], _Integers, _Integers],
    into: _Levels,
    shape: tuple[tuple[int, int, int, int, int, int], bool],
) -> tuple[tuple[int, int, int], _Integers, tuple[_Integers, _Integers, _Levels], _Integers]: ...
def add_up(
    columns: Sequence[_Integers],
    values: _Levels,
    state: tuple[_Integers, _Integers, _Integers],
    since: int,
    shape: tuple[int, int, int, int, int],
) -> tuple[tuple[int, int, int], int, list[_Integers]]: ...
def close_sums(
    state: tuple[_Integers, _Integers, _Integers],
    since: int,
    until: int,
    shape: tuple[int, int, int, int, int],
) -> list[_Integers]: ...
