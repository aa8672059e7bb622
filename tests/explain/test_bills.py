"""Sums of many releases are as sure as is said, and smoothing helps where noise is large."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from meteragent import Domain
from meteragent.config.zones import zone
from meteragent.errors import InvalidSetting
from meteragent.explain.bills import SMOOTHING, _forth_and_back, bill, smoothed, sum_quantile
from meteragent.explain.explain import answers
from meteragent.privacy.calendar import Calendar
from meteragent.privacy.joint import marginal, radii
from meteragent.privacy.question import question
from tests.given import DAY, HOUR, policy

if TYPE_CHECKING:
    from meteragent.privacy.policy import Policy


def asking(radius: float, *names: str, step: str = "1", noise: str = "independent") -> Policy:
    changes: dict[str, Any] = {"noise": noise, "interval": HOUR, "size": HOUR}
    asked = tuple(question(name, 1, str(radius)) for name in names)
    return policy(domain=Domain(0, 24_000, step), questions=asked, **changes)


@pytest.mark.parametrize("windows", [1, 2, 7, 30])
@pytest.mark.parametrize("share", [0.5, 0.95, 0.999])
def test_a_sum_of_noise_is_off_as_two_gammas_are(windows: int, share: float) -> None:
    """A sum of Laplace noise is the difference of two gammas; the grid is fine beside it.

    `P(G - H > x)` is a sum over how many of H's parts have passed when all of G's are left.
    """
    said = sum_quantile(asking(200, "avg"), asking(200, "avg").questions[0], windows, share) / 200

    def beyond(x: float) -> float:
        return 2.0 * float(
            sum(
                math.comb(windows - 1 + k, k)
                * 0.5 ** (windows + k)
                * stats.gamma.sf(x, windows - k)
                for k in range(windows)
            )
        )

    assert beyond(said + 0.02) < 1 - share < beyond(said - 0.02)


def test_one_window_is_off_by_three_scales_and_many_by_their_deviations() -> None:
    of = asking(100, "avg")
    one, many = (sum_quantile(of, of.questions[0], count, 0.95) for count in (1, 2000))
    assert one == pytest.approx(math.log(20) * 100, abs=2)
    assert many == pytest.approx(1.96 * math.sqrt(2 * 2000) * 100, rel=0.002)
    assert sum_quantile(of, of.questions[0], 0, 0.95) == 0


def test_so_many_windows_that_their_sum_is_normal_are_as_sure_as_one_less() -> None:
    of = asking(100, "avg")
    few, many = (sum_quantile(of, of.questions[0], count, 0.95) for count in (10_000, 10_001))
    assert few == pytest.approx(many, rel=0.001)


def test_a_month_is_said_of_averages_that_do_not_overlap() -> None:
    def months(of: Policy) -> list[float | None]:
        return [answer.month for answer in answers(of)]

    of = asking(100, "avg", "max")
    assert months(of) == [sum_quantile(of, of.questions[0], 720, 0.95) / 720, None]
    assert months(replace(of, size=2 * HOUR)) == [None, None]
    long = replace(of, size=60 * DAY, hop=60 * DAY, interval=DAY, horizon=60 * DAY)
    assert months(long)[0] == pytest.approx(math.log(20) * 100, abs=2)


def test_next_to_no_noise_is_off_by_nothing() -> None:
    of = asking(0.1, "avg")
    assert sum_quantile(of, of.questions[0], 3, 0.9) == 0


def test_joint_noise_adds_up_by_the_law_of_one_answer() -> None:
    of = asking(20, "avg", "max", "min", noise="joint")
    law = marginal(radii(0.05, 3))
    draw = np.random.default_rng(1)
    both = np.concatenate([law[:0:-1], law])
    sums = (draw.choice(len(both), (200_000, 5), p=both / both.sum()) - len(law) + 1).sum(axis=1)
    said = sum_quantile(of, of.questions[0], 5, 0.9)
    held = (np.abs(sums) <= said).mean()
    assert held == pytest.approx(0.9, abs=6 * math.sqrt(0.09 / 200_000) + 0.005)


def test_a_bill_adds_up_what_was_released_and_says_how_sure_it_is() -> None:
    of = asking(100, "avg", step="10")
    watts = np.array([500.0, np.nan, -120.0, 1000.0])
    said = bill(watts, of, of.questions[0])
    off = sum_quantile(of, of.questions[0], 3, 0.95) / 1000
    assert said.kilowatt_hours == pytest.approx(1.38)
    assert (said.low, said.high) == pytest.approx((1.38 - off, 1.38 + off))
    assert said.windows == 3


def test_bills_hold_the_truth_as_often_as_they_say() -> None:
    """Of 4000 weeks of days; beyond six standard deviations is one run in 10**9."""
    of = asking(100, "avg", step="5")
    draw = np.random.default_rng(2)
    noise = 5.0 * (
        draw.geometric(1 - math.exp(-0.05), (4000, 7))
        - draw.geometric(1 - math.exp(-0.05), (4000, 7))
    )
    held = 0
    for week in noise:
        said = bill(300 + week, of, of.questions[0], 0.9)
        held += said.low <= 2.1 <= said.high
    assert held / 4000 == pytest.approx(0.9, abs=6 * math.sqrt(0.09 / 4000))


# Smoothing.


def lived(windows: int, draw: np.random.Generator) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A load that comes back to 500 W, and keeps nine tenths of its distance each window."""
    off, course = 0.0, np.empty(windows)
    for window in range(windows):
        off = 0.9 * off + draw.normal(scale=300 * math.sqrt(1 - 0.81))
        course[window] = 500 + off
    return course


