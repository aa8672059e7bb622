"""What people do with releases, one number each: of single homes, and of a feeder.

A number is nothing where a setting cannot say it: hours are not told by days, nor a home by the
sum of all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import norm

from simulations.kit.statistics import Floats
from simulations.uses.settings import Setting
from simulations.uses.street import DAYS, Street, deviation, noise, windows, within
from simulations.utility.energy import DAY_RATE, NIGHT_RATE
from simulations.utility.forecast import forecast

AGAIN = 10
"""Times that noise is drawn, for tasks of a few numbers."""
HIDES = 0.3
"""What somebody keeps from their meter, of all that they use."""
MOST = 90
"""Percent of bills that are right; those of homes of 400 W are within 1 % in 95 % then."""
ALARM = 0.05
"""How often a feeder of honest homes is suspected."""


@dataclass(frozen=True, slots=True)
class Task:
    """One use of releases, and from when on it is good enough."""

    name: str
    asks: str
    """For a table: what the number is."""
    unit: Literal["%", "points", "cars"]
    enough: float
    limit: Literal["at least", "at most"]
    measure: Callable[[Street, Setting, np.random.Generator], float | None]

    def works(self, number: float | None) -> bool:
        """Whether that is good enough."""
        if number is None:
            return False
        return number >= self.enough if self.limit == "at least" else number <= self.enough


def _draws(street: Street, setting: Setting, draw: np.random.Generator) -> Floats:
    """Noise of every window of every home, some times over: `[time, home, window]`."""
    truth = windows(street.watts, setting)
    return noise(setting, (AGAIN, *truth.shape), draw)


def _bill(street: Street, setting: Setting, draw: np.random.Generator) -> float | None:
    if setting.feeder:
        return None
    off = _month(street, setting, draw)[0] / street.watts.mean(axis=1)
    return 100 * float((np.abs(off) <= 0.01).mean())


def _month(street: Street, setting: Setting, draw: np.random.Generator) -> tuple[Floats, Floats]:
    """By how much a month's mean is off, and what is paid for it: `[time, home]`."""
    if setting.registers:
        off = noise(setting, (AGAIN, len(street.watts), len(setting.registers)), draw)
        share = np.array([(high - low) % 24 / 24 for low, high in setting.registers])
        return off @ share, off @ (share * np.array([DAY_RATE, NIGHT_RATE]))
    every = _draws(street, setting, draw)
    hour = np.arange(every.shape[2], dtype=np.float64) * setting.hours % 24
    return every.mean(axis=2), (every * _price(hour)).mean(axis=2)


def _price(hour: Floats) -> Floats:
    price: Floats = np.where(within((7, 23), hour), DAY_RATE, NIGHT_RATE)
    return price


def _by_time(street: Street, setting: Setting, draw: np.random.Generator) -> float | None:
    if setting.feeder or (setting.hours > 1 and not setting.registers):
        return None
    hour = np.arange(street.watts.shape[1], dtype=np.float64) / 4 % 24
    paid = (street.watts * _price(hour)).mean(axis=1)
    off = _month(street, setting, draw)[1] / paid
    return 100 * float((np.abs(off) <= 0.01).mean())


def _day(street: Street, setting: Setting, draw: np.random.Generator) -> float | None:
    if setting.feeder or setting.hours > 24:
        return None
    off = _draws(street, setting, draw).reshape(AGAIN, len(street.watts), DAYS, -1).mean(axis=3)
    return 100 * float(np.abs(off).mean() / street.watts.mean())


def _peak(street: Street, setting: Setting, draw: np.random.Generator) -> float | None:
    if setting.feeder or setting.hours > 1:
        return None
    truth = windows(street.watts, setting)
    seen = (truth + _draws(street, setting, draw)).max(axis=2)
    return 100 * float(np.abs(seen / truth.max(axis=1) - 1).mean())


def _sun(street: Street, setting: Setting, draw: np.random.Generator) -> float | None:
    if setting.feeder or setting.hours > 1:
        return None
    net = windows(street.net, setting)
    made = windows(street.sun, setting).sum(axis=1)
    seen = net + noise(setting, net.shape, draw)
    shares = [1 - np.maximum(-one, 0).sum(axis=1) / made for one in (net, seen)]
    return 100 * float(np.abs(shares[1] - shares[0]).mean())


def _sum(street: Street, setting: Setting, draw: np.random.Generator) -> tuple[Floats, Floats]:
    """A feeder's true windows, and what is known of them."""
    truth = windows(street.watts, setting)
    shape = truth.shape[1:] if setting.feeder else truth.shape
    off = noise(setting, shape, draw)
    total: Floats = truth.sum(axis=0)
    return total, total + (off if setting.feeder else off.sum(axis=0))


