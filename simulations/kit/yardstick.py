"""How a policy is measured: the strongest attacks on what it is meant to hide.

A yardstick knows one secret, such as which film is on, and everything that an attacker could
make of it. `simulations.choose` hands it one policy after the other; each verdict is one contest
between the releases of that policy and the best attacker for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from simulations.kit.command import Run
from simulations.kit.statistics import Share


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with the interval that holds it, with 95 % confidence."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, share: Share) -> "Estimate":
        """How often something happened."""
        return cls(share.value, share.low, share.high)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One contest: what the best attacker reached, and what guessing would have reached."""

    contest: str
    """What was at stake, in a few words: `5-minute chunks, TV alone`."""
    attack: str
    """Completes "an attacker who": `knows every film's exact trace and compares likelihoods`."""
    goal: str
    """Completes the same sentence: `names the right one of 200 films`."""
    success: Estimate
    """A share of attempts, or an area under a curve: the more, the worse."""
    chance: float
    trials: int

    @property
    def held(self) -> bool:
        """Whether guessing might have reached as much."""
        return self.success.low <= self.chance

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "contest": self.contest,
            "attack": self.attack,
            "goal": self.goal,
            "success": round(self.success.value, 6),
            "low": round(self.success.low, 6),
            "high": round(self.success.high, 6),
            "chance": round(self.chance, 6),
            "trials": self.trials,
            "held": self.held,
        }


class Yardstick(Protocol):
    """One secret, and the strongest attacks on it."""

    @property
    def name(self) -> str:
        """Of the preset that hides it: `tv-content`."""

    @property
    def hides(self) -> str:
        """`which film or programme is on`."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings of `[[policy]]` that the secret decides, such as `presence = "private"`."""

    @property
    def windows(self) -> tuple[str, ...]:
        """Lengths of window worth trying, finest first: `("15m", "1h")`."""

    @property
    def queries(self) -> tuple[tuple[str, ...], ...]:
        """Sets of queries worth trying, the most useful first."""

    def attack(self, policy: Policy, key: NoiseKey, run: Run) -> list[Verdict]:
        """Every contest under this policy, each against the strongest attacker.

        The releases come from `kit.product.release`; another key is another, independent
        experiment. What is costly and does not depend on policy or key is computed once.
        """
