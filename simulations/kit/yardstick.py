"""How a policy is measured: the strongest attacks on what it is meant to hide.

A yardstick knows one secret, such as which film is on, and everything that an attacker could
make of it. `simulations.choose` hands it one policy after the other; each verdict is one contest
between the releases of that policy and the best attacker for it. How often that one is right is
worked out from the law of the noise: no verdict depends on how many trials were made.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Protocol

from meteragent.privacy.policy import Policy

MORE, TIMES = 0.04, 7 / 6
"""What the best attacker may gain over guessing: so much at most, and so many times as often.

Of two stories that is right in 54 % of cases, of 200 in 0.58 %.
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One contest: how often the best attacker is right, and how often guessing is."""

    contest: str
    """What was at stake, in a few words: `5-minute chunks, TV alone`."""
    attack: str
    """Completes "an attacker who": `knows every film's exact trace and compares likelihoods`."""
    goal: str
    """Completes the same sentence: `names the right one of 200 films`."""
    success: float
    """Over all cases, on average: worked out, not tried."""
    most: float
    """In the case that shows most."""
    chance: float
    cases: int
    exact: bool = True
    """Whether success is no mere bound."""

    @property
    def limit(self) -> float:
        """What is aimed at."""
        return min(self.chance + MORE, TIMES * self.chance)

    @property
    def kept(self) -> bool:
        """Whether that is what the attacker reaches at most."""
        return self.success <= self.limit

    def document(self) -> dict[str, Any]:
        """For JSON; rounded up."""
        return {
            "contest": self.contest,
            "attack": self.attack,
            "goal": self.goal,
            "success": up(self.success),
            "most": up(self.most),
            "chance": round(self.chance, 6),
            "limit": round(self.limit, 6),
            "kept": self.kept,
            "cases": self.cases,
            "exact": self.exact,
        }


def up(share: float) -> float:
    """Six places, and never less than it is."""
    return min(1.0, ceil(share * 10**6 - 1e-6) / 10**6)


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

    def attack(self, policy: Policy) -> list[Verdict]:
        """Every contest about one event under this policy, each against the strongest attacker."""

    def habits(self, policy: Policy) -> list[Verdict]:
        """What of it a week and four weeks of releases tell, of which no limit is kept."""
