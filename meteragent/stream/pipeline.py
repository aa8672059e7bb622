"""One partition's readings in, releases out: pure, without a clock of its own and without I/O.

    readings -> panes -> windows -> budget -> queries and noise -> releases and ledger records

Whoever runs a pipeline feeds it all records of a partition in order, and commits, in one
transaction, what the steps held and the `position` after the last of them. Fed again from
there, with the ledger records committed so far, another instance goes on as if nothing had
happened: open panes are filled again by the same records, or are in the ledger records if their
meters are silent (`trail`), what was folded into windows is there as well, and decided ones stay
decided.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from meteragent.privacy.arrays import Integers
from meteragent.privacy.entropy import NoiseKey
from meteragent.stream.closed import Closed, Counts, Tally
from meteragent.stream.cohort import Cohort, Holding
from meteragent.stream.houses import ItsRecords, Quarters, by_store, houses
from meteragent.stream.housing import Closing, Housing
from meteragent.stream.meters import Assigned, by_prefix, normal
from meteragent.stream.order import Course
from meteragent.stream.panes import PANES_AT_ONCE, Store
from meteragent.stream.position import DAWN, MOST_TICKS, START, Position
from meteragent.stream.readings import Readings, Reason
from meteragent.stream.releases import Step
from meteragent.stream.residents import Residents
from meteragent.stream.totals import PaneTotals
from meteragent.stream.trail import Trail

__all__ = ["DAWN", "START", "Assigned", "Counts", "Holding", "Pipeline", "Position"]

READINGS_AT_ONCE = 2**17
"""Of a batch; so many windows may come of them, where windows are short."""


class Pipeline:
    """The windows and accounts of one partition's meters."""

    totals: Sequence[PaneTotals] = ()
    """What it adds up of what others tell: nothing."""

    def __init__(
        self,
        assigned: Sequence[Assigned],
        key: NoiseKey,
        *,
        max_skew: int,
        max_meters: int,
        normalise_ids: bool = False,
        at_home: Callable[[str], bool] = lambda _: True,
        start: Position = START,
    ) -> None:
        """`at_home`: whether a meter's readings are to come here; asked when it is first met."""
        self._cohorts = self._housed(assigned, key)
        self.houses = houses(self._cohorts)
        self._quarters = [one for house in self.houses for one in house.quarters]
        self._places = {branch: place for place, (_, branch) in enumerate(self._branches())}
        self._presence_is_public = all(a.policy.presence == "public" for a in assigned)
        self._max_skew = max_skew
        self._at_home = at_home
        name = normal if normalise_ids else str
        number_of = {id(c): nth for nth, house in enumerate(self.houses) for c in house.cohorts}
        house_of = [number_of[id(cohort)] for cohort in self._cohorts]
        self._residents = Residents(self._cohorts, house_of, name, max_meters, self._astray)
        self._clock = start.clock
        self._processed = start.offset
        self._known_until = start.processed
        self._trail = Trail([branch.policy for branch in self._places])
        self._stage = 0
        self._ticked: list[tuple[int, int]] = []
        self._announced = list(start.ticks)
        self.counts = Counts()

    def _housed(self, assigned: Sequence[Assigned], key: NoiseKey) -> Sequence[Housing[Any]]:
        """Who keeps the panes of these policies' meters."""
        return [Cohort(its, key) for its in by_prefix(assigned)]

    def _astray(self, meter: str) -> Reason | None:
        """Why readings of a meter are rejected that are not to come here."""
        return None if self._at_home(meter) else Reason.WRONG_PARTITION

    def restore(self, accounts: Mapping[str, bytes]) -> None:
        """Take over the meters that the ledger knows. Precondition: nothing was fed yet.

        What was kept under several spellings of one id, before they were one meter, adds up.
        """
        self._residents.restore(accounts, self._clock)

    def feed(self, readings: Readings) -> Iterator[Step]:
        """Take in the next records. The state is whole when the last step has been taken."""
        yield from self._keep_announced()
        for part in self._parts(readings):
            yield from self._feed(part)
            yield from self._keep_announced()

    def _parts(self, readings: Readings) -> list[Readings]:
        parts = [readings]
        for offset in sorted({self._known_until, *(at for at, _ in self._announced)}):
            parts[-1:] = parts[-1].split(offset)
        return parts

    def counted(self) -> Counts:
        """What happened since somebody last asked."""
        counts, self.counts = self.counts, Counts()
        return counts

    def _feed(self, readings: Readings) -> Iterator[Step]:
        """Take in records; by halves where much comes of them, down to the one that leaps ahead."""
        runs = len(readings.offsets)
        much = runs > 0 and self._makes_much(readings)
        if much and runs > 1:
            for half in readings.halves():
                yield from self._feed(half)
        else:
            yield from self._feed_at_once(readings, leaps=much)

    def _makes_much(self, readings: Readings) -> bool:
        if len(readings.watts) > READINGS_AT_ONCE:
            return True
        if self._presence_is_public:  # no more windows close than hold anything
            return False
        latest = int(readings.timestamps.max()) + self._max_skew  # what ends later is rejected
        if not self._closes_much(readings, max(latest, self._clock)):
            return False
        clock = int(readings.ends[~readings.ahead(self._max_skew)].max(initial=self._clock))
        return self._closes_much(readings, clock)

    def _closes_much(self, readings: Readings, clock: int) -> bool:
        """Whether too many windows may close, if the clock comes this far with these."""
        since, runs = int(readings.starts.min()), len(readings.starts)
        windows = sum(store.ahead(clock, since, runs) for store in self._stores())
        return windows > PANES_AT_ONCE

    def _feed_at_once(self, readings: Readings, *, leaps: bool) -> Iterator[Step]:
        last = max([readings.next_offset - 1, *readings.offsets[-1:].tolist()])  # it may be torn
        again = last < self._known_until
        counts = Counts() if again else self.counts
        counts.rejects += readings.rejects
        most = self._trail.note(readings)
        readings, homes, clocks = self._admitted(readings, counts)
        course = Course.of_tick(self._clock, self._processed)
        self._stage += 1
        if len(homes):
            course = course.moved(clocks, readings.offsets)
            records = by_store(self.houses, readings, homes, clocks[:-1])
            took = self._leap if leaps else self._take
            yield from took([*records], course, counts.tally)
            self._clock = int(clocks[-1])
        self._processed = readings.next_offset
        yield from self._advance(course, self._clock)
        if most:
            yield from self._carry(most)

    def _admitted(self, given: Readings, counts: Counts) -> tuple[Readings, Integers, Integers]:
        """What is not rejected, whose it is, and the clock before each run and after all."""
        known = self._residents.known(given, self._max_skew, self._clock)
        if known is not None:
            homes, clocks = known
            return given, homes, clocks
        homes = self._residents.admit(given, self._max_skew, counts.rejects)
        admitted = homes >= 0
        readings = given.kept(admitted)
        clocks = np.maximum.accumulate(np.concatenate([[self._clock], readings.ends]))
        return readings, homes[admitted], clocks

    def _carry(self, most: int) -> Iterator[Step]:
        """Write down open panes that hold the position back, of so many meters at most."""
        for quarters in self._quarters:
            store = quarters.store
            rows = store.open_slots.opened_before(self._trail.old(store.policy))[:most]
            for cohort, branch, its in quarters.of_rows(rows):
                step = cohort.carry(branch, its)
                if step is not None:
                    yield replace(step, place=self._places[branch], stage=self._stage)

    def _take(self, records: list[ItsRecords], course: Course, tally: Tally) -> Iterator[Step]:
        for quarters, its in records:
            for closed in quarters.store.add(its, course, tally):
                yield from self._decided(quarters, closed)

    def _leap(self, records: list[ItsRecords], course: Course, tally: Tally) -> Iterator[Step]:
        """Take in one record with which the clock leaps: what comes due meanwhile, in its order.

        Where presence is private it is taken in by pieces that close nothing by themselves.
        """
        public = [its for its in records if its[0].store.policy.presence == "public"]
        private = [
            (quarters, its)
            for quarters, its in records
            if quarters.store.policy.presence == "private" and its.any()
        ]
        yield from self._take(public, course, tally)
        while private:
            until = min(quarters.store.over_before(its) for quarters, its in private)
            yield from self._advance(course, until)
            starts = private[0][1].starts
            after = starts + 1 + min(quarters.store.policy.patience for quarters, _ in private)
            yield from self._take([(q, its.until(after)) for q, its in private], course, tally)
            rest = [(quarters, its.since(after)) for quarters, its in private]
            private = [its for its in rest if its[1].any()]

    def tick(self, now: int) -> Iterator[Step]:
        """Let the wall clock close windows. Precondition: every record there is was fed."""
        self._clock = max(self._clock, now)
        self._stage += 1
        yield from self._advance(Course.of_tick(self._clock, self._processed), self._clock)

    def announce(self, now: int) -> bool:
        """Let the wall clock close windows, but not yet: answer whether a tick is to be kept.

        Where others may read what is not committed, a tick must not be a surprise: if its
        releases were seen and then aborted, a record might come before it is repeated, and the
        same window would be released with another content. So the tick is committed first,
        with the position, and kept after that. Precondition: every record there is was fed.
        """
        if not self._announced and self.due(now):
            self._announced.append((self._processed, now))
        return self.announced

    def due(self, now: int) -> bool:
        """Whether the wall clock would close anything."""
        return any(store.due(now) for store in self._stores())

    @property
    def announced(self) -> bool:
        """Whether a tick is to be kept: then nothing must be fed before it is.

        One that a restored position holds is not, until all that came before it is read again.
        """
        return bool(self._announced) and self._announced[0][0] <= self._processed

    def keep(self, committed: Position) -> Iterator[Step]:
        """Tick as announced, if that is committed. Precondition: nothing was fed since."""
        if self._announced and self._announced[0] in committed.ticks:
            yield from self._keep_announced()

    def _keep_announced(self) -> Iterator[Step]:
        while self._announced and self._announced[0][0] <= self._processed:
            tick = self._announced.pop(0)
            self._ticked.append(tick)
            yield from self.tick(tick[1])

    def position(self) -> Position:
        """Where to go on, once everything before has been published."""
        needed = [old for store in self._stores() if (old := store.open_slots.oldest())]
        offset, clock = min(needed, default=(self._processed, self._clock))
        self._ticked = [tick for tick in self._ticked if tick[0] > offset][-MOST_TICKS:]
        ticks = (*self._ticked, *self._announced)
        return Position(offset, clock, max(self._processed, self._known_until), ticks)

    def within(self, before: Position) -> Position:
        """What is committed in the midst of records: they are all to be fed again."""
        return before

    @property
    def holds_open(self) -> bool:
        """Whether any window that is not over holds a reading."""
        return any(branch.holds_open for _, branch in self._branches())

    def lookalikes(self) -> int:
        """How many meters it knows whose ids differ from another's by their spelling alone."""
        return self._residents.lookalikes()

    @property
    def clock(self) -> int:
        """The newest event time so far."""
        return self._clock

    def holdings(self) -> list[Holding]:
        """What is held for each policy, to be looked at and not to be changed."""
        return [holding for cohort in self._cohorts for holding in cohort.holdings()]

    def _stores(self) -> Iterator[Store]:
        return (quarters.store for quarters in self._quarters)

    def _branches(self) -> Iterator[tuple[Housing[Any], Closing]]:
        for cohort in self._cohorts:
            for branch in cohort.branches:
                yield cohort, branch

    def _advance(self, course: Course, until: int) -> Iterator[Step]:
        """Come to a clock: at once, or in stages where too many windows would close."""
        clock = DAWN
        while clock < until:
            clock = min(store.at_once(until, clock) for store in self._stores())
            yield from self._come_to(clock, course)
            self._stage += clock < until

    def _come_to(self, clock: int, course: Course) -> Iterator[Step]:
        for quarters in self._quarters:
            for closed in quarters.store.advance(clock, course):
                yield from self._decided(quarters, closed)
                self._stage += quarters.store.in_order

    def _decided(self, quarters: Quarters, closed: Closed) -> Iterator[Step]:
        self.counts.tally.unpaired += closed.unpaired
        for cohort, branch, its in quarters.parted(closed):
            step = cohort.decide(branch, its)
            if step is not None:
                yield replace(step, place=self._places[branch], stage=self._stage)
