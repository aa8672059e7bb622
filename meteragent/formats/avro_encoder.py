"""Columns -> Avro: what the JSON documents say, behind the id of their schema in a registry.

The schema is worked out from the published JSON Schema, which alone says what a release is. A key
that a release does not have is null.
"""

from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import Any

from fastavro import parse_schema, schemaless_writer
from pydantic_core import from_json, to_json

from meteragent.formats.encoder import Encoder
from meteragent.formats.framing import framed
from meteragent.formats.schema import Schema, release_schema
from meteragent.privacy.policy import Policy
from meteragent.stream.releases import Releases

NAME, NAMESPACE = "Release", "meteragent"


class AvroEncoder:
    """Encodes releases as Avro."""

    header = b""

    def __init__(self, number: int, policies: Iterable[Policy] = ()) -> None:
        """`number`: the id that the schema of releases is registered under."""
        self._number = number
        self._json = Encoder(policies)
        self._schema = parse_schema(release_record())

    def encode(self, releases: Releases) -> list[bytes]:
        """One message per window, in their order; what `Encoder` says of each."""
        return [
            framed(self._number, self._written(from_json(document)))
            for document in self._json.encode(releases)
        ]

    def _written(self, document: Mapping[str, Any]) -> bytes:
        stream = BytesIO()
        schemaless_writer(stream, self._schema, document)
        return stream.getvalue()


def release_record() -> dict[str, Any]:
    """The schema of a release in Avro."""
    return record(release_schema(), NAME, NAMESPACE)


def release_text() -> str:
    """The same, as it is registered."""
    return to_json(release_record()).decode()


def record(schema: Schema, name: str, namespace: str) -> dict[str, Any]:
    """The record of an object: its properties as fields, null where they are not required."""
    fields = []
    for key, its in schema["properties"].items():
        kind, required = _kind(its), key in schema["required"]
        field = {"name": key, "type": kind if required else ["null", *_several(kind)]}
        field |= {} if required else {"default": None}
        fields.append(field | ({"doc": its["description"]} if "description" in its else {}))
    doc = {"doc": schema["title"]}
    return {"type": "record", "name": name, "namespace": namespace, **doc, "fields": fields}


_SCALARS = {"string": "string", "integer": "long", "number": "double", "null": "null"}


def _kind(schema: Schema) -> Any:  # noqa: ANN401 - a name, a definition or several
    """What is written of a value. Of a text only that it is one: later versions may say more."""
    if "anyOf" in schema:
        return [kind for one in schema["anyOf"] for kind in _several(_kind(one))]
    if "const" in schema or "enum" in schema:
        return "string"
    kind = schema["type"]
    if isinstance(kind, list):
        return [_SCALARS[one] for one in kind]
    if kind == "object":
        return {"type": "map", "values": _kind(schema["additionalProperties"])}
    if kind == "array":
        return {"type": "array", "items": _kind(schema["items"])}
    return _SCALARS[kind]


def _several(kind: Any) -> list[Any]:  # noqa: ANN401 - as above
    return kind if isinstance(kind, list) else [kind]
