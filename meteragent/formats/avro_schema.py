"""Avro schemas that messages are read by, and those that they are not.

A schema is somebody else's, and so is every message: neither may cost more than a bounded multiple
of its size. So schemas are refused that hold themselves (a message could be nested as deep as it is
long) and those of which a few bytes, or none, can say very many values.
"""

from typing import Any

from fastavro import parse_schema
from pydantic_core import from_json

from meteragent.formats.registered import Schema, SchemaRefused

Parsed = dict[str, Any]

MOST_VALUES_OF_A_BYTE = 8
MOST_VALUES = 10_000
"""Of a record, before any of its lists."""
MOST_BYTES = 2**20
"""Of a schema's text."""

_PRIMITIVES = {"null": 0, "boolean": 1, "int": 1, "long": 1, "float": 4, "double": 8}
_PRIMITIVES |= {"bytes": 1, "string": 1}
"""The least bytes of each."""


def parsed(schema: Schema) -> Parsed:
    """A record's schema, with those that it refers to. SchemaRefused: it is not read."""
    if schema.kind != "AVRO":
        raise SchemaRefused
    named: dict[str, Any] = {}
    try:
        found = _parsed(schema, named)
        _Judge(named).least(found, ())
    except SchemaRefused:
        raise
    except Exception:  # noqa: BLE001 - whatever its parser says of it; it may quote the schema
        found = None
    if not isinstance(found, dict) or found.get("type") != "record":
        raise SchemaRefused
    return found


def _parsed(schema: Schema, named: dict[str, Any]) -> Any:  # noqa: ANN401 - as its parser's
    for reference in schema.references.values():
        _parsed(reference, named)
    if len(schema.text) > MOST_BYTES:
        raise SchemaRefused
    return parse_schema(_in_milliseconds(from_json(schema.text)), named)


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
        kind = schema["type"]
        if kind in {"record", "error", "enum", "fixed"}:
            return self._of_name(schema["name"], schema, inside)
        if kind in {"array", "map"}:
            size, values = self.least(schema["items" if kind == "array" else "values"], inside)
            if values > MOST_VALUES_OF_A_BYTE * (size + (kind == "map")):
                raise SchemaRefused
            return 1, 1
        return self.least(kind, inside)

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
