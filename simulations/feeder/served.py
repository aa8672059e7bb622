"""What a feeder's sum is good for: released in one draw, and added up from homes' own releases.

The uses are those of `simulations.uses`, and one more: what the panels of a feeder make. Noise is
of the mechanism's own law, and every home is promised the same by both ways.
"""

from typing import Any

import numpy as np

from simulations.feeder.study import PROMISES, Promise
from simulations.home.policies import plain
from simulations.home.street import DAYS, QUARTER
from simulations.kit.command import Run
from simulations.kit.statistics import Floats
from simulations.kit.traces import Integers
from simulations.uses.settings import Setting
from simulations.uses.street import Street, street, windows
from simulations.uses.tasks import MEMBERS, TASKS, Task, by_shape

TIMES = 8
"""That noise is drawn anew."""
EXACT = "1"
"""A loss per watt that leaves nothing of the noise."""


def _panels(street: Street, setting: Setting, draw: np.random.Generator) -> Floats:
    """What panels make in a day; how many homes have some is anybody's guess."""
    return np.array([_made(street, setting, draw) for _ in range(TIMES)])


def _made(street: Street, setting: Setting, draw: np.random.Generator) -> float:
    load, sun = windows(street.net + street.sun, setting), windows(street.sun, setting)

    def feeder(homes: Integers) -> tuple[Floats, float]:
        some, first = draw.choice(homes, MEMBERS), 96 * int(draw.integers(DAYS))
        day = slice(first, first + 96)
        having = some[: draw.integers(MEMBERS + 1)]
        made = sun[having, day].sum(axis=0)
        return load[some, day].sum(axis=0) - made, float(made.mean())

    half = len(load) // 2
    halves = np.arange(half), np.arange(half, 2 * half)
    said, made = by_shape(setting, feeder, halves, MEMBERS, draw)
    return 100 * float(np.abs(said - made).mean() / made.mean())


USES = (
    *(task for task in TASKS if task.name.startswith(("a feeder's peak", "a feeder's next day"))),
    *(task for task in TASKS if task.name.startswith(("theft", "cars"))),
    Task("panels of 40 homes, in a day", "energy off by", "%", 10, "at most", _panels),
)


def served(run: Run) -> dict[str, Any]:
    """Each use by promise: from releases of homes, of their group, and of no noise at all."""
    homes = street(run)
    return {
        promise.words: {
            task.name: _measured(task, promise, homes, run.draw(72, place, number))
            for number, task in enumerate(run.each(USES, "uses"))
        }
        for place, promise in enumerate(PROMISES)
    }


def _measured(
    task: Task, promise: Promise, homes: Street, draw: np.random.Generator
) -> dict[str, Any]:
    """How well it goes, by each way, with its interval over draws of the noise."""
    ways = {
        "homes": Setting("", plain(QUARTER, promise.quarter)),
        "group": Setting("", plain(QUARTER, promise.quarter), feeder=True),
        "exact": Setting("", plain(QUARTER, EXACT), feeder=True),
    }
    found: dict[str, Any] = {"asks": task.asks, "unit": task.unit}
    for way, setting in ways.items():
        if number := task.measure(homes, setting, draw):
            said = {"mean": number.mean, "low": number.low, "high": number.high}
            found[way] = {name: round(one, 3) for name, one in said.items()}
    return found
