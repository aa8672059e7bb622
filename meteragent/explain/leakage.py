"""What a setting reveals, and what a reader of its releases still learns.

Everything here is computed from the policy alone, never from readings; it may be published.
The numbers are for people, so they are floats; accounts are kept elsewhere, in integers.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from meteragent.errors import InvalidSetting
from meteragent.privacy.calendar import AnyWindows
from meteragent.privacy.domain import Domain
from meteragent.privacy.exact import NANO
from meteragent.privacy.hours import Hours
from meteragent.privacy.mechanism import Mechanism
from meteragent.privacy.query import About, Query

Floats = NDArray[np.float64]


def odds(nano: int, watts: float) -> float:
    """By how much a loss of `nano` can raise the odds between two worlds `watts` apart."""
    exponent = nano * watts / NANO
    return math.exp(exponent) if exponent < math.log(float(np.finfo(float).max)) else math.inf


def bits(mechanism: Mechanism) -> float:
    """The most that a release tells, in bits: its min-entropy leakage under a uniform prior."""
    return math.log2(mechanism.multiplicative_capacity)


class Within(NamedTuple):
    """Hours that a query is about alone."""

    hours: Hours
    held: int
    """How many of their slots hold a reading at least in a window that is released."""


@dataclass(frozen=True, slots=True)
class Load:
    """Something in the home that draws up to `watts` for `seconds`, or does not."""

    watts: float
    seconds: float

    def __post_init__(self) -> None:
        for name, value in (("watts", self.watts), ("seconds", self.seconds)):
            if not (math.isfinite(value) and value > 0):
                raise InvalidSetting(name, "must be positive and finite", "write for example 2000")

    def exponent(
        self,
        queries: tuple[Query, ...],
        nano: int,
        domain: Domain,
        windows: AnyWindows,
        held: int,
        carried: int = 0,
        of_hours: Mapping[About, Within] | None = None,
    ) -> float:
        """Log-odds by which all releases of one query, or of some with one draw, tell that it ran.

        Precondition: nothing else in the home changes with it, and every window that is
        released holds `held` readings or more, of which each may be `carried` on for as many
        slots of its window. Postcondition: an upper bound over every home,
        every starting time and every such pattern of gaps, whether readings are samples or
        means of their intervals. Why per query: an average moves only by the energy in its
        window, a percentile by up to the whole load, and the reading-by-reading release once
        for each reading. With one draw for several, the answer counts that moves most. Of a query
        about some hours, what the load has of these counts, among `of_hours`.
        """

        def moved(query: Query, covered: int) -> int:
            within = (of_hours or {}).get(query.about)
            if within is None:
                return query.moved(min(covered + carried, windows.slots), held, levels)
            return query.moved(within.hours.most_of(covered), within.held, levels)

        levels, readings = domain.levels_apart(self.watts), windows.readings(self.seconds * 1000)
        most = cache(lambda covered: max(moved(query, covered) for query in queries))
        return (nano * float(domain.resolution) / NANO) * max(
            sum(map(most, shares)) for shares in windows.shares(readings)
        )
