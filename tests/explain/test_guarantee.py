"""What is promised is said alike: page, metrics, Grafana, accounts, `explain`, README, SECURITY."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meteragent import TruncatedGeometric
from meteragent.commands.explain import explanations, text
from meteragent.config.load import from_document
from meteragent.config.presets import presets
from meteragent.explain.accounts import Shelf
from meteragent.explain.advice import of_grid
from meteragent.explain.guarantee import Guarantee
from meteragent.explain.words import at_most, factor
from meteragent.privacy.domain import Domain
from meteragent.privacy.exact import NANO, epsilon_at
from meteragent.privacy.group import GroupPolicy, PerHome
from meteragent.privacy.question import question
from meteragent.watch.http_message import Request
from meteragent.watch.status import Status
from tests.given import DAY, HOUR, MINUTE, SECOND
from tests.watch.stage import Stage

if TYPE_CHECKING:
    from meteragent.config import Config
    from meteragent.privacy.policy import Policy

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PROMISE = (ROOT / "deploy" / "guide" / "promise.md").read_text()
SECURITY = (ROOT / "SECURITY.md").read_text()
DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "privacy-spend.json").read_text())


def config_of(**policy: Any) -> Config:  # noqa: ANN401 - as in a file
    return from_document({"policy": [{"name": "household", **policy}]}, Path(), {})


@st.composite
def configs(draw: st.DrawFn) -> Config:
    """Small grids, radii on and off them, budgets for parts of windows, hopping windows."""
    queries = draw(
        st.lists(st.sampled_from(["avg", "p95", "max", "reading"]), min_size=1, unique=True)
    )
    size = draw(st.integers(1, 6))
    hops = [hop for hop in range(1, size + 1) if draw(st.booleans())] or [size]
    epsilon = draw(st.decimals("0.001", "2", places=3))
    costs = sum(size if query == "reading" else 1 for query in queries)
    partial = draw(st.booleans())
    least = epsilon * (1 if partial and queries[0] != "reading" else costs * size)
    return config_of(
        window=f"{size}m",
        interval="1m",
        hop=f"{draw(st.sampled_from(hops))}m",
        minimum=draw(st.sampled_from(["0W", "-100W"])),
        maximum="500W",
        step=draw(st.sampled_from(["10W", "20W", "100W"])),
        queries=queries,
        epsilon=str(epsilon),
        radius=f"{draw(st.integers(1, 700))}W",
        budget=str(least + draw(st.decimals("0", "30", places=3))),
        horizon=f"{draw(st.integers(6, 90))}m",
        on_exhausted="partial" if partial else "suppress",
        presence=draw(st.sampled_from(["public", "private"])),
    )


# An account of the bounds that shares no code with the product's.


def loss_of_one_release(policy: Policy, radius: Decimal) -> float:
    """By the exact law of every answer: the most that two readings within the radius are told."""
    domain = policy.domain
    lows = (
        np.arange(float(domain.minimum), float(domain.maximum), 0.5) + float(domain.step) / 2 - 0.01
    )
    moved = domain.levels(lows + float(radius)) - domain.levels(lows)
    total = 0.0
    for one in policy.questions:
        mechanism = TruncatedGeometric(domain, one.epsilon)
        row = np.log(mechanism.matrix())
        low = int(domain.levels(lows)[moved.argmax()])
        outputs = policy.slots if one.query.name == "reading" else 1
        total += outputs * np.abs(row[low] - row[low + int(moved.max())]).max()
    return float(total)


def windows_touched(policy: Policy, begin: int) -> int:
    """Of a stretch as long as the horizon."""
    end = begin + policy.horizon
    starts = range(-(policy.size // policy.hop + 2) * policy.hop, end, policy.hop)
    return sum(start + policy.size > begin for start in starts)


def most_windows_touched(policy: Policy) -> int:
    return max(windows_touched(policy, begin) for begin in (0, 1, policy.hop // 2, policy.hop - 1))


def losses(policy: Policy, radius: Decimal) -> tuple[float, float, float]:
    """Of one release, of a horizon that starts with a window, of any."""
    release = loss_of_one_release(policy, radius)
    per_watt = release / sum(q.nano * q.query.outputs(policy.slots) for q in policy.questions)
    budget = policy.budget * per_watt
    aligned, most = windows_touched(policy, 0), most_windows_touched(policy)
    horizon = min(budget, aligned * release)
    return min(release, budget), horizon, horizon + min(budget, (most - aligned) * release)


# Where it is said.


def shown_on_the_page(stage: Stage) -> dict[str, Any]:
    status = Status(stage.settings, stage.monitor, stage, wall=lambda: stage.now)
    answer = status.pages()["/status.json"].answer(Request("GET", "/status.json", {}))
    policy: dict[str, Any] = json.loads(answer.body)["policies"][0]
    return policy


def factors(words: str) -> list[str]:
    return re.findall(r"by at most x[\d.,]*\d|without a bound that protects", words)


def said(log_odds: float) -> str:
    told = factor(log_odds)
    return "without a bound that protects" if told == "no bound" else f"by at most {told}"


UNIT_OF = "policy_info"
"""Every column is beside it, for the policy's unit."""


