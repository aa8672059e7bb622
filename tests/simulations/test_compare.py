"""Every way to publish is what it says, and all face the same attacker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from simulations.compare import __main__ as compare
from simulations.compare.frontier import frontier, task
from simulations.compare.promises import FIVE, clipped_error, promises
from simulations.compare.rivals import Task, rivals
from simulations.kit.command import SEED, Run

if TYPE_CHECKING:
    from pathlib import Path

RIVALS = {rival.name: rival for rival in rivals(quick=True)}


def quick(out: Path) -> Run:
    return Run("compare", SEED, out, quick=True, traces=None, command="")


@pytest.fixture(scope="module")
def hour(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return task(quick(tmp_path_factory.mktemp("hour")), 3600)


def test_a_quick_run_says_the_same_twice_and_draws_small_pictures(tmp_path: Path) -> None:
    said: list[dict[str, Any]] = []
    drawn: list[list[bytes]] = []
    for name in ("a", "b"):
        run = quick(tmp_path / name)
        compare.simulate(run)
        said.append(run.results)
        drawn.append([(run.out / figure["file"]).read_bytes() for figure in run.figures])
    assert said[0] == said[1]
    assert drawn[0] == drawn[1]
    assert [len(picture) < 150_000 for picture in drawn[0]] == [True, True]
    assert said[0]["frontiers"]["one hour"]["ways"].keys() == RIVALS.keys()


def test_standard_privacy_needs_five_times_our_error_for_the_promise_about_programmes() -> None:
    stated = {promise.preset: promise for promise in promises()}
    assert stated["tv-content"].factor >= FIVE
    assert all(p.document()["at_least_five"] is (p.factor >= FIVE) for p in stated.values())


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


@pytest.mark.parametrize("truth", [0.0, 400.0, 1000.0])
def test_the_error_of_noise_that_is_cut_off_is_what_draws_show(truth: float) -> None:
    drawn = np.random.default_rng(4).laplace(scale=700, size=400_000)
    seen = np.abs(np.clip(truth + drawn, 0, 1000) - truth).mean()
    assert clipped_error(700, truth, 1000) == pytest.approx(seen, rel=0.01)
