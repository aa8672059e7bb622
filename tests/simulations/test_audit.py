"""The promise holds as seen from outside, and the audit would see if it did not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from meteragent.privacy.exact import NANO
from simulations.audit import __main__ as audit
from simulations.audit import worlds
from simulations.audit.builds import BUILDS
from simulations.audit.drive import Observed
from simulations.audit.verdict import WITHIN, judge, log_odds
from simulations.kit.command import SEED, Run

if TYPE_CHECKING:
    from pathlib import Path

    from simulations.audit.drive import Seen
    from simulations.audit.worlds import Experiment

DRAWS = 30_000


def run(out: Path) -> Run:
    return Run("audit", SEED, out, quick=True, traces=None, command="")


def test_the_product_keeps_its_promise_to_a_tenth_and_every_mistake_is_noticed(
    tmp_path: Path,
) -> None:
    done = run(tmp_path)
    audit.simulate(done)
    assert done.results["passed"]
    for found in done.results["product"]:
        assert 1 - WITHIN <= found["share_of_claim"] <= 1
        assert found["nothing_else_differs"]
    assert {found["build"] for found in done.results["mistakes"] if found["noticed"]} == {
        build.name for build in BUILDS
    }
    [figure] = done.figures
    assert (tmp_path / figure["file"]).stat().st_size < 150_000


def noisy(level: int, loss: float, seed: int) -> Seen:
    """Two-sided geometric noise, clamped, as a textbook makes it: from two geometric draws."""
    up, down = np.random.default_rng(seed).geometric(1 - math.exp(-loss), (2, DRAWS, 1))
    released: Seen = np.clip(level + up - down, 0, 10).astype(np.float64)
    return released


def test_textbook_noise_is_found_out_to_a_tenth_and_never_accused() -> None:
    for seed in range(20):
        seen = Observed(noisy(4, 1, seed), noisy(5, 1, 100 + seed), 1.0, otherwise_equal=True)
        verdict = judge(seen)
        assert verdict.close
        assert not judge(Observed(seen.one, seen.other, 0.8, otherwise_equal=True)).kept


def test_equal_worlds_prove_nothing() -> None:
    verdict = judge(Observed(noisy(4, 1, 1), noisy(4, 1, 2), 1.0, otherwise_equal=True))
    assert verdict.smallest < 0.05


def test_a_document_that_says_anything_else_breaks_the_promise() -> None:
    seen = Observed(noisy(4, 1, 1), noisy(5, 1, 2), 1.0, otherwise_equal=False)
    assert not judge(seen).kept


def test_noise_that_two_answers_share_is_found_in_their_difference() -> None:
    shared = noisy(5, 1, 3) - 5
    one = np.concatenate([4 + shared, 5 + shared], axis=1)
    other = np.concatenate([5 + shared, 4 + shared], axis=1)
    verdict = judge(Observed(one, other, 2.0, otherwise_equal=True))
    assert verdict.smallest > 4
    assert "less" in verdict.event


@pytest.mark.parametrize(("hits", "rare"), [(0, 0), (0, 1000), (3, 3), (1000, 1000)])
def test_what_was_not_seen_proves_nothing(hits: int, rare: int) -> None:
    assert log_odds(hits, rare, 1000) <= 0


@pytest.mark.parametrize("experiment", worlds.EXPERIMENTS, ids=lambda e: e.name)
def test_every_pair_of_worlds_is_exactly_the_radius_apart(experiment: Experiment) -> None:
    assert experiment.distance() == experiment.radius
    assert all(experiment.differing())
    assert NANO % experiment.radius == 0  # so that the loss per watt is not rounded


def test_without_private_presence_another_pattern_is_another_world() -> None:
    apart = worlds.Experiment("", "", one=((None,),), other=((5.0,),))
    assert apart.distance() == math.inf
