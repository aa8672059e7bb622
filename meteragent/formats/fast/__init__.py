"""The fast way from bytes to columns, where the wheel `meteragent-fast` is installed.

Its crate lies here, beside its twin in Python: `decoder` for what a record means, `kafka.unpack`
for what a batch holds. The twin is the proof. The crate takes only what is surely plain, and hands
back the rest as it came, to be judged there; so both ways give the same columns, which
`tests/formats/test_fast.py` holds them to.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from meteragent.formats.decoder import Decoder
from meteragent.formats.forms import MessageDecoder
from meteragent.formats.json_one import LATEST, MOST_BYTES
from meteragent.privacy import native
from meteragent.privacy.arrays import Integers, counted
from meteragent.stream.readings import Numbered, Readings

MOST_NAMES = 64 * 2**20
"""Bytes of ids that are remembered, good or bad; then all of them are forgotten."""
MOST_UNPACKED = 256 * 2**20
"""Bytes that a compressed batch may hold."""


Raw = bytes | memoryview
"""What was received, wherever it stays."""


class FastReader:
    """Reads batches and lines of JSON as the decoder does that judges what is odd."""

    def __init__(self, judge: MessageDecoder, wheel: Any) -> None:  # noqa: ANN401 - see its stub
        self._judge = judge
        self._wheel = wheel
        self._forget()

    def batches(
        self, raw: Raw, spans: Iterable[tuple[int, int]], first: int, until: int
    ) -> Readings | None:
        """The records of batches that stand in `raw`, of offsets from one on and before another.

        Nothing: they are not surely plain, as batches. OverflowError: one holds more than
        `MOST_UNPACKED` bytes. ValueError: one is not what was packed. Precondition: their
        checksums are right.
        """
        self._forget_if_many()
        octets = np.frombuffer(raw, dtype=np.uint8)
        found = self._native.batches(octets, list(spans), first, until, MOST_UNPACKED)
        return None if found is None else self._readings(found, None)

    def lines(self, text: bytes, first: int) -> Readings:
        """The records of whole lines, of which the first has this number."""
        self._forget_if_many()
        found, after = self._native.lines(text, first, LATEST)
        return self._readings(found, after)

    def _forget(self) -> None:
        self._native = self._wheel.Reader()
        self._names: list[str] = []

    def _forget_if_many(self) -> None:
        if self._native.bytes_of_names > MOST_NAMES:
            self._forget()

    def _readings(self, found: Any, after: int | None) -> Readings:  # noqa: ANN401 - see the stub
        columns, watts, odd, new = found
        self._names += new
        numbers, offsets, timestamps, counts, starts, intervals = columns
        if after is None:
            ends = [*offsets[-1:].tolist(), *(offset for offset, _, _ in odd[-1:])]
            after = max(ends, default=-1) + 1
        readings = Readings(
            Numbered(self._names, numbers),
            offsets,
            timestamps,
            counts,
            starts,
            intervals,
            watts,
            [],
            after,
        )
        if not odd:
            return readings
        odd_offsets, odd_timestamps, values = zip(*odd, strict=True)
        return merged(readings, self._judge.decode(values, odd_offsets, odd_timestamps), after)


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


def reader_for(decoder: MessageDecoder) -> FastReader | None:
    """A reader that does as this decoder does, if there is one."""
    plain = type(decoder) is Decoder and decoder.max_bytes == MOST_BYTES
    return FastReader(decoder, native.wheel) if plain and native.fits() else None


def checksum(raw: Raw, at: int, end: int) -> int | None:
    """That of a part of bytes, as batches have it; nothing if there is no wheel to tell it."""
    if not native.fits():
        return None
    found: int = native.wheel.checksum(np.frombuffer(raw, dtype=np.uint8), at, end)
    return found
