"""Blocks of lines -> columns, whatever the lines are."""

from dataclasses import replace
from datetime import UTC
from typing import Protocol

import numpy as np

from meteragent.errors import InputDamaged
from meteragent.formats.csv_rows import Table
from meteragent.formats.fast import reader_for, reader_of_rows
from meteragent.formats.json_one import LATEST
from meteragent.formats.mapping import Mapping
from meteragent.formats.messages import message_decoder
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
    """JSON lines: on each what is in one of Kafka's messages."""

    header_lines = 0

    def __init__(self, mapping: Mapping) -> None:
        self._decoder = message_decoder(mapping)
        self._fast = reader_for(self._decoder)

    def decode(self, text: bytes, first: int) -> Readings:
        """The readings of whole lines; empty lines hold nothing that could be lost."""
        read = self._fast.lines if self._fast else self._by_decoder
        return read(text, first).without_seconds()

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


class TableLines:
    """Lines of a table."""

    def __init__(self, table: Table) -> None:
        fast = reader_of_rows(table)
        self.decode = fast.lines if fast else table.decode
        """The readings of whole lines, of which the first has this number."""
        self.header_lines = table.header_lines


_DOCUMENTS = {b"[": "a JSON array", b"<": "XML", b"/": "a telegram", b"100,NEM12": "NEM12"}
"""How documents begin that are to be converted before."""


def refuse_documents(source: str, text: bytes, then: str = "| meteragent sanitize - …") -> None:
    """InputDamaged: an input that begins so is a document, and not one by lines.

    `then`: what to do with the lines that are made of it.
    """
    begin = text.lstrip()[:16]
    for sign, what in _DOCUMENTS.items():
        if begin.startswith(sign):
            instead = f"meteragent convert IN {then}"
            raise InputDamaged(source, 1, f"is {what}, which is not read by lines", instead)


def decoder_of(source: str, text: bytes, mapping: Mapping) -> LineReader:
    """What reads an input that begins with these lines. InvalidSetting: no lines are written so."""
    mapping.refuse_registered()
    refuse_documents(source, text)
    if text.lstrip()[:1] == b"{":
        return JsonLines(mapping)
    lines, skipped = text.split(b"\n"), mapping.columns.skip_lines
    times = TimeFormat(mapping.time_format, mapping.zone or UTC, at_ends=mapping.at_ends)
    header = lines[skipped] if skipped < len(lines) else b""
    return TableLines(Table(source, header, mapping.columns, times, mapping.meaning))


def _nothing(next_offset: int) -> Readings:
    none = np.empty(0, dtype=np.int64)
    return Readings([], none, none, none, none, none, np.empty(0), [], next_offset)
