"""Choosing takes the finest window that is enough, by the noise that it needs and no less."""

import math
import tomllib
from argparse import Namespace
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from meteragent.config.policy import PolicySettings
from meteragent.config.presets import Preset
from meteragent.explain.advantage import apart
from meteragent.privacy.policy import Policy
from simulations.choose import bill, document
from simulations.choose.__main__ import CHOSEN
from simulations.choose.candidate import NOISES, candidate
from simulations.choose.search import Trial, chosen, search, within
from simulations.kit.command import Run
from simulations.kit.yardstick import Verdict

LEAST = {("15m", "avg"): 200, ("24h", "avg"): 10, ("24h", "avg max"): 40}
"""The noise that each window and its queries need, in this file's world."""


class Needs:
    """A yardstick that wants so much noise and no less."""

    name, hides = "tv-content", "a secret"
    settings: Mapping[str, Any] = {"interval": "10s"}
    windows = ("15m", "1h", "24h")
    queries = (("avg", "max"), ("avg",))

    def attack(self, policy: Policy) -> list[Verdict]:
        window = {900_000: "15m", 3_600_000: "1h", 86_400_000: "24h"}[policy.size]
        asked = " ".join(question.query.name for question in policy.questions)
        noise = 1e9 / policy.questions[0].nano
        enough = noise >= LEAST.get((window, asked), 1e9) - 0.5
        return [verdict(0.2333 if enough else 0.2334)]

    def habits(self, policy: Policy) -> list[Verdict]:
        assert policy.grace == 0
        return [verdict(0.3), verdict(0.4)]


def verdict(success: float, chance: float = 0.2) -> Verdict:
    return Verdict("all", "tries", "wins", success, success + 0.1, chance, 10)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run("choose", 5, tmp_path, quick=True, traces=None, command="test", options=Namespace())


def test_the_least_noise_that_holds_is_found_for_every_window_and_queries(run: Run) -> None:
    points = search(Needs(), run)
    found = {(p.window, " ".join(p.queries)): p.best and p.best.candidate.noise for p in points}
    assert {pair: noise for pair, noise in found.items() if noise} == LEAST
    assert len(found) == 6


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


@pytest.mark.parametrize(
    ("chance", "limit"), [(0.5, 0.54), (0.006, 0.007), (0.24, 0.28), (1 / 21, 1 / 18)]
)
def test_of_two_stories_or_of_many_little_may_be_gained(chance: float, limit: float) -> None:
    assert verdict(0.1, chance).limit == pytest.approx(limit)
    assert verdict(limit - 1e-9, chance).kept
    assert not verdict(limit + 1e-9, chance).kept


def test_the_worst_is_what_comes_nearest_to_its_own_limit() -> None:
    half, few = verdict(0.53, 0.5), verdict(0.0069, 0.006)
    trial = Trial(candidate(Needs(), "24h", ("avg",), 10), [half, few])
    assert trial.worst is few
    assert trial.kept


def test_what_is_written_down_is_never_less_than_it_is() -> None:
    written = verdict(0.12345600001).document()
    assert written["success"] == 0.123457
    assert verdict(0.9999999).document()["success"] == 1
    assert verdict(0.25).document()["success"] == 0.25


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


def test_a_bill_bears_so_much_noise_and_not_a_watt_more() -> None:
    yardstick = Needs()
    trials = within(yardstick, 0.01, 400)
    assert [trial.candidate.window for trial in trials] == list(yardstick.windows)
    for trial in trials:
        one = trial.candidate
        more = candidate(yardstick, one.window, one.queries, round(one.noise) + 1)
        assert one.month(400) <= 0.01 < more.month(400)
        assert trial.kept is (one.noise >= LEAST.get((one.window, "avg"), 1e9))


def test_a_month_bears_so_much_noise_and_not_a_tenth_more(run: Run) -> None:
    found = bill.affordable(0.01, 400, run)
    epsilon = Decimal(found.candidate.settings["epsilon"])
    assert bill.month_error(found.candidate.policy, 400) <= 0.01
    assert bill.month_error(bill.candidate(epsilon - Decimal("0.1")).policy, 400) > 0.01
    assert found.candidate.policy.calendar is not None
    assert all(verdict.kept for verdict in found.verdicts)


def test_of_a_longer_habit_a_month_tells_more_and_of_a_coarser_bill_less(run: Run) -> None:
    precise, coarse = (bill.affordable(share, 400, run).candidate for share in (0.01, 0.04))
    kettles, more_kettles, channels, more_channels = bill.habits(precise.policy, run)
    assert kettles.success < more_kettles.success
    assert channels.success < more_channels.success
    for one, other in zip(
        bill.attack(coarse.policy, run), bill.attack(precise.policy, run), strict=True
    ):
        assert one.chance <= one.success < other.success


def test_a_kettle_is_told_in_no_month_of_trials_more_often_than_is_stated(run: Run) -> None:
    """The best attacker on single windows of 28 days, by the exact law: the bound is no less."""
    policy = bill.affordable(0.01, 400, run).candidate.policy
    kettle, *_ = bill.attack(policy, run)
    [asked] = policy.questions
    watts = 2000 * 3 / (28 * 24 * 60)
    levels = math.ceil(watts / float(policy.domain.resolution))
    rate = asked.nano / 1e9 * float(policy.domain.resolution)
    assert (1 + apart(rate, levels)) / 2 <= kettle.success + 1e-9


def test_what_is_written_is_what_the_configuration_reads(run: Run) -> None:
    found = chosen(search(Needs(), run), 60)
    assert found is not None
    habits = [verdict(0.3), verdict(0.4)]
    made = {hide: document.preset(hide, "a secret", found, habits, "a command") for hide in CHOSEN}
    read = tomllib.loads(document.presets_toml(made))
    for name, table in read.items():
        preset = Preset.model_validate(table)
        shares = (preset.evidence.success, preset.evidence.week, preset.evidence.weeks)
        assert [*map(float, shares)] == [0.2333, 0.3, 0.4]
        assert preset.policy == made[name]["policy"]
        assert " ".join(preset.why.split()) == " ".join(made[name]["why"].split())
    [one] = tomllib.loads(document.policy_toml(found.candidate.settings))["policy"]
    assert PolicySettings.model_validate(one).policy == found.candidate.policy
