"""A street for a day: homes with the usual loads, and a film on every television at night."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulations.tv.displays import LCD
from simulations.tv.library import metered
from simulations.tv.programmes import GENRES, programme, spots

Watts = NDArray[np.int64]

INTERVAL, BLOCK = 10_000, 900_000
"""Milliseconds between readings, and of readings that are sent together."""
DAY = 86_400_000
SLOTS = DAY // INTERVAL
FILMS = 40
STREET = "street-1"
"""The group that all homes are in."""
FILM_BEGINS, FILM_SLOTS = 20 * 360 + 90, 2 * 360
"""At a quarter past eight, for two hours."""


@dataclass(frozen=True, slots=True)
class Street:
    """Who reads what: `watts[home, slot]`, and `films[film, slot]`, of which one is in each."""

    begin: int
    """Midnight, in milliseconds since the epoch."""
    watts: Watts
    films: Watts
    shown: NDArray[np.int64]
    """shown[home]: the film that is on."""

    @property
    def homes(self) -> list[str]:
        """Their ids."""
        return [f"home-{number:03}" for number in range(len(self.watts))]

    def blocks(self) -> Iterator[tuple[int, str, list[int]]]:
        """(when it begins, home, readings), as meters send them: a quarter of an hour at once.

        After midnight one more of each, by whose time the day's last windows are over.
        """
        size, homes = BLOCK // INTERVAL, self.homes
        for first in range(0, SLOTS + size, size):
            now = self.watts[:, first % SLOTS : first % SLOTS + size]
            for home, readings in zip(homes, now, strict=True):
                yield self.begin + first * INTERVAL, home, readings.tolist()

    def with_film(self, home: int, film: int) -> Watts:
        """What the meter would have read if another film had been on."""
        watts: Watts = self.watts[home].copy()
        on = slice(FILM_BEGINS, FILM_BEGINS + FILM_SLOTS)
        watts[on] += self.films[film] - self.films[self.shown[home]]
        return watts


def street(homes: int, begin: int, seed: int) -> Street:
    """A street that never was; the same seed gives the same one."""
    draw = np.random.default_rng(seed)
    films = _films(draw)
    shown = draw.integers(FILMS, size=homes)
    watts = np.array([_home(draw) for _ in range(homes)])
    watts[:, FILM_BEGINS : FILM_BEGINS + FILM_SLOTS] += films[shown]
    return Street(begin, watts, films, shown)


def _films(draw: np.random.Generator) -> Watts:
    """What a set with a dynamic backlight takes for each film, as in `simulations.tv`."""
    seconds, season = FILM_SLOTS * INTERVAL // 1000, spots(draw)
    shown = [programme(draw, GENRES[n % len(GENRES)], seconds, season) for n in range(FILMS)]
    films: Watts = np.round(metered(np.array(shown), LCD, INTERVAL // 1000)).astype(np.int64)
    return films


def _home(draw: np.random.Generator) -> Watts:
    """Everything but the television."""
    watts = np.full(SLOTS, draw.uniform(50, 150))
    _fridge(draw, watts)
    for often, power, minutes, hours in (
        (4, 2000, 3, (6.5, 23)),  # kettle
        (2, 60, 180, (6, 22)),  # light
        (1, 1900, 35, (11.5, 19.5)),  # oven
        (draw.integers(2), 1100, 50, (8, 19)),  # washing machine
    ):
        for _ in range(often):
            _load(draw, watts, power, minutes, hours)
    home: Watts = np.round(watts + draw.normal(0, 1.5, SLOTS)).clip(0).astype(np.int64)
    return home


def _fridge(draw: np.random.Generator, watts: NDArray[np.float64]) -> None:
    on, off = int(draw.uniform(70, 110)), int(draw.uniform(150, 260))
    phase = np.arange(SLOTS) + int(draw.integers(on + off))
    watts += 85 * (phase % (on + off) < on)


def _load(
    draw: np.random.Generator,
    watts: NDArray[np.float64],
    power: float,
    minutes: float,
    hours: tuple[float, float],
) -> None:
    first = int(draw.uniform(*hours) * 360)
    length = int(minutes * 6 * draw.uniform(0.7, 1.3))
    watts[first : first + length] += power * draw.uniform(0.85, 1.15)
