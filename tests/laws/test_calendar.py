"""Days, weeks and months begin when a clock on the wall says so, whatever it does in between."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, get_args

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from meteragent.config.zones import YEARS, names, zone
from meteragent.errors import InvalidSetting
from meteragent.privacy.calendar import DAY, UNITS, CalendarWindows, Unit
from meteragent.privacy.zone import Zone
from tests.given import HOUR, MINUTE
from tests.twins.calendar import EPOCH, bounds, clock_of, milliseconds

if TYPE_CHECKING:
    from meteragent.privacy.arrays import Integers

QUARTER = 15 * MINUTE
ZONES = (
    *("Europe/Paris", "Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns", "UTC"),
    *("Pacific/Chatham", "Asia/Kolkata", "America/Sao_Paulo", "America/New_York"),
    *("Asia/Beirut", "America/Havana", "Africa/Cairo", "Africa/Casablanca", "Pacific/Apia"),
)
"""Of whole hours, halves and quarters; whose midnight is left out, or strikes twice; that change
by half an hour, at one minute past midnight, four times a year; and that left out a day."""
CHANGES = (
    *(date(2024, 3, 29), date(2024, 10, 25), date(2024, 2, 27), date(2023, 2, 27)),
    *(date(2018, 11, 2), date(2018, 2, 15), date(1986, 1, 1), date(2011, 11, 4)),
    *(date(2024, 4, 5), date(2024, 11, 1), date(2000, 2, 28), date(2099, 12, 30)),
)
"""Shortly before clocks change somewhere, a leap day, or the end of the years that are known."""
FIRST = st.one_of(
    st.sampled_from(CHANGES), st.dates(date(YEARS.start + 1, 1, 1), date(YEARS.stop - 2, 12, 31))
)
OFFSETS = st.sampled_from([0, 0, QUARTER, 6 * HOUR, 21 * HOUR])


def windows_of(name: str, unit: Unit, offset: int = 0, interval: int = QUARTER) -> CalendarWindows:
    return CalendarWindows(unit, zone(name), interval, offset)


def exist(name: str, unit: Unit, offset: int = 0) -> bool:
    """Apia left out a day, and in St. John's 00:15 is left out, by clocks that change at 00:01."""
    left_out = name == "Pacific/Apia" and unit == "day"
    return not left_out and not (name == "America/St_Johns" and offset == QUARTER)


