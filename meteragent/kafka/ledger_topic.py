"""The accounts in the ledger topic, for somebody who only looks.

Unlike a worker's restore this fences nobody: what is read is what had been committed by then.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from meteragent.config import Config
from meteragent.errors import TopicsUnfit
from meteragent.kafka import ownership, restore, topics
from meteragent.kafka.clients import Clients
from meteragent.kafka.takeover import refuse_astray
from meteragent.privacy.entropy import NoiseKey
from meteragent.stream.homes import Homes


async def everybody(clients: Clients) -> dict[str, bytes]:
    """The latest record of every meter."""
    found: dict[str, bytes] = {}
    async with _partitions(clients) as partitions:
        for partition in range(partitions):
            found |= (await restore.accounts(clients, partition)).accounts
    return found


async def judged(config: Config, key: NoiseKey, clients: Clients) -> dict[str, bytes]:
    """The same, after a look whether the ledger is such that an agent of ours would take it."""
    found: dict[str, bytes] = {}
    async with topics.admin(clients) as client:
        described = await topics.describe(client, config.kafka)
        partitions = topics.partitions_of_input(config.kafka, described)
        bonds = await ownership.bonds(client, config, partitions)
    ours = ownership.Ownership(config, key)
    for partition in range(partitions):
        kept = await restore.accounts(clients, partition)
        ours.take(ours.claim(partitions), partition, kept, bonds)
        if ownership.unreadable(config, kept):
            raise ownership.damaged(config.kafka.ledger, partition, "an account cannot be read")
        refuse_astray(config, partition, partitions, kept.accounts)
        found |= kept.accounts
    return found


async def of_meter(clients: Clients, meter: str) -> dict[str, bytes]:
    """The latest record of one meter, if it has any; first where it is most likely to be."""
    async with _partitions(clients) as partitions:
        home = Homes(clients.kafka.partitioner, partitions).of(meter)
        for partition in sorted(range(partitions), key=lambda number: number != home):
            found = (await restore.accounts(clients, partition)).accounts
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
