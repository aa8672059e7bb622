"""After the input got more partitions: put every account where its meter's readings are now.

No agent must run, and none does: each partition's producer is taken, so that whoever was frozen
is fenced; and before an account moves, every old partition says in its ledger and beside its
position that accounts are under way. An agent that starts meanwhile reads that, and waits.

1. *Settle*: each old partition is read to its end, and its windows closed that are over. An open
   window would be filled again from the old partition, without the account that has moved away,
   and be paid for by nobody.
2. *Mark*: if nobody was there since, the layout is under way from here on.
3. *Widen* ledger, output and rejects.
4. *Move*: each account, in one transaction with its removal from where it was.
5. *Finish*: the layout is the new one, partition by partition; agents wait for the last.

Broken off at any moment and run again, it goes on.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions

from meteragent.config import Config
from meteragent.errors import InvalidSetting, NotDrained
from meteragent.kafka import restore, topics
from meteragent.kafka.alone import Held, alone, held, layout
from meteragent.kafka.clients import Clients
from meteragent.kafka.handover import Shared
from meteragent.kafka.outbox import Outbox
from meteragent.kafka.owner import OWNER, Bond, Generation, Layout, Owner, bond
from meteragent.kafka.ownership import refuse_other_key
from meteragent.kafka.settle import Counted, settle
from meteragent.kafka.takeover import refuse_astray
from meteragent.privacy.entropy import NoiseKey
from meteragent.stream.cohort import Cohort
from meteragent.stream.meters import longest_prefix, normal
from meteragent.stream.partial_homes import PASSED
from meteragent.stream.pipeline import DAWN, Position

AT_ONCE = 2_000

Change = tuple[str, int, bytes | None]
"""(meter, partition, its account there from now on)"""


class Moved(NamedTuple):
    """What was done."""

    accounts: int
    windows: int
    """That were closed before."""
    elsewhere: int
    """Records that were rejected before, because they came where their meters were not at home."""


class Rest(NamedTuple):
    """How a partition was left that has no open windows."""

    position: Position
    owner: Owner
    bond: Bond


async def migrate(
    config: Config, key: NoiseKey, clients: Clients, now: int, *, gather: bool = False
) -> Moved:
    """Move accounts to where the input's partitions have them at home.

    `gather`: also accounts that lie where no partition count has them at home; those of one meter
    add up. Otherwise such are refused.
    """
    counted = Counted()
    async with alone(config, key, clients, counted) as (admin, sharing):
        await topics.refuse_missing(admin, config.kafka)
        spread, wanted = await layout(admin, config)
        if spread == Layout(wanted) and not gather:
            return Moved(0, 0, 0)
        refuse_unsaid(config, spread.partitions, wanted)
        old, new = sharing(spread.partitions), sharing(wanted)
        rests = [await rest(old, p, now, gather=gather) for p in range(spread.partitions)]
        for partition, left in enumerate(rests):
            if left is not None:
                await mark(old, partition, left, wanted)
        had = await widen(admin, config, wanted)
        moved = 0
        if gather or None in rests:  # who began may have gathered
            moved += await _gather(new, old, had)
        for partition in range(had):
            moved += await move(new, partition)
        newest = await generation(new)
        for partition in range(wanted):
            await finish(new, partition, newest)
    return Moved(moved, counted.windows, counted.elsewhere)


def refuse_unsaid(config: Config, had: int, wanted: int) -> None:
    """Where accounts lie tells how senders choose, unless there is but one partition."""
    if had == 1 < wanted and "partitioner" not in config.kafka.model_fields_set:
        raise InvalidSetting(
            "kafka.partitioner",
            "is not set, and one partition does not show how senders choose among several",
            'write "murmur2", or what they use',
        )


async def rest(shared: Shared, partition: int, now: int, *, gather: bool) -> Rest | None:
    """Settle a partition; None if accounts are under way in it already."""
    async with held(shared, partition) as one:
        known, claim = one.bond, shared.claim
        if known is not None and known.layout != Layout(shared.partitions):
            refuse_other_key(shared.config.kafka.ledger, claim, known)
            return None
        kept = await one.read()
        owner = shared.ownership.take(claim, partition, kept, {partition: known})
        if not gather:
            refuse_astray(shared.config, partition, shared.partitions, kept.accounts)
        position, its_bond = await settle(one, owner, now)
        return Rest(position, owner, its_bond)


async def mark(
    shared: Shared, partition: int, left: Rest, wanted: int, passed: bytes | None = None
) -> None:
    """Say that accounts are under way, if all is as it was left; and how far it has come."""
    async with held(shared, partition) as one:
        if (one.position, one.bond) != (left.position, left.bond):
            raise NotDrained(
                f"kafka.group: an agent has worked on partition {partition} meanwhile; stop all "
                "agents, then run again"
            )
        owner = replace(left.owner, layout=Layout(shared.partitions, wanted))
        outbox = Outbox(reserved=reserved(owner, passed))
        await one.commit(outbox, left.position, bond(owner, left.bond.end))


def reserved(owner: Owner, passed: bytes | None) -> dict[bytes, bytes | None]:
    """What stands in a ledger besides accounts: whose it is, and how far its partition has come."""
    known = {} if passed is None else {PASSED.encode(): passed}
    return {OWNER: owner.record(), **known}


async def widen(admin: AIOKafkaAdminClient, config: Config, wanted: int) -> int:
    """Give every topic of the agent's as many partitions; answer how many the ledger had."""
    kafka = config.kafka
    described = await topics.describe(admin, kafka)
    for topic in (kafka.ledger, *kafka.outputs, kafka.rejected):
        if described[topic].partitions < wanted:
            await admin.create_partitions({topic: NewPartitions(total_count=wanted)})
    return min(described[kafka.ledger].partitions, wanted)


