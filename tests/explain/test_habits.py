"""What is said of loads and habits bounds what any home shows of them, at any time of day."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from meteragent import Domain
from meteragent.config.zones import zone
from meteragent.explain.advantage import Draw, bound, right
from meteragent.explain.habits import told
from meteragent.explain.leakage import Load
from meteragent.explain.loads import Everyday, traces
from meteragent.privacy.calendar import Calendar
from meteragent.privacy.exact import NANO
from meteragent.privacy.query import READINGS, answer
from meteragent.privacy.question import question
from meteragent.stream.completed import completed
from tests import given as kit
from tests.given import HOUR, MINUTE

if TYPE_CHECKING:
    from meteragent.privacy.policy import Policy

DAY = 24 * HOUR
BEGIN = 20_000 * DAY


def policy(*queries: str, **changes: Any) -> Policy:  # noqa: ANN401
    settings: dict[str, Any] = {
        "domain": Domain(0, 400, 10),
        "questions": tuple(question(name, 1, 100) for name in queries or ("avg",)),
        "size": DAY,
        "interval": HOUR,
        "budget": NANO * 10_000,
        "horizon": 32 * DAY,
    } | changes
    return kit.policy(**settings)


def everyday(*loads: Load) -> Everyday:
    return Everyday("x", "", tuple((1, load) for load in loads))


def shown(asked: Policy, load: Load, begin: int, days: int, base: list[int]) -> float:
    """How often somebody is right who knows the home, and when in the day the load would run.

    By windows one after the other, whatever kind they are of; readings are samples.
    """
    windows, interval = asked.windows, asked.interval
    running = math.ceil(load.seconds * 1000 / interval) + 1
    levels = asked.domain.levels_apart(load.watts)
    first, last = windows.first_open(BEGIN), windows.newest(BEGIN + (days + 2) * DAY)
    start, end = windows.start(first), windows.end(last)
    without = np.resize(base, (end - start) // interval)
    with_it = without.copy()
    for day in range(days):
        at = (BEGIN + day * DAY - start) // interval + begin
        with_it[at : at + running] = without[at : at + running] + levels
    draws: Counter[Draw] = Counter()
    for window in range(first, last + 1):
        low, high = ((t - start) // interval for t in (windows.start(window), windows.end(window)))
        homes = np.stack([without[low:high], with_it[low:high]])
        starts = np.full(2, windows.start(window))
        contents = completed(asked, {READINGS: homes}, starts)
        for one, is_asked in zip(asked.questions, asked.asking.of(starts)[0], strict=True):
            moved = np.abs(np.diff(answer((one.query,), contents), axis=0)) * is_asked
            draws.update(Draw(one.nano, (move,)) for move in moved.ravel().tolist())
    return right(draws, float(asked.domain.resolution))


KINDS: dict[str, dict[str, Any]] = {
    "6h": {"size": 6 * HOUR, "hop": 6 * HOUR},
    "hopping": {"size": 12 * HOUR, "hop": 3 * HOUR},
    "day": {},
    "36h": {"size": 36 * HOUR, "hop": 36 * HOUR},
    "3d": {"size": 3 * DAY, "hop": 3 * DAY},
    "days": {"calendar": Calendar("day", zone("Europe/Paris"))},
    "weeks": {"calendar": Calendar("week", zone("Europe/Paris"))},
    "months": {"calendar": Calendar("month", zone("Europe/Paris"))},
}


@pytest.mark.parametrize("kind", KINDS)
@given(
    queries=st.sampled_from(
        [
            *(("avg",), ("max",), ("avg", "median"), ("reading",)),
            ("avg[weekday 17:00-20:00]", "avg[not 02:00-05:00]"),
            ("avg", "max[weekend]"),
        ]
    ),
    hours=st.sampled_from([1, 5, 20, 24]),
    begin=st.integers(0, 23),
    days=st.sampled_from([1, 2, 7, 30]),
    watts=st.sampled_from([30, 100]),
    base=st.lists(st.integers(0, 30), min_size=1, max_size=30),
)
def test_no_home_shows_more_of_a_load_than_is_said(
    kind: str,
    queries: tuple[str, ...],
    hours: int,
    begin: int,
    days: int,
    watts: int,
    base: list[int],
) -> None:
    assume(queries != ("reading",) or "calendar" not in KINDS[kind])
    asked, load = policy(*queries, **KINDS[kind]), Load(watts, hours * 3600)
    assert shown(asked, load, begin, days, base) <= told(everyday(load), asked, days) + 1e-9


@pytest.mark.parametrize("kind", ["6h", "day", "3d"])
@pytest.mark.parametrize("days", [1, 7])
@pytest.mark.parametrize("query", ["avg", "max"])
def test_some_home_shows_as_much(kind: str, days: int, query: str) -> None:
    """A flat one: 24 levels make no rounding."""
    asked, load = policy(query, **KINDS[kind]), Load(240, 2 * 3600)
    most = max(shown(asked, load, begin, days, [5]) for begin in range(24))
    assert most == pytest.approx(told(everyday(load), asked, days), abs=0.02)


def test_windows_of_parts_that_uses_do_not_share_are_told_by_themselves() -> None:
    quarter = policy("avg", size=15 * MINUTE, hop=15 * MINUTE, interval=MINUTE)
    kettle = everyday(Load(20, 180))
    once = told(kettle, quarter)
    assert (
        0.5 < once < told(kettle, quarter, 7) < told(kettle, quarter, 30) < 0.5 + 30 * (once - 0.5)
    )


def test_parts_gain_one_by_one_and_never_more_than_all_they_lose() -> None:
    asked, part = policy(), Load(100, 3600)
    alone = told(everyday(part), asked)
    assert told(everyday(part, part), asked) <= 0.5 + 2 * (alone - 0.5) + 1e-12
    many = Everyday("x", "", ((60, part),))
    loss = traces(many, asked, asked.slots).together
    assert told(many, asked) == bound(loss, 0.1) < 1
    assert told(Everyday("x", "", ((1, Load(400, 86_400)), (1, part))), asked, 30) == 1


def test_a_budget_that_is_spent_tells_no_more() -> None:
    """Ten hours touch 11 windows of an hour; the budget pays for one."""
    hourly = {"size": HOUR, "hop": HOUR, "interval": 10 * MINUTE}
    load = everyday(Load(100, 36_000))
    rich, poor = (policy(**hourly, budget=n * NANO // 100, horizon=DAY) for n in (10_000, 1))
    assert told(load, poor) < told(load, rich)
    assert told(load, poor) == bound(traces(load, poor, 6).together, 0.1)


def test_joint_answers_tell_as_much_as_the_one_that_moves_most() -> None:
    load = everyday(Load(100, 3600))
    joint = policy("avg", "max", noise="joint")
    assert told(load, joint) < told(load, policy("avg", "max"))
    assert told(load, policy("max")) - 0.1 < told(load, joint) <= told(load, policy("max"))
