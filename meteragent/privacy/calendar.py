"""Windows that are the days, weeks or months of a time zone, as its clocks show them.

A window begins at the first moment at which the clocks show the local time that it begins with,
or a later one: where that time is left out, the moment at which they leap over it; where they show
it twice, the first of the two. So each window begins where the one before it ends, whatever clocks
do, and a day has 23, 24 or 25 hours where they change for the summer.

Windows are numbered from that of 1970-01-01 on: days one by one, weeks from Monday to Monday
(ISO 8601), months by the Gregorian calendar. What a zone's clocks show is handed in as numbers,
and stands in the policy, so that whoever knows the policy knows the bounds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from math import gcd
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from meteragent.errors import InvalidSetting
from meteragent.privacy.arrays import Integers
from meteragent.privacy.windows import LEAST_PANE, NO_PANE, Some, Windows, mark_of, panes_of
from meteragent.privacy.zone import FARTHEST, Zone

Unit = Literal["day", "week", "month"]
UNITS: tuple[Unit, ...] = get_args(Unit)
DAY = 86_400_000
MEAN = {"day": DAY, "week": 7 * DAY, "month": 146_097 * DAY // 4800}
"""From one start to the next on average: after 400 years the calendar begins anew."""
CYCLE = 146_097 * DAY
MONDAY = 3
"""So many days before the epoch a week begins."""


class Calendar(NamedTuple):
    """Which windows there are of a zone."""

    unit: Unit
    zone: Zone

    def windows(self, interval: int, offset: int) -> "CalendarWindows":
        """With slots of this length, each begun so much later."""
        return _windows(self, interval, offset)

    def lengths(self, interval: int, offset: int) -> dict[str, Any]:
        """What a policy's windows are made from: it has as much room as the longest needs."""
        longest = self.windows(interval, offset).lasting(1)
        return {"size": longest, "hop": longest, "offset": offset, "calendar": self}

    def document(self) -> dict[str, Any]:
        """As it stands in a policy's document."""
        return {
            "window": self.unit,
            "timezone": self.zone.name,
            "utc_offsets_ms": [list(one) for one in self.zone.offsets],
        }


def lengths_of(document: dict[str, Any]) -> dict[str, Any]:
    """What a policy's windows are made from, by its document."""
    offset = document.get("offset_ms", 0)
    if "window" not in document:
        return {"size": document["size_ms"], "hop": document["hop_ms"], "offset": offset}
    offsets = tuple((since, ahead) for since, ahead in document["utc_offsets_ms"])
    calendar = Calendar(document["window"], Zone(document["timezone"], offsets))
    return calendar.lengths(document["interval_ms"], offset)


