"""Readings and blocks, written by others' libraries as messages with a schema."""

from __future__ import annotations

import base64
import io
import json
from typing import TYPE_CHECKING, Any

import fastavro
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from meteragent.formats.registered import Schema

if TYPE_CHECKING:
    from google.protobuf.message import Message

READING: dict[str, Any] = {
    "type": "record",
    "name": "Reading",
    "fields": [
        {"name": "meter_id", "type": "string"},
        {"name": "ts", "type": "long"},
        {"name": "value", "type": "double"},
    ],
}
BLOCK: dict[str, Any] = {
    "type": "record",
    "name": "Block",
    "fields": [
        {"name": "meter_id", "type": "string"},
        {"name": "start", "type": "long"},
        {"name": "interval_ms", "type": "long"},
        {"name": "values", "type": {"type": "array", "items": "double"}},
    ],
}


def record(*fields: tuple[str, Any], name: str = "Reading") -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": field, "type": kind} for field, kind in fields],
    }


def avro(schema: object, **references: Schema) -> Schema:
    return Schema("AVRO", json.dumps(schema), references)


def in_avro(schema: Any, document: object) -> bytes:  # noqa: ANN401 - fastavro's own
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, schema, document)
    return stream.getvalue()


KINDS = {
    "string": Field.TYPE_STRING,
    "int64": Field.TYPE_INT64,
    "int32": Field.TYPE_INT32,
    "double": Field.TYPE_DOUBLE,
    "bool": Field.TYPE_BOOL,
    "bytes": Field.TYPE_BYTES,
}


def file(name: str = "reading.proto", *dependencies: str, **messages: str) -> FileDescriptorProto:
    """Messages by name: each the fields in words, such as `meter_id string, values double*`."""
    made = FileDescriptorProto(name=name, syntax="proto3", dependency=dependencies)
    for message, fields in messages.items():
        described = made.message_type.add(name=message)
        for number, words in enumerate(fields.split(", ") if fields else [], 1):
            its, kind = words.split(" ")
            field = described.field.add(name=its, number=number, label=Field.LABEL_OPTIONAL)
            if kind.endswith("*"):
                field.label = Field.LABEL_REPEATED
            if kind.endswith("?"):
                field.proto3_optional = True
                field.oneof_index = len(described.oneof_decl)
                described.oneof_decl.add(name=f"_{its}")
            kind = kind.rstrip("*?")
            if kind in KINDS:
                field.type = KINDS[kind]
            else:
                field.type, field.type_name = Field.TYPE_MESSAGE, f".{kind}"
    return made


PROTO = file(
    Reading="meter_id string, ts int64, value double",
    Block="meter_id string, start int64, interval_ms int64, values double*",
)


def proto(described: FileDescriptorProto = PROTO, **references: Schema) -> Schema:
    text = base64.b64encode(described.SerializeToString()).decode()
    return Schema("PROTOBUF", text, references)


def in_proto(described: FileDescriptorProto, name: str, **fields: Any) -> Message:  # noqa: ANN401
    pool = DescriptorPool()
    pool.Add(described)
    kind = GetMessageClass(pool.FindMessageTypeByName(name))
    message: Message = kind(**fields)
    return message
