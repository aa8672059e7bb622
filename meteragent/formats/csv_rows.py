"""Lines of CSV -> columns.

Most rows need no judge: a stretch of lines is cut into columns at once, and each column read
as a whole, if there are no quotes and every row has as many fields as the first. A stretch
that is not so plain is halved until it is, or is so short that each row is judged by itself.
Either way a row is a reading or a reject by its own bytes alone.
"""

import csv
import re
from collections.abc import Sequence
from itertools import chain
from math import inf, isfinite, isinf, nan
from typing import NamedTuple

import numpy as np

from meteragent.errors import InputDamaged, InvalidSetting
from meteragent.formats.csv_beside import Beside, Column, refuse_another_unit
from meteragent.formats.csv_header import Columns, Finder
from meteragent.formats.json_one import CONTROL, LATEST, LONGEST_METER, BadRecord, is_too_large
from meteragent.formats.mapping import NOTHING_READ, Meaning
from meteragent.formats.times import TimeFormat
from meteragent.privacy.arrays import Integers
from meteragent.stream.readings import Readings, Reason, Reject

FEW = 32
"""Rows that are judged one by one rather than halved once more."""
STRETCH = 2**18
"""Bytes that are cut into columns together: they stay in the processor's cache."""
MOST_NAMES = 2**17
"""Meter ids that are remembered as good."""

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:([,' \u00a0\u202f])[0-9]{3})(?:\1[0-9]{3})*(?:\.[0-9]*)?")
"""Thousands apart: whoever reads only numbers below them tells by rejects when a home drew more."""
_COMMAS = re.compile(r"[+-]?[0-9., ']*,[0-9., ']*")
_SWAPPED = str.maketrans(",.", ".,")
_BLANK = " \t\n\r\x0b\x0c"
_ESCAPED = re.compile("[\udc80-\udcff]")  # bytes that are not UTF-8
_CONTROLS = re.compile(f"[{CONTROL}]")


class Table:
    """Reads the rows of one table."""

    def __init__(
        self,
        source: str,
        first_line: bytes,
        columns: Columns,
        times: TimeFormat,
        meaning: Meaning | None = None,
    ) -> None:
        """Find the columns. InputDamaged: the first line does not have one of them."""
        text = first_line.decode("utf-8", "surrogateescape")
        self.delimiter = columns.delimiter_of(text)
        names = [name.strip() for name in self._split(text)]
        self._width = len(names)
        find = Finder(source, names if columns.header else [])
        self.constant = columns.constant_meter
        if self.constant is None:
            self.meter = find("--meter-column", columns.meter)
        elif not _is_meter(self.constant):
            raise InvalidSetting("--meter", "is not a meter id", 'write for example "home-1"')
        else:
            self.meter = -1
        self.time = [find("--time-column", name) for name in columns.time]
        self.value = find("--value-column", columns.value)
        self.meaning = meaning or Meaning()
        self.beside = Beside(find, columns, self.meaning)
        self.needed = max(self.meter, self.value, *self.time, self.beside.last) + 1
        if self.needed > self._width:
            raise InputDamaged(
                source,
                1,
                f"has {self._width} columns, not {self.needed}",
                "compare --delimiter with the file",
            )
        if columns.header:
            refuse_another_unit(names[self.value], self.meaning.quantity)
        self.header_lines = columns.skip_lines + int(columns.header)
        self.comma = columns.decimal_comma
        self.time_format = times
        self._names: dict[bytes, str] = {}

    def decode(self, text: bytes, first: int) -> Readings:
        """The readings of whole lines, of which the first has this number; a run each."""
        stretches: list[_Rows] = []
        rejects: list[Reject] = []
        total = self._decode(text, first, stretches, rejects)
        meters, offsets, times, watts = zip(*stretches, strict=True) if stretches else _NOTHING
        lines = np.array([*chain.from_iterable(offsets)], dtype=np.int64)
        values = np.array([*chain.from_iterable(watts)], dtype=np.float64)
        return Readings(
            meters=[*chain.from_iterable(meters)],
            offsets=lines,
            timestamps=np.full(len(lines), LATEST),
            counts=np.ones(len(lines), dtype=np.int64),
            starts=np.concatenate([*times, np.empty(0, dtype=np.int64)]),
            intervals=np.ones(len(lines), dtype=np.int64),
            watts=self.meaning.quantity.watts(values),
            rejects=rejects,
            next_offset=first + total,
        )

    def _decode(
        self, text: bytes, first: int, stretches: "list[_Rows]", rejects: list[Reject]
    ) -> int:
        """Append what the lines hold; answer how many they are."""
        count = text.count(b"\n")
        if rows := self._together(text, count, first):
            stretches.append(rows)
        elif count <= FEW:
            stretches.append(self._one_by_one(text.split(b"\n")[:-1], first, rejects))
        else:
            middle = text.find(b"\n", len(text) // 2) + 1
            if middle == len(text):
                middle = text.find(b"\n") + 1
            before = self._decode(text[:middle], first, stretches, rejects)
            self._decode(text[middle:], first + before, stretches, rejects)
        return count

    def _together(self, text: bytes, count: int, first: int) -> "_Rows | None":
        """All rows at once, if they are so plain that this is what each of them says."""
        if not count or len(text) > STRETCH:
            return None
        column = self._quoted(text, count) if b'"' in text else self._unquoted(text, count)
        if column is None:
            return None
        meters = self._meters(column, count)
        times = self._times(column)
        watts = self._floats(column(self.value))
        if meters is None or times is None or watts is None or not self.beside.is_plain(column):
            return None
        return _Rows(meters, range(first, first + count), times, watts)

    def _unquoted(self, text: bytes, count: int) -> Column | None:
        """The columns, if every row has its fields, and no more."""
        delimiter, width = self.delimiter.encode(), self._width
        fields = text.replace(b"\n", delimiter + b"\n").split(delimiter)
        firsts = b"".join(fields[::width]).split(b"\n")
        if len(fields) != count * width + 1 or len(firsts) != count + 1:
            return None
        return lambda index: fields[index::width] if index else firsts[:-1]

    def _quoted(self, text: bytes, count: int) -> Column | None:
        """The same, if some fields are in quotes."""
        lines = text.decode("utf-8", "surrogateescape").split("\n")[:-1]
        try:
            rows = [*csv.reader(lines, delimiter=self.delimiter, strict=True)]
        except csv.Error:
            return None
        if len(rows) != count or {*map(len, rows)} != {self._width}:
            return None
        columns = [*zip(*rows, strict=True)]
        return lambda index: [x.encode("utf-8", "surrogateescape") for x in columns[index]]

    def _times(self, column: Column) -> Integers | None:
        parts = [column(index) for index in self.time]
        texts = [*map(b" ".join, zip(*parts, strict=True))] if len(parts) > 1 else parts[0]
        times = self.time_format.column(texts)
        if times is None or not self.meaning.earlier:
            return times
        times = times - self.meaning.earlier
        return None if int(times.min()) < 0 else times

    def _meters(self, column: Column, count: int) -> list[str] | None:
        if self.beside.account >= 0:
            names = column(self.beside.account)
        elif self.constant is not None:
            return [self.constant] * count
        else:
            names = column(self.meter)
        try:
            return [*map(self._names.__getitem__, names)]
        except KeyError:
            return [*map(self._names.__getitem__, names)] if self._learn(set(names)) else None

    def _learn(self, names: set[bytes]) -> bool:
        """Check ids once and for all; false if one of them is none."""
        if len(self._names) > MOST_NAMES:
            self._names.clear()
        try:
            known = {name: name.decode().strip(_BLANK) for name in names}
        except UnicodeDecodeError:
            return False
        self._names |= {name: meter for name, meter in known.items() if _is_meter(meter)}
        return self._names.keys() >= names

    def _one_by_one(self, lines: list[bytes], first: int, rejects: list[Reject]) -> "_Rows":
        meters, offsets, times, watts = [], [], [], []
        for offset, line in enumerate(lines, first):
            if not line:
                continue  # holds nothing that could be lost
            try:
                meter, time, value = self._judged(line)
            except BadRecord as why:
                rejects.append(Reject(offset, why.reason))
            else:
                meters.append(meter)
                offsets.append(offset)
                times.append(time)
                watts.append(value)
        return _Rows(meters, offsets, np.array(times, dtype=np.int64), watts)

    def _judged(self, line: bytes) -> tuple[str, int, float]:
        """What one row says. BadRecord: it says nothing, and why."""
        if is_too_large(line):
            raise BadRecord(Reason.TOO_LARGE)
        try:
            fields = self._split(line.decode("utf-8", "surrogateescape"))
        except csv.Error:
            raise BadRecord(Reason.WRONG_SHAPE) from None
        if len(fields) < self.needed:
            raise BadRecord(Reason.WRONG_SHAPE)
        fields = [field.strip(_BLANK) for field in fields]
        value = self._number(fields[self.value])  # first: it may tell that no row is to be taken
        meter, time = self._meter_of(fields), self._time_of(fields)
        if isinf(value):
            raise BadRecord(Reason.BAD_VALUE)
        return meter, time, nan if self.beside.is_absent(fields) else value

    def _meter_of(self, fields: list[str]) -> str:
        meter = fields[self.meter] if self.constant is None else self.constant
        if self.beside.account >= 0 and fields[self.beside.account]:
            meter = fields[self.beside.account]
        if _ESCAPED.search(meter):
            raise BadRecord(Reason.NOT_UTF8)
        if not _is_meter(meter):
            raise BadRecord(Reason.BAD_METER)
        return meter

    def _time_of(self, fields: list[str]) -> int:
        try:
            time = self.time_format.one(" ".join(fields[index] for index in self.time))
        except (ValueError, OverflowError):
            raise BadRecord(Reason.BAD_TIME) from None
        if time < self.meaning.earlier:
            raise BadRecord(Reason.BAD_TIME)
        return time - self.meaning.earlier

    def _floats(self, texts: list[bytes]) -> list[float] | None:
        """What each text means, if all are numbers, or say that there is none."""
        values = None if self.comma else _plain_floats(texts)
        if values is None or not isfinite(sum(values)):
            values = [self._number(text.decode("utf-8", "replace").strip(_BLANK)) for text in texts]
        return None if any(map(isinf, values)) else values

    def _number(self, text: str) -> float:
        """What a value means: NaN if there is none, infinity if it is no number.

        InvalidSetting: the file writes its numbers otherwise. Why all of it is refused then: rows
        that are rejected one by one would tell which readings have a fraction, or how large they
        are.
        """
        plain = text.translate(_SWAPPED) if self.comma else text
        if _NUMBER.fullmatch(plain):
            return float(plain)
        if grouped := _GROUPED.fullmatch(plain):
            return float(plain.replace(grouped[1], ""))
        if text.lower() in NOTHING_READ:
            return nan
        if _COMMAS.fullmatch(plain):
            problem = "is not the file's: a value groups its digits otherwise"
            instead = f"write --decimal {'point' if self.comma else 'comma'}"
            raise InvalidSetting("--decimal", problem, instead)
        return inf

    def _split(self, line: str) -> list[str]:
        if '"' not in line:
            return line.split(self.delimiter)
        return next(csv.reader([line], delimiter=self.delimiter, strict=True))


class _Rows(NamedTuple):
    """Good rows as columns."""

    meters: Sequence[str]
    offsets: Sequence[int]
    times: Integers
    watts: Sequence[float]


_NOTHING = ((), (), (), ())


def _plain_floats(texts: list[bytes]) -> list[float] | None:
    """What they mean, if all are numbers as most are."""
    try:
        values = [*map(float, texts)]
    except ValueError:
        return None
    return None if b"_" in b"".join(texts) else values


def _is_meter(text: str) -> bool:
    return 0 < len(text) <= LONGEST_METER and not _CONTROLS.search(text)
