"""The fast way from bytes to columns, where the wheel `meteragent-fast` is installed.

Its crate lies here, beside its twins in Python: `decoder`, `mapped`, `avro_readings` and `csv_rows`
for what a record means, `kafka.unpack` for what a batch holds. The twins are the proof. The crate
takes only what is surely plain, and hands back the rest as it came, to be judged there; so both
ways give the same columns, which `tests/formats/test_fast.py` holds them to.

Memory is bounded. A batch may hold `MOST_UNPACKED` bytes, and as many may come of the batches of a
call: columns, and what is odd, with its objects in Python. As columns grow by doubling, a call
takes at most four times `MOST_UNPACKED`, whatever is in it; beside them there are only ids, of
which `MOST_NAMES` bytes are remembered.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meteragent.formats import asked
from meteragent.formats.csv_rows import Table
from meteragent.formats.decoder import Decoder
from meteragent.formats.forms import MessageDecoder, Numbers, Payloads
from meteragent.formats.json_one import LATEST, MOST_BYTES
from meteragent.formats.mapped import MappedDecoder
from meteragent.formats.mapping import Meaning
from meteragent.formats.merging import merged
from meteragent.formats.registered import RegisteredDecoder, Shape
from meteragent.formats.times import TimeFormat
from meteragent.privacy import native
from meteragent.privacy.arrays import Integers
from meteragent.privacy.domain import Watts
from meteragent.stream.readings import Numbered, Readings, Reject

MOST_NAMES = 64 * 2**20
"""Bytes of ids that are remembered, good or bad; then all of them are forgotten."""
MOST_UNPACKED = 256 * 2**20
"""Bytes that a compressed batch may hold, and that may come of those that are read together."""


class Left(NamedTuple):
    """What the wheel leaves to be done on columns."""

    meaning: Meaning
    times: TimeFormat

    def starts(self, stamps: Integers, local: Integers) -> Integers:
        """When readings began; some of their stamps are local times."""
        if len(local):
            stamps[local] -= self.times.offsets_at(stamps[local])
        return stamps - self.meaning.earlier if self.meaning.earlier else stamps

    def watts(self, values: Watts) -> Watts:
        """What values are."""
        return self.meaning.quantity.watts(values)


Raw = bytes | memoryview
"""What was received, wherever it stays."""


class Findings(NamedTuple):
    """What the wheel has found in batches or lines."""

    columns: list[Integers]
    watts: Watts
    odd: list[tuple[int, int, bytes | None]]
    names: list[str]
    """Of ids, by their numbers: more may be added to them meanwhile."""


class FastReader:
    """Reads batches and lines as the decoder does that judges what is odd."""

    def __init__(self, judge: MessageDecoder, reader: Any, left: Left | None = None) -> None:  # noqa: ANN401 - see the wheel's stub
        self._judge = judge
        self._native = reader
        self._left = left
        self._names: list[str] = []

    def batches(
        self, raw: Raw, spans: Iterable[tuple[int, int]], first: int, until: int
    ) -> Readings | None:
        """The records of batches that stand in `raw`, of offsets from one on and before another.

        Nothing: they are not surely plain, as batches. OverflowError: one holds more than
        `MOST_UNPACKED` bytes, or more than that comes of all. ValueError: one is not what was
        packed. Precondition: their checksums are right.
        """
        return self.told(self.asking(raw, spans, first, until)())

    def asking(
        self, raw: Raw, spans: Iterable[tuple[int, int]], first: int, until: int
    ) -> Callable[[], Findings | None]:
        """What finds that out: another thread may do it, and does so beside Python's work.

        What it answers is for `told`. Precondition: what was asked before has been done.
        """
        self._forget_if_many()
        return partial(self._find, np.frombuffer(raw, dtype=np.uint8), list(spans), first, until)

    def _find(
        self, raw: NDArray[np.uint8], spans: list[tuple[int, int]], first: int, until: int
    ) -> Findings | None:
        found = self._native.batches(raw, spans, first, until, MOST_UNPACKED)
        return None if found is None else self._named(found)

    def _named(self, found: Any) -> Findings:  # noqa: ANN401 - see the wheel's stub
        columns, watts, odd, new = found
        self._names += new
        return Findings(columns, watts, odd, self._names)

    def told(self, found: Findings | None) -> Readings | None:
        """The records that were found; of what is odd, as the judge says."""
        return None if found is None else self._readings(found, None)

    def lines(self, text: bytes, first: int) -> Readings:
        """The records of whole lines, of which the first has this number."""
        self._forget_if_many()
        found, after = self._native.lines(text, first, LATEST)
        return self._readings(self._named(found), after)

    def _forget_if_many(self) -> None:
        if self._native.bytes_of_names > MOST_NAMES:
            self._native.forget_names()
            self._names = []

    def _readings(self, found: Findings, after: int | None) -> Readings:
        columns, watts, odd, names = found
        numbers, offsets, timestamps, counts, starts, intervals, local = columns
        if after is None:
            ends = [*offsets[-1:].tolist(), *(offset for offset, _, _ in odd[-1:])]
            after = max(ends, default=-1) + 1
        if self._left:
            starts, watts = self._left.starts(starts, local), self._left.watts(watts)
        readings = Readings(
            Numbered(names, numbers),
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


class FastRegistered(FastReader):
    """The same of messages whose schemas are in a registry."""

    def __init__(self, judge: RegisteredDecoder, reader: Any, left: Left | None) -> None:  # noqa: ANN401 - as above
        super().__init__(judge, reader, left)
        self._decoder = judge
        self._told: dict[int, Shape] = {}
        self._read: set[int] = set()

    def asking(
        self, raw: Raw, spans: Iterable[tuple[int, int]], first: int, until: int
    ) -> Callable[[], Findings | None]:
        """As above; nothing is found while there is no schema that the wheel reads by."""
        if self._told != self._decoder.told:
            self._learn(self._decoder.told)
        return super().asking(raw, spans, first, until) if self._read else _nothing

    def _learn(self, told: dict[int, Shape]) -> None:
        for number in self._told.keys() - told.keys():
            self._native.forget(number)
            self._read.discard(number)
        for number in told.keys() - self._told.keys():
            if self._native.learn(number, told[number]):
                self._read.add(number)
        self._told = dict(told)


def _nothing() -> None:
    """Nothing is plain."""


class _LoneRows:
    """Judges lines of a table that do not follow each other."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def decode(self, values: Payloads, offsets: Numbers, _: Numbers) -> Readings:
        """The columns of lines, each of which has its number."""
        found = self._table.decode(b"".join(line + b"\n" for line in values if line), 0)
        return replace(
            found,
            offsets=np.array(offsets, dtype=np.int64)[found.offsets],
            rejects=[Reject(offsets[reject.offset], reject.reason) for reject in found.rejects],
        )


