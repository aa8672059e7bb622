"""Today's rules hide nothing from one subtraction; noise does, as much as is said."""

from __future__ import annotations

import json

import numpy as np
import pytest

from meteragent.explain.advantage import bound
from simulations.home.street import HOMES
from simulations.kit.command import RESULTS
from simulations.kit.traces import USUAL
from simulations.practice.attack import DAY, Street, by_noise, by_rule, moved_in
from simulations.practice.page import page
from simulations.practice.rules import GRID, RULES, Noisy, at_least, rounded

FOUND = json.loads((RESULTS / "practice.json").read_text("utf-8"))


@pytest.fixture
def street() -> Street:
    lived = np.random.default_rng(3).uniform(100, 900, (110, 2 * DAY))
    return Street(lived, lived * 0.5)


def test_a_rule_publishes_of_enough_homes_that_are_alike_enough() -> None:
    alike = np.ones((16, 4))
    one_large = np.concatenate([alike, np.full((1, 4), 5.0)])
    assert at_least(5)(alike[:4]) is None
    assert at_least(15, 0.15)(one_large) is None
    assert at_least(15, 0.15)(alike) == pytest.approx(np.full(4, 16))
    assert rounded(10, 5)(alike) == pytest.approx(np.full(4, 20))
    assert rounded(10, 5)(alike[:3]) is None


@pytest.mark.parametrize("rule", RULES[:3], ids=lambda rule: rule.name)
def test_exact_sums_are_a_home(street: Street, rule: object) -> None:
    assert isinstance(rule, type(RULES[0]))
    told = by_rule(rule, rule.smallest, street)
    assert told.half_hours == pytest.approx(0, abs=1e-9)
    assert (told.published, told.away.min(), told.error.max()) == (1, 1, 0)


def test_what_is_withheld_tells_nothing(street: Street) -> None:
    told = by_rule(RULES[2], 20, street)
    assert (told.published, told.away.tolist()) == (0, [0.5])


def test_rounding_hides_a_quarter_hour_and_no_week(street: Street) -> None:
    told = by_rule(RULES[3], 16, street)
    assert told.half_hours.mean() > 3 * told.week.mean() > 0
    assert told.away.min() == 1


def test_noise_keeps_its_promise_whatever_is_subtracted(street: Street) -> None:
    """Levels of the grid are rounded up, and the bound of all that they lose is kept."""
    noisy = Noisy(20_000)
    told = by_noise(noisy, 100, street, np.random.default_rng(1))
    moved = np.ceil(np.abs(street.lived - street.empty) / GRID).sum(axis=1).max() / 2 * GRID
    assert 0.5 < told.away.mean() < bound(moved / noisy.radius, GRID / noisy.radius)
    assert told.error[0] == pytest.approx(20_000 / 100 / street.lived.mean(), rel=0.01)
    assert told.half_hours.mean() > 10
    smaller = by_noise(noisy, 10, street, np.random.default_rng(1))
    assert smaller.error == pytest.approx(10 * told.error)


def test_noise_is_as_large_as_is_said() -> None:
    drawn = Noisy(1000).noise((200_000,), np.random.default_rng(2))
    assert np.abs(drawn).mean() == pytest.approx(Noisy(1000).error, rel=0.02)


def test_more_others_hide_somebody_who_moves_in_better(street: Street) -> None:
    assert moved_in(street, 6) < moved_in(street, 101)


def test_the_page_is_that_of_the_results_that_are_kept() -> None:
    """If not: python -m simulations.practice"""
    assert (RESULTS / "practice.md").read_text("utf-8") == page(FOUND["command"], FOUND["results"])
    assert not FOUND["quick"]


def test_a_rule_hides_nothing_and_noise_of_a_day_hides_a_day() -> None:
    rows = FOUND["results"]["rows"]
    exact = [row for row in rows if row["meaning"].startswith("exact")]
    assert all(row["half_hours"]["mean"] < 1e-6 and row["away"]["mean"] == 1 for row in exact)
    widest = [row for row in rows if row["name"] == "noise of 48,000 W"]
    assert all(row["away"]["high"] < 0.6 for row in widest)


def test_the_street_is_that_of_all_pages() -> None:
    found = FOUND["results"]
    assert found["homes"] == HOMES
    assert found["mean_watts"] == pytest.approx(USUAL, rel=0.02)
