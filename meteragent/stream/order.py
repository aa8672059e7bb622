"""In which order closed windows leave: that of what closed them, whatever batches it came in.

Batches are cut by bytes, and 1000 is a byte longer than 990: where an order of releases follows
the batches, it tells of readings. So each closed window knows the *moment* at which it closed:
`2n + 1` if the record at offset `n` closed it, and `2n` if time did that passed before it. What
closes at one moment is put in order by when it was due. Where presence is private, windows close
by the partition's clock alone, and so the order of their releases is that in which they are due,
whoever was heard.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from meteragent.privacy.arrays import Integers, begins, run_starts
from meteragent.privacy.policy import Policy

NEVER = np.iinfo(np.int64).max
BY_ITS_OWN = -(2**62)
"""Before all that is due at a moment comes what a meter's own record has closed."""


@dataclass(frozen=True, slots=True)
class Course:
    """How the clock of a partition goes on while a batch is taken in, or a tick is kept."""

    clocks: Integers
    """Never falling; the first is that from before."""
    first: int
    """The moment of that."""
    offsets: Integers
    """Of the records that move it on."""

    @classmethod
    def of_tick(cls, clock: int, offset: int) -> "Course":
        """Time passes, before the record with this offset."""
        return cls(np.array([clock]), 2 * offset, np.empty(0, dtype=np.int64))

    def moved(self, clocks: Integers, offsets: Integers) -> "Course":
        """It goes on as records move it; `clocks` begin with that from before."""
        return Course(clocks, self.first, offsets)

    def moment(self, times: Integers) -> Integers:
        """When the clock came to each of these times, or NEVER."""
        at, last = np.searchsorted(self.clocks, times), len(self.offsets)
        if not last:
            return np.where(at == 0, self.first, NEVER)
        by_record = 2 * self.offsets.take(at - 1, mode="clip") + 1
        return np.where(at == 0, self.first, np.where(at > last, NEVER, by_record))


@dataclass(frozen=True, slots=True)
class OwnTime:
    """How meters' own records leave their panes behind."""

    rows: Integers
    """Of the runs, ascending: one of each."""
    ends: Integers
    """Where the records of each run end."""
    low: int
    """The first of all panes that any record leaves open, together with those before it."""
    span: int
    """How many panes there are from that one on, and two more."""
    reached: Integers
    """How far beyond that one each record has come, and as many times the span as runs are before
    its own: so they never fall."""
    offsets: Integers

    @classmethod
    def of(cls, rows: Integers, left_open: Integers, offsets: Integers) -> "OwnTime":
        """Of records, in runs of a meter's, that leave these panes open by themselves."""
        reached = largest_so_far(left_open, rows)
        first = run_starts(rows)
        ends = np.append(first[1:], len(rows))
        low = int(reached.min())
        span = int(reached.max()) - low + 2
        lift = np.repeat(np.arange(len(first)) * span, ends - first)
        return cls(rows[first], ends, low, span, reached - low + lift, offsets)

    def moment(self, rows: Integers, panes: Integers) -> Integers:
        """When each of these panes was left behind, or NEVER. Precondition: rows have records."""
        run = np.searchsorted(self.rows, rows)
        sought = run * self.span + np.clip(panes + 1 - self.low, 0, self.span - 1)
        at = np.searchsorted(self.reached, sought)
        return np.where(at < self.ends[run], 2 * self.offsets.take(at, mode="clip") + 1, NEVER)


@dataclass(frozen=True, slots=True)
class Timing:
    """When panes close: by their meter's own time, or by the clock of the partition."""

    policy: Policy
    course: Course
    own: OwnTime | None = None
    there: Callable[[Integers], Integers] | None = None
    """Which rows of `own` rows are, if these are others."""

    def of(self, rows: Integers, panes: Integers) -> tuple[Integers, Integers]:
        """The moment at which each has closed, and when that was due."""
        dues = self.policy.due(self.policy.panes.end(panes))
        moments = self.course.moment(dues)
        if self.own is None or self.policy.presence == "private":
            return moments, dues
        by_own = self.own.moment(rows if self.there is None else self.there(rows), panes)
        return np.minimum(by_own, moments), np.where(by_own <= moments, BY_ITS_OWN, dues)


def largest_so_far(values: Integers, rows: Integers) -> Integers:
    """The largest value up to here since the row's first."""
    low = values.min()
    lift = np.cumsum(begins(rows)) * (values.max() - low + 1)
    largest: Integers = np.maximum.accumulate(values + lift) - lift
    return largest