@dataclass(frozen=True)
class CalendarWindows:
    """Days, weeks or months of a zone; each begins an `offset` later by its clocks.

    Times and lengths are in milliseconds. What is said of all windows holds from 1969 on.
    """

    unit: Unit
    zone: Zone
    interval: int
    offset: int = 0

    def __post_init__(self) -> None:
        if (self._lengths <= 0).any():
            raise InvalidSetting(
                "timezone", "leaves out a whole day", 'write window = "1d", with an offset'
            )
        if not 0 <= self.offset < self._lengths.min():
            raise InvalidSetting("offset", f"is no less than a {self.unit}", "leave it out")
        if self._common < LEAST_PANE:
            raise InvalidSetting("offset", NO_PANE, 'write for example "6h"')
        if self._common % self.interval:
            raise InvalidSetting(
                "interval",
                f"does not divide every {self.unit} of {self.zone.name}, and every shift of its "
                "clocks",
                'write for example "15m" or "10s"',
            )

    # When.

    def start(self, window: Some) -> Some:
        """When a window begins."""
        return _like(window, self.zone.moments(self._local(window)))

    def _local(self, window: Some) -> Integers:
        """The local time that it begins with."""
        number = _bounded(window, FARTHEST // MEAN[self.unit])
        if self.unit == "month":
            number = number.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        elif self.unit == "week":
            number = number * 7 - MONDAY
        local: Integers = number * DAY + self.offset
        return local

    def end(self, window: Some) -> Some:
        """When it is over."""
        return self.start(window + 1)

    def end_of(self, start: Some) -> Some:
        """When the window is over that begins at this time."""
        return self.end(self.newest(start))

    def newest(self, time: Some) -> Some:
        """The window that a time is in: that of the latest local time shown so far."""
        number: Integers = (self.zone.latest(_bounded(time, FARTHEST)) - self.offset) // DAY
        if self.unit == "month":
            number = number.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
        elif self.unit == "week":
            number = (number + MONDAY) // 7
        return _like(time, number)

    def first_open(self, passed: Some) -> Some:
        """The first window that ends after the time `passed`."""
        return self.newest(passed)

    def bucket_of(self, start: Some, count: int) -> Some:
        """Which of the runs of so many windows the one is in that begins at this time."""
        return self.newest(start) // count

    def ahead(self, count: int) -> int:
        """From the start of a window to the start of the one that is so many later, on average."""
        return count * MEAN[self.unit]

    def lasting(self, count: int) -> int:
        """From the start of a window to the end of the last of so many in a row, at most."""
        return _longest(self, count)

    def reach(self, count: int) -> int:
        """Each run of so many windows is over by then, counted from `ahead` of all before it."""
        return self.ahead(count) + self._late

    @cached_property
    def mark(self) -> int:
        """What tells windows apart of which runs are as far apart and reach as far."""
        return mark_of(repr((self.unit, self.offset, self.zone.offsets)))

    # All of them: what comes later is what came 400 years before.

    @cached_property
    def every(self) -> Integers:
        """Windows in a row, behind which others lie as those did 400 years before."""
        last = self.newest(int(self.zone.changes.max(initial=0)) + CYCLE)
        return np.arange(self.newest(-31 * DAY), last + 1)

    @cached_property
    def _starts(self) -> Integers:
        return self.start(self.every)

    @cached_property
    def _lengths(self) -> Integers:
        return self.end(self.every) - self._starts

    @cached_property
    def _late(self) -> int:
        """By how much a window begins later than `ahead` of all before it, at most."""
        return int((self._starts - self.ahead(1) * self.every).max())

    # Panes and parts.

    def is_cut_by(self, length: int) -> bool:
        """Whether stretches of this length begin with each window, and end with it."""
        return self._common % length == 0

    @cached_property
    def _common(self) -> int:
        """What divides every bound, and every shift of the clocks."""
        return gcd(DAY, *np.unique(self._starts % DAY).tolist(), *self.zone.ahead.tolist())

    @cached_property
    def panes(self) -> Windows:
        """What windows are sequences of: stretches of time as windows that follow one another."""
        return panes_of(self._common, self.interval)

    # How many.

    def touching(self, length: int) -> int:
        """How many windows a stretch of time touches at most, wherever it begins."""
        return _most_touched(self, length, 1)

    def touching_in_line(self, length: int) -> int:
        """How many it touches if it starts or ends with a window."""
        return _most_in_line(self, length)

    @property
    def overlap(self) -> int:
        """How many windows a time is in at most."""
        return 1

    # Slots.

    @cached_property
    def slots(self) -> int:
        """Readings per window, at most."""
        return int(self._lengths.max()) // self.interval

    @cached_property
    def fewest_slots(self) -> int:
        """Readings per window, at least."""
        return int(self._lengths.min()) // self.interval

    def slots_of(self, starts: Integers) -> Integers | int:
        """Readings of each of the windows that begin at these times."""
        slots: Integers = (self.end_of(starts) - starts) // self.interval
        return slots

    def slot(self, time: Some) -> Some:
        """Which slot a time is in; slots are counted from the epoch on."""
        return time // self.interval

    def first_slot(self, window: Some) -> Some:
        """The slot that a window begins with."""
        return self.slot(self.start(window))

    def readings(self, length: float) -> int:
        """How many readings something can be in that takes so long, wherever it begins."""
        return Windows(self.interval, self.interval, self.interval).readings(length)

    def holding(self, readings: int) -> int:
        """How many windows so many readings in a row are in at most, wherever they begin."""
        return _most_touched(self, readings * self.interval, self.interval)

    def shares(self, readings: int) -> Iterator[list[int]]:
        """How many of so many readings in a row each window holds, wherever they begin."""
        slots = self._lengths // self.interval
        several = self.holding(readings) if readings > self.fewest_slots else 2
        rows = np.lib.stride_tricks.sliding_window_view(slots, several)
        if readings <= self.fewest_slots:  # the second window holds what the first one does not
            rows = rows[:1]
        for held in sorted({*map(tuple, rows.tolist())}):
            for first in range(1, min(readings, held[0]) + 1):
                shares, left = [first], readings - first
                for most in held[1:]:
                    shares.append(min(left, most))
                    left -= shares[-1]
                yield [share for share in shares if share]


AnyWindows = Windows | CalendarWindows


@cache
def _windows(calendar: Calendar, interval: int, offset: int) -> CalendarWindows:
    return CalendarWindows(calendar.unit, calendar.zone, interval, offset)


@cache
def _longest(windows: CalendarWindows, count: int) -> int:
    """How long so many windows in a row last at most."""
    starts = windows._starts  # noqa: SLF001 - of this room
    return int((windows.start(windows.every + count) - starts).max())


@cache
def _most_in_line(windows: CalendarWindows, length: int) -> int:
    """How many windows a stretch touches at most that starts or ends with one."""
    numbers, starts = windows.every, windows._starts  # noqa: SLF001 - of this room
    after = windows.newest(starts + length - 1) - numbers
    before = numbers - windows.newest(windows.end(numbers) - length)
    return int(max(after.max(), before.max())) + 1


@cache
def _most_touched(windows: CalendarWindows, length: int, step: int) -> int:
    """How many one touches at most that begins a whole number of steps before a window's end."""
    numbers = windows.every
    ends = windows.end(numbers)
    return int((windows.newest(ends - step + length - 1) - numbers).max()) + 1


def _bounded(numbers: Some, most: int) -> Integers:
    """As a column that no reckoning overflows."""
    if isinstance(numbers, int):
        numbers = max(-most, min(most, numbers))
    return np.clip(np.asarray(numbers, dtype=np.int64), -most, most)


def _like(asked: Some, answer: Integers) -> Some:
    """A number for a number, a column for a column."""
    return int(answer) if isinstance(asked, int) else answer
