"""Energy of days and months, time-of-use bills, peaks."""

from math import ceil
from typing import Any

import numpy as np

from simulations.home.street import DAYS
from simulations.kit.command import Run
from simulations.kit.product import typical_error
from simulations.kit.statistics import Floats, bootstrap
from simulations.kit.traces import USUAL
from simulations.utility.street import EXPORT, Setting, homes, released, settings, sunny

DAY_RATE, NIGHT_RATE = 0.32, 0.20
"""Price of a kWh from 7 to 23 h, and otherwise."""


def study(run: Run) -> dict[str, Any]:
    """By setting, for homes without panels and with them."""
    found = {}
    for panels in (False, True):
        traces = sunny(run) if panels else homes(run)
        for place, setting in enumerate(
            run.each(settings(EXPORT if panels else 0), "energy and bills")
        ):
            words = setting.words + (", with panels" if panels else "")
            seen, truth = released(traces, setting, run, 100 * panels + place)
            value = np.array([one.values[:, 0] for one in seen])
            unbiased = np.array([one.unbiased[:, 0] for one in seen])
            draw = run.draw(51, 100 * panels + place)
            found[words] = _of(setting, truth, value, unbiased, draw)
    return found


def _of(
    setting: Setting, truth: Floats, value: Floats, unbiased: Floats, draw: np.random.Generator
) -> dict[str, Any]:
    share = np.isfinite(value).mean()
    use = np.abs(truth).mean(axis=1)  # of a home with panels, the net may be nothing
    month = {name: (_mean(w) - truth.mean(axis=1)) / use for name, w in _both(value, unbiased)}
    out: dict[str, Any] = {
        "window_hours": setting.hours,
        "released_share": round(float(share), 4),
        "mean_watts": round(float(truth.mean()), 1),
        "homes_for_1_percent": _street(setting, truth),
        "month": {name: _errors(error, draw) for name, error in month.items()},
        "month_by_home": {name: np.round(e, 5).tolist() for name, e in month.items()},
        "month_of_all_homes": {
            name: round(float((_mean(w).sum() - truth.mean(axis=1).sum()) / use.sum()), 6)
            for name, w in _both(value, unbiased)
        },
    }
    if setting.hours <= 24:
        out["day_kwh"] = {
            name: round(float(np.abs(_days(w - truth)).mean() * 24 / 1000), 4)
            for name, w in _both(value, unbiased)
        }
    if setting.hours <= 1:
        out["bill"] = {
            name: _errors(
                _bill(w - truth, setting.hours) / _bill(np.abs(truth), setting.hours), draw
            )
            for name, w in _both(value, unbiased)
        }
        out["peak"] = _peaks(truth, value)
    return out


def _street(setting: Setting, truth: Floats) -> int:
    """How many usual homes' month is within 1 % in 95 of 100 months, from the law of the noise."""
    deviation = 2**0.5 * typical_error(setting.policy) / truth.shape[1] ** 0.5
    homes: int = ceil((1.96 * deviation / (0.01 * USUAL)) ** 2)
    return homes


def _both(value: Floats, unbiased: Floats) -> tuple[tuple[str, Floats], ...]:
    return ("value", value), ("unbiased", unbiased)


def _mean(watts: Floats) -> Floats:
    """Of each home, over what was released."""
    mean: Floats = np.nanmean(watts, axis=1)
    return mean


def _days(watts: Floats) -> Floats:
    mean: Floats = np.nanmean(watts.reshape(len(watts), DAYS, -1), axis=2)
    return mean


def _bill(watts: Floats, hours: float) -> Floats:
    """What each home pays, day and night."""
    hour = np.arange(watts.shape[1]) * hours % 24
    price = np.where((hour >= 7) & (hour < 23), DAY_RATE, NIGHT_RATE)
    bill: Floats = (np.nan_to_num(watts) * price).sum(axis=1) * hours / 1000
    return bill


def _errors(relative: Floats, draw: np.random.Generator) -> dict[str, float]:
    """How far off, over homes: the mean size with its interval, bias, and how many within 1 %."""
    off = np.abs(relative)
    low, high = bootstrap(off, lambda some: float(some.mean()), draw)
    return {
        "mean_off": round(float(off.mean()), 6),
        "low": round(low, 6),
        "high": round(high, 6),
        "bias": round(float(relative.mean()), 6),
        "worst": round(float(off.max()), 6),
        "within_1_percent": round(float((off <= 0.01).mean()), 4),
    }


def _peaks(truth: Floats, value: Floats) -> dict[str, float]:
    """The month's highest window, and the level that one in a hundred exceeds."""
    top, seen = truth.max(axis=1), np.nanmax(value, axis=1)
    rare, rarely = np.quantile(truth, 0.99, axis=1), np.nanquantile(value, 0.99, axis=1)
    return {
        "true_watts": round(float(top.mean()), 1),
        "released_watts": round(float(seen.mean()), 1),
        "mean_off": round(float(np.abs(seen / top - 1).mean()), 4),
        "p99_mean_off": round(float(np.abs(rarely / rare - 1).mean()), 4),
    }
