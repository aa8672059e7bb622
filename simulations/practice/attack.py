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
    """What one sum less the other tells of homes, over many of them."""

    published: float
    """In which share of cases both sums are."""
    half_hours: float
    """By how much a half hour is off, in shares of the home's mean load."""
    week: float
    """The same for the mean of all days."""
    away: float
    """How often the best attacker is right at most who says whether anybody was in on a day."""
    error: float
    """What it costs: by which share of its mean load the group's quarter hour is off."""


def by_rule(rule: Rule, size: int, street: Street) -> Learned:
    """What a rule of today leaves to be told, in groups of one size."""
    found = [_difference(rule.publish, street, home, size) for home in range(len(street.lived))]
    both = [home for home, one in enumerate(found) if one is not None]
    if not both:
        return Learned(0.0, np.inf, np.inf, 0.5, 0.0)
    off = np.array([found[home] for home in both]) - street.lived[both]
    mean = street.lived[both].mean(axis=1)
    told = [_seen(rule.publish, street, home, size) for home in both]
    return Learned(
        len(both) / len(found),
        _half_hours(off, mean),
        float((np.abs(off.mean(axis=1)) / mean).mean()),
        float(np.mean([0.5 + one / 2 for one in told])),
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


def _error(publish: Publish, street: Street, size: int) -> float:
    sums = [street.lived[street.group(home, size)] for home in range(0, len(street.lived), size)]
    told = [(publish(one), one.sum(axis=0)) for one in sums]
    off = [np.abs(seen - true).mean() / true.mean() for seen, true in told if seen is not None]
    return float(np.mean(off)) if off else 0.0


def by_noise(noisy: Noisy, size: int, street: Street, draw: np.random.Generator) -> Learned:
    """What noise on both sums leaves, of which each is a draw of its own."""
    noise = noisy.noise(street.lived.shape, draw) - noisy.noise(street.lived.shape, draw)
    mean = street.lived.mean(axis=1)
    moved = (street.lived - street.empty).reshape(-1, DAY)
    told = [right(noisy.draws(day), float(GRID)) for day in moved]
    return Learned(
        1.0,
        _half_hours(noise, mean),
        float((np.abs(noise.mean(axis=1)) / mean).mean()),
        float(np.mean(told)),
        noisy.error / (size * float(mean.mean())),
    )


def _half_hours(off: Floats, mean: Floats) -> float:
    halves = off.reshape(len(off), -1, HALF_HOUR).mean(axis=2)
    return float((np.abs(halves).mean(axis=1) / mean).mean())


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
