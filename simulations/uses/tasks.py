"""What people do with releases, one number each: of single homes, and of a feeder.

A number is nothing where a setting cannot say it: hours are not told by days, nor a home by the
sum of all. Otherwise it is a mean, and as sure as its interval is narrow: of a home's tasks over
homes, of a feeder's over draws of its noise. Shares of a home's load are of the mean home's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import norm

from simulations.home.street import DAYS
from simulations.kit.statistics import Floats, bootstrap
from simulations.kit.traces import Integers
from simulations.uses.settings import Setting
from simulations.uses.street import Street, deviation, noise, windows, within
from simulations.utility.energy import DAY_RATE, NIGHT_RATE
from simulations.utility.forecast import forecast, usual

AGAIN = 20
"""Times that noise is drawn."""
HIDES = 0.3
"""What somebody keeps from their meter, of all that they use."""
MOST = 90
"""Percent of bills that are right; those of `bill` are within 1 % of a mean one in 95 %."""
ALARM = 0.05
"""How often a feeder of honest homes is suspected."""

Each = Floats | None
"""Of homes, or of draws: what a task's number is the mean of."""


@dataclass(frozen=True, slots=True)
class Number:
    """What a task comes to, and between what it lies with 95 % confidence."""

    mean: float
    low: float
    high: float

    def document(self) -> dict[str, float]:
        """For JSON."""
        return {
            "number": round(self.mean, 4),
            "low": round(self.low, 4),
            "high": round(self.high, 4),
        }


@dataclass(frozen=True, slots=True)
class Task:
    """One use of releases, and from when on it is good enough."""

    name: str
    asks: str
    """For a table: what the number is."""
    unit: Literal["%", "points", "cars"]
    enough: float
    limit: Literal["at least", "at most"]
    each: Callable[[Street, Setting, np.random.Generator], Each]

    def measure(self, street: Street, setting: Setting, draw: np.random.Generator) -> Number | None:
        """What it comes to under a setting."""
        found = self.each(street, setting, draw)
        if found is None:
            return None
        low, high = bootstrap(found, lambda some: float(some.mean()), draw)
        return Number(float(found.mean()), low, high)

    def works(self, number: Number | None) -> bool:
        """Whether that is good enough, from one end of its interval to the other."""
        if number is None:
            return False
        return number.low >= self.enough if self.limit == "at least" else number.high <= self.enough


def _draws(street: Street, setting: Setting, draw: np.random.Generator) -> Floats:
    """Noise of every window of every home, some times over: `[time, home, window]`."""
    truth = windows(street.watts, setting)
    return noise(setting, (AGAIN, *truth.shape), draw)


def _bill(street: Street, setting: Setting, draw: np.random.Generator) -> Each:
    if setting.feeder:
        return None
    off = _month(street, setting, draw)[0]
    right: Floats = 100 * (np.abs(off) <= 0.01 * street.watts.mean()).mean(axis=0)
    return right


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


def _by_time(street: Street, setting: Setting, draw: np.random.Generator) -> Each:
    if setting.feeder or (setting.hours > 1 and not setting.registers):
        return None
    hour = np.arange(street.watts.shape[1], dtype=np.float64) / 4 % 24
    paid = (street.watts * _price(hour)).mean()
    off = _month(street, setting, draw)[1]
    right: Floats = 100 * (np.abs(off) <= 0.01 * paid).mean(axis=0)
    return right


def _day(street: Street, setting: Setting, draw: np.random.Generator) -> Each:
    if setting.feeder or setting.hours > 24:
        return None
    off = _draws(street, setting, draw).reshape(AGAIN, len(street.watts), DAYS, -1).mean(axis=3)
    share: Floats = 100 * np.abs(off).mean(axis=(0, 2)) / street.watts.mean()
    return share


def _peak(street: Street, setting: Setting, draw: np.random.Generator) -> Each:
    if setting.feeder or setting.hours > 1:
        return None
    truth = windows(street.watts, setting)
    seen = (truth + _draws(street, setting, draw)).max(axis=2)
    share: Floats = 100 * np.abs(seen / truth.max(axis=1) - 1).mean(axis=0)
    return share


def _sun(street: Street, setting: Setting, draw: np.random.Generator) -> Each:
    if setting.feeder or setting.hours > 1:
        return None
    net = windows(street.net, setting)
    made = windows(street.sun, setting).sum(axis=1)
    true, *seen = (
        1 - np.maximum(-one, 0).sum(axis=1) / made
        for one in (net, *(net + noise(setting, net.shape, draw) for _ in range(AGAIN)))
    )
    points: Floats = 100 * np.abs(np.array(seen) - true).mean(axis=0)
    return points


def _sums(
    street: Street, setting: Setting, draw: np.random.Generator
) -> tuple[Floats, list[Floats]]:
    """A feeder's true windows, and what is known of them, some times over."""
    truth = windows(street.watts, setting)
    total = truth.sum(axis=0)
    return total, [total + _off(setting, truth.shape, draw) for _ in range(AGAIN)]


