"""The rest of the home, as far as it covers up the television.

No appliance is modelled for its own sake here (`simulations.home` does that): what counts is
how much power comes and goes beside the set, and how fast.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

Watts = NDArray[np.float64]

_EVENTS = (
    # watts, mean seconds, times a day
    (2200, 150, 5),  # kettle
    (900, 240, 3),  # microwave
    (2000, 1100, 1.5),  # oven, hob, washing machine's heater
    (300, 2400, 2),  # washing machine's drum, computer
    (60, 5400, 6),  # lights
)


def background(
    draw: np.random.Generator, homes: int, slots: int, seconds: float, begin: float
) -> Watts:
    """`watts[home, slot]` without the television; slots of so many seconds, begun at `begin`.

    `begin` is seconds since midnight: people are up from 7 to 23.
    """
    time = (begin + seconds * np.arange(slots)) % 86_400
    awake = (time > 7 * 3600) & (time < 23 * 3600)
    base = draw.uniform(60, 200, (homes, 1))
    flicker = slow(draw.standard_normal((homes, slots)), 120 / seconds) * 6
    fridge = _fridge(draw, homes, slots, seconds)
    return base + flicker + fridge + _events(draw, homes, seconds, awake)


def slow(noise: Watts, slots: float) -> Watts:
    """Noise that forgets within so many slots, of unit variance."""
    keep = np.exp(-1 / slots)
    slow: Watts = lfilter([np.sqrt(1 - keep**2)], [1, -keep], noise, axis=1)
    return slow


def _fridge(draw: np.random.Generator, homes: int, slots: int, seconds: float) -> Watts:
    """A third of the time 90 W, in cycles of most of an hour."""
    period = draw.uniform(2400, 3900, (homes, 1))
    phase = (seconds * np.arange(slots) + draw.uniform(0, 3600, (homes, 1))) % period
    return np.where(phase < 0.35 * period, draw.uniform(70, 110, (homes, 1)), 0.0)


def _events(
    draw: np.random.Generator, homes: int, seconds: float, awake: NDArray[np.bool_]
) -> Watts:
    """Loads that people switch on while they are up."""
    slots = len(awake)
    change = np.zeros((homes, slots + 1))
    chance = awake * seconds / (16 * 3600)
    for watts, length, often in _EVENTS:
        home, begun = np.nonzero(draw.random((homes, slots)) < chance * often)
        lasting = np.maximum(1, length * draw.uniform(0.5, 1.5, len(home)) / seconds)
        ended = np.minimum(begun + lasting.astype(np.int64), slots)
        power = watts * draw.uniform(0.7, 1.3, len(home))
        np.add.at(change, (home, begun), power)
        np.add.at(change, (home, ended), -power)
    return np.cumsum(change[:, :slots], axis=1)
