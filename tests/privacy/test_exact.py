from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.errors import InvalidSetting, NotExact
from meteragent.privacy.exact import NANO, decimal, nano


@pytest.mark.parametrize("value", [Decimal("0.1"), "0.1", "1e-1", "0.100"])
def test_a_decimal_is_read_as_it_is_written(value: Decimal | str) -> None:
    assert decimal("step", value) == Fraction(1, 10)
    assert decimal("step", 7) == 7


@pytest.mark.parametrize("value", [0.1, 10.0, True, None, np.float64(1), b"1", [1]])
def test_a_float_is_refused_however_round_it_looks(value: object) -> None:
    for read in (decimal, nano):
        with pytest.raises(NotExact) as refused:
            read("budget", value, example="1.5")  # type: ignore[arg-type]
        assert refused.value.field == "budget"
        assert refused.value.instead == 'write it as a string, for example "1.5"'


@pytest.mark.parametrize(
    "value", ["NaN", "sNaN", "inf", "-Infinity", "ten", "", "1 000", "1e15", "-1e999999", 10**15]
)
def test_what_is_no_finite_number_is_refused(value: str | int) -> None:
    for read in (decimal, nano):
        with pytest.raises(InvalidSetting, match=r"^step: not a finite decimal.*write") as refused:
            read("step", value)
        assert refused.value.field == "step"


@pytest.mark.parametrize("value", ["1e-13", "0.3333333333333333333333333333", "10.0000000000001"])
def test_a_setting_too_fine_for_exact_arithmetic_is_refused(value: str) -> None:
    with pytest.raises(InvalidSetting, match=r"^step: has more than 12 decimal places; write"):
        decimal("step", value)


@pytest.mark.parametrize("value", ["0", "-1", "0.0000000009999", "-0.000000001", "1e-999999"])
def test_a_loss_of_nothing_or_less_is_refused(value: str) -> None:
    with pytest.raises(InvalidSetting, match=r"^epsilon: must be positive.*write") as refused:
        nano("epsilon", value)
    assert refused.value.instead == 'write for example "0.01"'


@given(st.integers(1, 10**50), st.integers(0, 60))
def test_nano_units_are_rounded_down_however_many_digits_there_are(
    digits: int, places: int
) -> None:
    number = Fraction(digits, 10**places)
    text = f"{digits}e-{places}"
    if Fraction(1, NANO) <= number < 10**15 - 1:
        assert nano("epsilon", text) == math.floor(number * NANO)


def test_nines_beyond_what_decimals_keep_do_not_round_up() -> None:
    assert nano("epsilon", "0.00" + 40 * "9") == 9_999_999


def test_ten_tenths_are_exactly_one() -> None:
    assert sum(nano("epsilon", "0.1") for _ in range(10)) == nano("budget", "1")
