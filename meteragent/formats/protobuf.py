"""Protobuf -> documents, by the schema that each message was written with.

Fields are found by their names. One that was not written has its default where it says nothing of
presence, as zero watts have in proto3, and is absent where it does. Schemas are descriptors, or
sources (`.proto`), as their registry has them. Times (`google.protobuf.
Timestamp`) are ISO texts, wrapped values are these values, and enumerations are their names.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from google.protobuf import (
    any_pb2,
    api_pb2,
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    source_context_pb2,
    struct_pb2,
    timestamp_pb2,
    type_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from meteragent.formats.avro import whole
from meteragent.formats.framing import name_of, path_of
from meteragent.formats.json_one import BadRecord
from meteragent.formats.proto_source import described
from meteragent.formats.registered import Schema, SchemaRefused
from meteragent.stream.readings import Reason

MOST_VALUES = 1_000_000
"""Of a message."""
MOST_TEXT = 2**22
"""Of a schema."""
MOST_SOURCE = 2**20
"""Of one that is told as people write it."""

_SERIALIZED = re.compile(r"[A-Za-z0-9+/]*={0,2}")

_KNOWN = (
    *(any_pb2, source_context_pb2, type_pb2, api_pb2, descriptor_pb2, duration_pb2, empty_pb2),
    *(field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2),
)
_TIME = timestamp_pb2.Timestamp.DESCRIPTOR.full_name
_WRAPPED = "google.protobuf.{}Value"
_WRAPPERS = {
    _WRAPPED.format(kind)
    for kind in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String")
}


Path = tuple[int, ...]


class ProtobufBody:
    """Reads messages of one schema: of any message type that it has."""

    def __init__(self, schema: Schema, *, by_name: bool = False) -> None:
        """`by_name`: messages say what they are called, and not where they stand.

        SchemaRefused: they are not read.
        """
        if schema.kind != "PROTOBUF":
            raise SchemaRefused
        try:
            self._types = _file(schema).message_types_by_name
        except Exception:  # noqa: BLE001 - of many types; they may quote the schema
            self._types = None
        if not self._types:
            raise SchemaRefused
        self._outermost = [*self._types.values()]
        self._of: Callable[[bytes], tuple[Path | str, int]] = name_of if by_name else path_of
        self._found: dict[Path | str, tuple[type[Message], Descriptor]] = {}
        self._shapes: dict[str, list[_Field]] = {}

    def one(self, message: bytes | None) -> dict[str, Any]:
        """What it says. BadRecord: it is no message of its schema."""
        body = whole(message)
        which, at = self._of(body)
        if which not in self._found:
            self._found[which] = self._type(which)
        kind, descriptor = self._found[which]
        try:
            found = kind.FromString(body[at:])
        except Exception:  # noqa: BLE001 - DecodeError in one runtime, others in another
            found = None
        if found is None:
            raise BadRecord(Reason.NOT_PROTOBUF)
        return _Said(self._shapes).of(found, descriptor)

    def many(self, messages: Sequence[bytes]) -> list[dict[str, Any]] | None:
        """What each says, or None: one of them is bad."""
        try:
            return [*map(self.one, messages)]
        except BadRecord:
            return None

    def _type(self, which: Path | str) -> tuple[type[Message], Descriptor]:
        found = self._named(which) if isinstance(which, str) else self._at(which)
        if found is None:
            raise BadRecord(Reason.BAD_FRAMING)
        return GetMessageClass(found), found

    def _named(self, name: str) -> Descriptor | None:
        return next((one for one in self._outermost if one.name == name), None)

    def _at(self, path: Path) -> Descriptor | None:
        found, types = None, self._outermost
        for step in path:
            if step >= len(types):
                return None
            found = types[step]
            types = [*found.nested_types]
        return found


class _Field(NamedTuple):
    """What is asked of a field's descriptor for every message."""

    name: str
    has_presence: bool
    is_map: bool
    is_list: bool
    names: Mapping[int, str] | None
    """Of an enumeration's numbers."""
    message: Descriptor | None
    """Of what it holds, if these are messages."""

    @classmethod
    def of(cls, field: FieldDescriptor) -> "_Field":
        """What a descriptor says."""
        message, names, is_map = field.message_type, None, False
        if message is not None and message.GetOptions().map_entry:
            inner = cls.of(message.fields_by_name["value"])
            is_map, message, names = True, inner.message, inner.names
        elif field.enum_type is not None:
            names = {number: one.name for number, one in field.enum_type.values_by_number.items()}
        return cls(field.name, field.has_presence, is_map, field.is_repeated, names, message)


