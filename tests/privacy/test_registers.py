"""Hours of a week as they are written, and as the clocks of a zone show them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from meteragent.config.zones import zone
from meteragent.errors import InvalidSetting
from meteragent.formats.schema import release_schema
from meteragent.privacy.calendar import UNITS, Calendar, CalendarWindows
from meteragent.privacy.hours import Hours, Timetable
from meteragent.privacy.query import About, query
from meteragent.privacy.registers import MINUTES, register
from meteragent.privacy.windows import WEEK, Windows
from meteragent.privacy.zone import UTC
from tests.given import DAY, HOUR, MINUTE
from tests.twins.hours import DAYS, is_of

if TYPE_CHECKING:
    from meteragent.privacy.calendar import AnyWindows

MONDAY = 4 * DAY
"""1970-01-05, in UTC."""
ZONES = [
    *("UTC", "Europe/Paris", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kathmandu"),
    *("America/St_Johns", "Pacific/Chatham", "Africa/Casablanca", "Pacific/Apia"),
]
SINCE = [
    1_711_800_000_000,
    1_729_900_000_000,
    1_518_900_000_000,
    1_709_100_000_000,
    1_325_100_000_000,
]
"""Around both changes in Paris, one in São Paulo, a leap day, and a day that Apia left out."""


@st.composite
def times(draw: st.DrawFn, quarters: int = 1) -> str:
    minutes = draw(st.integers(0, 24 * 60 // (15 * quarters) - 1)) * 15 * quarters
    return f"{minutes // 60:02}:{minutes % 60:02}"


@st.composite
def texts(draw: st.DrawFn, quarters: int = 1) -> str:
    """Any hours, begun and ended with so many quarters of an hour."""
    groups = []
    for _ in range(draw(st.integers(1, 3))):
        day = st.sampled_from(DAYS)
        some = st.builds("{}-{}".format, day, day)
        days = draw(st.one_of(st.just(""), st.sampled_from(["weekday", "weekend"]), day, some))
        ranges = [
            f"{draw(times(quarters))}-{draw(times(quarters) | st.just('24:00'))}"
            for _ in range(draw(st.integers(0 if days else 1, 2)))
        ]
        groups.append(" ".join([days] * bool(days) + ranges))
    return "not " * draw(st.booleans()) + ", ".join(groups)


def held(text: str, name: str, moments: list[int]) -> list[bool]:
    return [is_of(text, name, moment) for moment in moments]


@given(texts())
def test_hours_are_what_they_say(text: str) -> None:
    moments = [*range(MONDAY, MONDAY + WEEK, 15 * MINUTE)]
    said = held(text, "UTC", moments)
    if len(set(said)) == 1:
        with pytest.raises(InvalidSetting, match="of a week; leave it out"):
            register(text)
    else:
        assert register(text).holds(np.array(moments)).tolist() == said


@given(texts())
def test_what_is_not_of_them_is_the_rest(text: str) -> None:
    other = text.removeprefix("not ") if text.startswith("not ") else f"not {text}"
    minutes = np.arange(MINUTES) * MINUTE
    try:
        assert (register(text).holds(minutes) != register(other).holds(minutes)).all()
    except InvalidSetting as refused:
        assert refused.instead == "leave it out"  # noqa: PT017 - which of the two does not matter


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("weekday", "mon-fri"),
        ("weekend", "sat, sun"),
        ("sun-mon", "mon, sun"),
        ("fri 22:00-06:00", "fri 22:00-24:00, sat 00:00-06:00"),
        ("22:00-06:00", "not 06:00-22:00"),
        ("mon 07:00-09:00 08:00-12:00", "mon 07:00-12:00"),
        ("sat 00:00-24:00", "sat"),
    ],
)
def test_the_same_hours_are_the_same_register(one: str, other: str) -> None:
    assert register(one) == register(other)
    assert query(f"max(15m)[{one}]").about == About(15 * MINUTE, register(other))


WRONG = [
    *("", "Mon", "mon,tue", "7:00-9:00", "07:00", "07:00-25:00", "24:00-03:00", "not", "monday"),
    *("weekday  17:00-20:00", "07:00-23:00,", "mon-", "everyday", "07:60-08:00", "not not mon"),
    "mon, " * 20 + "tue",
]


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_none_is_refused_with_the_way_out(wrong: str) -> None:
    with pytest.raises(InvalidSetting, match=r"no hours of a week; write for example avg\[07:00"):
        register(wrong)


@pytest.mark.parametrize(
    "name", ["reading[sat]", "avg[sat][sun]", "avg[sat](15m)", "[sat]", "avg["]
)
def test_what_is_about_no_hours_is_refused(name: str) -> None:
    with pytest.raises(InvalidSetting):
        query(name)


@given(texts())
def test_names_are_those_of_the_schema(text: str) -> None:
    assume(len(text) <= 100)
    pattern = release_schema()["properties"]["values"]["propertyNames"]["pattern"]
    for name in (f"avg[{text}]", f"p99.9[{text}]", f"max(15m)[{text}]"):
        assert re.search(pattern, name)
    for wrong in (f"reading[{text}]", f"avg(15m)[{text}]", f"avg[{text}", f"avg[{text}, ]"):
        assert not re.search(pattern, wrong)


# By the clocks of a zone.


@st.composite
def hours(draw: st.DrawFn) -> tuple[str, Hours]:
    interval = draw(st.sampled_from([15, 15, 15, 30, 60])) * MINUTE
    text = draw(texts(interval // (15 * MINUTE)).filter(is_register))
    found = Hours(register(text), zone(draw(st.sampled_from(ZONES))), interval)
    assume(found.is_whole)
    return text, found


def is_register(text: str) -> bool:
    return len(text) <= 100 and len(set(held(text, "UTC", [*range(0, WEEK, 15 * MINUTE)]))) > 1


@given(hours(), st.sampled_from(SINCE), st.integers(1, 200))
def test_slots_are_of_the_hours_that_a_clock_on_the_wall_shows(
    drawn: tuple[str, Hours], since: int, count: int
) -> None:
    text, of = drawn
    first = since // of.interval
    moments = [slot * of.interval for slot in range(first, first + count)]
    said = held(text, of.zone.name, moments)
    assert of.of(np.array(moments)).tolist() == said
    starts, ends = np.array(moments[:1]), np.array([moments[-1] + of.interval])
    assert of.slots(starts, ends).tolist() == [sum(said)]
    levels = np.arange(2 * count, dtype=np.int16).reshape(2, count)
    masked = of.masked(levels, np.repeat(starts, 2))
    assert masked.tolist() == np.where(said, levels, -1).tolist()


@settings(max_examples=max(20, settings().max_examples // 5))
@given(hours(), st.integers(1, 2000))
def test_no_run_of_slots_holds_more_of_them_than_is_said_and_one_as_many(
    drawn: tuple[str, Hours], slots: int
) -> None:
    """Over fifty years, in which all these clocks do all that they ever do."""
    _, of = drawn
    begins = np.arange(9 * 366 * DAY, 60 * 366 * DAY, of.interval)
    found = of.slots(begins, begins + slots * of.interval)
    assert int(found.max()) == of.most_of(slots)


@pytest.mark.parametrize(
    ("text", "name", "interval"),
    [
        ("07:10-08:00", "UTC", 15 * MINUTE),
        ("07:00-08:00", "Asia/Kathmandu", 30 * MINUTE),
        ("07:00-08:00", "UTC", 7 * MINUTE),
    ],
)
def test_slots_by_halves_are_known(text: str, name: str, interval: int) -> None:
    assert not Hours(register(text), zone(name), interval).is_whole
    assert Hours(register(text), zone(name), 5 * MINUTE).is_whole


# Of which windows what is asked.


@st.composite
def timetables(draw: st.DrawFn) -> Timetable:
    names = ["02:00-03:00", "weekday 17:00-20:00", "weekend", "mon", "not mon-sat 00:00-12:00"]
    some = st.lists(st.sampled_from([None, *map(register, names)]), min_size=1, max_size=3)
    together = tuple(map(tuple, draw(st.lists(some, min_size=1, max_size=3))))
    if draw(st.booleans()):
        hop = draw(st.sampled_from([1, 6, 24, 36, 7 * 24]))
        windows: AnyWindows = Windows(hop * draw(st.integers(1, 2)) * HOUR, hop * HOUR, HOUR)
        return Timetable(windows, UTC, together)
    clocks = zone(draw(st.sampled_from(["Europe/Paris", "America/Sao_Paulo", "UTC"])))
    return Timetable(
        Calendar(draw(st.sampled_from(UNITS)), clocks).windows(HOUR, 0), clocks, together
    )


def asked_by_hand(of: Timetable, window: int) -> list[bool]:
    slots = np.arange(of.windows.start(window), of.windows.end(window), HOUR)
    return [
        any(one is None or Hours(one, of.zone, HOUR).of(slots).any() for one in some)
        for some in of.together
    ]


@given(timetables(), st.sampled_from(SINCE))
def test_a_window_is_asked_about_the_hours_that_it_holds(of: Timetable, since: int) -> None:
    first = of.windows.newest(since)
    windows = np.arange(first, first + 9)
    asked = of.asked(of.windows.start(windows))
    assert asked.tolist() == [asked_by_hand(of, window) for window in windows.tolist()]


@given(timetables(), st.integers(1, 40), st.data())
def test_the_dearest_run_is_the_dearest_there_is(
    of: Timetable, count: int, data: st.DataObject
) -> None:
    costs = tuple(data.draw(st.integers(1, 9)) for _ in of.together)
    first = of.windows.newest(0)
    many = len(of.windows.every) if isinstance(of.windows, Windows) else 100 * 366
    many = min(many, 50_000) + count
    asked = of.asked(of.windows.start(np.arange(first, first + many)))
    paid = np.append(0, np.cumsum(asked @ np.array(costs)))
    runs = paid[count:] - paid[:-count]
    said = of.dearest(costs, count)
    assert int(runs.max()) <= said
    if not (isinstance(of.windows, CalendarWindows) and of.windows.unit == "month"):
        assert int(runs.max()) == said
