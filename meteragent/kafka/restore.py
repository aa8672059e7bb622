"""What Kafka knows of a partition: its meters' accounts, and where to read on.

Precondition of both: the partition's producer has started. Only then is the last transaction
of a former owner complete, and no further one can come.
"""

import asyncio
from dataclasses import replace

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupCoordinatorNotAvailableError
from aiokafka.structs import OffsetAndMetadata

from meteragent.config.kafka import Kafka
from meteragent.errors import ForeignCommit, TopicReplaced
from meteragent.kafka.clients import Clients
from meteragent.stream.pipeline import START, Position

_MARK = "meteragent/1"


async def accounts(clients: Clients, partition: int) -> dict[str, bytes]:
    """The latest ledger record of each meter."""
    ledger = TopicPartition(clients.kafka.ledger, partition)
    reader = clients.consumer()
    try:
        await reader.start()
        reader.assign([ledger])
        return await _read_through(reader, ledger)
    finally:
        await clients.close(reader)


async def _read_through(reader: AIOKafkaConsumer, ledger: TopicPartition) -> dict[str, bytes]:
    await reader.seek_to_beginning(ledger)
    found: dict[bytes, bytes | None] = {}
    end = None
    # Up to the high watermark: what a stranger has not committed yet, it may commit later.
    while end is None or await reader.position(ledger) < end:
        for records in (await reader.getmany(ledger, timeout_ms=100, max_records=5000)).values():
            found.update((record.key, record.value) for record in records)
        end = reader.highwater(ledger)
    return await asyncio.to_thread(_living, found)


def _living(found: dict[bytes, bytes | None]) -> dict[str, bytes]:
    return {key.decode(): value for key, value in found.items() if value is not None}


async def position(
    admin: AIOKafkaAdminClient, consumer: AIOKafkaConsumer, kafka: Kafka, partition: int
) -> tuple[Position, int]:
    """Where the group stands in a partition of the input, and how many records are lost to it.

    Records are lost if Kafka deleted them while open windows still needed them.
    """
    source = TopicPartition(kafka.input, partition)
    committed = await admin.list_consumer_group_offsets(kafka.group, partitions=[source])
    if source not in committed:  # aiokafka overlooks what a coordinator refuses as a whole
        raise GroupCoordinatorNotAvailableError
    found = committed[source]
    first = (await consumer.beginning_offsets([source]))[source]
    if found.offset < 0:
        return Position(first, START.clock, first), 0
    known = parse(kafka, partition, found)
    if known.offset > (await consumer.end_offsets([source]))[source]:
        raise TopicReplaced(kafka.input, partition)
    lost = max(0, first - known.offset)
    return replace(known, offset=max(first, known.offset)), lost


def parse(kafka: Kafka, partition: int, found: OffsetAndMetadata) -> Position:
    """The position that was committed, as `metadata` wrote it."""
    mark, *numbers = (found.metadata or "").split() or [""]
    if mark != _MARK or not numbers:
        raise ForeignCommit(kafka.group, partition)
    try:
        (clock, processed), *ticks = (tuple(map(int, pair.split(":"))) for pair in numbers)
        return Position(found.offset, clock, processed, tuple((at, now) for at, now in ticks))
    except ValueError:
        raise ForeignCommit(kafka.group, partition) from None


def metadata(position: Position) -> str:
    """What is committed beside the offset.

    The clock before it and how far we have read, then the ticks to be repeated on the way:
    pairs with a colon, such as `meteragent/1 1763424000000:4711 4700:1763424060000`.
    """
    pairs = ((position.clock, position.processed), *position.ticks)
    return " ".join([_MARK, *(f"{first}:{second}" for first, second in pairs)])
