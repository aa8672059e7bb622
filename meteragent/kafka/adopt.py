"""A noise key that was replaced on purpose: the ledger is told of it, partition by partition."""

from dataclasses import replace

from meteragent.config import Config
from meteragent.config.works import works
from meteragent.kafka import topics
from meteragent.kafka.alone import Held, alone, held, layout
from meteragent.kafka.clients import Clients
from meteragent.kafka.outbox import Outbox
from meteragent.kafka.owner import KEY, OWNER, bond
from meteragent.kafka.ownership import another, owner_of, refuse_lost
from meteragent.privacy.entropy import NoiseKey


async def adopt_all(config: Config, key: NoiseKey) -> dict[str, int]:
    """Make the ledgers of all work this key's; answer each with how many partitions that was.

    Nothing is adopted unless all agents have ended, whatever they work on: else those of meters
    would go on with one key while those of groups wait for another.
    """
    every = [(own, Clients(own.kafka)) for own in works(config).values()]
    for own, clients in every:
        async with alone(own, key, clients, lambda _: None) as (admin, _):
            await topics.refuse_missing(admin, own.kafka)
    return {own.kafka.ledger: await adopt(own, key, clients) for own, clients in every}


async def adopt(config: Config, key: NoiseKey, clients: Clients) -> int:
    """Make a ledger that was written with another key this key's; answer in how many partitions.

    Broken off at any moment and run again, it goes on.
    """
    adopted = 0
    async with alone(config, key, clients, lambda _: None) as (admin, sharing):
        await topics.refuse_missing(admin, config.kafka)
        spread, _ = await layout(admin, config)
        shared = sharing(spread.partitions)
        for partition in range(spread.partitions):
            async with held(shared, partition) as one:
                adopted += await _adopt(one)
    return adopted


async def _adopt(one: Held) -> bool:
    kafka, claim, kept = one.shared.config.kafka, one.shared.claim, await one.read()
    refuse_lost(kafka.ledger, one.source.partition, kept, one.bond)
    owner = owner_of(kept)
    if owner is None:
        return False  # the first agent makes it its own
    for difference in claim.others(owner):
        if difference[0] != KEY:
            raise another(kafka.ledger, difference)
    ours = replace(owner, key=claim.key)
    if ours == owner:
        return False
    outbox = Outbox(reserved={OWNER: ours.record()})
    await one.commit(outbox, one.position, bond(ours, kept.end))
    return True
