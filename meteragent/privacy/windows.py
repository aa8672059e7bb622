"""Which windows there are: from when to when each lasts, and which slots it has.

A window is known by its number, and everything that follows from it is worked out here and
nowhere else, on whole numbers or on columns of them: so that another kind of windows, such as
the months of a time zone, is another class with these methods.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, gcd, isqrt
from typing import TypeVar

from meteragent.errors import InvalidSetting
from meteragent.privacy.arrays import Integers
from meteragent.privacy.exact import whole

LONGEST = 2**50  # milliseconds: 35 thousand years
LEAST_PANE = 15 * 60 * 1000
"""Of windows that are so long, in milliseconds."""

Some = TypeVar("Some", int, Integers)


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of one length, equally far apart; times and lengths are in milliseconds.

    Window `w` covers `[start(w), end(w))`: open times are inclusive, close times are exclusive.
    A *hop* is what lies between the starts of two windows, and has the number of the first.
    """

    size: int
    hop: int
    interval: int

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

    # When.

    def start(self, window: Some) -> Some:
        """When a window begins."""
        return window * self.hop

    def end(self, window: Some) -> Some:
        """When it is over."""
        return self.end_of(self.start(window))

    def end_of(self, start: Some) -> Some:
        """When the window is over that begins at this time."""
        return start + self.size

    def newest(self, time: Some) -> Some:
        """The last window that a time is in, which is the number of its hop."""
        return time // self.hop

    def first_open(self, passed: Some) -> Some:
        """The first window that ends after the time `passed`."""
        return (passed - self.size) // self.hop + 1

    def ahead(self, count: int) -> int:
        """From the start of a window to the start of the one that is so many later."""
        return count * self.hop

    def lasting(self, count: int) -> int:
        """From the start of a window to the end of the last of so many in a row."""
        return self.ahead(count - 1) + self.size

    # Panes and parts.

    def is_cut_by(self, length: int) -> bool:
        """Whether stretches of this length begin with each window, and end with it."""
        return self.size % length == 0 and self.hop % length == 0 and self.start(0) % length == 0

    @property
    def panes(self) -> "Windows":
        """What windows are sequences of: stretches of time as windows that follow one another.

        They are as short as may be, but for those that are shorter than `LEAST_PANE`.
        """
        common = gcd(self.size, self.hop)
        slots = common // self.interval
        counts = (n for n in range(1, isqrt(slots) + 1) if slots % n == 0)
        lengths = sorted(self.interval * n for few in counts for n in {few, slots // few})
        pane = next((length for length in lengths if length >= LEAST_PANE), common)
        return Windows(pane, pane, self.interval)

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
        """Readings per window."""
        return self.size // self.interval

    @property
    def hop_slots(self) -> int:
        """Readings per hop."""
        return self.hop // self.interval

    def slot(self, time: Some) -> Some:
        """Which slot a time is in; slots are counted from the epoch on."""
        return time // self.interval

    def first_slot(self, window: Some) -> Some:
        """The slot that a window begins with."""
        return window * self.hop_slots

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
        for begin in range(self.hop_slots):
            end = begin + readings
            first = (begin - self.slots) // self.hop_slots + 1
            starts = range(self.first_slot(first), end, self.hop_slots)
            yield [min(start + self.slots, end) - max(start, begin) for start in starts]
