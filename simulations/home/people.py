"""The people of a home: who goes out, who sleeps, minute by minute."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]

MINUTES = 1440
WEEKEND = 5
"""The first day of the weekend; days are counted from a Monday."""


@dataclass(frozen=True, slots=True)
class Person:
    """Habits in hours of the day: each day deviates from them."""

    leaves: float
    returns: float
    workdays: int
    """How many of Monday to Friday this person is out to work."""
    rises: float
    retires: float
    errands: float
    """How often, a day without work, this person goes out for some hours."""

    @classmethod
    def draw(cls, draw: np.random.Generator) -> "Person":
        """Most have work for five days; some for three; some are retired."""
        return cls(
            leaves=draw.normal(7.9, 0.5),
            returns=draw.normal(17.3, 0.8),
            workdays=int(draw.choice([5, 3, 0], p=[0.7, 0.15, 0.15])),
            rises=draw.normal(6.7, 0.4),
            retires=draw.normal(22.9, 0.5),
            errands=draw.uniform(0.5, 0.9),
        )

    def live(self, days: int, draw: np.random.Generator) -> tuple[Mask, Mask]:
        """Out, and asleep, by minute."""
        out, asleep = np.zeros((2, days * MINUTES), dtype=np.bool_)
        asleep[: _minute(0, self.rises)] = True
        for day in range(days):
            jitter = draw.normal(0, 1, 4)
            chance, begin, length = draw.random(3)
            late = 1.0 if day % 7 >= WEEKEND else 0.0
            if day % 7 < min(self.workdays, WEEKEND):
                leaves, returns = self.leaves + 0.25 * jitter[0], self.returns + 0.7 * jitter[1]
                out[_minute(day, leaves) : _minute(day, max(returns, leaves + 1))] = True
            elif chance < self.errands:
                leaves = 9.5 + 7 * begin
                out[_minute(day, leaves) : _minute(day, leaves + 1.5 + 5 * length)] = True
            sleeps = self.retires + 0.5 * late + 0.4 * jitter[2]
            rises = self.rises + (late if (day + 1) % 7 >= WEEKEND else 0.0) + 0.25 * jitter[3]
            asleep[_minute(day, sleeps) : _minute(day + 1, rises)] = True
        return out, asleep


@dataclass(frozen=True, slots=True)
class Presence:
    """Of all people of a home together, by minute."""

    someone: Mask
    """Somebody is in."""
    active: Mask
    """Somebody is in and awake."""


def live_together(
    people: Collection[Person], days: int, away: Collection[int], draw: np.random.Generator
) -> Presence:
    """Everybody's days; on those in `away` nobody is there from midnight to midnight.

    Postcondition: other days do not depend on `away`, so that both versions of a day can be
    compared.
    """
    lives = [person.live(days, draw) for person in people]
    gone = np.repeat(np.isin(np.arange(days), list(away)), MINUTES)
    someone = np.any([~out for out, _ in lives], axis=0) & ~gone
    active = np.any([~out & ~asleep for out, asleep in lives], axis=0) & ~gone
    return Presence(someone, active)


def _minute(day: int, hour: float) -> int:
    return max(0, round(day * MINUTES + hour * 60))
