"""The words of a window by plain hashlib, written from the wire form in `entropy`."""

from __future__ import annotations

import hashlib
import struct
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def words(
    key: bytes,
    policy: bytes,
    meter_id: str,
    start: int,
    heard: int,
    answers: Sequence[int],
    kind: bytes = b"m",
) -> Iterator[int]:
    """The endless words of one window, from the wire form in `entropy`'s docstring."""
    tag = hashlib.blake2b(meter_id.encode("utf-8"), digest_size=16).digest()
    message = kind + tag + struct.pack(f"<qq{len(answers)}q", start, heard, *answers)
    block = 0
    while True:
        salt = struct.pack("<QQ", block, 0)
        digest = hashlib.blake2b(message, digest_size=64, key=key, salt=salt, person=policy)
        yield from struct.unpack("<8Q", digest.digest())
        block += 1


def rows_of_words(stream: Iterator[int], outputs: int, depth: int) -> list[list[int]]:
    """What each output reads of the stream: `o, o + q, o + 2q, …`."""
    taken = list(islice(stream, outputs * depth))
    return [taken[output::outputs] for output in range(outputs)]
