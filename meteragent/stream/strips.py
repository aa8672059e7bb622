"""Rows of slots laid out straight: records are put in, panes are cut out."""

from dataclasses import dataclass

import numpy as np

from meteragent.privacy.arrays import Integers, counted, stretches
from meteragent.privacy.domain import ABSENT, Levels
from meteragent.privacy.windows import Windows
from meteragent.stream.records import Places, Records, fill


@dataclass(frozen=True, slots=True)
class Panes:
    """Panes that have closed, by row and then by time."""

    rows: Integers
    panes: Integers
    levels: Levels
    """levels[pane, slot]"""

    def without_empty(self) -> "Panes":
        """Those that hold anything."""
        holding = (self.levels != ABSENT).any(axis=1)
        if holding.all():
            return self
        return Panes(self.rows[holding], self.panes[holding], self.levels[holding])


@dataclass(slots=True)
class Strips:
    """The slots of some rows, ascending, from the start of a pane on, one row after the other."""

    _panes: Windows
    rows: Integers
    begin: Integers
    """The pane that each strip begins with ..."""
    final: Integers
    """... and the one up to which it is to be cut."""
    first: Integers
    """Where each strip begins."""
    levels: Levels

    def put(self, records: Records, nth: Integers) -> tuple[int, int]:
        """Put records into strips; answer how many hold a value, and how many stay."""
        panes = self._panes
        first = panes.slot(records.starts) - panes.first_slot(self.begin[nth])
        straight = np.zeros_like(first)
        places = Places(self.first[nth], first, straight, len(self.levels), panes.interval)
        return fill(self.levels, records, places)

    def cut(self) -> Panes:
        """The panes from `begin` up to `final`."""
        counts = self.final - self.begin
        strip, nth = np.repeat(np.arange(len(counts)), counts), counted(counts)
        begin = self.begin[strip]
        pane = begin + nth
        first = self.first[strip] + self._panes.slots_between(begin, pane)
        return Panes(self.rows[strip], pane, stretches(self.levels, self._panes.slots)[first])
