"""What stands before a message whose schema is in a registry, as Confluent's clients write it.

    0 | id of the schema, 4 bytes, big-endian | Protobuf alone: which message of it | body

Apicurio's clients write the same where they are told to be compatible, with ids of four bytes.
"""

from struct import Struct

from meteragent.formats.json_one import BadRecord
from meteragent.stream.readings import Reason

MAGIC = 0
LONGEST_PATH = 16
"""Messages within messages."""

_HEAD = Struct(">BI")
SIZE = _HEAD.size
_LONGEST_NUMBER = 5
"""Bytes of a number that says which message: more than there can be in a schema."""


def framed(number: int, body: bytes) -> bytes:
    """A body behind the id of its schema."""
    return _HEAD.pack(MAGIC, number) + body


def number_of(message: bytes) -> int:
    """The id of its schema. BadRecord: it does not say one."""
    if len(message) < SIZE or message[0] != MAGIC:
        raise BadRecord(Reason.BAD_FRAMING)
    number: int = _HEAD.unpack_from(message)[1]
    return number


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
    """A number in zigzag, by groups of seven bits, and where it ends."""
    number = 0
    for place, byte in enumerate(body[at : at + _LONGEST_NUMBER]):
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:  # noqa: PLR2004 - the last group of a number
            return number >> 1 ^ -(number & 1), at + place + 1
    raise BadRecord(Reason.BAD_FRAMING)
