"""What each policy promises and what its releases are worth, in numbers and in words.

All of it follows from the configuration, so it may be shown to everybody.
"""

from dataclasses import dataclass
from decimal import Decimal

from meteragent.config import Config
from meteragent.explain.leakage import bits, multiplicative_capacity
from meteragent.explain.words import at_most, listed, power_text, time_text
from meteragent.privacy.exact import NANO
from meteragent.privacy.mechanism import shared
from meteragent.privacy.policy import Policy, Question


@dataclass(frozen=True, slots=True)
class Answer:
    """One query's release of one window: errors in watts."""

    query: str
    epsilon: float
    """Its loss at the policy's radius; of a query with several outputs, all of them."""
    scale: float
    """The watts over which two-sided noise falls to 1/e."""
    expected_error: float
    error_90: float
    """Nine releases of ten are no further off."""
    bits: float
    capacity: float
    """By how much one output can multiply the chance to guess a level, at most."""


@dataclass(frozen=True, slots=True)
class Promise:
    """One policy, by the name that the configuration gives it."""

    name: str
    """Several names with a plus, where several tables promise the same."""
    policy: Policy
    radius: float
    budget: float
    """At the radius."""
    answers: tuple[Answer, ...]
    words: str

    def at_radius(self, nano: int) -> float:
        """A loss in nano-units per watt, as epsilon at the radius."""
        return nano * self.radius / NANO


def promises(config: Config) -> dict[str, Promise]:
    """Policy id -> what it promises."""
    found: dict[str, Promise] = {}
    for settings in config.policy:
        policy, radius = settings.policy, float(settings.radius)
        names = [s.name for s in config.policy if s.policy.id == policy.id]
        window = sum(policy.terms.costs) * radius / NANO
        budget = policy.budget * radius / NANO
        answers = tuple(_answer(policy, question, radius) for question in policy.questions)
        words = _words(policy, settings.radius, window, budget)
        found.setdefault(
            policy.id, Promise("+".join(names), policy, radius, budget, answers, words)
        )
    return found


def _answer(policy: Policy, question: Question, radius: float) -> Answer:
    mechanism = shared(policy.domain, question.epsilon)
    outputs = question.query.outputs(policy.slots)
    return Answer(
        question.query.name,
        question.nano * outputs * radius / NANO,
        NANO / question.nano,
        mechanism.expected_error(),
        mechanism.error_quantile(0.9),
        bits(mechanism) * outputs,
        multiplicative_capacity(mechanism),
    )


def _words(policy: Policy, radius: Decimal, window: float, budget: float) -> str:
    size, horizon = time_text(policy.size), time_text(policy.horizon)
    asked = listed(question.query.name for question in policy.questions)
    return (
        f"Someone who knows every reading to within {power_text(radius / 2)} either way improves "
        f"the odds of any guess {at_most(window)} from one {size} window ({asked}), "
        f"and {at_most(budget)} from everything that is released in {horizon}."
    )