def _off(setting: Setting, shape: tuple[int, ...], draw: np.random.Generator) -> Floats:
    """The noise of a sum of homes, window by window: one draw, or one of each home."""
    if setting.feeder:
        return noise(setting, shape[1:], draw)
    off: Floats = noise(setting, shape, draw).sum(axis=0)
    return off


def _feeder(street: Street, setting: Setting, draw: np.random.Generator) -> Each:
    if setting.hours > 24:
        return None
    truth, seen = _sums(street, setting, draw)
    return np.array([100 * np.abs(one - truth).mean() / truth.mean() for one in seen])


def _feeder_peak(street: Street, setting: Setting, draw: np.random.Generator) -> Each:
    if setting.hours > 1:
        return None
    truth, seen = _sums(street, setting, draw)
    return np.array([100 * abs(one.max() / truth.max() - 1) for one in seen])


def _tomorrow(street: Street, setting: Setting, draw: np.random.Generator) -> Each:
    if setting.hours > 1:
        return None
    true, sums = _sums(street, setting, draw)
    truth, *seen = (one.reshape(DAYS * 24, -1).mean(axis=1) for one in (true, *sums))
    exact = forecast(truth, truth).mean()
    return np.array([100 * (forecast(one, truth).mean() / exact - 1) for one in seen])


def _theft(street: Street, setting: Setting, draw: np.random.Generator) -> Each:
    """The feeder's own meter less the sum of homes, over the month."""
    del draw  # by the law of the noise, of which so many draws are added that the sum is normal
    count = DAYS * 24 / setting.hours * (1 if setting.feeder else len(street.watts))
    spread = deviation(setting) * np.sqrt(count) / (DAYS * 24 / setting.hours)
    if setting.registers:
        spread *= np.sqrt(sum(((high - low) % 24 / 24) ** 2 for low, high in setting.registers))
    hidden = HIDES * street.watts.mean(axis=1)
    seen: Floats = 100 * norm.sf(norm.isf(ALARM) - hidden / spread)
    return seen


FEEDERS, MEMBERS = 120, 40


def _cars(street: Street, setting: Setting, draw: np.random.Generator) -> Each:
    """By the shape of a feeder's day, as it was learned on other homes, whose cars are known."""
    if setting.hours > 1:
        return None
    return np.array([_counted(street, setting, draw) for _ in range(AGAIN // 2)])


def _counted(street: Street, setting: Setting, draw: np.random.Generator) -> float:
    """By how many cars feeders of one half of the homes are off, learned on the other half."""
    known, others, members = _halves(street, draw)
    truth = windows(street.watts, setting)

    def feeder(homes: Integers) -> tuple[Floats, float]:
        some = draw.choice(homes, members, replace=False)
        return truth[some].sum(axis=0), float(street.cars[some].sum())

    said, cars = by_shape(setting, feeder, (known, others), members, draw)
    return float(np.abs(said - cars).mean())


def _halves(street: Street, draw: np.random.Generator) -> tuple[Integers, Integers, int]:
    """Homes to learn from, others to be asked about, and how many of them a feeder has."""
    order = draw.permutation(len(street.watts))
    half = len(order) // 2
    return order[:half], order[half:], min(MEMBERS, half // 2)


Feeder = Callable[[Integers], tuple[Floats, float]]
"""Of some of so many homes: the true load, window by window, and what is asked about them."""


def by_shape(
    setting: Setting,
    feeder: Feeder,
    halves: tuple[Integers, Integers],
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
        off = _off(setting, (members, len(total)), draw)
        rows.append(_shape(setting, total + off, answer))
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
    Task("a feeder's next day, by the hour", "forecast worse by", "%", 2, "at most", _tomorrow),
    Task("theft: one home hides 30 %", "seen in", "%", 90, "at least", _theft),
    Task("cars among 40 homes", "off by", "cars", 1.5, "at most", _cars),
)


def untold(street: Street, draw: np.random.Generator) -> dict[str, float]:
    """What is reached by less: cars by their share alone, tomorrow's hours as on an average day.

    In the numbers of their tasks; the average day is that of exact data.
    """
    off = []
    for _ in range(AGAIN):
        known, others, members = _halves(street, draw)
        some = [draw.choice(others, members, replace=False) for _ in range(FEEDERS)]
        cars = street.cars[np.array(some)].sum(axis=1)
        off.append(np.abs(cars - members * street.cars[known].mean()).mean())
    load = street.watts.sum(axis=0).reshape(DAYS * 24, -1).mean(axis=1)
    worse = usual(load).mean() / forecast(load, load).mean() - 1
    return {"cars": round(float(np.mean(off)), 4), "tomorrow": round(100 * float(worse), 4)}
