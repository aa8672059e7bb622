"""The presets of groups: the finest answers about a feeder under which one small use stays hidden.

Who reads a group's releases may know all its other homes exactly, so nothing is gained by their
number but use: one draw is for all of them. What is told of a kettle is a bound over every home and
every time of day (`meteragent.explain.habits`), worked out from the law of the noise.
"""

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from meteragent.config.group import GroupSettings
from meteragent.explain.habits import told
from meteragent.explain.loads import EVERYDAY
from meteragent.explain.one_home import of_one_home
from meteragent.privacy.group import GroupPolicy
from meteragent.privacy.policy import Policy
from meteragent.privacy.units import duration
from simulations.choose.candidate import GRACE, Candidate
from simulations.choose.search import Trial
from simulations.kit.traces import DAY
from simulations.kit.yardstick import Verdict

WINDOWS = {"feeder": "30m", "feeder-15m": "15m"}
HIDES = "that a kettle boiled, or which film was on, in any one home of a feeder"
KNOWS = (
    "knows all other homes of the feeder and every other reading of this one exactly and compares "
    "likelihoods"
)
SMALL = {"kettle": "a kettle", "fridge cycle": "a fridge", "TV programme": "television"}
"""Everyday loads of which one use is hidden."""
RADIUS = 25
"""Watts that `epsilon` and a day's budget are for."""
THOUSANDTHS = range(40, 1, -1)
"""Of `epsilon`, which are tried: the most first."""
WEEKS = (7, 28)
SIZES = (50, 200, 1000)
"""Homes of a feeder, for which the error is said."""


@dataclass(frozen=True)
class GroupCandidate(Candidate):
    """A policy of groups."""

    @cached_property
    def policy(self) -> GroupPolicy:
        """What an agent would make of the settings."""
        return GroupSettings.model_validate({"name": "chosen", **self.settings}).policy


def settings(window: str, epsilon: Decimal) -> dict[str, Any]:
    """A policy of a feeder's windows, whose budget covers every one of a day."""
    windows = DAY // duration("window", window)
    return {
        "window": window,
        "interval": "1m",
        "maximum": "500kW",
        "home_maximum": "24kW",
        "step": "5W",
        "queries": ["avg"],
        "epsilon": f"{epsilon.normalize():f}",
        "radius": f"{RADIUS}W",
        "grace": GRACE,
        "horizon": "24h",
        "budget": f"{(windows * epsilon).normalize():f}",
    }


def candidate(window: str, epsilon: Decimal) -> GroupCandidate:
    """The same, with what it costs a reader."""
    return GroupCandidate(window, ("avg",), float(RADIUS / epsilon), settings(window, epsilon))


def hidden(name: str) -> Trial:
    """The least noise under which one use of something small is told by next to nobody."""
    every = (candidate(WINDOWS[name], Decimal(n) / 1000) for n in THOUSANDTHS)
    trials = (Trial(one, attack(one.policy)) for one in every)
    return next(trial for trial in trials if trial.kept)


def attack(policy: Policy) -> list[Verdict]:
    """What one use tells."""
    return [_told(name, f"one use of {words}", 1, policy) for name, words in SMALL.items()]


def habits(policy: Policy) -> list[Verdict]:
    """A week and four weeks of use every day."""
    return [_told("kettle", f"a kettle on each of {n} days", n, policy) for n in WEEKS]


def _told(name: str, contest: str, days: int, policy: Policy) -> Verdict:
    """Over every home and time: success is the most that any shows."""
    [load] = [load for load in EVERYDAY if load.name == name]
    share = told(load, of_one_home(policy), days)
    return Verdict(contest, KNOWS, "tells whether it ran", share, share, 0.5, 1, exact=False)
