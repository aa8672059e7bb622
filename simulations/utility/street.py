"""The homes whose releases are used, and the policies they are released under."""

from dataclasses import dataclass

import numpy as np

from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from simulations.home.house import Home
from simulations.home.policies import HOUR, MINUTE, all_presets, plain
from simulations.kit.command import Run
from simulations.kit.product import Released, release
from simulations.kit.statistics import Floats
from simulations.kit.traces import Trace

FIRST, DAYS = 3, 28
"""Four weeks from a Thursday on, on which weeks begin where windows are weeks: a month."""
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
    """The presets, with readings of a minute, and plain averages for comparison."""
    low = {"minimum": f"{minimum}W", "interval": "1m"}
    some = [
        ("15 min, 10 W", plain(15 * MINUTE, "0.1", minimum=minimum)),
        ("15 min, 100 W", plain(15 * MINUTE, "0.01", minimum=minimum)),
        ("1 h, 100 W", plain(HOUR, "0.01", minimum=minimum)),
    ]
    named = [(f"preset {name}", policy) for name, policy in all_presets(**low).items()]
    return [Setting(words, policy) for words, policy in [*named, *some]]


def homes(run: Run, *, panels: bool) -> list[Trace]:
    """A month of each of some homes."""
    many = 4 if run.quick else 24
    having, lacking = (("pv",), ()) if panels else ((), ("pv",))
    return [
        Home.draw(run.seed, 400 + n, having=having, lacking=lacking)
        .live(DAYS, first=FIRST, interval=MINUTE)
        .trace()
        for n in range(many)
    ]


def released(
    traces: list[Trace], setting: Setting, run: Run, place: int
) -> tuple[list[Released], Floats]:
    """What is released of homes, and the true means of the same windows, `[home, window]`."""
    key = NoiseKey(run.draw(50, place).bytes(32))
    truth = np.array([trace.coarser(setting.policy.size).watts for trace in traces])
    return release(traces, setting.policy, key), truth
