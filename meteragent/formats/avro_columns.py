"""Many Avro messages of one flat schema, read field by field, each of all messages at once.

Only what is surely plain is read here: a message is `good` when every field stood where its
schema has it and the last one ended where the message does. Whatever is not, is to be judged by
itself, by fastavro (`avro`).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meteragent.privacy.arrays import Integers, Mask, counted
from meteragent.privacy.domain import Watts

GROUPS = 9
"""Of seven bits, in the longest numbers that are read here."""
_ROOM = 16
_DOUBLE, _FLOAT = 8, 4


class Cursor:
    """Messages side by side, and how far each was read."""

    def __init__(self, messages: Sequence[bytes]) -> None:
        self.text = b"".join(messages)
        lengths = np.fromiter(map(len, messages), np.int64, len(messages))
        self.ends: Integers = np.cumsum(lengths)
        self.at: Integers = self.ends - lengths
        self.good = np.ones(len(messages), dtype=np.bool_)
        padded = self.text + bytes(_ROOM)
        self._last = len(self.text)
        self._bytes = np.frombuffer(padded, np.uint8)
        self._floats = {
            size: np.ndarray((self._last + 1,), f"<f{size}", padded, strides=(1,))
            for size in (_FLOAT, _DOUBLE)
        }
        """The float that begins at each byte."""

    def bytes_at(self, places: Integers) -> NDArray[np.uint8]:
        """What stands there; behind the end, anything."""
        return self._bytes[np.minimum(places, self._last)]

    def numbers(self, rows: Integers) -> Integers:
        """The next number of each of these messages, which zigzags."""
        at, found, left = self.at[rows], np.zeros(len(rows), np.int64), np.arange(len(rows))
        for group in range(GROUPS):
            byte = self.bytes_at(at[left]).astype(np.int64)
            at[left] += 1
            found[left] |= (byte & 0x7F) << 7 * group
            left = left[byte > 0x7F]  # noqa: PLR2004 - another group follows
            if not len(left):
                break
        self.good[rows[left]] = False
        self.at[rows] = at
        numbers: Integers = found >> 1 ^ -(found & 1)
        return numbers

    def skip(self, rows: Integers, sizes: Integers | int) -> Integers:
        """Go on by so many bytes, and answer from where. What has not as many, is not good."""
        starts = self.at[rows]
        fits = (sizes >= 0) & (sizes <= self.ends[rows] - starts)
        self.good[rows] &= fits
        self.at[rows] = starts + np.where(fits, sizes, 0)
        return starts

    def floats(self, places: Integers, size: int) -> Watts:
        """The floats that begin there."""
        return _wide(self._floats[size][np.minimum(places, self._last)])

    def side_by_side(self, starts: Integers, counts: Integers, size: int) -> Watts:
        """The floats that begin there, and those right behind each."""
        ends = (starts + counts * size).tolist()
        pieces = [self.text[at:end] for at, end in zip(starts.tolist(), ends, strict=True)]
        return _wide(np.frombuffer(b"".join(pieces), f"<f{size}"))


def _wide(floats: NDArray[np.floating[Any]]) -> Watts:
    with np.errstate(invalid="ignore"):  # a NaN that signals is none that we would hear
        return floats.astype(np.float64, copy=False)


class Column(NamedTuple):
    """What a field holds, of the messages that hold it; where they do not is left out."""

    rows: Integers
    """Which messages they are."""
    values: Any
    """Numbers; or for texts where they begin; or for lists all values, one behind the other."""
    ends: Any = None
    """For texts where they end; for lists how many values each has."""


FieldReader = Callable[[Cursor, Integers], Column]


def reader_of(schema: Any) -> FieldReader | None:  # noqa: ANN401 - as its parser's
    """What reads a field, or None: it is not flat."""
    if isinstance(schema, list):
        return _of_union(schema)
    if isinstance(schema, dict):
        kind = schema["type"]
        if kind == "array":
            return _of_list(schema["items"])
        if kind == "enum":
            return _number
        return reader_of(kind) if "logicalType" not in schema else None
    return _SCALARS.get(schema)


def _number(cursor: Cursor, rows: Integers) -> Column:
    return Column(rows, cursor.numbers(rows))


def _double(cursor: Cursor, rows: Integers) -> Column:
    return Column(rows, cursor.floats(cursor.skip(rows, _DOUBLE), _DOUBLE))


def _float(cursor: Cursor, rows: Integers) -> Column:
    return Column(rows, cursor.floats(cursor.skip(rows, _FLOAT), _FLOAT))


def _text(cursor: Cursor, rows: Integers) -> Column:
    starts = cursor.skip(rows, cursor.numbers(rows))
    return Column(rows, starts, cursor.at[rows])


_SCALARS: dict[str, FieldReader] = {
    **dict.fromkeys(("int", "long"), _number),
    "double": _double,
    "float": _float,
    **dict.fromkeys(("string", "bytes"), _text),
}


def _of_union(schemas: list[Any]) -> FieldReader | None:
    """Of nothing, or one thing."""
    others = [at for at, schema in enumerate(schemas) if schema != "null"]
    reader = reader_of(schemas[others[0]]) if len(others) == 1 else None
    if reader is None:
        return None
    its, read = others[0], reader

    def union(cursor: Cursor, rows: Integers) -> Column:
        which = cursor.numbers(rows)
        cursor.good[rows] &= (which >= 0) & (which < len(schemas))
        return read(cursor, rows[which == its])

    return union


def _of_list(schema: Any) -> FieldReader | None:  # noqa: ANN401 - as its parser's
    """Of floats in one piece, or of floats and nothing where all of them are floats."""
    optional = isinstance(schema, list) and len(schema) == 2 and "null" in schema  # noqa: PLR2004
    mark = 2 * (1 - schema.index("null")) if optional else None
    item = schema[1 - schema.index("null")] if optional else schema
    size = {"double": _DOUBLE, "float": _FLOAT}.get(item) if isinstance(item, str) else None
    if size is None:
        return None
    stride = size + (mark is not None)

    def floats(cursor: Cursor, rows: Integers) -> Column:
        counts = cursor.numbers(rows)
        room = cursor.ends[rows] - cursor.at[rows]
        plain: Mask = (counts > 0) & (counts <= room // stride)
        cursor.good[rows] &= plain
        counts = np.where(plain, counts, 0)
        starts = cursor.skip(rows, counts * stride)
        last = cursor.bytes_at(cursor.skip(rows, 1)) == 0  # there is no other piece
        cursor.good[rows] &= last  # not at once: it would undo what `skip` says of them
        if mark is None:
            return Column(rows, cursor.side_by_side(starts, counts, size), counts)
        places = np.repeat(starts, counts) + stride * counted(counts)
        odd = cursor.bytes_at(places) != mark
        cursor.good[np.repeat(rows, counts)[odd]] = False
        return Column(rows, cursor.floats(places + 1, size), counts)

    return floats


def read(
    fields: Sequence[tuple[str, FieldReader]], messages: Sequence[bytes]
) -> tuple[Cursor, dict[str, Column]]:
    """All fields of all messages. Columns hold anything for messages that are not good."""
    cursor, rows = Cursor(messages), np.arange(len(messages))
    columns = {name: reader(cursor, rows) for name, reader in fields}
    cursor.good &= cursor.at == cursor.ends
    return cursor, columns