def reader_for(decoder: MessageDecoder) -> FastReader | None:
    """A reader that does as this decoder does, if there is one."""
    if not native.fits():
        return None
    if isinstance(decoder, RegisteredDecoder):
        return _of_registered(decoder)
    if isinstance(decoder, MappedDecoder):
        return _of_mapped(decoder) if decoder.is_plain_json else None
    plain = type(decoder) is Decoder and decoder.max_bytes == MOST_BYTES
    return FastReader(decoder, native.wheel.Reader()) if plain else None


def reader_of_rows(table: Table) -> FastReader | None:
    """A reader that reads lines as this table does, if there is one."""
    if not native.fits():
        return None
    delimiter = ord(table.delimiter)
    reader = native.wheel.Reader.table(asked.of_table(table), delimiter, table.needed)
    left = Left(table.meaning, table.time_format)
    return reader and FastReader(_LoneRows(table), reader, left)


def _of_mapped(decoder: MappedDecoder) -> FastReader | None:
    documents = decoder.documents
    told = asked.of_documents(documents)
    reader = told and native.wheel.Reader.mapped(told)
    return reader and FastReader(decoder, reader, Left(documents.meaning, documents.times))


def _of_registered(decoder: RegisteredDecoder) -> FastReader | None:
    shapes = decoder.shapes
    if shapes is None:
        return None
    documents = shapes.documents
    if documents is None:
        return FastRegistered(decoder, native.wheel.Reader.registered(), None)
    told = asked.of_documents(documents)
    reader = told and native.wheel.Reader.registered(told)
    return reader and FastRegistered(decoder, reader, Left(documents.meaning, documents.times))


def checksum(raw: Raw, at: int, end: int) -> int | None:
    """That of a part of bytes, as batches have it; nothing if there is no wheel to tell it."""
    if not native.fits():
        return None
    found: int = native.wheel.checksum(np.frombuffer(raw, dtype=np.uint8), at, end)
    return found
