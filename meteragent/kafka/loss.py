"""Going on after a ledger was lost: once what was spent no longer matters, or is put up with.

What meters have spent until the loss is unknown, but not until when: a pipeline that is fed what
the position says was taken in has the clock that the last agent had, and no window that ends later
was released. From one horizon after that on, nothing lies in one horizon with it. Accounts may
begin anew then, if nothing older is released: so the position goes on with a clock by which all
that is older has closed, and its readings are late.
"""

from dataclasses import replace
from datetime import UTC, datetime

from meteragent.config import Config
from meteragent.errors import LedgerLost, TooEarly
from meteragent.kafka import topics
from meteragent.kafka.alone import Held, alone, held, layout
from meteragent.kafka.clients import Clients
from meteragent.kafka.outbox import Outbox
from meteragent.kafka.owner import OWNER, Generation, bond
from meteragent.kafka.ownership import refuse_lost, refuse_other_key, unreadable
from meteragent.privacy.entropy import NoiseKey
from meteragent.stream.pipeline import Position


async def accept_loss(
    config: Config, key: NoiseKey, clients: Clients, now: int, *, confirmed: bool
) -> dict[int, int]:
    """Let accounts begin anew where the ledger was lost; answer from when on, by partition.

    Unless it is confirmed that meters may spend a second budget, TooEarly is raised as long as
    one horizon has not passed.
    """
    accepted: dict[int, int] = {}
    early: list[int] = []
    async with alone(config, key, clients, lambda _: None) as (admin, sharing):
        spread, _ = await layout(admin, config)
        await topics.make_ledger(admin, config.kafka, spread.partitions)
        shared = sharing(spread.partitions)
        for partition in range(spread.partitions):
            async with held(shared, partition) as one:
                if one.bond is not None:
                    refuse_other_key(config.kafka.ledger, shared.claim, one.bond)
                damaged = unreadable(config, await one.read())
                if not damaged and not _is_lost(one):
                    continue
                last = await _last_released(one, now)
                since = last if confirmed else last + _longest(config)
                clock = since + max(p.grace + p.idle for p in config.policies)
                if clock > now and not confirmed:
                    early.append(clock)
                    continue
                await _begin_anew(one, damaged, clock)
                accepted[partition] = since
    if early:
        until = datetime.fromtimestamp(max(early) // 1000 + 1, UTC)
        raise TooEarly(until.isoformat().replace("+00:00", "Z"))
    return accepted


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
    unpacker = one.shared.kind.unpacker()
    async for fetched in one.fetched(one.position.processed):
        readings = unpacker.columns(fetched)
        for _ in pipeline.feed(readings) if readings else ():
            pass
    return now if one.lost else max([pipeline.clock, *(at for _, at in one.position.ticks)])


async def _begin_anew(one: Held, damaged: list[bytes], clock: int) -> None:
    """Name the ledger anew, and let the position go on with a clock that leaves the past behind."""
    claim, known, position = one.shared.claim, one.bond, one.position
    owner = claim.owner(known.generation if known else Generation(1, claim.digest), None)
    if known is not None:
        owner = replace(owner, layout=known.layout)
    outbox = Outbox(reserved={**dict.fromkeys(damaged), OWNER: owner.record()})
    later = Position(position.offset, max(position.clock, clock), position.processed)
    await one.commit(outbox, later, bond(owner, 0))
