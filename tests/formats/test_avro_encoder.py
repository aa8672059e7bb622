"""Releases in Avro say what they say in JSON, no more and no less, under one schema."""

from __future__ import annotations

import hashlib
import io
import json
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from fastavro.schema import parse_schema
from hypothesis import given

from meteragent.formats.avro_encoder import AvroEncoder, release_record, release_text
from meteragent.formats.encoder import Encoder
from meteragent.formats.forms import longest_release
from meteragent.formats.framing import Prefix
from meteragent.formats.schema import release_schema
from tests.formats.test_encoder import QUERIES, asking, decided, releases

if TYPE_CHECKING:
    from meteragent.stream.releases import Releases

DIGEST = "ec1eb2e11d1e48c5"
"""Of the schema: who registers another one asks every reader to follow."""
SCHEMA = parse_schema(release_record())


def documents(made: Releases) -> list[dict[str, Any]]:
    found = []
    for message in AvroEncoder(77).encode(made):
        assert Prefix().number_of(message) == 77
        stream = io.BytesIO(message[5:])
        document = fastavro.schemaless_reader(stream, SCHEMA, None)
        assert stream.read() == b""
        assert isinstance(document, dict)
        found.append({key: value for key, value in document.items() if value is not None})
    return found


@given(decided())
def test_releases_say_what_they_say_in_json(made: Releases) -> None:
    assert documents(made) == [json.loads(document) for document in Encoder().encode(made)]


def test_groups_and_gaps_are_written_too() -> None:
    made = releases(asking(*QUERIES), 3)
    assert None in documents(made)[0]["values"]["reading"]
    encoded = [json.loads(document) for document in Encoder().encode(made)]
    assert documents(made) == encoded


def test_the_schema_is_of_the_published_keys() -> None:
    published = release_schema()
    fields = {field["name"]: field for field in release_record()["fields"]}
    assert [*fields] == [*published["properties"]]
    optional = {name for name, field in fields.items() if "null" in field["type"]}
    assert optional == {*fields} - {*published["required"]}
    assert all(fields[name]["default"] is None for name in optional)


def test_the_schema_stays_as_it_was_registered() -> None:
    assert hashlib.sha256(release_text().encode()).hexdigest()[:16] == DIGEST


@pytest.mark.parametrize("rules", [asking(*QUERIES), asking("avg")])
def test_what_fits_as_json_fits_as_avro(rules: Any) -> None:  # noqa: ANN401 - a policy of any kind
    """So what is judged of topics holds for both."""
    assert longest_release(AvroEncoder(2**32 - 1), rules) <= longest_release(Encoder(), rules)


def test_files_of_it_have_no_header() -> None:
    assert AvroEncoder(1).header == b""
