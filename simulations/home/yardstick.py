"""What the presets `appliances` and `presence` are measured by: the strongest attacker.

That attacker holds both versions of the hours in question, knows every other reading of the
home exactly, and compares exact likelihoods. Whoever only guesses is right in half of all cases.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from simulations.home.contests import (
    HOURS,
    Street,
    Timed,
    days_away,
    moved_uses,
    name_the_hour,
    single_uses,
)
from simulations.home.likelihood import Pair, tell_apart
from simulations.kit.command import Run
from simulations.kit.statistics import Share
from simulations.kit.yardstick import Estimate, Verdict

SMALL = {
    "kettle": "a kettle",
    "microwave": "a microwave oven",
    "fridge": "a fridge",
    "tv": "an evening of television",
}
"""What is hidden altogether."""
LARGE = ("oven", "washer", "dishwasher", "dryer")
"""Of what only the time of day is hidden; see the frontier for the rest."""
OWNED = ("dryer", "dishwasher", "heat_pump", "ev")

KNOWS = "knows every other reading of the home exactly and compares likelihoods"
WINDOWS = ("15m", "1h", "6h", "24h", "7d")
SETTINGS = {"interval": "1m", "maximum": "24kW", "horizon": "7d"}


def trials(run: Run) -> int:
    """How often each contest is held."""
    return 60 if run.quick else 400


def street(run: Run, interval: int) -> Street:
    """The homes in which contests are held: each with all that there is, but the sun."""
    homes, days = (3, 15) if run.quick else (12, 28)
    return Street(run.seed, homes, days, interval, having=OWNED)


@dataclass(slots=True)
class Arena:
    """Streets and contests that were prepared, for one length of window at a time."""

    run: Run
    streets: dict[int, Street] = field(default_factory=dict)
    pairs: dict[str, list[Pair]] = field(default_factory=dict)
    timed: list[Timed] = field(default_factory=list)
    shape: tuple[int, int] = (0, 0)

    def street(self, policy: Policy) -> Street:
        """The street at a policy's interval."""
        if policy.interval not in self.streets:
            self.streets[policy.interval] = street(self.run, policy.interval)
        if self.shape != (policy.size, policy.interval):
            self.shape = policy.size, policy.interval
            self.pairs.clear()
            self.timed.clear()
        return self.streets[policy.interval]

    def uses(self, appliance: str, policy: Policy) -> list[Pair]:
        """Windows in which an appliance ran once more or less."""
        street, draw = self.street(policy), self.run.draw(1, number_of(appliance))
        if appliance not in self.pairs:
            many = trials(self.run)
            self.pairs[appliance] = single_uses(street, appliance, policy.size, many, draw)
        return self.pairs[appliance]

    def away(self, length: int, policy: Policy) -> list[Pair]:
        """Days at home or away."""
        street, draw = self.street(policy), self.run.draw(2, length)
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


def lots(run: Run, key: NoiseKey, purpose: int) -> np.random.Generator:
    """The coins of one experiment: another key draws others."""
    draw: np.random.Generator = run.draw(purpose, int.from_bytes(key.secret[:6], "little"))
    return draw


@dataclass(slots=True)
class Appliances:
    """Whether small appliances ran; and when large ones did."""

    arena: Arena
    name: str = "appliances"
    hides: str = "whether a kettle or another small appliance ran, and when in the day others did"
    settings: Mapping[str, Any] = field(default_factory=lambda: SETTINGS)
    windows: tuple[str, ...] = WINDOWS
    queries: tuple[tuple[str, ...], ...] = (("avg",),)

    def attack(self, policy: Policy, key: NoiseKey, run: Run) -> list[Verdict]:
        """Every small appliance, and the hour of large ones."""
        verdicts = [
            whether(appliance, words, self.arena, policy, key) for appliance, words in SMALL.items()
        ]
        timed = self.arena.moved(policy)
        hour = name_the_hour(timed, policy, key, lots(run, key, 5))
        verdicts.append(
            Verdict(
                "the hour in which an oven, washer, dishwasher or dryer was started",
                KNOWS,
                f"names the right one of {HOURS} hours",
                Estimate.of(hour),
                1 / HOURS,
                len(timed),
            )
        )
        return verdicts


@dataclass(slots=True)
class AtHome:
    """Whether anybody was at home on a day."""

    arena: Arena
    name: str = "presence"
    hides: str = "whether anybody was at home on a day"
    settings: Mapping[str, Any] = field(default_factory=lambda: SETTINGS | {"presence": "private"})
    windows: tuple[str, ...] = WINDOWS
    queries: tuple[tuple[str, ...], ...] = (("avg",),)

    def attack(self, policy: Policy, key: NoiseKey, run: Run) -> list[Verdict]:
        """A day away, or at home."""
        assert run is self.arena.run  # noqa: S101 - made for it
        return [absence(1, self.arena, policy, key)]


def whether(appliance: str, words: str, arena: Arena, policy: Policy, key: NoiseKey) -> Verdict:
    """One contest: did it run once more, or not."""
    pairs = arena.uses(appliance, policy)
    draw = lots(arena.run, key, number_of(appliance))
    share = tell_apart(pairs, policy, key, draw).share()
    return _half(f"one use of {words}", "tells whether it ran", share, pairs)


def absence(days: int, arena: Arena, policy: Policy, key: NoiseKey) -> Verdict:
    """One contest: was anybody at home on so many days in a row."""
    pairs = arena.away(days, policy)
    share = tell_apart(pairs, policy, key, lots(arena.run, key, days)).share()
    length = "one day" if days == 1 else f"{days} days in a row"
    return _half(length, "tells whether anybody was at home", share, pairs)


def _half(contest: str, goal: str, share: Share, pairs: Sequence[Pair]) -> Verdict:
    return Verdict(contest, KNOWS, goal, Estimate.of(share), 0.5, len(pairs))


def appliances(run: Run) -> Appliances:
    """For `simulations.choose --hide appliances`."""
    return Appliances(Arena(run))


def presence(run: Run) -> AtHome:
    """For `simulations.choose --hide presence`."""
    return AtHome(Arena(run))
