"""Sources of Protobuf schemas: read as protoc reads them, or refused."""

from __future__ import annotations

import base64
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import google.api
import pytest
from google.protobuf import descriptor_pb2, duration_pb2, timestamp_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from hypothesis import given
from hypothesis import strategies as st

from meteragent.formats import proto_source, protobuf
from meteragent.formats.proto_source import BadSource, described
from meteragent.formats.protobuf import ProtobufBody
from meteragent.formats.registered import Schema, SchemaRefused
from tests.formats.written import PROTO, in_proto

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, EnumDescriptor, FileDescriptor

ROOT = Path(google.api.__path__[0]).parent.parent
SOURCES = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("google/**/*.proto"))
"""Those that are installed with what protoc has made of them."""

EVERYTHING = r"""
// What a source may hold, and what protoc makes of it below.
syntax = 'proto2';
package every.thing;
import "google/protobuf/descriptor.proto";
import weak "google/protobuf/timestamp.proto"; import public "google/protobuf/duration.proto";
option java_package = "x"; option (file_option) = { a: "}" b: [1, 2] };
message Note { optional string a = 1; repeated int32 b = 2; }
extend google.protobuf.FileOptions { optional Note file_option = 50000; }
extend google.protobuf.FieldOptions { optional string note = 50001; }
extend google.protobuf.OneofOptions { optional string on_oneof = 50001; }
extend google.protobuf.EnumValueOptions { optional string on_value = 50001; }
extend google.protobuf.MethodOptions { optional string on_method = 50001; }
/* A comment with ; and } in it */
message Outer {
  required string meter_id = 1 [deprecated = true, (note) = "];"];
  optional sint64 ts = 0x2;
  repeated double values = 017 [packed=true];
  optional group Inside = 5 { optional fixed32 x = 1; optional Inside more = 2; }
  oneof which { option (on_oneof) = "a"; string text = 6; Other other = 7; group Choice = 8 {} }
  map<string, Level> level_by__name = 9 [deprecated = true];
  map < int32 , .every.thing.Other > others = 10;
  enum Level { option allow_alias = true; LOW = 0; HIGH = 1 [(on_value) = "h"]; UP = 1; NONE = -1;
    reserved 7, 9 to 11; reserved "GONE"; ; }
  message Other { optional Level level = 1 [default = HIGH]; extensions 100 to max; }
  optional Other near = 11; optional every.thing.Other far = 12;
  optional google.protobuf.Timestamp at = 13;
  reserved 20 to 30; reserved "old"; extensions 1000 to 1999 [verification = UNVERIFIED];
  extend Outer { optional int32 more = 1000; }
  optional string message = 14; optional bool reserved_ = 16; ;
};
message Other { optional bytes raw = 1; }
service Meters { rpc Read (Outer) returns (stream Other) { option (on_method) = "}"; }
  rpc X(Outer) returns(Other); }
"""
MADE = (
    "CgdtLnByb3RvEgtldmVyeS50aGluZxogZ29vZ2xlL3Byb3RvYnVmL2Rlc2NyaXB0b3IucHJvdG8aH2dvb2dsZS9w"
    "cm90b2J1Zi90aW1lc3RhbXAucHJvdG8aHmdvb2dsZS9wcm90b2J1Zi9kdXJhdGlvbi5wcm90byIcCgROb3RlEgkK"
    "AWEYASABKAkSCQoBYhgCIAMoBSKcBgoFT3V0ZXISEAoIbWV0ZXJfaWQYASACKAkSCgoCdHMYAiABKBISDgoGdmFs"
    "dWVzGA8gAygBEikKBmluc2lkZRgFIAEoCjIZLmV2ZXJ5LnRoaW5nLk91dGVyLkluc2lkZRIOCgR0ZXh0GAYgASgJ"
    "SAASKQoFb3RoZXIYByABKAsyGC5ldmVyeS50aGluZy5PdXRlci5PdGhlckgAEisKBmNob2ljZRgIIAEoCjIZLmV2"
    "ZXJ5LnRoaW5nLk91dGVyLkNob2ljZUgAEjsKDmxldmVsX2J5X19uYW1lGAkgAygLMiMuZXZlcnkudGhpbmcuT3V0"
    "ZXIuTGV2ZWxCeU5hbWVFbnRyeRIuCgZvdGhlcnMYCiADKAsyHi5ldmVyeS50aGluZy5PdXRlci5PdGhlcnNFbnRy"
    "eRImCgRuZWFyGAsgASgLMhguZXZlcnkudGhpbmcuT3V0ZXIuT3RoZXISHwoDZmFyGAwgASgLMhIuZXZlcnkudGhp"
    "bmcuT3RoZXISJgoCYXQYDSABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wEg8KB21lc3NhZ2UYDiABKAkS"
    "EQoJcmVzZXJ2ZWRfGBAgASgIGjwKBkluc2lkZRIJCgF4GAEgASgHEicKBG1vcmUYAiABKAsyGS5ldmVyeS50aGlu"
    "Zy5PdXRlci5JbnNpZGUaCAoGQ2hvaWNlGkwKEExldmVsQnlOYW1lRW50cnkSCwoDa2V5GAEgASgJEicKBXZhbHVl"
    "GAIgASgOMhguZXZlcnkudGhpbmcuT3V0ZXIuTGV2ZWw6AjgBGkEKC090aGVyc0VudHJ5EgsKA2tleRgBIAEoBRIh"
    "CgV2YWx1ZRgCIAEoCzISLmV2ZXJ5LnRoaW5nLk90aGVyOgI4ARowCgVPdGhlchInCgVsZXZlbBgBIAEoDjIYLmV2"
    "ZXJ5LnRoaW5nLk91dGVyLkxldmVsIjUKBUxldmVsEgcKA0xPVxAAEggKBEhJR0gQARIGCgJVUBABEhEKBE5PTkUQ"
    "////////////AUIOCgV3aGljaBIFirUYAWEiFAoFT3RoZXISCwoDcmF3GAEgASgMUAJYAQ=="
)
"""What protoc 36.2 makes of it; of options, that a message is the entry of a map."""


