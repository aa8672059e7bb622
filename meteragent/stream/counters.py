"""Registers, which count what was used since they were mounted -> the average power of slots.

While a pane is open, a slot holds what the register showed: the first reading at the end of the
slot's time, or after it and before the next one. When the pane closes, each slot becomes what its
register says beyond that of the slot before, in the order of time, however the readings came. So
the last register of a pane is needed by the next one, and is kept, and written down.

A slot is a gap, absent, where the slot before has no register; where the register went back, as it
rolled over or was exchanged; and where it leapt by more than any load can take. No difference is
spread over several slots, and none is less than nothing. Registers are whole milliwatt-hours, and
all is worked out in integers.
"""

from fractions import Fraction
from math import floor, lcm

import numpy as np

from meteragent.privacy.arrays import Integers, begins, lengthen
from meteragent.privacy.domain import ABSENT, Levels, Watts
from meteragent.privacy.ledger import NEVER
from meteragent.privacy.policy import Policy
from meteragent.stream.pieces import Bytes, as_bytes, as_numbers
from meteragent.stream.shown import Powers, Shown
from meteragent.stream.strips import Panes

LEAP = 10
"""A register leaps that takes so many times as much as the whole domain is wide."""
HELD = np.dtype(np.int64)
"""What a slot holds of a register."""

_MILLI = 1000
_ZERO = 2**50
"""What is held of a register that says 0: so what says less is not taken for absent."""
_HOUR = 3_600_000
_SAFE = 2**62


class Counters(Shown):
    """The last register of each row, from which the next one is counted."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self.dtype, self._panes = HELD, policy.panes
        domain, interval = policy.domain, policy.interval
        watts = Fraction(_HOUR, interval * _MILLI)
        """In one milliwatt-hour of a slot."""
        wide = Fraction(domain.maximum) - Fraction(domain.minimum)
        self._most = min(floor(LEAP * wide / watts), 2 * _ZERO)
        step, half = watts / Fraction(domain.step), Fraction(1, 2)
        lowest = half - Fraction(domain.minimum) / Fraction(domain.step)
        self._by = lcm(step.denominator, lowest.denominator)
        self._times, self._plus = int(step * self._by), int(lowest * self._by)
        large = self._times * self._most + abs(self._plus) >= _SAFE
        self._exact = np.dtype(object) if large else HELD
        self._slots = np.empty(0, dtype=np.int64)
        self._values = np.empty(0, dtype=HELD)

    @property
    def bytes_per_row(self) -> int:
        """What a meter takes here."""
        return self._slots.itemsize + self._values.itemsize

    def grow(self, rows: int) -> None:
        """Make room for so many rows."""
        lengthen(self, "_slots", rows, NEVER)
        lengthen(self, "_values", rows, 0)

    def held(self, readings: Watts) -> Integers:
        """What slots hold of registers in watt-hours; also absent is what no register can show."""
        shown = np.abs(readings) < _ZERO / _MILLI
        whole = np.rint(np.where(shown, readings, 0) * _MILLI).astype(HELD)
        return np.where(shown, whole + _ZERO, ABSENT)

    def powers(self, panes: Panes) -> Powers:
        """The average power of each slot: absent, or within the domain.

        It follows from the registers at the slot's two ends.
        """
        nth, place = np.nonzero(panes.levels != ABSENT)
        rows, values = panes.rows[nth], panes.levels[nth, place].astype(HELD)
        slots = self._panes.first_slot(panes.panes)[nth] + place
        first = begins(rows)
        before = np.where(first, self._slots[rows], np.roll(slots, 1))
        used = values - np.where(first, self._values[rows], np.roll(values, 1))
        paired = slots == before + 1
        good = np.flatnonzero(paired & (used >= 0) & (used <= self._most))
        levels = np.full(panes.levels.shape, ABSENT, dtype=self.domain.dtype)
        levels[nth[good], place[good]] = self._levels(used[good])
        last = np.flatnonzero(np.roll(first, -1))
        self._slots[rows[last]], self._values[rows[last]] = slots[last], values[last]
        unpaired = int(np.count_nonzero(~paired & (before != NEVER)))
        return Powers(Panes(panes.rows, panes.panes, levels), rows[last], unpaired)

    def _levels(self, used: Integers) -> Levels:
        """The level of each ratio, rounded half up, as `Domain.levels` would."""
        steps = (used.astype(self._exact) * self._times + self._plus) // self._by
        domain = self.domain
        levels = np.clip(steps, 0, domain.top // domain.finer) * domain.finer
        found: Levels = levels.astype(domain.dtype)
        return found

    # What is written down.

    def last(self, rows: Integers) -> tuple[Integers, Integers]:
        """The slot of each row's last register, or NEVER, and what is held of it."""
        return self._slots[rows], self._values[rows]

    def until(self, rows: Integers) -> Integers:
        """When the slot of each row's last register begins, in milliseconds, or NEVER."""
        slots = self._slots[rows]
        return np.where(slots == NEVER, NEVER, slots * self._panes.interval)

    def state(self, rows: Integers) -> Bytes:
        """What these rows' last registers show."""
        return as_bytes(self._values[rows][:, np.newaxis])

    def take_over(self, rows: Integers, until: Integers, state: Bytes) -> Integers:
        """Go on with what was written down; answer the first pane of each that has not closed.

        Precondition: these rows have a last register.
        """
        self._slots[rows] = until // self._panes.interval
        self._values[rows] = as_numbers(state, HELD)[:, 0]
        after: Integers = self._panes.newest(until) + 1
        return after
