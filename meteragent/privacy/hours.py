"""Which slots a register holds, and of which windows something is asked: by the clock alone.

A slot is of a register if the clocks of the zone show a time of it when the slot begins.
"""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from meteragent.privacy.arrays import Integers, Mask
from meteragent.privacy.calendar import AnyWindows
from meteragent.privacy.domain import ABSENT, Levels
from meteragent.privacy.registers import MONDAY, Register
from meteragent.privacy.windows import WEEK
from meteragent.privacy.zone import Zone


@dataclass(frozen=True)
class Hours:
    """A register by the clocks of a zone, in slots of one length, which may be parts of windows.

    Times are in milliseconds. What is said of numbers of slots holds where it `is_whole`.
    """

    register: Register
    zone: Zone
    interval: int

    @property
    def is_whole(self) -> bool:
        """Whether it holds every slot whole or not at all."""
        return (
            self.register.is_cut_by(self.interval) and not (self.zone.ahead % self.interval).any()
        )

    def of(self, times: Integers) -> Mask:
        """Which of the slots that begin at these times it holds."""
        return self.register.holds(self.zone.shown(times))

    def masked(self, levels: Levels, starts: Integers) -> Levels:
        """`levels[row, slot]` of rows that begin at these times, others than its own as absent."""
        begins, row = np.unique(starts, return_inverse=True)
        slots = np.arange(levels.shape[1]) * self.interval
        held = self.of(begins[:, np.newaxis] + slots)
        return np.where(held[row], levels, np.asarray(ABSENT, dtype=levels.dtype))

    def slots(self, starts: Integers, ends: Integers) -> Integers:
        """How many of its slots begin between these times."""
        return self._before(ends) - self._before(starts)

    def _before(self, times: Integers) -> Integers:
        """How many of its slots begin before these times, counted from any one."""
        stretch = np.searchsorted(self._changes, times, side="right")
        passed = self.register.passed(times + self.zone.ahead[stretch])
        before: Integers = (passed + self._skipped[stretch]) // self.interval
        return before

    @cached_property
    def _changes(self) -> Integers:
        """Which slots are the first that begin after clocks have changed."""
        changes: Integers = -(-self.zone.changes // self.interval) * self.interval
        return changes

    @cached_property
    def _skipped(self) -> Integers:
        """What clocks have shown twice by each stretch of time, less what they have left out."""
        before = self.register.passed(self._changes + self.zone.ahead[:-1])
        after = self.register.passed(self._changes + self.zone.ahead[1:])
        skipped: Integers = np.cumsum(np.append(0, before - after))
        return skipped

    def most_of(self, slots: int) -> int:
        """How many of its slots are among so many in a row at most, wherever these begin."""
        return _most_of(self, slots)

    def near_changes(self, around: int) -> Integers:
        """When it begins and ends so long before changes of clocks and behind them, and more."""
        weeks = np.arange(-(around // WEEK) - 2, around // WEEK + 3) * WEEK
        local = (weeks[:, np.newaxis] + self.register.bounds).ravel()
        found = [self._changes]
        for ahead in (self.zone.ahead[:-1], self.zone.ahead[1:]):
            monday = (self._changes + ahead + MONDAY) // WEEK * WEEK - MONDAY - ahead
            found.append((monday[:, np.newaxis] + local).ravel())
        return np.concatenate(found)


@cache
def _most_of(hours: Hours, slots: int) -> int:
    """Why these: their number turns only where one end of so many meets a bound or a change.

    From one slot to the next it grows or shrinks by one at most.
    """
    length, passed = slots * hours.interval, hours.register.passed
    week = np.array(hours.register.bounds) - MONDAY
    week = np.append(week, week - length)
    usual = int((passed(week + length) - passed(week)).max()) // hours.interval
    begins = hours.near_changes(length)
    begins = np.append(begins, begins - length)
    return max(usual, int(hours.slots(begins, begins + length).max(initial=0)))


Together = tuple[tuple[Register | None, ...], ...]
"""Of each question its register, or None: it is about all hours. Or those of several questions that
are paid for together."""


@dataclass(frozen=True)
class Timetable:
    """Of which windows which questions are asked: those of whose registers they hold a slot.

    What is paid for together is asked where anything of it is.
    """

    windows: AnyWindows
    zone: Zone
    together: Together

    def asked(self, starts: Integers) -> Mask:
        """asked[window, question] of the windows that begin at these times."""
        ends = self.windows.end_of(starts)
        holds: dict[Register | None, Mask] = {
            one: hours.slots(starts, ends) > 0 for one, hours in self._hours.items()
        }
        holds[None] = np.ones(len(starts), dtype=np.bool_)
        columns = [np.logical_or.reduce([holds[one] for one in some]) for some in self.together]
        return np.stack(columns, axis=1)

    @cached_property
    def _hours(self) -> dict[Register, Hours]:
        registers = {one for some in self.together for one in some if one}
        return {one: Hours(one, self.zone, self.windows.interval) for one in registers}

    @property
    def ever(self) -> Mask:
        """asked[window, question] of all windows in a row; what follows begins anew."""
        return self.asked(self.windows.start(self.windows.every))

    def dearest(self, costs: tuple[int, ...], windows: int) -> int:
        """The most that so many windows in a row cost."""
        return _dearest(self, costs, windows)


@cache
def _dearest(timetable: Timetable, costs: tuple[int, ...], windows: int) -> int:
    each = timetable.ever @ np.array(costs, dtype=np.int64)
    rounds, rest = divmod(windows, len(each))
    paid = np.append(0, np.cumsum(np.resize(each, len(each) + rest)))
    return rounds * int(each.sum()) + int((paid[rest:] - paid[: len(paid) - rest]).max())
