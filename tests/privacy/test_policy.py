from dataclasses import replace
from decimal import Decimal

import pytest

from meteragent.errors import InvalidSetting
from meteragent.privacy.query import query
from meteragent.privacy.question import question
from tests.given import DAY, MINUTE, SECOND, policy


@pytest.mark.parametrize(
    ("coverage", "slots", "needed"),
    [("0", 6, 1), ("0.5", 6, 3), ("0.5", 3, 2), ("0.8", 6, 5), ("0.8", 90, 72), ("1", 6, 6)],
)
def test_a_window_needs_at_least_its_share_of_readings(
    coverage: str, slots: int, needed: int
) -> None:
    of = policy(size=slots * SECOND, interval=SECOND, min_coverage=Decimal(coverage))
    assert of.needed == needed


AVERAGE = question("avg", 1, 100)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"interval": 0}, "interval"),
        ({"size": -1}, "size"),
        ({"grace": -1}, "grace"),
        ({"idle": -1}, "idle"),
        ({"interval": 700}, "interval"),
        ({"hop": 1500}, "hop"),
        ({"hop": 7000}, "hop"),
        ({"interval": 1, "size": 200_000, "hop": 200_000}, "interval"),
        ({"questions": ()}, "queries"),
        ({"questions": (AVERAGE, AVERAGE)}, "queries"),
        ({"questions": tuple(question(f"p0.{n:03}", 1, 100) for n in range(129))}, "queries"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_by_its_field(
    changes: dict[str, object], field: str
) -> None:
    sound = policy(questions=(AVERAGE,), size=6 * SECOND, interval=SECOND)
    with pytest.raises(InvalidSetting) as refused:
        replace(sound, **changes)  # type: ignore[arg-type]
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ("median", "of 1440 readings, and no more than 768 are kept"),
        ("median(1m)", "of 1440 averages, and no more than 768 are kept"),
        ("max(25m)", "do not divide windows and their panes"),
        ("max(10m)", "do not divide windows and their panes"),
        ("max(30s)", "are no whole number of intervals"),
    ],
)
def test_what_a_long_window_cannot_answer_is_refused(asked: str, problem: str) -> None:
    with pytest.raises(InvalidSetting, match=problem):
        policy(questions=(question(asked, 1, 100),), size=DAY, interval=MINUTE)


@pytest.mark.parametrize(
    "asked", ["avg", "min", "max", "max(1m)", "median(5m)", "p95(15m)", "p5(1h)"]
)
def test_what_it_can_is_not(asked: str) -> None:
    day = policy(questions=(question(asked, 1, 100),), size=DAY, interval=MINUTE)
    assert day.panes.size == 15 * MINUTE
    assert day.parts == ([] if "(" not in asked else [query(asked).part])


def test_averages_of_parts_are_not_filled() -> None:
    with pytest.raises(InvalidSetting, match="are not filled"):
        policy(questions=(question("max(15m)", 1, 100),), size=DAY, fill_limit=MINUTE)


@pytest.mark.parametrize(
    "name", ["avg(15m)", "reading(15m)", "max(max(1m))", "max(900s)", "max(0s)", "max()", "max(15)"]
)
def test_a_name_that_asks_nothing_of_parts_is_refused(name: str) -> None:
    with pytest.raises(InvalidSetting):
        query(name)
