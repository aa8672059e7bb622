"""A home: its people, its appliances, and what its meter would have measured."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from simulations.home.appliances import (
    USED,
    Use,
    electric_car,
    fridge,
    heat_pump,
    power,
    temperature,
)
from simulations.home.people import MINUTES, Person, Presence, live_together
from simulations.kit.traces import DAY, Trace, Watts

BEGIN = 1_767_571_200_000
"""A Monday in January 2026, midnight."""
BEGIN_DAY_OF_YEAR = 5

OPTIONAL = {"heat_pump": 0.3, "ev": 0.3, "pv": 0.3, "dryer": 0.5, "dishwasher": 0.6}
"""What only some homes have, and how many."""
CHANNELS = ("fridge", *(used.name for used in USED), "heat_pump", "ev", "lights", "standby", "pv")
_PEOPLE, _SIZES, _TASTE = 100, 101, 102


@dataclass(frozen=True, slots=True)
class Life:
    """Some days of a home: every channel's power, and the truth that attackers look for."""

    name: str
    begin: int
    interval: int
    power: Mapping[str, Watts]
    uses: Mapping[str, list[Use]]
    presence: Presence

    @property
    def days(self) -> int:
        """How many there are."""
        return len(self.presence.someone) // MINUTES

    def trace(self, without: Collection[str] = ()) -> Trace:
        """What the meter measures: the sum of all channels, but for those left out."""
        kept = [watts for channel, watts in self.power.items() if channel not in without]
        return Trace(self.name, self.begin, self.interval, np.sum(kept, axis=0))


@dataclass(frozen=True, slots=True)
class Home:
    """A home, known by the seed of everything in it and its number."""

    seed: int
    number: int
    people: tuple[Person, ...]
    size: Mapping[str, float]
    """Watts of what it owns, by channel."""

    @classmethod
    def draw(
        cls, seed: int, number: int, *, having: Collection[str] = (), lacking: Collection[str] = ()
    ) -> "Home":
        """One of many homes; what only some have can be demanded or refused."""
        draw = np.random.default_rng([seed, number, _SIZES])
        size = {used.name: draw.uniform(used.low, used.high) for used in USED}
        size |= {
            "fridge": draw.uniform(70, 130),
            "heat_pump": draw.uniform(1300, 2400),
            "ev": float(draw.choice([3600.0, 7200.0])),
            "lights": draw.uniform(100, 260),
            "standby": draw.uniform(40, 120),
            "pv": draw.uniform(2000, 5000),
        }
        luck = {name: draw.random() for name in OPTIONAL}
        missing = {n for n, share in OPTIONAL.items() if luck[n] >= share} - set(having)
        owned = {n: watts for n, watts in size.items() if n not in missing | set(lacking)}
        draw = np.random.default_rng([seed, number, _PEOPLE])
        people = tuple(Person.draw(draw) for _ in range(draw.choice([1, 2, 2, 3])))
        return cls(seed, number, people, owned)

    def live(
        self,
        days: int,
        *,
        first: int = 0,
        away: Collection[int] = (),
        interval: int = 10_000,
        name: str = "",
    ) -> Life:
        """Days in a row from day `first` on; nobody is there on those in `away`.

        Postcondition: the same days with other absences are the same lives otherwise: the same
        weather, the same fridge, the same plans, of which people who are away carry out none.
        """
        slots = days * DAY // interval
        presence = live_together(self.people, days, away, self._draw(first, _PEOPLE))
        uses = self._uses(days, first, presence)
        watts = {channel: power(uses[channel], slots, interval) for channel in uses}
        watts |= self._always(days, first, presence, interval)
        shown = {channel: watts[channel] for channel in CHANNELS if channel in self.size}
        begin = BEGIN + first * DAY
        return Life(name or f"home-{self.number}", begin, interval, shown, uses, presence)

    def _draw(self, first: int, purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.number, first, purpose])

    def _uses(self, days: int, first: int, presence: Presence) -> dict[str, list[Use]]:
        size = self.size
        uses = {
            used.name: used.uses(size[used.name], days, presence.active, self._draw(first, place))
            for place, used in enumerate(USED)
            if used.name in size
        }
        uses["fridge"] = fridge(size["fridge"], days, self._draw(first, 20))
        if "heat_pump" in size:
            draw = self._draw(first, 21)
            degrees = temperature(days, BEGIN_DAY_OF_YEAR + first, draw)
            uses["heat_pump"] = heat_pump(size["heat_pump"], days, degrees, draw)
        if "ev" in size:
            taste = np.random.default_rng([self.seed, self.number, _TASTE]).random()
            draw = self._draw(first, 22)
            uses["ev"] = electric_car(size["ev"], days, presence.active, taste, draw)
        return uses

    def _always(self, days: int, first: int, presence: Presence, interval: int) -> dict[str, Watts]:
        """What has no uses: standby, light, and the sun."""
        minutes = {
            "standby": np.full(days * MINUTES, self.size["standby"]),
            "lights": self._lights(days, presence, self._draw(first, 23)),
        }
        if "pv" in self.size:
            day_of_year = BEGIN_DAY_OF_YEAR + first
            minutes["pv"] = -self.size["pv"] * sunshine(days, day_of_year, self._draw(first, 24))
        return {channel: _resampled(watts, interval) for channel, watts in minutes.items()}

    def _lights(self, days: int, presence: Presence, draw: np.random.Generator) -> Watts:
        """Some rooms are lit when it is dark and somebody is up; which, changes now and then."""
        minutes = days * MINUTES
        changes = np.cumsum(draw.exponential(25, minutes // 12))
        rooms = draw.integers(1, 5, len(changes) + 1) / 4
        lit = rooms[np.searchsorted(changes, np.arange(minutes))]
        hour = np.arange(minutes) % MINUTES / 60
        dark = np.where((hour < 8.0) | (hour > 16.5), 1.0, 0.25)
        watts: Watts = self.size["lights"] * lit * dark * presence.active
        return watts


def sunshine(days: int, day_of_year: int, draw: np.random.Generator) -> Watts:
    """The share of a panel's peak, by minute: the sun's height, and clouds."""
    day = np.arange(days * MINUTES) / MINUTES
    tilt = np.radians(-23.4 * np.cos(2 * np.pi * (day + day_of_year + 10) / 365))
    latitude = np.radians(48)
    high = np.sin(latitude) * np.sin(tilt)
    high = high + np.cos(latitude) * np.cos(tilt) * np.cos(2 * np.pi * (day - 0.5))
    quarters = np.arange(0, days * MINUTES + 30, 15)
    overcast = np.repeat(draw.beta(1.2, 1.2, days + 1), 96)[: len(quarters)]
    clouds = np.clip(overcast + draw.normal(0, 0.15, len(quarters)), 0, 1)
    clear = 1 - 0.8 * np.interp(np.arange(days * MINUTES), quarters, clouds)
    share: Watts = np.clip(high, 0, None) * clear
    return share


def _resampled(minutes: Watts, interval: int) -> Watts:
    """From minutes to slots. Precondition: one is a multiple of the other."""
    if interval <= 60_000:
        return np.repeat(minutes, 60_000 // interval)
    mean: Watts = minutes.reshape(-1, interval // 60_000).mean(axis=1)
    return mean
