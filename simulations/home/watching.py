"""Who is at home, who is away for days, whether a car was charged: attacks on presence."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from simulations.home.house import Home, Life
from simulations.home.likelihood import Floats, Mask, auc
from simulations.home.policies import CLEAN, HOUR, MINUTE, by_days, plain
from simulations.home.presence import Habits, absent_days, busy, daytime, occupied
from simulations.kit.command import Run
from simulations.kit.statistics import bootstrap
from simulations.kit.traces import DAY

NOISES = (CLEAN, "0.1", "0.03", "0.01", "0.003", "0.001", "0.0003", "0.0001")
WINDOWS = (15 * MINUTE, HOUR)
ABSENT = 7
"""Days of four weeks on which nobody is there, three or four in a row."""


def study(run: Run) -> dict[str, Any]:
    """Areas under the curve by window and noise: presence, days away, charging."""
    many = 4 if run.quick else 16
    homes = [Home.draw(run.seed, 200 + n, lacking=("pv", "heat_pump", "ev")) for n in range(many)]
    with_car = [Home.draw(run.seed, 300 + n, having=("ev",), lacking=("pv",)) for n in range(many)]
    former = [home.live(28, interval=MINUTE) for home in homes]
    at_home = [home.live(28, first=28, interval=MINUTE) for home in homes]
    away = [
        home.live(28, first=28, away=_holidays(run.draw(20, n)), interval=MINUTE)
        for n, home in enumerate(homes)
    ]
    cars = [home.live(28, interval=MINUTE) for home in with_car]
    noises = NOISES[::3] if run.quick else NOISES
    found: dict[str, Any] = {}
    tried = [(window, epsilon) for window in WINDOWS for epsilon in noises]
    for place, (window, epsilon) in enumerate(run.each(tried, "presence")):
        policy = plain(window, epsilon)
        key, draw = NoiseKey(run.draw(21, place).bytes(32)), run.draw(22, place)
        habits = [Habits.of(life, policy) for life in former]
        found[f"{window // MINUTE} min, {epsilon} per W"] = {
            "window_minutes": window // MINUTE,
            "noise_watts": 0 if epsilon == CLEAN else round(1 / float(epsilon)),
            "presence": _hours(at_home, habits, policy, key, draw),
            "away": _days(away, habits, policy, key, draw),
            "charging": _charging(cars, policy, key, draw),
        }
    return found


def _holidays(draw: np.random.Generator) -> list[int]:
    first, second = draw.integers(0, 10), draw.integers(14, 24)
    return [*range(first, first + ABSENT - 3), *range(second, second + 3)]


def _hours(
    lives: Sequence[Life],
    habits: Sequence[Habits],
    policy: Policy,
    key: NoiseKey,
    draw: np.random.Generator,
) -> dict[str, Any]:
    """Presence in each window of the day."""
    naive, knowing, right, usual = [], [], [], []
    seen = by_days([life.trace() for life in lives], policy, key)
    for life, habit, one in zip(lives, habits, seen, strict=True):
        asked, someone = daytime(len(one.values), policy.size), occupied(life, policy.size)
        before, after = habit.weigh(habit.evidence(one, policy))
        naive.append(auc(busy(one.values[:, 0])[asked], someone[asked]))
        knowing.append(auc((after - before)[asked], someone[asked]))
        right.append(float(((after > 0) == someone)[asked].mean()))
        usual.append(float(((before > 0) == someone)[asked].mean()))
    return {
        "naive_auc": _interval(naive, draw),
        "knowing_auc": _interval(knowing, draw),
        "accuracy": _interval(right, draw),
        "accuracy_by_the_clock": _interval(usual, draw),
    }


def _days(
    lives: Sequence[Life],
    habits: Sequence[Habits],
    policy: Policy,
    key: NoiseKey,
    draw: np.random.Generator,
) -> dict[str, Any]:
    """Days on which nobody was there at all."""
    naive, knowing = [], []
    seen = by_days([life.trace() for life in lives], policy, key)
    for life, habit, one in zip(lives, habits, seen, strict=True):
        gone, per_day = absent_days(life), DAY // policy.size
        evidence = habit.evidence(one, policy).reshape(-1, per_day)
        naive.append(auc(-one.values.reshape(-1, per_day).std(axis=1), gone))
        knowing.append(auc(-evidence.sum(axis=1), gone))
    return {"naive_auc": _interval(naive, draw), "knowing_auc": _interval(knowing, draw)}


def _charging(
    lives: Sequence[Life], policy: Policy, key: NoiseKey, draw: np.random.Generator
) -> dict[str, Any]:
    """Days (from noon to noon) on which a car was charged, by the highest hour."""
    areas = []
    for life, one in zip(
        lives, by_days([life.trace() for life in lives], policy, key), strict=True
    ):
        charged = charging_days(life)
        per_day, hour = DAY // policy.size, HOUR // policy.size
        values = one.values[per_day // 2 : -(per_day // 2), 0].reshape(-1, per_day)
        hours = values.reshape(len(values), -1, hour).mean(axis=2)
        highest = np.sort(hours, axis=1)[:, -3:].mean(axis=1)
        areas.append(auc(highest, charged))
    return {"naive_auc": _interval(areas, draw)}


def charging_days(life: Life) -> Mask:
    """Whether a charge begins in each day, from noon to noon; the half days at the ends apart."""
    begins = np.array([use.begin for use in life.uses["ev"]])
    noons = np.arange(life.days) * 86_400.0 + 43_200
    charged: Mask = np.histogram(begins, noons)[0] > 0
    return charged


def _interval(by_home: Sequence[float], draw: np.random.Generator) -> dict[str, float]:
    """The mean over homes, and the interval that holds it."""
    values: Floats = np.array(by_home)
    low, high = bootstrap(values, lambda some: float(some.mean()), draw)
    return {"mean": round(float(values.mean()), 4), "low": round(low, 4), "high": round(high, 4)}
