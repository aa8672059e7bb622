"""Protobuf: fields by their names, defaults where nothing was written, and bounded in every way."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from google.protobuf import struct_pb2, timestamp_pb2, wrappers_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st

from meteragent.formats import protobuf
from meteragent.formats.framing import framed
from meteragent.formats.json_one import LATEST, LONGEST_RECORD, BadRecord
from meteragent.formats.mapping import Mapping
from meteragent.formats.messages import message_decoder
from meteragent.formats.protobuf import ProtobufBody
from meteragent.formats.registered import RegisteredDecoder, Schema, SchemaRefused
from meteragent.stream.readings import Reason
from tests.formats.test_registered import read
from tests.formats.written import PROTO, file, in_proto, proto

NOON = 1_763_467_200_000


def document(described: FileDescriptorProto, name: str = "M", **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    body = ProtobufBody(proto(described))
    return body.one(b"\0" + in_proto(described, name, **fields).SerializeToString())


def reason(body: ProtobufBody, message: bytes | None) -> Reason:
    with pytest.raises(BadRecord) as found:
        body.one(message)
    assert found.value.__context__ is None
    return found.value.reason


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.integers(0, LATEST),
            st.floats(allow_nan=False, allow_infinity=False),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_canonical_readings_are_read(readings: list[tuple[str, int, float]]) -> None:
    decoder = message_decoder(Mapping(written="protobuf"))
    assert isinstance(decoder, RegisteredDecoder)
    decoder.learn(1, proto())
    values = [
        framed(1, b"\0" + in_proto(PROTO, "Reading", meter_id=m, ts=t, value=v).SerializeToString())
        for m, t, v in readings
    ]
    found = read(decoder, values)
    assert [
        *zip(found.meters, found.starts.tolist(), found.watts.tolist(), strict=True)
    ] == readings


def test_blocks_are_read_and_so_is_what_is_bad_between_them() -> None:
    decoder = message_decoder(Mapping(written="protobuf"))
    assert isinstance(decoder, RegisteredDecoder)
    decoder.learn(1, proto())
    block = in_proto(PROTO, "Block", meter_id="m", start=5, interval_ms=2, values=[1.0, 0.0])
    good = framed(1, b"\x02\x02" + block.SerializeToString())
    values = [good, framed(1, b"\x02\x04"), framed(1, b"\0\xff"), good, framed(1, b"\0")]
    found = read(decoder, values)
    assert found.watts.tolist() == [1.0, 0.0] * 2
    assert [r.reason for r in found.rejects] == ["bad_framing", "not_protobuf", "bad_meter"]


def test_what_was_not_written_is_its_default_or_absent() -> None:
    described = file("m.proto", M="meter string, watts double, many double*, perhaps double?")
    assert document(described) == {"meter": "", "watts": 0.0, "many": [], "perhaps": None}
    assert document(described, perhaps=0.0)["perhaps"] == 0.0


def test_fields_that_a_newer_writer_adds_do_no_harm() -> None:
    newer = file("m.proto", M="value double, meter_id string, ts int64, firmware string")
    found = document(newer, value=1.5, meter_id="m", ts=NOON, firmware="2")
    assert {key: found[key] for key in ("meter_id", "ts", "value")} == {
        "meter_id": "m",
        "ts": NOON,
        "value": 1.5,
    }


def known() -> FileDescriptorProto:
    """With what the runtime brings, an enumeration, a map and a message within."""
    names = ("timestamp", "wrappers", "struct")
    described = file(
        "m.proto",
        *(f"google/protobuf/{name}.proto" for name in names),
        M="at google.protobuf.Timestamp, wrapped google.protobuf.DoubleValue, "
        "any google.protobuf.Struct, in M.In, all M.In*",
    )
    message = described.message_type[0]
    message.nested_type.add(name="In").field.add(
        name="x", number=1, type=Field.TYPE_INT32, label=Field.LABEL_OPTIONAL
    )
    entry = message.nested_type.add(name="TagsEntry")
    entry.options.map_entry = True
    for number, (name, kind) in enumerate(
        (("key", Field.TYPE_STRING), ("value", Field.TYPE_ENUM)), 1
    ):
        field = entry.field.add(name=name, number=number, type=kind, label=Field.LABEL_OPTIONAL)
        if kind == Field.TYPE_ENUM:
            field.type_name = ".Quality"
    tags = message.field.add(name="tags", number=9, label=Field.LABEL_REPEATED)
    tags.type, tags.type_name = Field.TYPE_MESSAGE, ".M.TagsEntry"
    field = message.field.add(name="quality", number=10, label=Field.LABEL_OPTIONAL)
    field.type, field.type_name = Field.TYPE_ENUM, ".Quality"
    quality = described.enum_type.add(name="Quality")
    for number, name in enumerate(("GOOD", "BAD")):
        quality.value.add(name=name, number=number)
    return described


def test_known_types_enumerations_maps_and_what_is_within() -> None:
    described = known()
    pool = DescriptorPool()
    for module in (timestamp_pb2, wrappers_pb2, struct_pb2):
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    pool.Add(described)
    kind = GetMessageClass(pool.FindMessageTypeByName("M"))
    message = kind(tags={"a": 1}, quality=7)
    message.at.seconds, message.wrapped.value = NOON // 1000, 2.5
    message.any["k"] = 1.5
    getattr(message, "in").x = 3
    message.all.add(x=4)
    body = ProtobufBody(proto(described))
    found = body.one(b"\0" + message.SerializeToString())
    assert found["at"] == "2025-11-18T12:00:00Z"
    assert (found["wrapped"], found["in"], found["all"]) == (2.5, {"x": 3}, [{"x": 4}])
    assert (found["tags"], found["quality"]) == ({"a": "BAD"}, 7)
    assert body.one(b"\x04\0\0\x08\x05") == {"x": 5}
    message.at.seconds = 2**62
    assert body.one(b"\0" + message.SerializeToString())["at"] is None


def test_types_of_another_subject_are_known() -> None:
    device = file("device.proto", Device="id string")
    described = file("m.proto", "device.proto", M="device Device")
    body = ProtobufBody(proto(described, **{"device.proto": proto(device)}))
    assert body.one(b"\0\x0a\x03\x0a\x01a") == {"device": {"id": "a"}}
    with pytest.raises(SchemaRefused):
        ProtobufBody(proto(described))


@pytest.mark.parametrize(
    "schema",
    [
        Schema("AVRO", ""),
        Schema("PROTOBUF", 'syntax = "proto3";'),
        Schema("PROTOBUF", "AAAA" * (protobuf.MOST_TEXT // 4 + 1)),
        Schema("PROTOBUF", base64.b64encode(b"\xff\xff").decode()),
        proto(file("m.proto")),
        proto(file("m.proto", M="x Unknown")),
    ],
)
def test_what_is_no_descriptor_is_refused(schema: Schema) -> None:
    with pytest.raises(SchemaRefused) as refused:
        ProtobufBody(schema)
    assert str(refused.value) == ""


def test_depth_is_bounded() -> None:
    body = ProtobufBody(proto(file("m.proto", M="next M")))
    message = b""
    for depth in range(150):
        found = b"\0" + message
        if depth < 90:
            body.one(found)
        message = b"\x0a" + _length(message) + message
    assert reason(body, b"\0" + message) is Reason.NOT_PROTOBUF


def _length(message: bytes) -> bytes:
    left, groups = len(message), bytearray()
    while left > 0x7F:
        groups.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes((*groups, left))


def test_values_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protobuf, "MOST_VALUES", 10)
    body = ProtobufBody(proto(file("m.proto", M="many double*, x double")))
    described = file("m.proto", M="many double*, x double")

    def written(count: int) -> bytes:
        message: bytes = in_proto(described, "M", many=[1.0] * count).SerializeToString()
        return b"\0" + message

    assert len(body.one(written(8))["many"]) == 8
    assert reason(body, written(9)) is Reason.NOT_PROTOBUF
    assert body.many([written(8), written(9)]) is None
    assert body.many([written(8)]) is not None


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (None, Reason.EMPTY),
        (b"", Reason.EMPTY),
        (bytes(LONGEST_RECORD + 1), Reason.TOO_LARGE),
        (b"\x02\x08", Reason.BAD_FRAMING),
        (b"\x04\x00\x00", Reason.BAD_FRAMING),
        (b"\x0a", Reason.BAD_FRAMING),
        (b"\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", Reason.NOT_PROTOBUF),
        (b"\0\x0a\x01\xff", Reason.NOT_PROTOBUF),
    ],
)
def test_what_is_no_message_is_rejected(message: bytes | None, expected: Reason) -> None:
    assert reason(ProtobufBody(proto()), message) is expected
