"""The comparison: a row for every number."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from meteragent import Domain, TruncatedGeometric
from simulations.papers import bounds
from simulations.papers.capacities import (
    Floats,
    PrivacyType,
    capacities,
    cube,
    discrete,
    grid,
    line,
    of_channel,
)

LN2 = math.log(2)
EPSILON = f"{LN2:.9f}"

PRINTED: dict[str, tuple[float, float]] = {
    "line of 2": (1.33, 0.33),
    "line of 3": (1.67, 0.5),
    "line of 4": (2.0, 0.67),
    "line of 5": (2.33, 0.75),
    "line of 6": (2.67, 0.83),
    "discrete, 2": (1.33, 0.33),
    "discrete, 3": (1.5, 0.4),
    "discrete, 4": (1.6, 0.43),
    "discrete, 5": (1.67, 0.44),
}
"""Multiplicative and additive capacities at ε = ln 2, to the digits that are printed."""


@dataclass(frozen=True)
class Row:
    """One quantity."""

    quantity: str
    printed: float | None
    recomputed: float
    agrees: bool
    remark: str = ""

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "quantity": self.quantity,
            "printed": self.printed,
            "recomputed": round(self.recomputed, 6),
            "agrees": self.agrees,
            "remark": self.remark,
        }


def rows(*, quick: bool) -> list[Row]:
    """Capacities first, then bounds."""
    return [*_capacities(quick=quick), *_bounds()]


def _capacities(*, quick: bool) -> list[Row]:
    types = [*map(line, range(2, 7)), *map(discrete, range(2, 6))]
    lattices: list[tuple[PrivacyType, list[int]]] = [
        (grid(r, c), [r, c]) for r, c in ((2, 2), (2, 3), (3, 3), (4, 4))
    ]
    lattices += [(cube(bits), [2] * bits) for bits in (2, 3, 4)]
    rows = [row for of in types for row in _printed(of)]
    for of, sides in lattices[: 3 if quick else None]:
        rows += _attained(of, sides)
    return rows


def _printed(of: PrivacyType) -> list[Row]:
    found = capacities(of, LN2)
    pairs = zip(PRINTED[of.name], (found.multiplicative, found.additive), strict=True)
    return [
        Row(f"{kind} capacity, {of.name}", printed, ours, round(ours, 2) == printed)
        for kind, (printed, ours) in zip(("multiplicative", "additive"), pairs, strict=True)
    ]


def _attained(of: PrivacyType, sides: list[int]) -> list[Row]:
    """No number is printed; the product's mechanism on each coordinate reaches the optimum."""
    best, ours = capacities(of, LN2), of_channel(_side_by_side(sides))
    pairs = (
        ("multiplicative", best.multiplicative, ours.multiplicative),
        ("additive", best.additive, ours.additive),
    )
    return [
        Row(
            f"{kind} capacity, {of.name}",
            None,
            optimum,
            bool(np.isclose(optimum, attained, atol=1e-6)),
            f"geometric noise on each coordinate: {attained:.4f}",
        )
        for kind, optimum, attained in pairs
    ]


def _side_by_side(sides: list[int]) -> Floats:
    """channel[point, released]: the product's own law, coordinate by coordinate."""
    whole: Floats = np.ones((1, 1))
    for side in sides:
        one = TruncatedGeometric(Domain(0, side - 1, 1), EPSILON).matrix()
        whole = np.kron(whole, one).astype(np.float64)
    return whole


def _bounds() -> list[Row]:
    rows = []
    for name, epsilon in (("0.1", 0.1), ("ln 2", LN2), ("1", 1.0), ("2", 2.0)):
        found = [
            *bounds.by_diameter(epsilon),
            *(bounds.by_number(epsilon, others) for others in (1, 2, 4)),
        ]
        rows += [
            Row(f"{b.what}, ε = {name}", round(b.printed, 6), b.possible, b.holds, _slack(b))
            for b in found
        ]
    return rows


def _slack(bound: bounds.Bound) -> str:
    slack = bound.possible / bound.printed
    return "reached" if math.isclose(slack, 1, rel_tol=1e-6) else f"holds with a factor {slack:.2f}"
