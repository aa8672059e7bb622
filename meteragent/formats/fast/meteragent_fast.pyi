from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__version__: str

_Bytes: TypeAlias = NDArray[np.uint8]
_Integers: TypeAlias = NDArray[np.int64]
_Levels: TypeAlias = NDArray[np.signedinteger[Any]]
_Columns: TypeAlias = tuple[
    list[_Integers], NDArray[np.float64], list[tuple[int, int, bytes | None]], list[str]
]
"""Numbers of ids, offsets, timestamps, counts, starts, intervals; watts; what is odd; new ids."""

class Reader:
    @property
    def bytes_of_names(self) -> int: ...
    def batches(
        self, raw: _Bytes, spans: Sequence[tuple[int, int]], first: int, until: int, most: int
    ) -> _Columns | None: ...
    def lines(self, text: bytes, first: int, timestamp: int) -> tuple[_Columns, int]: ...

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
