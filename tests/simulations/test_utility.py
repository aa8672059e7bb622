"""Releases are still good for bills, forecasts and feeders, as far as is claimed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from simulations.home.house import Home
from simulations.home.policies import MINUTE, plain, preset
from simulations.kit.command import SEED, Run
from simulations.kit.product import release
from simulations.kit.traces import Trace
from simulations.utility import feeder, pictures
from simulations.utility.forecast import TEST, forecast
from tests.given import KEY

if TYPE_CHECKING:
    from pathlib import Path

    from meteragent.privacy.policy import Policy


def run(out: Path) -> Run:
    return Run("utility", SEED, out, quick=True, traces=None, command="")


def months(policy: Policy) -> tuple[float, float]:
    """By which share a street's month is off: from `value`, and from `unbiased`."""
    lives = [
        Home.draw(SEED, n, lacking=("pv",)).live(28, first=3, interval=MINUTE) for n in range(12)
    ]
    traces = [life.trace() for life in lives]
    released = release(traces, policy, KEY)
    truth = sum(trace.watts.mean() for trace in traces)
    value = sum(one.values.mean() for one in released)
    return value / truth - 1, sum(one.unbiased.mean() for one in released) / truth - 1


@pytest.mark.parametrize("name", ["tv-content", "appliances"])
def test_a_streets_month_from_unbiased_is_within_one_percent_at_the_presets(name: str) -> None:
    _, unbiased = months(preset(name, interval="1m"))
    assert abs(unbiased) < 0.01


def test_a_month_from_value_is_too_high_where_loads_lie_near_the_end_of_the_range() -> None:
    value, unbiased = months(plain(15 * MINUTE, "0.01"))
    assert value > 0.01
    assert abs(unbiased) < 0.005


@pytest.mark.parametrize("watts", [0.0, 20.0, 23_990.0, 24_000.0])
def test_near_the_ends_unbiased_is_right_on_average_and_value_is_not(watts: float) -> None:
    traces = [Trace(f"{n}", 0, MINUTE, np.full(25, watts)) for n in range(400)]
    released = release(traces, plain(MINUTE, "0.01"), KEY)
    deviation = 2**0.5 * 100 / 100  # of the mean of 10,000 releases, at most
    assert abs(np.mean([one.unbiased for one in released]) - watts) < 4 * deviation
    assert abs(np.mean([one.values for one in released]) - watts) > 20 * deviation


def test_a_load_that_repeats_is_forecast_and_one_that_was_hidden_is_not() -> None:
    day = 300 + 200 * np.sin(np.arange(24) / 24 * 2 * np.pi)
    load = np.tile(day, 28)
    noise = np.random.default_rng(SEED).normal(0, 5000, load.shape)
    assert len(forecast(load, load)) == TEST
    assert forecast(load, load).mean() < 10
    assert forecast(load + noise, load).mean() > 200


def test_the_error_of_a_feeder_falls_with_the_root_of_its_homes(tmp_path: Path) -> None:
    found = feeder.study(run(tmp_path))
    off = found["15 min, 10 W"]["unbiased"]
    assert off["100"]["mean_off"] < off["10"]["mean_off"] / 2 < off["1"]["mean_off"] / 4
    biased = found["1 h, 1 kW"]
    assert biased["value"]["100"]["mean_off"] > 2 * biased["unbiased"]["100"]["mean_off"]


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("once", "again"):
        one = run(tmp_path / name)
        one.results["feeders"] = feeder.study(one)
        pictures.feeders(one, one.results["feeders"])
        one.write()
    for file in ("utility.json", "utility-feeders.png"):
        assert (tmp_path / "once" / file).read_bytes() == (tmp_path / "again" / file).read_bytes()
    document = json.loads((tmp_path / "once" / "utility.json").read_text())
    assert document["figures"][0]["file"] == "utility-feeders.png"