def _feeder(street: Street, setting: Setting, draw: np.random.Generator) -> float | None:
    if setting.hours > 24:
        return None
    truth, seen = _sum(street, setting, draw)
    return 100 * float(np.abs(seen - truth).mean() / truth.mean())


def _feeder_peak(street: Street, setting: Setting, draw: np.random.Generator) -> float | None:
    if setting.hours > 1:
        return None
    truth, seen = _sum(street, setting, draw)
    return 100 * float(abs(seen.max() / truth.max() - 1))


def _tomorrow(street: Street, setting: Setting, draw: np.random.Generator) -> float | None:
    if setting.hours > 1:
        return None
    truth, seen = (one.reshape(DAYS * 24, -1).mean(axis=1) for one in _sum(street, setting, draw))
    return 100 * float(forecast(seen, truth).mean() / forecast(truth, truth).mean() - 1)


def _theft(street: Street, setting: Setting, draw: np.random.Generator) -> float | None:
    """The feeder's own meter less the sum of homes, over the month."""
    del draw  # by the law of the noise, of which so many draws are added that the sum is normal
    count = DAYS * 24 / setting.hours * (1 if setting.feeder else len(street.watts))
    spread = deviation(setting) * np.sqrt(count) / (DAYS * 24 / setting.hours)
    if setting.registers:
        spread *= np.sqrt(sum(((high - low) % 24 / 24) ** 2 for low, high in setting.registers))
    hidden = HIDES * street.watts.mean(axis=1)
    return 100 * float(norm.sf(norm.isf(ALARM) - hidden / spread).mean())


FEEDERS, MEMBERS = 120, 40


def _cars(street: Street, setting: Setting, draw: np.random.Generator) -> float | None:
    """By the shape of a feeder's day, as it was learned on other homes, whose cars are known."""
    if setting.hours > 1:
        return None
    truth, half = windows(street.watts, setting), len(street.watts) // 2
    members = min(MEMBERS, half // 2)

    def feeder(homes: range) -> tuple[Floats, float]:
        some = draw.choice(homes, members, replace=False)
        return truth[some].sum(axis=0), street.cars[some].sum()

    halves = range(half), range(half, 2 * half)
    said, cars = by_shape(setting, feeder, halves, members, draw)
    return float(np.abs(said - cars).mean())


Feeder = Callable[[range], tuple[Floats, float]]
"""Of some of so many homes: the true load, window by window, and what is asked about them."""


def by_shape(
    setting: Setting,
    feeder: Feeder,
    halves: tuple[range, range],
    members: int,
    draw: np.random.Generator,
) -> tuple[Floats, Floats]:
    """What is said of feeders of the second half of homes by who knows all of the first; the truth.

    By watts in the evening, at night and by day: as they are of the first, as they are released of
    the second.
    """
    learned = np.array([_shape(setting, *feeder(halves[0])) for _ in range(FEEDERS)])
    weights, *_ = np.linalg.lstsq(_design(learned), learned[:, -1], rcond=None)
    rows = []
    for _ in range(FEEDERS):
        total, answer = feeder(halves[1])
        off = noise(setting, total.shape if setting.feeder else (members, len(total)), draw)
        rows.append(_shape(setting, total + (off if setting.feeder else off.sum(axis=0)), answer))
    seen = np.array(rows)
    said: Floats = _design(seen) @ weights
    return said, seen[:, -1]


def _shape(setting: Setting, total: Floats, answer: float) -> list[float]:
    """Watts by evening, night and day; and the answer."""
    per_day = round(24 / setting.hours)
    hour = np.arange(per_day) * setting.hours
    parts = [(hour >= 17) & (hour < 22), hour < 5, (hour >= 8) & (hour < 16)]
    day = total.reshape(-1, per_day).mean(axis=0)
    return [*(float(day[part].mean()) for part in parts), answer]


def _design(rows: Floats) -> Floats:
    return np.column_stack([rows[:, :-1], np.ones(len(rows))])


TASKS = (
    Task("a home's month", "bills within 1 %", "%", MOST, "at least", _bill),
    Task("a home's bill by day and night", "bills within 1 %", "%", MOST, "at least", _by_time),
    Task("a home's day", "off by", "%", 10, "at most", _day),
    Task("a home's peak of the month", "off by", "%", 10, "at most", _peak),
    Task("a home's own use of its sun", "off by", "points", 5, "at most", _sun),
    Task("a feeder's load, window by window", "off by", "%", 2, "at most", _feeder),
    Task("a feeder's peak of the month", "off by", "%", 2, "at most", _feeder_peak),
    Task("a feeder's next day, by the hour", "forecast worse by", "%", 10, "at most", _tomorrow),
    Task("theft: one home hides 30 %", "seen in", "%", 90, "at least", _theft),
    Task("cars among 40 homes", "off by", "cars", 3, "at most", _cars),
)