def columns(title: str) -> dict[str, str]:
    """Of one of Grafana's tables: what its columns are called, and the series behind each."""
    [table] = [panel for panel in DASHBOARD["panels"] if panel["title"] == title]
    [names] = [
        change["options"]["renameByName"]
        for change in table["transformations"]
        if change["id"] == "organize"
    ]
    asked = {f"Value #{target['refId']}": target["expr"] for target in table["targets"]}
    series = {
        name: re.findall(r"meteragent_(\w+)\{", asked[value])[:1] for value, name in names.items()
    }
    assert all(len(found) == 1 for found in series.values())
    return {name: found for name, [found] in series.items()}


def refuse_another_word_of_grafana(stage: Stage, guarantee: Guarantee, told: list[float]) -> None:
    """Its description says which column is a bound for whom."""
    policy, names = guarantee.policy, columns("Policies")
    shown = {name: stage.value(series, policy="household") for name, series in names.items()}
    _, horizon, any_other = told
    assert shown["a horizon"] == pytest.approx(horizon)
    assert shown["any other"] == pytest.approx(any_other)
    assert shown["budget"] == float(guarantee.epsilon(policy.budget))
    assert shown["radius"] == float(guarantee.radius)
    assert (shown["window"], shown["horizon"]) == (policy.size / 1000, policy.horizon / 1000)
    answers = columns("What one answer means")
    costs = [
        stage.value(answers["epsilon"], policy="household", query=one.query.name)
        for one in policy.questions
    ]
    assert costs == [float(loss) for loss in guarantee.losses.values()]


def refuse_more_than_the_pages_promise(config: Config, told: list[float]) -> None:
    """README and SECURITY: `exp(epsilon)` per answer, `exp(budget)` in a horizon, and one window.

    All at the radius in whole steps, of which there are no more than the range has.
    """
    [settings] = config.policy
    assert settings.budget is not None
    step = settings.step
    range_ = settings.maximum - settings.minimum
    further = min(math.ceil(settings.radius / step) * step, range_) / settings.radius
    answers = [
        (asked.epsilon or settings.epsilon)
        * (settings.policy.slots if asked.query == "reading" else 1)
        for asked in settings.queries
    ]
    release, horizon, any_other = (Decimal(one) for one in told)
    nearly = Decimal("1.000000001")
    assert release <= min(sum(answers), settings.budget) * further * nearly
    assert horizon <= settings.budget * further * nearly
    assert any_other <= horizon + sum(answers) * further * nearly


