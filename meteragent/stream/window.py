"""Event-time windows as columns: readings in, closed windows out.

Window `w` of a policy covers `[w * hop, w * hop + size)`: open times are inclusive, close
times are exclusive. A meter's window closes as soon as

  (a) a reading of that meter reaches the window's end plus `grace`, or
  (b) the partition's clock reaches the end plus `grace` plus `idle`,

in the order of the records, whatever batches they come in. The clock is the newest event
time in the partition so far; where the partition is caught up, the wall clock may be it.
A reading whose windows have all closed is late. The first reading of a slot stays.

In most batches most meters close nothing: their readings go straight into the ring. Of
those whose records come in order, `_stride` lays out the next few windows as one strip. The
others take the long way, `_close`, reading by reading. What windows hold as they close is in
`closing`; the obvious twin, one reading after the other, is in the tests.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from meteragent.privacy.arrays import Integers, Mask, distinct, put_first, run_starts
from meteragent.privacy.domain import held
from meteragent.privacy.policy import Policy
from meteragent.stream.closing import Closed, Turns, cut_out, lay_out, running_maximum
from meteragent.stream.records import Arrivals, Places, Records, fill
from meteragent.stream.ring import SPARE_ROWS, Ring

Some = TypeVar("Some", int, Integers)

UNKNOWN = -(2**62)
"""`next` of a meter that was never heard of."""
WINDOWS_AT_ONCE = 2**14
WINDOWS_AT_A_STRIDE = 8
STRIDES = 8
"""In so many strides a meter's windows may close; more of a batch take the long way."""
STRIP_CELLS = 2**18


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

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.ring = Ring(policy)
        self.next = np.empty(0, dtype=np.int64)
        """The first window of each row that is not decided."""
        self._advanced_to = UNKNOWN
        self._marked = np.empty(0, dtype=np.bool_)

    def grow(self, rows: int) -> None:
        """Make room for at least this many rows; unknown ones cost nothing but memory."""
        if rows > len(self.next):
            room = max(rows, len(self.next) * 5 // 4 + SPARE_ROWS)
            self.next = np.concatenate([self.next, np.full(room - len(self.next), UNKNOWN)])
            self.ring.grow(room)
            self._marked = np.zeros(room, dtype=np.bool_)

    def first_open(self, passed: Some) -> Some:
        """The first window that ends after the time `passed`."""
        return (passed - self.policy.size) // self.policy.hop + 1

    def decided_until(self, rows: Integers, until: Integers) -> None:
        """Take over from the ledger that all windows ending by `until` are decided."""
        self.next[rows] = self.first_open(until)

    def add(self, records: Records, tally: Tally) -> Iterator[Closed]:
        """Take readings in; close what they close.

        Precondition: rows exist; the clock never falls, nor below that of earlier calls.
        Postcondition: the same state, windows and tally as one reading after the other.
        """
        self._meet_first(records)
        for _ in range(STRIDES):
            calm = self._are_in_time(records) & (self._own(records.ends) <= self._begin(records))
            if calm.all():
                self._put(records, tally)
                return
            moves = self._are_of(records.rows[~calm], records.rows)
            self._put(records.where(np.flatnonzero(~moves)), tally)
            records = yield from self._stride(records.where(np.flatnonzero(moves)), tally)
        yield from self._add_singly(records.singly(), tally)

    def _begin(self, records: Records) -> Integers:
        begin: Integers = self.next[records.rows]
        return begin

    def _are_in_time(self, records: Records) -> Mask:
        """Which of them are of open windows, and step over no block.

        By their turn the partition's clock may have closed only windows that none of their
        readings is of: then it is all the same when it did.
        """
        begin, block = self._begin(records), records.starts // self.policy.hop
        touched = records.ends // self.policy.hop - block + 1
        idle = self._idle(np.maximum(records.before, records.ends))
        in_time: Mask = (begin <= block) & (
            idle <= np.maximum(begin, self.first_open(records.starts))
        )
        return in_time & (touched <= records.counts)

    def _are_of(self, some: Integers, rows: Integers) -> Mask:
        """Which of `rows` are among `some`."""
        self._marked[some] = True
        among: Mask = self._marked[rows]
        self._marked[some] = False
        return among

    def _put(self, records: Records, tally: Tally) -> None:
        """Put records that close nothing into their slots."""
        if len(records.rows):
            tally.count(*self.ring.take(records, self._begin(records)))

    def _stride(self, records: Records, tally: Tally) -> Generator[Closed, None, Records]:
        """Close the next few windows of meters whose records come in order; answer what is left.

        Of a meter that has late readings before that, or leaps ahead, all is taken in, the long
        way.
        """
        records = records.where(np.argsort(records.rows, kind="stable"))
        begin, first = self._begin(records), np.diff(records.rows, prepend=-1) != 0
        reach = np.maximum(self._own(records.ends), begin)
        reached = running_maximum(reach, np.cumsum(first))
        earlier = np.where(first, begin, np.concatenate([begin[:1], reached[:-1]]))
        limit = begin + WINDOWS_AT_A_STRIDE
        later = earlier > limit
        closed = (earlier - 1) * self.policy.hop + self.policy.size
        in_order = (earlier == begin) | (records.starts >= closed)
        straight = self._are_in_time(records) & in_order & (self._own(records.starts) <= limit)
        crooked = self._are_of(records.rows[~(straight | later)], records.rows)
        if crooked.any():
            theirs = records.where(np.flatnonzero(crooked))
            yield from self._add_singly(theirs.singly(), tally)
            records = records.where(np.flatnonzero(~crooked))
            later, limit = later[~crooked], limit[~crooked]
        now, left = records.cut(np.where(later, records.starts, self.ring.end(limit)))
        yield from self._go_straight(now, tally)
        return left

    def _go_straight(self, records: Records, tally: Tally) -> Iterator[Closed]:
        """Close what these close. Precondition: sorted by row; none comes late."""
        first = run_starts(records.rows)
        if not len(first):
            return
        begin, end = self.next[records.rows[first]], np.append(first[1:], len(records.rows))
        final = np.maximum(begin, np.maximum.reduceat(self._own(records.ends), first))
        width = int((final - begin).max()) * self.ring.hop_slots + self.ring.length
        most = max(1, STRIP_CELLS // width)
        for low in range(0, len(first), most):
            some = slice(low, low + most)
            mine = records.where(np.arange(first[low], end[some][-1]))
            yield from self._lay_straight(mine, final[some], width, tally)

    def _lay_straight(
        self, records: Records, final: Integers, width: int, tally: Tally
    ) -> Iterator[Closed]:
        """Their rows as strips, and what comes of them up to the window `final` of each."""
        first = run_starts(records.rows)
        rows = records.rows[first]
        begin = self.next[rows]
        strips = self.ring.strips(rows, begin, width)
        rank = np.repeat(np.arange(len(rows)), np.diff(first, append=len(records.rows)))
        slot = records.starts // self.ring.interval - begin[rank] * self.ring.hop_slots
        places = Places(rank, slot, np.zeros_like(slot))
        tally.count(*fill(strips, records, places, self.ring.interval))
        self.ring.go_on(rows, begin, final, strips)
        self.next[rows] = final
        _, still_open = records.cut(final[rank] * self.policy.hop)
        self.ring.open(still_open)
        yield from self._told(cut_out(self.ring, strips, rows, begin, final))

    def _add_singly(self, arrivals: Arrivals, tally: Tally) -> Iterator[Closed]:
        """The long way: each reading by itself."""
        self._meet(arrivals.rows, arrivals.times, arrivals.clock)
        met = self.next[arrivals.rows] != UNKNOWN
        tally.late += int(np.count_nonzero(~met))
        arrivals = arrivals.where(met)
        if not len(arrivals.rows):
            return
        begin = self.next[arrivals.rows]
        moves = np.maximum(self._own(arrivals.times), self._idle(arrivals.latest)) > begin
        if not moves.any():
            self._take(arrivals, begin, tally)
            return
        moving = self._are_of(arrivals.rows[moves], arrivals.rows)
        self._take(arrivals.where(~moving), begin[~moving], tally)
        rows = np.unique(arrivals.rows[moving])
        yield from self._close(rows, arrivals.where(moving), tally)

    def advance(self, clock: int) -> Iterator[Closed]:
        """Close what is still open of meters that the partition's clock has left behind."""
        reached = self._idle(clock)
        rows = self._left_behind(reached)
        self._advanced_to = max(self._advanced_to, reached)
        if not len(rows):
            return
        parts = np.cumsum(np.minimum(reached - self.next[rows], self._most())) // WINDOWS_AT_ONCE
        for part in np.split(rows, np.flatnonzero(np.diff(parts)) + 1):
            begin = self.next[part]
            yield from self._finish(part, begin, np.full_like(begin, reached), None)

    def due(self, clock: int) -> bool:
        """Whether `advance` would close anything."""
        return len(self._left_behind(self._idle(clock))) > 0

    def _left_behind(self, reached: int) -> Integers:
        """The rows with windows before `reached` that are still to be decided."""
        if reached <= self._advanced_to:
            return np.empty(0, dtype=np.int64)
        behind = (self.next < reached) & (self.next != UNKNOWN)
        if self.policy.presence == "public":
            behind &= self.ring.touched()
        return np.flatnonzero(behind)

    def _own(self, times: Integers) -> Integers:
        """The first window that readings of these times leave open of their own meter."""
        return self.first_open(times - self.policy.grace)

    def _idle(self, clock: Some) -> Some:
        """The first window that the partition's clock leaves open of every meter."""
        return self.first_open(clock - self.policy.grace - self.policy.idle)

    def _most(self) -> int:
        """How many windows of a row can be due at once: if presence is private, any number."""
        return self.ring.blocks if self.policy.presence == "public" else -UNKNOWN

    def _meet_first(self, records: Records) -> None:
        """Start the count of new rows whose first record begins in time."""
        new = np.flatnonzero(self._begin(records) == UNKNOWN)
        rows, nth = np.unique(records.rows[new], return_index=True)
        starts = records.starts[new[nth]]
        self._meet(rows, starts, np.maximum(records.before[new[nth]], starts))

    def _meet(self, rows: Integers, times: Integers, clock: Integers) -> None:
        """Start the count of new rows, with the first reading that is not late.

        A late one does not make a meter known: a rebuild would not read it again.
        """
        new = np.flatnonzero(self.next[rows] == UNKNOWN)
        opens = np.maximum(self._own(times[new]), self._idle(clock[new]))
        on_time = times[new] // self.policy.hop >= opens
        put_first(self.next, rows[new][on_time], opens[on_time])

    def _take(self, arrivals: Arrivals, begin: Integers, tally: Tally) -> None:
        """Put readings of meters that close nothing into their slots."""
        late = self.ring.block(arrivals) < begin
        if late.any():
            tally.late += int(np.count_nonzero(late))
            arrivals = arrivals.where(~late)
        fresh = self.ring.fresh(arrivals)
        tally.count(held(arrivals.levels), distinct(self.ring.cells(arrivals)[fresh]))
        self.ring.put(arrivals, fresh)

    def _close(self, rows: Integers, arrivals: Arrivals, tally: Tally) -> Iterator[Closed]:
        """Close windows of these rows, given all their readings in the batch."""
        begin = self.next[rows]
        final = np.maximum(begin, self._idle(arrivals.latest))
        turns = self._take_turns(rows, arrivals)
        last = np.flatnonzero(np.diff(turns.rank, append=len(rows)))
        final = np.maximum(final, turns.seen_by[last])
        turns = turns.where(turns.blocks >= turns.seen_by)
        tally.late += len(arrivals.rows) - len(turns.rank)
        tally.count(*turns.count(self.ring, begin))
        yield from self._finish(rows, begin, final, turns)
        still_open = turns.arrivals.where(turns.blocks >= final[turns.rank])
        self.ring.put(still_open, self.ring.fresh(still_open))

    def _take_turns(self, rows: Integers, arrivals: Arrivals) -> Turns:
        arrivals = arrivals.where(np.argsort(arrivals.rows, kind="stable"))
        rank = np.searchsorted(rows, arrivals.rows)
        opens = np.maximum(self._own(arrivals.times), self._idle(arrivals.clock))
        reach = np.maximum(opens, self.next[arrivals.rows])
        return Turns(arrivals, rank, self.ring.block(arrivals), running_maximum(reach, rank))

    def _finish(
        self, rows: Integers, begin: Integers, final: Integers, turns: Turns | None
    ) -> Iterator[Closed]:
        """Decide the windows from `begin` up to `final`."""
        closed = lay_out(self.ring, rows, begin, final, turns, most=self._most())
        self.ring.forget(rows, begin, final)
        self.next[rows] = final
        yield from self._told(closed)

    def _told(self, closed: Closed) -> Iterator[Closed]:
        """What is to be told of windows that have closed: if presence is public, no empty ones."""
        if self.policy.presence == "public":
            closed = closed.without_empty()
        if len(closed.rows):
            yield closed
