"""What the clocks of a time zone show: moments <-> local times, where clocks change as well.

The first moment counts at which clocks show a local time, or a later one. So a time that is left
out is the moment at which they leap over it, and one that they show twice is the first of the two;
and of a moment the latest local time counts that they have shown by then. Both never go back.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meteragent.privacy.arrays import Integers

FARTHEST = 2**58
"""Milliseconds from the epoch: what is beyond is of no meaning, and must not overflow."""


@dataclass(frozen=True)
class Zone:
    """A time zone by its name, in milliseconds."""

    name: str
    offsets: tuple[tuple[int, int], ...]
    """(since, ahead): since when clocks are how far ahead of UTC. Before the first of these times
    they are as far ahead as then, and from the last one on for ever."""

    @cached_property
    def ahead(self) -> Integers:
        """How far ahead of UTC clocks are, one stretch after the other."""
        return np.array([ahead for _, ahead in self.offsets], dtype=np.int64)

    @cached_property
    def changes(self) -> Integers:
        """When the second of these stretches begins, and those after it."""
        return np.array([since for since, _ in self.offsets[1:]], dtype=np.int64)

    @cached_property
    def _shown(self) -> Integers:
        """Before which local time all is that has been shown by the end of each but the last."""
        shown: Integers = np.maximum.accumulate(self.changes + self.ahead[:-1])
        return shown

    def moments(self, local: Integers) -> Integers:
        """The first moment at which clocks show each of these local times, or a later one."""
        stretch = np.searchsorted(self._shown, local, side="right")
        begins = np.append(-2 * FARTHEST, self.changes)[stretch]
        moments: Integers = np.maximum(begins, local - self.ahead[stretch])
        return moments

    def shown(self, times: Integers) -> Integers:
        """The local time that they show at each of these moments."""
        shown: Integers = times + self.ahead[np.searchsorted(self.changes, times, side="right")]
        return shown

    def latest(self, times: Integers) -> Integers:
        """The latest local time that they have shown by each of these moments."""
        stretch = np.searchsorted(self.changes, times, side="right")
        before = np.append(-2 * FARTHEST, self._shown)[stretch] - 1
        latest: Integers = np.maximum(times + self.ahead[stretch], before)
        return latest


UTC = Zone("UTC", ((0, 0),))
