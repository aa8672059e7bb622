"""A library of programmes, and what a plug measures of them: chunks and whole evenings."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulations.tv.background import slow
from simulations.tv.displays import Display
from simulations.tv.programmes import GENRES, Luminance, programme, spots

Watts = NDArray[np.float64]
"""watts[content, slot]"""

LENGTHS = (1800, 2700, 3600, 5400, 7200)
CHUNK, EVENING = 300, 4 * 3600
"""Seconds of the two contents that an attacker wants to know."""
SENSOR, WANDER = 0.7, 0.6
"""Watts by which one second of a plug is off, and by which a supply's losses drift in minutes."""


@dataclass(frozen=True, slots=True)
class Library:
    """Programmes of all genres, each as its luminance."""

    programmes: list[Luminance]

    def chunks(self, draw: np.random.Generator, seconds: int = CHUNK) -> Luminance:
        """`luminance[programme, second]`: a stretch of each programme, from anywhere in it."""
        starts = [int(draw.integers(0, len(p) - seconds + 1)) for p in self.programmes]
        return np.array([p[s : s + seconds] for p, s in zip(self.programmes, starts, strict=True)])

    def evenings(self, draw: np.random.Generator, count: int, seconds: int = EVENING) -> Luminance:
        """`luminance[channel, second]`: what so many channels show, one programme after another."""
        return np.array([self._evening(draw, seconds) for _ in range(count)])

    def _evening(self, draw: np.random.Generator, seconds: int) -> Luminance:
        order = draw.permutation(len(self.programmes))
        shown: list[Luminance] = []
        while sum(map(len, shown)) < seconds:
            shown.append(self.programmes[order[len(shown)]])
        return np.concatenate(shown)[:seconds]


def library(draw: np.random.Generator, count: int = 300) -> Library:
    """So many programmes, genre after genre."""
    season = spots(draw)
    made = [
        programme(draw, GENRES[i % len(GENRES)], int(draw.choice(LENGTHS)), season)
        for i in range(count)
    ]
    return Library(made)


def metered(
    luminance: Luminance,
    display: Display,
    seconds: int,
    draw: np.random.Generator | None = None,
) -> Watts:
    """Means of so many seconds at the plug, to a tenth of a watt; without `draw`, noiseless."""
    watts = display.watts(luminance)
    if draw is not None:
        drift = slow(draw.standard_normal(watts.shape), 60)
        watts = watts + SENSOR * draw.standard_normal(watts.shape) + WANDER * drift
    slots = watts.shape[1] // seconds
    means: Watts = watts[:, : slots * seconds].reshape(len(watts), slots, seconds).mean(axis=2)
    return np.round(means, 1)
