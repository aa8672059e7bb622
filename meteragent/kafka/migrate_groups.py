"""After the input, or what sums are told in, got more partitions: homes and groups follow.

It goes as with accounts of meters (`migrate`), in both ledgers at once, as each of them depends on
where homes *and* groups are:

1. *Settle*: partitions of homes are read to their end and tell of all panes that are over; then
   groups are decided as far as that goes. Sums of windows that are still open stay as they are.
2. *Mark* both ledgers: who begins meanwhile waits. What each partition of them is to go on from is
   written down with that, as `stream.relocated` tells it.
3. *Widen* what is written to, and *move* what is known of homes and of groups.
4. *Finish* groups, and then homes: they tell of the next pane, each from where it is now.

Broken off at any moment and run again, it goes on; at worst, some windows that are open are lost.
"""

from dataclasses import dataclass, replace

from aiokafka.admin import AIOKafkaAdminClient

from meteragent.config import Config
from meteragent.config.works import Work, works
from meteragent.kafka import restore, topics
from meteragent.kafka.alone import Sharing, alone, layout
from meteragent.kafka.clients import Clients
from meteragent.kafka.handover import Shared
from meteragent.kafka.memberships import MembersTopic, planned
from meteragent.kafka.migrate import (
    Moved,
    Rest,
    finish,
    generation,
    mark,
    migrate,
    move,
    refuse_unsaid,
    rest,
    widen,
)
from meteragent.kafka.owner import Layout
from meteragent.kafka.preparing import SUMS
from meteragent.kafka.settle import Counted
from meteragent.kafka.work import kind_of
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.members import Membership
from meteragent.stream.homes import Homes
from meteragent.stream.partial import way_of
from meteragent.stream.partial_homes import PASSED
from meteragent.stream.position import DAWN
from meteragent.stream.relocated import Come


async def migrate_all(config: Config, key: NoiseKey, now: int, *, gather: bool = False) -> Moved:
    """Move what all ledgers know to where it is asked for, once all agents have ended."""
    for own in works(config).values():
        async with alone(own, key, Clients(own.kafka), lambda _: None):
            pass
    done = Moved(0, 0, 0)
    if config.policy:
        done = await migrate(config, key, Clients(config.kafka), now, gather=gather)
    if config.group:
        more = await migrate_groups(config, key, now)
        elsewhere = done.elsewhere if config.policy else more.elsewhere  # of the same records
        done = Moved(done.accounts + more.accounts, done.windows + more.windows, elsewhere)
    return done


@dataclass(frozen=True)
class _Placed:
    """Homes and groups, over so many partitions."""

    homes: Shared
    groups: Shared

    async def passed(self, shared: Shared) -> list[bytes | None]:
        """How far each partition has come, as its ledger has it."""
        kept = [await restore.accounts(shared.clients, p) for p in range(shared.partitions)]
        return [one.reserved.get(PASSED.encode()) for one in kept]

    async def clock(self) -> int:
        """Up to when the partitions of homes have come."""
        kafka = self.homes.config.kafka
        found = await restore.committed(self.homes.admin, kafka, self.homes.partitions)
        known = [restore.parse(kafka, p, one) for p, one in found.items() if one.offset >= 0]
        return max((one.clock for one in known), default=DAWN)


@dataclass(frozen=True)
class _Both:
    """What both kinds of work need."""

    config: Config
    key: NoiseKey
    members: list[Membership]
    of_homes: Sharing
    of_groups: Sharing

    def over(self, inputs: int, sums: int) -> _Placed:
        """Over so many partitions of the input, and of sums."""
        spread = Homes(self.config.kafka.partitioner, inputs), Homes(SUMS, sums)
        known = self.config, self.key, self.members
        return _Placed(
            replace(self.of_homes(inputs), work=kind_of(Work.HOMES, *known, *spread)),
            replace(self.of_groups(sums), work=kind_of(Work.GROUPS, *known, *spread)),
        )


async def migrate_groups(config: Config, key: NoiseKey, now: int) -> Moved:
    """Move what is known of homes and of groups, and let their sums go on."""
    told, decided = Counted(), Counted()
    homes, groups = (works(config)[work] for work in (Work.HOMES, Work.GROUPS))
    async with (
        alone(homes, key, Clients(homes.kafka), told) as (admin, of_homes),
        alone(groups, key, Clients(groups.kafka), decided) as (_, of_groups),
    ):
        for own in (homes, groups):
            await topics.refuse_missing(admin, own.kafka)
        spread = [await layout(admin, own) for own in (homes, groups)]
        if all(had == Layout(wanted) for had, wanted in spread):
            return Moved(0, 0, 0)
        [(inputs, many), (sums, more)] = spread
        refuse_unsaid(homes, inputs.partitions, many)
        members = await MembersTopic(config, Clients(config.kafka)).read()
        its = [*planned(config, members.memberships).members]
        both = _Both(config, key, its, of_homes, of_groups)
        old, new = both.over(inputs.partitions, sums.partitions), both.over(many, more)
        moved = await _relocate(admin, old, new, now)
    return Moved(moved, decided.windows, told.elsewhere)


async def _relocate(admin: AIOKafkaAdminClient, old: _Placed, new: _Placed, now: int) -> int:
    """From the old partitions to the new ones; answer with how many records that were."""
    left_homes = await _settled(old.homes, now)
    left_groups = await _settled(old.groups, now)
    come = Come.of(await old.passed(old.homes))
    kept, clock = await old.passed(old.groups), await old.clock()
    ways = {way_of(one).hex(): one.policy for one in old.homes.config.groups}
    drained = all(not _pending(left) for left in left_groups)
    told = come.of_homes()
    settled = come.of_groups(ways, kept, new.homes.partitions, drained=drained)
    await _mark(old.homes, left_homes, new.homes.partitions, told)
    await _mark(old.groups, left_groups, new.groups.partitions, settled)
    moved = 0
    for shared in (new.homes, new.groups):
        had = await widen(admin, shared.config, shared.partitions)
        moved += sum([await move(shared, partition) for partition in range(had)])
    for shared, passed, since in ((new.groups, settled, DAWN), (new.homes, told, clock)):
        newest = await generation(shared)
        for partition in range(shared.partitions):
            await finish(shared, partition, newest, passed, since)
    return moved


async def _settled(shared: Shared, now: int) -> list[Rest | None]:
    return [await rest(shared, p, now, gather=False) for p in range(shared.partitions)]


async def _mark(
    shared: Shared, lefts: list[Rest | None], wanted: int, passed: bytes | None
) -> None:
    for partition, left in enumerate(lefts):
        if left is not None:
            await mark(shared, partition, left, wanted, passed)


def _pending(left: Rest | None) -> bool:
    """Whether anything was told that is not decided."""
    return left is not None and left.position.offset < left.position.processed
