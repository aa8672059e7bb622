"""What a reader makes of frames of releases: right on average, and between what it says."""

from __future__ import annotations

import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

import meteragent as ma
from meteragent.errors import InvalidSetting
from meteragent.explain import reader as exact
from tests.files.given import BEGIN
from tests.library.test_protect import PLACES
from tests.library.written import KINDS, of_kind, records

HOMES = 60
DAYS = 30
PLAN = ma.policy(window="1d", interval="1h", maximum="3kW", step="10W", epsilon="2", budget="1000")
TRUE = {f"home-{n}": 300.0 + 10 * n for n in range(HOMES)}


def released(kind: str = "polars", plan: ma.PolicyPlan = PLAN, key: int = 1) -> Any:
    hours = pl.DataFrame({"at": range(BEGIN, BEGIN + DAYS * 86_400_000, 3_600_000)})
    homes = pl.DataFrame({"home": [*TRUE], "watts": [*TRUE.values()]})
    told = hours.cast(pl.Datetime("ms")).join(homes, how="cross")
    secret = ma.NoiseKey(bytes(range(key, 32 + key)))
    return ma.protect(of_kind(told, kind), plan, key=secret, ledger=None, **PLACES)


@pytest.mark.parametrize("kind", KINDS)
def test_bills_hold_the_energy_as_often_as_they_say(kind: str) -> None:
    """60 bills at 90 %: fewer than 43 right come once in 10,000 times (binomial)."""
    bills = records(ma.reader.bills(released(kind), PLAN, share=0.9))
    assert [bill["meter_id"] for bill in bills] == sorted(TRUE)
    assert all((bill["windows"], bill["missing"]) == (DAYS, 0) for bill in bills)
    right = sum(
        bill["low"] <= TRUE[bill["meter_id"]] * 24 * DAYS / 1000 <= bill["high"] for bill in bills
    )
    assert right >= 43
    half = [(bill["low"] + bill["kwh"]) / 2 for bill in bills]  # bounds that are half too narrow
    wide = sum(
        2 * low - bill["kwh"] > 0
        and abs(TRUE[bill["meter_id"]] * 0.72 - bill["kwh"]) <= bill["kwh"] - low
        for low, bill in zip(half, bills, strict=True)
    )
    assert wide < 43


@pytest.mark.parametrize("kind", KINDS)
def test_sums_over_homes_hold_what_is_true(kind: str) -> None:
    """30 sums at 99 %: fewer than 27 right come once in 4,000 times (binomial)."""
    sums = records(ma.reader.sums(released(kind), PLAN, share=0.99))
    assert len(sums) == DAYS
    assert all((one["homes"], one["missing"]) == (HOMES, 0) for one in sums)
    total = sum(TRUE.values())
    assert sum(one["low"] <= total <= one["high"] for one in sums) >= 27
    wide = [(one["high"] - one["low"]) / 2 for one in sums]
    off = [abs(one["watts"] - total) for one in sums]
    assert sum(one <= its / 4 for one, its in zip(off, wide, strict=True)) < 27  # far too narrow


