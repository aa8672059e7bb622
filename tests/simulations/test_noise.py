"""More from the same noise: order, joint draws, and what a reader takes off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from meteragent.privacy.entropy import NoiseKey
from simulations.fleet import draws
from simulations.home.likelihood import Pair, tell_apart
from simulations.home.policies import MINUTE
from simulations.kit.command import SEED, Run
from simulations.kit.traces import Trace
from simulations.noise import __main__ as noise
from simulations.noise import errors, optimum
from simulations.noise.settings import SETTINGS

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = 1_763_424_000_000
TABLE = {
    "1": (1.0, 1.0, 1.0),
    "2": (1.5, 0.75, 0.71),
    "3": (2.0, 0.667, 0.61),
    "4": (2.5, 0.625, 0.56),
    "8": (4.5, 0.5625, 0.48),
}
"""By answers: the mean error in radii, and beside independent draws the mean and the 90 % one."""


@pytest.mark.parametrize("count", TABLE)
def test_errors_are_within_two_percent_of_the_table(count: str) -> None:
    mean, ratio, tail = TABLE[count]
    told = errors.table()[count]
    assert told["mean_in_radii"] == pytest.approx(mean, rel=0.02)
    assert told["mean_ratio"] == pytest.approx(ratio, rel=0.02)
    assert told["error_90_ratio"] == pytest.approx(tail, rel=0.02)


def test_no_mechanism_for_two_answers_is_much_better_than_a_joint_draw() -> None:
    """Six levels at epsilon 1: a linear programme is better by 4.6 %, independent noise not."""
    told = optimum.compared(5, 1.0)
    assert told["optimum"] == pytest.approx(1.778, abs=0.001)
    assert told["joint"] == pytest.approx(1.861, abs=0.001)
    assert told["joint_clamped"] == pytest.approx(1.917, abs=0.001)
    assert told["independent"] == pytest.approx(2.121, abs=0.001)


@pytest.mark.parametrize(("top", "epsilon"), [(2, 0.5), (2, 1.0), (3, 0.7)])
def test_no_mechanism_is_better_than_the_optimum(top: int, epsilon: float) -> None:
    told = optimum.compared(top, epsilon)
    assert told["optimum"] < told["joint"] <= told["joint_clamped"] <= told["independent"]


def test_all_of_it_is_said_of_simulated_homes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run("noise", SEED, tmp_path, quick=True, traces=None, command="")
    noise.simulate(run)
    [its] = run.results["errors"].values()
    assert its.keys() == {setting.words for setting in SETTINGS}
    for told in its.values():
        for kind in errors.KINDS:
            assert 0.03 < told[kind]["gain"] < 0.4
        assert told["joint"]["drawn"] < 0.8 * told["independent"]["drawn"]
    [left] = run.results["smoothing"].values()
    assert left["4000"]["left"] < left["500"]["left"] < 1
    assert "left by smoothing" in capsys.readouterr().out
    [figure] = run.figures
    assert (tmp_path / figure["file"]).exists()


def test_an_attacker_of_joint_noise_compares_by_the_largest_move() -> None:
    """Readings that are 300 W apart throughout, at a loss of 1 for 100 W: nineteen of twenty."""
    policy = SETTINGS[1].policy("joint")
    low = np.full(15, 400.0)
    pairs = [
        Pair(Trace("a", BEGIN, MINUTE, low + 300), Trace("b", BEGIN, MINUTE, low))
        for _ in range(300)
    ]
    judged = tell_apart(pairs, policy, NoiseKey(bytes(range(32))), np.random.default_rng(1))
    assert np.abs(judged.scores).max() <= 3 + 1e-9
    share = judged.share()
    assert 0.75 < share.value < 0.99


def test_what_draws_take_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """Whether the targets are met is for a machine that does nothing else."""
    assert draws.main(["--rounds", "1"]) == 0
    said = capsys.readouterr().out
    assert "joint draws are" in said
    assert "of a release (at most 10%)" in said
