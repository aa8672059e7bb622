"""What Kafka knows of a partition: its meters' accounts, and where to read on.

Precondition of both: the partition's producer has started. Only then is the last transaction
of a former owner complete, and no further one can come.
"""

import asyncio
from dataclasses import replace
from typing import NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupCoordinatorNotAvailableError
from aiokafka.structs import OffsetAndMetadata

from meteragent.config.kafka import Kafka
from meteragent.errors import ForeignCommit, TopicReplaced
from meteragent.kafka.clients import Clients
from meteragent.kafka.owner import Bond
from meteragent.stream.pipeline import START, Position

_MARK = "meteragent/2"
_UNBOUND = "meteragent/1"
"""Before positions knew their ledger."""
_RESERVED = b"\0"


class Kept(NamedTuple):
    """What a partition of the ledger holds, of each key the latest record."""

    accounts: dict[str, bytes]
    """By meter."""
    reserved: dict[bytes, bytes]
    """What is no account: under keys that begin with a zero byte, as no meter's does."""
    foreign: list[bytes]
    """Keys of what is neither."""
    end: int
    """One past its last record."""


async def accounts(clients: Clients, partition: int) -> Kept:
    """A partition of the ledger, as it is committed."""
    ledger = TopicPartition(clients.kafka.ledger, partition)
    reader = clients.consumer()
    try:
        await reader.start()
        reader.assign([ledger])
        return await _read_through(reader, ledger)
    finally:
        await clients.close(reader)


async def _read_through(reader: AIOKafkaConsumer, ledger: TopicPartition) -> Kept:
    await reader.seek_to_beginning(ledger)
    found: dict[bytes, bytes | None] = {}
    end = None
    # Up to the high watermark: what a stranger has not committed yet, it may commit later.
    while end is None or await reader.position(ledger) < end:
        for records in (await reader.getmany(ledger, timeout_ms=100, max_records=5000)).values():
            found.update((record.key, record.value) for record in records)
        end = reader.highwater(ledger)
    return await asyncio.to_thread(_sorted_out, found, end)


def _sorted_out(found: dict[bytes, bytes | None], end: int) -> Kept:
    kept = Kept({}, {}, [], end)
    for key, value in found.items():
        if value is None:
            continue
        if key.startswith(_RESERVED):
            kept.reserved[key] = value
            continue
        try:
            kept.accounts[key.decode()] = value
        except UnicodeDecodeError:
            kept.foreign.append(key)
    return kept


async def committed(
    admin: AIOKafkaAdminClient, kafka: Kafka, partitions: int
) -> dict[int, OffsetAndMetadata]:
    """Where the group stands in each partition of the input; at -1 where it has not begun."""
    sources = [TopicPartition(kafka.input, partition) for partition in range(partitions)]
    found = await admin.list_consumer_group_offsets(kafka.group, partitions=sources)
    if not found.keys() >= set(sources):  # aiokafka overlooks what a coordinator refuses as a whole
        raise GroupCoordinatorNotAvailableError
    return {source.partition: found[source] for source in sources}


async def position(
    consumer: AIOKafkaConsumer, kafka: Kafka, partition: int, found: OffsetAndMetadata
) -> tuple[Position, int]:
    """Where to go on in a partition of the input, and how many records are lost to it.

    Records are lost if Kafka deleted them while open windows still needed them.
    """
    source = TopicPartition(kafka.input, partition)
    first = (await consumer.beginning_offsets([source]))[source]
    if found.offset < 0:
        return Position(first, START.clock, first), 0
    known = parse(kafka, partition, found)
    if known.offset > (await consumer.end_offsets([source]))[source]:
        raise TopicReplaced(kafka.input, partition, kafka.group)
    lost = max(0, first - known.offset)
    return replace(known, offset=max(first, known.offset)), lost


def parse(kafka: Kafka, partition: int, found: OffsetAndMetadata) -> Position:
    """The position that was committed, as `metadata` wrote it."""
    mark, *numbers = (found.metadata or "").split() or [""]
    try:
        if mark == _MARK:
            Bond.read(numbers.pop(0))
        if mark not in {_MARK, _UNBOUND} or not numbers:
            raise ForeignCommit(kafka.group, partition)
        (clock, processed), *ticks = (tuple(map(int, pair.split(":"))) for pair in numbers)
        return Position(found.offset, clock, processed, tuple((at, now) for at, now in ticks))
    except (ValueError, IndexError):
        raise ForeignCommit(kafka.group, partition) from None


def bond_of(found: OffsetAndMetadata) -> Bond | None:
    """With which ledger a position was committed; None if that was not known, or none was."""
    mark, *words = (found.metadata or "").split() or [""]
    try:
        return Bond.read(words[0]) if mark == _MARK else None
    except (ValueError, IndexError):
        return None  # `parse` refuses what it is


def metadata(position: Position, bond: Bond) -> str:
    """What is committed beside the offset.

    The bond, the clock before the offset and how far we have read, then the ticks to be repeated
    on the way: pairs with a colon, such as `meteragent/2 … 1763424000000:4711 4700:1763424060000`.
    """
    pairs = ((position.clock, position.processed), *position.ticks)
    return " ".join([_MARK, str(bond), *(f"{first}:{second}" for first, second in pairs)])