def test_bills_may_be_by_any_columns() -> None:
    told = released().with_columns(half=pl.col("window_start").dt.day() > 25)
    bills = ma.reader.bills(told, PLAN, by=["meter_id", "half"])
    whole = ma.reader.bills(told, PLAN)
    assert (
        bills.group_by("meter_id", maintain_order=True).agg(pl.sum("windows"))["windows"].to_list()
        == whole["windows"].to_list()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_ranges_stand_beside_what_was_released(kind: str) -> None:
    """1800 ranges at 90 %: fewer than 1560 right come once in a million times."""
    told = released(kind)
    ranges = records(ma.reader.ranges(told, PLAN))
    assert [*ranges[0]][:-2] == [*records(told)[0]]
    right = sum(row["avg_low"] <= TRUE[row["meter_id"]] <= row["avg_high"] for row in ranges)
    assert right >= 1560
    off = [abs(row["avg_unbiased"] - TRUE[row["meter_id"]]) for row in ranges]
    wide = [(row["avg_high"] - row["avg_low"]) / 2 for row in ranges]
    assert sum(one <= half / 2 for one, half in zip(off, wide, strict=True)) < 1560  # too narrow


@pytest.mark.parametrize("loss", ["absolute", "squared", "zero_one"])
@pytest.mark.parametrize("noise", ["independent", "joint"])
def test_guesses_are_those_of_the_whole_table(loss: str, noise: str) -> None:
    plan = ma.policy(
        window="1d",
        interval="1h",
        maximum="1kW",
        step="10W",
        epsilon="2",
        budget="1000",
        noise=noise,
        queries=["avg", "max"],
        min_coverage="0",
    )
    [policy] = plan.config.policies
    prior = ma.reader.prior_of([*TRUE.values()], plan)
    assert prior.sum() == pytest.approx(1)
    told = released(plan=plan)
    guessed = ma.reader.guesses(told, plan, prior, loss=loss, share=0.8)
    mechanism = policy.mechanism(policy.questions[0])
    table = exact.remap(mechanism, prior, getattr(exact, loss), share=0.8)
    at = exact.drawn(told["avg_unbiased"].to_numpy(), policy).astype(int) - table.first
    at = np.clip(at, 0, len(table.guess) - 1)
    for name in ("guess", "low", "high"):
        expected = policy.domain.watts(getattr(table, name)[at])
        assert guessed[f"avg_{name}"].to_numpy() == pytest.approx(expected)


def test_credible_ranges_hold_the_truth_as_often_as_they_say() -> None:
    """1800 ranges at 80 %, of homes as likely as the reader believes.

    Fewer than 1360 right come once in a million times (binomial: 1440, and 17 either way). Who
    believed something else, that all homes draw next to nothing, is right less often.
    """
    plan = ma.policy(window="1d", interval="1h", maximum="1kW", epsilon="2", budget="1000")
    [policy] = plan.config.policies
    drawn = np.random.default_rng(20).integers(0, policy.domain.top + 1, 1800)
    true = policy.domain.watts(drawn)
    hours = pl.DataFrame({"at": range(BEGIN, BEGIN + 86_400_000, 3_600_000)})
    homes = pl.DataFrame({"home": [f"{n:04d}" for n in range(1800)], "watts": true})
    told = hours.cast(pl.Datetime("ms")).join(homes, how="cross")
    out = ma.protect(told, plan, key=ma.NoiseKey(bytes(32)), ledger=None, **PLACES)
    believed = np.ones(policy.domain.top + 1)
    mistaken = believed / (1 + np.arange(len(believed))) ** 3
    held = []
    for prior in (believed, mistaken):
        found = ma.reader.guesses(out, plan, prior / prior.sum(), share=0.8)
        low, high = (found[name].to_numpy() for name in ("avg_low", "avg_high"))
        held.append(int(((low <= true) & (true <= high)).sum()))
    assert held[0] >= 1360 > held[1]


def test_smoothed_is_never_to_be_added_up() -> None:
    """One day on which all homes draw more: smoothed, most of it is gone from their sum."""
    hours = pl.DataFrame({"at": range(BEGIN, BEGIN + 20 * 86_400_000, 3_600_000)})
    homes = pl.DataFrame({"home": [f"{n:02d}" for n in range(40)]})
    told = hours.cast(pl.Datetime("ms")).join(homes, how="cross")
    cold = pl.col("at").dt.epoch("ms") // 86_400_000 == BEGIN // 86_400_000 + 9
    told = told.with_columns(watts=pl.when(cold).then(800.0).otherwise(300.0))
    out = ma.protect(told, PLAN, key=ma.NoiseKey(bytes(32)), ledger=None, **PLACES)
    total = ma.reader.sums(out, PLAN, share=0.999).sort("window_start").row(9, named=True)
    assert total["low"] < 40 * 800 < total["high"]
    with pytest.warns(ma.reader.SmoothedWarning):
        course = ma.reader.smoothed(out, PLAN)
    smooth = course.group_by("window_start").agg(pl.sum("avg_smoothed")).sort("window_start")
    assert smooth["avg_smoothed"][9] < total["low"] - 1000


SUMS = {"window": "1h", "interval": "15m", "maximum": "500kW", "home_maximum": "24kW"}
OF_GROUPS = ma.group_policy(epsilon="1", radius="1kW", budget="1000", min_homes=5, **SUMS)
EACH = {"feeder-0": 600.0, "feeder-1": 900.0}
"""Watts of each of its twenty homes."""


def of_groups(plan: ma.PolicyPlan, days: int, kind: str = "polars") -> Any:
    quarters = pl.DataFrame({"at": range(BEGIN, BEGIN + days * 86_400_000, 900_000)})
    homes = pl.DataFrame({"home": [f"home-{n}" for n in range(40)]}).with_columns(
        group_id=pl.format("feeder-{}", pl.int_range(40) % 2),
        watts=pl.Series([*EACH.values()] * 20),
    )
    told = quarters.cast(pl.Datetime("ms")).join(homes, how="cross")
    groups = of_kind(homes.select(pl.col("home").alias("meter_id"), "group_id"), kind)
    rows = of_kind(told.drop("group_id"), kind)
    return ma.protect(rows, plan, key=ma.NoiseKey(bytes(32)), ledger=None, groups=groups, **PLACES)


@pytest.mark.parametrize("kind", KINDS)
def test_groups_have_bills_and_sums_with_intervals(kind: str) -> None:
    """240 sums of two groups at 90 %: fewer than 194 right come once in 10,000 times.

    The same intervals of half the width hold the truth in 2 of 3 cases: they are told apart.
    """
    told = of_groups(OF_GROUPS, 10, kind)
    bills = records(ma.reader.bills(told, OF_GROUPS, share=0.9999))
    assert [bill["group_id"] for bill in bills] == [*EACH]
    for bill in bills:
        assert bill["low"] < EACH[bill["group_id"]] * 20 * 240 / 1000 < bill["high"]
        assert (bill["windows"], bill["missing"]) == (240, 0)
    sums = records(ma.reader.sums(told, OF_GROUPS, share=0.9))
    assert all((one["groups"], one["missing"]) == (2, 0) for one in sums)
    off = [abs(one["watts"] - 20 * sum(EACH.values())) for one in sums]
    wide = [(one["high"] - one["low"]) / 2 for one in sums]
    assert sum(one <= its for one, its in zip(off, wide, strict=True)) >= 194
    assert sum(one <= its / 2 for one, its in zip(off, wide, strict=True)) < 194
    ranges = records(ma.reader.ranges(told, OF_GROUPS))
    right = sum(one["avg_low"] <= 20 * EACH[one["group_id"]] <= one["avg_high"] for one in ranges)
    assert right >= 403  # of 480 at 90 %: fewer come once in 10,000 times
    with pytest.warns(ma.reader.SmoothedWarning):
        assert len(records(ma.reader.smoothed(told, OF_GROUPS))) == 480


@pytest.mark.parametrize("kind", KINDS)
def test_layers_say_how_many_homes_draw_more_than_how_much(kind: str) -> None:
    """All bounds of a window hold in nine of ten: of 192 windows, 155 or fewer once in 10,000."""
    asked = {**SUMS, "window": "15m", "home_maximum": "2kW", "epsilon": "2"}
    plan = ma.group_policy(
        queries=["layers(500W)"], radius="1kW", budget="1000", min_homes=5, **asked
    )
    rows = records(ma.reader.spread(of_groups(plan, 1, kind), plan))
    assert len(rows) == 2 * 96 * 5
    assert {row["threshold"] for row in rows} == {0.0, 500.0, 1000.0, 1500.0, 2000.0}
    right: dict[Any, bool] = {}
    for row in rows:
        above = 20 if EACH[row["group_id"]] > row["threshold"] else 0
        window = row["group_id"], str(row["window_start"])
        right[window] = right.get(window, True) and row["low"] <= above <= row["high"]
        assert row["low"] <= row["homes"] <= row["high"]
    assert sum(right.values()) > 155
    with pytest.raises(InvalidSetting, match=r"^plan: asks for no layers"):
        ma.reader.spread(of_groups(OF_GROUPS, 1), OF_GROUPS)
    with pytest.raises(InvalidSetting, match=r"^query: has several numbers for each window"):
        ma.reader.ranges(of_groups(plan, 1), plan, query="layers(500W)")


def test_smoothed_is_warned_of_and_is_nearer() -> None:
    told = released()
    with pytest.warns(ma.reader.SmoothedWarning, match="never add them up"):
        course = ma.reader.smoothed(told, PLAN)
    true = np.array([TRUE[meter] for meter in course["meter_id"]])
    off = [
        np.abs(course[name].to_numpy() - true).mean() for name in ("avg_smoothed", "avg_unbiased")
    ]
    assert off[0] < off[1]


def test_what_was_withheld_is_in_nothing() -> None:
    plan = ma.policy(
        window="1d", interval="1h", maximum="3kW", epsilon="2", budget="20", horizon="30d"
    )
    told = released(plan=plan)
    bills = ma.reader.bills(told, plan)
    assert set(bills["windows"]) == {10}
    assert set(bills["missing"]) == {DAYS - 10}
    assert ma.reader.sums(told, plan)["homes"].to_list() == [HOMES] * 10 + [0] * (DAYS - 10)
    prior = ma.reader.prior_of([], plan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ma.reader.SmoothedWarning)
        for column, frame in (
            ("avg_low", ma.reader.ranges(told, plan)),
            ("avg_guess", ma.reader.guesses(told, plan, prior)),
        ):
            assert frame[column].null_count() == HOMES * (DAYS - 10)
        assert ma.reader.smoothed(told, plan)["avg_smoothed"].null_count() == 0


def test_what_makes_no_sense_is_refused() -> None:
    told = released()
    other = ma.policy("tv-content", interval="1h")
    with pytest.raises(InvalidSetting, match=r"^plan: is not that of releases under"):
        ma.reader.bills(told, other)
    with pytest.raises(InvalidSetting, match=r"^query: is not in the plan"):
        ma.reader.sums(told, PLAN, query="p95")
    with pytest.raises(InvalidSetting, match=r"^loss: is none; write one of absolute"):
        ma.reader.guesses(told, PLAN, [1.0], loss="hinge")
    with pytest.raises(InvalidSetting, match=r"^prior: is not a distribution"):
        ma.reader.guesses(told, PLAN, [1.0])
    sliding = ma.policy(
        window="1d", hop="12h", interval="1h", maximum="3kW", epsilon="2", budget="1000"
    )
    with pytest.raises(InvalidSetting, match=r"^plan: has windows that overlap"):
        ma.reader.bills(released(plan=sliding), sliding)


def test_levels_of_a_prior_are_those_of_answers() -> None:
    plan = ma.policy("tv-content", interval="1h")
    [policy] = plan.config.policies
    prior = ma.reader.prior_of([1234.4], plan)
    assert abs(Decimal(int(prior.argmax())) * policy.domain.resolution - Decimal("1234.4")) <= (
        policy.domain.resolution / 2
    )
