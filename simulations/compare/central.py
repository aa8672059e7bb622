"""Equal promise: each home is promised a loss of 1 over a day, in which 96 quarter hours are told.

*Local*: each home adds its own noise, and nobody is trusted. *Central*: one draw for the sum of all
homes, by whoever holds them. *Standard*: whatever the home draws, from nothing to 24 kW, at any
time. *d∞*: homes that differ by up to a radius in every reading. Losses of the 96 answers add up;
`gaussian` is composed more cleverly, as zero-concentrated differential privacy, at the price of a
chance of 1e-6 that the promise does not hold.
"""

import math
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from simulations.kit.traces import USUAL

QUARTERS = 96
RANGE = 24_000.0
RADII = (25.0, 500.0)
"""Watts in every reading of a day: which film it was, and what a few appliances draw."""
SIZES = (1, 10, 100, 1000)
DELTA = 1e-6


@dataclass(frozen=True, slots=True)
class Way:
    """One way to keep the promise."""

    name: str
    central: bool
    span: float
    """Watts by which a home's answer may move."""
    gaussian: bool = False

    def error(self, homes: int) -> float:
        """The mean error of a quarter hour of so many homes, as a share of their load."""
        draws = 1 if self.central else homes
        if self.gaussian:
            one = self.span * math.sqrt(QUARTERS / (2 * _rho())) * math.sqrt(2 / math.pi)
            return one * math.sqrt(draws) / (homes * USUAL)
        return laplaces(draws) * self.span * QUARTERS / (homes * USUAL)

    def document(self) -> dict[str, Any]:
        """For JSON."""
        errors = {str(homes): round(self.error(homes), 5) for homes in SIZES}
        return {"way": self.name, "central": self.central, "span_watts": self.span} | {
            "errors": errors
        }


def _rho() -> float:
    """The zero-concentrated loss that is a loss of 1 but with a chance of DELTA."""
    log = math.log(1 / DELTA)
    return (math.sqrt(log + 1) - math.sqrt(log)) ** 2


def laplaces(draws: int) -> float:
    """The mean size of a sum of so many Laplace draws of scale 1.

    Their difference of two gamma draws: E|X| is an integral of its characteristic function.
    """
    if draws == 1:
        return 1.0
    # E|X| = 2/pi * integral of (1 - phi(t)) / t**2, phi(t) = (1 + t**2) ** -draws
    edges = np.linspace(0, math.pi / 2, 200_001)[1:-1]
    t = np.tan(edges)
    inner = -np.expm1(-draws * np.log1p(t**2)) / t**2 * (1 + t**2)
    return float(2 / math.pi * (inner.sum() * (edges[1] - edges[0])))


def one_draw(homes: int) -> float:
    """By how many times one draw for so many homes is nearer than a draw of each, added up.

    At the same promise to each of them: of the same scale, whatever it is.
    """
    return laplaces(homes) / laplaces(1)


def homes_for(times: float) -> int:
    """How many homes it takes for one draw to be so many times nearer."""
    return next(homes for homes in count(1) if one_draw(homes) >= times)


def ways() -> list[Way]:
    """Local first; standard first."""
    return [
        Way("local, standard", central=False, span=RANGE),
        Way("local, standard, Gaussian", central=False, span=RANGE, gaussian=True),
        *(Way(f"local, d∞ of {radius:g} W", central=False, span=radius) for radius in RADII),
        Way("central, standard", central=True, span=RANGE),
        Way("central, standard, Gaussian", central=True, span=RANGE, gaussian=True),
        *(Way(f"central, d∞ of {radius:g} W", central=True, span=radius) for radius in RADII),
    ]
