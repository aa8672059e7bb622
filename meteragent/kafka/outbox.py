"""What the next transaction of a partition will hold, and how it is handed to the producer."""

import asyncio
from asyncio import Future
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError
from aiokafka.structs import OffsetAndMetadata, RecordMetadata

from meteragent.config.kafka import Kafka
from meteragent.errors import LedgerLost
from meteragent.kafka.owner import Bond, farther
from meteragent.kafka.restore import metadata
from meteragent.privacy.policy import RELEASE_SCHEMA, Policy
from meteragent.stream.pipeline import Position

Headers = tuple[tuple[str, bytes], ...]


class Record(NamedTuple):
    """What is written to a topic."""

    key: bytes
    value: bytes | None
    """Without one, what was there is gone."""
    timestamp: int | None = None
    """Without one, it is that of the sending."""
    headers: Headers = ()


record_of = partial(tuple.__new__, Record)
"""Of all four fields: as `Record`, some tenths of a microsecond sooner."""


def headers_of(policy: Policy) -> Headers:
    """What stands beside each release of a policy, so that nobody has to read it to sort it."""
    return (("schema", RELEASE_SCHEMA.encode()), ("policy", policy.id.encode()))


@dataclass(slots=True)
class Outbox:
    """Records by topic, in their order; of a ledger only the latest record of each meter."""

    releases: dict[str, list[Record]] = field(default_factory=dict)
    """Topic -> what is released there."""
    accounts: dict[str, bytes] = field(default_factory=dict)
    rejects: list[Record] = field(default_factory=list)
    reserved: dict[bytes, bytes | None] = field(default_factory=dict)
    """Of the ledger too: what is no account, or none any more."""
    told: dict[int, list[Record]] = field(default_factory=dict)
    """Partition of sums -> what those are told who decide its groups."""

    def __len__(self) -> int:
        told = sum(map(len, self.told.values()))
        return self.released + len(self.rejects) + len(self.reserved) + told

    def tell(self, told: list[tuple[int, bytes]]) -> None:
        """Add what is told to these partitions of sums."""
        for partition, record in told:
            self.told.setdefault(partition, []).append(Record(b"", record))

    @property
    def released(self) -> int:
        """How many releases there are."""
        return sum(map(len, self.releases.values()))

    def outlived(self, lasting: Mapping[str, int], now: int) -> int:
        """How many releases are older than their topic keeps any: `lasting` by topic."""
        oldest = {topic: now - kept for topic, kept in lasting.items()}
        return sum(
            timestamp is not None and timestamp < oldest[topic]
            for topic, records in self.releases.items()
            if topic in oldest
            for _, _, timestamp, _ in records
        )

    def ledger(self) -> list[Record]:
        """The ledger's records."""
        accounts = [
            record_of((meter.encode(), account, None, ()))
            for meter, account in self.accounts.items()
        ]
        return [*(Record(key, value) for key, value in self.reserved.items()), *accounts]


@dataclass(slots=True)
class Sent:
    """A transaction that is not committed yet."""

    outbox: Outbox
    position: Position
    begun: float
    bond: Bond | None = None
    """What its position is committed with, once that is known."""


async def send_all(
    producer: AIOKafkaProducer,
    kafka: Kafka,
    source: TopicPartition,
    outbox: Outbox,
    position: Position,
    bond: Bond,
) -> Bond:
    """Begin a transaction and put everything in. Postcondition: every record is delivered.

    aiokafka commits a transaction even if one of its records failed: so each is awaited. The
    ledger's come before the position, which tells how far the ledger goes with them; answer that.
    """
    futures: list[Future[RecordMetadata]] = []
    ledger = outbox.ledger()
    try:
        await producer.begin_transaction()
        futures += await send(producer, kafka.ledger, source.partition, ledger)
        entered = len(futures)
        for topic, records in (*outbox.releases.items(), (kafka.rejected, outbox.rejects)):
            futures += await send(producer, topic, source.partition, records)
        for partition, records in outbox.told.items():
            futures += await send(producer, kafka.partials, partition, records)
        if entered:
            first, *_ = await asyncio.gather(*futures[:entered])
            if 0 <= first.offset < bond.end:  # it is not said of what the brokers had already
                raise LedgerLost(kafka.ledger, f"began anew in partition {source.partition}")
            bond = farther(bond, first.offset + len(ledger))
        offset = OffsetAndMetadata(position.offset, metadata(position, bond))
        await producer.send_offsets_to_transaction({source: offset}, kafka.group)
        await asyncio.gather(*futures)
    except KafkaError as error:
        for cause in _failures(futures, error):
            raise cause from None
        raise
    return bond


def _failures(futures: list[Future[RecordMetadata]], error: KafkaError) -> Iterator[BaseException]:
    """Of which the error may only be a consequence."""
    failed = (future.exception() for future in futures if future.done() and not future.cancelled())
    return (one for one in failed if one is not None and one is not error)


async def send(
    producer: AIOKafkaProducer, topic: str, partition: int, records: Sequence[Record]
) -> list[Future[RecordMetadata]]:
    """Hand records to the producer, whole batches at a time; answer what is to be awaited.

    A batch is several times as fast as single sends.
    """
    futures = []
    batch = producer.create_batch()
    beside: dict[Headers, list[tuple[str, bytes]]] = {}
    for key, value, timestamp, headers in records:
        its = beside.get(headers)
        if its is None:
            its = beside[headers] = [*headers]
        if batch.append(key=key, value=value, timestamp=timestamp, headers=its) is None:
            batch.close()
            futures.append(await producer.send_batch(batch, topic, partition=partition))
            batch = producer.create_batch()
            batch.append(key=key, value=value, timestamp=timestamp, headers=its)
    if batch.record_count():
        batch.close()
        futures.append(await producer.send_batch(batch, topic, partition=partition))
    return futures
