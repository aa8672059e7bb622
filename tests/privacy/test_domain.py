from __future__ import annotations

from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent import Domain
from meteragent.errors import InvalidSetting, NotExact
from meteragent.privacy.domain import ABSENT, AT_ONCE
from tests.twins import queries as twin


class Grid(NamedTuple):
    """A domain, and readings in units of a thousandth of its last decimal place."""

    domain: Domain
    unit: Decimal
    low: int
    width: int


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    places = draw(st.integers(0, 3))
    low, width = draw(st.integers(-(10**6), 10**6)), draw(st.integers(1, 500))
    top = draw(st.integers(1, 3000))
    minimum, step = (Decimal(n).scaleb(-places) for n in (low, width))
    domain = Domain(minimum, minimum + top * step, str(step))
    return Grid(domain, Decimal(1).scaleb(-places - 3), low * 1000, width * 1000)


def level(domain: Domain, *readings: str) -> list[int]:
    """As in production: decimal text, to a float, to a level."""
    levels: list[int] = domain.levels(np.array([float(r) for r in readings])).tolist()
    return levels


@given(grids(), st.data())
def test_levels_are_those_of_exact_arithmetic(grid: Grid, data: st.DataObject) -> None:
    domain = grid.domain
    span = domain.top * grid.width
    offsets = data.draw(st.lists(st.integers(-span, 2 * span), min_size=1))
    readings = [(grid.low + offset) * grid.unit for offset in offsets]
    bounds = Fraction(domain.minimum), Fraction(domain.maximum), Fraction(domain.step)
    expected = [twin.level(Fraction(reading), *bounds) for reading in readings]
    assert level(domain, *map(str, readings)) == expected


@given(grids(), st.data())
def test_readings_moved_by_steps_move_by_as_many_levels(grid: Grid, data: st.DataObject) -> None:
    tie = grid.width // 2
    offset = data.draw(st.just(tie) | st.integers(0, grid.width), label="offset")
    steps = st.integers(0, grid.domain.top - 1)
    one, other = data.draw(st.tuples(steps, steps), label="steps")
    readings = [(grid.low + offset + by * grid.width) * grid.unit for by in (one, other)]
    before, after = level(grid.domain, *map(str, readings))
    assert after - before == other - one


@given(grids())
def test_watts_and_back_is_the_same_level(grid: Grid) -> None:
    every = np.arange(grid.domain.top + 1)
    np.testing.assert_array_equal(grid.domain.levels(grid.domain.watts(every)), every)


def test_watts_are_the_nearest_floats_of_the_grid_even_between_levels() -> None:
    domain = Domain("-0.3", "0.7", "0.1")
    assert domain.watts(np.arange(11)).tolist() == [float(f"{n / 10:.1f}") for n in range(-3, 8)]
    assert domain.watts(np.array([0.5, -1.0, 12.0])).tolist() == [-0.25, -0.4, 0.9]


@pytest.mark.parametrize(
    ("domain", "readings", "levels"),
    [
        (Domain(0, 10, 1), ["0.5", "1.5", "2.5", "2.499", "9.5"], [1, 2, 3, 2, 10]),
        (Domain(-10, 10, 1), ["-0.5", "-1.5", "-9.5", "-9.501"], [10, 9, 1, 0]),
        (Domain(0, 1, "0.1"), ["0.05", "0.15", "0.25", "0.35", "0.0499"], [1, 2, 3, 4, 0]),
        (Domain(100, 130, 10), ["105", "115", "104.999"], [1, 2, 0]),
        (Domain(0, 24000, 10), ["412.5", "415", "425"], [41, 42, 43]),
    ],
    ids=["whole", "export", "tenths", "offset", "house"],
)
def test_ties_go_up(domain: Domain, readings: list[str], levels: list[int]) -> None:
    assert level(domain, *readings) == levels


def test_what_is_out_of_range_is_clipped_and_what_is_no_number_is_absent() -> None:
    domain = Domain(-100, 100, 10)
    readings = ["-inf", "-1e300", "-100.1", "nan", "100.1", "1e300", "inf"]
    assert level(domain, *readings) == [0, 0, 0, ABSENT, 20, 20, 20]
    assert level(Domain(50, 60, 1), "nan", "0") == [ABSENT, 0]


