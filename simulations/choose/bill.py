"""The preset `bill`: as much noise as a month's bill of one home can bear, and what it then hides.

Here the error is given, and not the protection. A month is one window, so that a week, and a habit
of four, are inside one answer. What is told of a kettle is a bound over every home and every time
of the month (`meteragent.explain.habits`); films are looked at in the shortest month, where an
evening weighs most.
"""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from meteragent.explain.explain import answers
from meteragent.explain.habits import told
from meteragent.explain.loads import EVERYDAY
from meteragent.privacy.policy import Policy
from simulations.choose.candidate import GRACE, Candidate
from simulations.choose.search import Trial
from simulations.home.yardstick import KNOWS
from simulations.kit.command import Run
from simulations.kit.statistics import Floats
from simulations.kit.traces import DAY
from simulations.kit.yardstick import Verdict
from simulations.tv import yardstick as tv
from simulations.tv.contest import Contents, named_among
from simulations.tv.displays import OLED
from simulations.tv.library import library, metered
from simulations.tv.noise import REST

NAME = "bill"
HIDES = "which film was on of an evening, or that a kettle boiled, where a bill has to be right"
SMALL = {"kettle": "a kettle", "fridge cycle": "a fridge"}
"""Everyday loads of which one use is hidden."""
RADIUS = 2
"""Watts that `epsilon` is for, in every reading of a month: 1.34 to 1.49 kWh."""
TENTHS = range(1, 100)
"""Of `epsilon`, which are tried."""
SHORTEST = 28 * DAY
MINUTE = 60_000
WEEKS = (7, 28)
"""Days of a habit."""


def settings(epsilon: Decimal) -> dict[str, Any]:
    """A policy of months. Its budget is of two: 31 days may touch the month that comes next."""
    return {
        "window": "month",
        "timezone": "UTC",
        "maximum": "24kW",
        "step": "1W",
        "resolution": "0.1W",
        "queries": ["avg"],
        "epsilon": f"{epsilon.normalize():f}",
        "radius": f"{RADIUS}W",
        "grace": GRACE,
        "interval": "1m",
        "horizon": "31d",
        "budget": f"{(2 * epsilon).normalize():f}",
    }


def candidate(epsilon: Decimal) -> Candidate:
    """The same, with what it costs a reader."""
    return Candidate("month", ("avg",), float(RADIUS / epsilon), settings(epsilon))


def month_error(policy: Policy, mean: float) -> float:
    """By which share of its true value the month of a home is off, in 95 % of months."""
    [answer] = answers(policy)
    return (answer.month or 0) / mean


def affordable(share: float, mean: float, run: Run) -> Trial:
    """The policy with the most noise that leaves a bill no further off, under attack."""
    every = (candidate(Decimal(tenths) / 10) for tenths in TENTHS)
    found = next(some for some in every if month_error(some.policy, mean) <= share)
    return Trial(found, attack(found.policy, run))


def attack(policy: Policy, run: Run) -> list[Verdict]:
    """What one evening, and one use of something small, tells."""
    whether = [_told(name, f"one use of {words}", 1, policy) for name, words in SMALL.items()]
    films = library(run.draw(0), 60 if run.quick else 300)
    evenings = metered(films.evenings(run.draw(102), 30 if run.quick else 200), OLED, 60)
    goal = f"names the right one of {len(evenings)} evenings of four hours"
    return [*whether, _named("whole evenings", goal, evenings, policy)]


def habits(policy: Policy, run: Run) -> list[Verdict]:
    """A week and four weeks, inside one answer."""
    kettles = [_told("kettle", f"a kettle on each of {n} days", n, policy) for n in WEEKS]
    return [*kettles, *_channels(policy, run)]


def _channels(policy: Policy, run: Run) -> Iterator[Verdict]:
    """One answer is of the sum alone: evenings in a row weigh what they do a day apart."""
    films, channels = library(run.draw(0), 60 if run.quick else 300), 30 if run.quick else 200
    evenings = [
        metered(films.evenings(run.draw(103, day), channels), OLED, 60) for day in range(WEEKS[-1])
    ]
    goal = f"names the right one of {channels} channels that was on every evening"
    for days in WEEKS:
        shown = np.hstack(evenings[:days])
        yield _named(f"{days} evenings of one channel", goal, shown, policy)


def _named(contest: str, goal: str, watts: Floats, policy: Policy) -> Verdict:
    """Among all of them, in readings of five minutes: a month's answer is the same of them."""
    shortest = replace(
        policy, calendar=None, size=SHORTEST, hop=SHORTEST, interval=5 * MINUTE, horizon=SHORTEST
    )
    contents = Contents(0, MINUTE, watts)
    found = named_among(contents, shortest, REST)
    share = found.success
    return Verdict(
        contest, tv.KNOWS, goal, share, share, contents.chance, len(watts), exact=found.exact
    )


def _told(name: str, contest: str, days: int, policy: Policy) -> Verdict:
    """Over every home and time: success is the most that any shows."""
    [load] = [load for load in EVERYDAY if load.name == name]
    share = told(load, policy, days)
    return Verdict(contest, KNOWS, "tells whether it ran", share, share, 0.5, 1, exact=False)
