"""Every way to publish is what it says, and all face the same attacker."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from meteragent.config.presets import presets
from simulations.compare import __main__ as compare
from simulations.compare.adaptive import QUARTERS, Spending, by_absorption, by_distribution
from simulations.compare.central import homes_for, laplaces, one_draw, ways
from simulations.compare.equal import Equal, equals, feeders, success, told_by_laplace
from simulations.compare.frontier import frontier, task
from simulations.compare.page import page
from simulations.compare.rivals import Task, rivals
from simulations.home.policies import preset
from simulations.kit.command import RESULTS, SEED, Run

if TYPE_CHECKING:
    from pathlib import Path

RIVALS = {rival.name: rival for rival in rivals(quick=True)}


def quick(out: Path) -> Run:
    return Run("compare", SEED, out, quick=True, traces=None, command="")


@pytest.fixture(scope="module")
def hour(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return task(quick(tmp_path_factory.mktemp("hour")), 3600)


def test_every_way_is_in_the_results_that_are_kept() -> None:
    kept = json.loads((RESULTS / "compare.json").read_text("utf-8"))["results"]["frontiers"]
    assert all(found["ways"].keys() == RIVALS.keys() for found in kept.values())


@pytest.mark.slow
def test_a_quick_run_says_the_same_twice(tmp_path: Path) -> None:
    said: list[dict[str, Any]] = []
    drawn: list[list[bytes]] = []
    for name in ("a", "b"):
        run = quick(tmp_path / name)
        compare.simulate(run)
        said.append(run.results)
        drawn.append([(run.out / figure["file"]).read_bytes() for figure in run.figures])
    assert said[0] == said[1]
    assert drawn[0] == drawn[1]
    assert all(len(picture) < 150_000 for picture in drawn[0])
    assert said[0]["frontiers"]["one hour"]["ways"].keys() == RIVALS.keys()


@pytest.mark.parametrize("one", equals(), ids=lambda one: f"{one.preset}, {one.event}")
def test_at_equal_success_our_error_is_laplaces_within_five_percent(one: Equal) -> None:
    assert 0.5 < one.success < 1
    assert one.times <= 1.05


def test_equal_success_is_that_of_draws() -> None:
    """Two versions of a day, an evening of television apart, at every place of the grid."""
    policy = preset("appliances", interval="1m")
    watts, step = 400 / 24, float(policy.domain.resolution)
    draw, many = np.random.default_rng(5), 200_000
    levels = np.floor((draw.uniform(0, step, many)[:, np.newaxis] + [0, watts]) / step + 0.5)
    kept = np.exp(-step * float(policy.questions[0].epsilon))
    noise = draw.geometric(1 - kept, many) - draw.geometric(1 - kept, many)
    truth = draw.integers(0, 2, many)
    seen = levels[np.arange(many), truth] + noise
    near = np.abs(seen[:, np.newaxis] - levels)
    said = np.where(near[:, 0] == near[:, 1], draw.integers(0, 2, many), near.argmin(axis=1))
    assert (said == truth).mean() == pytest.approx(success(policy, watts), abs=0.006)


def test_every_preset_is_compared() -> None:
    names = {one.preset for one in equals()}
    assert names == {*presets(), *presets("groups")}
    assert {*feeders()} == {*presets("groups")}


def test_laplace_noise_in_several_windows_tells_what_trials_show() -> None:
    draw, many, scale, watts, windows = np.random.default_rng(7), 200_000, 300.0, 100.0, 8
    noise = draw.laplace(scale=scale, size=(many, windows))
    speaks = (np.abs(noise + watts) - np.abs(noise)).sum(axis=1)  # for the version that was there
    right = (speaks > 0).mean() + (speaks == 0).mean() / 2
    assert right == pytest.approx(told_by_laplace(scale, watts, windows), abs=0.005)
    assert told_by_laplace(scale, watts, 1) == pytest.approx(1 - np.exp(-watts / 2 / scale) / 2)


def test_one_draw_for_a_feeder_is_ten_times_nearer_from_some_homes_on() -> None:
    least = homes_for(10)
    assert one_draw(least - 1) < 10 <= one_draw(least)
    kept = json.loads((RESULTS / "compare.json").read_text("utf-8"))["results"]["one_draw"]
    assert kept["homes_for_ten"] == least
    program = json.loads((RESULTS / "feeder.json").read_text("utf-8"))["results"]["promises"]
    for by_size in program.values():
        times = {int(size): one["times_less"] for size, one in by_size.items()}
        assert all(times[size] >= 10 for size in times if size > 2 * least)
        # of 1,000 homes there is one feeder, with the noise of a day's quarter hours
        assert all(times[size] == pytest.approx(one_draw(size), rel=0.3) for size in times)


def test_what_was_guessed_is_not_to_be_added_up() -> None:
    kept = json.loads((RESULTS / "compare.json").read_text("utf-8"))["results"]["free"]
    found = kept["quarter_hours"].values()
    assert all(one["guess"]["high"] < 1 for one in found)
    assert any(one["smooth"]["share"] > 1 for one in found)
    assert [one["days_guess"]["low"] > 1 for one in found] == [True] * 4 + [False] * 2
    assert all(one["days_smooth"]["high"] > 0.95 for one in [*found][:5])
    said = (RESULTS / "compare.md").read_text("utf-8")
    assert "up to 500 W" in " ".join(said.split())
    assert all(one["gain"] > 0 for one in kept["order"].values())


def test_one_draw_is_better_by_the_root_of_homes_and_more_standard_noise_is_worse() -> None:
    by_name = {way.name: way for way in ways()}
    local, central = by_name["local, d∞ of 25 W"], by_name["central, d∞ of 25 W"]
    assert local.error(1) == central.error(1)
    assert local.error(1000) / central.error(1000) == pytest.approx((4000 / np.pi) ** 0.5, rel=0.01)
    standard, gaussian = by_name["central, standard"], by_name["central, standard, Gaussian"]
    assert gaussian.error(100) < standard.error(100)
    assert central.error(100) * 24_000 / 25 == pytest.approx(standard.error(100))


@pytest.mark.parametrize("draws", [1, 2, 7])
def test_sums_of_laplace_draws_are_as_large_as_is_said(draws: int) -> None:
    drawn = np.random.default_rng(6).laplace(size=(400_000, draws)).sum(axis=1)
    assert laplaces(draws) == pytest.approx(np.abs(drawn).mean(), rel=0.01)


@pytest.mark.parametrize("way", [by_distribution, by_absorption])
@pytest.mark.parametrize("hours", [1, 5, 24, 60])
def test_spending_that_follows_readings_never_loses_more_in_a_day_than_is_promised(
    way: Spending, hours: int
) -> None:
    """Of a huge step every few hours, which asks for an answer each time."""
    watts = np.tile(np.repeat([0.0, 1e9], 4 * hours), 240 // hours)
    seen, spent = way(watts, 25, np.random.default_rng(3))
    assert (spent > 0).sum() >= len(watts) / (4 * hours) / 8
    days = np.convolve(spent, np.ones(QUARTERS))
    assert days.max() <= 1 / (2 * 25) * (1 + 1e-9)
    assert np.abs(seen).max() > 1e8


def test_the_page_is_that_of_the_results_that_are_kept() -> None:
    """If not: python -m simulations.compare"""
    kept = json.loads((RESULTS / "compare.json").read_text("utf-8"))
    assert (RESULTS / "compare.md").read_text("utf-8") == page(kept["command"], kept["results"])
    assert not kept["quick"]


def test_what_order_takes_off_is_that_of_the_results() -> None:
    kept = json.loads((RESULTS / "noise.json").read_text("utf-8"))["results"]["errors"].values()
    said = " ".join((RESULTS / "compare.md").read_text("utf-8").split())
    for kind, words in (("independent", ""), ("joint", " where one draw is for all answers")):
        gains = [ways[kind]["gain"] for trace in kept for ways in trace.values()]
        assert f"{100 * min(gains):.0f} to {100 * max(gains):.0f} %{words}" in said


def test_no_spending_that_follows_readings_is_as_good_as_a_longer_window() -> None:
    kept = json.loads((RESULTS / "compare.json").read_text("utf-8"))["results"]
    for errors in kept["adaptive"]["errors"].values():
        others = min(errors[way]["low"] for way in ("even split", "BD", "BA"))
        assert errors["one longer window"]["high"] < others


@pytest.mark.parametrize("name", RIVALS)
def test_what_is_published_without_protection_tells_the_channel(name: str, hour: Task) -> None:
    rival = RIVALS[name]
    published = rival.publish(hour, 1.0 if name != "battery" else 0.1, np.random.default_rng(1))
    named = (published.scores.argmax(axis=1) == hour.truth).mean()
    assert named > 0.5  # of 40; the grid of 10 W alone hides some
    assert published.error < 5


@pytest.mark.parametrize("name", ["agent", "laplace", "readings"])
def test_enough_noise_leaves_the_attacker_with_guessing(name: str, hour: Task) -> None:
    rival, draw = RIVALS[name], np.random.default_rng(2)
    published = rival.publish(hour, 1e6 if name == "readings" else 2e4, draw)
    named = (published.scores.argmax(axis=1) == hour.truth).mean()
    assert named < 5 * hour.chance


def test_our_noise_and_laplaces_cost_the_reader_the_same(hour: Task) -> None:
    draw = np.random.default_rng(3)
    errors = [RIVALS[name].publish(hour, 50.0, draw).error for name in ("agent", "laplace")]
    assert errors == pytest.approx([50, 50], rel=0.15)


def test_a_frontier_is_at_chance_only_where_it_stays_there(tmp_path: Path, hour: Task) -> None:
    found = frontier(quick(tmp_path), RIVALS["laplace"], hour)
    least = found.least_error(hour.chance)
    assert least is not None
    assert all(p.success.low <= hour.chance for p in found.points if p.error >= least)
    assert found.least_error(0.0) is None or found.points[-1].success.low == 0
