"""The obvious twin of `CalendarWindows`: a clock on the wall, looked at again and again."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from importlib.resources import files
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LOOK = timedelta(minutes=5)
"""All clocks here change at whole ones of these."""


def clock_of(name: str) -> ZoneInfo:
    """That of a zone, by the data that are installed with the agent."""
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as data:
        return ZoneInfo.from_file(data, name)


def milliseconds(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


def firsts(unit: str, first: date, count: int) -> list[date]:
    """The dates with which so many windows begin, from the one that holds `first` on."""
    if unit == "week":
        first -= timedelta(days=first.isoweekday() - 1)
    found: list[date] = []
    day = first
    while len(found) < count:
        if unit != "month" or day.day == 1 or not found:
            found.append(day.replace(day=1) if unit == "month" else day)
        day += timedelta(days=7 if unit == "week" else 1)
    return found


def bounds(name: str, unit: str, first: date, count: int, offset: timedelta) -> list[int]:
    """When each of them begins: as soon as the clock shows that or more."""
    clock, found = clock_of(name), []
    for day in firsts(unit, first, count):
        shows = datetime(day.year, day.month, day.day) + offset  # noqa: DTZ001 - as the clock does
        moment = shows.replace(tzinfo=UTC) - timedelta(days=1, hours=4)
        while moment.astimezone(clock).replace(tzinfo=None) < shows:
            moment += LOOK
        found.append(milliseconds(moment))
    return found