@settings(max_examples=max(200, settings().max_examples))
@given(st.sampled_from(ZONES), st.sampled_from(UNITS), FIRST, OFFSETS)
def test_windows_begin_when_a_clock_on_the_wall_shows_it(
    name: str, unit: Unit, first: date, offset: int
) -> None:
    assume(exist(name, unit, offset))
    later = timedelta(milliseconds=offset)
    found = bounds(name, unit, first, 5 if unit == "day" else 3, later)
    windows = windows_of(name, unit, offset)
    starts = np.array(found)
    number = windows.newest(int(starts[0]))
    numbers = np.arange(number, number + len(starts))
    assert windows.start(numbers).tolist() == found
    assert [windows.start(each) for each in numbers.tolist()] == found
    assert windows.end(numbers)[:-1].tolist() == found[1:]
    assert windows.end_of(starts)[:-1].tolist() == found[1:]
    for nth, (begin, end) in enumerate(pairwise(found)):
        held = np.array([begin, begin + 1, (begin + end) // 2, end - 1])
        assert {*windows.newest(held).tolist()} == {number + nth}
        assert {*windows.first_open(held).tolist()} == {number + nth}
        assert windows.newest(end) == number + nth + 1
    lengths = np.diff(starts)
    assert np.array_equal(windows.slots_of(starts[:-1]), lengths // QUARTER)
    assert {*(starts % windows.panes.size).tolist()} == {0}
    assert windows.fewest_slots * QUARTER <= lengths.min()
    assert lengths.max() <= windows.lasting(1) == windows.slots * QUARTER


@pytest.mark.parametrize(
    ("name", "unit", "day", "hours"),
    [
        ("Europe/Paris", "day", date(2024, 3, 31), 23),
        ("Europe/Paris", "day", date(2024, 10, 27), 25),
        ("Europe/Paris", "week", date(2024, 10, 27), 169),
        ("Europe/Paris", "month", date(2024, 3, 1), 31 * 24 - 1),
        ("Europe/Paris", "month", date(2024, 2, 10), 29 * 24),
        ("Europe/Paris", "month", date(2023, 2, 10), 28 * 24),
        ("Europe/Paris", "month", date(2024, 10, 31), 31 * 24 + 1),
        ("Australia/Lord_Howe", "day", date(2024, 4, 7), 24.5),
        ("Australia/Lord_Howe", "day", date(2024, 10, 6), 23.5),
        ("America/Sao_Paulo", "day", date(2018, 11, 4), 23),
        ("America/Sao_Paulo", "day", date(2018, 2, 17), 25),
        ("America/Havana", "day", date(2024, 3, 10), 23),
        ("America/Havana", "day", date(2024, 11, 3), 25),
        ("Asia/Kolkata", "day", date(2024, 3, 31), 24),
        ("UTC", "month", date(2100, 2, 3), 28 * 24),
        ("Pacific/Apia", "week", date(2011, 12, 29), 6 * 24),
    ],
)
def test_windows_are_as_long_as_people_know_them(
    name: str, unit: Unit, day: date, hours: float
) -> None:
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=clock_of(name))
    windows = windows_of(name, unit)
    window = windows.newest(milliseconds(noon.astimezone(UTC)))
    assert windows.end(window) - windows.start(window) == hours * HOUR


def test_a_day_whose_midnight_does_not_exist_begins_at_one() -> None:
    windows = windows_of("America/Sao_Paulo", "day")
    noon = milliseconds(datetime(2018, 11, 4, 15, tzinfo=UTC))
    begins = EPOCH + timedelta(milliseconds=windows.start(windows.newest(noon)))
    assert begins.astimezone(clock_of("America/Sao_Paulo")).hour == 1


def test_of_a_midnight_that_strikes_twice_the_first_counts() -> None:
    windows = windows_of("America/Havana", "day")
    noon = milliseconds(datetime(2024, 11, 3, 17, tzinfo=UTC))
    begins = EPOCH + timedelta(milliseconds=windows.start(windows.newest(noon)))
    shown = begins.astimezone(clock_of("America/Havana"))
    assert (shown.hour, shown.fold) == (0, 0)


@given(st.sampled_from(ZONES), st.integers(YEARS.start, YEARS.stop - 1))
def test_twelve_months_have_the_slots_of_their_year(name: str, year: int) -> None:
    windows = windows_of(name, "month")
    january = (year - 1970) * 12
    months = windows.start(np.arange(january, january + 12))
    begin, end = (
        bounds(name, "month", date(year, 1, 1), 1, timedelta())[0],
        windows.end(january + 11),
    )
    assert months[0] == begin
    assert np.sum(windows.slots_of(months)) == (end - begin) // QUARTER
    assert end == bounds(name, "month", date(year + 1, 1, 1), 1, timedelta())[0]


@given(
    st.sampled_from(ZONES),
    st.sampled_from(UNITS),
    OFFSETS,
    st.lists(st.integers(-(2**62), 2**62) | st.integers(-(10**9), 3 * 10**14), min_size=1),
)
def test_every_time_is_in_one_window(name: str, unit: Unit, offset: int, drawn: list[int]) -> None:
    """However far from the years that are known."""
    assume(exist(name, unit, offset))
    windows = windows_of(name, unit, offset)
    times = np.clip(np.array(drawn), -(2**57), 2**57)
    numbers = windows.newest(times)
    assert (windows.start(numbers) <= times).all()
    assert (times < windows.end(numbers)).all()
    assert [windows.newest(time) for time in drawn] == windows.newest(np.array(drawn)).tolist()


@pytest.mark.parametrize("name", ["Europe/Paris", "Asia/Kathmandu"])
def test_outside_the_years_that_are_known_clocks_go_on_as_at_their_ends(name: str) -> None:
    windows = windows_of(name, "day")
    for year, known in ((1971, YEARS.start), (2150, YEARS.stop - 1)):
        at_end = (
            datetime(known, 1, 1, tzinfo=clock_of(name))
            if known == YEARS.start
            else (datetime(known, 12, 31, tzinfo=clock_of(name)))
        )
        ahead = at_end.utcoffset()
        assert ahead is not None
        july = datetime(year, 7, 1, 12, tzinfo=UTC)
        start = EPOCH + timedelta(milliseconds=windows.start(windows.newest(milliseconds(july))))
        assert (start + ahead).replace(tzinfo=None) == datetime(year, 7, 1)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("name", "minutes"),
    [
        ("Europe/Paris", 15),
        ("Asia/Kathmandu", 15),
        ("Australia/Lord_Howe", 15),
        ("UTC", 15),
    ],
)
@pytest.mark.parametrize("unit", UNITS)
def test_panes_are_quarters_of_an_hour(name: str, minutes: int, unit: Unit) -> None:
    for interval in (MINUTE, 10_000, QUARTER):
        assert windows_of(name, unit, interval=interval).panes.size == minutes * MINUTE


@pytest.mark.parametrize(
    ("name", "interval", "pane"),
    [
        ("Europe/Paris", 30 * MINUTE, 30),
        ("Europe/Paris", HOUR, 60),
        ("Europe/Paris", 12 * MINUTE, 60),
        ("Australia/Lord_Howe", 30 * MINUTE, 30),
        ("Australia/Lord_Howe", 10 * MINUTE, 30),
        ("UTC", 24 * HOUR, 24 * 60),
        ("Europe/Paris", 7 * MINUTE, None),
        ("Europe/Paris", 2 * HOUR, None),
        ("Australia/Lord_Howe", HOUR, None),
        ("Asia/Kathmandu", 30 * MINUTE, None),
        ("America/St_Johns", HOUR, None),
    ],
)
def test_a_pane_divides_every_bound_and_every_shift_or_the_interval_is_refused(
    name: str, interval: int, pane: int | None
) -> None:
    if pane is None:
        with pytest.raises(InvalidSetting, match="interval: does not divide every day") as refused:
            windows_of(name, "day", interval=interval)
        assert refused.value.field == "interval"
        return
    windows = windows_of(name, "day", interval=interval)
    panes = windows.panes
    assert panes.size == pane * MINUTE
    assert panes.size % interval == 0
    assert {*(windows.start(np.arange(3000, 30_000)) % panes.size).tolist()} == {0}
    assert all(ahead % panes.size == 0 for _, ahead in zone(name).offsets)
    shorter = range(QUARTER, panes.size, interval)
    common = [*(ahead for _, ahead in zone(name).offsets), DAY]
    assert not any(p % interval == 0 and all(c % p == 0 for c in common) for p in shorter)


@pytest.mark.parametrize(
    ("unit", "offset", "problem"),
    [
        ("day", DAY, "offset: is no less than a day"),
        ("day", -QUARTER, "offset: is no less than a day"),
        ("month", 28 * DAY, "offset: is no less than a month"),
        ("day", MINUTE, "offset: leaves bounds that are no whole quarters of an hour"),
    ],
)
def test_an_offset_that_makes_no_sense_is_refused(unit: Unit, offset: int, problem: str) -> None:
    with pytest.raises(InvalidSetting, match=problem):
        windows_of("Europe/Paris", unit, offset, interval=MINUTE)


def test_a_month_may_begin_on_the_fifteenth() -> None:
    windows = windows_of("Europe/Paris", "month", 14 * DAY)
    october = windows.start((2024 - 1970) * 12 + 9)
    begins = (EPOCH + timedelta(milliseconds=october)).astimezone(clock_of("Europe/Paris"))
    assert (begins.month, begins.day, begins.hour) == (10, 15, 0)


@pytest.mark.parametrize("name", ["Pacific/Apia", "Pacific/Kiritimati"])
def test_a_zone_that_left_out_a_day_has_no_days_to_number(name: str) -> None:
    with pytest.raises(InvalidSetting, match="timezone: leaves out a whole day"):
        windows_of(name, "day")


@given(
    st.sampled_from(["Europe/Paris", "America/Sao_Paulo", "UTC", "Pacific/Apia"]),
    st.sampled_from(UNITS),
    st.integers(1, 100 * DAY) | st.sampled_from([DAY, 7 * DAY, 28 * DAY, 365 * DAY]),
)
def test_a_stretch_touches_as_many_windows_as_is_said_and_some_stretch_does(
    name: str, unit: Unit, length: int
) -> None:
    assume(exist(name, unit))
    windows = windows_of(name, unit)
    starts = windows.start(np.arange(*(windows.newest(t) for t in (0, 130 * 366 * DAY))))
    ends = windows.end_of(starts)
    assert most_touched(starts, ends - 1, length) == windows.touching(length)
    aligned = [most_touched(starts, begin, length) for begin in (starts, ends - length)]
    assert max(aligned) == windows.touching_in_line(length)
    assert windows.touching(length) - windows.touching_in_line(length) in {0, 1}
    in_a_row = -(-length // QUARTER)
    by_slots = most_touched(starts, ends - QUARTER, in_a_row * QUARTER)
    assert windows.holding(in_a_row) == by_slots


def most_touched(starts: Integers, begin: Integers, length: int) -> int:
    """Of the windows with these starts, by stretches of this length that begin so."""
    begin = begin[(begin >= starts[1]) & (begin + length < starts[-1])]
    first = np.searchsorted(starts, begin, side="right")
    last = np.searchsorted(starts, begin + length - 1, side="right")
    return int((last - first).max()) + 1


@settings(max_examples=max(30, settings().max_examples // 20))
@given(st.sampled_from(["Europe/Paris", "UTC"]), st.integers(1, 40))
def test_shares_are_those_of_every_place_to_begin(name: str, readings: int) -> None:
    windows = windows_of(name, "day", interval=HOUR)
    starts = windows.start(np.arange(18_000, 18_400))
    slots = ((windows.end_of(starts) - starts) // HOUR).tolist()
    every = set()
    for nth in range(len(slots) - 3):
        for begin in range(slots[nth]):
            left, shares = readings, []
            for window, more in enumerate(slots[nth : nth + 3]):
                shares.append(min(left, more - begin if window == 0 else more))
                left -= shares[-1]
            every.add(tuple(share for share in shares if share))
    found = {tuple(shares) for shares in windows.shares(readings)}
    assert found == every if readings > 23 else found >= every
    assert all(sum(shares) == readings for shares in found)
    assert windows.readings(2.5 * HOUR) == 4


@given(st.sampled_from(ZONES), st.sampled_from(UNITS), st.integers(1, 9))
def test_runs_of_windows_are_over_when_it_is_said(name: str, unit: Unit, count: int) -> None:
    """A ledger record says with two numbers until when any bucket's windows may last."""
    assume(exist(name, unit))
    windows = windows_of(name, unit)
    runs = np.arange(-1, windows.newest(300 * 366 * DAY) // count)
    ends = windows.end((runs + 1) * count - 1)
    said = runs * windows.ahead(count) + windows.reach(count)
    assert (ends <= said).all()
    assert (said - ends).max() < 6 * DAY + windows.lasting(1)
    numbers = np.arange(1000, 1100)
    assert windows.bucket_of(windows.start(numbers), count).tolist() == (numbers // count).tolist()


def test_windows_of_other_bounds_are_told_apart() -> None:
    marks = [
        windows_of(name, unit, offset).mark
        for name, unit, offset in [
            *(("Europe/Paris", unit, 0) for unit in UNITS),
            ("Europe/London", "day", 0),
            ("UTC", "day", 0),
            ("Europe/Paris", "day", 6 * HOUR),
        ]
    ]
    assert len({*marks}) == len(marks)
    assert windows_of("Europe/Paris", "day").mark == windows_of("Europe/Paris", "day").mark
    assert 0 < min(marks) <= max(marks) < 2**31


# Where the numbers come from.


@given(
    st.sampled_from(ZONES),
    st.datetimes(datetime(YEARS.start, 1, 1), datetime(YEARS.stop - 1, 12, 31)),  # noqa: DTZ001
)
def test_clocks_are_as_far_ahead_as_the_data_say(name: str, moment: datetime) -> None:
    moment = moment.replace(tzinfo=UTC, microsecond=0)
    time, ahead = milliseconds(moment), moment.astimezone(clock_of(name)).utcoffset()
    _, said = [one for one in zone(name).offsets if one[0] <= time][-1]
    assert timedelta(milliseconds=said) == ahead


def test_no_zone_is_known_by_another_name() -> None:
    for name in ("Mars/Olympus", "europe/paris", "../zones", "", "Europe", "Europe/Paris\0"):
        with pytest.raises(InvalidSetting, match="timezone: is not a known time zone"):
            zone(name)
    assert {*ZONES} <= names()


def test_a_zone_that_never_changes_is_one_number() -> None:
    assert zone("UTC") == Zone("UTC", ((milliseconds(datetime(YEARS.start, 1, 1, tzinfo=UTC)), 0),))
    assert get_args(Unit) == UNITS


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_every_zone_there_is_has_panes(unit: Unit) -> None:
    refused = []
    for name in sorted(names()):
        try:
            assert windows_of(name, unit).panes.size == QUARTER
        except InvalidSetting as error:
            refused.append((name, error.field))
    assert {field for _, field in refused} <= ({"timezone"} if unit == "day" else set())
    assert len(refused) <= 7
