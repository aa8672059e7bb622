"""Event-time windows as columns: readings in, closed windows out.

A meter's window closes as soon as

  (a) a reading of that meter reaches the window's end plus `grace`, or
  (b) the partition's clock reaches the end plus `grace` plus `idle`,

in the order of the records, whatever batches they come in. The clock is the newest event
time in the partition so far; where the partition is caught up, the wall clock may be it.
Where presence is private, (b) alone counts: the windows of all meters close together, whoever
was heard. A reading whose windows have all closed is late. The first reading of a slot stays.

**One number for each record.** All that came before a record decides one thing about it:
the first window that is still *open to* it, the largest of what its meter's own readings and
the clock have left open. Its readings before the start of that window are late; earlier
windows do not see its others, later ones see them all. For a record does not come too late
for itself: times ascend in it, so what its first readings close is over before its later ones
begin. Once each record has its number, readings are placed by their time alone. And the first
still wins: the number never falls from one record of a meter to the next, so no window sees
the second of two readings for one slot without the first.

**Two ways.** A record is *calm* if all its windows see it and it closes none of its meter's.
Where all records of a meter are calm, they go straight to the slots of open windows. Of the
other meters the slots are laid out as strips; records are put in, windows are cut out, and
what is still open goes back. A strip is a stride long: what is left, because it lies beyond
or is open to no window of this stride, waits for the next one. Records that no closing window
sees are calm in the end.

The obvious twin, one reading after the other, is in the tests.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from meteragent.privacy.arrays import Integers, Mask, begins, run_starts
from meteragent.privacy.policy import Policy
from meteragent.privacy.windows import Some
from meteragent.stream.open_slots import SPARE_ROWS, OpenSlots
from meteragent.stream.order import NEVER, Course, OwnTime, largest_so_far, timed
from meteragent.stream.records import NONE, Records
from meteragent.stream.strips import Closed

UNKNOWN = -(2**62)
"""`next` of a meter that was never heard of."""
STRIDE_SLOTS = 2**14
"""By so much one meter moves at a stride."""
SLOTS_AT_ONCE = 2**18
WINDOWS_AT_ONCE = 2**14
"""So much of many meters, and of one more, is laid out and cut out together."""


@dataclass(slots=True)
class Tally:
    """What became of readings."""

    accepted: int = 0
    late: int = 0
    duplicate: int = 0

    def count(self, held: int, fresh: int) -> None:
        """Of readings in time that held a value, `fresh` found their slot empty."""
        self.accepted += fresh
        self.duplicate += held - fresh


class Store:
    """The windows of one policy's meters in one partition, a row per meter."""

    def __init__(
        self, policy: Policy, by_name: Callable[[Integers], Integers] = lambda rows: rows
    ) -> None:
        """`by_name` puts rows in the order of their meters' names."""
        self.policy = policy
        self._by_name = by_name
        self.in_order = False
        """Whether what `advance` closes is in order as it comes."""
        self.open_slots = OpenSlots(policy)
        self.next = np.empty(0, dtype=np.int64)
        """The first window of each row that is not decided."""
        self._windows = policy.windows
        self._longest = max(1, min(STRIDE_SLOTS // self._windows.hop_slots, WINDOWS_AT_ONCE))
        self._advanced_to = UNKNOWN
        self._marked = np.empty(0, dtype=np.bool_)

    def grow(self, rows: int) -> None:
        """Make room for at least this many rows; unknown ones cost nothing but memory."""
        if rows > len(self.next):
            room = max(rows, len(self.next) * 5 // 4 + SPARE_ROWS)
            self.next = np.concatenate([self.next, np.full(room - len(self.next), UNKNOWN)])
            self.open_slots.grow(room)
            self._marked = np.zeros(room, dtype=np.bool_)

    def decided_until(self, rows: Integers, until: Integers) -> None:
        """Take over from the ledger that all windows ending by `until` are decided."""
        self.next[rows] = self._windows.first_open(until)

    def add(self, records: Records, course: Course, tally: Tally) -> Iterator[Closed]:
        """Take readings in; close what they close of their own meters' windows.

        Precondition: rows exist; the clock never falls, nor below that of earlier calls.
        Postcondition: once the store has advanced to the clock, the same state, windows and
        tally as after one reading after the other.
        """
        self._meet(records)
        calm = self._are_calm(records)
        if not calm.all():
            moves = self._are_of(records.rows[~calm], records.rows)
            moving = np.flatnonzero(moves)
            by_row = moving[np.argsort(records.rows[moving], kind="stable")]
            yield from self._move(records.where(by_row), course, tally)
            records = records.where(np.flatnonzero(~moves))
        self._put(records, tally)

    def advance(self, clock: int, course: Course) -> Iterator[Closed]:
        """Close what is still open of meters that the partition's clock has left behind.

        Precondition: the clock has come so far in its course.
        """
        reached = self._idle(clock)
        rows = self._left_behind(reached)
        self._advanced_to = max(self._advanced_to, reached)
        final = np.full(len(rows), reached)
        if self.policy.presence == "public":  # whatever is beyond what is held is empty
            final = np.minimum(final, self.next[rows] + self.open_slots.hops)
        self.in_order = self.policy.presence == "private" and len(rows) > WINDOWS_AT_ONCE
        if self.in_order:
            rows = self._by_name(rows)
        for closed in self._close(rows, final, NONE, Tally()):
            yield timed(closed, self.policy, course)
        self.next[rows] = reached

    def over_before(self, record: Records) -> int:
        """Up to where the clock may come, though not beyond the record, before it is taken in.

        Windows that are over before it begins hold nothing of it. Where presence is public there
        is no such need: what it closes of its meter comes first. Postcondition: its meter is known.
        """
        if self.policy.presence == "public":
            return UNKNOWN
        self._meet(record)
        return min(int(record.ends[0]), int(record.starts[0]) + self.policy.patience)

    def at_once(self, clock: int, come: int) -> int:
        """Up to where to advance next on the way to a clock, so that not too many windows close.

        It has come so far. Where presence is public all is one step: no more close than are held.
        """
        behind = self._waiting(clock)
        if not len(behind):
            return clock
        first = int(self.next[behind].min())
        if len(behind) > WINDOWS_AT_ONCE:  # one window, once all is closed that is due before it
            due = self.policy.closes(first)
            return min(clock, due - (come < due - 1))
        return min(clock, self.policy.closes(first + WINDOWS_AT_ONCE // len(behind) - 1))

    def ahead(self, clock: int, since: int, records: int) -> int:
        """How many windows, that may hold nothing, come due at most on the way to a clock.

        As many `records` are taken in on the way, each perhaps of a meter that is new, and none
        from before `since`.
        """
        if self.policy.presence == "public":
            return 0
        reached, behind = self._idle(clock), self._waiting(clock)
        of_known = len(behind) * (reached - int(self.next[behind].min(initial=NEVER)))
        begin = max(self._advanced_to, self._windows.first_open(since - self.policy.grace))
        return of_known + records * max(0, reached - begin)

    def _waiting(self, clock: int) -> Integers:
        """The rows of which every window is told, if any of them is due by then."""
        if self.policy.presence == "public":
            return np.empty(0, dtype=np.int64)
        return self._left_behind(self._idle(clock))

    def due(self, clock: int) -> bool:
        """Whether `advance` would close anything."""
        return len(self._left_behind(self._idle(clock))) > 0

    def _left_behind(self, reached: int) -> Integers:
        """The rows with windows before `reached` that are still to be decided."""
        if reached <= self._advanced_to:
            return np.empty(0, dtype=np.int64)
        behind = np.flatnonzero((self.next < reached) & (self.next != UNKNOWN))
        if self.policy.presence == "public":
            behind = behind[self.open_slots.touched(behind)]
        return behind

    def _own(self, times: Integers) -> Integers:
        """The first window that readings of these times leave open of their own meter."""
        return self._windows.first_open(times - self.policy.patience)

    def _idle(self, clock: Some) -> Some:
        """The first window that the partition's clock leaves open of every meter."""
        return self._windows.first_open(clock - self.policy.grace - self.policy.idle)

    def _meet(self, records: Records) -> None:
        """Start the count of new rows, with the first reading that is not late.

        A late one does not make a meter known: a rebuild would not read it again.
        """
        new = np.flatnonzero(self.next[records.rows] == UNKNOWN)
        if len(new):
            records = records.where(new)
            in_time = records.since(self._windows.start(self._idle(records.before)))
            rows, nth = np.unique(in_time.rows, return_index=True)
            first = self._windows.first_open(in_time.starts[nth] - self.policy.grace)
            self.next[rows] = np.maximum(first, self._idle(in_time.before[nth]))

    def _are_calm(self, records: Records) -> Mask:
        """Which are seen by all their windows and close none, if all so far of their meter are."""
        begin = self.next[records.rows]
        seen_by = np.maximum(begin, self._windows.first_open(records.starts))
        in_time = (begin <= self._windows.newest(records.starts)) & (
            self._idle(records.before) <= seen_by
        )
        calm: Mask = in_time & (self._own(records.ends) <= begin)
        return calm

    def _are_of(self, some: Integers, rows: Integers) -> Mask:
        """Which of `rows` are among `some`."""
        self._marked[some] = True
        among: Mask = self._marked[rows]
        self._marked[some] = False
        return among

    def _put(self, calm: Records, tally: Tally) -> None:
        """Take calm records in."""
        if len(calm.rows):
            tally.count(*self.open_slots.put(calm, self.next[calm.rows]))

    def _move(self, records: Records, course: Course, tally: Tally) -> Iterator[Closed]:
        """Take in all records of some meters. Precondition: sorted by row, in their order."""
        records = self._numbered(records)
        in_time = records.since(self._windows.start(records.open_to))
        tally.late += int(records.counts.sum() - in_time.counts.sum())
        first = run_starts(in_time.rows)
        final = np.maximum.reduceat(np.maximum(in_time.open_to, self._own(in_time.ends)), first)
        calm = in_time.open_to == np.repeat(final, np.diff(first, append=len(in_time.rows)))
        rows = in_time.rows[first]
        closing = final > self.next[rows]
        seen = in_time.where(np.flatnonzero(~calm))
        own = OwnTime.of(records.rows, self._own(records.ends), records.offsets)
        for closed in self._close(rows[closing], final[closing], seen, tally):
            yield timed(closed, self.policy, course, own)
        self._put(in_time.where(np.flatnonzero(calm)), tally)

    def _numbered(self, records: Records) -> Records:
        """The same, with the first window that is open to each. Precondition: sorted by row."""
        first, begin = begins(records.rows), self.next[records.rows]
        reached = np.maximum(begin, largest_so_far(self._own(records.ends), records.rows))
        earlier = np.where(first, begin, np.concatenate([begin[:1], reached[:-1]]))
        return replace(records, open_to=np.maximum(earlier, self._idle(records.before)))

    def _close(
        self, rows: Integers, final: Integers, records: Records, tally: Tally
    ) -> Iterator[Closed]:
        """Close the windows of these rows up to `final`; put records in that some of them see.

        Precondition: rows ascend, records are sorted by row, none is late.
        """
        while len(rows):
            nth = np.searchsorted(rows, records.rows)
            begin, reach = self._stride(rows, final, records, nth)
            waits = records.open_to >= reach[nth]
            until = np.where(waits, records.starts, self.open_slots.end(reach)[nth])
            now, records = records.until(until), records.since(until)
            yield from self._lay_out(rows, begin, reach, now, tally)
            more = reach < final
            rows, final = rows[more], final[more]

    def _stride(
        self, rows: Integers, final: Integers, records: Records, nth: Integers
    ) -> tuple[Integers, Integers]:
        """From which window up to which each row goes next; `nth` of them is each record's."""
        begin = self.next[rows]
        if self.policy.presence == "public":  # windows that hold nothing are not told of
            following = final.copy()
            np.minimum.at(following, nth, self._windows.first_open(records.starts))
            begin = np.where(self.open_slots.touched(rows), begin, np.maximum(begin, following))
        return begin, np.minimum(final, begin + self._longest)

    def _lay_out(
        self, rows: Integers, begin: Integers, reach: Integers, records: Records, tally: Tally
    ) -> Iterator[Closed]:
        """Put records into strips of these rows, and cut out the windows up to `reach`."""
        slots = self._windows.slots_between(begin, reach) + self.open_slots.length
        part = np.cumsum(reach - begin) // WINDOWS_AT_ONCE + np.cumsum(slots) // SLOTS_AT_ONCE
        cuts = np.flatnonzero(np.diff(part)) + 1
        for low, high in pairwise([0, *cuts.tolist(), len(rows)]):
            strips = self.open_slots.strips(rows[low:high], begin[low:high], reach[low:high])
            mine = records.of_rows(rows[low], rows[high - 1])
            nth = np.searchsorted(strips.rows, mine.rows)
            tally.count(*strips.put(mine, nth))
            self.open_slots.go_on(strips)
            self.open_slots.open(mine.since(self._windows.start(strips.final[nth])))
            self.next[strips.rows] = strips.final
            yield from self._told(strips.cut())

    def _told(self, closed: Closed) -> Iterator[Closed]:
        """What is to be told of windows that have closed: if presence is public, no empty ones."""
        if self.policy.presence == "public":
            closed = closed.without_empty()
        if len(closed.rows):
            yield closed
