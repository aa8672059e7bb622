"""The homes whose releases are used, and the policies they are released under."""

from dataclasses import dataclass

import numpy as np

from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from simulations.home import street
from simulations.home.house import BEGIN
from simulations.home.policies import HOUR, all_presets, plain
from simulations.home.street import QUARTER
from simulations.kit.command import Run
from simulations.kit.product import Released, release
from simulations.kit.statistics import Floats
from simulations.kit.traces import DAY, Trace

EXPORT = -6000
"""Watts down to which a home with panels may feed back."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A policy, in words."""

    words: str
    policy: Policy

    @property
    def hours(self) -> float:
        """The length of a window."""
        return self.policy.size / HOUR


def settings(minimum: int = 0) -> list[Setting]:
    """The presets, with readings of a quarter of an hour, and plain averages for comparison."""
    low = {"minimum": f"{minimum}W", "interval": "15m"}
    some = [
        ("15 min, 10 W", asked(QUARTER, "0.1", minimum)),
        ("15 min, 100 W", asked(QUARTER, "0.01", minimum)),
        ("1 h, 100 W", asked(HOUR, "0.01", minimum)),
    ]
    named = [(f"preset {name}", policy) for name, policy in all_presets(**low).items()]
    return [Setting(words, policy) for words, policy in [*named, *some]]


def asked(window: int, epsilon: str, minimum: int = 0) -> Policy:
    """Plain averages."""
    return plain(window, epsilon, interval=QUARTER, minimum=minimum)


def homes(run: Run) -> list[Trace]:
    """A month of each home of the street."""
    return _traces(street.lived(run), street.JULY)


def sunny(run: Run) -> list[Trace]:
    """The same of those with panels."""
    lives = [street.sunny_life(home) for home in run.each(street.sunny(run), "homes with panels")]
    return _traces(np.array([life.trace().watts for life in lives]), street.APRIL)


def _traces(watts: Floats, first: int) -> list[Trace]:
    begin = BEGIN + first * DAY
    return [Trace(f"home-{n}", begin, QUARTER, its) for n, its in enumerate(watts)]


def released(
    traces: list[Trace], setting: Setting, run: Run, place: int
) -> tuple[list[Released], Floats]:
    """What is released of homes, and the true means of the same windows, `[home, window]`."""
    key = NoiseKey(run.draw(50, place).bytes(32))
    truth = np.array([trace.coarser(setting.policy.size).watts for trace in traces])
    return release(traces, setting.policy, key), truth
