"""Avro schemas that messages are read by, and those that they are not.

A schema is somebody else's, and so is every message: neither may cost more than a bounded multiple
of its size. So schemas are refused that hold themselves (a message could be nested as deep as it is
long) and those of which a few bytes, or none, can say very many values.
"""

from typing import Any, NamedTuple

from fastavro import parse_schema
from pydantic_core import from_json

from meteragent.formats.registered import Schema, SchemaRefused, Shape

Parsed = dict[str, Any]
Fields = dict[str, Any]
"""What each holds, by its name."""

MOST_VALUES_OF_A_BYTE = 8
MOST_VALUES = 10_000
"""Of a record, before any of its lists."""
MOST_BYTES = 2**20
"""Of a schema's text."""

_PRIMITIVES = {"null": 0, "boolean": 1, "int": 1, "long": 1, "float": 4, "double": 8}
_PRIMITIVES |= {"bytes": 1, "string": 1}
"""The least bytes of each."""


BEHIND = b"\x9bmeteragt"
"""Stands behind each message of those that are read together; no beginning of it is its end."""

_BEHIND = {"type": "fixed", "name": "Behind__", "size": len(BEHIND)}


class RecordSchema(NamedTuple):
    """How messages of a schema are read."""

    one: Parsed
    many: Parsed
    """Of all of them, one after the other, each with `BEHIND` behind it."""

    @property
    def fields(self) -> Fields:
        """Of a message."""
        return {field["name"]: field["type"] for field in self.one["fields"]}


def parsed(schema: Schema) -> RecordSchema:
    """A record's schema, with those that it refers to. SchemaRefused: it is not read."""
    if schema.kind != "AVRO":
        raise SchemaRefused
    try:
        one, many = _both(schema)
    except SchemaRefused:
        raise
    except Exception:  # noqa: BLE001 - whatever its parser says of it; it may quote the schema
        one = many = None
    if not isinstance(one, dict) or one.get("type") != "record":
        raise SchemaRefused
    return RecordSchema(one, many)


def _both(schema: Schema) -> tuple[Any, Any]:
    named: dict[str, Any] = {}
    written = _written(schema, named)
    fields = [{"name": "said", "type": written}, {"name": "behind", "type": _BEHIND}]
    together = {"type": "record", "name": "Together__", "fields": fields}
    field = {"name": "all", "type": {"type": "array", "items": together}}
    many = parse_schema({"type": "record", "name": "Many__", "fields": [field]}, {**named})
    one = parse_schema(written, named)
    _Judge(named).least(one, ())
    return one, many


def _written(schema: Schema, named: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON is anything
    """As it was written, once those are known that it refers to."""
    for reference in schema.references.values():
        parse_schema(_written(reference, named), named)
    if len(schema.text) > MOST_BYTES:
        raise SchemaRefused
    return _in_milliseconds(from_json(schema.text))


def _in_milliseconds(schema: Any) -> Any:  # noqa: ANN401 - JSON is anything
    """The same, with times in milliseconds as the numbers that they are."""
    if isinstance(schema, list):
        return [*map(_in_milliseconds, schema)]
    if not isinstance(schema, dict):
        return schema
    if schema.get("logicalType") == "timestamp-millis" and schema.get("type") == "long":
        return "long"
    return {key: _in_milliseconds(its) for key, its in schema.items()}


class _Judge:
    """Works out what messages of a schema can hold."""

    def __init__(self, named: dict[str, Any]) -> None:
        self._named = named
        self._known: dict[str, tuple[int, int]] = {}

    def least(self, schema: Any, inside: tuple[str, ...]) -> tuple[int, int]:  # noqa: ANN401
        """The least bytes of a value, and how many values it holds then, at most.

        SchemaRefused: it holds itself, or too much.
        """
        if isinstance(schema, list):
            each = [self.least(one, inside) for one in schema]
            return 1 + min(size for size, _ in each), max(values for _, values in each)
        if isinstance(schema, str):
            if schema in _PRIMITIVES:
                return _PRIMITIVES[schema], 1
            return self._of_name(schema, self._named[schema], inside)
        return self._of_table(schema, schema["type"], inside)

    def _of_table(self, schema: Parsed, kind: Any, inside: tuple[str, ...]) -> tuple[int, int]:  # noqa: ANN401
        if kind in ("record", "error", "enum", "fixed"):
            return self._of_name(schema["name"], schema, inside)
        if kind not in ("array", "map"):
            return self.least(kind, inside)
        size, values = self.least(schema["items" if kind == "array" else "values"], inside)
        if values > MOST_VALUES_OF_A_BYTE * (size + (kind == "map")):
            raise SchemaRefused
        return 1, 1

    def _of_name(self, name: str, schema: Parsed, inside: tuple[str, ...]) -> tuple[int, int]:
        if name in inside:
            raise SchemaRefused
        if name not in self._known:
            self._known[name] = self._of_definition(schema, (*inside, name))
        return self._known[name]

    def _of_definition(self, schema: Parsed, inside: tuple[str, ...]) -> tuple[int, int]:
        if schema["type"] == "enum":
            return 1, 1
        if schema["type"] == "fixed":
            return int(schema["size"]), 1
        each = [self.least(field["type"], inside) for field in schema["fields"]]
        size, values = (1 + sum(some) for some in zip(*each, strict=True)) if each else (1, 1)
        if values > MOST_VALUES:
            raise SchemaRefused
        return size - 1, values


def shape_of(schema: Schema) -> Shape | None:
    """What the wheel is told of a schema; nothing where values are to be said otherwise first.

    Precondition: it is not refused.
    """
    named: dict[str, Any] = {}
    return _shape(parse_schema(_written(schema, named), named), named)


def _shape(schema: Any, named: dict[str, Any]) -> Shape | None:  # noqa: ANN401 - as its parser's
    if isinstance(schema, list):
        kinds = [_shape(one, named) for one in schema]
        return None if None in kinds else ("union", kinds)
    if isinstance(schema, str):
        return _SHAPES.get(schema) or _shape(named[schema], named)
    return None if "logicalType" in schema else _of_table(schema, schema["type"], named)


def _of_table(schema: Parsed, kind: Any, named: dict[str, Any]) -> Shape | None:  # noqa: ANN401
    if kind in ("array", "map"):
        item = _shape(schema["items" if kind == "array" else "values"], named)
        return item and ("list" if kind == "array" else "map", item)
    if kind in ("enum", "fixed"):
        return (kind, schema["symbols" if kind == "enum" else "size"])
    if kind not in ("record", "error"):
        return _shape(kind, named)
    fields = [(field["name"], _shape(field["type"], named)) for field in schema["fields"]]
    return None if any(shape is None for _, shape in fields) else ("record", fields)


_SHAPES: dict[str, Shape] = {
    **{kind: (kind,) for kind in ("null", "boolean", "float", "double", "bytes")},
    **dict.fromkeys(("int", "long"), ("whole",)),
    "string": ("text",),
}
