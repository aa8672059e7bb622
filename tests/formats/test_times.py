"""Times: columns say what each time says, and each says what the standard library says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.errors import InvalidSetting
from meteragent.formats.json_one import milliseconds
from meteragent.formats.times import TimeFormat, zone_of

DAY = "%d/%m/%Y %H:%M:%S"
ZONES = ("UTC", "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu")
FORMS = (
    *("iso", "unix", "unix_ms", DAY, "%Y-%m-%d", "%Y%m%d%H%M", "%m/%d/%Y %I:%M %p", "%d.%m.%Y %H"),
    *("%d %b %Y %H:%M:%S", "%H:%M:%S %d/%m/%Y", "%Y-%m-%dT%H:%M:%S%z", "%%%Y-%m-%d", "%H:%M"),
)
# Hours around changes of the clock, leap days and the ends of time among all others.
SECONDS = st.one_of(
    st.integers(0, 253_402_300_799),
    st.integers(1_351_380_000, 1_351_400_000),
    st.integers(1_364_690_000, 1_364_700_000),
    st.integers(951_700_000, 951_900_000),
    st.integers(0, 100_000),
)


def written(form: str, second: int) -> str:
    moment = datetime.fromtimestamp(second, UTC)
    if form in {"unix", "unix_ms"}:
        return str(second * (1000 if form == "unix_ms" else 1))
    return moment.isoformat()[:19] if form == "iso" else moment.strftime(form)


def one_by_one(time_format: TimeFormat, texts: list[str]) -> list[int | None]:
    def one(text: str) -> int | None:
        try:
            return time_format.one(text)
        except (ValueError, OverflowError):
            return None

    return [one(text) for text in texts]


@given(
    form=st.sampled_from(FORMS),
    zone=st.sampled_from(ZONES),
    seconds=st.lists(SECONDS, min_size=1, max_size=20),
    spoiled=st.none() | st.tuples(st.integers(0, 19), st.integers(0, 24), st.characters()),
    suffix=st.sampled_from(["", "", "", "Z", "+02:00", "-03:30", ".5", ".123456Z", ".25+05:45"]),
)
def test_a_column_says_what_each_of_its_times_says_or_nothing(
    form: str,
    zone: str,
    seconds: list[int],
    spoiled: tuple[int, int, str] | None,
    suffix: str,
) -> None:
    time_format = TimeFormat(form, zone_of(zone))
    texts = [written(form, second) + suffix for second in seconds]
    if spoiled:
        row, at, character = spoiled[0] % len(texts), spoiled[1], spoiled[2]
        texts[row] = texts[row][:at] + character + texts[row][at + 1 :]
    column = time_format.column([text.encode() for text in texts])
    assert column is None or column.tolist() == one_by_one(time_format, texts)


@pytest.mark.parametrize("form", ["iso", "unix", "unix_ms", DAY, "%Y%m%d%H%M", "%Y-%m-%d"])
@pytest.mark.parametrize("zone", ZONES)
def test_common_columns_are_read_at_once(form: str, zone: str) -> None:
    seconds = range(1_351_300_000, 1_351_500_000, 977)
    time_format = TimeFormat(form, zone_of(zone))
    texts = [written(form, second) for second in seconds]
    column = time_format.column([text.encode() for text in texts])
    assert column is not None
    assert column.tolist() == one_by_one(time_format, texts)


@given(st.integers(0, 253_402_300_799), st.sampled_from(["Z", "+00:00", ".999Z", ".0009-11:45"]))
def test_iso_times_with_a_zone_mean_what_they_mean_in_json(second: int, suffix: str) -> None:
    text = written("iso", second) + suffix
    try:
        expected = milliseconds(text)
    except ValueError:
        expected = None
    assert one_by_one(TimeFormat(), [text]) == [expected]
    column = TimeFormat().column([text.encode()])
    assert (None if column is None else column.tolist()) == (
        None if expected is None else [expected]
    )


@given(st.sampled_from(ZONES), st.integers(0, 4_000_000_000))
def test_local_times_are_those_of_their_zone(name: str, second: int) -> None:
    zone = ZoneInfo(name)
    local = (datetime(1970, 1, 2, tzinfo=UTC) + timedelta(seconds=second)).replace(tzinfo=None)
    expected = int(local.replace(tzinfo=zone).timestamp() * 1000)
    column = TimeFormat("iso", zone).column([local.isoformat().encode()])
    assert column is not None
    assert column.tolist() == [expected]


@pytest.mark.parametrize(
    ("form", "zone", "text", "expected"),
    [
        ("iso", "UTC", "2012-01-05 00:15", 1_325_722_500_000),
        ("iso", "UTC", "2012-01-05 00:15+00:15", 1_325_721_600_000),
        ("iso", "UTC", " 2012-01-05T00:15:00.5 ", 1_325_722_500_500),
        ("iso", "Europe/Paris", "2012-01-05T00:15:00", 1_325_718_900_000),
        ("iso", "Europe/Paris", "2012-01-05T00:15:00Z", 1_325_722_500_000),
        ("unix", "UTC", "1325722500", 1_325_722_500_000),
        ("unix", "UTC", "1325722500.0019", 1_325_722_500_001),
        ("unix_ms", "UTC", "1325722500001.9", 1_325_722_500_001),
        ("unix_ms", "UTC", "+0", 0),
        (DAY, "UTC", "5/1/2012 0:15:00", 1_325_722_500_000),
        ("%m/%d/%Y %I:%M %p", "UTC", "1/5/2012 12:15 AM", 1_325_722_500_000),
        (DAY, "Europe/Paris", "28/10/2012 02:30:00", 1_351_384_200_000),  # the first of the two
    ],
)
def test_times_as_exports_write_them(form: str, zone: str, text: str, expected: int) -> None:
    time_format = TimeFormat(form, zone_of(zone))
    assert time_format.one(text) == expected
    column = time_format.column([text.encode()] * 2)
    assert column is None or column.tolist() == [expected] * 2


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("iso", ""),
        ("iso", "2012-01-05"),
        ("iso", "2012-13-05T00:00:00Z"),
        ("iso", "1969-12-31T23:59:59Z"),
        ("iso", "2012-01-05T24:00:00Z"),
        ("iso", "2012-01-05T00:00:60Z"),
        ("unix", "1e9"),
        ("unix", "1_325_722_500"),
        ("unix", "-1"),
        ("unix", "9" * 30),
        ("unix", "\u0661"),
        ("unix_ms", "nan"),
        (DAY, "30/02/2012 00:00:00"),
        (DAY, "01/01/1969 00:00:00"),
        (DAY, "01-01/2012 00:00:00"),
        (DAY, "0x/01/2012 00:00:00"),
        (DAY, "01/01/2012 24:00:00"),
        (DAY, "00/01/2012 00:00:00"),
    ],
)
def test_what_is_no_time_is_refused(form: str, text: str) -> None:
    assert one_by_one(TimeFormat(form), [text]) == [None]
    assert TimeFormat(form).column([text.encode()]) is None


def test_a_column_of_different_widths_is_left_to_the_judge() -> None:
    assert TimeFormat(DAY).column([b"05/01/2012 00:00:00", b"5/1/2012 00:00:00"]) is None


def test_offsets_are_looked_up_once() -> None:
    time_format = TimeFormat(DAY, zone_of("Europe/Paris"))
    texts = [b"05/01/2012 00:00:00"] * 3
    first, again = time_format.column(texts), time_format.column(texts)
    assert first is not None
    assert again is not None
    assert np.array_equal(first, again)


def test_a_form_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="time_format"):
        TimeFormat("dd/mm/yyyy")


@pytest.mark.parametrize("name", ["Mars/Phobos", "", "../etc/passwd", "Europe"])
def test_a_zone_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InvalidSetting, match="timezone"):
        zone_of(name)


@pytest.mark.parametrize("form", ["unix", "unix_ms", "auto"])
@pytest.mark.parametrize("number", [-(2**63), 2**63 - 1, -1, 2**54])
def test_numbers_that_a_thousand_times_are_none_are_no_times(form: str, number: int) -> None:
    assert TimeFormat(form).figures([number]) is None
