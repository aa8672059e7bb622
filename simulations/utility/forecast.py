"""Tomorrow's load, by a model that was trained on releases, and by one trained on the truth."""

from typing import Any

import numpy as np

from simulations.home.policies import HOUR
from simulations.home.street import DAYS, QUARTER
from simulations.kit.command import Run
from simulations.kit.statistics import Floats, bootstrap
from simulations.utility.street import Setting, asked, homes, released

LAGS = (24, 25, 48, 168)
"""Hours back that the model looks at."""
TEST = 7 * 24
"""The last hours, on which it is judged against the truth."""
RIDGE = 0.3


def settings() -> list[Setting]:
    """Windows of an hour or less: longer ones say nothing about hours."""
    return [
        Setting("15 min, 10 W", asked(QUARTER, "0.1")),
        Setting("15 min, 100 W", asked(QUARTER, "0.01")),
        Setting("1 h, 100 W", asked(HOUR, "0.01")),
        Setting("1 h, 1 kW", asked(HOUR, "0.001")),
    ]


def study(run: Run) -> dict[str, Any]:
    """Mean error of each hour of the last week, for one home and for all together."""
    traces, found = homes(run), {}
    for place, setting in enumerate(run.each(settings(), "forecasts")):
        seen, truth = released(traces, setting, run, 500 + place)
        per_hour = HOUR // setting.policy.size
        load = _hours(truth, per_hour)
        known = _hours(np.array([one.unbiased[:, 0] for one in seen]), per_hour)
        draw = run.draw(70, place)
        found[setting.words] = {
            "one home": _compared(load, known, draw),
            f"{len(load)} homes": _compared(
                load.mean(axis=0, keepdims=True), known.mean(axis=0, keepdims=True), draw
            ),
        }
    return found


def _hours(watts: Floats, per_hour: int) -> Floats:
    mean: Floats = watts.reshape(len(watts), DAYS * 24, per_hour).mean(axis=2)
    return mean


def _compared(load: Floats, known: Floats, draw: np.random.Generator) -> dict[str, Any]:
    """Both models' errors, in watts; `usual` forecasts the mean of each hour of the day."""
    errors = {
        "trained on the truth": np.array([forecast(one, one) for one in load]),
        "trained on releases": np.array(
            [forecast(one, one_load) for one, one_load in zip(known, load, strict=True)]
        ),
        "the usual day": np.array([usual(one) for one in load]),
    }
    found = {}
    for name, off in errors.items():
        days = off.reshape(-1, 24).mean(axis=1)
        low, high = bootstrap(days, lambda some: float(some.mean()), draw)
        found[name] = {
            "mean_off_watts": round(float(off.mean()), 2),
            "low": round(low, 2),
            "high": round(high, 2),
        }
    return found


def forecast(known: Floats, truth: Floats) -> Floats:
    """The absolute error of each hour of the test week.

    Ridge regression on lags and the hour of the day; what the model sees, in training and in
    use, is `known`, and what it is judged by is the truth.
    """
    features = _features(known)
    target = known[max(LAGS) :]
    train = slice(0, len(target) - TEST)
    scale = features[train].std(axis=0) + 1e-9
    centred = features / scale
    mean = centred[train].mean(axis=0)
    rows = centred[train] - mean
    gram = rows.T @ rows + RIDGE * len(rows) * np.eye(rows.shape[1])
    level = target[train].mean()
    weights = np.linalg.solve(gram, rows.T @ (target[train] - level))
    predicted = (centred[-TEST:] - mean) @ weights + level
    off: Floats = np.abs(predicted - truth[-TEST:])
    return off


def _features(known: Floats) -> Floats:
    first = max(LAGS)
    hours = np.arange(first, len(known)) % 24
    lags = [known[first - lag : len(known) - lag] for lag in LAGS]
    dummies = [(hours == hour).astype(np.float64) for hour in range(24)]
    features: Floats = np.stack([*lags, *dummies], axis=1)
    return features


def usual(load: Floats) -> Floats:
    """What the mean of each hour of the day, from the truth, is off by."""
    former = load[:-TEST].reshape(-1, 24).mean(axis=0)
    off: Floats = np.abs(np.resize(former, TEST) - load[-TEST:])
    return off
