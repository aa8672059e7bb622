"""Equal attack success, exactly: Laplace noise on the same query and window, beside the product's.

For every preset and a ladder of everyday events: the scale at which the best attacker who holds
both versions is as often right as against the product; and the error of both. Laplace noise of
scale b tells two answers d watts apart in 1 - exp(-d / 2b) / 2 of all cases.
"""

import math
from dataclasses import dataclass
from typing import Any

from meteragent.explain.advantage import apart
from meteragent.privacy.policy import Policy
from simulations.home.policies import all_presets
from simulations.kit.product import typical_error
from simulations.kit.traces import DAY
from simulations.uses.settings import bill

EVENTS = {
    "a kettle, 0.1 kWh": 0.1,
    "an evening of television, 0.4 kWh": 0.4,
    "a washing machine, 1 kWh": 1.0,
    "a day away, 7.2 kWh": 7.2,
}
"""Kilowatt-hours that one answer is about."""


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
    """Every preset of homes, every event that lies in one of its windows."""
    policies = {**all_presets(interval="1m"), "bill": bill()}
    return [
        _equal(name, policy, event, energy)
        for name, policy in policies.items()
        for event, energy in EVENTS.items()
    ]


def _equal(name: str, policy: Policy, event: str, energy: float) -> Equal:
    watts = energy * 1000 * DAY / 24 / policy.size
    told = success(policy, watts)
    scale = watts / (-2 * math.log(2 * (1 - told)))
    return Equal(name, event, told, typical_error(policy), scale)


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
