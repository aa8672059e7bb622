"""Avro -> documents, by the schema that each message was written with.

Fields are found by their names, wherever a schema has them and whatever else it has. Times are
numbers of milliseconds or ISO texts, decimals are numbers: as JSON would say them.
"""

from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from io import BytesIO
from typing import Any

from fastavro import schemaless_reader

from meteragent.formats.avro_schema import BEHIND, RecordSchema
from meteragent.formats.json_one import LONGEST_RECORD, BadRecord
from meteragent.stream.readings import Reason

MOST_TOGETHER = 2**20
"""Bytes of messages that are read together."""

_ISO = (date, datetime, time)
_SAID = (str, bytes, int, float)


class AvroBody:
    """Reads messages of one schema."""

    def __init__(self, schema: RecordSchema) -> None:
        self._schema, self._together = schema
        self._is_plain = "logicalType" not in repr(schema)

    def one(self, message: bytes | None) -> dict[str, Any]:
        """What it says. BadRecord: it is not what its schema says, to the last byte."""
        document = _read(whole(message), self._schema)
        if not isinstance(document, dict):
            raise BadRecord(Reason.NOT_AVRO)
        return document if self._is_plain else {k: plain(v) for k, v in document.items()}

    def many(self, messages: Sequence[bytes]) -> list[dict[str, Any]] | None:
        """What each says, or None: they are not surely what each is by itself.

        Why they are: what stands behind each is nowhere else in them all, and is found as often as
        there are messages. So each reaches from behind the one before it to just before that.
        """
        text = BEHIND.join((*messages, b""))
        if len(text) > MOST_TOGETHER or text.count(BEHIND) != len(messages):
            return None
        found = _read(_zigzag(len(messages)) + text + b"\0", self._together)
        if found is None or any(one["behind"] != BEHIND for one in found["all"]):
            return None
        documents = [one["said"] for one in found["all"]]
        return documents if self._is_plain else [*map(plain, documents)]


def whole(message: bytes | None) -> bytes:
    """The same message. BadRecord: there is none, or it is not worth reading.

    Why so many bytes: whether it is taken must not turn on how long its numbers are, which take
    ten bytes at most.
    """
    if not message:
        raise BadRecord(Reason.EMPTY)
    if len(message) > LONGEST_RECORD:
        raise BadRecord(Reason.TOO_LARGE)
    return message


def _read(text: bytes, schema: Any) -> Any:  # noqa: ANN401 - as its reader's
    """All of it, or None: it is not what the schema says."""
    stream = BytesIO(text)
    try:
        document = schemaless_reader(stream, schema, None)
    except Exception:  # noqa: BLE001 - fastavro's are of many types, and may quote what they read
        return None
    return document if stream.tell() == len(text) else None


def plain(value: Any) -> Any:  # noqa: ANN401 - whatever a document holds
    """A value as JSON would say it."""
    if isinstance(value, dict):
        return {key: plain(its) for key, its in value.items()}
    if isinstance(value, list):
        return [*map(plain, value)]
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, _ISO):
        return value.isoformat()
    return value if value is None or isinstance(value, _SAID) else str(value)


def _zigzag(number: int) -> bytes:
    """A number that is not negative, by groups of seven bits."""
    left, groups = number << 1, bytearray()
    while left > 0x7F:  # noqa: PLR2004 - what fits into the last group
        groups.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes((*groups, left))
