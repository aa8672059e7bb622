"""Columns of readings, each row judged: good ones to `Readings`, others counted.

A row is judged as a line of JSON is: by its own cells alone. One without a value holds an absent
reading, which is no fault.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from meteragent.formats.json_one import CONTROL, LATEST, LONGEST_METER
from meteragent.privacy.arrays import Integers, Mask
from meteragent.privacy.domain import Watts
from meteragent.stream.closed import Counts
from meteragent.stream.readings import Numbered, Readings, Reason

AT_ONCE = 2**17
"""Cells that are worked on together."""
NO_TIME, NO_METER = -1, -1
MOST_KNOWN = 2**21
"""Ids; beyond, all are looked up anew, so that no table makes them grow for ever."""
_METER = re.compile(f"[^{CONTROL}]{{1,{LONGEST_METER}}}")


@dataclass(frozen=True, slots=True)
class Cells:
    """Readings as they stand in a table; `times` in milliseconds, `watts` NaN where absent."""

    names: list[str]
    """The ids there are; what is no text is no id."""
    meters: Integers
    """Each row's, by its number among them."""
    times: Integers
    watts: Watts

    def faults(self, numbers: Integers) -> dict[Reason, Mask]:
        """Which rows are no readings, if any; of several faults of a row the first one counts.

        `numbers` says of which meter each row is.
        """
        if not len(numbers) or self._are_all_good(numbers):
            return {}
        meters = numbers == NO_METER
        times = (self.times < 0) | (self.times > LATEST)
        return {
            Reason.BAD_METER: meters,
            Reason.BAD_TIME: times & ~meters,
            Reason.BAD_VALUE: np.isinf(self.watts) & ~times & ~meters,
        }

    def _are_all_good(self, numbers: Integers) -> bool:
        """As they are nearly always, which is soon seen."""
        are_times = self.times.min() >= 0 and self.times.max() <= LATEST
        return bool(are_times and numbers.min() >= 0) and not np.isinf(self.watts).any()


class Ids:
    """Ids and their numbers, the same from one part of a table to the next."""

    def __init__(self) -> None:
        """None is known yet."""
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}

    def numbers(self, names: list[str]) -> Integers:
        """Which they are among `names` of mine; `NO_METER` where one is no id."""
        if len(self.names) > MOST_KNOWN:
            self.names, self._numbers = [], {}
        for name in names:
            if name not in self._numbers and _is_meter(name):
                self._numbers[name] = len(self.names)
                self.names.append(name)
        return np.array([self._numbers.get(name, NO_METER) for name in names], dtype=np.int64)


@dataclass(slots=True)
class Tallied:
    """What became of rows."""

    rows: int = 0
    good: int = 0
    """Cells that are readings."""
    accepted: int = 0
    late: int = 0
    shared: int = 0
    """In slots that held a reading already: of several the first one counts."""
    rejects: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)
    """The first row, from 0, that was rejected for each reason."""
    released: int = 0
    """Windows of which everything was released."""
    withheld: Counter[str] = field(default_factory=Counter)
    remarks: list[str] = field(default_factory=list)
    """What is not as it was asked for, in words."""
    open: bool = False
    """Whether windows are open still: they are not over, by the clock of this machine."""

    def reject(self, reason: Reason, rows: Integers) -> None:
        """Note rows that were rejected."""
        if len(rows):
            self.rejects[reason.value] += len(rows)
            first = int(rows.min())
            self.first[reason.value] = min(first, self.first.get(reason.value, first))

    def count(self, counts: Counts, batch: "Batch") -> None:
        """Add what a pipeline has counted of a batch."""
        self.accepted += counts.tally.accepted
        self.late += counts.tally.late
        self.shared += counts.tally.duplicate
        for reject in counts.rejects:
            at = reject.offset - batch.first
            self.reject(reject.reason, batch.rows[at : at + 1])

    @property
    def lost(self) -> list[str]:
        """What was not taken, in words; nothing if all was."""
        told = [
            (self.late, "came after their windows had closed"),
            (self.shared, "share a slot with one before (is interval too long?)"),
        ]
        words = [*self.remarks]
        words += [f"{count:,} readings {what}" for count, what in told if count]
        for reason, count in sorted(self.rejects.items()):
            words.append(f"{count:,} rows rejected: {reason}, from row {self.first[reason]:,}")
        if self.open:
            words.append(
                "windows that are not over yet wait: pass their rows again, with what comes"
            )
        if self.rows and not self.released and not self.withheld:
            words.append("no window was closed by them")
        return words


@dataclass(frozen=True, slots=True)
class Batch:
    """Good rows, to be worked on together."""

    readings: Readings
    rows: Integers
    """In which row each of them stood."""
    first: int
    """The number of the first among all good rows."""


def batches(rows: Cells, ids: Ids, tallied: Tallied, *, by_time: bool) -> Iterator[Batch]:
    """The good rows, some at a time; the others are counted.

    `by_time`: in the order of their times, rows of one time as they stand; else all as they stand.
    """
    meters = ids.numbers(rows.names)[rows.meters]
    before, faults = tallied.rows, rows.faults(meters)
    tallied.rows += len(rows.times)
    for reason, faulty in faults.items():
        tallied.reject(reason, np.flatnonzero(faulty) + before)
    good = np.flatnonzero(~np.any([*faults.values()], axis=0)) if faults else None
    times = rows.times if good is None else rows.times[good]
    if by_time and (times[1:] < times[:-1]).any():
        order = np.argsort(times, kind="stable")
        good = order if good is None else good[order]
    for start in range(0, len(times), AT_ONCE):
        stop, first = min(start + AT_ONCE, len(times)), tallied.good
        some = np.arange(start, stop) if good is None else good[start:stop]
        tallied.good += len(some)
        whose = Numbered(ids.names, meters[some])
        yield Batch(_readings(rows, whose, some, first), some + before, first)


def _is_meter(name: object) -> bool:
    return isinstance(name, str) and _METER.fullmatch(name) is not None


def _readings(rows: Cells, whose: Numbered, some: Integers, first: int) -> Readings:
    ones = np.ones(len(some), dtype=np.int64)
    return Readings(
        meters=whose,
        offsets=first + np.arange(len(some)),
        timestamps=ones * LATEST,
        counts=ones,
        starts=rows.times[some],
        intervals=ones,
        watts=rows.watts[some],
        rejects=[],
        next_offset=first + len(some),
    )
