"""Readings of meters whose windows close in the midst of a batch, each with its turn."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from meteragent.arrays import Integers, Mask
from meteragent.domain import ABSENT, Levels
from meteragent.records import Arrivals
from meteragent.ring import Ring


@dataclass(frozen=True, slots=True)
class Turns:
    """Readings of closing meters, meter after meter, each in record order."""

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


def running_maximum(values: Integers, rank: Integers) -> Integers:
    """The largest value so far within each rank; ranks ascend."""
    low = values.min()
    lift = rank * (values.max() - low + 1)
    highest: Integers = np.maximum.accumulate(values - low + lift) - lift + low
    return highest
