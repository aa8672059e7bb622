"""Small worlds whose windows are days and months of a time zone, where its clocks change.

Which windows there are is worked out by `zoneinfo`, which the product does not ask.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args
from zoneinfo import ZoneInfo

from tests.laws.said import Rule
from tests.laws.small_stories import SILENT, Scenario, every, known, scenario, some
from tests.laws.whole_records import BEGIN, Message, Moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.laws.said import Stretch

PARIS = "Europe/Paris"
HOUR, DAY = 3600, 86_400

Fate = Literal["goes on", "commits", "is restored", "reads again"]
"""What an agent does behind a message; it ends with the last two of these, and begins anew."""


def seconds(
    zone: str, year: int, month: int, day: int, hour: int = 0, minute: int = 0, *, fold: int = 0
) -> int:
    """After `BEGIN`, when the clocks of a zone show this; 24:00 is of the next day."""
    midnight = datetime(year, month, day, tzinfo=ZoneInfo(zone))
    shown = midnight + timedelta(hours=hour, minutes=minute)
    return int(shown.replace(fold=fold).timestamp()) - BEGIN // 1000


@dataclass(frozen=True)
class CalendarRule(Rule):
    """Its windows are those of a calendar; `slots` and `hop` say nothing."""

    top: int = 1
    interval: int = HOUR
    horizon: int = 2 * DAY
    unit: Literal["day", "month"] = "day"
    zone: str = PARIS

    def table(self) -> dict[str, Any]:
        table = super().table() | {"window": self.unit, "timezone": self.zone}
        del table["hop"]
        return table

    def touched(self, times: Iterable[int]) -> int:
        return len({self._first_day(time) for time in times})

    def in_line(self, first: int, last: int) -> set[int]:
        bounds = [*self._bounds(first - self.horizon, last + self.horizon)]
        begins = {*bounds, *(bound - self.horizon for bound in bounds)}
        return {begin for begin in begins if begin <= first and last < begin + self.horizon}

    def _first_day(self, time: int) -> datetime:
        """Of the window that a time is in, as local midnight."""
        shown = datetime.fromtimestamp(BEGIN // 1000 + time, ZoneInfo(self.zone))
        midnight = shown.replace(hour=0, minute=0, second=0, fold=0)
        return midnight.replace(day=1) if self.unit == "month" else midnight

    def _bounds(self, since: int, until: int) -> Iterator[int]:
        """When windows begin between two times; what begins twice is there twice."""
        for hour in range(since, until, HOUR):
            yield int(self._first_day(hour).timestamp()) - BEGIN // 1000


def behind(end: int) -> Message:
    """What closes the windows that end then."""
    return known(end + HOUR, end + HOUR)


def short_day() -> Scenario:
    """Two days by the watch touch three days of 24, 23 and 24 hours; all are paid for.

    readings       x          x      x
    days      [---------][---------][----
    48 hours  [--------------------------]
    """
    at = partial(seconds, PARIS, 2026, 3)
    rule = CalendarRule(budget=3)
    log = [Message(t, (t,)) for t in (at(29, 0, 30), at(30, 12), at(31, 0, 30))]
    log.append(behind(at(31, 24)))
    return scenario(rule, log, [Moment(at(31, 26))], some(every(3, (0, 1)), 5), "window", "horizon")


def exhausted_days() -> Scenario:
    """Two of any three days in a row are paid for; 48 hours that begin elsewhere touch a fourth."""
    at = partial(seconds, PARIS, 2026, 3)
    rule = CalendarRule(budget=2)
    log = [Message(t, (t,)) for t in (at(28, 23, 30), at(29, 12), at(30, 12), at(31, 0, 15))]
    log.append(behind(at(31, 24)))
    worlds = some(every(4, (0, 1)), 6)
    moments = [Moment(at(30, 1)), Moment(at(31, 26))]
    return scenario(rule, log, moments, worlds, "window", "horizon", "any_horizon")


def hour_left_out() -> Scenario:
    """Of the day without it nothing is asked about that hour, and nothing paid.

    readings     x    x             x
    days      [-----------][----------------
    pays for       two            one            what is left: nothing
    """
    at = partial(seconds, PARIS, 2026, 3)
    rule = CalendarRule({"max[02:00-03:00]": 1, "avg": 1}, budget=3)
    log = [Message(t, (t,)) for t in (at(28, 2, 30), at(28, 12), at(29, 12))]
    log.append(behind(at(29, 24)))
    worlds = [(0, 0, 0), (1, 1, 0), (1, 1, 1)]
    return scenario(rule, log, [Moment(at(29, 26))], worlds, "window", "horizon")


def long_day() -> Scenario:
    """Its last reading is in its 25th hour; of the next day there is none."""
    at = partial(seconds, PARIS, 2026, 10, 25)
    log = [Message(t, (t,)) for t in (at(0, 30), at(23, 30))]
    log.append(behind(at(48)))
    return scenario(CalendarRule(), log, [Moment(at(50))], every(2, (0, 1)), "window")


def hour_shown_twice() -> Scenario:
    """Both are of the register, and of the one window."""
    at = partial(seconds, PARIS, 2026, 10, 25)
    rule = CalendarRule({"max[02:00-03:00]": 1, "avg": 1})
    log = [Message(t, (t,)) for t in (at(2, 30), at(2, 30, fold=1), at(23, 30))]
    log.append(behind(at(24)))
    return scenario(rule, log, [Moment(at(26))], every(3, (0, 1)), "window")


def midnight_left_out() -> Scenario:
    """The day begins at one o'clock."""
    at = partial(seconds, "America/Santiago", 2026, 9)
    rule = CalendarRule(zone="America/Santiago", budget=3)
    log = [Message(t, (t,)) for t in (at(5, 23, 30), at(6, 1, 15), at(6, 23, 30), at(7, 0, 15))]
    log.append(behind(at(7, 24)))
    worlds = some(every(4, (0, 1)), 6)
    return scenario(rule, log, [Moment(at(7, 26))], worlds, "window", "horizon")


def months() -> Scenario:
    """32 days from the last hour of January on touch three months, and two if in line."""
    at = partial(seconds, PARIS, 2026)
    rule = CalendarRule(unit="month", horizon=32 * DAY, budget=2)
    log = [Message(t, (t,)) for t in (at(1, 31, 23, 30), at(2, 14), at(2, 28), at(3, 1, 0, 15))]
    log.append(behind(at(4, 1)))
    worlds = some(every(4, (0, 1)), 8)
    stretches: tuple[Stretch, ...] = ("window", "horizon", "any_horizon")
    return scenario(rule, log, [Moment(at(4, 1, 2))], worlds, *stretches)


def days_heard_or_not() -> Scenario:
    """Presence is private: a home is silent at the end of one day, of 23 hours, and of the next."""
    at = partial(seconds, PARIS, 2026, 3)
    rule = CalendarRule(private=True, budget=2, settings={"idle": "1h"})
    log = [
        known(at(29, 12), at(29, 12), 0),
        Message(at(29, 23, 30), (at(29, 23, 30),)),
        known(at(30, 0, 20), at(30, 0, 20), 0),
        Message(at(30, 23, 30), (at(30, 23, 30),)),
        known(at(31, 0, 20), at(31, 0, 20), 0),
    ]
    moments = [Moment(at(30, 0, 30)), Moment(at(31, 2), caught_up=True)]
    return scenario(rule, log, moments, every(2, SILENT), "window", "horizon")


# Cut and restored.


def within_a_day() -> Scenario:
    """A day of 23 hours: panes are folded, and one is open while nothing but another home is heard.

    readings     x  x              x                  x
    the other            x
    day       [-----------------------------------------][---
    """
    at = partial(seconds, PARIS, 2026, 3, 29)
    rule = CalendarRule(interval=300, settings={"idle": "5h"})
    first, second, third, last = at(0, 30), at(1, 30), at(3, 30), at(23, 30)
    log = [
        Message(second, (first, second)),
        known(at(3), at(3), 1, "other"),
        Message(third, (third,)),
        Message(last, (last,)),
        behind(at(24)),
    ]
    return scenario(rule, log, [Moment(at(26))], some(every(4, (0, 1)), 4), "window")


FATES: tuple[Fate, ...] = get_args(Fate)


def cut(its: Scenario, fates: Iterable[Fate]) -> Scenario:
    """The same, where one of these fates is behind each message."""
    aborted: dict[Fate, tuple[bool, ...]] = {
        "goes on": (),
        "commits": (False,),
        "is restored": (False, True),
        "reads again": (True,),
    }
    moments = [
        Moment(message.written, aborted=one)
        for message, fate in zip(its.story.log, fates, strict=False)
        for one in aborted[fate]
    ]
    return its._replace(story=replace(its.story, moments=(*moments, *its.story.moments)))
