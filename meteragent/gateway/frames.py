"""Batches of records <-> bytes, with a checksum.

A segment begins with a header, which has a salt of its own; batches follow, each with a keyed
checksum of all it holds and of where it stands. What a sender writes cannot look like a batch: it
does not know the salt.

    header   magic 8, whose 16, salt 16, number of the first record 8, checksum 16
    batch    magic 4, bytes of the body 4, checksum 16, body
    body     number of the first record 8, records
    record   kind 1, time 8, bytes of the meter 2, bytes of the message 4, meter, message
"""

import struct
from collections.abc import Sequence
from enum import IntEnum
from hashlib import blake2b
from typing import NamedTuple

HEADER_MAGIC, BATCH_MAGIC = b"mtrJ\0\0\0\1", b"mtrB"
SALT = CHECK = 16

_HEADER = struct.Struct(f"<8s{SALT}s{SALT}sQ")
_BATCH = struct.Struct(f"<4sI{CHECK}s")
_FIRST = struct.Struct("<Q")
_RECORD = struct.Struct("<BqHI")
HEADER_BYTES = _HEADER.size + CHECK


class RecordKind(IntEnum):
    """What a record is."""

    MESSAGE = 0
    """Of a meter that it names itself."""
    NAMED = 1
    """Of a meter that its topic names."""
    TICK = 2
    """Time has passed, up to here."""


class JournalRecord(NamedTuple):
    """One message, or that time has passed."""

    kind: RecordKind
    time: int
    """When it came, in milliseconds since the epoch."""
    meter: str = ""
    message: bytes = b""


class Frame(NamedTuple):
    """Records that were written together: all of them are there, or none."""

    first: int
    """The number of the first one."""
    records: tuple[JournalRecord, ...]
    end: int
    """Where in its segment the next batch begins."""


class Header(NamedTuple):
    """How a segment begins."""

    owner: bytes
    """Of which ledger the journal is."""
    salt: bytes
    first: int
    """The number of the first record."""


def header(said: Header) -> bytes:
    """How a segment begins, as bytes."""
    plain = _HEADER.pack(HEADER_MAGIC, *said)
    return plain + blake2b(plain, digest_size=CHECK).digest()


def read_header(segment: bytes) -> Header | None:
    """How a segment begins; None if the header is torn."""
    plain, check = segment[: _HEADER.size], segment[_HEADER.size : HEADER_BYTES]
    if blake2b(plain, digest_size=CHECK).digest() != check:
        return None
    magic, *said = _HEADER.unpack(plain)
    return Header(*said) if magic == HEADER_MAGIC else None


def batch(salt: bytes, first: int, records: Sequence[JournalRecord]) -> bytes:
    """A batch."""
    parts = [_FIRST.pack(first)]
    for kind, time, meter, message in records:
        name = meter.encode("utf-8", "surrogatepass")
        parts += (_RECORD.pack(kind, time, len(name), len(message)), name, message)
    body = b"".join(parts)
    return _BATCH.pack(BATCH_MAGIC, len(body), _check(salt, body)) + body


def read_batch(salt: bytes, segment: bytes, at: int) -> Frame | None:
    """The batch that begins there; None if there is none, or it is torn."""
    if len(segment) < at + _BATCH.size:
        return None
    magic, length, check = _BATCH.unpack_from(segment, at)
    body = segment[at + _BATCH.size : at + _BATCH.size + length]
    if magic != BATCH_MAGIC or len(body) < length or _check(salt, body) != check:
        return None
    [first] = _FIRST.unpack_from(body)
    return Frame(first, (*_records(body),), at + _BATCH.size + length)


def follows(salt: bytes, segment: bytes, at: int) -> bool:
    """Whether a whole batch begins anywhere behind a place."""
    at = segment.find(BATCH_MAGIC, at + 1)
    while at >= 0:
        if read_batch(salt, segment, at) is not None:
            return True
        at = segment.find(BATCH_MAGIC, at + 1)
    return False


def _records(body: bytes) -> list[JournalRecord]:
    found, at = [], _FIRST.size
    while at < len(body):
        kind, time, named, length = _RECORD.unpack_from(body, at)
        at += _RECORD.size
        meter = body[at : at + named].decode("utf-8", "surrogatepass")
        found.append(
            JournalRecord(RecordKind(kind), time, meter, body[at + named : at + named + length])
        )
        at += named + length
    return found


def _check(salt: bytes, body: bytes) -> bytes:
    return blake2b(body, digest_size=CHECK, key=salt).digest()
