"""What is claimed of presets agrees with trials through the program, and holds elsewhere."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.group import GroupPolicy
from simulations.claims import feeders as groups
from simulations.claims import tried as trials
from simulations.claims.agreement import TOGETHER, Tried, between, divergence
from simulations.claims.contests import QUARTER, Contests, by_quarters, contests
from simulations.claims.feeders import Feeder, feeders, tried_in_feeder
from simulations.claims.fresh import fresh
from simulations.claims.page import page
from simulations.claims.tried import FEBRUARY, begun, placed, policies, tried, tried_in_home
from simulations.feeder.releases import of_groups
from simulations.home.likelihood import Judged, Pair, answers, tell_apart
from simulations.kit.command import RESULTS, SEED, Run
from simulations.kit.exact import told_apart

if TYPE_CHECKING:
    from pathlib import Path

    from meteragent.privacy.policy import Policy

KEPT: dict[str, Any] = json.loads((RESULTS / "claims.json").read_text("utf-8"))


def run(out: Path) -> Run:
    return Run("claims", SEED, out, quick=True, traces=None, command="")


def test_a_quick_run_agrees_for_every_preset_and_contest(tmp_path: Path) -> None:
    found = tried(run(tmp_path))
    assert {one.preset for one in found} == {*policies(), *feeders()}
    films = {(one.preset, one.contest) for one in found if "use" not in one.contest}
    assert all((name, "a whole evening") in films for name in (*policies(), *feeders()))
    assert all(one.agrees(len(found)) for one in found)


@pytest.mark.slow
def test_thousands_of_trials_agree_for_every_preset_and_contest(tmp_path: Path) -> None:
    found = tried(replace(run(tmp_path), quick=False, seed=SEED + 77))
    assert min(one.trials for one in found) >= 2400
    assert all(one.agrees(len(found)) for one in found)


def test_a_program_with_too_little_noise_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The releases are those of a thirtieth of the noise; what is worked out is of all of it."""

    def leaky(
        pairs: list[Pair], policy: Policy, key: NoiseKey, draw: np.random.Generator
    ) -> Judged:
        asked = replace(policy.questions[0], nano=30 * policy.questions[0].nano)
        return tell_apart(pairs, replace(policy, questions=(asked,)), key, draw)

    monkeypatch.setattr(trials, "tell_apart", leaky)
    every = contests(run(tmp_path))
    found = [*tried_in_home("appliances", policies()["appliances"], every, run(tmp_path), 1)]
    assert not all(one.agrees(len(found)) for one in found)


