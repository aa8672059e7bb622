"""Messages whose schemas are in a registry: each by its own, and none before it is known."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.errors import InvalidSetting
from meteragent.formats.framing import LONGEST_PATH, Prefix, framed, path_of
from meteragent.formats.json_one import BadRecord
from meteragent.formats.lines import decoder_of
from meteragent.formats.mapping import Mapping
from meteragent.formats.messages import message_decoder
from meteragent.formats.registered import RegisteredDecoder, Schema, SchemasLacking
from meteragent.stream.readings import Reason
from tests.formats.written import BLOCK, PROTO, READING, avro, in_avro, in_proto, proto, record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from meteragent.stream.readings import Readings

NOON = 1_763_467_200_000
JSON = Schema("JSON", "{}")


def decoder(written: str, **schemas: Schema | None) -> RegisteredDecoder:
    made = message_decoder(Mapping(written=written))  # type: ignore[arg-type]
    assert isinstance(made, RegisteredDecoder)
    for number, schema in schemas.items():
        made.learn(int(number[1:]), schema)
    return made


def read(reader: RegisteredDecoder, values: Sequence[bytes | None]) -> Readings:
    return reader.decode(values, range(7, 7 + len(values)), [NOON] * len(values))


def in_json(meter: str = "m", ts: int = NOON, value: float = 1.5) -> bytes:
    return json.dumps({"meter_id": meter, "ts": ts, "value": value}).encode()


def reasons(readings: Readings) -> list[tuple[int, str]]:
    return [(reject.offset, reject.reason.value) for reject in readings.rejects]


@given(st.integers(0, 2**32 - 1), st.binary(max_size=20))
def test_what_is_framed_says_its_schema(number: int, body: bytes) -> None:
    assert Prefix().number_of(framed(number, body)) == number
    assert framed(number, body)[5:] == body


@pytest.mark.parametrize("value", [b"\x00\x00\x00\x00", b"\x01\x00\x00\x00\x01x", b"{}   ", b"x"])
def test_what_is_not_framed_is_rejected_as_that(value: bytes) -> None:
    readings = read(decoder("avro"), [value])
    assert reasons(readings) == [(7, "bad_framing")]


@pytest.mark.parametrize("value", [b"", None])
def test_what_is_empty_is_rejected_as_that(value: bytes | None) -> None:
    assert reasons(read(decoder("avro"), [value])) == [(7, "empty")]


def varint(number: int) -> bytes:
    left, groups = (number << 1) ^ (number >> 63), bytearray()
    while left > 0x7F:
        groups.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes((*groups, left))


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=LONGEST_PATH), st.binary(max_size=9))
def test_a_path_is_read_as_it_was_written(path: list[int], body: bytes) -> None:
    written = varint(len(path)) + b"".join(map(varint, path))
    assert path_of(written + body) == ((*path,), len(written))


def test_the_first_message_may_be_a_single_zero() -> None:
    assert path_of(b"\0rest") == ((0,), 1)


@pytest.mark.parametrize(
    "body", [b"", varint(LONGEST_PATH + 1), varint(-1), varint(1) + varint(-2), varint(2) + b"\0"]
)
def test_what_is_no_path_is_refused(body: bytes) -> None:
    with pytest.raises(BadRecord):
        path_of(body)


@given(st.binary(max_size=30))
def test_any_path_is_read_or_refused(body: bytes) -> None:
    reason = None
    try:
        path, at = path_of(body)
    except BadRecord as why:
        reason = why.reason
    else:
        assert at <= len(body)
        assert all(step >= 0 for step in path)
    assert reason in {None, Reason.BAD_FRAMING}


def test_schemas_that_lack_are_all_said_and_nothing_is_read() -> None:
    reader = decoder("json-schema", s3=JSON)
    values = [framed(3, in_json()), framed(4, in_json()), None, b"x", framed(5, in_json())]
    with pytest.raises(SchemasLacking) as lacking:
        read(reader, values)
    assert lacking.value.numbers == {3, 4, 5}
    for number in (4, 5):
        assert not reader.knows(number)
        reader.learn(number, JSON)
        assert reader.knows(number)
        assert reader.reads(number)
    assert [*read(reader, values).meters] == ["m"] * 3


def test_what_is_forgotten_lacks_again() -> None:
    reader = decoder("json-schema", s3=JSON)
    reader.forget(3)
    reader.forget(3)
    with pytest.raises(SchemasLacking):
        read(reader, [framed(3, in_json())])


def test_records_of_unknown_schemas_are_rejected_where_that_is_known() -> None:
    reader = decoder("json-schema", s3=None)
    assert reasons(read(reader, [framed(3, in_json())])) == [(7, "unknown_schema")]
    assert not reader.reads(3)


@pytest.mark.parametrize(
    ("written", "schema"),
    [
        ("json-schema", avro(READING)),
        ("avro", JSON),
        ("avro", proto()),
        ("protobuf", avro(READING)),
        ("avro", avro("string")),
        ("avro", Schema("AVRO", "{")),
        ("protobuf", Schema("PROTOBUF", 'syntax = "proto3"; message R {')),
        ("json-schema", Schema("JSON", "{")),
        ("json-schema", Schema("JSON", '{"type": 7}')),
        ("protobuf", Schema("PROTOBUF", "")),
    ],
)
def test_records_of_a_schema_of_another_kind_are_rejected(written: str, schema: Schema) -> None:
    reader = decoder(written, s3=schema)
    assert reasons(read(reader, [framed(3, b"\0\0")])) == [(7, "bad_schema")]
    assert not reader.reads(3)


BODIES = [
    framed(1, in_avro(READING, {"meter_id": "a", "ts": NOON, "value": 1.5})),
    framed(2, in_avro(BLOCK, {"meter_id": "b", "start": 5, "interval_ms": 2, "values": [1, 2]})),
    framed(3, b"?"),
    framed(1, b"?"),
    b"no frame",
    None,
]


@given(st.lists(st.sampled_from(BODIES), min_size=1, max_size=12), st.data())
def test_any_split_and_any_mixture_gives_the_same(values: list[bytes], data: st.DataObject) -> None:
    reader = decoder("avro", s1=avro(READING), s2=avro(BLOCK), s3=None)
    whole = read(reader, values)
    cut = data.draw(st.integers(0, len(values)))
    parts = [
        reader.decode(values[a:b], range(7 + a, 7 + b), [NOON] * (b - a))
        for a, b in ((0, cut), (cut, len(values)))
        if a < b
    ]
    assert [*whole.meters] == [m for part in parts for m in part.meters]
    for column in ("offsets", "starts", "counts", "intervals", "watts"):
        joined = [x for part in parts for x in getattr(part, column).tolist()]
        assert getattr(whole, column).tolist() == joined
    assert whole.rejects == [reject for part in parts for reject in part.rejects]
    assert whole.next_offset == parts[-1].next_offset == 7 + len(values)
    assert len({*whole.offsets.tolist()}) + len(whole.rejects) == len(values)


def test_json_behind_an_id_is_read_as_json_is() -> None:
    reader = decoder("json-schema", s9=JSON)
    readings = read(reader, [framed(9, in_json("a")), framed(9, b"{"), framed(9, b"")])
    assert [*readings.meters] == ["a"]
    assert reasons(readings) == [(8, "not_json"), (9, "empty")]


def test_what_is_mapped_is_mapped_in_every_format() -> None:
    given = frozenset({"value", "meter"})
    from meteragent.formats.csv_header import Columns  # noqa: PLC0415

    columns = Columns(meter="device.id", value="power", time=("ts",))
    schema = record(
        ("device", record(("id", "string"), name="Device")),
        ("ts", {"type": "long", "logicalType": "timestamp-millis"}),
        ("power", "float"),
    )
    reader = message_decoder(Mapping(columns=columns, given=given, written="avro"))
    assert isinstance(reader, RegisteredDecoder)
    reader.learn(1, avro(schema))
    body = in_avro(schema, {"device": {"id": "a"}, "ts": NOON, "power": 2.5})
    readings = read(reader, [framed(1, body)] * 3)
    assert [*readings.meters] == ["a"] * 3
    assert readings.starts.tolist() == [NOON] * 3
    assert readings.watts.tolist() == [2.5] * 3

    document = json.dumps({"device": {"id": "a"}, "ts": NOON, "power": 2.5}).encode()
    reader = message_decoder(Mapping(columns=columns, given=given, written="json-schema"))
    assert isinstance(reader, RegisteredDecoder)
    reader.learn(1, JSON)
    assert read(reader, [framed(1, document)]).watts.tolist() == [2.5]

    columns = Columns(meter="meter_id", value="value", time=("ts",), constant_meter="x")
    reader = message_decoder(Mapping(columns=columns, given=given, written="protobuf"))
    assert isinstance(reader, RegisteredDecoder)
    reader.learn(1, proto())
    body = b"\0" + in_proto(PROTO, "Reading", ts=NOON).SerializeToString()
    readings = read(reader, [framed(1, body), framed(1, b"\0\xff")])
    assert [*readings.meters] == ["x"]
    assert readings.watts.tolist() == [0.0]
    assert reasons(readings) == [(8, "not_protobuf")]


def test_files_are_not_written_so() -> None:
    with pytest.raises(InvalidSetting, match=r"input.format: is avro, which is read from Kafka"):
        decoder_of("readings", b"{}", Mapping(written="avro"))


@pytest.mark.parametrize(
    ("written", "module"),
    [("avro", "avro_readings"), ("protobuf", "protobuf"), ("json-schema", "json_schema")],
)
def test_what_reads_them_is_asked_for_where_it_is_missing(
    written: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, f"meteragent.formats.{module}", None)
    with pytest.raises(InvalidSetting, match=r"pip install 'meteragent\[registry\]'"):
        decoder(written)
