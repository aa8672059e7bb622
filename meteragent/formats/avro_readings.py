"""Canonical readings and blocks in Avro -> columns, sooner than document by document.

A record with the fields `meter_id`, `ts` and `value`, or `meter_id`, `start`, `interval_ms` and
`values`, whatever else it has. What is not surely good is judged by `decoder.DocumentDecoder`.
"""

from collections.abc import Mapping

import numpy as np

from meteragent.formats.avro import AvroBody
from meteragent.formats.avro_columns import Column, Cursor, FieldReader, kind_of, read, reader_of
from meteragent.formats.avro_schema import RecordSchema
from meteragent.formats.decoder import DocumentDecoder
from meteragent.formats.forms import MessageDecoder, Numbers, Payloads
from meteragent.formats.json_many import packed
from meteragent.formats.json_one import LATEST, MOST_VALUES
from meteragent.formats.mapped_one import is_meter
from meteragent.formats.merging import merged
from meteragent.privacy.arrays import Integers, Mask
from meteragent.privacy.domain import Watts
from meteragent.stream.readings import Readings

MOST_NAMES = 2**18
"""Ids that are remembered; then all of them are forgotten."""

_WATTS = ("", "W")
"""How a message says that it is in watts, or says nothing."""
_TEXT, _WHOLE, _FLOATS = {"string"}, {"int", "long"}, {"float", "double"}
_KINDS: Mapping[str, set[str]] = {
    **dict.fromkeys(("meter_id", "account", "unit"), _TEXT),
    **dict.fromkeys(("ts", "start", "interval_ms"), _WHOLE),
    "value": _FLOATS | _WHOLE,
    "values": {"array"},
}
"""What canonical fields are, where they are read here."""
_READING, _BLOCK = {"meter_id", "ts", "value"}, {"meter_id", "start", "interval_ms", "values"}


def canonical(schema: RecordSchema) -> MessageDecoder:
    """What reads canonical records of this schema: as soon as it can be done."""
    judge = DocumentDecoder(AvroBody(schema))
    fields = schema.fields
    readers = {name: reader_of(its, asked=name in _KINDS) for name, its in fields.items()}
    flat = {name: reader for name, reader in readers.items() if reader is not None}
    is_block = "value" not in fields
    needed = _BLOCK if is_block else _READING
    fits = flat.keys() == fields.keys() and needed <= fields.keys() and _are_fit(fields)
    return AvroReadings(flat, judge, is_block=is_block) if fits else judge


def _are_fit(fields: Mapping[str, object]) -> bool:
    """Whether canonical fields hold what they are to hold."""
    found = {name: kind_of(fields[name]) for name in _KINDS.keys() & fields.keys()}
    return all(kind in _KINDS[name] for name, kind in found.items())


class AvroReadings:
    """Decodes batches of one schema."""

    def __init__(
        self, fields: Mapping[str, FieldReader], judge: DocumentDecoder, *, is_block: bool
    ) -> None:
        self._fields = [*fields.items()]
        self._judge = judge
        self._is_block = is_block
        self._names: dict[bytes, str | None] = {}

    def decode(self, values: Payloads, offsets: Numbers, timestamps: Numbers) -> Readings:
        """The columns of a batch, as `MessageDecoder` asks for them."""
        cursor, columns = read(self._fields, [value or b"" for value in values])
        meters = self._meters(cursor, columns)
        starts, intervals, counts, watts = self._numbers(cursor, columns)
        self._refuse_units(cursor, columns)
        whole = Readings(
            meters,
            np.frombuffer(packed(offsets), np.int64),
            np.frombuffer(packed(timestamps), np.int64),
            counts,
            starts,
            intervals,
            watts,
            [],
            offsets[-1] + 1,
        )
        if cursor.good.all():
            return whole
        odd = np.flatnonzero(~cursor.good).tolist()
        its = [[column[at] for at in odd] for column in (offsets, timestamps)]
        judged = self._judge.decode([values[at] for at in odd], *its)
        return merged(whole.chosen(cursor.good, [], 0), judged, offsets[-1] + 1)

    def _meters(self, cursor: Cursor, columns: Mapping[str, Column]) -> list[str]:
        """Whose each is: the account's, where there is one."""
        meters = self._named(cursor, columns["meter_id"])
        if "account" in columns:
            accounts = self._named(cursor, columns["account"])
            for row in columns["account"].rows.tolist():
                meters[row] = accounts[row]
        return meters

    def _named(self, cursor: Cursor, column: Column) -> list[str]:
        text, names = cursor.text, self._names
        if len(names) > MOST_NAMES:
            names.clear()
        spans = zip(column.values.tolist(), column.ends.tolist(), strict=True)
        written = [text[begin:end] for begin, end in spans]
        for new in {*written} - names.keys():
            names[new] = _name(new)
        found = [*map(names.__getitem__, written)]
        if len(found) == len(cursor.good) and None not in found:
            return [name or "" for name in found] if "" in found else found  # type: ignore[return-value]
        return self._placed(cursor, column, found)

    def _placed(self, cursor: Cursor, column: Column, found: list[str | None]) -> list[str]:
        """A name for every message; what has none, or a bad one, says so."""
        placed = [""] * len(cursor.good)
        for row, name in zip(column.rows.tolist(), found, strict=True):
            placed[row] = name or ""
            cursor.good[row] &= name is not None
        return placed

    def _numbers(
        self, cursor: Cursor, columns: Mapping[str, Column]
    ) -> tuple[Integers, Integers, Integers, Watts]:
        """Starts, intervals, counts, watts."""
        good = cursor.good
        if not self._is_block:
            starts, watts = _all(cursor, columns["ts"]), _all(cursor, columns["value"])
            good &= (starts >= 0) & (starts <= LATEST) & np.isfinite(watts)
            ones = np.ones_like(starts)
            return starts, ones, ones, watts.astype(np.float64)
        starts, intervals = (_all(cursor, columns[name]) for name in ("start", "interval_ms"))
        lists = columns["values"]
        counts = np.zeros_like(starts)
        counts[lists.rows] = lists.ends
        good &= (starts >= 0) & (starts <= LATEST) & (counts > 0) & (counts <= MOST_VALUES)
        good &= (intervals >= 1) & (intervals <= LATEST)
        good &= (counts - 1) <= (LATEST - starts) // np.maximum(intervals, 1)
        odd = ~np.isfinite(lists.values)
        if odd.any():
            good[np.repeat(lists.rows, lists.ends)[odd]] = False
        return starts, intervals, counts, lists.values

    def _refuse_units(self, cursor: Cursor, columns: Mapping[str, Column]) -> None:
        """Leave what is not in watts to the judge."""
        if "unit" in columns:
            units = self._named(cursor, columns["unit"])
            cursor.good &= np.array([unit in _WATTS for unit in units])


def _all(cursor: Cursor, column: Column) -> Integers:
    """A number for every message; what has none is not good."""
    if len(column.rows) == len(cursor.good):
        numbers: Integers = column.values
        return numbers
    found = np.zeros(len(cursor.good), column.values.dtype)
    found[column.rows] = column.values
    lacking: Mask = np.ones(len(found), dtype=np.bool_)
    lacking[column.rows] = False
    cursor.good &= ~lacking
    return found


def _name(written: bytes) -> str | None:
    """A meter's id, or None: it is none."""
    try:
        name = written.decode()
    except UnicodeDecodeError:
        return None
    return name if is_meter(name) else None
