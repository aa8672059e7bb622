"""A partition is brought to rest: read to its end, its windows closed that are over, committed.

What an agent does in its loop, done once and by somebody who is alone; in the same order, so that
a tick of the clock is committed before anybody sees what it makes.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from meteragent.errors import LedgerDamaged, NotDrained
from meteragent.kafka.alone import Held
from meteragent.kafka.intake import Intake
from meteragent.kafka.outbox import Outbox
from meteragent.kafka.owner import OWNER, Bond, Owner, bond
from meteragent.kafka.ownership import damaged
from meteragent.kafka.work import known
from meteragent.stream.pipeline import Pipeline, Position
from meteragent.stream.readings import Reason
from meteragent.watch.events import BatchTaken, Occurrence, WindowsDecided


@dataclass(slots=True)
class Counted:
    """What came of it, in all partitions."""

    windows: int = 0
    """That were closed."""
    elsewhere: int = 0
    """Records that came where their meters were not at home."""

    def __call__(self, event: Occurrence) -> None:
        """Be told."""
        if isinstance(event, WindowsDecided):
            self.windows += event.windows
        elif isinstance(event, BatchTaken):
            self.elsewhere += event.rejects.get(Reason.WRONG_PARTITION, 0)


async def settle(one: Held, owner: Owner, now: int) -> tuple[Position, Bond]:
    """Leave no pane open of anything that is read, and answer with what was committed last.

    NotDrained: some are not over by `now`. No time closes those of groups: what of these waits for
    others goes on waiting.
    """
    shared, partition = one.shared, one.source.partition
    pipeline = shared.pipeline(partition, one.position)
    kept = one.kept.accounts.items()
    at_home = {meter: account for meter, account in kept if shared.home_of(meter) == partition}
    try:
        pipeline.restore(known(one.kept._replace(accounts=at_home)))
    except LedgerDamaged as error:
        raise damaged(shared.config.kafka.ledger, partition, str(error)) from error
    intake = shared.intake(one.source, pipeline)
    first = Outbox(reserved={OWNER: owner.record()})
    await one.commit(first, one.position, bond(owner, one.kept.end))
    end = (await shared.consumer.end_offsets([one.source]))[one.source]
    async for fetched in one.fetched(end):
        await intake.take(fetched)
        await _commit_all(one, intake)
    intake.pass_time(now)
    await _commit_all(one, intake)
    if one.position.offset < one.position.processed and not pipeline.totals:
        raise NotDrained(
            f"kafka.input: partition {partition} of {one.source.topic} has readings that are "
            f"waited for until {_over(pipeline)}; stop what writes to it, run again then"
        )
    return one.position, one.bond or bond(owner, one.kept.end)


async def _commit_all(one: Held, intake: Intake) -> None:
    """Everything that was made, portion by portion."""
    assert one.bond is not None  # noqa: S101 - the first transaction has bound it
    while True:
        outbox, position = await intake.empty()
        if outbox or position != one.position:
            await one.commit(outbox, position, one.bond)
        await intake.go_on(position)
        if not intake.busy and not intake.waiting:
            break
    _, position = await intake.empty()
    if position != one.position:
        await one.commit(Outbox(), position, one.bond)


def _over(pipeline: Pipeline) -> str:
    """When the last pane that may be open will have closed."""
    policies = [holding.policy for holding in pipeline.holdings()]
    last = max(p.due(p.panes.end(p.panes.newest(pipeline.clock))) for p in policies)
    moment = datetime.fromtimestamp(last // 1000 + 1, UTC)
    return moment.isoformat().replace("+00:00", "Z")
