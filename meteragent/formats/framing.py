"""What stands before a message whose schema is in a registry, as its senders' clients write it.

    confluent          0 | id of the schema, 4 bytes, big-endian | Protobuf alone: its place | body
    apicurio-4         0 | id of the schema, 4 bytes, big-endian | Protobuf alone: its name  | body
    apicurio-8         0 | id of the schema, 8 bytes, big-endian | Protobuf alone: its name  | body
    apicurio-headers   nothing: Kafka's headers say it, and are put before the body here

A Protobuf schema may describe several messages. Confluent's clients say the place of one among
them, Apicurio's its name.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Literal

from meteragent.formats.json_one import BadRecord
from meteragent.stream.readings import Reason

Framing = Literal["confluent", "apicurio-4", "apicurio-8", "apicurio-headers"]
Ids = Literal["content", "global"]
"""Of which kind ids are in Apicurio, which has one for each content and one for each version."""
Headers = Sequence[tuple[str, bytes | None]]

MAGIC = 0
LONGEST_PATH = 16
"""Messages within messages."""

_FOUR, _EIGHT = Struct(">BI"), Struct(">BQ")
_LONGEST_NUMBER = 5
"""Bytes of a number that says which message: more than there can be in a schema."""
_NAME = 0x0A
"""The first field of a message, which is of text: it holds a name."""
_UNFRAMED = b"\xff"
"""Of which nobody knows what it is."""


class Prefix:
    """How messages of one framing say their schema."""

    def __init__(self, framing: Framing = "confluent") -> None:
        self._head = _FOUR if framing in ("confluent", "apicurio-4") else _EIGHT
        self.size = self._head.size
        """Bytes before what follows the id."""

    def number_of(self, message: bytes) -> int:
        """The id of its schema. BadRecord: it does not say one."""
        if len(message) < self.size or message[0] != MAGIC:
            raise BadRecord(Reason.BAD_FRAMING)
        number: int = self._head.unpack_from(message)[1]
        return number


def framed(number: int, body: bytes) -> bytes:
    """A body behind the id of its schema, as Confluent's clients read it."""
    return _FOUR.pack(MAGIC, number) + body


def told_by_headers(
    body: bytes | None, headers: Headers, ids: Ids, *, of_protobuf: bool
) -> bytes | None:
    """A message with what its headers say before it, as in `apicurio-8`."""
    said = dict(headers)
    number = said.get(f"apicurio.value.{ids}Id")
    name = said.get("apicurio.protobuf.type") if of_protobuf else b""
    if not body:
        return body
    is_binary = said.get("apicurio.value.encoding") in (None, b"BINARY")
    if number is None or len(number) != _EIGHT.size - 1 or name is None or not is_binary:
        return _UNFRAMED
    head = bytes((MAGIC,)) + number
    if not of_protobuf:
        return head + body
    field = bytes((_NAME,)) + _length(name) + name
    return head + _length(field) + field + body


def name_of(body: bytes) -> tuple[str, int]:
    """Which message of a Protobuf schema it is, by its name, and where that begins.

    BadRecord: it does not say one.
    """
    size, begin = _group(body, 0)
    if not size or body[begin : begin + 1] != bytes((_NAME,)):
        raise BadRecord(Reason.BAD_FRAMING)
    length, at = _group(body, begin + 1)
    end = at + length
    if end != begin + size or end > len(body):
        raise BadRecord(Reason.BAD_FRAMING)
    return body[at:end].decode("ascii", "replace"), end


def path_of(body: bytes) -> tuple[tuple[int, ...], int]:
    """Which message of a Protobuf schema it is, from the outermost on, and where that begins.

    The path has its length before it; a single 0 is the first message. BadRecord: it is none.
    """
    length, at = _number(body, 0)
    if not 0 <= length <= LONGEST_PATH:
        raise BadRecord(Reason.BAD_FRAMING)
    path = []
    for _ in range(length):
        step, at = _number(body, at)
        if step < 0:
            raise BadRecord(Reason.BAD_FRAMING)
        path.append(step)
    return (*path,) or (0,), at


def _number(body: bytes, at: int) -> tuple[int, int]:
    """A number in zigzag, and where it ends."""
    number, end = _group(body, at)
    return number >> 1 ^ -(number & 1), end


def _group(body: bytes, at: int) -> tuple[int, int]:
    """A number by groups of seven bits, and where it ends."""
    number = 0
    for place, byte in enumerate(body[at : at + _LONGEST_NUMBER]):
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:  # noqa: PLR2004 - the last group of a number
            return number, at + place + 1
    raise BadRecord(Reason.BAD_FRAMING)


def _length(text: bytes) -> bytes:
    """How long it is, by groups of seven bits."""
    left, groups = len(text), bytearray()
    while left > 0x7F:  # noqa: PLR2004 - what fits into the last group
        groups.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes((*groups, left))
