"""Homes, what their meters measured, and what is released of them.

Noise is of the mechanism's own law, drawn by numpy: a month of quarter hours of a street, under
every setting, is too much for the program in a quarter of an hour. `tests/simulations/test_uses.py`
holds it against what the program releases.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulations.home import street as homes
from simulations.home.street import QUARTER
from simulations.kit.command import Run
from simulations.kit.statistics import Floats
from simulations.uses.settings import Setting

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Street:
    """`watts[home, quarter]` of homes without panels, and of others with them."""

    watts: Floats
    cars: Floats
    """How many cars each has: none, or one."""
    net: Floats
    sun: Floats
    """What their panels made, `[home, quarter]`."""


def street(run: Run) -> Street:
    """A month of each home."""
    cars = np.array([float("ev" in home.size) for home in homes.street(run)])
    lives = [homes.sunny_life(home) for home in run.each(homes.sunny(run), "homes with panels")]
    net = np.array([life.trace().watts for life in lives])
    return Street(homes.lived(run), cars, net, np.array([-life.power["pv"] for life in lives]))


def windows(watts: Floats, setting: Setting) -> Floats:
    """The true means, `[home, window]`."""
    per_window = setting.policy.size // QUARTER
    means: Floats = watts.reshape(len(watts), -1, per_window).mean(axis=2)
    return means


def noise(setting: Setting, shape: Sequence[int], draw: np.random.Generator) -> Floats:
    """What `unbiased` is off by, but for what is clamped at the ends of the range."""
    step = float(setting.policy.domain.resolution)
    stop = -np.expm1(-step / setting.noise)
    up, down = (draw.geometric(stop, tuple(shape)) for _ in range(2))
    off: Floats = (up - down).astype(np.float64) * step
    return off


def deviation(setting: Setting) -> float:
    """Of the noise of one answer, in watts."""
    step = float(setting.policy.domain.resolution)
    kept = float(np.exp(-step / setting.noise))
    return float(step * np.sqrt(2 * kept) / (1 - kept))


def within(register: tuple[int, int], hours: Floats) -> Mask:
    """Which of some hours of the day a register holds."""
    low, high = register
    return (hours >= low) & (hours < high) if low < high else (hours >= low) | (hours < high)
