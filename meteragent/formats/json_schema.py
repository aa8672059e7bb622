"""JSON that is held against its JSON Schema, before it is read.

Schemas are compiled once, and find what they refer to among what their registry tells: nothing is
fetched from where a schema says that others are.
"""

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any

from jsonschema_rs import Validator, validator_for
from pydantic_core import from_json

from meteragent.formats.decoder import refusing
from meteragent.formats.forms import MessageDecoder, Numbers, Payloads
from meteragent.formats.json_one import MOST_BYTES, is_too_large
from meteragent.formats.merging import merged
from meteragent.formats.registered import Schema, SchemaRefused
from meteragent.stream.readings import Readings, Reason

MOST_TEXT = 2**20
"""Of a schema."""


class ObedientDecoder:
    """Decodes messages that obey their schema as another decoder does, and rejects the others."""

    def __init__(self, schema: Schema, decoder: MessageDecoder) -> None:
        """SchemaRefused: it is no JSON Schema, or refers to what is not there."""
        self._decoder = decoder
        if schema.kind != "JSON":
            raise SchemaRefused
        others: dict[str, Any] = {}
        try:
            document = _parsed(schema, others)
            made = validator_for(document, retriever=lambda uri: _named(others, uri))
        except Exception:  # noqa: BLE001 - of several types, which quote the schema
            made = None
        if made is None:
            raise SchemaRefused
        self._validator: Validator = made

    def decode(self, values: Payloads, offsets: Numbers, timestamps: Numbers) -> Readings:
        """The columns of a batch, as `MessageDecoder` asks for them."""
        obeys = [self._obeys(value) for value in values]
        if all(obeys):
            return self._decoder.decode(values, offsets, timestamps)
        bad = refusing([*compress(offsets, (not one for one in obeys))], Reason.NOT_JSON_SCHEMA)
        if not any(obeys):
            return bad
        good: list[Sequence[Any]] = [
            [*compress(column, obeys)] for column in (values, offsets, timestamps)
        ]
        return merged(self._decoder.decode(*good), bad, offsets[-1] + 1)

    def _obeys(self, message: bytes | None) -> bool:
        """Whether it may be read; of what is no JSON, whoever reads it says so."""
        if not message or is_too_large(message, MOST_BYTES):
            return True
        try:
            document = from_json(message, cache_strings="keys")
        except ValueError:
            return True
        return bool(self._validator.is_valid(document))


def _parsed(schema: Schema, others: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON is anything
    """What it says; what it refers to, and what these do, is added to the `others`."""
    if len(schema.text) > MOST_TEXT:
        raise SchemaRefused
    for name, reference in schema.references.items():
        document = _parsed(reference, others)
        if others.setdefault(name, document) != document:
            raise SchemaRefused
    return from_json(schema.text)


def _named(others: Mapping[str, Any], uri: str) -> Any:  # noqa: ANN401 - JSON is anything
    """What is called so, by its whole address or most of its end. ValueError: nothing is."""
    return others[max((n for n in others if uri == n or uri.endswith(f"/{n}")), key=len)]
