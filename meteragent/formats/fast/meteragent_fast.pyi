from collections.abc import Sequence
from typing import TypeAlias

__version__: str

_Columns: TypeAlias = tuple[list[bytes], bytes, list[tuple[int, int, bytes | None]], list[str]]
"""Numbers of ids, offsets, timestamps, counts, starts, intervals; watts; what is odd; new ids."""

class Reader:
    @property
    def bytes_of_names(self) -> int: ...
    def batches(
        self, raw: bytes, spans: Sequence[tuple[int, int]], first: int, until: int, most: int
    ) -> _Columns | None: ...
    def lines(self, text: bytes, first: int, timestamp: int) -> tuple[_Columns, int]: ...

def checksum(raw: bytes, at: int, end: int) -> int: ...