def test_smoothing_takes_off_what_the_neighbours_know() -> None:
    draw = np.random.default_rng(3)
    truth = lived(3000, draw)
    for radius, share in ((10, 1.05), (300, 0.6), (1000, 0.4)):
        of = asking(radius, "avg")
        seen = truth + draw.laplace(scale=radius, size=len(truth))
        said = smoothed(seen, of, of.questions[0])
        error = np.abs(said.watts - truth).mean() / np.abs(seen - truth).mean()
        assert error < share
        assert said.warning == SMOOTHING


def test_what_was_smoothed_is_wrong_in_sums() -> None:
    """A day of 3 kW among usual ones of 500 W is pulled towards them: `unbiased` is not."""
    draw = np.random.default_rng(4)
    truth = lived(3000, draw)
    truth[1000:1024] = 3000
    of = asking(2000, "avg")
    pulled, kept = [], []
    for _ in range(40):
        seen = truth + draw.laplace(scale=2000, size=len(truth))
        watts = smoothed(seen, of, of.questions[0]).watts
        pulled.append((watts - truth)[1000:1024].mean())
        kept.append((seen - truth)[1000:1024].mean())
    assert np.mean(pulled) < -300
    assert abs(np.mean(kept)) < 6 * 2000 * math.sqrt(2 / 24 / 40)


@pytest.mark.parametrize("stays", [0.0, 0.4, 0.95])
def test_smoothing_is_what_follows_from_all_windows_at_once(stays: float) -> None:
    """Of a level that keeps this share of its distance, and normal noise: worked out whole."""
    draw = np.random.default_rng(6)
    spread, noise = 300.0**2, 200.0**2
    for count in (1, 2, 3, 9):
        off, there = draw.normal(scale=300, size=count), draw.random(count) < 0.7
        apart = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
        alike = spread * stays**apart
        told = alike[np.ix_(there, there)] + noise * np.eye(there.sum())
        expected = alike[:, there] @ np.linalg.solve(told, off[there])
        found = _forth_and_back(np.where(there, off, 0.0), there, spread, stays, noise)
        assert np.allclose(found, expected)


def test_gaps_are_bridged_and_nothing_comes_of_nothing() -> None:
    draw = np.random.default_rng(5)
    truth = lived(2000, draw)
    of = asking(300, "avg")
    seen = truth + draw.laplace(scale=300, size=len(truth))
    seen[::5] = np.nan
    watts = smoothed(seen, of, of.questions[0]).watts
    assert np.abs(watts - truth)[::5].mean() < np.abs(truth - truth.mean()).mean()
    nothing = np.full(4, np.nan)
    assert np.isnan(smoothed(nothing, of, of.questions[0]).watts).all()
    [alone] = smoothed(np.array([700.0]), of, of.questions[0]).watts
    assert alone == 700


def test_months_are_added_up_by_their_own_lengths() -> None:
    """A steady draw of 100 W is 100 W by the hours of each month, summer time and leap day."""
    lengths = Calendar("month", zone("Europe/Paris")).lengths(HOUR, 0)
    home = policy(interval=HOUR, horizon=40 * DAY, **lengths)
    [asked] = home.questions
    starts = home.windows.start(np.arange((2024 - 1970) * 12, (2025 - 1970) * 12))
    year = bill(np.full(12, 100.0), home, asked, starts=starts)
    assert year.kilowatt_hours == pytest.approx(366 * 24 / 10)
    some = bill(np.array([100.0, np.nan, 100.0]), home, asked, starts=starts[:3])
    assert some.kilowatt_hours == pytest.approx((31 * 24 + 31 * 24 - 1) / 10)
    assert some.windows == 2
    off = sum_quantile(home, asked, 2, 0.95) * (31 * 24 + 1) / 1000
    assert (some.high - some.low) / 2 == pytest.approx(off)
    with pytest.raises(InvalidSetting, match="starts: are missing"):
        bill(np.full(12, 100.0), home, asked)


def test_how_much_stays_is_learned_from_neighbours_that_are_both_there() -> None:
    """Gaps next to readings do not make a home look more restless than it is."""
    draw = np.random.default_rng(6)
    of = asking(100, "avg")
    truth = np.repeat(np.tile([500.0, 2500.0], 10), 30)
    seen = truth + draw.laplace(scale=100, size=len(truth))
    seen[::3] = np.nan
    watts = smoothed(seen, of, of.questions[0]).watts
    assert np.abs(watts - truth)[::3].mean() < 330
