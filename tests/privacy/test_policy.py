import json
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from meteragent.errors import InvalidSetting
from meteragent.privacy.domain import Domain
from meteragent.privacy.published import policy_of
from meteragent.privacy.query import query
from meteragent.privacy.question import question
from tests.given import DAY, HOUR, MINUTE, SECOND, policy


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


def test_only_a_finer_resolution_makes_another_policy() -> None:
    plain = policy(domain=Domain(0, 1000, 10))
    same, finer, finest = (
        policy(domain=Domain(0, 1000, 10, resolution)) for resolution in ("10", "1", "0.1")
    )
    assert (same.id, same.digest, same) == (plain.id, plain.digest, plain)
    assert len({plain.digest, finer.digest, finest.digest}) == 3
    assert len({plain.id, finer.id, finest.id}) == 3
    assert "resolution" not in plain.document()
    assert finest.document()["resolution"] == "0.1"
    for one in (plain, finer, finest):
        assert policy_of(one.document()) == one
        assert policy_of(one.document()).id == one.id


@pytest.mark.parametrize("noise", ["independent", "joint"])
def test_noise_that_goes_too_far_on_a_fine_grid_is_refused(noise: str) -> None:
    asked = question("avg", 1, 500), question("max", 1, 500)
    policy(questions=asked, domain=Domain(0, 24_000, 10, 2), noise=noise)
    with pytest.raises(InvalidSetting, match="write a larger resolution, or a larger epsilon"):
        policy(questions=asked, domain=Domain(0, 24_000, 10, "0.1"), noise=noise)


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
        ("median", "of 1440 readings, and only 768 are kept"),
        ("median(1m)", "of 1440 averages, and only 768 are kept"),
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
    assert day.asking.parts == ([] if "(" not in asked else [query(asked).about.part])


def test_averages_of_parts_are_not_filled() -> None:
    with pytest.raises(InvalidSetting, match="are not filled"):
        policy(questions=(question("max(15m)", 1, 100),), size=DAY, fill_limit=MINUTE)


@pytest.mark.parametrize(
    "name", ["avg(15m)", "reading(15m)", "max(max(1m))", "max(900s)", "max(0s)", "max()", "max(15)"]
)
def test_a_name_that_asks_nothing_of_parts_is_refused(name: str) -> None:
    with pytest.raises(InvalidSetting):
        query(name)


@pytest.mark.parametrize(
    ("names", "changes", "said"),
    [
        (["avg[weekday]"], {"fill_limit": MINUTE}, "and hours are not filled"),
        (["avg[weekday]", "avg[mon-fri]"], {}, "asks one twice"),
        (["max(15m)[sat]", "max(15m)[sat 00:00-24:00]"], {}, "asks one twice"),
        (["avg[07:00-08:30]"], {"interval": HOUR}, "do not begin and end with what is 1h long"),
        (["max(1h)[07:30-09:00]"], {}, "do not begin and end with what is 1h long"),
        (["median[sat]"], {}, r"ask median\(15m\)\[sat\], avg, min or max"),
        (["p95(1m)[sat]"], {}, "ask longer parts"),
    ],
)
def test_hours_that_cannot_be_answered_are_refused(
    names: list[str], changes: dict[str, int], said: str
) -> None:
    asked = tuple(question(name, 1, 100) for name in names)
    with pytest.raises(InvalidSetting, match=said):
        policy(**{"questions": asked, "size": DAY, "interval": MINUTE, **changes})


def test_whoever_has_the_document_knows_what_is_asked_when() -> None:
    names = ("avg", "avg[weekday 17:00-20:00]", "max(15m)[not sat, sun 00:00-06:00]")
    one = policy(
        questions=tuple(question(name, 1, 100) for name in names), size=DAY, interval=MINUTE
    )
    again = policy_of(json.loads(json.dumps(one.document())))
    assert (again, again.id, again.asking) == (one, one.id, one.asking)
    week = np.arange(7) * DAY  # from a Thursday on
    assert again.asking.of(week).sum(axis=0).tolist() == [7, 5, 6]
    assert again.terms.price == one.terms.dearest(1) == sum(one.terms.costs)


@pytest.mark.parametrize("radius", ["0", "0.0", "-0.5", "-1"])
def test_a_radius_that_is_none_is_refused_by_name(radius: str) -> None:
    with pytest.raises(InvalidSetting, match="must be positive") as refused:
        question("avg", 1, radius)
    assert refused.value.field == "radius"


def test_parts_that_do_not_divide_a_window_are_refused_though_they_divide_its_panes() -> None:
    """Twenty minutes hold four panes of five, and half an hour holds no whole number of them."""
    panes = policy(size=30 * MINUTE, hop=5 * MINUTE, interval=MINUTE).panes
    assert 20 * MINUTE % panes.size == 0
    with pytest.raises(InvalidSetting, match="do not divide windows"):
        policy(
            questions=(question("max(20m)", 1, 100),),
            size=30 * MINUTE,
            hop=5 * MINUTE,
            interval=MINUTE,
        )
