"""Many Avro messages of one flat schema, read field by field, each of all messages at once.

Only what is surely plain is read here: a message is `good` when every field stood where its
schema has it and the last one ended where the message does. Whatever is not, is to be judged by
itself, by fastavro (`avro`).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from meteragent.privacy.arrays import Integers, Mask, counted
from meteragent.privacy.domain import Watts

_ROOM = 16
_DOUBLE, _FLOAT = 8, 4
_LAST_ASCII = 0x7F


def _bits(word: int) -> NDArray[np.uint64]:
    """A word as an array without axes, which is what numpy combines soonest with others."""
    return np.array(word, np.uint64)


_MORE, _REST = _bits(0x8080808080808080), _bits(0x7F7F7F7F7F7F7F7F)
"""In each byte, the bit that says that another group of seven bits follows, and these seven."""
_ONE = _bits(1)
_JOINS = tuple(
    (*map(_bits, join),)
    for join in (
        (0x007F007F007F007F, 0x7F007F007F007F00, 1),
        (0x00003FFF00003FFF, 0x3FFF00003FFF0000, 2),
        (0x000000000FFFFFFF, 0x0FFFFFFF00000000, 4),
    )
)
"""Of groups side by side, which stay and which move, and by how many bits."""


class Cursor:
    """Messages side by side, and how far each was read."""

    def __init__(self, messages: Sequence[bytes]) -> None:
        self.text = b"".join((*messages, bytes(_ROOM)))
        """All of them, and room for whatever would stand behind the last one."""
        lengths = np.fromiter(map(len, messages), np.int64, len(messages))
        self.ends: Integers = np.cumsum(lengths)
        self.at: Integers = self.ends - lengths
        self.good = np.ones(len(messages), dtype=np.bool_)
        last = len(self.text) - _ROOM
        self._last = np.array(last)
        self._bytes = np.frombuffer(self.text, np.uint8)
        self._floats = {
            size: np.ndarray((last + 1,), f"<f{size}", self.text, strides=(1,))
            for size in (_FLOAT, _DOUBLE)
        }
        """The float that begins at each byte."""
        self._words = np.ndarray((last + 1,), "<u8", self.text, strides=(1,))
        """The eight bytes that do."""

    def bytes_at(self, places: Integers) -> NDArray[np.uint8]:
        """What stands there; behind the end, anything."""
        found: NDArray[np.uint8] = self._bytes[np.minimum(places, self._last)]
        return found

    def numbers(self, rows: Integers) -> Integers:
        """The next number of each of these messages, which zigzags.

        It has groups of seven bits, and ends with the first byte that says that no other one
        follows. One of more than eight groups is not good, whatever is said of it.
        """
        at = self.at[rows]
        words = self._words[np.minimum(at, self._last)]
        last = ~words & _MORE
        last &= -last
        its = last | (last - _ONE)
        self.good[rows] &= last.astype(np.bool_)
        self.at[rows] = at + (np.bitwise_count(its) >> 3)
        words &= its
        words &= _REST
        for stay, move, by in _JOINS:
            words = words & stay | (words & move) >> by
        numbers: Integers = (words >> _ONE ^ -(words & _ONE)).view(np.int64)
        return numbers

    def skip(self, rows: Integers, sizes: Integers | int) -> Integers:
        """Go on by so many bytes, and answer from where. What has not as many, is not good."""
        starts = self.at[rows]
        fits = (sizes >= 0) & (sizes <= self.ends[rows] - starts)
        self.good[rows] &= fits
        self.at[rows] = starts + sizes * fits
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
    if floats.itemsize == _DOUBLE:
        return floats.astype(np.float64, copy=False)
    with np.errstate(invalid="ignore"):  # a NaN that signals is none that we would hear
        return floats.astype(np.float64)


class Column(NamedTuple):
    """What a field holds, of the messages that hold it; where they do not is left out."""

    rows: Integers
    """Which messages they are."""
    values: Any
    """Numbers; or for texts where they begin; or for lists all values, one behind the other."""
    ends: Any = None
    """For texts where they end; for lists how many values each has."""


Field = TypeVar("Field")
FieldReader = Callable[[Cursor, Integers], Column]


def reader_of(schema: Any, *, asked: bool = True) -> FieldReader | None:  # noqa: ANN401 - as its parser's
    """What reads a field, or None: it is not flat. What is not asked for is looked through."""
    if isinstance(schema, list):
        return _of_union(schema, asked=asked)
    if isinstance(schema, dict):
        kind = schema["type"]
        if kind == "array":
            return _of_list(schema["items"])
        if kind == "enum":
            return _of_names(len(schema["symbols"]))
        if kind == "fixed":
            return _of_bytes(int(schema["size"]))
        return reader_of(kind, asked=asked) if "logicalType" not in schema else None
    return _SCALARS.get(schema) if asked or schema != "string" else _unasked_text


def kind_of(schema: object) -> object:
    """What a flat field holds, if anything."""
    if isinstance(schema, list):
        return next((kind_of(one) for one in schema if one != "null"), None)
    return kind_of(schema["type"]) if isinstance(schema, dict) else schema


def _number(cursor: Cursor, rows: Integers) -> Column:
    return Column(rows, cursor.numbers(rows))


def _double(cursor: Cursor, rows: Integers) -> Column:
    return Column(rows, cursor.floats(cursor.skip(rows, _DOUBLE), _DOUBLE))


def _float(cursor: Cursor, rows: Integers) -> Column:
    return Column(rows, cursor.floats(cursor.skip(rows, _FLOAT), _FLOAT))


def _text(cursor: Cursor, rows: Integers) -> Column:
    starts = cursor.skip(rows, cursor.numbers(rows))
    return Column(rows, starts, cursor.at[rows])


def _of_bytes(size: int) -> FieldReader:
    """Of so many bytes, whatever they are."""
    return lambda cursor, rows: Column(rows, cursor.skip(rows, size))


def _unasked_text(cursor: Cursor, rows: Integers) -> Column:
    """One that nobody will look at; it has to be text all the same."""
    column = _text(cursor, rows)
    sizes = column.ends - column.values
    foreign = cursor.bytes_at(np.repeat(column.values, sizes) + counted(sizes)) > _LAST_ASCII
    for nth in {*np.repeat(np.arange(len(rows)), sizes)[foreign].tolist()}:
        try:
            cursor.text[column.values[nth] : column.ends[nth]].decode()
        except UnicodeDecodeError:
            cursor.good[rows[nth]] = False
    return column


def _of_names(names: int) -> FieldReader:
    """Of one of so many names, by its number; below zero they are counted from the end."""

    def name(cursor: Cursor, rows: Integers) -> Column:
        column = _number(cursor, rows)
        cursor.good[rows] &= (column.values >= -names) & (column.values < names)
        return column

    return name


_SCALARS: dict[str, FieldReader] = {
    **dict.fromkeys(("int", "long"), _number),
    "double": _double,
    "float": _float,
    **dict.fromkeys(("string", "bytes"), _text),
    "boolean": _of_bytes(1),
}


def _of_union(schemas: list[Any], *, asked: bool) -> FieldReader | None:
    """Of nothing, or one thing."""
    others = [at for at, schema in enumerate(schemas) if schema != "null"]
    reader = reader_of(schemas[others[0]], asked=asked) if len(others) == 1 else None
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
        counts *= plain
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
    fields: Sequence[tuple[Field, FieldReader]], messages: Sequence[bytes]
) -> tuple[Cursor, dict[Field, Column]]:
    """All fields of all messages. Columns hold anything for messages that are not good."""
    cursor, rows = Cursor(messages), np.arange(len(messages))
    columns = {name: reader(cursor, rows) for name, reader in fields}
    cursor.good &= cursor.at == cursor.ends
    return cursor, columns
