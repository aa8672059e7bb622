"""Which decoder reads messages: chosen once, as a mapping says how they are written."""

from collections.abc import Callable

from meteragent.errors import InvalidSetting
from meteragent.formats.decoder import Decoder, DocumentDecoder
from meteragent.formats.forms import Body, MessageDecoder
from meteragent.formats.mapped import MappedDecoder
from meteragent.formats.mapped_one import Documents
from meteragent.formats.mapping import Mapping
from meteragent.formats.registered import AvroShapes, RegisteredDecoder, Schema

_MISSING = "is read by meteragent[registry], which is not installed"
_INSTEAD = "run: pip install 'meteragent[registry]'"


def message_decoder(mapping: Mapping) -> MessageDecoder:
    """What reads messages; in the canonical form the fastest there is.

    InvalidSetting: the mapping makes no sense for documents, or what it takes is not installed.
    """
    mapping.refuse_documents()
    reader = _BY_SCHEMA.get(mapping.written)
    if reader is None:
        return _of_json(mapping)
    decoders = reader(mapping)
    by_wheel = mapping.written == "avro" and mapping.framing in _FOUR_BYTES
    return RegisteredDecoder(decoders, mapping.framing, _shapes(mapping) if by_wheel else None)


def _of_json(mapping: Mapping) -> MessageDecoder:
    return Decoder() if mapping.is_canonical else MappedDecoder(mapping)


def _avro(mapping: Mapping) -> Callable[[Schema], MessageDecoder]:
    try:
        from meteragent.formats.avro_mapped import mapped  # noqa: PLC0415 - an extra
        from meteragent.formats.avro_readings import canonical  # noqa: PLC0415
        from meteragent.formats.avro_schema import parsed  # noqa: PLC0415
    except ImportError:
        raise InvalidSetting("input.format", _MISSING, _INSTEAD) from None
    if mapping.is_canonical:
        return lambda schema: canonical(parsed(schema))
    return lambda schema: mapped(mapping, parsed(schema))


def _shapes(mapping: Mapping) -> AvroShapes:
    from meteragent.formats.avro_schema import shape_of  # noqa: PLC0415 - an extra

    return AvroShapes(None if mapping.is_canonical else Documents(mapping), shape_of)


def _protobuf(mapping: Mapping) -> Callable[[Schema], MessageDecoder]:
    try:
        from meteragent.formats.protobuf import ProtobufBody  # noqa: PLC0415 - an extra
    except ImportError:
        raise InvalidSetting("input.format", _MISSING, _INSTEAD) from None
    by_name = mapping.framing != "confluent"
    return lambda schema: _by_documents(mapping, ProtobufBody(schema, by_name=by_name))


def _json(mapping: Mapping) -> Callable[[Schema], MessageDecoder]:
    try:
        from meteragent.formats.json_schema import ObedientDecoder  # noqa: PLC0415 - an extra
    except ImportError:
        raise InvalidSetting("input.format", _MISSING, _INSTEAD) from None
    decoder = _of_json(mapping)
    return lambda schema: ObedientDecoder(schema, decoder)


def _by_documents(mapping: Mapping, body: Body) -> MessageDecoder:
    return DocumentDecoder(body) if mapping.is_canonical else MappedDecoder(mapping, body=body)


_FOUR_BYTES = ("confluent", "apicurio-4")
"""How a message in Avro says its schema where the wheel reads it."""

_BY_SCHEMA = {"avro": _avro, "protobuf": _protobuf, "json-schema": _json}
"""What makes a decoder of every schema in the registry, by how messages are written."""
