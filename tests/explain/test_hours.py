"""What a load tells by answers about some hours alone, and what these cost."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent import Domain
from meteragent.config.zones import zone
from meteragent.explain.explain import explain
from meteragent.explain.guarantee import Guarantee, most_spent
from meteragent.explain.leakage import Load
from meteragent.explain.loads import EVERYDAY, Everyday, traces
from meteragent.formats.csv_encoder import CsvEncoder
from meteragent.formats.encoder import Encoder
from meteragent.formats.forms import longest_release
from meteragent.privacy.calendar import Calendar
from meteragent.privacy.domain import ABSENT
from meteragent.privacy.exact import NANO
from meteragent.privacy.query import READINGS, answer
from meteragent.privacy.question import question
from meteragent.stream.completed import completed
from tests.given import DAY, HOUR, MINUTE, policy
from tests.twins.hours import is_of

if TYPE_CHECKING:
    from meteragent.privacy.arrays import Integers
    from meteragent.privacy.domain import Levels
    from meteragent.privacy.policy import Policy

EVENING = "weekday 17:00-20:00"
QUARTER = 15 * MINUTE
NAMES = ["avg", "avg[00:20-00:50]", "avg[fri]", "p95[not 00:10-00:45]", "max(15m)[00:30-01:30]"]


def by_hours(coverage: str) -> Policy:
    return policy(
        domain=Domain(0, 400, 10),
        questions=tuple(question(name, 1, 10) for name in NAMES),
        size=HOUR,
        hop=HOUR // 2,
        interval=5 * MINUTE,
        min_coverage=Decimal(coverage),
    )


def answered(rules: Policy, starts: Integers, levels: Levels) -> Integers:
    contents = completed(rules, {READINGS: levels}, starts)
    return answer(tuple(asked.query for asked in rules.questions), contents)


@given(
    coverage=st.sampled_from(["0", "0.5", "0.8"]),
    watts=st.integers(1, 500),
    readings=st.integers(2, 40),
    begin=st.integers(0, 40),
    seed=st.integers(0, 2**32 - 1),
)
def test_no_home_moves_more_than_a_load_is_said_to(
    coverage: str, watts: int, readings: int, begin: int, seed: int
) -> None:
    """From the last hours of a Thursday on, with and without gaps."""
    rules, rng = by_hours(coverage), np.random.default_rng(seed)
    load = Everyday("x", "", ((1, Load(watts, (readings - 1) * 300)),))
    starts = DAY - 3 * HOUR + np.arange(12) * HOUR // 2
    slots = np.arange(90)
    without = rng.choice([0, 0, 130, 250, 400], 90).astype(np.float64)
    with_it = without + watts * ((begin <= slots) & (slots < begin + readings))
    gaps = rng.random(90) < (0 if rng.random() < 0.5 else rng.random())
    worlds = []
    for home in (without, with_it):
        levels = np.where(gaps, ABSENT, rules.domain.levels(home)).astype(np.int16)
        windows = np.stack([levels[nth * 6 : nth * 6 + 12] for nth in range(12)])
        worlds.append(answered(rules, starts, windows))
    heard = np.stack([~gaps[nth * 6 : nth * 6 + 12] for nth in range(12)])
    moments = starts[:, np.newaxis] + np.arange(12) * 5 * MINUTE
    covered = heard.sum(axis=1) >= rules.needed
    for about, hours in rules.asking.of_hours.items():
        if not about.part:
            covered &= (heard & hours.of(moments)).sum(axis=1) >= rules.needed_of(starts, about)
    counted = covered[:, np.newaxis] & rules.asking.of(starts)
    moved = (np.abs(worlds[1] - worlds[0]) * counted).sum(axis=0)
    held = rules.fewest_slots if not gaps.any() else rules.needed
    said = traces(load, rules, held)
    nano = [asked.nano for asked in rules.questions]
    for name, found, loss in zip(NAMES, moved.tolist(), nano, strict=True):
        assert found * loss * 10 / NANO <= said.by_query[name] * (1 + 1e-9)


def daily(*names: str, **changes: object) -> Policy:
    lengths = Calendar("day", zone("Europe/Paris")).lengths(QUARTER, 0)
    settings = {
        "domain": Domain(0, 24_000, 10),
        "questions": tuple(question(name, 1, 1000) for name in names),
        "interval": QUARTER,
        "grace": HOUR,
        "horizon": 28 * DAY,
    }
    return policy(**{**settings, **lengths, **changes})


def test_a_load_moves_an_average_of_few_hours_by_as_much_more() -> None:
    """A kettle has two of 92 quarters of the shortest day, and two of the evening's twelve."""
    kettle = next(load for load in EVERYDAY if load.name == "kettle")
    ev = next(load for load in EVERYDAY if load.name == "EV charge")
    rules = daily("avg", f"avg[{EVENING}]", f"max[{EVENING}]")
    told = traces(kettle, rules, rules.fewest_slots).by_query
    assert told["avg"] * 1000 / 10 == pytest.approx(-(-2 * 200 // 92) + 0, abs=2)
    assert told[f"avg[{EVENING}]"] * 1000 / 10 == pytest.approx(-(-2 * 200 // 12), abs=1)
    told = traces(ev, rules, rules.fewest_slots).by_query
    assert told["avg"] < 7.4 * 18 / 92 < 7.4 < told[f"avg[{EVENING}]"] < 7.4 * 2
    assert told[f"max[{EVENING}]"] == pytest.approx(7.4 * 2)  # at any time: it may touch two days


def test_what_windows_cost_that_are_not_asked_everything() -> None:
    """Four weeks of weekdays pay for the evening, and all days for the whole."""
    either = daily(f"avg[{EVENING}]", "avg[weekend]")
    evening, weekend = (asked.nano for asked in either.questions)
    assert either.terms.price == max(evening, weekend)
    assert most_spent(either, 7) == 5 * evening + 2 * weekend
    alone = daily(f"avg[{EVENING}]")
    assert most_spent(alone, 7) == most_spent(alone, 6) + 0 == 5 * evening
    for days in range(1, 29):
        starts = alone.windows.start(np.arange(19_800, 19_800 + days))
        assert most_spent(alone, days) >= int(alone.asking.of(starts).sum()) * evening


@pytest.mark.parametrize(("budget", "said"), [(20, "pays for at least"), (21, "covers every")])
def test_a_budget_need_not_pay_for_what_is_not_asked(budget: int, said: str) -> None:
    """Four weeks touch 29 days, of which 21 are weekdays at most."""
    evening = question(f"avg[{EVENING}]", 1, 1000).nano
    rules = daily(f"avg[{EVENING}]", budget=budget * evening)
    assert said in explain(Guarantee("x", rules, Decimal(1000))).spending.sentence


@pytest.mark.parametrize("unit", ["day", "week", "month"])
def test_the_longest_release_is_that_of_a_window_that_is_asked_most(unit: str) -> None:
    lengths = Calendar(unit, zone("Europe/Paris")).lengths(QUARTER, 0)  # type: ignore[arg-type]
    names = (f"avg[{EVENING}]", "avg[weekend]", "min[mon]")
    rules = daily(*names, **{**lengths, "horizon": 60 * DAY})
    for encoder in (Encoder([rules]), CsvEncoder([rules])):
        assert longest_release(encoder, rules) > 300
    asked = rules.asking.of(rules.windows.start(rules.windows.every)).sum(axis=1).max()
    assert asked == (2 if unit == "day" else 3)


def test_answers_by_hours_are_those_of_a_clock_on_the_wall() -> None:
    rules = daily(f"avg[{EVENING}]")
    start = int(rules.windows.start(rules.windows.newest(1_711_800_000_000)))
    levels = np.arange(rules.slots, dtype=np.int16)[np.newaxis] * 3
    held = [
        int(level)
        for nth, level in enumerate(levels[0])
        if is_of(EVENING, "Europe/Paris", start + DAY * 2 + nth * QUARTER)
    ]
    [[found]] = answered(rules, np.array([start + DAY * 2]), levels).tolist()
    assert found == (2 * sum(held) + len(held)) // (2 * len(held))
