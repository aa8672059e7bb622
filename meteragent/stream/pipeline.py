"""One partition's readings in, releases out: pure, without a clock of its own and without I/O.

    readings -> windows -> budget -> queries and noise -> releases and ledger records

Whoever runs a pipeline feeds it all records of a partition in order, and commits, in one
transaction, what the steps held and the `position` after the last of them. Fed again from
there, with the ledger records committed so far, another instance goes on as if nothing had
happened: open windows are filled again by the same records, and decided ones stay decided.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, count

import numpy as np

from meteragent.privacy.arrays import Integers, Mask
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.ledger_record import load_together
from meteragent.stream.cohort import Assigned, Cohort, Holding
from meteragent.stream.meters import longest_prefix, lookalikes, normal
from meteragent.stream.readings import Readings, Reason, Reject
from meteragent.stream.records import Records
from meteragent.stream.releases import Step
from meteragent.stream.window import Tally

__all__ = ["START", "Assigned", "Counts", "Holding", "Pipeline", "Position"]

DAWN = -(2**62)
"""The clock of a partition from which nothing was read yet."""

MOST_TICKS = 100
"""More would not fit into what Kafka keeps beside an offset; no more fall into open windows."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far a partition has come, and from where it could be rebuilt."""

    offset: int
    """The oldest record that an open window still needs; the one to commit."""
    clock: int
    """The partition's event time before that record."""
    processed: int
    """One past the last record taken in."""
    ticks: tuple[tuple[int, int], ...] = ()
    """(processed, clock): ticks to be repeated when so many records have been taken in again."""


START = Position(offset=0, clock=DAWN, processed=0)


@dataclass(slots=True)
class Counts:
    """What happened since somebody last asked; readings that were read again do not count."""

    tally: Tally = field(default_factory=Tally)
    rejects: list[Reject] = field(default_factory=list)