def refuse_disagreement(config: Config) -> None:
    [explained], [guarantee] = explanations(config), config.guarantees.values()
    policy, stage = guarantee.policy, Stage(config)
    page, promised = shown_on_the_page(stage), explained.guarantee
    expected = losses(policy, guarantee.radius)

    numbers = (promised.one_release, promised.one_horizon, promised.any_horizon)
    assert [bound.log_odds for bound in numbers] == pytest.approx(expected, rel=1e-6)

    refuse_another_word_of_grafana(stage, guarantee, [bound.log_odds for bound in numbers])
    refuse_more_than_the_pages_promise(config, [bound.log_odds for bound in numbers])

    told = [said(bound.log_odds) for bound in numbers]
    if most_windows_touched(policy) == windows_touched(policy, 0):
        told.pop()
    assert factors(page["words"]) == told
    assert factors(" ".join(promised.sentences))[: len(told)] == told
    assert page["words"] in " ".join(promised.sentences)
    assert page["words"] in " ".join(text(explained, 80).split())

    of_queries = [
        stage.value("release_epsilon", policy="household", query=one.query.name)
        for one in policy.questions
    ]
    assert [answer["epsilon"] for answer in page["answers"]] == of_queries
    if policy.budget >= policy.terms.price:
        assert sum(filter(None, of_queries)) == pytest.approx(expected[0])
    for name, number in (("horizon", expected[1]), ("any_horizon", expected[2])):
        assert stage.value(f"policy_{name}_epsilon", policy="household") == pytest.approx(number)
    budget = stage.value("policy_budget_epsilon", policy="household")
    assert budget == page["budget"] >= stage.value("policy_horizon_epsilon", policy="household")
    assert float(Shelf("", guarantee).epsilon(policy.budget)) == pytest.approx(budget)
    assert float(Decimal(promised.horizon_per_watt)) * promised.apart == pytest.approx(expected[1])


@pytest.mark.parametrize("name", [name for name in presets() if name != "bill"])
def test_a_preset_is_said_to_promise_the_same_everywhere(name: str) -> None:
    """On a grid as fine as the preset's, but no wider than a matrix of it can be.

    Months, which this account of windows does not know, are said below.
    """
    refuse_disagreement(config_of(preset=name, maximum="600W"))


