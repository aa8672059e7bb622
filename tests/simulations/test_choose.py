"""Choosing takes the finest window that holds, no sooner than fresh noise confirms it."""

import tomllib
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from meteragent.config.policy import PolicySettings
from meteragent.config.presets import Preset
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from simulations.choose import document
from simulations.choose.__main__ import YARDSTICKS
from simulations.choose.candidate import NOISES, candidate
from simulations.choose.search import Trial, chosen, pooled, search, within
from simulations.choose.standard import CONTENTS, compared
from simulations.kit.command import Run
from simulations.kit.yardstick import Estimate, Verdict

LEAST = {("15m", "avg"): 200, ("24h", "avg"): 10, ("24h", "avg max"): 40}
"""The noise that each window and its queries need, in this file's world."""


class Needs:
    """A yardstick that wants so much noise and no less; the first key is easier to please."""

    name, hides = "tv-content", "a secret"
    settings: Mapping[str, Any] = {"interval": "10s"}
    windows = ("15m", "1h", "24h")
    queries = (("avg", "max"), ("avg",))

    def __init__(self, lucky: int = 0) -> None:
        self.lucky = lucky
        self.keys: list[NoiseKey] = []

    def attack(self, policy: Policy, key: NoiseKey, run: Run) -> list[Verdict]:
        assert run.quick
        self.keys.append(key)
        window = {900_000: "15m", 3_600_000: "1h", 86_400_000: "24h"}[policy.size]
        asked = " ".join(question.query.name for question in policy.questions)
        noise = 1e9 / policy.questions[0].nano
        first = key == self.keys[0]
        held = noise >= LEAST.get((window, asked), 1e9) - first * self.lucky - 0.5
        success = Estimate(0.2, 0.1, 0.3) if held else Estimate(0.5, 0.4, 0.6)
        return [Verdict("all", "tries", "wins", success, 0.2, 10)]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run("choose", 5, tmp_path, quick=True, traces=None, command="test", options=Namespace())


def test_the_least_noise_that_holds_is_found_for_every_window_and_queries(run: Run) -> None:
    points = search(Needs(), run)
    found = {(p.window, " ".join(p.queries)): p.best and p.best.candidate.noise for p in points}
    assert {pair: noise for pair, noise in found.items() if noise} == LEAST
    assert len(found) == 6


def test_noise_that_held_by_luck_is_not_taken(run: Run) -> None:
    yardstick = Needs(lucky=150)
    [point, *_] = [p for p in search(yardstick, run) if (p.window, p.queries) == ("15m", ("avg",))]
    assert point.best is not None
    assert point.best.candidate.noise == 200
    assert any(trial.held and trial.candidate.noise < 200 for trial in point.trials)
    assert len({key.secret for key in yardstick.keys}) == 4


@pytest.mark.parametrize(
    ("most", "window", "queries"),
    [(250, "15m", ("avg",)), (60, "24h", ("avg", "max")), (20, "24h", ("avg",))],
)
def test_the_finest_window_and_the_most_queries_that_are_precise_enough_win(
    run: Run, most: float, window: str, queries: tuple[str, ...]
) -> None:
    found = chosen(search(Needs(), run), most)
    assert found is not None
    assert (found.candidate.window, found.candidate.queries) == (window, queries)
    assert found.candidate.error <= most


def test_experiments_together_show_what_none_shows_alone() -> None:
    one = Verdict("all", "tries", "wins", Estimate(0.25, 0.18, 0.32), 0.2, 100)
    many = pooled([Trial(candidate(Needs(), "24h", ("avg",), 10), [one])] * 4)
    assert one.held
    assert not many.held
    assert many.verdicts[0].success.low == pytest.approx(0.25 - 0.07 / 2)
    assert many.verdicts[0].trials == 400


def test_where_nothing_is_precise_enough_nothing_is_chosen(run: Run) -> None:
    assert chosen(search(Needs(), run), 5) is None


@pytest.mark.parametrize("window", ["15m", "24h", "7d"])
@pytest.mark.parametrize("noise", [NOISES[0], 100, NOISES[-1]])
def test_a_candidate_is_a_policy_whose_budget_covers_every_window(window: str, noise: int) -> None:
    one = candidate(Needs(), window, ("avg", "max"), noise)
    policy = one.policy
    assert policy.budget >= policy.terms.per_horizon * sum(policy.terms.costs)
    assert one.error == pytest.approx(noise, rel=0.05)
    assert one.tried.questions == policy.questions
    assert one.tried.grace == 0


def test_a_months_error_shrinks_with_the_number_of_windows() -> None:
    short, long = (candidate(Needs(), window, ("avg",), 100) for window in ("15m", "24h"))
    assert long.month(400) / short.month(400) == pytest.approx(96**0.5, rel=0.01)
    deviation = 100 * 2**0.5 / 30**0.5
    assert long.month(400) == pytest.approx(1.96 * deviation / 400, rel=0.01)


def test_a_bill_bears_so_much_noise_and_not_a_watt_more(run: Run) -> None:
    yardstick = Needs()
    trials = within(yardstick, 0.01, 400, run)
    assert [trial.candidate.window for trial in trials] == list(yardstick.windows)
    for trial in trials:
        one = trial.candidate
        more = candidate(yardstick, one.window, one.queries, one.noise + 1)
        assert one.month(400) <= 0.01 < more.month(400)
        assert trial.held is (one.noise >= LEAST.get((one.window, "avg"), 1e9))


def test_standard_privacy_needs_as_much_more_noise_as_its_range_is_wider() -> None:
    one = candidate(Needs(), "24h", ("avg",), 10)
    told = compared(one.policy, "tv-content", one.error)
    assert told["log_odds"] == pytest.approx(60 / 10 * 4 / 24, rel=1e-3)
    assert told["times_smaller"] == pytest.approx(24_000 / CONTENTS["tv-content"].watts, rel=0.01)


def test_what_is_written_is_what_the_configuration_reads(run: Run) -> None:
    found = chosen(search(Needs(), run), 60)
    assert found is not None
    made = {hide: document.preset(hide, "a secret", found, "a command") for hide in YARDSTICKS}
    read = tomllib.loads(document.presets_toml(made))
    for name, table in read.items():
        preset = Preset.model_validate(table)
        assert preset.evidence.low <= preset.evidence.chance
        assert preset.policy == made[name]["policy"]
        assert " ".join(preset.why.split()) == " ".join(made[name]["why"].split())
    [one] = tomllib.loads(document.policy_toml(found.candidate.settings))["policy"]
    assert PolicySettings.model_validate(one).policy == found.candidate.policy
