"""Equal attack success, exactly: Laplace noise on the same query and window, beside the product's.

For every preset and a ladder of everyday events: the scale at which the best attacker who holds
both versions is as often right as against the product; and the error of both. Laplace noise of
scale b tells two answers d watts apart in 1 - exp(-d / 2b) / 2 of all cases. What lasts longer than
a window moves several answers, and what each of them tells adds up.
"""

import math
from dataclasses import dataclass
from typing import Any

from meteragent.config.group import GroupSettings
from meteragent.config.presets import presets
from meteragent.explain.advantage import Draw, apart, right
from meteragent.privacy.exact import NANO
from meteragent.privacy.policy import Policy
from simulations.home.policies import HOUR, all_presets
from simulations.kit.product import typical_error
from simulations.uses.settings import bill

EVENTS = {
    "a kettle, 0.1 kWh": (0.1, 0.05),
    "an evening of television, 0.4 kWh": (0.4, 4),
    "a washing machine, 1 kWh": (1.0, 2),
    "a day away, 7.2 kWh": (7.2, 24),
}
"""Kilowatt-hours, and over how many hours."""
FINE = 256
"""Parts of a distance, on a grid of which geometric noise is as good as Laplace's."""
HALVINGS = 40


@dataclass(frozen=True, slots=True)
class Equal:
    """One preset and one event, at equal success."""

    preset: str
    event: str
    success: float
    ours: float
    """Our mean error in watts, and Laplace's at the same success."""
    laplace: float

    @property
    def times(self) -> float:
        """Our error over Laplace's."""
        return self.ours / self.laplace

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "preset": self.preset,
            "event": self.event,
            "success": round(self.success, 6),
            "agent_watts": round(self.ours, 4),
            "laplace_watts": round(self.laplace, 4),
            "times": round(self.times, 5),
        }


def equals() -> list[Equal]:
    """Every preset, of homes and of one home among those of a feeder; and every event."""
    policies = {**all_presets(interval="1m"), "bill": bill(), **feeders()}
    return [
        _equal(name, policy, event, energy, hours)
        for name, policy in policies.items()
        for event, (energy, hours) in EVENTS.items()
    ]


def feeders() -> dict[str, Policy]:
    """Every preset of groups. Who knows all other homes sees one home's answer with the noise."""
    asked = {name: {"name": name, "preset": name} for name in presets("groups")}
    return {name: GroupSettings.model_validate(its).policy for name, its in asked.items()}


def _equal(name: str, policy: Policy, event: str, energy: float, hours: float) -> Equal:
    windows = max(1, round(hours * HOUR / policy.size))
    watts = energy * 1000 * HOUR / windows / policy.size
    told = success(policy, watts) if windows == 1 else _in_several(policy, watts, windows)
    return Equal(name, event, told, typical_error(policy), laplace(told, watts, windows))


def _in_several(policy: Policy, watts: float, windows: int) -> float:
    """Of two versions so far apart in so many windows, rounded up to whole steps."""
    step, [asked] = float(policy.domain.resolution), policy.questions
    return right({Draw(asked.nano, (math.ceil(watts / step),)): windows}, step)


def laplace(told: float, watts: float, windows: int) -> float:
    """The scale of Laplace noise that tells versions so far apart as often, in so many windows."""
    if windows == 1:
        return watts / (-2 * math.log(2 * (1 - told)))
    low, high = watts / 100, watts * 1000
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (
            (middle, high) if told_by_laplace(middle, watts, windows) > told else (low, middle)
        )
    return math.sqrt(low * high)


def told_by_laplace(scale: float, watts: float, windows: int) -> float:
    """How often versions so far apart in so many windows are told apart."""
    return right({Draw(round(NANO / scale), (FINE,)): windows}, watts / FINE)


def success(policy: Policy, watts: float) -> float:
    """Of two versions so far apart, over all places that their answers may have on the grid.

    Their distance is one whole number of steps or the next, in such shares that it is right on
    average.
    """
    step = float(policy.domain.resolution)
    rate = float(policy.questions[0].epsilon) * step
    lower, more = divmod(watts / step, 1)
    near, far = (apart(rate, int(lower) + one) for one in (0, 1))
    return (1 + (1 - more) * near + more * far) / 2