async def move(shared: Shared, partition: int) -> int:
    """Every account of a partition whose meter is at home in another one."""
    async with held(shared, partition) as one:
        accounts = (await one.read()).accounts
        homes = {meter: shared.home_of(meter) for meter in accounts}
        leaving = [meter for meter, home in homes.items() if home != partition]
        await _rewrite(
            one,
            (
                ((meter, homes[meter], accounts[meter]), (meter, partition, None))
                for meter in leaving
            ),
        )
        return len(leaving)


async def _of_strays(shared: Shared, before: Shared, had: int) -> dict[str, dict[int, bytes]]:
    """All accounts, by partition, of meters of which some do not lie where they were at home."""
    astray: set[str] = set()
    for partition in range(had):
        kept = await restore.accounts(shared.clients, partition)
        astray |= {meter for meter in kept.accounts if before.home_of(meter) != partition}
    found: dict[str, dict[int, bytes]] = defaultdict(dict)
    for partition in range(had):
        accounts = (await restore.accounts(shared.clients, partition)).accounts
        for meter in astray & accounts.keys():
            found[meter][partition] = accounts[meter]
    return found


async def _gather(shared: Shared, before: Shared, had: int) -> int:
    """Make one account of several of a meter, where some lie that were never at home."""
    found = await _of_strays(shared, before, had)
    several = {meter: where for meter, where in found.items() if len(where) > 1}
    for partition in range(had):
        mine = {meter: where for meter, where in several.items() if min(where) == partition}
        async with held(shared, partition) as one:
            clock = one.position.clock
            await _rewrite(
                one, [_made_one(shared, meter, where, clock) for meter, where in mine.items()]
            )
    return len(several)


def _made_one(shared: Shared, meter: str, where: dict[int, bytes], clock: int) -> list[Change]:
    """What is to be written so that one account of a meter says what all said.

    Open windows that several of them held a part of are lost, and the account says so.
    """
    assigned = shared.config.assigned
    name = normal(meter) if shared.config.agent.normalise_ids else meter
    place = longest_prefix([one.prefix for one in assigned], name)
    if place is None:
        raise InvalidSetting(
            "policy",
            "is for none of some meters that have several accounts",
            "write one that they had",
        )
    its = Cohort([one for one in assigned if one.prefix == assigned[place].prefix], shared.key)
    its.restore([name], [[*where.values()]], clock)
    [(_, account)] = its.accounts(np.array([0]))
    return [(meter, shared.home_of(meter), account)] + [
        (meter, partition, None) for partition in where if partition != shared.home_of(meter)
    ]


async def _rewrite(one: Held, changes: Iterable[Iterable[Change]]) -> None:
    """Those of one meter in one transaction."""
    waiting, ledger = iter(changes), one.shared.config.kafka.ledger
    while some := list(islice(waiting, AT_ONCE)):
        async with one.producer.transaction():
            sent = [
                await one.producer.send(ledger, account, key=meter.encode(), partition=where)
                for its in some
                for meter, where, account in its
            ]
            await asyncio.gather(*sent)


async def generation(shared: Shared) -> Generation:
    """The newest that positions know."""
    config, partitions = shared.config, shared.partitions
    found = (await restore.committed(shared.admin, config.kafka, partitions)).values()
    bonds = [known for one in found if (known := restore.bond_of(one)) is not None]
    return max(known.generation for known in bonds)


async def finish(
    shared: Shared,
    partition: int,
    newest: Generation,
    passed: bytes | None = None,
    clock: int = DAWN,
) -> None:
    """Say that accounts lie where this many partitions have them, and go on from this clock."""
    async with held(shared, partition) as one:
        known = one.bond
        if known is None or known.layout != Layout(shared.partitions):
            owner = shared.claim.owner(newest, None)
            if known is not None:
                owner = replace(owner, ledger=known.ledger, generation=known.generation)
            outbox = Outbox(reserved=reserved(owner, passed))
            position = replace(one.position, clock=max(one.position.clock, clock))
            await one.commit(outbox, position, bond(owner, known.end if known else 0))
