"""One's own traces, released again and again: errors as promised, attackers as bounded."""

from __future__ import annotations

from itertools import product
from math import exp
from typing import Any

import polars as pl
import pytest
from scipy.stats import binomtest

import meteragent as ma
from meteragent.errors import InvalidSetting
from meteragent.explain.explain import answers
from meteragent.library.simulate import Rate
from tests.files.given import BEGIN

PLAN: dict[str, Any] = {
    "window": "1h",
    "interval": "1m",
    "maximum": "3kW",
    "step": "10W",
    "radius": "100W",
    "budget": "1000",
}


def traces(watts: dict[str, float], hours: int = 4) -> pl.DataFrame:
    moments = range(BEGIN, BEGIN + hours * 3_600_000, 60_000)
    rows = [(moment, home, its) for moment, (home, its) in product(moments, watts.items())]
    return pl.DataFrame(rows, schema=["ts", "meter_id", "value"], orient="row")


def simulated(told: pl.DataFrame, plan: ma.Plan, **more: Any) -> Any:
    return ma.simulate(told, plan, time_format="unix_ms", **more)


def test_errors_are_those_that_are_promised() -> None:
    """4000 answers: their mean error is within a tenth of the promised one, by 6 deviations."""
    plan = ma.policy(epsilon="1", **PLAN)
    found = simulated(traces({f"h{n}": 1000.0 for n in range(50)}), plan, releases=20)
    [promised] = answers(plan.config.policies[0])
    assert found.windows == 200
    assert found.withheld == 0
    assert found.errors["avg"].mean == pytest.approx(promised.expected_error.middle, rel=0.1)
    assert found.errors["avg"].nine_of_ten == pytest.approx(promised.error_90.middle, rel=0.1)
    assert abs(found.errors["avg"].bias) < 2.5 * found.errors["avg"].bias_within


def test_an_attacker_is_right_as_often_as_the_mechanism_lets_one_be() -> None:
    """Two homes a radius apart, one window: by the law of the noise, added up.

    1000 guesses; at this chance the interval of 99.9 % holds it in 999 of 1000 cases, and the
    success at twice the epsilon lies outside it.
    """
    for epsilon in ("1", "2"):
        plan = ma.policy(epsilon=epsilon, **PLAN)
        found = simulated(traces({"a": 1000.0, "b": 1100.0}, hours=1), plan, releases=500)
        known = binomtest(found.attack.successes, found.attack.attempts)
        low, high = known.proportion_ci(0.999)
        assert found.chance == 0.5
        assert low <= best(float(epsilon)) <= high
        assert not low <= best(2 * float(epsilon)) <= high


def best(epsilon: float) -> float:
    """Of two levels ten steps apart, under geometric noise: by adding up its law."""
    alpha = exp(-epsilon / 10)
    law = {v: (1 - alpha) / (1 + alpha) * alpha ** abs(v) for v in range(-2000, 2001)}
    return 0.5 * sum(max(law.get(v, 0), law.get(v - 10, 0)) for v in range(-2000, 2011))


def test_windows_can_be_what_is_guessed() -> None:
    told = traces({"a": 0.0}, hours=2).with_columns(
        value=pl.when(pl.col("ts") < BEGIN + 3_600_000).then(0.0).otherwise(2500.0)
    )
    found = simulated(told, ma.policy(epsilon="1", **PLAN), guess="window", releases=5)
    assert (found.attack.successes, found.attack.attempts) == (10, 10)
    assert "right in 100.0% of 10 cases" in str(found)


def test_windows_that_are_never_released_are_no_candidates() -> None:
    told = traces({"a": 0.0}, hours=3).with_columns(
        value=pl.when(pl.col("ts") < BEGIN + 3_600_000).then(0.0).otherwise(2500.0)
    )
    gap = told.filter(~pl.col("ts").is_between(BEGIN + 7_200_000, BEGIN + 9_000_000))
    found = simulated(gap, ma.policy(epsilon="1", **PLAN), guess="window", releases=5)
    assert (found.windows, found.withheld) == (3, 1)
    assert (found.attack.successes, found.attack.attempts, found.chance) == (10, 10, 0.5)


def test_windows_of_which_other_questions_are_asked_tell_themselves() -> None:
    plan = ma.policy(epsilon="0.1", queries=["avg", "max[00:00-01:00]"], **PLAN)
    found = simulated(traces({"a": 5.0}, hours=2), plan, guess="window", releases=5)
    assert found.attack.share == 1


def test_one_candidate_is_no_riddle() -> None:
    found = simulated(traces({"a": 5.0}, hours=1), ma.policy(epsilon="1", **PLAN))
    assert found.attack is None
    assert found.chance == 0
    assert "attacker" not in str(found)


def test_what_is_withheld_is_counted() -> None:
    plan = ma.policy(epsilon="1", **{**PLAN, "budget": "2"})
    found = simulated(traces({"a": 5.0, "b": 5.0}), plan, releases=3)
    assert (found.windows, found.withheld) == (8, 4)
    assert found.attack.share == 0.5  # who knows nothing is right by chance


@pytest.mark.parametrize(
    "more",
    [
        {"noise": "joint", "queries": ["min", "avg", "max"]},
        {"queries": ["reading"], "presence": "private"},
        {"queries": ["avg", "reading"], "resolution": "1W"},
        {"queries": ["avg", "max[00:00-02:00]"]},
    ],
)
def test_every_kind_of_question_can_be_simulated(more: dict[str, Any]) -> None:
    plan = ma.policy(epsilon="50", **{**PLAN, "budget": "100000"}, **more)
    found = simulated(traces({"a": 5.0, "b": 2500.0}), plan, releases=2)
    assert found.attack.share == 1
    assert found.errors.keys() == {q.query.name for q in plan.config.policies[0].questions}


def test_the_same_seed_is_the_same_simulation() -> None:
    told, plan = traces({"a": 5.0, "b": 9.0}), ma.policy(epsilon="1", **PLAN)
    assert simulated(told, plan, seed=3) == simulated(told, plan, seed=3)
    assert simulated(told, plan, seed=3) != simulated(told, plan, seed=4)


def test_nothing_comes_of_nothing() -> None:
    found = simulated(traces({"a": 1.0}, hours=1).head(0), ma.policy(epsilon="1", **PLAN))
    assert (found.windows, found.errors, found.attack) == (0, {}, None)


def test_what_makes_no_sense_is_refused() -> None:
    told, plan = traces({"a": 5.0}), ma.policy(epsilon="1", **PLAN)
    with pytest.raises(InvalidSetting, match=r'^guess: is none; write "meter" or "window"'):
        simulated(told, plan, guess="weather")


@pytest.mark.parametrize(("right", "of"), [(0, 10), (5, 10), (10, 10), (7, 1000)])
def test_intervals_are_wilsons(right: int, of: int) -> None:
    known = binomtest(right, of).proportion_ci(method="wilson")
    assert Rate(right, of).between == pytest.approx((known.low, known.high), abs=1e-12)