def shape(file: FileDescriptor) -> Any:  # noqa: ANN401 - nested as the file is
    """All that messages are read by."""
    return (
        file.package,
        [*map(of_message, file.message_types_by_name.values())],
        [*map(of_enum, file.enum_types_by_name.values())],
    )


def of_message(message: Descriptor) -> Any:  # noqa: ANN401 - as above
    return (
        message.full_name,
        message.GetOptions().map_entry,
        [
            (
                *(field.name, field.number, field.type, field.is_repeated, field.is_required),
                field.has_presence,
                field.message_type and field.message_type.full_name,
                field.enum_type and field.enum_type.full_name,
                field.containing_oneof and field.containing_oneof.name,
            )
            for field in message.fields
        ],
        sorted(map(of_message, message.nested_types)),
        [*map(of_enum, message.enum_types)],
    )


def of_enum(enum: EnumDescriptor) -> Any:  # noqa: ANN401 - as above
    return enum.full_name, [(value.name, value.number) for value in enum.values]


def from_protoc(name: str) -> FileDescriptor:
    module = importlib.import_module(name.replace("/", ".").removesuffix(".proto") + "_pb2")
    file: FileDescriptor = module.DESCRIPTOR
    return file


def with_all(pool: DescriptorPool, file: FileDescriptor, *, at_last: bool = False) -> None:
    """Put what it depends on into a pool."""
    for other in file.dependencies:
        with_all(pool, other, at_last=True)
    if at_last:
        pool.AddSerializedFile(file.serialized_pb)


def test_there_are_sources_to_judge_by() -> None:
    assert len(SOURCES) > 50


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_is_read_as_protoc_reads_it(name: str) -> None:
    expected = from_protoc(name)
    pool = DescriptorPool()
    with_all(pool, expected)
    found = described((ROOT / name).read_text())
    found.name = name
    pool.AddSerializedFile(found.SerializeToString())
    assert shape(pool.FindFileByName(name)) == shape(expected)
    assert [*found.dependency] == [file.name for file in expected.dependencies]


def test_everything_that_a_source_may_hold_is_read_as_protoc_reads_it() -> None:
    shapes = []
    for made in (FileDescriptorProto.FromString(base64.b64decode(MADE)), described(EVERYTHING)):
        pool = DescriptorPool()
        for module in (descriptor_pb2, timestamp_pb2, duration_pb2):
            pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
        made.name = "m.proto"
        pool.AddSerializedFile(made.SerializeToString())
        shapes.append(shape(pool.FindFileByName("m.proto")))
    assert shapes[0] == shapes[1]


