"""Which windows there are: from when to when each lasts, and which slots it has.

A window is known by its number, and everything that follows from it is worked out here and
nowhere else, on whole numbers or on columns of them. The days, weeks and months of a time zone
are another class with these methods, in `calendar`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from math import ceil, gcd, isqrt
from typing import TypeVar

import numpy as np

from meteragent.errors import InvalidSetting
from meteragent.privacy.arrays import Integers
from meteragent.privacy.exact import whole

LONGEST = 2**50  # milliseconds: 35 thousand years
WEEK = 7 * 86_400_000
LEAST_PANE = 15 * 60 * 1000
"""Of windows that are so long, in milliseconds."""

NO_PANE = "leaves bounds that are no whole quarters of an hour"
Some = TypeVar("Some", int, Integers)


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of one length, equally far apart; times and lengths are in milliseconds.

    Window `w` covers `[start(w), end(w))`: open times are inclusive, close times are exclusive.
    A *hop* is what lies between the starts of two windows, and has the number of the first.
    Window 0 begins an `offset` after the epoch.
    """

    size: int
    hop: int
    interval: int
    offset: int = 0

    def __post_init__(self) -> None:
        for name in ("size", "hop", "interval"):
            whole(name, getattr(self, name), LONGEST)
        if self.size % self.interval:
            raise InvalidSetting(
                "interval", "does not divide the window", 'write for example "10s"'
            )
        if self.hop % self.interval or self.hop > self.size:
            raise InvalidSetting(
                "hop", "must be whole intervals, and no more than a window", "leave it out"
            )
        if self.offset:
            self._refuse_crooked_offset()

    def _refuse_crooked_offset(self) -> None:
        if self.offset % self.interval or not 0 < self.offset < self.hop:
            raise InvalidSetting(
                "offset", "must be whole intervals, and less than a hop", "leave it out"
            )
        without, common = gcd(self.size, self.hop), gcd(self.size, self.hop, self.offset)
        if common < LEAST_PANE <= without:
            raise InvalidSetting("offset", NO_PANE, 'write for example "6h"')

    # When.

    def start(self, window: Some) -> Some:
        """When a window begins."""
        return window * self.hop + self.offset

    def end(self, window: Some) -> Some:
        """When it is over."""
        return self.end_of(self.start(window))

    def end_of(self, start: Some) -> Some:
        """When the window is over that begins at this time."""
        return start + self.size

    def newest(self, time: Some) -> Some:
        """The last window that a time is in, which is the number of its hop."""
        return (time - self.offset) // self.hop

    def first_open(self, passed: Some) -> Some:
        """The first window that ends after the time `passed`."""
        return (passed - (self.offset + self.size)) // self.hop + 1

    def bucket_of(self, start: Some, count: int) -> Some:
        """Which of the runs of so many windows the one is in that begins at this time."""
        return (start - self.offset) // (self.hop * count)

    def ahead(self, count: int) -> int:
        """From the start of a window to the start of the one that is so many later."""
        return count * self.hop

    def lasting(self, count: int) -> int:
        """From the start of a window to the end of the last of so many in a row, at most."""
        return self.ahead(count - 1) + self.size

    def reach(self, count: int) -> int:
        """Each run of so many windows is over by then, counted from `ahead` of all before it."""
        return self.end(count - 1)

    @property
    def mark(self) -> int:
        """What tells windows apart of which runs are as far apart and reach as far."""
        return mark_of(str(self.offset)) if self.offset else 0

    # Panes.
    # Panes and parts.

    def is_cut_by(self, length: int) -> bool:
        """Whether stretches of this length begin with each window, and end with it."""
        return all(bound % length == 0 for bound in (self.size, self.hop, self.offset))

    @property
    def panes(self) -> "Windows":
        """What windows are sequences of: stretches of time as windows that follow one another.

        They are as short as may be, but for those that are shorter than `LEAST_PANE`.
        """
        return panes_of(gcd(self.size, self.hop, self.offset), self.interval)

    @property
    def every(self) -> Integers:
        """Windows in a row behind which those of other weeks follow that lie in them alike."""
        return np.arange(WEEK // gcd(self.hop, WEEK))

    # How many.

    def touching(self, length: int) -> int:
        """How many windows a stretch of time touches at most, wherever it begins."""
        return -(-(length + self.size - 1) // self.hop)

    def touching_in_line(self, length: int) -> int:
        """How many it touches if it starts or ends with a window."""
        return -(-length // self.hop) + self.overlap - 1

    @property
    def overlap(self) -> int:
        """How many windows a time is in at most."""
        return -(-self.size // self.hop)

    # Slots.

    @property
    def slots(self) -> int:
        """Readings per window, at most."""
        return self.size // self.interval

    @property
    def fewest_slots(self) -> int:
        """Readings per window, at least."""
        return self.slots

    def slots_of(self, starts: Integers) -> Integers | int:
        """Readings of each of the windows that begin at these times, or of any."""
        del starts
        return self.slots

    @property
    def hop_slots(self) -> int:
        """Readings per hop."""
        return self.hop // self.interval

    def slot(self, time: Some) -> Some:
        """Which slot a time is in; slots are counted from the epoch on."""
        return time // self.interval

    def first_slot(self, window: Some) -> Some:
        """The slot that a window begins with."""
        return window * self.hop_slots + self.offset // self.interval

    def slots_between(self, window: Some, later: Some) -> Some:
        """How many slots lie between the starts of two windows."""
        return self.first_slot(later) - self.first_slot(window)

    def readings(self, length: float) -> int:
        """How many readings something can be in that takes so long, wherever it begins.

        It may begin in the midst of one, and end in the midst of another.
        """
        return ceil(length / self.interval) + 1

    def holding(self, readings: int) -> int:
        """How many windows so many readings in a row are in at most, wherever they begin."""
        return -(-(readings + self.slots - 1) // self.hop_slots)

    def shares(self, readings: int) -> Iterator[list[int]]:
        """How many of so many readings in a row each window holds, wherever they begin."""
        slots, hop = self.slots, self.hop_slots
        for begin in range(hop):
            end = begin + readings
            starts = range(((begin - slots) // hop + 1) * hop, end, hop)
            yield [min(start + slots, end) - max(start, begin) for start in starts]


def panes_of(common: int, interval: int) -> Windows:
    """The shortest panes that are no shorter than `LEAST_PANE`, of those that divide `common`.

    If there is none, they are as long as that.
    """
    slots = common // interval
    counts = (n for n in range(1, isqrt(slots) + 1) if slots % n == 0)
    lengths = sorted(interval * n for few in counts for n in {few, slots // few})
    pane = next((length for length in lengths if length >= LEAST_PANE), common)
    return Windows(pane, pane, interval)


def mark_of(text: str) -> int:
    """A text as a number of 31 bits."""
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest(), "little") >> 1
