"""How far sums of quarter hours and of a day's peak are off, for groups of more and more homes.

The homes are those of the street, each on every day of its four weeks. Every home is promised the
same by both ways, for each answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from meteragent.privacy.domain import Domain
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.group import GroupPolicy, PerHome
from meteragent.privacy.question import question
from simulations.feeder.releases import of_groups, of_homes
from simulations.home import street
from simulations.home.policies import plain
from simulations.home.street import QUARTER
from simulations.kit.command import Run
from simulations.kit.product import ENOUGH
from simulations.kit.statistics import Floats, bootstrap
from simulations.kit.traces import DAY, Trace

SIZES = (10, 50, 200, 1000)
STEPS = (10, 200, 6000)
FINE = 400
"""Levels that the noise is as wide as, at most: what goes farther is of no table."""
HOME_MAXIMUM = Decimal(24_000)


@dataclass(frozen=True, slots=True)
class Promise:
    """What each home is promised, in words, for each quarter hour and for a day's peak."""

    words: str
    radius: int
    """Watts that a home may differ by."""
    quarter: str
    """The loss per watt of one quarter hour ..."""
    peak: str
    """... and of one answer a day."""

    @property
    def standard(self) -> str:
        """Of one quarter hour, if it is to hold whatever a home draws, from nothing to the most.

        That is differential privacy for a home, with a trusted party that draws once.
        """
        return f"{Decimal(self.quarter) * self.radius / HOME_MAXIMUM:.9f}"


PROMISES = (
    Promise("1 kW in each quarter hour", 1000, "0.001", "0.001"),
    Promise("25 W a day, all quarter hours together", 25, f"{Decimal(1) / (25 * 96):.9f}", "0.04"),
)


def group_policy(window: int, asked: str, epsilon: str, homes: int) -> GroupPolicy:
    """One answer about the sum of so many homes."""
    step = next(step for step in STEPS if Decimal(epsilon) * step * FINE >= 1)
    return GroupPolicy(
        domain=Domain(0, -(-5000 * homes // step) * step, step),
        questions=(question(asked, epsilon, 1),),
        size=window,
        interval=QUARTER,
        hop=window,
        grace=0,
        idle=0,
        budget=ENOUGH,
        horizon=DAY,
        presence="private",
        homes=PerHome(Decimal(0), HOME_MAXIMUM, QUARTER),
    )


def study(run: Run) -> dict[str, Any]:
    """Errors by promise and number of homes."""
    sizes = SIZES[:2] if run.quick else SIZES
    traces = street.days(run, max(sizes))
    found = {}
    for place, promise in enumerate(run.each(PROMISES, "promises")):
        draw = run.draw(70, place)
        key = NoiseKey(draw.bytes(32))
        single = of_homes(traces, plain(QUARTER, promise.quarter, interval=QUARTER), key)
        found[promise.words] = {
            str(size): _errors(traces, single, size, promise, key, draw) for size in sizes
        }
    return found


def _errors(
    traces: Sequence[Trace],
    single: Floats,
    size: int,
    promise: Promise,
    key: NoiseKey,
    draw: np.random.Generator,
) -> dict[str, Any]:
    """Of all groups of so many homes that there are."""
    many = len(traces) // size
    groups = {f"group-{n}": traces[n * size : (n + 1) * size] for n in range(many)}
    watts = np.array([trace.watts for trace in traces])
    truth = watts[: many * size].reshape(many, size, -1).sum(axis=1)
    summed = single[: many * size].reshape(many, size, -1).sum(axis=1)
    drawn = of_groups(traces, groups, group_policy(QUARTER, "avg", promise.quarter, size), key)
    standard = group_policy(QUARTER, "avg", promise.standard, size)
    whole = of_groups(traces, groups, standard, key)
    peak = of_groups(traces, groups, group_policy(DAY, "max", promise.peak, size), key)
    load = truth.mean()
    seen = {"homes": summed, "group": drawn, "standard": whole}
    off = {name: np.abs(one - truth) / load for name, one in seen.items()}
    highest = truth.max(axis=1)
    return {
        "groups": many,
        "mean_load_watts": round(float(load), 1),
        "quarter_hour": {name: _mean(each, draw) for name, each in off.items()},
        "times_less": round(float(off["homes"].mean() / off["group"].mean()), 2),
        "peak": {
            "homes": _peak(summed.max(axis=1), highest),
            "group_quarter_hours": _peak(drawn.max(axis=1), highest),
            "group_max": _peak(peak[:, 0], highest),
        },
    }


def _mean(off: Floats, draw: np.random.Generator) -> dict[str, float]:
    low, high = bootstrap(off.ravel(), lambda some: float(some.mean()), draw, repeats=200)
    return {"mean_off": round(float(off.mean()), 6), "low": round(low, 6), "high": round(high, 6)}


def _peak(said: Floats, truth: Floats) -> float:
    """By which share the peak of a day is off on average, with its sign."""
    return round(float((said / truth - 1).mean()), 6)


def ratios(found: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """By how many times one draw is nearer, by promise and number of homes."""
    return {
        words: {size: one["times_less"] for size, one in sizes.items()}
        for words, sizes in found.items()
    }
