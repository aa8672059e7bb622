"""Contests: pairs of lives that differ in the one thing that is to be hidden.

A street of homes is lived once; each contest takes uses or days out of it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meteragent.explain.reader import drawn, log_likelihood
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from simulations.home.appliances import Use, power
from simulations.home.house import BEGIN, Home, Life
from simulations.home.likelihood import Pair, answers
from simulations.kit.product import release
from simulations.kit.statistics import Share
from simulations.kit.traces import DAY, Trace, Watts

HOURS = 21
"""A use that was moved begins in one of the first hours of its day."""


@dataclass(frozen=True)
class Street:
    """Some homes and their lives, at one interval."""

    seed: int
    homes: int
    days: int
    interval: int
    having: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ("pv",)

    @cached_property
    def lives(self) -> list[Life]:
        """As they were."""
        return [home.live(self.days, interval=self.interval) for home in self._homes]

    @cached_property
    def empty(self) -> list[Life]:
        """The same homes, the same weather, and nobody there."""
        away = range(self.days)
        return [home.live(self.days, interval=self.interval, away=away) for home in self._homes]

    @cached_property
    def totals(self) -> list[Watts]:
        """What their meters measured."""
        return [life.trace().watts for life in self.lives]

    @cached_property
    def _homes(self) -> list[Home]:
        return [
            Home.draw(self.seed, number, having=self.having, lacking=self.lacking)
            for number in range(self.homes)
        ]

    def whole(self, begin: float, end: float, window: int) -> tuple[int, int] | None:
        """The slots of the windows that this time (in seconds) touches, if all were lived."""
        low = (BEGIN + int(begin * 1000)) // window * window - BEGIN
        high = -(-(BEGIN + int(end * 1000) + 1) // window) * window - BEGIN
        if low < 0 or high > self.days * DAY:
            return None
        return low // self.interval, high // self.interval

    def trace(self, watts: Watts, slots: tuple[int, int]) -> Trace:
        """A piece of somebody's life, with another's readings if need be."""
        return Trace("", BEGIN + slots[0] * self.interval, self.interval, watts)


def single_uses(
    street: Street, appliance: str, window: int, many: int, draw: np.random.Generator
) -> list[Pair]:
    """So many windows in which an appliance ran once more, or did not."""
    places = [
        (home, use, slots)
        for home, life in enumerate(street.lives)
        for use in life.uses.get(appliance, [])
        if (slots := street.whole(use.begin, use.end, window))
    ]
    picked = draw.integers(0, len(places), many).tolist()
    return [_with_and_without(street, *places[place]) for place in picked]


def usual(street: Street, appliance: str, window: int, days: int) -> list[Pair]:
    """So many days, or the windows that hold them, with all uses of an appliance, and with none.

    `having` is the version with them. Precondition: the street was lived for a window longer.
    """
    low = -(-BEGIN // window) * window
    high = low + -(-days * DAY // window) * window
    slots = (low - BEGIN) // street.interval, (high - BEGIN) // street.interval
    first = slots[0] * street.interval / 1000
    pairs = []
    for total, life in zip(street.totals, street.lives, strict=True):
        uses = [
            Use(use.begin - first, use.steps)
            for use in life.uses.get(appliance, [])
            if low <= BEGIN + use.begin * 1000 and BEGIN + use.end * 1000 < high
        ]
        having = total[slots[0] : slots[1]]
        lacking = having - power(uses, slots[1] - slots[0], street.interval)
        pairs.append(Pair(street.trace(having, slots), street.trace(lacking, slots)))
    return pairs


def _with_and_without(street: Street, home: int, use: Use, slots: tuple[int, int]) -> Pair:
    total = street.totals[home][slots[0] : slots[1]]
    without = total - _alone(use, slots, street.interval)
    return Pair(street.trace(total, slots), street.trace(without, slots))


def _alone(use: Use, slots: tuple[int, int], interval: int) -> Watts:
    begin = use.begin - slots[0] * interval / 1000
    return power([Use(begin, use.steps)], slots[1] - slots[0], interval)


def days_away(
    street: Street, window: int, length: int, many: int, draw: np.random.Generator
) -> list[Pair]:
    """Some days in a row at home, or with nobody there; all other readings are the same.

    `having` is the version in which somebody is at home.
    """
    places = [
        (home, day, slots)
        for home in range(street.homes)
        for day in range(street.days - length + 1)
        if (slots := street.whole(day * 86_400, (day + length) * 86_400 - 1, window))
    ]
    picked = draw.choice(len(places), many, replace=many > len(places)).tolist()
    return [_at_home_or_away(street, length, *places[place]) for place in picked]


def _at_home_or_away(
    street: Street, length: int, home: int, day: int, slots: tuple[int, int]
) -> Pair:
    at_home = street.totals[home][slots[0] : slots[1]]
    away = at_home.copy()
    per_day = DAY // street.interval
    there = slice(day * per_day, (day + length) * per_day)
    hidden = slice(there.start - slots[0], there.stop - slots[0])
    away[hidden] = street.empty[home].trace().watts[there]
    return Pair(street.trace(at_home, slots), street.trace(away, slots))


@dataclass(frozen=True, slots=True)
class Timed:
    """A use that could have begun in any of some hours of one day."""

    versions: tuple[Trace, ...]


def moved_uses(
    street: Street, appliances: Iterable[str], window: int, many: int, draw: np.random.Generator
) -> list[Timed]:
    """Uses moved to every hour of their day, with everything else in the home as it was."""
    places = [
        (home, use, slots)
        for appliance in appliances
        for home, life in enumerate(street.lives)
        for use in life.uses.get(appliance, [])
        if use.end - use.begin < (24 - HOURS) * 3600 and (slots := street.whole(*_day(use), window))
    ]
    picked = draw.integers(0, len(places), many).tolist()
    return [_moved(street, *places[place]) for place in picked]


def _day(use: Use) -> tuple[float, float]:
    day = use.begin // 86_400 * 86_400
    return day, day + 86_400 - 1


def _moved(street: Street, home: int, use: Use, slots: tuple[int, int]) -> Timed:
    rest = street.totals[home][slots[0] : slots[1]] - _alone(use, slots, street.interval)
    day, within = _day(use)[0], use.begin % 3600
    begins = [day + hour * 3600 + within for hour in range(HOURS)]
    moved = [_alone(Use(begin, use.steps), slots, street.interval) for begin in begins]
    return Timed(tuple(street.trace(rest + watts, slots) for watts in moved))


def name_the_hour(
    timed: Sequence[Timed], policy: Policy, key: NoiseKey, draw: np.random.Generator
) -> Share:
    """How often the most likely hour is the right one; ties are drawn by lot."""
    truths = draw.integers(0, HOURS, len(timed)).tolist()
    lived = []
    for number, (one, truth) in enumerate(zip(timed, truths, strict=True)):
        version = one.versions[truth]
        lived.append(Trace(f"use-{number}", version.begin, version.interval, version.watts))
    hits = 0
    for one, truth, seen in zip(timed, truths, release(lived, policy, key), strict=True):
        levels = drawn(seen.unbiased, policy)
        scores = [
            float(log_likelihood(levels, answers(version, policy), policy).sum())
            for version in one.versions
        ]
        best = np.flatnonzero(np.isclose(scores, max(scores), rtol=0, atol=1e-9))
        hits += int(draw.choice(best)) == truth
    return Share(hits, len(timed))
