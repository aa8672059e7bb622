"""Going on with a partition: what Kafka knows of it is read back, judged, and built up again.

Precondition: the partition's producer has started. Only then is the last transaction of a former
owner complete, and no further one can come.
"""

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

from aiokafka import TopicPartition

from meteragent.config import Config
from meteragent.errors import AccountsAstray, LedgerDamaged
from meteragent.kafka import restore
from meteragent.kafka.handover import Handover, Shared
from meteragent.kafka.owner import OWNER, bond
from meteragent.kafka.ownership import damaged
from meteragent.kafka.work import known
from meteragent.stream.homes import Homes, fitting
from meteragent.stream.meters import longest_prefix, normal

_GATHER = (
    "let all senders key by meter and use one partitioner, then run `meteragent ledger migrate "
    "--gather`"
)


class Restored(NamedTuple):
    """What was found."""

    meters: int
    lost: int
    """Records of the input that open windows needed, and Kafka deleted."""


async def take_over(shared: Shared, source: TopicPartition, into: Handover) -> Restored:
    """Fill a handover that holds no more than its producer."""
    kafka, partition, claim = shared.config.kafka, source.partition, shared.claim
    # In this order: what a position knows of its ledger is in the ledger, also for somebody who was
    # fenced in between, and would else take a ledger for lost that another one has begun.
    committed = await restore.committed(shared.admin, kafka, shared.partitions)
    kept = await restore.accounts(shared.clients, partition)
    bonds = {where: restore.bond_of(found) for where, found in committed.items()}
    position, lost = await restore.position(shared.consumer, kafka, partition, committed[partition])
    pipeline = shared.pipeline(partition, position)
    owner = shared.ownership.take(claim, partition, kept, bonds)
    try:
        await asyncio.to_thread(
            refuse_astray, shared.config, partition, shared.partitions, kept.accounts
        )
        await asyncio.to_thread(pipeline.restore, known(kept))
    except LedgerDamaged as error:
        raise damaged(kafka.ledger, partition, str(error)) from error
    into.committed = position
    into.bond = bond(owner, kept.end)
    if kept.reserved.get(OWNER) != owner.record():
        into.unwritten[OWNER] = owner.record()
    into.intake = shared.intake(source, pipeline)
    return Restored(len(kept.accounts), lost)


def refuse_astray(config: Config, partition: int, partitions: int, accounts: Iterable[str]) -> None:
    """Refuse accounts that do not lie where their meters' readings come: nobody would ask them.

    Those of meters that no policy is for matter to nobody.
    """
    name = normal if config.agent.normalise_ids else str
    prefixes, way = [one.prefix for one in config.assigned], config.kafka.partitioner
    named = (name(meter) for meter in accounts)
    meters = [meter for meter in named if longest_prefix(prefixes, meter) is not None]
    if astray := Homes(way, partitions).astray(meters, partition):
        fit = fitting(meters, partition, partitions)
        instead = (
            f'write kafka.partitioner = "{fit}" if senders use it, as all of them lie so'
            if fit
            else _GATHER
        )
        raise AccountsAstray(config.kafka.ledger, partition, len(astray), way, instead)
