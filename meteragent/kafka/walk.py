"""The way through the batches of an answer to a fetch, by their heads.

Which of them are markers or were aborted, and whether the checksum is right, is found out here, as
aiokafka does it. What their records hold is `unpack`'s business, once it is sure that they are
wanted.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Any, NamedTuple

from aiokafka.errors import CorruptRecordException
from aiokafka.record.control_record import ABORT_MARKER, ControlRecord
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c

from meteragent.formats import fast

EVERYTHING = 2**63 - 1
"""An offset that comes after all records."""
MAGIC = 2
"""Of batches; what is older is no batch, and aiokafka's to read."""

_PREFIX = Struct(">qi")  # offset, length of what follows
_MAGIC_AT = 16
_HEAD = Struct(">q4x4xxIhi8x8xq2x4xi")
STAND_IN = _PREFIX.pack(0, _HEAD.size - _PREFIX.size) + bytes([0, 0, 0, 0, MAGIC]) + bytes(44)
"""The head of a batch, and nothing behind it."""
_CHECKED_FROM = 21  # the checksum is of what follows it
_SHORTEST_OLD = 26  # of what was there before batches
_TRANSACTIONAL, _CONTROL = 0x10, 0x20


@dataclass(frozen=True, slots=True)
class Fetched:
    """Batches of one partition; none of them is a marker, or aborted."""

    raw: fast.Raw
    spans: tuple[tuple[int, int], ...]
    """Where batches begin and end."""
    first: int
    """What comes before is not wanted; a batch may begin earlier."""
    until: int = EVERYTHING
    """Nor is this record, or what comes after it."""
    found: Callable[[], Any] | None = None
    """What another thread has found in these, where one was asked."""


class _Head(NamedTuple):
    """What is asked of a batch's head."""

    base: int
    checksum: int
    attributes: int
    last_delta: int
    producer: int
    records: int


class Walk:
    """The way through the batches of an answer: the same that aiokafka goes, record by record."""

    def __init__(self, raw: fast.Raw, aborted: list[tuple[int, int]], first: int) -> None:
        """`aborted`: producers, and where each began what it did not commit, in this order."""
        self.next_fetch_offset = first
        self.more = True
        self._raw = raw
        self._view = memoryview(raw)
        self._spans = _spans(raw)
        self._aborted = list(aborted)
        self._ignored: set[int] = set()

    def take(self, most: int) -> tuple[Fetched, int]:
        """Whole batches, until they hold so many records, and how many that may be."""
        first, taken, count = self.next_fetch_offset, [], 0
        for at, end in self._spans:
            records, after = self._look(at, end)
            if records and after > first:
                taken.append((at, end))
                count += records
            self.next_fetch_offset = after
            if count >= most:
                break
        else:
            self.more = False
        return Fetched(self._raw, tuple(taken), first), count

    def _look(self, at: int, end: int) -> tuple[int, int]:
        """How many records of a batch are to be taken, and the offset after it."""
        if magic(self._raw, at) < MAGIC:
            old = batch(self._raw, at, end)
            if not old.validate_crc():
                raise CorruptRecordException("a record's checksum is wrong")
            return 1, old.next_offset
        head = _Head._make(_HEAD.unpack_from(self._raw, at))
        if self._checksum(at + _CHECKED_FROM, end) != head.checksum:
            raise CorruptRecordException("a batch's checksum is wrong")
        left_out = self._is_aborted(head, at, end) or head.attributes & _CONTROL
        return 0 if left_out else head.records, head.base + head.last_delta + 1

    def _checksum(self, at: int, end: int) -> int:
        found = fast.checksum(self._raw, at, end)
        return calc_crc32c(self._view[at:end]) if found is None else found

    def _is_aborted(self, head: _Head, at: int, end: int) -> bool:
        while self._aborted and self._aborted[0][1] <= head.base:
            self._ignored.add(self._aborted.pop(0)[0])
        if head.attributes & _CONTROL:
            marker = next(batch(self._raw, at, end))
            if ControlRecord.parse(marker.key) == ABORT_MARKER:
                self._ignored.discard(head.producer)
        return bool(head.attributes & _TRANSACTIONAL) and head.producer in self._ignored


def magic(raw: fast.Raw, at: int) -> int:
    """Of which format a batch is."""
    return raw[at + _MAGIC_AT]


def offsets_of(raw: fast.Raw, at: int) -> tuple[int, int]:
    """Of a batch's first record, and the one after its last. Precondition: it is no older form."""
    head = _Head._make(_HEAD.unpack_from(raw, at))
    return head.base, head.base + head.last_delta + 1


def batch(raw: fast.Raw, at: int, end: int) -> Any:  # noqa: ANN401 - aiokafka's own
    """A batch as aiokafka reads it."""
    return MemoryRecords(bytes(raw[at:end])).next_batch()


def is_whole(raw: fast.Raw) -> bool:
    """Whether the first batch was not cut off, if there is any."""
    return len(raw) >= _PREFIX.size and len(raw) >= _PREFIX.size + _PREFIX.unpack_from(raw)[1]


def _spans(raw: fast.Raw) -> Iterator[tuple[int, int]]:
    """Where batches begin and end; the last one may have been cut off, and is not counted."""
    at = 0
    while at + _PREFIX.size <= len(raw):
        end = at + _PREFIX.size + _PREFIX.unpack_from(raw, at)[1]
        shortest = at + _SHORTEST_OLD
        if end >= shortest and len(raw) > at + _MAGIC_AT and magic(raw, at) >= MAGIC:
            shortest = at + _HEAD.size
        if end < shortest:
            raise CorruptRecordException("a batch is too short")
        if end > len(raw):
            return
        yield at, end
        at = end
