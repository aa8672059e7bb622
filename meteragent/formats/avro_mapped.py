"""Mapped Avro -> columns, sooner than document by document.

Of a schema whose records hold records, and in the end what `avro_columns` reads. What is not surely
good, and what its mapping finds in lists, is read by `mapped.MappedDecoder`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from meteragent.formats.avro import AvroBody
from meteragent.formats.avro_columns import Column, Cursor, FieldReader, kind_of, read, reader_of
from meteragent.formats.avro_schema import RecordSchema
from meteragent.formats.forms import MessageDecoder, Numbers, Payloads
from meteragent.formats.mapped import MappedDecoder
from meteragent.formats.mapped_one import FieldPlace
from meteragent.formats.mapping import Mapping as InputMapping
from meteragent.formats.merging import merged
from meteragent.privacy.arrays import Integers, Mask
from meteragent.stream.readings import Readings

Path = tuple[str, ...]
"""To a field, by names."""


def mapped(mapping: InputMapping, schema: RecordSchema) -> MessageDecoder:
    """What reads records of this schema as a mapping says: as soon as it can be done."""
    fields = [*_fields(schema.one, ())]
    readers = [(path, reader_of(its, asked=False)) for path, its in fields]
    flat = [(path, reader) for path, reader in readers if reader is not None]
    judge = MappedDecoder(mapping, body=AvroBody(schema))
    if len(flat) < len(fields) or judge.documents.loops:
        return judge
    return MappedAvro(mapping, schema, flat)


def _fields(record: Mapping[str, Any], inside: Path) -> Iterator[tuple[Path, Any]]:
    """The fields of a record, and those of records in it, as they are written, with schemas."""
    for field in record["fields"]:
        its, path = field["type"], (*inside, field["name"])
        if isinstance(its, dict) and its["type"] == "record":
            yield from _fields(its, path)
        else:
            yield path, its


class MappedAvro(MappedDecoder):
    """Decodes batches of one schema."""

    def __init__(
        self,
        mapping: InputMapping,
        schema: RecordSchema,
        readers: Sequence[tuple[Path, FieldReader]],
    ) -> None:
        super().__init__(mapping, body=AvroBody(schema))
        self._readers = readers
        self._kinds = {path: kind_of(its) for path, its in _fields(schema.one, ())}

    def decode(self, values: Payloads, offsets: Numbers, timestamps: Numbers) -> Readings:
        """The columns of a batch, as `MessageDecoder` asks for them."""
        cursor, columns = read(self._readers, [value or b"" for value in values])
        found = self._many.found_in(_AvroEntries(cursor, columns, self._kinds))
        if found is None:
            return super().decode(values, offsets, timestamps)
        whole = self._readings([found], {}, offsets, timestamps)
        if cursor.good.all():
            return whole
        odd = np.flatnonzero(~cursor.good).tolist()
        its = [[column[at] for at in odd] for column in (offsets, timestamps)]
        judged = super().decode([values[at] for at in odd], *its)
        return merged(whole, judged, offsets[-1] + 1)


class _AvroEntries:
    """Good messages, as columns."""

    def __init__(
        self, cursor: Cursor, columns: Mapping[Path, Column], kinds: Mapping[Path, object]
    ) -> None:
        self._cursor = cursor
        self._columns = columns
        self._kinds = kinds
        self._of: Integers = np.flatnonzero(cursor.good)

    @property
    def of(self) -> Integers:
        return self._of

    def may_say(self, place: FieldPlace) -> bool:
        return any(path[0] == place.steps[0] for path in self._columns)

    def column(self, place: FieldPlace) -> list[Any]:
        its = self._columns[place.steps]
        taken = self._cursor.good[its.rows]
        values = _SAID[self._kinds[place.steps]](self._cursor.text, its, taken)
        if len(values) == len(self._of):
            return values
        said = dict(zip(its.rows[taken].tolist(), values, strict=True))
        return [*map(said.get, self._of.tolist())]


def _texts(text: bytes, its: Column, taken: Mask) -> list[Any]:
    spans = zip(its.values[taken].tolist(), its.ends[taken].tolist(), strict=True)
    return [text[begin:end].decode() for begin, end in spans]


def _numbers(_: bytes, its: Column, taken: Mask) -> list[Any]:
    numbers: list[Any] = its.values[taken].tolist()
    return numbers


def _lists(_: bytes, its: Column, taken: Mask) -> list[Any]:
    values = its.values[np.repeat(taken, its.ends)].tolist()
    ends = np.cumsum(its.ends[taken]).tolist()
    return [values[begin:end] for begin, end in pairwise([0, *ends])]


_SAID: dict[object, Callable[[bytes, Column, Mask], list[Any]]] = {
    "string": _texts,
    **dict.fromkeys(("int", "long", "float", "double"), _numbers),
    "array": _lists,
}
"""What each kind of a field says, as documents would; others are left to those."""
