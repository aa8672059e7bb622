"""Registers: hours of the week that an answer is about, as the clocks of a time zone show them.

`weekday 17:00-20:00` are three hours of each day from Monday to Friday, by local time: of a day on
which clocks change they are what clocks show of them, twice or not at all. Which slots a register
holds follows from the clock alone, so it is public.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from math import gcd

import numpy as np

from meteragent.errors import InvalidSetting
from meteragent.privacy.arrays import Integers, Mask
from meteragent.privacy.windows import WEEK

MINUTE, DAY = 60_000, 86_400_000
MINUTES = WEEK // MINUTE
MONDAY = 3 * DAY
"""So long before the epoch a week began, by any clock."""
LONGEST = 100
"""Characters of a register."""

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SEVERAL = {"weekday": (0, 4), "weekend": (5, 6), "": (0, 6)}
_DAY = rf"(?:{'|'.join(_DAYS)})"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_RANGE = rf"{_TIME}-(?:{_TIME}|24:00)"
_OF_DAYS = rf"(?:weekday|weekend|{_DAY}(?:-{_DAY})?)"
_GROUP = rf"(?:{_OF_DAYS}(?: {_RANGE})*|{_RANGE}(?: {_RANGE})*)"
PATTERN = rf"(?:not )?{_GROUP}(?:, {_GROUP})*"
"""How one is written."""


@dataclass(frozen=True)
class Register:
    """Hours of the week by local time: stretches of minutes from Monday on, none touching another.

    Two that hold the same hours are the same, however they are written.
    """

    stretches: tuple[tuple[int, int], ...]
    """(begin, end)"""

    @cached_property
    def _minutes(self) -> Mask:
        """Which minutes of a week it holds."""
        held = np.zeros(MINUTES, dtype=np.bool_)
        for begin, end in self.stretches:
            held[begin:end] = True
        return held

    def holds(self, local: Integers) -> Mask:
        """Which of these local times are of it."""
        held: Mask = self._minutes[(local + MONDAY) // MINUTE % MINUTES]
        return held

    def passed(self, local: Integers) -> Integers:
        """How much of it clocks have shown before these local times, if they never changed."""
        weeks, rest = np.divmod(local + MONDAY, WEEK)
        passed: Integers = weeks * sum((end - begin) * MINUTE for begin, end in self.stretches)
        for begin, end in self.stretches:
            passed += np.clip(rest, begin * MINUTE, end * MINUTE) - begin * MINUTE
        return passed

    @property
    def bounds(self) -> list[int]:
        """When it begins and ends, counted from the beginning of a week."""
        return [bound * MINUTE for stretch in self.stretches for bound in stretch]

    def is_cut_by(self, length: int) -> bool:
        """Whether stretches of this length begin with each of its hours, and end with them."""
        return gcd(DAY, *self.bounds) % length == 0


def register(text: str) -> Register:
    """The register that is written so. InvalidSetting: it is none."""
    if len(text) > LONGEST or not re.fullmatch(PATTERN, text, re.ASCII):
        raise InvalidSetting(
            "query",
            f"{text[:20]!r} are no hours of a week",
            "write for example avg[07:00-23:00], avg[weekday 17:00-20:00] or avg[not weekend]",
        )
    held = np.zeros(MINUTES, dtype=np.bool_)
    for group in text.removeprefix("not ").split(", "):
        for begin, end in _stretches(group):
            held[np.arange(begin, end) % MINUTES] = True
    if text.startswith("not "):
        held = ~held
    if held.all() or not held.any():
        holds = "every hour" if held.all() else "no hour"
        raise InvalidSetting("query", f"{text[:20]!r} holds {holds} of a week", "leave it out")
    edges = np.flatnonzero(np.diff(held, prepend=False, append=False)).tolist()
    return Register(tuple(zip(edges[::2], edges[1::2], strict=True)))


def _stretches(group: str) -> list[tuple[int, int]]:
    """Minutes of a week; what goes beyond midnight is of the day on which it begins."""
    days, *ranges = group.split(" ") if group[0].isalpha() else ["", *group.split(" ")]
    if days in _SEVERAL:
        first, last = _SEVERAL[days]
    else:
        ends = days.split("-")
        first, last = _DAYS.index(ends[0]), _DAYS.index(ends[-1])
    found = []
    for day in range(first, first + (last - first) % 7 + 1):
        for one in ranges or ["00:00-24:00"]:
            begin, end = (int(hours) * 60 + int(minutes) for hours, minutes in _clocks(one))
            if end <= begin:
                end += 24 * 60
            found.append((day * 24 * 60 + begin, day * 24 * 60 + end))
    return found


def _clocks(stretch: str) -> list[list[str]]:
    return [time.split(":") for time in stretch.split("-")]
