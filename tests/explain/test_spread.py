"""What a reader makes of the layers of a group holds as often as said, and agrees with itself."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from meteragent.errors import InvalidSetting
from meteragent.explain.explain import explain
from meteragent.explain.guarantee import Guarantee
from meteragent.explain.spread import Spread, falling, spread
from meteragent.privacy.domain import Domain
from meteragent.privacy.group import GroupPolicy, PerHome
from meteragent.privacy.question import question
from tests.given import HOUR, MINUTE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from meteragent.privacy.arrays import Integers

HOMES = 200
POLICY = GroupPolicy(
    domain=Domain(-100_000, 1_000_000, 10),
    questions=(question("layers(500W)", 1, 1000),),
    size=15 * MINUTE,
    interval=15 * MINUTE,
    hop=15 * MINUTE,
    grace=0,
    idle=0,
    budget=2**40,
    horizon=24 * HOUR,
    presence="private",
    homes=PerHome(Decimal(-2000), Decimal(10_000), MINUTE),
)
[ASKED] = POLICY.questions
[LAYERS] = POLICY.layers
FALLING = st.lists(st.integers(-20, 20), min_size=1, max_size=8)


def drawn(levels: Integers, seed: int | None) -> list[float]:
    """Released layers of homes that draw so many levels; None: without noise."""
    sums = np.array([int(layer.sum()) for layer in LAYERS.of(levels)]) * 10.0
    if seed is not None:
        draw, alpha = np.random.default_rng(seed), np.exp(-ASKED.nano * 10 / 1e9)
        one, other = draw.geometric(1 - alpha, (2, len(sums)))
        sums += 10.0 * (one - other)
    return np.clip(sums, -100_000, 1_000_000).tolist()  # type: ignore[no-any-return]


def loads(seed: int) -> Integers:
    draw = np.random.default_rng(seed)
    watts = np.clip(draw.lognormal(6.3, 1.2, HOMES) - 300, -2000, 10_000)
    return (np.rint(watts / 10) + 200).astype(np.int64)


def is_true(said: Spread, levels: Integers) -> bool:
    """Whether all bounds hold, of thresholds and of quantiles."""
    watts = 10 * levels - 2000
    above = [int((watts > threshold).sum()) for threshold in said.thresholds]
    ends = zip(said.low, above, said.high, strict=True)
    whole = all(low - 1e-6 <= count <= high + 1e-6 for low, count, high in ends)
    for share in (0.1, 0.5, 0.9, 1.0):
        true = np.sort(watts)[max(int(np.ceil(share * len(watts) - 1e-9)) - 1, 0)]
        low, _, high = said.quantile(share)
        whole &= low - 1e-6 <= true <= high + 1e-6
    return whole


@given(st.lists(st.integers(0, 1200), min_size=1, max_size=30))
def test_without_noise_bounds_hold_of_every_group(levels: Sequence[int]) -> None:
    homes = np.array(levels)
    sure = replace(POLICY, questions=(question("layers(500W)", 50, 10),))
    said = spread(np.array(drawn(homes, None)), sure, sure.questions[0], len(homes), 0.5)
    assert is_true(said, homes)
    assert said.thresholds.tolist() == [500.0 * n - 2000 for n in range(25)]


def test_homes_are_between_the_bounds_as_often_as_said() -> None:
    """All of a window at once. 200 windows at 0.9: 167 true ones or fewer in one of 500 runs."""
    right = sum(
        is_true(spread(np.array(drawn(loads(n), n)), POLICY, ASKED, HOMES, 0.9), loads(n))
        for n in range(200)
    )
    assert right > 167


def test_half_the_noise_that_there_is_would_not_do() -> None:
    sure = replace(POLICY, questions=(question("layers(500W)", 4, 1000),))
    right = sum(
        is_true(spread(np.array(drawn(loads(n), n)), sure, sure.questions[0], HOMES, 0.9), loads(n))
        for n in range(200)
    )
    assert right <= 167


@given(st.integers(0, 500))
def test_what_is_said_agrees_with_itself(seed: int) -> None:
    said = spread(np.array(drawn(loads(seed), seed)), POLICY, ASKED, HOMES, 0.5)
    for column in (said.low, said.guess, said.high):
        assert (np.diff(column) <= 1e-9).all()
    assert (said.low <= said.guess + 1e-9).all()
    assert (said.guess <= said.high + 1e-9).all()
    found = [said.quantile(share) for share in (0.0, 0.2, 0.5, 0.8, 1.0)]
    assert found == sorted(found)
    assert all(low <= guess <= high for low, guess, high in found)


@given(FALLING)
def test_the_nearest_falling_numbers_are_those_of_the_textbook(values: list[int]) -> None:
    expected = optimize.isotonic_regression(np.array(values, dtype=float), increasing=False).x
    assert falling(np.array(values, dtype=np.float64)) == pytest.approx(expected)


@given(FALLING, FALLING)
def test_numbers_near_falling_ones_stay_as_near(values: list[int], others: list[int]) -> None:
    size = min(len(values), len(others))
    truth = np.sort(np.array(others[:size], dtype=np.float64))[::-1]
    given_ = np.array(values[:size], dtype=np.float64)
    assert np.abs(falling(given_) - truth).max() <= np.abs(given_ - truth).max() + 1e-9


def test_layers_that_do_not_fit_the_range_of_sums_are_refused() -> None:
    with pytest.raises(InvalidSetting, match="maximum: cuts off layers of 2001 homes"):
        spread(np.zeros(24), POLICY, ASKED, 2001)


def test_a_policy_says_how_many_layers_it_releases_and_that_they_cost_one_answer() -> None:
    [layers] = explain(Guarantee("", POLICY, Decimal(1000))).answers
    assert (layers.query, layers.outputs) == ("layers(500W)", 24)
    [charge] = POLICY.charges
    assert charge.cost == ASKED.nano