class _Said:
    """Makes a document of a message and what it holds."""

    def __init__(self, shapes: dict[str, list[_Field]]) -> None:
        self._shapes = shapes
        self._room = MOST_VALUES

    def of(self, message: Message, descriptor: Descriptor) -> dict[str, Any]:
        """A document. BadRecord: it holds too much."""
        fields = self._shapes.get(descriptor.full_name)
        if fields is None:
            fields = self._shapes[descriptor.full_name] = [*map(_Field.of, descriptor.fields)]
        self._take(len(fields))
        return {field.name: self._found(message, field) for field in fields}

    def _found(self, message: Message, field: _Field) -> Any:  # noqa: ANN401 - as its runtime's
        """What stands in a field; None: nothing does."""
        value = getattr(message, field.name)
        if field.is_map:
            self._take(len(value))
            return {str(key): self._value(field, value[key]) for key in value}
        if field.is_list:
            self._take(len(value))
            return [self._value(field, one) for one in value]
        if field.has_presence and not message.HasField(field.name):
            return None
        return self._value(field, value)

    def _take(self, values: int) -> None:
        self._room -= values
        if self._room < 0:
            raise BadRecord(Reason.NOT_PROTOBUF)

    def _value(self, field: _Field, value: Any) -> Any:  # noqa: ANN401 - as its runtime's
        if field.names is not None:
            return field.names.get(value, value)
        if field.message is None:
            return value
        name = field.message.full_name
        if name == _TIME:
            return _time(value)
        return value.value if name in _WRAPPERS else self.of(value, field.message)


def _time(value: Any) -> str | None:  # noqa: ANN401 - as its runtime's
    """A time in ISO, or None: it is none."""
    try:
        return str(value.ToJsonString())
    except ValueError:
        return None


def _file(schema: Schema) -> FileDescriptor:
    """A schema with all that it refers to, in a pool of its own."""
    pool = DescriptorPool()
    for known in _KNOWN:
        pool.AddSerializedFile(known.DESCRIPTOR.serialized_pb)
    return _added(pool, schema, "")


def _added(pool: DescriptorPool, schema: Schema, name: str) -> FileDescriptor:
    """What it describes, after what it refers to; under the name that others call it by."""
    for its, reference in schema.references.items():
        _added(pool, reference, its)
    file = _described(schema.text)
    file.name = name or file.name or "readings.proto"
    _leave_out_unknown(file, pool)
    return pool.AddSerializedFile(file.SerializeToString()) or pool.FindFileByName(file.name)


def _described(text: str) -> descriptor_pb2.FileDescriptorProto:
    """What a schema describes, whichever way its registry tells it."""
    if _SERIALIZED.fullmatch(text) and len(text) <= MOST_TEXT:
        file = descriptor_pb2.FileDescriptorProto.FromString(b64decode(text, validate=True))
    elif len(text) <= MOST_SOURCE:
        file = described(text)
    else:
        raise SchemaRefused
    return file


def _leave_out_unknown(file: descriptor_pb2.FileDescriptorProto, pool: DescriptorPool) -> None:
    """Imports that no registry tells are often for options alone; what needs them is refused."""
    known = [name for name in file.dependency if _is_known(pool, name)]
    public = {file.dependency[at] for at in file.public_dependency}
    del file.dependency[:], file.public_dependency[:], file.weak_dependency[:]
    file.dependency.extend(known)
    file.public_dependency.extend(at for at, name in enumerate(known) if name in public)


def _is_known(pool: DescriptorPool, name: str) -> bool:
    try:
        pool.FindFileByName(name)
    except KeyError:
        return False
    return True
