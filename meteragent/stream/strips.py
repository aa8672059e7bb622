"""Rows of slots laid out straight: records are put in, windows are cut out."""

from dataclasses import dataclass, field

import numpy as np

from meteragent.privacy.arrays import Integers, counted, stretches
from meteragent.privacy.domain import ABSENT, Levels
from meteragent.privacy.windows import Windows
from meteragent.stream.records import Places, Records, fill


def _not_known() -> Integers:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Closed:
    """Windows that have closed, by row and then by time."""

    rows: Integers
    windows: Integers
    levels: Levels
    """levels[window, slot]"""
    moments: Integers = field(default_factory=_not_known)
    """When each has closed, as `order` counts it ..."""
    dues: Integers = field(default_factory=_not_known)
    """... and when that was due, if it was not a record of its meter's that closed it."""

    def without_empty(self) -> "Closed":
        """Those that hold anything. Precondition: when they closed is not known yet."""
        holding = (self.levels != ABSENT).any(axis=1)
        if holding.all():
            return self
        return Closed(self.rows[holding], self.windows[holding], self.levels[holding])


@dataclass(slots=True)
class Strips:
    """The slots of some rows, ascending, from the start of a window on, one row after the other."""

    _windows: Windows
    rows: Integers
    begin: Integers
    """The window that each strip begins with ..."""
    final: Integers
    """... and the one up to which it is to be cut."""
    first: Integers
    """Where each strip begins."""
    levels: Levels
    _open_to: Integers | None = None
    """The first window that sees what stands in a slot, if not all that cover it do."""

    def put(self, records: Records, nth: Integers) -> tuple[int, int]:
        """Put records into strips; answer how many hold a value, and how many stay."""
        begin, windows = self.begin[nth], self._windows
        if (records.open_to > np.maximum(begin, windows.first_open(records.starts))).any():
            self._open_to = np.zeros(len(self.levels), dtype=np.int64)
        first = windows.slot(records.starts) - windows.first_slot(begin)
        straight = np.zeros_like(first)
        places = Places(self.first[nth], first, straight, len(self.levels), windows.interval)
        return fill(self.levels, records, places, self._open_to)

    def cut(self) -> Closed:
        """The windows from `begin` up to `final`."""
        counts = self.final - self.begin
        strip, nth = np.repeat(np.arange(len(counts)), counts), counted(counts)
        begin = self.begin[strip]
        window = begin + nth
        first = self.first[strip] + self._windows.slots_between(begin, window)
        levels = stretches(self.levels, self._windows.slots)[first]
        if self._open_to is not None:
            open_to = stretches(self._open_to, self._windows.slots)[first]
            levels[open_to > window[:, np.newaxis]] = ABSENT
        return Closed(self.rows[strip], window, levels)
