"""What appliances draw: each use is a row of steps, and energy is kept at any resolution."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from simulations.home.people import MINUTES, Mask
from simulations.kit.traces import Watts

DAY_SECONDS = 86_400
Steps = tuple[tuple[float, float], ...]
"""(seconds, watts), one after the other"""


@dataclass(frozen=True, slots=True)
class Use:
    """One run of an appliance, from `begin` seconds after the simulation's begin."""

    begin: float
    steps: Steps

    @property
    def end(self) -> float:
        """When it has ended."""
        return self.begin + sum(seconds for seconds, _ in self.steps)

    @property
    def joules(self) -> float:
        """What it draws in all."""
        return sum(seconds * watts for seconds, watts in self.steps)


@dataclass(frozen=True, slots=True)
class Appliance:
    """Something that people use: how large it may be, how often and when, and its cycle."""

    name: str
    low: float
    high: float
    """Bounds of its largest power in watts, over all homes."""
    often: float
    """Uses a day, if somebody were always up."""
    peaks: tuple[tuple[float, float], ...]
    """(hour, spread) around which uses gather."""
    cycle: Callable[[float, np.random.Generator], Steps]

    def uses(self, size: float, days: int, active: Mask, draw: np.random.Generator) -> list[Use]:
        """What people who are up and in make of it.

        Postcondition: the uses of one minute do not depend on who was in at another (but
        none begins before the one before has ended).
        """
        hours, spreads = np.array(self.peaks).T
        planned = draw.poisson(self.often * days)
        peak = draw.integers(0, len(hours), planned)
        hour = draw.normal(hours[peak], spreads[peak]) % 24
        begins = np.sort((draw.integers(0, days, planned) + hour / 24) * DAY_SECONDS)
        uses = [Use(float(begin), self.cycle(size, draw)) for begin in begins]
        return one_by_one([use for use in uses if active[int(use.begin // 60)]])


def one_by_one(uses: Sequence[Use]) -> list[Use]:
    """Without those that begin before the last one has ended."""
    kept: list[Use] = []
    for use in uses:
        if not kept or use.begin >= kept[-1].end:
            kept.append(use)
    return kept


def power(uses: Sequence[Use], slots: int, interval: int) -> Watts:
    """The mean power in each slot of `interval` milliseconds.

    Precondition: the uses are disjoint and in order. Postcondition: energy is exact, whatever
    the interval; what lies beyond the last slot is cut off.
    """
    seconds, watts, begins = [0.0], [0.0], [0.0]
    for use in uses:
        begin = use.begin
        seconds.append(begin)
        watts.append(0.0)
        for length, drawn in use.steps:
            begin += length
            seconds.append(begin)
            watts.append(drawn)
        begins.append(begin)
    edges = np.array(seconds)
    energy = np.cumsum(np.array(watts) * np.diff(edges, prepend=0.0))
    bounds = np.arange(slots + 1) * (interval / 1000)
    mean: Watts = np.diff(np.interp(bounds, edges, energy)) / (interval / 1000)
    return mean


def _kettle(size: float, draw: np.random.Generator) -> Steps:
    return ((draw.uniform(80, 240), size),)


def _microwave(size: float, draw: np.random.Generator) -> Steps:
    return ((draw.uniform(60, 300), size),)


def _oven(size: float, draw: np.random.Generator) -> Steps:
    """Heats up, then holds its temperature in bursts."""
    bursts = draw.integers(8, 16)
    held = [s for _ in range(bursts) for s in ((draw.uniform(50, 90), size), (120.0, 30.0))]
    return ((draw.uniform(480, 720), size), (100.0, 30.0), *held)


def _washer(size: float, draw: np.random.Generator) -> Steps:
    """Heats the water, turns the drum to and fro, spins."""
    drum = [(40.0, draw.uniform(60, 260)) for _ in range(draw.integers(60, 90))]
    spin = ((240.0, 350.0), (60.0, 80.0), (300.0, 480.0))
    return ((150.0, 60.0), (draw.uniform(700, 1300), size), *drum, *spin)


def _dishwasher(size: float, draw: np.random.Generator) -> Steps:
    heat, again = draw.uniform(600, 1000), draw.uniform(400, 700)
    return ((600.0, 60.0), (heat, size), (1800.0, 70.0), (again, size), (900.0, 15.0))


def _dryer(size: float, draw: np.random.Generator) -> Steps:
    """Heater and drum; the thermostat rests the heater more and more."""
    rounds = range(draw.integers(5, 9))
    return tuple(
        step for r in rounds for step in ((draw.uniform(500, 700) - 40 * r, size), (90.0, 250.0))
    )


def _tv(size: float, draw: np.random.Generator) -> Steps:
    minutes = int(draw.uniform(40, 180))
    return tuple((60.0, size * m) for m in draw.uniform(0.85, 1.0, minutes).tolist())


KITCHEN = ((7.2, 0.8), (12.5, 1.5), (16.5, 2.0), (18.5, 1.5))
USED: tuple[Appliance, ...] = (
    Appliance("kettle", 1800, 3000, 9, (*KITCHEN, (10.0, 2.0), (21.0, 1.2)), _kettle),
    Appliance("microwave", 1050, 1450, 3, KITCHEN, _microwave),
    Appliance("oven", 2000, 2600, 0.9, ((12.3, 0.7), (18.4, 1.0), (18.6, 0.8)), _oven),
    Appliance("washer", 1900, 2300, 1.0, ((10.0, 2.0), (18.5, 1.5)), _washer),
    Appliance("dishwasher", 1700, 2100, 0.8, ((13.5, 1.5), (20.3, 1.2)), _dishwasher),
    Appliance("dryer", 2200, 2800, 0.6, ((13.0, 2.0), (20.0, 1.2)), _dryer),
    Appliance("tv", 60, 150, 3.0, ((19.5, 1.3), (21.0, 1.0), (14.0, 2.5)), _tv),
)


def fridge(size: float, days: int, draw: np.random.Generator) -> list[Use]:
    """Runs for a third of the time, with a short surge, whoever is at home."""
    rounds = days * 48 + 8
    on, off = draw.uniform(800, 1200, rounds), draw.uniform(1600, 2400, rounds)
    begins = np.cumsum(on + off) - on - off * draw.random()
    return [
        Use(float(b), ((1.0, 4 * size), (float(n) - 1, size)))
        for b, n in zip(begins, on, strict=True)
        if b < days * DAY_SECONDS and b > 0
    ]


def temperature(days: int, day_of_year: int, draw: np.random.Generator) -> Watts:
    """Outside, in degrees, by minute: seasons, days and nights, and weather."""
    day = np.arange(days * MINUTES) / MINUTES
    season = 10 - 8 * np.cos(2 * np.pi * (day + day_of_year - 20) / 365)
    weather = np.interp(day, np.arange(days + 1), draw.normal(0, 2.5, days + 1))
    degrees: Watts = season - 3 * np.cos(2 * np.pi * (day - 0.1)) + weather
    return degrees


def heat_pump(size: float, days: int, degrees: Watts, draw: np.random.Generator) -> list[Use]:
    """Rounds of three quarters of an hour; the colder, the more of each."""
    uses, now = [], float(draw.uniform(0, 2700))
    while now < days * DAY_SECONDS - 60:
        wanted = np.clip((17 - degrees[int(now // 60)]) / 32, 0, 1)
        span = draw.uniform(2100, 3300)
        strength = draw.uniform(0.92, 1.0)
        if wanted * span > 300:
            uses.append(Use(now, ((8.0, 0.6 * size), (wanted * span - 8, strength * size))))
        now += span
    return uses


def electric_car(
    size: float, days: int, active: Mask, by_night: float, draw: np.random.Generator
) -> list[Use]:
    """Charges every other evening: on return, or when the cheap tariff begins."""
    plugged, hours = draw.random(days) < 0.5, draw.uniform(16.8, 20.5, days)
    kilowatthours = draw.uniform(5, 28, days)
    waits = by_night < 0.3
    uses = []
    for day in range(days):
        home = active[day * MINUTES + 16 * 60 : (day + 1) * MINUTES].any()
        if plugged[day] and home:
            begin = (day + (24.5 if waits else hours[day]) / 24) * DAY_SECONDS
            uses.append(Use(begin, ((float(kilowatthours[day]) * 3.6e6 / size, size),)))
    return one_by_one(uses)
