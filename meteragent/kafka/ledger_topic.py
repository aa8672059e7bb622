"""The accounts in the ledger topic, for somebody who only looks.

Unlike a worker's restore this fences nobody: what is read is what had been committed by then.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from meteragent.config import Config
from meteragent.errors import TopicsUnfit
from meteragent.kafka import restore, topics
from meteragent.kafka.migrate import home_of


async def everybody(config: Config) -> dict[str, bytes]:
    """The latest record of every meter."""
    found: dict[str, bytes] = {}
    async with _partitions(config) as partitions:
        for partition in range(partitions):
            found |= await restore.accounts(config.kafka, partition)
    return found


async def of_meter(config: Config, meter: str) -> dict[str, bytes]:
    """The latest record of one meter, if it has any; first where it is most likely to be."""
    async with _partitions(config) as partitions:
        home = home_of(meter, partitions)
        for partition in sorted(range(partitions), key=lambda number: number != home):
            found = await restore.accounts(config.kafka, partition)
            if meter in found:
                return {meter: found[meter]}
    return {}


@asynccontextmanager
async def _partitions(config: Config) -> AsyncIterator[int]:
    """How many the ledger has; what brokers refuse meanwhile is said in our words."""
    async with topics.admin(config) as client:
        ledger = (await topics.describe(client, config)).get(config.kafka.ledger)
        if ledger is None:
            problem = f"kafka.ledger: topic {config.kafka.ledger} does not exist; run "
            raise TopicsUnfit([f"{problem}`meteragent topics create`"])
        yield ledger.partitions
