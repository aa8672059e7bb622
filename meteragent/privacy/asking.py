"""What a policy asks of which of its windows, and what cannot be asked of any."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meteragent.errors import InvalidSetting
from meteragent.privacy.arrays import Integers, Mask
from meteragent.privacy.calendar import AnyWindows
from meteragent.privacy.hours import Hours, Timetable
from meteragent.privacy.query import About, Query
from meteragent.privacy.question import Question
from meteragent.privacy.units import format_duration
from meteragent.privacy.windows import Windows
from meteragent.privacy.zone import Zone

MOST_KEPT = 768
"""Slots of a window of several panes, where they are kept one by one until it is over."""


@dataclass(frozen=True)
class Asking:
    """The questions of a policy, and its windows; hours are by the clocks of the zone."""

    questions: tuple[Question, ...]
    windows: AnyWindows
    zone: Zone

    @property
    def parts(self) -> list[int]:
        """Of which parts of windows averages are asked for, by their lengths."""
        return sorted({asked.query.about.part for asked in self.questions} - {0})

    def keeps_slots(self, part: int = 0) -> bool:
        """Whether it needs every reading of a window, or the average of every such part."""
        queries = (question.query for question in self.questions)
        return any(asked.needs_slots for asked in queries if asked.about.part == part)

    @cached_property
    def of_hours(self) -> dict[About, Hours]:
        """What of some hours alone it asks for, and which slots or parts of windows these are."""
        abouts = (asked.query.about for asked in self.questions)
        return {
            about: Hours(about.register, self.zone, about.part or self.windows.interval)
            for about in abouts
            if about.register
        }

    @cached_property
    def extremes_of(self) -> dict[About, tuple[int, int]]:
        """How many of these a window has that is asked about them, at least and at most."""
        starts = self.windows.start(self.windows.every)
        ends = self.windows.end_of(starts)
        slots = {about: hours.slots(starts, ends) for about, hours in self.of_hours.items()}
        some = {about: found[found > 0] for about, found in slots.items()}
        return {about: (int(found.min()), int(found.max())) for about, found in some.items()}

    def slots_of(self, about: About, starts: Integers) -> Integers | int:
        """How many these are of the windows that begin at these times, or of any."""
        if about.register is None:
            return self.windows.slots_of(starts)
        return self.of_hours[about].slots(starts, self.windows.end_of(starts))

    def timetable(self, together: Iterable[tuple[int, int]]) -> Timetable | None:
        """Of which windows what is asked, unless it is the same of all.

        By what is paid for together: questions from one on up to another.
        """
        if not self.of_hours:
            return None
        registers = [asked.query.about.register for asked in self.questions]
        some = (tuple(registers[first:until]) for first, until in together)
        return Timetable(self.windows, self.zone, tuple(some))

    @cached_property
    def _by_question(self) -> Timetable | None:
        return self.timetable((at, at + 1) for at in range(len(self.questions)))

    def of(self, starts: Integers) -> Mask:
        """asked[window, question] of the windows that begin at these times."""
        timetable = self._by_question
        if timetable is None:
            return np.ones((len(starts), len(self.questions)), dtype=np.bool_)
        return timetable.asked(starts)

    def refuse_unanswerable(self, panes: Windows, *, filled: bool) -> None:
        """Refuse what windows of such panes do not keep, and what slots cannot say."""
        for asked in self.questions:
            if asked.query.about.width and not asked.query.layers:
                problem = f"asks {asked.query.name} of a meter, and layers are of homes of a group"
                raise InvalidSetting("queries", problem, "write it in a [[group]]")
            refuse_unanswerable(asked.query, self.windows, panes, filled=filled)
            if asked.query.about.register:
                _refuse_crooked_hours(asked.query, self.of_hours[asked.query.about], filled=filled)


def refuse_unanswerable(asked: Query, windows: AnyWindows, panes: Windows, *, filled: bool) -> None:
    """Refuse what windows of several panes do not keep: they are kept as sums and extremes."""
    part = asked.about.part
    if part:
        _refuse_crooked_parts(asked, windows, panes, filled=filled)
    slots = windows.slots * panes.interval // (part or panes.interval)
    if asked.needs_slots and windows.slots > panes.slots and slots > MOST_KEPT:
        kept = "averages" if part else "readings"
        name, bracket, hours = asked.name.partition("[")
        longer = "longer parts" if part else f"{name}(15m){bracket}{hours}"
        raise InvalidSetting(
            "queries",
            f"asks {asked.name} of {slots} {kept}, and only {MOST_KEPT} are kept one by one",
            f"ask {longer}, avg, min or max, or write shorter windows",
        )


def _refuse_crooked_parts(
    asked: Query, windows: AnyWindows, panes: Windows, *, filled: bool
) -> None:
    pane, part = panes.size, asked.about.part
    advice = f'write parts of "{format_duration(pane)}"'
    if not windows.is_cut_by(part) or (pane % part and part % pane):
        problem = f"asks {asked.name}: such parts do not divide windows and their panes"
        raise InvalidSetting("queries", problem, advice)
    if part % panes.interval:
        problem = f"asks {asked.name}: such parts are no whole number of intervals"
        raise InvalidSetting("queries", problem, advice)
    if filled:
        problem = f"asks {asked.name}, and averages of parts are not filled"
        raise InvalidSetting("queries", problem, "leave fill out, or ask avg, min or max")


def _refuse_crooked_hours(asked: Query, hours: Hours, *, filled: bool) -> None:
    """Refuse a register of which slots, or parts, would be by halves."""
    if not hours.is_whole:
        whole = format_duration(hours.interval)
        problem = f"asks {asked.name}, whose hours do not begin and end with what is {whole} long"
        raise InvalidSetting("queries", problem, f'write hours of whole stretches of "{whole}"')
    if filled:
        problem = f"asks {asked.name}, and hours are not filled"
        raise InvalidSetting("queries", problem, "leave fill out, or ask about all hours")
