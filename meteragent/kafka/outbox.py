"""What the next transaction of a partition will hold, and how it is handed to the producer."""

from asyncio import Future
from dataclasses import dataclass, field

from aiokafka import AIOKafkaProducer

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


async def send(
    producer: AIOKafkaProducer, topic: str, partition: int, records: list[Record]
) -> list[Future[object]]:
    """Hand records to the producer, whole batches at a time; answer what is to be awaited.

    A batch is several times as fast as single sends. The caller must await every future
    before it commits: aiokafka commits a transaction even if one of its records failed.
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
