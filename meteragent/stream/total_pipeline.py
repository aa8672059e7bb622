"""What partitions of the input tell of panes in, releases of groups out.

    partials -> sums -> windows of groups -> budget -> queries and noise -> releases

All that holds of a pipeline of meters holds of this one: whoever feeds it the same records, in
the same order, gets the same releases, however they are cut into batches; and goes on, from what
is committed, as if nothing had happened. No clock takes part: time passes here as it was told.
And whatever the order in which partitions tell, a group's releases are those of the pipeline
that has all homes at once (`group_pipeline`).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from meteragent.errors import LedgerDamaged
from meteragent.privacy.entropy import NoiseKey
from meteragent.stream.closed import Counts
from meteragent.stream.cohort import Holding
from meteragent.stream.group_homes import with_members
from meteragent.stream.groups import Groups
from meteragent.stream.meters import AssignedGroups
from meteragent.stream.order import NEVER, Course
from meteragent.stream.panes import UNKNOWN
from meteragent.stream.partial import Partial, load
from meteragent.stream.partial_homes import PASSED
from meteragent.stream.position import DAWN, START, Position
from meteragent.stream.readings import Reason, Reject
from meteragent.stream.releases import Step
from meteragent.stream.rolls import Rolls
from meteragent.stream.roster import Roster
from meteragent.stream.totals import Arrived, PaneTotals, Settled


@dataclass(frozen=True, slots=True)
class Partials:
    """Records of a partition of sums, in their order."""

    offsets: list[int]
    records: list[bytes | None]
    rejects: tuple[Reject, ...] = ()
    """None yet: what is no partial is found out when it is fed."""

    @property
    def next_offset(self) -> int:
        """One past the last of them. Precondition: there is one."""
        return self.offsets[-1] + 1


class TotalPipeline:
    """The windows and accounts of the groups that are decided in one partition."""

    def __init__(
        self,
        assigned: Sequence[AssignedGroups],
        key: NoiseKey,
        rosters: Mapping[str, Roster],
        partition: int,
        *,
        start: Position = START,
    ) -> None:
        """`rosters`: who is in the groups of each prefix."""
        here = [one for roster in rosters.values() for one in roster.of_output(partition)]
        homes = {home: at for at, home in enumerate(sorted({one.home for one in here}))}
        self._groups = [
            Groups(its, key, Rolls(roll, homes)) for its, roll in with_members(assigned, here)
        ]
        self.totals = [
            PaneTotals(groups, nth, rosters[groups.cohort.prefix], partition)
            for groups in self._groups
            for nth, _ in enumerate(groups.assigned)
        ]
        self._by_way = {total.way: total for total in self.totals}
        self._processed = start.offset
        self._known_until = start.processed
        self._stage = 0
        self.counts = Counts()

    def restore(self, accounts: Mapping[str, bytes]) -> None:
        """Take over what the ledger knows of groups. Precondition: nothing was fed yet."""
        for groups in self._groups:
            groups.restore(accounts, DAWN)
        kept = settled_in(accounts.get(PASSED))
        for total in self.totals:
            total.go_on(kept.get(total.way.hex(), Settled()))
            if total.lost != UNKNOWN:
                total.groups.lose(total.nth, total.lost)

    def feed(self, partials: Partials) -> Iterator[Step]:
        """Take in the next records. The state is whole when the last step has been taken."""
        for offset, record in zip(partials.offsets, partials.records, strict=True):
            self._processed = offset + 1
            yield from self._take(offset, None if record is None else load(record))

    def _take(self, offset: int, partial: Partial | None) -> Iterator[Step]:
        total = None if partial is None else self._by_way.get(partial.way)
        if partial is None:
            self._reject(offset, Reason.WRONG_SHAPE)
        elif total is None:
            self._reject(offset, Reason.NO_POLICY)
        else:
            self._reject(offset, total.take(Arrived(offset, partial)))
            yield from self._decide(total, offset)

    def _reject(self, offset: int, reason: Reason | None) -> None:
        """Count what is rejected, once."""
        if reason is not None and offset >= self._known_until:
            self.counts.rejects.append(Reject(offset, reason))

    def _decide(self, total: PaneTotals, offset: int) -> Iterator[Step]:
        """What may be decided now, as this record has made it so."""
        for told, lost in total.sums(offset):
            if lost:
                total.groups.lose(total.nth, told.pane)
            course = Course.of_tick(NEVER, offset)
            step = total.groups.take(total.nth, told, course)
            place, self._stage = self.totals.index(total), self._stage + 1
            step = step or total.groups.nothing(total.nth)
            accounts = [*step.accounts, (PASSED, self._kept())]
            yield replace(step, accounts=accounts, place=place, stage=self._stage)

    def _kept(self) -> bytes:
        return written({total.way.hex(): total.kept() for total in self.totals})

    def counted(self) -> Counts:
        """What happened since somebody last asked."""
        counts, self.counts = self.counts, Counts()
        return counts

    def position(self) -> Position:
        """Where to go on, once everything before has been published."""
        needed = [old for total in self.totals if (old := total.oldest()) is not None]
        offset = min(needed, default=self._processed)
        return Position(offset, self.clock, max(self._processed, self._known_until))

    # What a pipeline of meters has too, and shells ask for: time passes here only as it is told.

    def within(self, before: Position) -> Position:
        """What is committed in the midst of records: how far all is decided, as it is by then."""
        return replace(before, clock=self.clock)

    announced = False
    """Whether a tick is to be kept: never."""

    def announce(self, now: int) -> bool:
        """Let the wall clock decide nothing."""
        del now
        return False

    def keep(self, committed: Position) -> Iterator[Step]:
        """Nothing was announced."""
        del committed
        return iter(())

    @property
    def clock(self) -> int:
        """Up to when all is decided, in event time."""
        ends = [t.policy.panes.start(t.done) for t in self.totals if t.done != UNKNOWN]
        return int(max(ends, default=DAWN))

    @property
    def holds_open(self) -> bool:
        """Whether any window that is not over holds a reading."""
        return any(branch.holds_open for g in self._groups for branch in g.cohort.branches)

    def lookalikes(self) -> int:
        """Groups are spelled as their members' file has them."""
        return 0

    def holdings(self) -> list[Holding]:
        """What is held for each policy, to be looked at and not to be changed."""
        return [holding for groups in self._groups for holding in groups.cohort.holdings()]


def written(settled: Mapping[str, Settled]) -> bytes:
    """As a ledger keeps it: way -> what is settled."""
    kept = {way: its._asdict() | {"began": [*its.began.items()]} for way, its in settled.items()}
    return json.dumps(kept, separators=(",", ":")).encode()


def settled_in(record: bytes | None) -> dict[str, Settled]:
    """Way -> what was kept."""
    try:
        found = {} if record is None else json.loads(record)
        return {
            way: Settled(
                int(its["done"]), int(its["lost"]), dict(its["began"]), int(its.get("by", -1))
            )
            for way, its in found.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        raise LedgerDamaged("how far its partition has come is not told as it is here") from None
