"""After the input got more partitions: put every account where its meter's readings are now.

Precondition, which is checked: no agent runs, and the last one left no window open. An open
window would be filled again from the old partition, without the account that has moved away,
and be paid for by nobody.

A meter's partition is the one that Kafka's clients choose for its id by default (murmur2).
"""

import asyncio
from itertools import islice

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions
from aiokafka.partitioner import murmur2

from meteragent.errors import NotDrained
from meteragent.kafka import restore, topics
from meteragent.kafka.clients import Clients

AT_ONCE = 2_000
_POSITIVE = 0x7FFFFFFF


async def migrate(clients: Clients) -> int:
    """Widen ledger, output and rejects to the input's partitions; answer with accounts moved.

    Broken off at any moment and run again, it goes on: each account moves in one transaction
    with its removal from where it was.
    """
    kafka = clients.kafka
    async with topics.admin(clients) as client:
        described = await topics.describe(client, kafka)
        wanted = described[kafka.input].partitions
        had = described[kafka.ledger].partitions
        await _refuse_running(client, kafka.group)
        await _refuse_open_windows(client, clients, wanted)
        for topic in (kafka.ledger, kafka.output, kafka.rejected):
            if described[topic].partitions < wanted:
                await client.create_partitions({topic: NewPartitions(total_count=wanted)})
    writer = clients.producer(f"{kafka.group}-{kafka.ledger}-migration")
    try:
        await writer.start()
        return sum([await _move(writer, clients, partition, wanted) for partition in range(had)])
    finally:
        await clients.close(writer)


def home_of(meter: str, partitions: int) -> int:
    """The partition that Kafka's clients choose for a meter by default."""
    home: int = (murmur2(meter.encode()) & _POSITIVE) % partitions
    return home


async def _move(writer: AIOKafkaProducer, clients: Clients, partition: int, wanted: int) -> int:
    accounts = await restore.accounts(clients, partition)
    homes = {meter: home_of(meter, wanted) for meter in accounts}
    leaving = iter([meter for meter, home in homes.items() if home != partition])
    moved = 0
    while some := list(islice(leaving, AT_ONCE)):
        async with writer.transaction():
            ledger = clients.kafka.ledger
            sent = [
                await writer.send(ledger, value, key=meter.encode(), partition=where)
                for meter in some
                for where, value in ((homes[meter], accounts[meter]), (partition, None))
            ]
            await asyncio.gather(*sent)
        moved += len(some)
    return moved


async def _refuse_running(client: AIOKafkaAdminClient, group: str) -> None:
    (response,) = await client.describe_consumer_groups([group])
    state = response.groups[0][2]
    if state not in {"Empty", "Dead"}:
        raise NotDrained(f"kafka.group: {group} has running agents; stop them all first")


async def _refuse_open_windows(
    client: AIOKafkaAdminClient, clients: Clients, partitions: int
) -> None:
    kafka = clients.kafka
    sources = [TopicPartition(kafka.input, partition) for partition in range(partitions)]
    committed = await client.list_consumer_group_offsets(kafka.group, partitions=sources)
    if not committed.keys() >= set(sources):  # aiokafka overlooks a coordinator's refusal
        raise NotDrained(f"kafka.group: the offsets of {kafka.group} cannot be read yet; try again")
    reader = clients.consumer()
    try:
        await reader.start()
        ends = await reader.end_offsets(sources)
        for source in sources:
            if 0 <= committed[source].offset < ends[source]:
                raise NotDrained(
                    f"kafka.input: partition {source.partition} of {kafka.input} has readings of "
                    "windows that are still open; stop what writes to it, let an agent run until "
                    "its windows have closed, then try again"
                )
    finally:
        await clients.close(reader)
