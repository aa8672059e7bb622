"""What is worked out of attacks is what the product's own releases show, trial by trial.

Every trial goes through the pipeline. A false alarm of any contest has a chance below 1e-6
(Hoeffding, over all contests); the releases of a policy with other noise are caught.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from meteragent.explain.advantage import Draw
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.question import question
from simulations.home.contests import (
    Street,
    days_away,
    moved_uses,
    name_the_hour,
    single_uses,
    usual,
)
from simulations.home.likelihood import Pair, answers, tell_apart
from simulations.home.policies import HOUR, MINUTE, all_presets, plain
from simulations.home.yardstick import OWNED
from simulations.kit.exact import draws, named_of, told_apart
from tests import given as kit

if TYPE_CHECKING:
    from meteragent.privacy.policy import Policy

KEYS, CONTESTS = 15, 8
DAY = 24 * HOUR


@pytest.fixture(scope="module")
def street() -> Street:
    return Street(5, 3, 16, MINUTE, having=OWNED)


def margin(trials: int) -> float:
    return math.sqrt(math.log(2 * CONTESTS / 1e-6) / 2 / trials)


def worked_out(pairs: list[Pair], policy: Policy) -> float:
    each = [
        told_apart(answers(pair.having, policy), answers(pair.lacking, policy), policy)
        for pair in pairs
    ]
    return float(np.mean(each))


def tried(pairs: list[Pair], policy: Policy) -> float:
    shares = [
        tell_apart(pairs, policy, NoiseKey(bytes([n]) * 32), np.random.default_rng(n)).share().value
        for n in range(KEYS)
    ]
    return float(np.mean(shares))


def contest(name: str, street: Street, policy: Policy) -> list[Pair]:
    draw = np.random.default_rng(1)
    if name == "away":
        return days_away(street, policy.size, 1, 60, draw)
    return single_uses(street, name, policy.size, 60, draw)


@pytest.mark.parametrize(
    ("name", "window", "epsilon"),
    [
        ("kettle", 15 * MINUTE, "0.01"),
        ("tv", HOUR, "0.01"),
        ("oven", 15 * MINUTE, "0.001"),
        ("away", DAY, "0.01"),
    ],
)
def test_as_many_trials_are_right_as_was_worked_out(
    street: Street, name: str, window: int, epsilon: str
) -> None:
    policy = plain(window, epsilon)
    pairs = contest(name, street, policy)
    told, seen = worked_out(pairs, policy), tried(pairs, policy)
    assert 0.55 < told < 0.99
    assert seen == pytest.approx(told, abs=margin(len(pairs) * KEYS))


@pytest.mark.parametrize("name", all_presets())
def test_presets_too(street: Street, name: str) -> None:
    policy = all_presets(interval="1m")[name]
    pairs = contest("away" if name == "presence" else "tv", street, policy)
    seen = tried(pairs, policy)
    assert seen == pytest.approx(worked_out(pairs, policy), abs=margin(len(pairs) * KEYS))


def test_the_hour_is_named_as_often_as_was_worked_out(street: Street) -> None:
    policy = plain(DAY, "0.01")
    timed = moved_uses(street, ["oven"], DAY, 40, np.random.default_rng(1))
    each = [named_of([answers(v, policy) for v in one.versions], policy) for one in timed]
    assert all(one.exact for one in each)
    seen = [
        name_the_hour(timed, policy, NoiseKey(bytes([n]) * 32), np.random.default_rng(n)).value
        for n in range(KEYS)
    ]
    told = float(np.mean([one.success for one in each]))
    assert np.mean(seen) == pytest.approx(told, abs=margin(40 * KEYS))


def test_releases_of_other_noise_are_caught(street: Street) -> None:
    pairs = contest("kettle", street, plain(15 * MINUTE, "0.01"))
    said, other = plain(15 * MINUTE, "0.01"), plain(15 * MINUTE, "0.0025")
    assert abs(tried(pairs, other) - worked_out(pairs, said)) > margin(len(pairs) * KEYS)


@pytest.mark.parametrize("noise", ["independent", "joint"])
def test_draws_are_of_answers_or_of_windows(noise: str) -> None:
    one, other = np.array([[3, 5], [2, 2], [3, 5]]), np.array([[3, 8], [4, 2], [3, 8]])
    policy = kit.policy(questions=(question("avg", 1, 100), question("max", 1, 100)), noise=noise)
    assert (
        draws(one, other, policy)
        == {
            "independent": {
                Draw(10_000_000, (0,)): 3,
                Draw(10_000_000, (2,)): 1,
                Draw(10_000_000, (3,)): 2,
            },
            "joint": {Draw(10_000_000, (0, 3)): 2, Draw(10_000_000, (2, 0)): 1},
        }[noise]
    )


def test_a_habit_is_all_uses_of_some_days(street: Street) -> None:
    for pair in usual(street, "kettle", DAY, 7):
        gone = pair.having.watts - pair.lacking.watts
        assert len(gone) == 7 * 24 * 60
        assert gone.min() > -1e-9
        assert (gone > 1000).sum() > 7
