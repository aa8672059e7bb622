"""Traces: what a meter would have measured, on a regular grid of slots."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Watts = NDArray[np.float64]
Integers = NDArray[np.int64]

DAY = 86_400_000
USUAL = 400.0
"""Watts of a home, day and night, for which errors are stated wherever no home is simulated.

Those that are (`simulations.home.street`) draw as much, on average."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Power of one meter in consecutive slots; NaN where nothing was measured."""

    name: str
    begin: int
    """Milliseconds since the epoch, a whole number of intervals."""
    interval: int
    watts: Watts

    def times(self) -> Integers:
        """When each slot begins."""
        return self.begin + self.interval * np.arange(len(self.watts), dtype=np.int64)

    def coarser(self, interval: int) -> "Trace":
        """The mean of each longer slot, over what was measured in it.

        Precondition: a multiple of the present interval. A part at either end that does not
        fill a slot is left out.
        """
        ratio = interval // self.interval
        if ratio * self.interval != interval:
            message = f"{interval} ms is no multiple of {self.interval} ms"
            raise ValueError(message)
        skipped = -self.begin // self.interval % ratio
        slots = (len(self.watts) - skipped) // ratio
        parts = self.watts[skipped : skipped + slots * ratio].reshape(slots, ratio)
        begin = self.begin + skipped * self.interval
        return Trace(self.name, begin, interval, mean_of_present(parts))


def mean_of_present(parts: Watts) -> Watts:
    """The mean of each row's numbers, NaN where it has none."""
    present = np.isfinite(parts)
    total = np.where(present, parts, 0.0).sum(axis=-1)
    count = present.sum(axis=-1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def gridded(name: str, times: Integers, watts: Watts, interval: int) -> Trace:
    """Readings at any times, as the mean of each slot; slots without one are NaN.

    Precondition: at least one reading. Times may repeat and go back, as plugs' clocks do.
    """
    slots = times // interval
    first = int(slots.min())
    length = int(slots.max()) - first + 1
    total = np.bincount(slots - first, weights=watts, minlength=length)
    count = np.bincount(slots - first, minlength=length)
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return Trace(name, first * interval, interval, mean)
