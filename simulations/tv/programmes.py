"""Programmes: how bright the picture is, second by second.

A programme is scenes of shots. A scene has its light, a shot varies it, and cuts, fades and
commercial breaks are what makes one evening's picture unlike every other's.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Luminance = NDArray[np.float64]
"""The mean brightness of the picture, 0 to 1, one number per second."""

Generator = np.random.Generator


@dataclass(frozen=True, slots=True)
class Genre:
    """What a kind of programme looks like; lengths in seconds, light as a share of white."""

    name: str
    shot: float
    """The mean length of a shot."""
    light: float
    """The mean brightness over many programmes."""
    between_scenes: float
    between_shots: float
    """Standard deviations of the light."""
    fades: float
    """The share of scenes that end in black."""
    breaks: float
    """The share of programmes that are interrupted by commercials."""


GENRES = (
    Genre("film", 4.5, 0.26, 0.12, 0.08, 0.10, 0.5),
    Genre("series", 4.0, 0.32, 0.10, 0.08, 0.08, 0.7),
    Genre("news", 6.0, 0.45, 0.05, 0.08, 0.00, 0.3),
    Genre("sport", 8.0, 0.50, 0.06, 0.05, 0.00, 0.8),
    Genre("show", 5.0, 0.40, 0.08, 0.10, 0.02, 0.7),
    Genre("documentary", 6.0, 0.40, 0.12, 0.08, 0.05, 0.3),
    Genre("animation", 3.0, 0.48, 0.12, 0.12, 0.03, 0.6),
)

_SPOT = Genre("commercial", 1.6, 0.50, 0.15, 0.18, 0.3, 0)
_PROGRAMME_TO_PROGRAMME = 0.05
_SCENE = 75.0
_BLACK = 0.02
_SECONDS_TO_BREAK = (720, 1200)
_SPOTS_PER_BREAK = (6, 10)


def spots(draw: Generator, count: int = 60) -> list[Luminance]:
    """The commercials of the season, which every channel shows."""
    lengths = draw.choice([15, 20, 30], count)
    return [picture(draw, _SPOT, int(length)) for length in lengths]


def programme(draw: Generator, genre: Genre, seconds: int, season: list[Luminance]) -> Luminance:
    """One programme of a genre, with its commercial breaks."""
    luminance = picture(draw, genre, seconds)
    if draw.random() < genre.breaks:
        position = int(draw.integers(*_SECONDS_TO_BREAK))
        while position < seconds:
            shown = draw.choice(len(season), draw.integers(*_SPOTS_PER_BREAK), replace=False)
            block = np.concatenate([season[spot] for spot in shown])[: seconds - position]
            luminance[position : position + len(block)] = block
            position += len(block) + int(draw.integers(*_SECONDS_TO_BREAK))
    return luminance


def picture(draw: Generator, genre: Genre, seconds: int) -> Luminance:
    """Scenes of shots, without commercials."""
    own = genre.light + _PROGRAMME_TO_PROGRAMME * draw.standard_normal()
    scene_of, until = _lengths(draw, _SCENE, seconds)
    scene = own + genre.between_scenes * draw.standard_normal(len(until))
    shot_of, _ = _lengths(draw, genre.shot, seconds)
    shot = genre.between_shots * draw.standard_normal(shot_of[-1] + 1)
    drift = 0.004 * draw.standard_normal(len(shot))
    second = np.arange(seconds)
    begun = np.searchsorted(shot_of, shot_of)
    light = scene[scene_of] + shot[shot_of] + drift[shot_of] * (second - begun)
    fading = draw.random(len(until)) < genre.fades
    light[fading[scene_of] & (until[scene_of] - second < 2.5)] = _BLACK
    luminance: Luminance = np.clip(light, _BLACK, 1.0)
    return luminance


def _lengths(draw: Generator, mean: float, seconds: int) -> tuple[NDArray[np.int64], Luminance]:
    """Consecutive pieces of lognormal length: which one is on in each second, and its end."""
    spread = 0.7
    pieces = int(2 * seconds / mean) + 20
    lengths = mean * np.exp(spread * draw.standard_normal(pieces) - spread**2 / 2)
    until = np.cumsum(np.maximum(lengths, 0.5))
    number = np.searchsorted(until, np.arange(seconds) + 0.5)
    return number, until[: number[-1] + 1]
