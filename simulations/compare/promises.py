"""The same promise by other means: what standard differential privacy would need at the presets.

A preset promises that two windows which differ by up to `radius` in *every* reading keep their
odds within `exp(epsilon)`. Standard differential privacy knows no radius: a reading may be any
other within the range, and its noise is calibrated to that.

*On the sum.* All readings of a window may change by the whole range at once, so their sum moves
by `slots * range`, and the average by `range`: noise of scale `range / epsilon` on the average.

*Per reading.* Each of the `slots` readings is released, and all may change, so each gets
`epsilon / slots` and noise of scale `range * slots / epsilon`. Averaging them leaves a standard
deviation of `range * sqrt(2 * slots) / epsilon`.

*One reading only.* The textbook's calibration hides one reading of the window: noise of scale
`range / (slots * epsilon)` on the average. Two contents differ in all of them, for which its
promise is `exp(slots * epsilon)`: this is not the same protection, and stands here to be seen.
"""

import math
from dataclasses import dataclass
from typing import Any

from meteragent.config.policy import PolicySettings
from meteragent.config.presets import presets
from meteragent.privacy.exact import NANO
from meteragent.privacy.mechanism import TruncatedGeometric

TYPICAL = 400.0
"""Watts around which a home's averages lie: noise that exceeds the range is cut off at its ends."""
FIVE = 5.0
"""How many times smaller the error is meant to be."""


@dataclass(frozen=True)
class Promise:
    """One preset: what is promised of one answer, on what."""

    preset: str
    epsilon: float
    """The loss of one answer at `radius` watts."""
    radius: float
    slots: int
    span: float
    """The range of a reading in watts."""
    agent: float
    """The product's own expected error in watts."""

    @property
    def on_the_sum(self) -> float:
        """Expected error in watts, if what exceeds the range is cut off."""
        return clipped_error(self.span / self.epsilon, TYPICAL, self.span)

    @property
    def per_reading(self) -> float:
        """Expected error in watts: the sum of many Laplace draws is nearly normal."""
        return math.sqrt(4 * self.slots / math.pi) * self.span / self.epsilon

    @property
    def one_reading_only(self) -> float:
        """Expected error in watts of the textbook's calibration."""
        return self.span / (self.slots * self.epsilon)

    @property
    def factor(self) -> float:
        """How much more error standard differential privacy needs, at its best."""
        return min(self.on_the_sum, self.per_reading) / self.agent

    @property
    def stated(self) -> float:
        """The loss that standard differential privacy would state of a window at our noise."""
        return self.span * self.epsilon / self.radius

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "preset": self.preset,
            "epsilon": round(self.epsilon, 6),
            "radius_watts": self.radius,
            "slots": self.slots,
            "range_watts": self.span,
            "agent_error_watts": round(self.agent, 3),
            "laplace_on_the_sum_watts": round(self.span / self.epsilon, 3),
            "laplace_on_the_sum_clipped_watts": round(self.on_the_sum, 3),
            "laplace_per_reading_watts": round(self.per_reading, 3),
            "factor": round(self.factor, 3),
            "at_least_five": self.factor >= FIVE,
            "one_reading_only_watts": round(self.one_reading_only, 3),
            "loss_that_standard_dp_states_at_our_noise": round(self.stated, 3),
        }


def clipped_error(scale: float, truth: float, span: float) -> float:
    """The expected error of Laplace noise around a truth, cut off at 0 and `span`."""
    return scale / 2 * sum(-math.expm1(-room / scale) for room in (truth, span - truth))


def promises() -> list[Promise]:
    """Of every preset, from its own settings."""
    return [_promise(name, preset.policy) for name, preset in presets().items()]


def _promise(name: str, given: dict[str, Any]) -> Promise:
    settings = PolicySettings.model_validate({"name": name, **given})
    policy, radius = settings.policy, float(settings.radius)
    asked = policy.questions[0]
    return Promise(
        preset=name,
        epsilon=asked.nano * radius / NANO,
        radius=radius,
        slots=policy.slots,
        span=float(policy.domain.maximum - policy.domain.minimum),
        agent=TruncatedGeometric(policy.domain, asked.epsilon).expected_error(),
    )
