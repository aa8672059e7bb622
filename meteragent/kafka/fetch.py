"""The input as the brokers hold it: whole batches, taken from aiokafka before it makes objects.

An object per record is most of what a client costs, and the agent wants columns. So an answer to
a fetch is kept as the bytes that came, and only the heads of its batches are read here: which of
them are markers or were aborted, and whether the checksum is right. What their records hold is
`unpack`'s business, once it is sure that they are wanted.

This room stands on insides of aiokafka. `tests/kafka/test_fetch.py` says which, and fails when
another version has others.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.consumer.fetcher import Fetcher, FetchResult, PartitionRecords
from aiokafka.errors import ConsumerStoppedError, CorruptRecordException
from aiokafka.record.control_record import ABORT_MARKER, ControlRecord
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c

from meteragent.formats import fast
from meteragent.kafka.receive import InPlaceClient

EVERYTHING = 2**63 - 1
"""An offset that comes after all records."""
MAGIC = 2
"""Of batches; what is older is no batch, and aiokafka's to read."""

_PREFIX = Struct(">qi")  # offset, length of what follows
_MAGIC_AT = 16
_HEAD = Struct(">q4x4xxIhi8x8xq2x4xi")
_CHECKED_FROM = 21  # the checksum is of what follows it
_SHORTEST_OLD = 26  # of what was there before batches
_TRANSACTIONAL, _CONTROL = 0x10, 0x20


@dataclass(frozen=True, slots=True)
class Fetched:
    """Batches of one partition; none of them is a marker, or aborted."""

    raw: bytes
    spans: tuple[tuple[int, int], ...]
    """Where batches begin and end."""
    first: int
    """What comes before is not wanted; a batch may begin earlier."""
    until: int = EVERYTHING
    """Nor is this record, or what comes after it."""


class InputConsumer(AIOKafkaConsumer):  # type: ignore[misc]
    """A consumer that hands over batches."""

    async def start(self) -> None:
        """Connect. Nothing is fetched before partitions are assigned."""
        self._client.__class__ = InPlaceClient
        await super().start()
        self._fetcher.__class__ = _BatchFetcher  # aiokafka makes it by itself
        self._fetcher.listen()

    async def getbatches(
        self, *, timeout_ms: int, max_records: int
    ) -> dict[TopicPartition, Fetched]:
        """What has come of each partition: whole batches, until there are so many records.

        As `getmany` is, but that it may answer early, and with nothing.
        """
        if self._closed:
            raise ConsumerStoppedError
        self._coordinator.check_errors()
        with self._subscription.fetch_context():
            found: dict[TopicPartition, Fetched] = await self._fetcher.fetched_batches(
                timeout_ms / 1000, max_records
            )
        return found


class _BatchFetcher(Fetcher):  # type: ignore[misc]
    """Keeps what has come as bytes."""

    _client: Any

    def listen(self) -> None:
        """Overhear what brokers answer."""
        self._client = _Overheard(self._client)

    async def _proc_fetch_request(self, *request: Any) -> bool:  # noqa: ANN401 - aiokafka's own
        """Fetch. No await lies between an answer and the return of what is overridden here."""
        woken: bool = await super()._proc_fetch_request(*request)
        if woken:
            for topic, partitions in self._client.heard.topics:
                for partition, *_, raw in partitions:
                    self._keep(TopicPartition(topic, partition), raw)
        return woken

    def _keep(self, source: TopicPartition, raw: bytes) -> None:
        """Put our result in the place of aiokafka's, where it has just made one of these bytes."""
        made = self._records.get(source)
        if type(made) is FetchResult:
            self._records[source] = _Result.of(made, raw)

    async def fetched_batches(self, timeout: float, most: int) -> dict[TopicPartition, Fetched]:  # noqa: ASYNC109 - as `fetched_records`
        if self._subscriptions.reassignment_in_progress:
            await self._subscriptions.wait_for_assignment()
        if not (found := self._drained(most)) and timeout:
            waiter = self._create_fetch_waiter()
            done, pending = await asyncio.wait([waiter], timeout=timeout)
            if pending or self._closed:
                waiter.cancel()
                return {}
            done.pop().result()
            if not self._subscriptions.reassignment_in_progress:
                found = self._drained(most)
        return found

    def _drained(self, most: int) -> dict[TopicPartition, Fetched]:
        found: dict[TopicPartition, Fetched] = {}
        for source, result in list(self._records.items()):
            if most <= 0:
                break
            if isinstance(result, _Result):
                fetched, count = result.take(most)
                if not result.has_more():
                    self._let_go(source)
                if fetched.spans:
                    found[source] = fetched
                    most -= count
            elif not found:  # an error; it is told when nothing else is to be
                self._let_go(source)
                result.check_raise()
        return found

    def _let_go(self, source: TopicPartition) -> None:
        """Let the next be fetched."""
        del self._records[source]
        self._notify(self._wait_consume_future)


class _Overheard:
    """A client whose last answer is remembered."""

    def __init__(self, client: Any) -> None:  # noqa: ANN401 - aiokafka's own
        self._client = client
        self.heard: Any = None

    async def send(self, *request: Any) -> Any:  # noqa: ANN401 - aiokafka's own
        self.heard = await self._client.send(*request)
        return self.heard

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a client has
        return getattr(self._client, name)


class _Result(FetchResult):  # type: ignore[misc]
    """An answer of which batches are taken."""

    _partition_records: Any

    @classmethod
    def of(cls, made: Any, raw: bytes) -> "_Result":  # noqa: ANN401 - aiokafka's own
        """What aiokafka has made of these bytes, and not begun to read."""
        records: PartitionRecords = made._partition_records  # noqa: SLF001 - see above
        walk = Walk(raw, records._aborted_transactions, records.next_fetch_offset)  # noqa: SLF001
        return cls(
            made._topic_partition,  # noqa: SLF001
            assignment=made._assignment,  # noqa: SLF001
            partition_records=walk,
            backoff=made._backoff,  # noqa: SLF001
        )

    def take(self, most: int) -> tuple[Fetched, int]:
        """The next batches and about how many records they hold; nothing if they are outdated."""
        if not self.check_assignment(self._topic_partition) or not self.has_more():
            return Fetched(b"", (), 0), 0
        walk: Walk = self._partition_records
        taken = walk.take(most)
        self._update_position()
        if not walk.more:
            self._partition_records = None
        return taken


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

    def __init__(self, raw: bytes, aborted: list[tuple[int, int]], first: int) -> None:
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


def magic(raw: bytes, at: int) -> int:
    """Of which format a batch is."""
    return raw[at + _MAGIC_AT]


def offsets_of(raw: bytes, at: int) -> tuple[int, int]:
    """Of a batch's first record, and the one after its last. Precondition: it is no older form."""
    head = _Head._make(_HEAD.unpack_from(raw, at))
    return head.base, head.base + head.last_delta + 1


def batch(raw: bytes, at: int, end: int) -> Any:  # noqa: ANN401 - aiokafka's own
    """A batch as aiokafka reads it."""
    return MemoryRecords(raw[at:end]).next_batch()


def _spans(raw: bytes) -> Iterator[tuple[int, int]]:
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