@settings(max_examples=max(50, settings().max_examples // 2))
@given(config=configs())
def test_a_policy_is_said_to_promise_the_same_everywhere(config: Config) -> None:
    refuse_disagreement(config)


def told_of(name: str) -> Guarantee:
    [guarantee] = config_of(preset=name).guarantees.values()
    return guarantee


@pytest.mark.parametrize("name", presets())
def test_a_guess_among_any_number_of_stories_gains_half_of_epsilon_times_their_span(
    name: str,
) -> None:
    """One answer: 1 + epsilon * span / 2, and on a grid so fine next to nothing less."""
    guarantee = told_of(name)
    loss = float(guarantee.epsilon(guarantee.window))
    assert 1 + 0.99 * loss / 2 <= guarantee.guess <= 1 + loss / 2
    said = " ".join(guarantee.promised().sentences)
    assert "lets nobody name the right one more than" in said


@pytest.mark.parametrize(
    ("name", "release", "horizon", "any_other"),
    [
        ("tv-content", "x2.72", "x2.72", "x7.39"),
        ("appliances", "x2.72", "x1,100", "x2,990"),
        ("presence", "x2.72", "x2.72", "x7.39"),
        ("bill", "x4.49", "x20.1", "x90.1"),
    ],
)
def test_what_the_presets_promise(name: str, release: str, horizon: str, any_other: str) -> None:
    words = told_of(name).words
    assert factors(words) == [f"by at most {bound}" for bound in (release, horizon, any_other)]


def test_the_readme_shows_what_explain_says() -> None:
    [explained] = explanations(
        from_document({"policy": [{"name": "tv-content", "preset": "tv-content"}]}, Path(), {})
    )
    [block] = [
        b for b in re.findall(r"```console\n(.*?)```", README, re.DOTALL) if "explain --preset" in b
    ]
    shown = [line for line in block.splitlines()[1:] if line != "…"]
    assert "\n".join(shown[1:]) in text(explained, 80)
    assert shown[0] in text(explained, 80)


@pytest.mark.parametrize("page", [README, PROMISE, SECURITY], ids=["README", "promise", "SECURITY"])
def test_pages_say_which_stretches_the_budget_bounds(page: str) -> None:
    text = " ".join(page.split())
    for sentence in re.findall(r"[^.|]*`exp\(budget\)`[^.|]*", text):
        assert "that starts or ends with a window" in sentence
    assert re.search(r"any other stretch as long|Any other stretch as long", text)
    if page is not README:  # which leaves the grid to the page of the promise
        assert re.search(
            r"in whole steps of the grid|whole number of steps counts as the next", text
        )
    for number in re.findall(r"x\d\.\d\d", text):
        assert number in {"x2.72", "x7.39"}


@pytest.mark.parametrize("name", presets())
def test_the_radius_of_a_preset_is_on_its_grid(name: str) -> None:
    guarantee = told_of(name)
    assert guarantee.radius == guarantee.apart


# Radii off the grid.


@pytest.mark.parametrize(
    ("radius", "step", "instead"),
    [
        ("25W", "2W", '"24W" or "26W"'),
        ("10W", "100W", '"100W"'),
        ("1005W", "10W", '"1kW" or "1010W"'),
        ("0.5W", "2W", '"2W"'),
    ],
)
def test_a_radius_off_the_grid_is_warned_of(radius: str, step: str, instead: str) -> None:
    config = config_of(preset="appliances", radius=radius, step=step)
    [guarantee] = config.guarantees.values()
    [warning] = of_grid(guarantee)
    assert warning.endswith(f"Write radius = {instead}.")
    [explained] = explanations(config)
    assert warning in explained.warnings
    for one in re.findall(r'"(.*?)"', instead):
        [better] = config_of(preset="appliances", radius=one, step=step).guarantees.values()
        assert not [*of_grid(better)]


@pytest.mark.parametrize("radius", ["50W", "24kW", "25kW", "24001W"])
def test_a_radius_on_the_grid_or_beyond_the_range_is_not(radius: str) -> None:
    [guarantee] = config_of(preset="appliances", radius=radius).guarantees.values()
    assert not [*of_grid(guarantee)]


@given(nano=st.integers(0, 2**62), watts=st.decimals("1e-12", "1e15", places=12))
def test_epsilon_at_a_distance_is_exact(nano: int, watts: Decimal) -> None:
    assert Fraction(epsilon_at(nano, watts)) == Fraction(watts) * nano / NANO


def test_the_least_release_is_the_first_query_where_parts_are_released() -> None:
    for on_exhausted, least in (("suppress", 3), ("partial", 1)):
        config = config_of(
            preset="appliances",
            queries=["avg", "min", "max"],
            budget="30",
            on_exhausted=on_exhausted,
        )
        [policy] = config.policies
        assert policy.terms.price == 3 * policy.questions[0].nano
        assert policy.terms.least == least * policy.questions[0].nano
        assert math.isclose(float(policy.terms.least), least * 20_000_000)


def test_of_a_group_it_is_said_what_each_home_loses() -> None:
    group = GroupPolicy(
        domain=Domain(0, 500_000, 10),
        questions=(question("avg", 1, 1000),),
        size=HOUR,
        interval=15 * MINUTE,
        hop=HOUR,
        grace=0,
        idle=0,
        budget=24_000_000,
        horizon=DAY,
        presence="private",
        homes=PerHome(Decimal(0), Decimal(10_000), 10 * SECOND),
    )
    told = Guarantee("feeder", group, Decimal(1000)).promised().sentences
    assert any("sum of its homes' averages over 15 min" in one for one in told)
    assert any("exp(0.001 x 10000)" in one for one in told)
    [presence] = [one for one in told if "Which readings arrived" in one]
    assert "by at most x22,100" in presence  # of the home's range, and not of the sum's


@pytest.mark.parametrize("radius", ["100", "250", "1000"])
def test_policies_that_share_an_account_lose_together_what_each_of_them_loses(radius: str) -> None:
    """Each at the radius of the one that tells: at another's it would be another promise."""
    one, two, three = told_of("tv-content"), told_of("appliances"), told_of("presence")
    told = replace(one, radius=Decimal(radius), beside=(two, three))
    at_its = [replace(each, radius=Decimal(radius)) for each in (one, two, three)]
    promised = told.promised()
    for bound, losses in (
        (promised.together_one_horizon, [each.epsilon(each.horizon) for each in at_its]),
        (promised.together_any_horizon, [each.epsilon(each.any_horizon) for each in at_its]),
    ):
        assert bound.log_odds == pytest.approx(float(sum(losses)))
        assert at_most(float(sum(losses))) in told.words
