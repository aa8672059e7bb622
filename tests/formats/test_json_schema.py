"""JSON is held against its JSON Schema, and against nothing that is fetched from elsewhere."""

from __future__ import annotations

import json
import socket
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.formats import json_schema
from meteragent.formats.decoder import Decoder
from meteragent.formats.json_one import MOST_BYTES
from meteragent.formats.json_schema import ObedientDecoder
from meteragent.formats.registered import Schema, SchemaRefused
from tests.formats.test_registered import NOON, in_json, reasons

POSITIVE = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"value": {"type": "number", "minimum": 0}, "meter_id": {"type": "string"}},
    "required": ["value"],
}


def schema(document: object, **references: Schema) -> Schema:
    return Schema("JSON", json.dumps(document), references)


def decode(decoder: Decoder | ObedientDecoder, values: list[bytes | None]) -> Any:  # noqa: ANN401
    return decoder.decode(values, range(7, 7 + len(values)), [NOON] * len(values))


def test_what_disobeys_is_rejected_between_what_obeys() -> None:
    held = ObedientDecoder(schema(POSITIVE), Decoder())
    values = [in_json("a"), in_json(value=-1.0), None, b"{", in_json("b", value=0.0), b'{"x": 1}']
    found = decode(held, values)
    assert reasons(found) == [
        (8, "not_json_schema"), (9, "empty"), (10, "not_json"), (12, "not_json_schema")
    ]  # fmt: skip
    assert [*found.meters] == ["a", "b"]
    assert found.offsets.tolist() == [7, 11]
    assert found.next_offset == 13


def test_a_batch_in_which_nothing_obeys_is_rejected() -> None:
    found = decode(ObedientDecoder(schema(POSITIVE), Decoder()), [b"{}", b"[]"])
    assert reasons(found) == [(7, "not_json_schema"), (8, "not_json_schema")]
    assert found.next_offset == 9


def test_what_is_too_large_is_not_parsed() -> None:
    large = b'{"value": "' + b"x" * MOST_BYTES + b'"}'
    found = decode(ObedientDecoder(schema(POSITIVE), Decoder()), [large])
    assert reasons(found) == [(7, "too_large")]


@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "meter_id": st.sampled_from(["a", "b", "", 3, None]),
                "ts": st.just(NOON),
                "value": st.sampled_from([0, 1.5, -1, None, "1", True]),
            },
        ),
        min_size=1,
        max_size=8,
    )
)
def test_it_agrees_with_another_validator(documents: list[dict[str, Any]]) -> None:
    """And what obeys is read as it is without a schema."""
    judge = jsonschema.Draft7Validator(POSITIVE)
    values: list[bytes | None] = [json.dumps(one).encode() for one in documents]
    found = decode(ObedientDecoder(schema(POSITIVE), Decoder()), values)
    bad = [at for at, reason in reasons(found) if reason == "not_json_schema"]
    assert bad == [at for at, one in enumerate(documents, 7) if not judge.is_valid(one)]
    left = [at for at in range(len(values)) if at + 7 not in bad]
    if left:
        plain = Decoder().decode([values[at] for at in left], [at + 7 for at in left],
                                 [NOON] * len(left))  # fmt: skip
        assert found.watts.tolist() == plain.watts.tolist()
        assert found.offsets.tolist() == plain.offsets.tolist()


IN = Schema("JSON", '{"type": "integer"}')
OUT = {"properties": {"value": {"$ref": "in.json"}}}


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (OUT, "in.json"),
        (OUT | {"$id": "http://example.org/schemas/out.json"}, "in.json"),
        (OUT | {"$id": "http://example.org/out.json"}, "http://example.org/in.json"),
    ],
)
def test_schemas_refer_to_others(document: dict[str, Any], name: str) -> None:
    held = ObedientDecoder(schema(document, **{name: IN}), Decoder())
    assert reasons(decode(held, [in_json(value=1), in_json(value=1.5)])) == [(8, "not_json_schema")]


def test_of_two_names_that_fit_the_longer_one_is_meant() -> None:
    outer = {"properties": {"value": {"$ref": "a/in.json"}}}
    names = {"in.json": Schema("JSON", "true"), "a/in.json": IN}
    held = ObedientDecoder(schema(outer, **names), Decoder())
    assert reasons(decode(held, [in_json(value=1.5)])) == [(7, "not_json_schema")]


def test_references_of_references_are_known() -> None:
    middle = schema({"$ref": "in.json"}, **{"in.json": IN})
    outer = {"properties": {"value": {"$ref": "middle.json"}}}
    held = ObedientDecoder(schema(outer, **{"middle.json": middle, "in.json": IN}), Decoder())
    assert reasons(decode(held, [in_json(value=1.5)])) == [(7, "not_json_schema")]


@pytest.mark.parametrize(
    "refused",
    [
        Schema("AVRO", "{}"),
        Schema("JSON", "{"),
        Schema("JSON", "3"),
        Schema("JSON", '{"type": "number of watts"}'),
        Schema("JSON", " " * json_schema.MOST_TEXT + "{}"),
        schema(OUT),
        schema(OUT, **{"other.json": IN}),
        schema(
            {"$ref": "x.json"},
            **{"x.json": IN, "y.json": schema({}, **{"x.json": schema({"type": "string"})})},
        ),
    ],
)
def test_what_is_no_schema_is_refused(refused: Schema) -> None:
    with pytest.raises(SchemaRefused) as found:
        ObedientDecoder(refused, Decoder())
    assert str(found.value) == ""
    assert found.value.__context__ is None


def test_nothing_is_fetched() -> None:
    """Whoever is asked for a schema by its address would hear of it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/in.json"
        with pytest.raises(SchemaRefused):
            ObedientDecoder(schema({"$ref": address}), Decoder())
        with pytest.raises(TimeoutError):
            server.accept()
