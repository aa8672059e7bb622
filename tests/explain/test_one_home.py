"""What a load in one home tells of it to readers of its group."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.explain.explain import doubts, explain
from meteragent.explain.guarantee import Guarantee
from meteragent.explain.one_home import of_one_home
from meteragent.privacy.domain import Domain
from meteragent.privacy.group import GroupPolicy, PerHome, added_up
from meteragent.privacy.query import answer, averages
from meteragent.privacy.question import question
from tests.given import DAY, MINUTE, policy

QUARTER = 15 * MINUTE


def group(*queries: str, size: int, interval: int = MINUTE, **changes: Any) -> GroupPolicy:  # noqa: ANN401 - whatever a policy has
    settings: dict[str, Any] = {
        "domain": Domain(0, 100_000, 10),
        "questions": tuple(question(name, "0.0008", 1) for name in queries),
        "size": size,
        "interval": QUARTER,
        "hop": size,
        "grace": 0,
        "idle": 0,
        "budget": 10**12,
        "horizon": DAY,
        "presence": "private",
        "homes": PerHome(Decimal(0), Decimal(24_000), interval),
    }
    return GroupPolicy(**settings | changes)


@given(st.data(), st.sampled_from(["avg", "max", "min", "median", "p95"]), st.integers(1, 4))
def test_no_load_moves_a_groups_answer_farther_than_is_said(
    data: st.DataObject, asked: str, panes: int
) -> None:
    """The product's own way to the answer, with and without a load, in homes of all kinds."""
    its = group(asked, size=panes * QUARTER)
    [question_] = its.questions
    [as_meter] = of_one_home(its).questions
    slots, levels = 15 * panes, data.draw(st.integers(1, 40))
    home = np.array(data.draw(st.lists(st.integers(0, 60), min_size=slots, max_size=slots)))
    begin = data.draw(st.integers(0, slots - 1))
    covered = data.draw(st.integers(1, slots - begin))
    loaded = home.copy()
    loaded[begin : begin + covered] += levels
    both = np.stack([home, loaded]).astype(np.int16)
    sums = [
        its.levels(
            added_up(pane, np.array([0]), np.array([0]), 1) + 77, np.array([1])
        )  # other homes
        for pane in (averages(both[:1], 15).T, averages(both[1:], 15).T)
        for pane in pane
    ]
    windows = np.array(sums, dtype=np.int32).reshape(2, panes)
    without, with_it = answer((question_.query,), windows)[:, 0].tolist()
    assert 0 <= with_it - without <= as_meter.query.moved(covered, slots, levels)


def test_a_kettle_moves_a_pane_by_its_energy_and_not_by_its_watts() -> None:
    for size, watts in ((QUARTER, 2000 / 15), (2 * QUARTER, 2000 / 30)):
        told = explain(Guarantee("feeder", group("avg", size=size), Decimal(100)))
        [kettle] = [load for load in told.loads if load.load == "kettle"]
        assert kettle.together.log_odds == pytest.approx(2 * 2000 * 0.0008)  # two windows' all
        assert kettle.without_gaps.log_odds <= (4 * watts + 40) * 0.0008
        assert kettle.right.once < 0.6


def test_layers_together_tell_no_more_than_an_average_does() -> None:
    its = group("avg", "layers(500W)", size=QUARTER)
    home = of_one_home(its)
    assert [asked.query.name for asked in home.questions] == ["avg", "layers(500W)"]
    assert {asked.query.moved(3, 15, 200) for asked in home.questions} == {40}


def test_what_is_no_group_or_asks_for_parts_is_its_own() -> None:
    for its in (policy(), group("max(30m)", size=4 * QUARTER), group("reading", size=QUARTER)):
        assert of_one_home(its) is its


def test_windows_of_days_and_joint_draws_are_what_they_were() -> None:
    its = group("avg", "max", size=DAY, noise="joint")
    home = of_one_home(its)
    assert (home.noise, home.windows.slots) == ("joint", 1440)
    assert home.terms.price == its.terms.price


@pytest.mark.parametrize("panes", [1, 4])
def test_check_warns_of_what_explain_warns_of(panes: int) -> None:
    its = Guarantee("street", group("avg", size=panes * QUARTER), Decimal(100))
    assert doubts(its) == explain(its).warnings != ()
