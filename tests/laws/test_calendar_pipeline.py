"""What holds of a pipeline holds of one whose windows are days, weeks and months, too."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meteragent.config.zones import zone
from meteragent.privacy.calendar import Calendar, Unit
from meteragent.privacy.question import per_watt, question
from meteragent.stream import trail
from meteragent.stream.pipeline import START, Assigned, Pipeline
from tests.given import DAY, HOUR, KEY, MINUTE, Record, policy, readings
from tests.laws import test_pipeline as laws

if TYPE_CHECKING:
    from collections.abc import Iterator

    from meteragent.privacy.policy import Policy

QUARTER = 15 * MINUTE


def of_calendar(unit: Unit, name: str, asked: str = "avg; max; min", **changes: object) -> Policy:
    interval, offset = (changes.pop(key, value) for key, value in (("interval", QUARTER), ("o", 0)))
    lengths = Calendar(unit, zone(name)).lengths(interval, offset)  # type: ignore[arg-type]
    settings = {
        "questions": tuple(question(query.strip(), 1, 100) for query in asked.split(";")),
        "interval": interval,
        "grace": 3 * HOUR,
        "idle": 9 * HOUR,
        "budget": per_watt("budget", 4, 100),
        "horizon": 2 * lengths["size"],
    }
    return policy(**{**lengths, **settings, **changes})


CALENDARS = (
    Assigned(
        "", "all", of_calendar("day", "Europe/Paris", "avg; p95", min_coverage=Decimal("0.1"))
    ),
    Assigned("p-", "p-", of_calendar("day", "America/Sao_Paulo", presence="private")),
    Assigned(
        "h-",
        "h-",
        of_calendar(
            "week", "Europe/Paris", "avg; median", interval=HOUR, o=6 * HOUR, fill_limit=9 * HOUR
        ),
    ),
    Assigned("s-", "s-", of_calendar("month", "Australia/Lord_Howe", on_exhausted="partial")),
    Assigned("q-", "q-", of_calendar("month", "Europe/Paris", presence="private", fill_limit=DAY)),
)
EVENINGS = "weekday 17:00-20:00"
IN_HOURS = (
    Assigned(
        "",
        "all",
        of_calendar("day", "Europe/Paris", f"avg[{EVENINGS}]; min[weekend 22:00-06:00]"),
    ),
    Assigned(
        "p-",
        "p-",
        of_calendar(
            "day",
            "America/Sao_Paulo",
            f"avg; max(15m)[{EVENINGS}]; avg[not {EVENINGS}]",
            presence="private",
        ),
    ),
    Assigned("h-", "h-", of_calendar("week", "Europe/Paris", "p95[sat-mon]; avg", interval=HOUR)),
    Assigned(
        "s-",
        "s-",
        of_calendar("day", "Australia/Lord_Howe", "avg[mon]; avg[tue-sat]", noise="joint"),
    ),
    Assigned(
        "q-",
        "q-",
        policy(
            questions=tuple(question(q, 1, 100) for q in (f"avg[{EVENINGS}]", "max[02:00-03:00]")),
            size=HOUR,
            interval=QUARTER,
            budget=per_watt("budget", 3, 100),
            horizon=DAY,
            on_exhausted="partial",
        ),
    ),
)
BEGINS = [date(2024, 3, 29), date(2024, 10, 25), date(2018, 2, 15), date(2024, 2, 27)]


@st.composite
def logs(draw: st.DrawFn) -> list[Record]:
    """Around a change of clocks, or a leap day."""
    time, log = (draw(st.sampled_from(BEGINS)) - date(1970, 1, 1)).days * DAY + 7 * MINUTE, []
    for _ in range(draw(st.integers(1, 25))):
        length = draw(st.sampled_from([1, 1, 2, 9, 40]))
        time += draw(st.sampled_from([0, 0, 1, 3, 10, 30, 90])) * HOUR
        start = time + draw(st.sampled_from([0, 0, 0, -5, -40, 100])) * HOUR
        watts = st.one_of(st.floats(-100, 2000), st.just(float("nan")))
        log.append(
            Record(
                meter=draw(st.sampled_from(laws.METERS)),
                written=time + 40 * HOUR,
                start=start,
                watts=tuple(draw(watts) for _ in range(length)),
                spacing=QUARTER if length > 9 else draw(st.sampled_from([QUARTER, HOUR])),
                bad=draw(st.integers(0, 9)) == 0,
            )
        )
    return log


SOME = settings(max_examples=max(20, settings().max_examples // 5))
BY_NAME = {"calendars": CALENDARS, "in hours": IN_HOURS}
SOME_POLICIES = st.sampled_from([*BY_NAME])


@contextmanager
def in_calendars(policies: str, *, carries: bool = False) -> Iterator[None]:
    """Which panes wait in the ledger hangs on batches; what is released does not."""
    longer = trail.LONGER if carries else 10 * 366 * DAY
    with (
        patch("tests.laws.test_pipeline.POLICIES", BY_NAME[policies]),
        patch.object(trail, "LONGER", longer),
    ):
        yield


@SOME
@given(
    logs(), st.lists(st.integers(0, 50), max_size=5), st.sampled_from([40, 2**14]), SOME_POLICIES
)
def test_any_batching_gives_the_same_releases(
    log: list[Record], cuts: list[int], much: int, policies: str
) -> None:
    with in_calendars(policies):
        law = laws.test_any_batching_of_the_same_records_gives_the_same_releases_in_the_same_order
        law.hypothesis.inner_test(log, cuts, much)  # type: ignore[attr-defined]


@SOME
@given(logs(), st.lists(st.tuples(st.integers(1, 20), laws.FATES), max_size=8), SOME_POLICIES)
def test_a_crash_anywhere_changes_nothing(
    log: list[Record], fates: list[tuple[int, str]], policies: str
) -> None:
    with in_calendars(policies):
        law = laws.test_a_crash_anywhere_neither_loses_a_window_nor_releases_one_twice
        law.hypothesis.inner_test(log, fates)  # type: ignore[attr-defined]
    with in_calendars(policies, carries=True):
        published, expected = laws.with_crashes(log, fates), laws.straight(log)
    assert published.releases == expected.releases
    assert sorted(published.rejects) == sorted(expected.rejects)


def released(rules: Policy, begin: date, days: int, left_out: int = 0) -> list[tuple[int, ...]]:
    """Of a meter that reads without a gap, but for the first so many slots of each UTC day.

    (slots, how many hold a reading, how many queries are released)
    """
    pipeline = Pipeline([Assigned("", "all", rules)], KEY, max_skew=DAY, max_meters=1, start=START)
    since = (begin - date(1970, 1, 1)).days * DAY
    whole = DAY // QUARTER - left_out
    log = [
        Record("m", time, time + left_out * QUARTER, (100.0,) * whole, QUARTER)
        for time in range(since, since + days * DAY, DAY)
    ]
    found: list[tuple[int, ...]] = []
    for step in pipeline.feed(readings(log)):
        r = step.releases
        slots = np.broadcast_to(r.slots, r.starts.shape)
        found += zip(slots.tolist(), r.held.tolist(), r.granted.tolist(), strict=True)
    return found


def test_coverage_is_asked_of_the_slots_that_a_window_has() -> None:
    """Of the three days around a change of clocks."""
    needy = partial(of_calendar, "day", "Europe/Paris", "avg", min_coverage=Decimal(1))
    assert released(needy(), date(2024, 3, 29), 5)[1:4] == [
        (96, 96, 1),
        (92, 92, 1),
        (96, 96, 1),
    ]
    assert released(needy(), date(2024, 10, 25), 5)[1:4] == [
        (96, 96, 1),
        (100, 100, 1),
        (96, 96, 1),
    ]
    share = partial(of_calendar, "day", "Europe/Paris", "avg", min_coverage=Decimal("0.79"))
    assert [needed for _, _, needed in released(share(), date(2024, 3, 29), 5, 20)[1:4]] == [
        1,
        0,
        1,
    ]


def test_nothing_is_carried_beyond_the_end_of_a_shorter_day() -> None:
    rules = of_calendar("day", "Europe/Paris", "avg; p95", fill_limit=DAY)
    found = released(rules, date(2024, 3, 29), 5, 20)[1:4]
    assert [(slots, held) for slots, held, _ in found] == [(96, 96), (92, 92), (96, 96)]


@pytest.mark.parametrize("name", ["Europe/Paris", "America/Sao_Paulo", "Asia/Kathmandu"])
def test_the_slots_of_days_weeks_and_months_add_up(name: str) -> None:
    """A year cut in any way holds the same readings."""
    units: tuple[Unit, ...] = ("month", "day")
    by_month, by_day = (released(of_calendar(u, name), date(2017, 12, 31), 368) for u in units)
    months, days = by_month[1:13], by_day[1:366]
    assert len(months) == 12
    assert sum(slots for slots, *_ in months) == sum(slots for slots, *_ in days)
    assert [held for _, held, _ in months] == [slots for slots, *_ in months]
