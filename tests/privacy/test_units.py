from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.errors import InvalidSetting
from meteragent.privacy.exact import decimal
from meteragent.privacy.units import (
    BASE,
    LITRE_AN_HOUR,
    SIZES,
    VAR,
    Measured,
    duration,
    format_duration,
    format_watts,
    watts,
    whole,
)

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("15m", HOUR // 4),
        ("10s", 10_000),
        ("250ms", 250),
        ("24h", 24 * HOUR),
        ("7d", 168 * HOUR),
        ("1h30m", HOUR * 3 // 2),
        ("1.5h", HOUR * 3 // 2),
        ("1h 30m", HOUR * 3 // 2),
        ("0.5s", 500),
        ("900000 ms", HOUR // 4),
        ("1m5ms", 60_005),
        ("0s", 0),
    ],
)
def test_a_duration_is_read_to_the_millisecond(text: str, milliseconds: int) -> None:
    assert duration("window", text) == milliseconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "m",
        "15",
        "15M",
        "1H",
        "-1s",
        "+1s",
        "1m1h",
        "1m1m",
        " 5s",
        "5s ",
        "5s\n",
        "1.s",
        "1e3s",
        "1_0s",
        "٣s",
        "0.0001s",
        "nan",
        "1min",
        15,
        Decimal(15),
        None,
        True,
        ["15m"],
    ],
)
def test_what_is_no_duration_is_refused_and_never_echoed(text: object) -> None:
    with pytest.raises(InvalidSetting) as refused:
        duration("window", text)
    assert refused.value.field == "window"
    assert refused.value.problem in {"is not a duration", "is finer than a millisecond"}


@given(st.integers(0, 10**15))
def test_a_written_duration_reads_back(milliseconds: int) -> None:
    assert duration("window", format_duration(milliseconds)) == milliseconds


@pytest.mark.parametrize(
    ("value", "power"),
    [
        ("24kW", 24_000),
        ("10W", 10),
        ("0.5kW", 500),
        ("-3.68 kW", -3_680),
        ("1.5MW", 1_500_000),
        ("412.5", Decimal("412.5")),
        (10, 10),
        (Decimal("0.1"), Decimal("0.1")),
    ],
)
def test_a_power_is_read_exactly(value: Decimal | int | str, power: Decimal | int) -> None:
    assert watts("maximum", value) == power


@pytest.mark.parametrize(
    "value",
    [
        "",
        "kW",
        "24KW",
        "24kw",
        "24 k W",
        "10 watts",
        "10W\n",
        "1e3W",
        "inf",
        "NaN",
        "1e99999999",
        "0.0000000000001W",
        "999999999999999MW",
        0.5,
        None,
        True,
        [],
    ],
)
def test_what_is_no_power_is_refused(value: str) -> None:
    with pytest.raises(InvalidSetting, match=r"^maximum: "):
        watts("maximum", value)


@given(
    st.decimals(min_value=Decimal(-(10**12)), max_value=Decimal(10**12), allow_nan=False, places=9)
)
def test_a_written_power_reads_back(power: Decimal) -> None:
    assert watts("maximum", format_watts(power)) == power
    for base in BASE.values():
        assert watts("maximum", format_watts(power, base), base) == power


@pytest.mark.parametrize(
    ("value", "base", "amount"),
    [
        *(("3m3/h", LITRE_AN_HOUR, 3000), ("0.5 m3/h", LITRE_AN_HOUR, 500), ("7", VAR, 7)),
        *(("-5kvar", VAR, -5000), ("1Mvar", VAR, 10**6), ("10l/h", LITRE_AN_HOUR, 10)),
    ],
)
def test_what_is_no_power_is_read_in_its_own_units(value: str, base: str, amount: int) -> None:
    assert watts("radius", value, base) == amount


@given(st.sampled_from(sorted(SIZES)), st.sampled_from(sorted(SIZES)), st.data())
def test_no_unit_is_taken_for_one_of_another_quantity(
    ours: Measured, theirs: Measured, data: st.DataObject
) -> None:
    unit = data.draw(st.sampled_from([*SIZES[theirs]]))
    if ours == theirs:
        assert watts("radius", f"2{unit}", BASE[ours]) == 2 * SIZES[ours][unit]
    else:
        with pytest.raises(InvalidSetting, match=r"^radius: is not a "):
            watts("radius", f"2{unit}", BASE[ours])


@pytest.mark.parametrize(
    ("power", "text"),
    [("24000", "24kW"), ("2E+6", "2MW"), ("-10", "-10W"), ("0.50", "0.5W"), ("0E+9", "0W")],
)
def test_a_power_is_written_in_its_largest_whole_unit(power: str, text: str) -> None:
    assert format_watts(Decimal(power)) == text


@pytest.mark.parametrize(("value", "number"), [(7, 7), ("5000", 5000), (0, 0), (-1, -1)])
def test_a_whole_number_may_be_written_as_its_digits(value: object, number: int) -> None:
    assert whole("port", value) == number


@pytest.mark.parametrize("value", [True, "1.0", "", "1" * 19, Decimal(1), 1.0, None, "٣"])
def test_what_is_no_whole_number_is_refused(value: object) -> None:
    with pytest.raises(InvalidSetting, match=r"^port: is not a whole number"):
        whole("port", value)


@pytest.mark.parametrize("text", ["1e99999999", "-1e99999999", "1e-99999999", "1e-1000030"])
def test_a_short_text_for_a_monstrous_number_is_refused_at_once(text: str) -> None:
    with pytest.raises(InvalidSetting):
        decimal("epsilon", text)
