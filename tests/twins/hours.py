"""The obvious twin of `Register` and `Hours`: a clock on the wall, read for each slot."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from tests.twins.calendar import EPOCH, clock_of

DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
CLOCKS: dict[str, tzinfo] = {"UTC": UTC}


def is_of(register: str, zone: str, moment: int) -> bool:
    """Whether what the clock of a zone shows at this moment is of the hours that are written so."""
    clock = CLOCKS.setdefault(zone, clock_of(zone))
    shows = (EPOCH + timedelta(milliseconds=moment)).astimezone(clock)
    groups = register.removeprefix("not ").split(", ")
    return any(is_of_group(group, shows) for group in groups) != register.startswith("not ")


def is_of_group(group: str, shows: datetime) -> bool:
    words = group.split()
    days = days_of(words.pop(0)) if words[0][0].isalpha() else DAYS
    today, yesterday = (DAYS[(shows.weekday() - ago) % 7] in days for ago in (0, 1))
    clock = f"{shows:%H:%M}"
    if not words:
        return today
    found = False
    for begin, end in (word.split("-") for word in words):
        if begin < end:
            found |= today and begin <= clock < end
        else:
            found |= (today and clock >= begin) or (yesterday and clock < end)
    return found


def days_of(word: str) -> list[str]:
    named = {"weekday": DAYS[:5], "weekend": DAYS[5:]}
    if word in named:
        return named[word]
    first, _, last = word.partition("-")
    twice = DAYS * 2
    begin = twice.index(first)
    return twice[begin : twice.index(last or first, begin) + 1]