class Pipeline:
    """The windows and accounts of one partition's meters."""

    def __init__(
        self,
        assigned: Sequence[Assigned],
        key: NoiseKey,
        *,
        max_skew: int,
        max_meters: int,
        normalise_ids: bool = False,
        start: Position = START,
    ) -> None:
        longest_first = sorted(assigned, key=lambda a: -len(a.prefix))
        self._cohorts = [Cohort(a, key) for a in longest_first]
        self._max_skew = max_skew
        self._max_meters = max_meters
        self._name: Callable[[str], str] = normal if normalise_ids else str
        """Of a meter, by any spelling of its id; asked once for each."""
        self._homes: dict[str, int] = {}  # spelling -> row * cohorts + cohort
        self._clock = start.clock
        self._processed = start.offset
        self._known_until = start.processed
        self._ticked: list[tuple[int, int]] = []
        self._announced = list(start.ticks)
        self.counts = Counts()

    def restore(self, accounts: Mapping[str, bytes]) -> None:
        """Take over the meters that the ledger knows. Precondition: nothing was fed yet.

        What was kept under several spellings of one id, before they were one meter, adds up.
        """
        records: dict[str, list[bytes]] = {}
        for spelling, record in accounts.items():
            records.setdefault(self._name(spelling), []).append(record)
        for number, meters in self._by_cohort(records):  # none is turned away
            cohort = self._cohorts[number]
            cohort.ledger = load_together(cohort.policy.terms, [records[m] for m in meters])
            self._move_in(number, meters)
            cohort.go_on()

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
        again = readings.next_offset <= self._known_until
        counts = Counts() if again else self.counts
        counts.rejects += readings.rejects
        homes = self._admit(readings, counts)
        for cohort, records in self._records(readings, homes):
            for closed in cohort.store.add(records, counts.tally):
                yield cohort.decide(closed)
        self._processed = readings.next_offset
        yield from self._advance()

    def tick(self, now: int) -> Iterator[Step]:
        """Let the wall clock close windows. Precondition: every record there is was fed."""
        self._clock = max(self._clock, now)
        yield from self._advance()

    def announce(self, now: int) -> bool:
        """Let the wall clock close windows, but not yet: answer whether a tick is to be kept.

        Where others may read what is not committed, a tick must not be a surprise: if its
        releases were seen and then aborted, a record might come before it is repeated, and the
        same window would be released with another content. So the tick is committed first,
        with the position, and kept after that. Precondition: every record there is was fed.
        """
        if not self._announced and any(cohort.store.due(now) for cohort in self._cohorts):
            self._announced.append((self._processed, now))
        return self.announced

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
        needed = [old for cohort in self._cohorts if (old := cohort.store.open_slots.oldest())]
        offset, clock = min(needed, default=(self._processed, self._clock))
        self._ticked = [tick for tick in self._ticked if tick[0] > offset][-MOST_TICKS:]
        ticks = (*self._ticked, *self._announced)
        return Position(offset, clock, max(self._processed, self._known_until), ticks)

    @property
    def clock(self) -> int:
        """The newest event time so far."""
        return self._clock

    def holdings(self) -> list[Holding]:
        """What is held for each policy, to be looked at and not to be changed."""
        return [cohort.holding() for cohort in self._cohorts]

    def _advance(self) -> Iterator[Step]:
        for cohort in self._cohorts:
            for closed in cohort.store.advance(self._clock):
                yield cohort.decide(closed)

    def _admit(self, readings: Readings, counts: Counts) -> Integers:
        """The home of each run, or a negative number where it has none and was rejected."""
        future = readings.ends > readings.timestamps + self._max_skew
        homes = np.where(future, _FUTURE, self._homes_of(readings.meters, future))
        for run in np.flatnonzero(homes < 0).tolist():
            reason = _REASONS[int(homes[run])]
            counts.rejects.append(Reject(int(readings.offsets[run]), reason))
        return homes

    def _homes_of(self, meters: list[str], future: Mask) -> Integers:
        homes = self._homes
        try:
            return np.array([*map(homes.__getitem__, meters)], dtype=np.int64)
        except KeyError:  # some are new, which is rare
            new = [m for m in dict.fromkeys(compress(meters, ~future)) if m not in homes]
            room = max(0, self._max_meters - len(homes))
            admitted = [m for m in new if self._cohort_of(self._name(m)) is not None][:room]
            names = {meter: self._name(meter) for meter in admitted}
            unknown = dict.fromkeys(name for name in names.values() if name not in homes)
            for number, mine in self._by_cohort(unknown):
                self._move_in(number, mine)
            homes.update((meter, homes[name]) for meter, name in names.items())
            return np.array(
                [homes[m] if m in homes else self._refusal(m) for m in meters], dtype=np.int64
            )

    def _by_cohort(self, meters: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
        """The meters of each cohort; some may have none."""
        by_cohort = defaultdict(list)
        for meter in meters:
            if (number := self._cohort_of(meter)) is not None:
                by_cohort[number].append(meter)
        yield from by_cohort.items()

    def _move_in(self, number: int, meters: list[str]) -> None:
        """Give new meters their rows in a cohort."""
        first = self._cohorts[number].move_in(meters) * len(self._cohorts) + number
        self._homes.update(zip(meters, count(first, len(self._cohorts)), strict=False))

    def _cohort_of(self, meter: str) -> int | None:
        return longest_prefix([cohort.prefix for cohort in self._cohorts], meter)

    def _refusal(self, meter: str) -> int:
        homeless = self._cohort_of(self._name(meter)) is None
        return _NO_POLICY if homeless else _TOO_MANY_METERS

    def lookalikes(self) -> int:
        """How many meters it knows whose ids differ from another's by their spelling alone."""
        return lookalikes(self._homes)

    def _records(self, readings: Readings, homes: Integers) -> Iterator[tuple[Cohort, Records]]:
        """The admitted records of each cohort; moves the clock on."""
        admitted = homes >= 0
        if not admitted.all():
            readings, homes = readings.chosen(admitted, [], readings.next_offset), homes[admitted]
        if not len(homes):
            return
        clock = np.maximum(np.maximum.accumulate(readings.ends), self._clock)
        before = np.concatenate([[self._clock], clock[:-1]])
        self._clock = int(clock[-1])
        rows, cohort_of = np.divmod(homes, len(self._cohorts))
        for number, cohort in enumerate(self._cohorts):
            mine = np.flatnonzero(cohort_of == number)
            if len(mine):
                records = Records(
                    rows,
                    readings.offsets,
                    before,
                    readings.starts,
                    readings.intervals,
                    readings.counts,
                    np.cumsum(readings.counts) - readings.counts,
                    cohort.store.policy.domain.levels(readings.watts),
                    np.zeros_like(rows),
                )
                yield cohort, records if len(mine) == len(homes) else records.where(mine)


_FUTURE, _NO_POLICY, _TOO_MANY_METERS = -1, -2, -3
_REASONS = {
    _FUTURE: Reason.FUTURE,
    _NO_POLICY: Reason.NO_POLICY,
    _TOO_MANY_METERS: Reason.TOO_MANY_METERS,
}
