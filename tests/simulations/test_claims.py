"""What is claimed of presets agrees with trials through the program, and holds elsewhere."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from simulations.claims import tried as trials
from simulations.claims.fresh import fresh
from simulations.claims.page import page
from simulations.claims.tried import TOGETHER, Tried, divergence, policies, tried
from simulations.home.likelihood import Judged, Pair, tell_apart
from simulations.kit.command import RESULTS, SEED, Run

if TYPE_CHECKING:
    from pathlib import Path

    from meteragent.privacy.entropy import NoiseKey
    from meteragent.privacy.policy import Policy

KEPT: dict[str, Any] = json.loads((RESULTS / "claims.json").read_text("utf-8"))


def run(out: Path) -> Run:
    return Run("claims", SEED, out, quick=True, traces=None, command="")


def test_a_quick_run_agrees_for_every_preset_and_contest(tmp_path: Path) -> None:
    found = tried(run(tmp_path))
    assert {one.preset for one in found} == {*policies()}
    assert all(one.agrees(len(found)) for one in found)


@pytest.mark.slow
def test_thousands_of_trials_agree_for_every_preset_and_contest(tmp_path: Path) -> None:
    found = tried(replace(run(tmp_path), quick=False, seed=SEED + 77))
    assert min(one.trials for one in found) >= 2400
    assert all(one.agrees(len(found)) for one in found)


def test_a_program_with_too_little_noise_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The releases are those of an eighth of the noise; what is worked out is of all of it."""

    def leaky(
        pairs: list[Pair], policy: Policy, key: NoiseKey, draw: np.random.Generator
    ) -> Judged:
        asked = replace(policy.questions[0], nano=8 * policy.questions[0].nano)
        return tell_apart(pairs, replace(policy, questions=(asked,)), key, draw)

    monkeypatch.setattr(trials, "tell_apart", leaky)
    found = tried(run(tmp_path))
    assert not all(one.agrees(len(found)) for one in found)


def test_a_false_alarm_is_as_rare_as_is_said() -> None:
    """Of trials that agree, by the exact tails of the binomial law."""
    told, many, contests = 0.54, 400, 30
    law = np.exp(
        [
            math.lgamma(many + 1)
            - math.lgamma(k + 1)
            - math.lgamma(many - k + 1)
            + k * math.log(told)
            + (many - k) * math.log(1 - told)
            for k in range(many + 1)
        ]
    )
    rejected = [
        not Tried("", "", told, exact=True, hits=k, trials=many).agrees(contests)
        for k in range(many + 1)
    ]
    assert law.sum() == pytest.approx(1)
    assert 0 < law[rejected].sum() <= TOGETHER / contests
    assert Tried("", "", told, exact=False, hits=0, trials=many).agrees(contests)
    assert not Tried("", "", told, exact=True, hits=0, trials=many).agrees(contests)


def test_what_never_happens_may_not_be_seen() -> None:
    assert divergence(0.5, 1.0) == math.inf
    assert divergence(1.0, 1.0) == 0
    assert divergence(0.6, 0.5) > divergence(0.55, 0.5) > 0


def test_limits_are_kept_on_a_seed_that_no_preset_was_chosen_by(tmp_path: Path) -> None:
    of_homes = [one for one in fresh(run(tmp_path)) if one["preset"] in ("appliances", "presence")]
    assert len(of_homes) == 6
    assert all(one["mean"] < one["limit"] + 0.01 for one in of_homes)


def test_the_page_is_that_of_the_results_that_are_kept() -> None:
    """If not: python -m simulations.claims --traces DIR"""
    assert (RESULTS / "claims.md").read_text("utf-8") == page(KEPT["command"], KEPT["results"])
    assert not KEPT["quick"]


def test_all_contests_agree_and_every_limit_is_kept() -> None:
    found = KEPT["results"]
    assert {one["preset"] for one in found["tried"]} == {*policies()}
    assert all(one["agrees"] for one in found["tried"])
    assert all(one["kept"] for one in found["fresh"])
    assert {one["preset"] for one in found["fresh"]} == {*policies()}
    assert any("real" in one["contest"] for one in found["fresh"])
