"""Spending that follows the readings, measured: why the agent does not do it.

Kellaris et al. (2014) ask, at each quarter hour, whether anything changed, and spend on a new
answer only then: half of a day's loss goes to the question. *BD* halves what is left, *BA* takes
what was saved. Both as published, on one home, under d∞; beside an even split, and one longer
window that is held until the next.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from simulations.kit.command import Run
from simulations.kit.statistics import Floats, bootstrap

QUARTERS = 96
RADII = (10, 25, 100)
"""Watts in every reading at which all answers of any day lose 1."""
Spending = Callable[[Floats, float, np.random.Generator], tuple[Floats, Floats]]
"""Readings, radius and draws -> what is seen of them, and the loss of each answer."""
LONGER = (1, 2, 4, 8, 16, 24, 48, 96)
"""Quarter hours of one window."""


def study(run: Run, homes: Floats) -> dict[str, Any]:
    """The mean error by radius and way, in watts, over `homes[home, quarter]`, and its interval."""
    found: dict[str, Any] = {}
    for place, radius in enumerate(RADII):
        draw = run.draw(30, place)
        ways: dict[str, Callable[[Floats], Floats]] = {
            "even split": _longer(1, radius, draw),
            "BD": partial(_seen, by_distribution, radius, draw),
            "BA": partial(_seen, by_absorption, radius, draw),
            "nothing: their mean": lambda home: np.full(len(home), homes.mean()),
        }
        errors = {name: _errors(way, homes) for name, way in ways.items()}
        longer = {n: _errors(_longer(n, radius, draw), homes) for n in LONGER[1:]}
        best = min(longer, key=lambda n: longer[n].mean())
        errors["one longer window"] = longer[best]
        sure = run.draw(32, place)
        found[str(radius)] = {name: mean_of(off, sure) for name, off in errors.items()}
        found[str(radius)]["its hours"] = best / 4
    return found


def mean_of(off: Floats, draw: np.random.Generator) -> dict[str, float]:
    """The mean over homes, and the interval that holds that of such homes."""
    low, high = bootstrap(off, lambda some: float(some.mean()), draw)
    return {"mean": round(float(off.mean()), 1), "low": round(low, 1), "high": round(high, 1)}


def _seen(way: Spending, radius: float, draw: np.random.Generator, watts: Floats) -> Floats:
    return way(watts, radius, draw)[0]


def _errors(way: Callable[[Floats], Floats], homes: Floats) -> Floats:
    return np.array([np.abs(way(home) - home).mean() for home in homes])


def _longer(quarters: int, radius: float, draw: np.random.Generator) -> Callable[[Floats], Floats]:
    def held(watts: Floats) -> Floats:
        means = watts.reshape(-1, quarters).mean(axis=1)
        seen = means + draw.laplace(0, radius * QUARTERS / quarters, len(means))
        return np.repeat(seen, quarters)

    return held


def by_distribution(
    watts: Floats, radius: float, draw: np.random.Generator
) -> tuple[Floats, Floats]:
    """Budget distribution: each new answer takes half of what the last day leaves."""
    half, last = 1 / (2 * radius), 0.0
    spent, seen = np.zeros(len(watts)), np.zeros(len(watts))
    asked = draw.laplace(0, 2 * QUARTERS * radius, len(watts))
    for now, watt in enumerate(watts.tolist()):
        left = (half - spent[max(0, now - QUARTERS + 1) : now].sum()) / 2
        if left > 0 and abs(watt - last) + asked[now] > 1 / left:
            last, spent[now] = watt + draw.laplace(0, 1 / left), left
        seen[now] = last
    return seen, spent


def by_absorption(watts: Floats, radius: float, draw: np.random.Generator) -> tuple[Floats, Floats]:
    """Budget absorption: a new answer takes what was saved, and silences as many after it."""
    unit, last, at, absorbed = 1 / (2 * radius * QUARTERS), 0.0, -1, 0
    seen, spent = np.zeros(len(watts)), np.zeros(len(watts))
    asked = draw.laplace(0, 2 * QUARTERS * radius, len(watts))
    for now, watt in enumerate(watts.tolist()):
        silenced = at + max(absorbed - 1, 0)
        if at < 0 or now > silenced:
            saved = min(now - max(silenced, -1), QUARTERS)
            if abs(watt - last) + asked[now] > 1 / (saved * unit):
                last, at, absorbed = watt + draw.laplace(0, 1 / (saved * unit)), now, saved
                spent[now] = saved * unit
        seen[now] = last
    return seen, spent
