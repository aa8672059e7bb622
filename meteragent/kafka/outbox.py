"""What the next transaction of a partition will hold, and how it is handed to the producer."""

import asyncio
from asyncio import Future
from dataclasses import dataclass, field

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError
from aiokafka.structs import OffsetAndMetadata

from meteragent.config.kafka import Kafka
from meteragent.kafka.restore import metadata
from meteragent.stream.pipeline import Position

Record = tuple[bytes, bytes]
"""(key, value)"""


@dataclass(slots=True)
class Outbox:
    """Records by topic, in their order; of a ledger only the latest record of each meter."""

    releases: list[Record] = field(default_factory=list)
    accounts: dict[str, bytes] = field(default_factory=dict)
    rejects: list[Record] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.releases) + len(self.rejects)

    def ledger(self) -> list[Record]:
        """The ledger's records."""
        return [(meter.encode(), account) for meter, account in self.accounts.items()]


async def send_all(
    producer: AIOKafkaProducer,
    kafka: Kafka,
    source: TopicPartition,
    outbox: Outbox,
    position: Position,
) -> None:
    """Begin a transaction and put everything in. Postcondition: every record is delivered.

    aiokafka commits a transaction even if one of its records failed: so each is awaited.
    """
    futures: list[Future[object]] = []
    try:
        await producer.begin_transaction()
        for topic, records in (
            (kafka.output, outbox.releases),
            (kafka.ledger, outbox.ledger()),
            (kafka.rejected, outbox.rejects),
        ):
            futures += await send(producer, topic, source.partition, records)
        offset = OffsetAndMetadata(position.offset, metadata(position))
        await producer.send_offsets_to_transaction({source: offset}, kafka.group)
        await asyncio.gather(*futures)
    except KafkaError as error:
        failed = (f.exception() for f in futures if f.done() and not f.cancelled())
        for first in failed:  # of which the error may only be a consequence
            if first is not None and first is not error:
                raise first from None
        raise


async def send(
    producer: AIOKafkaProducer, topic: str, partition: int, records: list[Record]
) -> list[Future[object]]:
    """Hand records to the producer, whole batches at a time; answer what is to be awaited.

    A batch is several times as fast as single sends.
    """
    futures = []
    batch = producer.create_batch()
    for key, value in records:
        if batch.append(key=key, value=value, timestamp=None) is None:
            batch.close()
            futures.append(await producer.send_batch(batch, topic, partition=partition))
            batch = producer.create_batch()
            batch.append(key=key, value=value, timestamp=None)
    if batch.record_count():
        batch.close()
        futures.append(await producer.send_batch(batch, topic, partition=partition))
    return futures