def test_levels_keep_the_shape_of_readings() -> None:
    readings = np.array([[0.0, 12.0, np.nan], [3.0, 4.0, 5.0]])
    assert Domain(0, 10, 1).levels(readings).tolist() == [[0, 10, ABSENT], [3, 4, 5]]
    assert Domain(0, 10, 1).levels(np.empty((0, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    ("top", "dtype"),
    [(1, "int8"), (127, "int8"), (128, "int16"), (32767, "int16"), (32768, "int32")],
)
def test_levels_are_held_in_the_smallest_type_that_fits(top: int, dtype: str) -> None:
    domain = Domain(0, top, 1)
    assert domain.dtype == domain.levels(np.array([np.inf])).dtype == dtype
    assert domain.levels(np.array([np.inf, np.nan])).tolist() == [top, ABSENT]


def test_a_domain_is_what_its_settings_say() -> None:
    domain = Domain("-2.50", Decimal(5), "0.5")
    bounds = [domain.minimum, domain.maximum, domain.step]
    assert bounds == [Decimal("-2.5"), Decimal(5), Decimal("0.5")]
    assert domain.top == 15
    assert domain == Domain("-2.5", 5, "0.50")
    assert domain != Domain("-2.5", 5, "0.25")
    with pytest.raises(FrozenInstanceError):
        domain.top = 16  # type: ignore[misc]


@pytest.mark.parametrize(
    ("settings", "field", "problem", "instead"),
    [
        ((0, 10, 0), "step", "positive", '"10"'),
        ((0, 10, -1), "step", "positive", '"10"'),
        ((10, 10, 1), "minimum", "below maximum", '"0"'),
        ((11, 10, 1), "minimum", "below maximum", '"0"'),
        ((0, 10, 3), "step", "does not divide the range of 10 W", '"10"'),
        ((0, 10, "0.03"), "step", "does not divide", '"10"'),
        ((0, 10, 20), "step", "does not divide", '"10"'),
        ((0, "500000.5", "0.5"), "step", "more than 1000000 levels", "larger step"),
        ((0, "1e14", "1e-12"), "step", "more than 1000000 levels", "larger step"),
        ((10**12, 10**12 + 1, "0.001"), "step", "too fine", "fewer decimal places"),
        ((0, 10, 1, 0), "resolution", "positive", 'a whole part of 1, for example "0.1"'),
        ((0, 10, 1, "-0.1"), "resolution", "positive", '"0.1"'),
        ((0, 10, 1, 2), "resolution", "is coarser than the step of 1 W", '"0.1"'),
        ((0, 10, 1, "1.5"), "resolution", "is coarser than the step of 1 W", '"0.1"'),
        ((0, 10, 1, "0.3"), "resolution", "does not divide the step of 1 W", '"0.1"'),
        ((0, 20, 1, "0.00001"), "resolution", "1000000 levels", "larger resolution"),
        ((10**11, 10**11 + 1, 1, "0.01"), "resolution", "too fine", "fewer decimal places"),
        ((0, 10, 1, "a tenth"), "resolution", "not a finite decimal", '"0.1"'),
        (("1e-13", 10, 1), "minimum", "more than 12 decimal places", '"0"'),
        (("-inf", 10, 1), "minimum", "not a finite decimal", '"0"'),
        ((0, "1e30", 1), "maximum", "not a finite decimal", '"24000"'),
        ((0, "NaN", 1), "maximum", "not a finite decimal", '"24000"'),
        ((0, 10, "ten"), "step", "not a finite decimal", '"10"'),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused(
    settings: tuple[str, ...], field: str, problem: str, instead: str
) -> None:
    with pytest.raises(InvalidSetting) as refused:
        Domain(*settings)
    assert refused.value.field == field
    assert problem in refused.value.problem
    assert instead in refused.value.instead


@pytest.mark.parametrize("field", ["minimum", "maximum", "step", "resolution"])
def test_no_setting_of_a_grid_may_be_a_float(field: str) -> None:
    settings = {"minimum": "0", "maximum": "10", "step": "1", field: 1.0}
    with pytest.raises(NotExact, match=f"^{field}: float .* write it as a string"):
        Domain(**settings)  # type: ignore[arg-type]


def test_the_widest_grid_is_accepted() -> None:
    assert Domain(0, 100_000, 1, "0.1").top == Domain(0, 100_000, "0.1").top == 1_000_000


@given(grids(), st.sampled_from([1, 2, 4, 5, 10]), st.data())
def test_levels_on_a_finer_grid_are_whole_steps(
    grid: Grid, finer: int, data: st.DataObject
) -> None:
    coarse = grid.domain
    domain = Domain(coarse.minimum, coarse.maximum, coarse.step, coarse.step / finer)
    assert (domain.finer, domain.top) == (finer, finer * coarse.top)
    span = coarse.top * grid.width
    offsets = data.draw(st.lists(st.integers(-span, 2 * span), min_size=1))
    readings = [f"{(grid.low + offset) * grid.unit}" for offset in offsets]
    expected = [finer * at for at in level(coarse, *readings)]
    assert level(domain, *readings) == expected
    watts = coarse.watts(np.arange(coarse.top + 1))
    np.testing.assert_array_equal(domain.watts(finer * np.arange(coarse.top + 1)), watts)
    assert level(domain, "nan") == [ABSENT]


def test_levels_of_a_finer_grid_are_parts_of_a_step() -> None:
    domain = Domain(-2, 10, 1, "0.25")
    assert domain.watts(np.array([0, 1, 8, 47])).tolist() == [-2, -1.75, 0, 9.75]
    assert [domain.levels_apart(watts) for watts in (0.1, 1, 1.1, 100)] == [4, 4, 8, 48]
    assert Domain(0, 10, 1, 1) == Domain(0, 10, 1) != Domain(0, 10, 1, "0.5")
    assert domain.dtype == "int8"
    assert Domain(0, 24_000, 1, "0.1").dtype == "int32"


def test_many_readings_are_what_each_is_by_itself() -> None:
    domain = Domain("0", "1000", "10")
    watts = np.random.default_rng(1).uniform(-100, 1100, 2 * AT_ONCE + 17)
    watts[AT_ONCE - 1 : AT_ONCE + 1] = np.nan
    pieces = [domain.levels(watts[at : at + 1]) for at in range(len(watts))]
    assert domain.levels(watts).tolist() == np.concatenate(pieces).tolist()
