"""Differencing: two published sums, one with a home and one without.

That happens when a home is in two groups (a feeder and a street, a tariff and a district), when
it is the only one with a heat pump and sums are published of all homes and of those without, and
nearly so when somebody moves in. Nothing but published numbers is needed.
"""

from dataclasses import dataclass

import numpy as np

from meteragent.explain.advantage import right
from simulations.kit.statistics import Floats
from simulations.practice.rules import GRID, Noisy, Publish, Rule, Watts

HALF_HOUR = 2
"""Quarter hours that make one."""
DAY = 96
WEEK = 7 * DAY


@dataclass(frozen=True, slots=True)
class Street:
    """Homes, window by window: as they were, and as they would have been with nobody in."""

    lived: Watts
    empty: Watts

    def group(self, home: int, size: int) -> list[int]:
        """A home and its neighbours."""
        return [(home + n) % len(self.lived) for n in range(size)]


@dataclass(frozen=True, slots=True)
class Learned:
    """What one sum less the other tells, of each home of which both are published."""

    published: float
    """In which share of cases both sums are."""
    half_hours: Floats
    """By how much a half hour is off, in shares of the street's mean load."""
    week: Floats
    """The same for the mean of a week."""
    away: Floats
    """How often the best attacker is right at most who says whether anybody was in on a day."""
    error: Floats
    """What it costs: by which share of its mean load the quarter hour of each group is off."""


def by_rule(rule: Rule, size: int, street: Street) -> Learned:
    """What a rule of today leaves to be told, in groups of one size."""
    found = [_difference(rule.publish, street, home, size) for home in range(len(street.lived))]
    both = [home for home, one in enumerate(found) if one is not None]
    if not both:
        never = np.array([np.inf])
        return Learned(0.0, never, never, np.array([0.5]), never)
    off = (np.array([found[home] for home in both]) - street.lived[both]) / street.lived.mean()
    told = [_seen(rule.publish, street, home, size) for home in both]
    return Learned(
        len(both) / len(found),
        _means(off, HALF_HOUR),
        _means(off, WEEK),
        np.array([0.5 + one / 2 for one in told]),
        _error(rule.publish, street, size),
    )


def _difference(publish: Publish, street: Street, home: int, size: int) -> Watts | None:
    group = street.group(home, size)
    with_it, without = publish(street.lived[group]), publish(street.lived[group[1:]])
    return None if with_it is None or without is None else with_it - without


def _seen(publish: Publish, street: Street, home: int, size: int) -> float:
    """On which share of days the sum would be another, had nobody been in."""
    group = street.group(home, size)
    away = street.lived[group].copy()
    away[0] = street.empty[home]
    one, other = publish(street.lived[group]), publish(away)
    if one is None or other is None:
        return 1.0
    return float((one != other).reshape(-1, DAY).any(axis=1).mean())


def _error(publish: Publish, street: Street, size: int) -> Floats:
    sums = [street.lived[street.group(home, size)] for home in range(0, len(street.lived), size)]
    told = [(publish(one), one.sum(axis=0)) for one in sums]
    off = [np.abs(seen - true).mean() / true.mean() for seen, true in told if seen is not None]
    return np.array(off or [np.inf])


def by_noise(noisy: Noisy, size: int, street: Street, draw: np.random.Generator) -> Learned:
    """What noise on both sums leaves, of which each is a draw of its own."""
    noise = noisy.noise(street.lived.shape, draw) - noisy.noise(street.lived.shape, draw)
    mean = street.lived.mean()
    moved = (street.lived - street.empty).reshape(-1, DAY)
    told = np.array([right(noisy.draws(day), float(GRID)) for day in moved])
    return Learned(
        1.0,
        _means(noise / mean, HALF_HOUR),
        _means(noise / mean, WEEK),
        told.reshape(len(street.lived), -1).mean(axis=1),
        np.array([noisy.error / (size * mean)]),
    )


def _means(off: Floats, quarters: int) -> Floats:
    """By how much the mean of so many quarter hours is off, of each home."""
    parts = off.reshape(len(off), -1, min(quarters, off.shape[1])).mean(axis=2)
    means: Floats = np.abs(parts).mean(axis=1)
    return means


def moved_in(street: Street, size: int) -> float:
    """How far off the mean load of a home is that moves in, by the sums before and after.

    In shares of its own; others live on from the first half of the days to the second.
    """
    half = street.lived.shape[1] // (2 * DAY) * DAY
    means = np.stack(
        [street.lived[:, :half].mean(axis=1), street.lived[:, half : 2 * half].mean(axis=1)]
    )
    off = []
    for home in range(len(street.lived)):
        others = street.group(home, size)[1:]
        off.append(abs(means[1, others].sum() - means[0, others].sum()) / means[1, home])
    return float(np.median(off))
