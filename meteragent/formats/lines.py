"""Blocks of lines -> columns, whatever the lines are."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from meteragent.errors import InputDamaged, InvalidSetting
from meteragent.formats.csv_header import Columns
from meteragent.formats.csv_rows import Table
from meteragent.formats.decoder import Decoder
from meteragent.formats.fast import reader_for
from meteragent.formats.json_one import LATEST
from meteragent.formats.times import TimeFormat
from meteragent.stream.readings import Readings


class LineReader(Protocol):
    """Reads one kind of lines."""

    @property
    def header_lines(self) -> int:
        """How many first lines are no records."""

    def decode(self, text: bytes, first: int) -> Readings:
        """The readings of whole lines, of which the first has this number."""


class JsonLines:
    """JSON lines: a reading or an interval block on each, as in Kafka's messages."""

    header_lines = 0

    def __init__(self) -> None:
        self._decoder = Decoder()
        self._fast = reader_for(self._decoder)

    def decode(self, text: bytes, first: int) -> Readings:
        """The readings of whole lines; empty lines hold nothing that could be lost."""
        return self._fast.lines(text, first) if self._fast else self._by_decoder(text, first)

    def _by_decoder(self, text: bytes, first: int) -> Readings:
        lines = text.split(b"\n")
        lines.pop()
        after = first + len(lines)
        offsets = range(first, after)
        if b"" in lines:
            numbered = [(at, line) for at, line in zip(offsets, lines, strict=True) if line]
            if not numbered:
                return _nothing(after)
            held, full = zip(*numbered, strict=True)
            readings = self._decoder.decode(full, held, [LATEST] * len(full))
        else:
            readings = self._decoder.decode(lines, offsets, [LATEST] * len(lines))
        return replace(readings, next_offset=after)


@dataclass(frozen=True, slots=True)
class TableOptions:
    """How tables are to be read; `given` if the user says so, and thus expects a table."""

    columns: Columns
    times: TimeFormat
    given: bool


def decoder_of(source: str, text: bytes, mapping: TableOptions) -> LineReader:
    """What reads an input that begins with these lines."""
    first = text.lstrip()[:1]
    if first == b"[":
        raise InputDamaged(source, 1, "is a JSON array", "write each of its objects on a line")
    if first != b"{":
        return Table(source, text.partition(b"\n")[0], mapping.columns, mapping.times)
    if mapping.given:
        raise InvalidSetting(
            "--meter, --…-column, --time-format, --timezone, --unit, --decimal, --delimiter, "
            "--no-header",
            "have no effect on JSON lines",
            "leave them out",
        )
    return JsonLines()


def _nothing(next_offset: int) -> Readings:
    none = np.empty(0, dtype=np.int64)
    return Readings([], none, none, none, none, none, np.empty(0), [], next_offset)
