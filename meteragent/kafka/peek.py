"""The first records of a topic, for somebody who only looks: no group, no commit."""

from aiokafka import TopicPartition

from meteragent.kafka.clients import Clients

MOST = 500
"""Records of each partition."""
_PATIENCE_MS = 1000


async def peek(clients: Clients, topic: str) -> list[bytes]:
    """The values of some of the oldest records of each partition that hold any."""
    consumer = clients.consumer()
    await consumer.start()
    try:
        numbers = await consumer._client.fetch_all_metadata()  # noqa: SLF001
        partitions = numbers.partitions_for_topic(topic) or set()
        sources = [TopicPartition(topic, number) for number in sorted(partitions)]
        if not sources:
            return []
        consumer.assign(sources)
        await consumer.seek_to_beginning(*sources)
        found: list[bytes] = []
        while records := await consumer.getmany(timeout_ms=_PATIENCE_MS, max_records=MOST):
            found += [r.value for some in records.values() for r in some if r.value]
            if len(found) >= MOST * len(sources):
                break
        return found
    finally:
        await clients.close(consumer)
