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


def released(kind: str = "polars", plan: ma.Plan = PLAN, key: int = 1) -> Any:
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
    with pytest.raises(InvalidSetting, match=r"^query: is not asked by the plan"):
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
