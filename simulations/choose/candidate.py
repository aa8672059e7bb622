"""Policies that might do: settings as a file would hold them, and the policy that they mean."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

from meteragent.config.policy import PolicySettings
from meteragent.explain.bills import sum_quantile
from meteragent.privacy.policy import Policy
from meteragent.privacy.units import duration, format_watts
from simulations.kit.product import ENOUGH, FOR_EVER, typical_error
from simulations.kit.traces import DAY
from simulations.kit.yardstick import Yardstick

LADDER = (3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300)
NOISES = (*LADDER, *(10 * step for step in LADDER if step > 30))
"""Watts of noise that are tried: epsilon is 1 at this radius, and the error about as large."""

STEPS = (1, 2, 5, 10)
FINE = 10
"""Watts of noise below which a step of a watt is too coarse for answers."""
GRACE = "1h"
"""The disorder of one meter that a policy has to bear."""
MONTH = 30 * DAY


@dataclass(frozen=True)
class Candidate:
    """One policy, and what it costs a reader."""

    window: str
    queries: tuple[str, ...]
    noise: float
    settings: dict[str, Any]

    @cached_property
    def policy(self) -> Policy:
        """What an agent would make of the settings."""
        return PolicySettings.model_validate({"name": "chosen", **self.settings}).policy

    @property
    def tried(self) -> Policy:
        """The same for a simulation: no waiting for what is late, and no end of the budget."""
        return replace(self.policy, grace=0, idle=FOR_EVER, budget=ENOUGH, horizon=self.policy.size)

    @property
    def error(self) -> float:
        """The expected error of one release, in watts."""
        return typical_error(self.policy)

    def month(self, mean: float) -> float:
        """By which share of its true value a month's sum of `unbiased` is off, in 95 % of months.

        For a home of so many watts on average, and the noise of as many windows as a month has.
        """
        windows = max(1, round(MONTH / self.policy.size))
        off = sum_quantile(self.policy, self.policy.questions[0], windows, 0.95)
        return off / windows / mean


def candidate(yardstick: Yardstick, window: str, queries: Sequence[str], noise: int) -> Candidate:
    """The policy of this window and noise, with what the yardstick's secret decides.

    The grid is the coarsest that rounds by no more than a twentieth of the noise, and of whose
    steps the radius is a whole number; where none does, answers have a finer one than readings. The
    budget covers every window of a horizon.
    """
    step = max([s for s in STEPS if 10 * s <= noise and not noise % s], default=STEPS[0])
    settings = {
        "window": window,
        "maximum": "24kW",
        "step": f"{step}W",
        "queries": list(queries),
        "epsilon": "1",
        "radius": format_watts(Decimal(noise)),
        "grace": GRACE,
        **yardstick.settings,
    }
    if noise < FINE:
        settings["resolution"] = "0.1W"
    day = "24h" if duration("window", window) <= DAY else window
    settings.setdefault("horizon", day)
    wide = PolicySettings.model_validate({"name": "chosen", **settings, "budget": "10000"})
    settings["budget"] = str(wide.policy.terms.per_horizon * len(queries))
    return Candidate(window, tuple(queries), noise, settings)
