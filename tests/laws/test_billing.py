"""Bills by the hours of a tariff: months add up to the year, registers to the total.

Homes are drawn, and their true energy is added up reading by reading. With 40 homes and 99 of 100
bills said to be within their ends, more than 10 of 160 are outside them once in 5 000 times, were
the noise drawn anew; ends of a third of that width are missed by more than 10 always.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from meteragent import Domain
from meteragent.config.zones import zone
from meteragent.errors import InvalidSetting
from meteragent.explain.bills import bill
from meteragent.privacy import native
from meteragent.privacy.calendar import Calendar
from meteragent.privacy.question import question
from meteragent.stream.pipeline import START, Assigned, Pipeline
from tests.given import DAY, HOUR, KEY, MINUTE, Record, policy, readings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from meteragent.privacy.policy import Policy

PARIS = ZoneInfo("Europe/Paris")
TARIFF = ("avg", "avg[weekday 07:00-23:00]", "avg[weekend 07:00-23:00]", "avg[not 07:00-23:00]")
"""All hours, and three registers that are all of them together."""
LENGTHS = Calendar("month", zone("Europe/Paris")).lengths(HOUR, 0)
HOMES, SHARE = 40, 0.99


def monthly(radius: int = 100, **changes: object) -> Policy:
    return policy(
        domain=Domain(0, 10_000, 1, "0.1"),
        questions=tuple(question(name, 1, radius) for name in TARIFF),
        grace=HOUR,
        idle=DAY,
        horizon=40 * DAY,
        **{"interval": HOUR, **LENGTHS, **changes},
    )


def moments(first: datetime, until: datetime) -> NDArray[np.int64]:
    begin, end = (int(day.astimezone(UTC).timestamp()) * 1000 for day in (first, until))
    return np.arange(begin, end, HOUR)


YEAR = moments(datetime(2024, 1, 1, tzinfo=PARIS), datetime(2025, 1, 1, tzinfo=PARIS))


def of_register(name: str, times: NDArray[np.int64]) -> NDArray[np.bool_]:
    """By a clock on the wall."""
    shows = [datetime.fromtimestamp(time / 1000, PARIS) for time in times.tolist()]
    day = np.array([7 <= at.hour < 23 for at in shows])
    weekday = np.array([at.weekday() < 5 for at in shows])
    registers: dict[str, NDArray[np.bool_]] = dict(
        zip(TARIFF, (day | ~day, day & weekday, day & ~weekday, ~day), strict=True)
    )
    return registers[name]


def released(
    rules: Policy, records: Sequence[Record], *, counts: bool = False
) -> dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """By meter: when windows that were released begin, and unbiased[window, query]."""
    pipeline = Pipeline(
        [Assigned("", "all", rules, counts=counts)],
        KEY,
        max_skew=400 * DAY,
        max_meters=HOMES,
        start=START,
    )
    found: dict[str, list[tuple[int, NDArray[np.float64]]]] = {}
    last = max(record.start + len(record.watts) * record.spacing for record in records)
    clock = Record("clock", last, last + 40 * DAY, (0.0,), HOUR)
    for step in pipeline.feed(readings([*records, clock])):
        r = step.releases
        for meter, start, granted, unbiased in zip(
            r.meters, r.starts.tolist(), r.granted.tolist(), r.unbiased, strict=True
        ):
            if granted and meter != "clock":
                found.setdefault(meter, []).append((start, unbiased))
    return {
        meter: (np.array([start for start, _ in its]), np.array([one for _, one in its]))
        for meter, its in found.items()
    }


def as_days(meter: str, times: NDArray[np.int64], watts: NDArray[np.float64]) -> list[Record]:
    days = range(0, len(times), 24)
    return [
        Record(meter, int(times[d]), int(times[d]), tuple(watts[d : d + 24].tolist()), HOUR)
        for d in days
    ]


def lived(seed: int) -> NDArray[np.float64]:
    draw = np.random.default_rng(seed)
    return np.clip(np.rint(draw.gamma(0.7, 700, len(YEAR))), 0, 10_000)


def test_the_months_of_a_year_add_up_to_it_and_registers_to_the_total() -> None:
    rules = monthly()
    homes = {f"h{nth}": lived(nth) for nth in range(HOMES - 1)}
    of_day = zip(*(as_days(meter, YEAR, watts) for meter, watts in homes.items()), strict=True)
    found = released(rules, [record for day in of_day for record in day])
    missed, missed_narrower = 0, 0
    within = {name: of_register(name, YEAR) for name in TARIFF}
    for meter, watts in homes.items():
        starts, unbiased = found[meter]
        assert len(starts) == 12
        bills = [
            bill(unbiased[:, nth], rules, asked, SHARE, starts)
            for nth, asked in enumerate(rules.questions)
        ]
        for one, name in zip(bills, TARIFF, strict=True):
            truth = float(watts[within[name]].sum()) / 1000
            rounding = 0.05 * within[name].sum() / 1000
            assert one.windows == 12
            missed += not one.low - rounding <= truth <= one.high + rounding
            off = abs(truth - one.kilowatt_hours)
            missed_narrower += off > (one.high - one.low) / 6
        total, *registers = bills
        off = sum((one.high - one.low) / 2 for one in bills) + 0.1 * len(YEAR) / 1000
        assert abs(sum(one.kilowatt_hours for one in registers) - total.kilowatt_hours) <= off
    assert missed <= 10 < missed_narrower


def test_hours_of_registers_add_up_to_those_of_each_window() -> None:
    """So registers weighed by their hours are the total, by whatever clocks."""
    for name in ("Europe/Paris", "America/Sao_Paulo", "Australia/Lord_Howe"):
        lengths = Calendar("day", zone(name)).lengths(30 * MINUTE, 0)
        asking = monthly(**lengths, interval=30 * MINUTE).asking
        starts = asking.windows.start(asking.windows.every[::37])
        total, *registers = (asking.slots_of(q.query.about, starts) for q in asking.questions)
        assert np.array_equal(sum(registers), total)


def test_bills_of_registers_need_to_know_their_windows() -> None:
    rules = policy(questions=(question("avg[weekday]", 1, 100),), size=DAY, interval=HOUR)
    with pytest.raises(InvalidSetting, match="starts: are missing"):
        bill(np.array([100.0]), rules, rules.questions[0])
    starts = np.arange(7) * DAY  # from a Thursday on
    week = bill(np.full(7, 100.0), rules, rules.questions[0], starts=starts)
    assert week.kilowatt_hours == pytest.approx(5 * 2.4)


def without(times: NDArray[np.int64], first: datetime, until: datetime) -> NDArray[np.bool_]:
    begin, end = (int(at.timestamp()) * 1000 for at in (first, until))
    return (times < begin) | (times >= end)


def test_a_new_meter_or_a_missing_day_neither_shifts_nor_splits_a_window() -> None:
    """A meter is taken down at 10:00 and another reads from 13:07 on; and a day is lost."""
    rules, watts = monthly(radius=1), np.where(of_register(TARIFF[3], YEAR), 300.0, 900.0)
    steady = released(rules, as_days("m", YEAR, watts))["m"]
    down, up = (datetime(2024, 5, 14, hour, tzinfo=PARIS) for hour in (10, 13))
    there = without(YEAR, down, up)
    there &= without(YEAR, datetime(2024, 8, 3, tzinfo=PARIS), datetime(2024, 8, 4, tzinfo=PARIS))
    new = int(up.timestamp()) * 1000 <= YEAR
    records = [
        Record("m", int(time), int(time + 7 * MINUTE * is_new), (float(level),), HOUR)
        for time, level, is_new in zip(YEAR[there], watts[there], new[there], strict=True)
    ]
    starts, unbiased = released(rules, records)["m"]
    assert starts.tolist() == steady[0].tolist()
    assert len(starts) == 12
    assert unbiased[:, 1:] == pytest.approx(np.tile([900.0, 900, 300], (12, 1)), abs=20)
    assert unbiased[:, 0] == pytest.approx(steady[1][:, 0], abs=25)


@pytest.mark.parametrize("wheel", [native.wheel, None], ids=["as installed", "in Python alone"])
def test_a_register_that_rolls_over_neither_shifts_nor_splits_a_window(
    wheel: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It shows 100,000 kWh as none: one hour of the year is not known, and no other is touched."""
    monkeypatch.setattr(native, "wheel", wheel)
    rules, watts = monthly(radius=1), lived(1)
    steady = released(rules, as_days("m", YEAR, watts))["m"]
    shown = (98_000_000 + np.cumsum([0, *watts])) % 100_000_000
    [rolls] = np.flatnonzero(np.diff(shown) < 0)
    times = np.array([YEAR[0] - HOUR, *YEAR])
    starts, unbiased = released(rules, as_days("m", times, shown), counts=True)["m"]
    assert starts.tolist() == steady[0].tolist()
    [month] = np.flatnonzero((unbiased != steady[1]).any(axis=1))
    assert starts[month] <= YEAR[rolls] < starts[month + 1]
    assert unbiased[month] == pytest.approx(steady[1][month], abs=10)
    year = bill(unbiased[:, 0], rules, rules.questions[0], SHARE, starts)
    one_hour = abs(watts[rolls] - watts.mean()) / 1000
    rounding = 0.05 * len(YEAR) / 1000
    assert year.windows == 12
    assert year.low - one_hour - rounding <= watts.sum() / 1000 <= year.high + one_hour + rounding