def test_optional_fields_are_choices_of_their_own_whatever_they_are_called() -> None:
    [message] = described(
        'syntax = "proto3"; message M { optional int32 a = 1; int32 _a = 2; '
        "optional int32 _b = 3; oneof o { int32 X_a = 4; } optional int32 c = 5; }"
    ).message_type
    assert [one.name for one in message.oneof_decl] == ["o", "XX_a", "X_b", "_c"]  # as protoc's


HEAD = 'syntax = "proto3"; message M { '


@pytest.mark.parametrize(
    "source",
    [
        'edition = "2023"; message M {}',
        'syntax = "proto4"; message M {}',
        "syntax = proto3; message M {}",
        'syntax = "proto\\x33"; message M {}',
        "message M { int32 x = 1; }",
        'syntax = "proto3"; message M {',
        'syntax = "proto3"; message M { int32 x = 1; }}',
        'syntax = "proto3"; message M { option x = }; }',
        'syntax = "proto3"; message M /* {}',
        'syntax = "proto3"; message M {} "',
        'syntax = "proto3"; service',
        'syntax = "proto3"; field x = 1;',
        HEAD + "map<double, int32> x = 1; }",
        HEAD + "map<Other, int32> x = 1; }",
        HEAD + "int32 x = 09; }",
        HEAD + "int32 x = y; }",
        HEAD + "int32 a.b = 1; }",
        HEAD + "12 a = 1; }",
        HEAD + "int32 a: 1; }",
        'syntax = "proto3";' + "message M { " * (proto_source.DEEPEST + 1),
        "message " * 3,
    ],
)
def test_what_is_no_source_is_refused(source: str) -> None:
    with pytest.raises(BadSource) as refused:
        described(source)
    assert str(refused.value) == ""
    with pytest.raises(SchemaRefused) as whole:
        ProtobufBody(Schema("PROTOBUF", source))
    assert whole.value.__context__ is None


@given(st.text(alphabet='{}[]()<>=;,."/*-0x17 \n', max_size=40) | st.text(max_size=40))
def test_whatever_it_is_it_is_read_or_refused(source: str) -> None:
    try:
        described('syntax = "proto3";' + source)
    except BadSource:
        return


SOURCE = """
syntax = "proto3";
import "confluent/meta.proto";
message Reading { string meter_id = 1; int64 ts = 2; optional double value = 3 [(meta) = "W"]; }
message Block { string meter_id = 1; int64 start = 2; int64 interval_ms = 3;
  repeated double values = 4; }
"""


def source(text: str, **references: Schema) -> Schema:
    return Schema("PROTOBUF", text, references)


def test_messages_are_read_by_a_source_as_by_its_descriptor() -> None:
    """Also where it imports for options alone what no registry tells."""
    body = ProtobufBody(source(SOURCE))
    block = in_proto(PROTO, "Block", meter_id="m", start=5, interval_ms=2, values=[1.0, 0.0])
    assert body.one(b"\x02\x02" + block.SerializeToString())["values"] == [1.0, 0.0]
    assert body.one(b"\0\x0a\x01m") == {"meter_id": "m", "ts": 0, "value": None}
    assert body.one(b"\0" + bytes((0x19, *bytes(8))))["value"] == 0.0


def test_sources_refer_to_others() -> None:
    inner = source('syntax = "proto2"; package a.b; message In { required string id = 1; }')
    public = source(
        'syntax = "proto3"; import public "in.proto"; package a;', **{"in.proto": inner}
    )
    outer = 'syntax = "proto3"; import "p.proto"; package a.c; message M { b.In x = 1; }'
    body = ProtobufBody(source(outer, **{"p.proto": public}))
    assert body.one(b"\0\x0a\x03\x0a\x01a") == {"x": {"id": "a"}}
    with pytest.raises(SchemaRefused):
        ProtobufBody(source(outer))


def test_sources_are_bounded() -> None:
    with pytest.raises(SchemaRefused):
        ProtobufBody(source(SOURCE + " " * protobuf.MOST_SOURCE))
