"""Sums over many homes against the true load of their feeder.

The homes are those of the street, each on every day of its four weeks; feeders of more homes than
these hold them again, as meters of other names, whose noise is independent.
"""

from typing import Any

import numpy as np

from meteragent.privacy.entropy import NoiseKey
from simulations.home import street
from simulations.home.policies import HOUR, all_presets
from simulations.home.street import QUARTER
from simulations.kit.command import Run
from simulations.kit.product import release
from simulations.kit.statistics import Floats, bootstrap
from simulations.kit.traces import Trace
from simulations.utility.street import Setting, asked

SIZES = (1, 10, 100, 1000, 10_000)
AGAIN = 10
"""Times that a day of one window is released, under as many keys."""


def settings() -> list[Setting]:
    """The presets whose windows are days or parts of one, and plain averages."""
    named = {f"preset {name}": preset for name, preset in all_presets(interval="15m").items()}
    plainly = {
        "15 min, 10 W": asked(QUARTER, "0.1"),
        "15 min, 100 W": asked(QUARTER, "0.01"),
        "1 h, 1 kW": asked(HOUR, "0.001"),
        "24 h, 1 kW": asked(24 * HOUR, "0.001"),
    }
    return [
        Setting(words, policy)
        for words, policy in (named | plainly).items()
        if policy.size <= 24 * HOUR
    ]


def study(run: Run) -> dict[str, Any]:
    """The relative error of a feeder's load, by setting and number of homes."""
    sizes = SIZES[:3] if run.quick else SIZES
    traces = street.days(run, max(sizes))
    return {
        setting.words: _errors(run, place, setting, traces, sizes)
        for place, setting in enumerate(run.each(settings(), "feeders"))
    }


def _errors(
    run: Run, place: int, setting: Setting, traces: list[Trace], sizes: tuple[int, ...]
) -> dict[str, Any]:
    ratio = setting.policy.size // QUARTER
    keys = [NoiseKey(key) for key in _keys(run.draw(60, place), AGAIN if ratio == 96 else 1)]
    seen = [release(traces, setting.policy, key) for key in keys]
    load = np.array([trace.watts.reshape(-1, ratio).mean(axis=1) for trace in traces])
    truth = np.tile(load, (1, len(keys)))
    by_name = {
        "value": np.concatenate([[one.values[:, 0] for one in day] for day in seen], axis=1),
        "unbiased": np.concatenate([[one.unbiased[:, 0] for one in day] for day in seen], axis=1),
    }
    draw = run.draw(61, place)
    return {
        name: {str(size): _relative(watts, truth, size, draw) for size in sizes}
        for name, watts in by_name.items()
    }


def _keys(draw: np.random.Generator, many: int) -> list[bytes]:
    return [draw.bytes(32) for _ in range(many)]


def _relative(
    released: Floats, truth: Floats, size: int, draw: np.random.Generator
) -> dict[str, float]:
    """The mean error of a feeder's window, relative to its mean load, over windows and feeders.

    Small feeders are tried several times, with other homes.
    """
    feeders = min(len(truth) // size, 100)
    load = truth[: feeders * size].reshape(feeders, size, -1).sum(axis=1)
    seen = released[: feeders * size].reshape(feeders, size, -1).sum(axis=1)
    off = np.abs(seen - load).ravel() / load.mean()
    low, high = bootstrap(off, lambda some: float(some.mean()), draw, repeats=200)
    return {"mean_off": round(float(off.mean()), 6), "low": round(low, 6), "high": round(high, 6)}
