"""Panes as columns: readings in, closed panes out.

A meter's pane closes as soon as

  (a) a reading of that meter reaches the pane's end plus `grace`, or
  (b) the partition's clock reaches the end plus `grace` plus `idle`,

in the order of the records, whatever batches they come in. The clock is the newest event
time in the partition so far; where the partition is caught up, the wall clock may be it.
Where presence is private, (b) alone counts: the panes of all meters close together, whoever
was heard. A reading whose pane has closed is late. The first reading of a slot stays.

**One number for each record.** All that came before a record decides one thing about it:
the first pane that is still *open to* it, the largest of what its meter's own readings and
the clock have left open. Its readings before the start of that pane are late. For a record does
not come too late for itself: times ascend in it, so what its first readings close is over before
its later ones begin. Once each record has its number, readings are placed by their time alone. And
the first still wins: the number never falls from one record of a meter to the next.

**Two ways.** A record is *calm* if it closes none of its meter's panes. Where all records of a
meter are calm, they go straight to the slots of open panes. Of the other meters the slots are laid
out as strips; records are put in, panes are cut out, and what is still open goes back. A strip is
a stride long: what is left, because it lies beyond, waits for the next one. Records that no
closing pane holds are calm in the end.

Of a pane that holds nothing nobody is told where presence is public, unless somebody waits for it:
`awaited` is the pane by which a row's next window is over.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from meteragent.privacy.arrays import Integers, Mask, begins, lengthen, roomy, run_starts
from meteragent.privacy.policy import Policy
from meteragent.privacy.windows import Some
from meteragent.stream.closed import Closed, Tally
from meteragent.stream.open_slots import OpenSlots
from meteragent.stream.order import NEVER, Course, OwnTime, Timing, largest_so_far
from meteragent.stream.records import NONE, Records
from meteragent.stream.shown import Shown, shown_of
from meteragent.stream.strips import Panes

UNKNOWN = -(2**62)
"""`next` of unknown meters."""
STRIDE_SLOTS = 2**14
"""By so much one meter moves at a stride."""
SLOTS_AT_ONCE = 2**18
PANES_AT_ONCE = 2**14
"""So much of many meters, and of one more, is laid out and cut out together."""


class Store:
    """The open panes of one policy's meters in one partition, a row per meter."""

    def __init__(
        self,
        policy: Policy,
        by_name: Callable[[Integers], Integers] = lambda rows: rows,
        shown: Shown | None = None,
    ) -> None:
        """`by_name` puts rows in the order of their meters' names; meters show power, or this."""
        self.policy = policy
        self._by_name = by_name
        self.in_order = False
        """Whether what `advance` closes is in order as it comes."""
        self.shown = shown_of(policy) if shown is None else shown
        self.open_slots = OpenSlots(policy, self.shown.dtype)
        self.next = np.empty(0, dtype=np.int64)
        """The first pane of each row that has not closed."""
        self.awaited = np.empty(0, dtype=np.int64)
        """By which pane's end somebody is to be told of each row, though it hold nothing."""
        self._panes = policy.panes
        self._longest = max(1, min(STRIDE_SLOTS // self._panes.slots, PANES_AT_ONCE))
        no_levels = np.empty((0, self._panes.slots), dtype=policy.domain.dtype)
        self._nothing = Panes(NONE.rows, NONE.rows, no_levels)
        self._advanced_to = UNKNOWN
        self._marked = np.empty(0, dtype=np.bool_)

    def grow(self, rows: int) -> None:
        """Make room for at least this many rows; unknown ones cost nothing but memory."""
        if rows > len(self.next):
            room = roomy(len(self.next), rows)
            lengthen(self, "next", room, UNKNOWN)
            lengthen(self, "awaited", room, NEVER)
            lengthen(self, "_marked", room, 0)
            self.open_slots.grow(room)
            self.shown.grow(room)

    def go_on(self, rows: Integers, panes: Integers) -> None:
        """Take over that all panes of these rows, some several times, before these have closed."""
        np.maximum.at(self.next, rows, panes)

    def add(self, records: Records, course: Course, tally: Tally) -> Iterator[Closed]:
        """Take readings in; close what they close of their own meters' panes.

        Precondition: rows exist; the clock never falls, nor below that of earlier calls.
        Postcondition: once the store has advanced to the clock, the same state, panes and
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
        if reached <= self._advanced_to:
            return
        rows = self._left_behind(reached)
        self._advanced_to = reached
        final, timing = np.full(len(rows), reached), Timing(self.policy, course)
        if self.policy.presence == "public":  # whatever is beyond what is held is empty
            final = np.minimum(final, self.next[rows] + self.open_slots.panes)
        self.in_order = self.policy.presence == "private" and len(rows) > PANES_AT_ONCE
        if self.in_order:
            rows = self._by_name(rows)
        yield from self._close(rows, final, NONE, Tally(), timing)
        self.next[rows] = reached
        beyond = np.flatnonzero((final < reached) & (self.awaited[rows] < reached))
        for first in range(0, len(beyond), PANES_AT_ONCE):
            its = beyond[first : first + PANES_AT_ONCE]
            yield Closed(self._nothing, rows[its], final[its], np.full(len(its), reached), timing)

    def over_before(self, record: Records) -> int:
        """Up to where the clock may come, though not beyond the record, before it is taken in.

        Windows over before it begins hold nothing of it. Precondition: presence is private;
        else what a record closes of its meter comes first. Postcondition: its meter is known.
        """
        self._meet(record)
        return min(int(record.ends[0]), int(record.starts[0]) + self.policy.patience)

    def at_once(self, clock: int, come: int) -> int:
        """Up to where to advance next on the way to a clock, so that not too many panes close.

        It has come so far. Where presence is public all is one step: no more close than are held.
        """
        behind = self._waiting(clock)
        if not len(behind):
            return clock
        first = int(self.next[behind].min())
        if len(behind) > PANES_AT_ONCE:  # one pane, once all is closed that is due before it
            due = self._due(first)
            return min(clock, due - (come < due - 1))
        return min(clock, self._due(first + PANES_AT_ONCE // len(behind) - 1))

    def ahead(self, clock: int, since: int, records: int) -> int:
        """How many panes, that may hold nothing, come due at most on the way to a clock.

        As many `records` are taken in on the way, each perhaps of a meter that is new, and none
        from before `since`.
        """
        if self.policy.presence == "public":
            return 0
        reached, behind = self._idle(clock), self._waiting(clock)
        of_known = len(behind) * (reached - int(self.next[behind].min(initial=NEVER)))
        begin = max(self._advanced_to, self._panes.first_open(since - self.policy.grace))
        return of_known + records * max(0, reached - begin)

    def _due(self, pane: int) -> int:
        return self.policy.due(self._panes.end(pane))

    def _waiting(self, clock: int) -> Integers:
        """The rows of which every pane is told, if any of them is due by then."""
        if self.policy.presence == "public":
            return np.empty(0, dtype=np.int64)
        return self._left_behind(self._idle(clock))

    def due(self, clock: int) -> bool:
        """Whether `advance` would close anything."""
        return len(self._left_behind(self._idle(clock))) > 0

    def _left_behind(self, reached: int) -> Integers:
        """The rows with panes before `reached` that are to be told of."""
        if reached <= self._advanced_to:
            return np.empty(0, dtype=np.int64)
        behind = np.flatnonzero((self.next < reached) & (self.next != UNKNOWN))
        if self.policy.presence == "public":
            held = self.open_slots.touched(behind)
            behind = behind[held | (self.awaited[behind] < reached)]
        return behind

    def _own(self, times: Integers) -> Integers:
        """The first pane that readings of these times leave open of their own meter."""
        return self._panes.first_open(times - self.policy.patience)

    def _idle(self, clock: Some) -> Some:
        """The first pane that the partition's clock leaves open of every meter."""
        return self._panes.first_open(clock - self.policy.grace - self.policy.idle)

    def _meet(self, records: Records) -> None:
        """Start the count of new rows, with the first reading that is not late.

        A late one does not make a meter known: a rebuild would not read it again.
        """
        new = np.flatnonzero(self.next[records.rows] == UNKNOWN)
        if len(new):
            records = records.where(new)
            in_time = records.since(self._panes.start(self._idle(records.before)))
            rows, nth = np.unique(in_time.rows, return_index=True)
            first = self._panes.first_open(in_time.starts[nth] - self.policy.grace)
            self.next[rows] = np.maximum(first, self._idle(in_time.before[nth]))

    def _are_calm(self, records: Records) -> Mask:
        """Which are in time and close no pane of their meter, if all so far of it are."""
        begin, first = self.next[records.rows], self._panes.newest(records.starts)
        in_time = (begin <= first) & (self._idle(records.before) <= first)
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
        in_time = records.since(self._panes.start(records.open_to))
        tally.late += int(records.counts.sum() - in_time.counts.sum())
        first = run_starts(in_time.rows)
        final = np.maximum.reduceat(np.maximum(in_time.open_to, self._own(in_time.ends)), first)
        calm = in_time.open_to == np.repeat(final, np.diff(first, append=len(in_time.rows)))
        rows = in_time.rows[first]
        closing = final > self.next[rows]
        seen = in_time.where(np.flatnonzero(~calm))
        own = OwnTime.of(records.rows, self._own(records.ends), records.offsets)
        timing = Timing(self.policy, course, own)
        yield from self._close(rows[closing], final[closing], seen, tally, timing)
        self._put(in_time.where(np.flatnonzero(calm)), tally)

    def _numbered(self, records: Records) -> Records:
        """The same, with the first pane that is open to each. Precondition: sorted by row."""
        first, begin = begins(records.rows), self.next[records.rows]
        reached = np.maximum(begin, largest_so_far(self._own(records.ends), records.rows))
        earlier = np.where(first, begin, np.concatenate([begin[:1], reached[:-1]]))
        return replace(records, open_to=np.maximum(earlier, self._idle(records.before)))

    def _close(
        self, rows: Integers, final: Integers, records: Records, tally: Tally, timing: Timing
    ) -> Iterator[Closed]:
        """Close the panes of these rows up to `final`; put records in that some of them hold.

        Precondition: rows ascend, records are sorted by row, none is late.
        """
        while len(rows):
            nth = np.searchsorted(rows, records.rows)
            begin, reach = self._stride(rows, final, records, nth)
            waits = records.open_to >= reach[nth]
            until = np.where(waits, records.starts, self.open_slots.end(reach)[nth])
            now, records = records.until(until), records.since(until)
            yield from self._lay_out(rows, begin, reach, now, tally, timing)
            more = reach < final
            rows, final = rows[more], final[more]

    def _stride(
        self, rows: Integers, final: Integers, records: Records, nth: Integers
    ) -> tuple[Integers, Integers]:
        """From which pane up to which each row goes next; `nth` of them is each record's."""
        begin = self.next[rows]
        if self.policy.presence == "public":  # panes that hold nothing are not told of
            following = final.copy()
            np.minimum.at(following, nth, self._panes.newest(records.starts))
            begin = np.where(self.open_slots.touched(rows), begin, np.maximum(begin, following))
        return begin, np.minimum(final, begin + self._longest)

    def _lay_out(
        self,
        rows: Integers,
        begin: Integers,
        reach: Integers,
        records: Records,
        tally: Tally,
        timing: Timing,
    ) -> Iterator[Closed]:
        """Put records into strips of these rows, and cut out the panes up to `reach`."""
        slots = self._panes.slots_between(begin, reach) + self.open_slots.length
        part = np.cumsum(reach - begin) // PANES_AT_ONCE + np.cumsum(slots) // SLOTS_AT_ONCE
        cuts = np.flatnonzero(np.diff(part)) + 1
        for low, high in pairwise([0, *cuts.tolist(), len(rows)]):
            strips = self.open_slots.strips(rows[low:high], begin[low:high], reach[low:high])
            mine = records.of_rows(rows[low], rows[high - 1])
            nth = np.searchsorted(strips.rows, mine.rows)
            tally.count(*strips.put(mine, nth))
            self.open_slots.go_on(strips)
            self.open_slots.open(mine.since(self._panes.start(strips.final[nth])))
            self.next[strips.rows] = strips.final
            panes, noted, unpaired = self.shown.powers(strips.cut())
            if self.policy.presence == "public":
                panes = panes.without_empty()
            yield Closed(panes, strips.rows, strips.begin, strips.final, timing, noted, unpaired)
