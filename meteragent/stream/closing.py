"""What windows hold as they close: `window` says when they do.

The straight way cuts windows out of strips, into which all readings of a batch were put: right
where none comes late. The long way takes readings one by one, each with its turn: it may be of
windows that are still open, and too late for others.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from meteragent.privacy.arrays import Integers, Mask, counted, distinct, put_first
from meteragent.privacy.domain import ABSENT, Levels, held
from meteragent.stream.records import Arrivals
from meteragent.stream.ring import Ring


@dataclass(frozen=True, slots=True)
class Closed:
    """Windows that have closed, by row and then by time."""

    rows: Integers
    windows: Integers
    levels: Levels
    """levels[window, slot]"""

    def without_empty(self) -> "Closed":
        """Those that hold anything."""
        holding = (self.levels != ABSENT).any(axis=1)
        if holding.all():
            return self
        return Closed(self.rows[holding], self.windows[holding], self.levels[holding])


def cut_out(ring: Ring, strips: Levels, rows: Integers, begin: Integers, final: Integers) -> Closed:
    """The windows from `begin` up to `final` of rows whose strips begin with `begin`."""
    counts = final - begin
    first = np.cumsum(counts) - counts
    levels = np.empty((counts.sum(), ring.slots), dtype=strips.dtype)
    for nth in range(counts.max()):
        some, skip = np.flatnonzero(counts > nth), nth * ring.hop_slots
        levels[first[some] + nth] = strips[some, skip : skip + ring.slots]
    return Closed(np.repeat(rows, counts), np.repeat(begin, counts) + counted(counts), levels)


@dataclass(frozen=True, slots=True)
class Turns:
    """Readings of meters whose windows close in the midst of a batch.

    Meter after meter, each in record order.
    """

    arrivals: Arrivals
    rank: Integers
    """Which of the closing meters it is."""
    blocks: Integers
    seen_by: Integers
    """The first window that is still open when the reading's turn has come."""

    def where(self, chosen: Mask) -> "Turns":
        """Some of them."""
        return Turns(
            self.arrivals.where(chosen),
            self.rank[chosen],
            self.blocks[chosen],
            self.seen_by[chosen],
        )

    def seen(
        self, ring: Ring, final: Integers
    ) -> Iterator[tuple[Integers, Integers, Integers, Levels]]:
        """(rank, window, slot, level) of each reading in each closing window open to it."""
        slots = ring.slot(self.arrivals)
        holds = self.arrivals.levels != ABSENT
        for back in range(-(-ring.slots // ring.hop_slots)):
            window = self.blocks - back
            slot = slots - window * ring.hop_slots
            inside = (window >= self.seen_by) & (window < final[self.rank]) & (slot < ring.slots)
            sees = inside & holds
            yield self.rank[sees], window[sees], slot[sees], self.arrivals.levels[sees]

    def count(self, ring: Ring, begin: Integers) -> tuple[int, int]:
        """How many hold a value, and how many of them find their slot empty."""
        slots = ring.slot(self.arrivals)
        beyond = slots >= begin[self.rank] * ring.hop_slots + ring.length
        fresh = ring.fresh(self.arrivals) | (beyond & (self.arrivals.levels != ABSENT))
        low = int(slots.min(initial=0))
        width = int(slots.max(initial=0)) - low + 1
        cells = self.rank * width + slots - low
        return held(self.arrivals.levels), distinct(cells[fresh])


def lay_out(
    ring: Ring,
    rows: Integers,
    begin: Integers,
    final: Integers,
    turns: Turns | None,
    *,
    most: int,
) -> Closed:
    """The windows from `begin` up to `final`, as each was when its turn came.

    Of windows that no reading of `turns` is in, the first `most` are laid out: the ring holds no
    more. Those beyond it hold readings of this batch only.
    """
    low = int(begin.min())
    width = int(final.max()) - low + 1
    seen = [] if turns is None else list(turns.seen(ring, final))
    keys = [rank * width + window - low for rank, window, _, _ in seen]
    due = np.minimum(final - begin, most)
    wanted = np.repeat(np.arange(len(begin)) * width + begin - low, due) + counted(due)
    if keys:
        wanted = np.unique(np.concatenate([*keys, wanted]))
    rank, window = wanted // width, wanted % width + low
    levels = ring.windows(rows[rank], begin[rank], window)
    flat = levels.reshape(-1)
    for (_, _, slot, level), key in zip(seen, keys, strict=True):
        cells = np.searchsorted(wanted, key) * ring.slots + slot
        fresh = flat[cells] == ABSENT
        put_first(flat, cells[fresh], level[fresh])
    return Closed(rows[rank], window, levels)


def running_maximum(values: Integers, rank: Integers) -> Integers:
    """The largest value so far within each rank; ranks ascend."""
    low = values.min()
    lift = rank * (values.max() - low + 1)
    highest: Integers = np.maximum.accumulate(values - low + lift) - lift + low
    return highest
