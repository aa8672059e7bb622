"""What the presets `appliances` and `presence` are measured by: the strongest attacker.

That attacker holds both versions of the hours in question, knows every other reading of the
home exactly, and compares exact likelihoods. Whoever only guesses is right in half of all cases.
How often the attacker is follows from the law of the noise, case by case.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meteragent.privacy.policy import Policy
from simulations.home.contests import (
    HOURS,
    Street,
    Timed,
    days_away,
    moved_uses,
    single_uses,
    usual,
)
from simulations.home.likelihood import Pair, answers
from simulations.kit.command import Run
from simulations.kit.exact import named_of, told_apart
from simulations.kit.yardstick import Verdict

SMALL = {
    "kettle": "a kettle",
    "microwave": "a microwave oven",
    "fridge": "a fridge",
    "tv": "an evening of television",
}
"""What is hidden altogether."""
USUAL = {"kettle": "a kettle", "microwave": "a microwave oven", "tv": "television"}
"""What somebody might do every day, or never; a fridge runs anyway."""
LARGE = ("oven", "washer", "dishwasher", "dryer")
"""Of what only the time of day is hidden; see the frontier for the rest."""
OWNED = ("dryer", "dishwasher", "heat_pump", "ev")

WEEKS = (7, 28)
"""Days of a habit, or of an absence."""
LONG = 49
"""Days that hold four weeks of whole windows, wherever these begin."""

QUICK = {28: 15}
"""Days to try it out with."""
KNOWS = "knows every other reading of the home exactly and compares likelihoods"
WINDOWS = ("15m", "1h", "6h", "24h", "7d")
SETTINGS = {"interval": "1m", "maximum": "24kW", "horizon": "7d"}


def trials(run: Run) -> int:
    """How many cases each contest has."""
    return 60 if run.quick else 400


def street(run: Run, interval: int, days: int = 28) -> Street:
    """The homes of all contests: each with all that there is, but the sun."""
    homes, days = (3, QUICK.get(days, days)) if run.quick else (12, days)
    return Street(run.seed, homes, days, interval, having=OWNED)


@dataclass(slots=True)
class Arena:
    """Streets and contests that were prepared, for one length of window at a time."""

    run: Run
    streets: dict[int, Street] = field(default_factory=dict)
    pairs: dict[str, list[Pair]] = field(default_factory=dict)
    timed: list[Timed] = field(default_factory=list)
    shape: tuple[int, int] = (0, 0)
    long: dict[int, Street] = field(default_factory=dict)
    """At each interval; lived for as long as habits and absences of four weeks need."""

    def street(self, policy: Policy) -> Street:
        """The street at a policy's interval."""
        if policy.interval not in self.streets:
            self.streets[policy.interval] = street(self.run, policy.interval)
        if self.shape != (policy.size, policy.interval):
            self.shape = policy.size, policy.interval
            self.pairs.clear()
            self.timed.clear()
        return self.streets[policy.interval]

    def long_street(self, policy: Policy) -> Street:
        """The same homes, for longer."""
        if policy.interval not in self.long:
            self.long[policy.interval] = street(self.run, policy.interval, LONG)
        return self.long[policy.interval]

    def uses(self, appliance: str, policy: Policy) -> list[Pair]:
        """Windows in which an appliance ran once more or less."""
        street, draw = self.street(policy), self.run.draw(1, number_of(appliance))
        if appliance not in self.pairs:
            many = trials(self.run)
            self.pairs[appliance] = single_uses(street, appliance, policy.size, many, draw)
        return self.pairs[appliance]

    def away(self, length: int, policy: Policy) -> list[Pair]:
        """Days at home or away."""
        draw, short = self.run.draw(2, length), self.street(policy)
        street = short if length <= WEEKS[0] else self.long_street(policy)
        if str(length) not in self.pairs:
            many = trials(self.run)
            self.pairs[str(length)] = days_away(street, policy.size, length, many, draw)
        return self.pairs[str(length)]

    def moved(self, policy: Policy) -> list[Timed]:
        """Uses of large appliances, moved to other hours."""
        street, draw = self.street(policy), self.run.draw(3)
        if not self.timed:
            self.timed = moved_uses(street, LARGE, policy.size, trials(self.run) // 4, draw)
        return self.timed


def number_of(appliance: str) -> int:
    """For a generator of its own."""
    return sum(appliance.encode())


@dataclass(slots=True)
class Appliances:
    """Whether small appliances ran; and when large ones did."""

    arena: Arena
    name: str = "appliances"
    hides: str = "whether a kettle or another small appliance ran, and when in the day others did"
    settings: Mapping[str, Any] = field(default_factory=lambda: SETTINGS)
    windows: tuple[str, ...] = WINDOWS
    queries: tuple[tuple[str, ...], ...] = (("avg",),)

    def attack(self, policy: Policy) -> list[Verdict]:
        """Every small appliance, and the hour of large ones."""
        verdicts = [
            whether(appliance, words, self.arena, policy) for appliance, words in SMALL.items()
        ]
        timed = self.arena.moved(policy)
        found = [named_of([answers(v, policy) for v in one.versions], policy) for one in timed]
        hours = [one.success for one in found]
        verdicts.append(
            Verdict(
                "the hour in which an oven, washer, dishwasher or dryer was started",
                KNOWS,
                f"names the right one of {HOURS} hours",
                float(np.mean(hours)),
                max(hours),
                1 / HOURS,
                len(timed),
                exact=all(one.exact for one in found),
            )
        )
        return verdicts

    def habits(self, policy: Policy) -> list[Verdict]:
        """Every small appliance as usual, or never."""
        return [
            habit(name, words, days, self.arena, policy)
            for name, words in USUAL.items()
            for days in WEEKS
        ]


@dataclass(slots=True)
class AtHome:
    """Whether anybody was at home on a day."""

    arena: Arena
    name: str = "presence"
    hides: str = "whether anybody was at home on a day"
    settings: Mapping[str, Any] = field(default_factory=lambda: SETTINGS | {"presence": "private"})
    windows: tuple[str, ...] = WINDOWS
    queries: tuple[tuple[str, ...], ...] = (("avg",),)

    def attack(self, policy: Policy) -> list[Verdict]:
        """A day away, or at home."""
        return [absence(1, self.arena, policy)]

    def habits(self, policy: Policy) -> list[Verdict]:
        """A week and four weeks away, or at home."""
        return [absence(days, self.arena, policy) for days in WEEKS]


def whether(appliance: str, words: str, arena: Arena, policy: Policy) -> Verdict:
    """One contest: did it run once more, or not."""
    pairs = arena.uses(appliance, policy)
    return _half(f"one use of {words}", "tells whether it ran", pairs, policy)


def habit(appliance: str, words: str, days: int, arena: Arena, policy: Policy) -> Verdict:
    """One contest: was it used as it usually is, or never, for so many days."""
    pairs = usual(arena.long_street(policy), appliance, policy.size, days)
    return _half(f"{words} as usual on {days} days", "tells whether it ever ran", pairs, policy)


def absence(days: int, arena: Arena, policy: Policy) -> Verdict:
    """One contest: was anybody at home on so many days in a row."""
    pairs = arena.away(days, policy)
    length = "one day" if days == 1 else f"{days} days in a row"
    return _half(length, "tells whether anybody was at home", pairs, policy)


def _half(contest: str, goal: str, pairs: Sequence[Pair], policy: Policy) -> Verdict:
    each = [
        told_apart(answers(pair.having, policy), answers(pair.lacking, policy), policy)
        for pair in pairs
    ]
    return Verdict(contest, KNOWS, goal, float(np.mean(each)), max(each), 0.5, len(pairs))


def appliances(run: Run) -> Appliances:
    """For `simulations.choose --hide appliances`."""
    return Appliances(Arena(run))


def presence(run: Run) -> AtHome:
    """For `simulations.choose --hide presence`."""
    return AtHome(Arena(run))
