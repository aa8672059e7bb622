"""How far apart a meter's readings are: what they want to know who have set another interval."""

from collections import Counter

import numpy as np

from meteragent.privacy.arrays import Integers, run_starts
from meteragent.stream.readings import Numbered, Readings

MOST = 2**16
"""Readings that are looked at: the first of an input tell."""
_NEVER = 2**62
"""Later than any time: nothing comes after it."""


class Steps:
    """Distances between a meter's readings and its next ones, as they come."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._left = MOST
        self._last: dict[str, int] = {}

    def look(self, readings: Readings) -> None:
        """Look at some more readings, unless enough were seen."""
        if self._left <= 0 or not len(readings.starts):
            return
        self._left -= len(readings.watts)
        blocks = readings.counts > 1
        intervals, counts = readings.intervals[blocks].tolist(), readings.counts[blocks].tolist()
        for step, count in zip(intervals, counts, strict=True):
            self._counts[step] += count - 1
        steps, counted = np.unique(self._between(readings), return_counts=True)
        for step, count in zip(steps.tolist(), counted.tolist(), strict=True):
            self._counts[step] += count

    def _between(self, readings: Readings) -> Integers:
        """From the end of a meter's run to its next one, wherever that comes later."""
        meters = _numbered(readings.meters)
        by_meter = np.argsort(meters.numbers, kind="stable")
        starts, ends = readings.starts[by_meter], readings.ends[by_meter]
        first = run_starts(meters.numbers[by_meter])
        last = np.append(first[1:], len(ends)) - 1
        names = [meters.names[number] for number in meters.numbers[by_meter[first]].tolist()]
        before = np.append(_NEVER, ends[:-1])
        before[first] = [self._last.get(name, _NEVER) for name in names]
        self._last.update(zip(names, ends[last].tolist(), strict=True))
        steps: Integers = starts - before
        return steps[steps > 0]

    @property
    def median(self) -> int | None:
        """That of all distances in milliseconds, or None if there is none."""
        steps = sorted(self._counts)
        if not steps:
            return None
        upto = np.cumsum([self._counts[step] for step in steps])
        return steps[int(np.searchsorted(upto, (upto[-1] + 1) // 2))]


def _numbered(meters: list[str] | Numbered) -> Numbered:
    if isinstance(meters, Numbered):
        return meters
    numbers: dict[str, int] = {}
    found = np.array([numbers.setdefault(meter, len(numbers)) for meter in meters], dtype=np.int64)
    return Numbered([*numbers], found)
