"""Going on after a ledger was lost: once what was spent no longer matters, or is put up with.

What meters have spent until the loss is unknown, but not until when: a pipeline that is fed what
the position says was taken in has the clock that the last agent had, and no window that ends later
was released. From one horizon after that on, nothing lies in one horizon with it. Accounts may
begin anew then, if nothing older is released: so the position goes on with a clock by which all
that is older has closed, and its readings are late.

The same holds of groups, of which the position says up to when they are decided: the ledger is told
from which pane on they may be, and that all before is lost, also to the windows that were open. The
ledger of homes holds nothing that was spent. It begins anew at once, and whoever decides groups is
told that panes are missing: so the windows that were open are withheld as lost there.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from meteragent.config import Config
from meteragent.config.works import Work, works
from meteragent.errors import LedgerDamaged, LedgerLost, TooEarly
from meteragent.kafka import topics
from meteragent.kafka.alone import Held, alone, held, layout
from meteragent.kafka.clients import Clients
from meteragent.kafka.outbox import Outbox
from meteragent.kafka.owner import OWNER, Generation, bond
from meteragent.kafka.ownership import refuse_lost, refuse_other_key, unreadable
from meteragent.kafka.restore import Kept
from meteragent.privacy.entropy import NoiseKey
from meteragent.stream.home_panes import KEPT
from meteragent.stream.partial import way_of
from meteragent.stream.partial_homes import ANEW, PASSED, passed
from meteragent.stream.position import DAWN
from meteragent.stream.total_pipeline import settled_in, written
from meteragent.stream.totals import Settled

_PASSED = PASSED.encode()
Anew = dict[tuple[str, int], int | None]
"""(ledger, its partition) -> from when on anything is released; None: nothing was spent there."""


async def accept_all(config: Config, key: NoiseKey, now: int, *, confirmed: bool) -> Anew:
    """Let what was lost begin anew, in the ledgers of all work, once all agents have ended.

    Unless it is confirmed that meters may spend a second budget, TooEarly is raised as long as
    one horizon has not passed; what it does not matter to has begun anew then.
    """
    losses = []
    for work, own in works(config).items():
        async with alone(own, key, Clients(own.kafka), lambda _: None) as (admin, _):
            sources = await topics.partitions_of(admin, config.kafka.input)
            losses.append(_OfWork(work, own, sources, now, confirmed=confirmed))
    for one in losses:
        await one.accept(key)
    if early := [clock for one in losses for clock in one.early]:
        until = datetime.fromtimestamp(max(early) // 1000 + 1, UTC)
        raise TooEarly(until.isoformat().replace("+00:00", "Z"))
    return {where: since for one in losses for where, since in one.accepted.items()}


@dataclass
class _OfWork:
    """The ledger of one kind of work, and what was lost of it."""

    work: Work
    config: Config
    sources: int
    """Partitions of the input of all work."""
    now: int
    confirmed: bool = field(kw_only=True)
    accepted: Anew = field(default_factory=dict)
    early: list[int] = field(default_factory=list)
    """By when it would no longer matter, where it does."""

    async def accept(self, key: NoiseKey) -> None:
        """Let each partition begin anew of which anything was lost, if it no longer matters."""
        config, kafka = self.config, self.config.kafka
        async with alone(config, key, Clients(kafka), lambda _: None) as (admin, sharing):
            spread, _ = await layout(admin, config)
            await topics.make_ledger(admin, kafka, spread.partitions)
            shared = sharing(spread.partitions)
            for partition in range(spread.partitions):
                async with held(shared, partition) as one:
                    if one.bond is not None:
                        refuse_other_key(kafka.ledger, shared.claim, one.bond)
                    damaged = self._unreadable(await one.read())
                    if damaged or _is_lost(one):
                        await self._accept(one, damaged)

    def _unreadable(self, kept: Kept) -> list[bytes]:
        """The keys of records that tell nothing of what they ought to."""
        found = list(kept.foreign)
        if self.work is Work.HOMES:
            found += [h.encode() for h, its in kept.accounts.items() if len(its) % KEPT.itemsize]
        else:
            found += unreadable(self.config, kept)
        try:
            read = passed if self.work is Work.HOMES else settled_in
            read(kept.reserved.get(_PASSED))
        except LedgerDamaged:
            found.append(_PASSED)
        return found

    async def _accept(self, one: Held, damaged: list[bytes]) -> None:
        where = self.config.kafka.ledger, one.source.partition
        if self.work is Work.HOMES:
            await _begin_anew(one, damaged, one.position.clock, ANEW)
            self.accepted[where] = None
            return
        of_groups = self.work is Work.GROUPS
        last = one.position.clock if of_groups else await _last_released(one, self.now)
        since = last if self.confirmed else last + _longest(self.config)
        patience = max(p.grace + p.idle for p in self.config.policies)
        clock = since if of_groups else since + patience
        if clock > self.now and not self.confirmed:
            self.early.append(clock)
            return
        settled = self._settled(since) if of_groups and last != DAWN else None
        await _begin_anew(one, damaged, clock, settled)
        self.accepted[where] = since

    def _settled(self, since: int) -> bytes:
        """That groups are decided up to then, under each of their policies."""
        ways = {way_of(one).hex(): one.policy for one in self.config.groups}
        return written({way: Settled.anew(p, since, self.sources) for way, p in ways.items()})


def _longest(config: Config) -> int:
    """From the end of a window to the start of one that shares no horizon with it, and its end."""
    return max(policy.horizon + policy.windows.lasting(1) for policy in config.policies)


def _is_lost(one: Held) -> bool:
    ledger = one.shared.config.kafka.ledger
    try:
        refuse_lost(ledger, one.source.partition, one.kept, one.bond)
    except LedgerLost:
        return True
    return False


async def _last_released(one: Held, now: int) -> int:
    """No window that ends later was released before the loss."""
    pipeline = one.shared.pipeline(one.source.partition, one.position)
    unpacker = one.shared.kind.unpacker(one.source.partition)
    async for fetched in one.fetched(one.position.processed):
        readings = unpacker.columns(fetched)
        for _ in pipeline.feed(readings) if readings else ():
            pass
    return now if one.lost else max([pipeline.clock, *(at for _, at in one.position.ticks)])


async def _begin_anew(one: Held, damaged: list[bytes], clock: int, known: bytes | None) -> None:
    """Name the ledger anew, and let the position go on with a clock that leaves the past behind.

    `known`: how far its partition has come, where the ledger keeps that.
    """
    claim, bound, position = one.shared.claim, one.bond, one.position
    owner = claim.owner(bound.generation if bound else Generation(1, claim.digest), None)
    if bound is not None:
        owner = replace(owner, layout=bound.layout)
    reserved: dict[bytes, bytes | None] = dict.fromkeys(damaged)
    if known is not None:
        reserved[_PASSED] = known
    ticks = position.ticks if clock == position.clock else ()
    later = replace(position, clock=max(position.clock, clock), ticks=ticks)
    await one.commit(Outbox(reserved=reserved | {OWNER: owner.record()}), later, bond(owner, 0))
