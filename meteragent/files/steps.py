"""How far apart a meter's readings are: what they want to know who have set another interval."""

from collections import Counter

import numpy as np

from meteragent.stream.readings import Readings

MOST = 2**16
"""Readings that are looked at: the first of an input tell."""


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
        ends = readings.ends.tolist()
        for meter, start, end in zip(readings.meters, readings.starts.tolist(), ends, strict=True):
            last = self._last.get(meter)
            if last is not None and start > last:
                self._counts[start - last] += 1
            self._last[meter] = end

    @property
    def median(self) -> int | None:
        """That of all distances in milliseconds, or None if there is none."""
        steps = sorted(self._counts)
        if not steps:
            return None
        upto = np.cumsum([self._counts[step] for step in steps])
        return steps[int(np.searchsorted(upto, (upto[-1] + 1) // 2))]
