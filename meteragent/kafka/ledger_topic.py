"""The accounts in the ledger topic, for somebody who only looks.

Unlike a worker's restore this fences nobody: what is read is what had been committed by then.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from meteragent.errors import TopicsUnfit
from meteragent.kafka import restore, topics
from meteragent.kafka.clients import Clients
from meteragent.kafka.migrate import home_of


async def everybody(clients: Clients) -> dict[str, bytes]:
    """The latest record of every meter."""
    found: dict[str, bytes] = {}
    async with _partitions(clients) as partitions:
        for partition in range(partitions):
            found |= await restore.accounts(clients, partition)
    return found


async def of_meter(clients: Clients, meter: str) -> dict[str, bytes]:
    """The latest record of one meter, if it has any; first where it is most likely to be."""
    async with _partitions(clients) as partitions:
        home = home_of(meter, partitions)
        for partition in sorted(range(partitions), key=lambda number: number != home):
            found = await restore.accounts(clients, partition)
            if meter in found:
                return {meter: found[meter]}
    return {}


@asynccontextmanager
async def _partitions(clients: Clients) -> AsyncIterator[int]:
    """How many the ledger has; what brokers refuse meanwhile is said in our words."""
    async with topics.admin(clients) as client:
        kafka = clients.kafka
        ledger = (await topics.describe(client, kafka)).get(kafka.ledger)
        if ledger is None:
            problem = f"kafka.ledger: topic {kafka.ledger} does not exist; run "
            raise TopicsUnfit([f"{problem}`meteragent topics create`"])
        yield ledger.partitions