def test_a_program_of_groups_with_too_little_noise_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same of a feeder: a thirtieth of the noise, and one home is told too often."""

    def leaky(traces: Any, its: Any, policy: Any, key: NoiseKey) -> Any:  # noqa: ANN401 - as that
        asked = replace(policy.questions[0], nano=30 * policy.questions[0].nano)
        return of_groups(traces, its, replace(policy, questions=(asked,)), key)

    monkeypatch.setattr(groups, "of_groups", leaky)
    every = contests(run(tmp_path))
    found = [*tried_in_feeder("feeder", feeders()["feeder"], every, run(tmp_path), 0)]
    assert not all(one.agrees(len(found)) for one in found)


@pytest.mark.parametrize("name", feeders())
def test_what_a_feeder_answers_is_what_the_program_sums(name: str) -> None:
    """With next to no noise, of homes that draw whatever they like beside others."""
    policy, draw = feeders()[name], np.random.default_rng(8)
    [asked] = policy.questions
    sharp = replace(asked, nano=5_000_000_000)
    exact = replace(policy, questions=(sharp,), budget=96 * sharp.nano)
    homes, others = (draw.gamma(2, 300, (many, 96)) for many in (5, 9))
    feeder = Feeder(exact, others)
    begin = 1_767_225_600_000
    drawn = feeder.released(homes, begin, NoiseKey(bytes(32)))
    assert drawn.tolist() == feeder.answers(homes).tolist()
    watts = (homes + others.sum(axis=0)).reshape(5, drawn.shape[1], -1).mean(axis=2)
    assert np.abs(drawn * 5 - watts).max() <= 5 * len(others)


def test_months_are_those_of_the_calendar(tmp_path: Path) -> None:
    """Also of a home with one use more, and nothing else is in its month."""
    month = policies()["bill"]
    [pair, *_] = contests(run(tmp_path)).pairs["one use of a kettle"]
    lengths = []
    for nth in range(12):
        whole = placed(pair, month, begun(month, nth))
        lengths.append(len(whole.having.watts) // 96)
        [[one]], [[other]] = answers(whole.having, month), answers(whole.lacking, month)
        moved = (pair.having.watts - pair.lacking.watts).sum() / len(whole.having.watts)
        assert (one - other) * 0.1 == pytest.approx(moved, abs=0.1)
    assert lengths == [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    assert begun(month, 1) == FEBRUARY


def test_films_by_the_quarter_hour_hold_as_much_energy(tmp_path: Path) -> None:
    for contents in contests(run(tmp_path)).films.values():
        quarters = by_quarters(contents)
        assert quarters.interval == QUARTER
        energy = [one.watts.sum(axis=1) * one.interval for one in (contents, quarters)]
        assert energy[0] == pytest.approx(energy[1])


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


@pytest.mark.parametrize("told", [0.0167, 0.5, 0.54, 0.977, 1.0])
def test_what_agrees_lies_between_two_shares(told: float) -> None:
    many, contests = 2400, 48
    low, high = between(told, many, contests)
    for hits in range(many + 1):
        one = Tried("", "", told, exact=True, hits=hits, trials=many)
        assert one.agrees(contests) == (low <= hits / many <= high)


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Contests:
    """As they are kept."""
    return contests(replace(run(tmp_path_factory.mktemp("claims")), quick=False))


@pytest.mark.parametrize("name", [*policies(), *feeders()])
def test_half_of_the_noise_would_be_noticed(name: str, every: Contests) -> None:
    """By as many trials as are kept, of a program that draws half of what its preset says."""
    kept = KEPT["results"]["tried"]
    policy = policies().get(name) or feeders()[name]
    asked = replace(policy.questions[0], nano=2 * policy.questions[0].nano)
    leaky = replace(policy, questions=(asked,))

    def noticed(one: dict[str, Any]) -> bool:
        low, high = between(one["told"], one["trials"], len(kept))
        told = worked_out(every, one["contest"], leaky)
        spread = 4 * math.sqrt(told * (1 - told) / one["trials"])
        return not low - spread <= told <= high + spread

    assert any(noticed(o) for o in kept if o["preset"] == name and "away" in o["contest"])


def worked_out(every: Contests, contest: str, policy: Policy | GroupPolicy) -> float:
    told = []
    for pair in every.pairs[contest]:
        if isinstance(policy, GroupPolicy):
            versions = np.array([pair.having.watts, pair.lacking.watts])
            one, other = Feeder(policy, versions[:0]).answers(versions)[..., np.newaxis]
        else:
            whole = placed(pair, policy, FEBRUARY)
            one, other = answers(whole.having, policy), answers(whole.lacking, policy)
        told.append(told_apart(one, other, policy))
    return float(np.mean(told))


def test_what_never_happens_may_not_be_seen() -> None:
    assert divergence(0.5, 1.0) == math.inf
    assert divergence(1.0, 1.0) == 0
    assert divergence(0.6, 0.5) > divergence(0.55, 0.5) > 0


def test_limits_are_kept_on_a_seed_that_no_preset_was_chosen_by(tmp_path: Path) -> None:
    found = [one for one in fresh(run(tmp_path)) if "evening" not in one["contest"]]
    assert {one["preset"] for one in found} == {*policies(), *feeders()}
    assert all(one["mean"] < one["limit"] + 0.01 for one in found)


def test_the_page_is_that_of_the_results_that_are_kept() -> None:
    """If not: python -m simulations.claims --traces DIR"""
    assert (RESULTS / "claims.md").read_text("utf-8") == page(KEPT["command"], KEPT["results"])
    assert not KEPT["quick"]


def test_all_contests_agree_and_every_limit_is_kept() -> None:
    found = KEPT["results"]
    assert {one["preset"] for one in found["tried"]} == {*policies(), *feeders()}
    assert len(found["tried"]) == 8 * (len(policies()) + len(feeders()))
    assert all(one["agrees"] for one in found["tried"])
    assert all(one["kept"] for one in found["fresh"])
    assert {one["preset"] for one in found["fresh"]} == {*policies(), *feeders()}
    real = {one["preset"] for one in found["fresh"] if "real" in one["contest"]}
    assert real == {"tv-content", "appliances", *feeders()}


def test_no_home_of_a_feeder_is_told_more_often_than_its_preset_says() -> None:
    """Which is a bound over every home, and every time of day."""
    for name in feeders():
        said = json.loads((RESULTS / f"choose-{name}.json").read_text("utf-8"))["results"]
        most = {one["contest"]: one["success"] for one in said["verdicts"]}
        rows = [one for one in KEPT["results"]["tried"] if one["preset"] == name]
        told = {one["contest"]: one["told"] for one in rows}
        for contest in ("one use of a kettle", "one use of a fridge"):
            assert told[contest] <= most[contest]
