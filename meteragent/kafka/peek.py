"""The first records of a topic, for somebody who only looks: no group, no commit."""

from aiokafka import TopicPartition

from meteragent.kafka import topics
from meteragent.kafka.clients import Clients

MOST = 500
"""Records of each partition."""
_PATIENCE_MS = 1000


async def peek(clients: Clients, topic: str) -> list[bytes]:
    """The values of some of the oldest records of each partition; nothing if there is none."""
    async with topics.admin(clients) as client:
        [described] = await client.describe_topics([topic])
    sources = [TopicPartition(topic, one["partition"]) for one in described["partitions"]]
    if not sources:
        return []
    reader = clients.consumer()
    try:
        await reader.start()
        reader.assign(sources)
        await reader.seek_to_beginning(*sources)
        found: list[bytes] = []
        while records := await reader.getmany(timeout_ms=_PATIENCE_MS, max_records=MOST):
            found += [r.value for some in records.values() for r in some if r.value]
            if len(found) >= MOST * len(sources):
                break
        return found
    finally:
        await clients.close(reader)
