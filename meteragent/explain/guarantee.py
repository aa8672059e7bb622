"""What a policy promises: worked out here, worded here, and nowhere else.

`explain`, the status page, the metrics and the accounts say what a `Guarantee` says. It speaks of
two versions of a home that differ by at most `radius` watts in every reading at once:

    on the grid    readings that far apart can be `ceil(radius / step)` levels apart, which are
                   more watts if the radius is no whole number of steps; all losses are at these
    one release    the sum of what its queries cost
    one horizon    what the budget allows, if the stretch of time starts or ends with a window:
                   that is what accounts bound
    any stretch    as long as a horizon, begun anywhere: it can touch one window more, and that
                   one's release is paid from the budget of a neighbouring horizon
    together       of meters that have several policies: the sum over all of them

Claims 2 and 6 of `mechanism.md` are the proofs.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from math import log, prod
from operator import attrgetter

from meteragent.explain.advantage import filled, filled_together
from meteragent.explain.document import Bound, Promised
from meteragent.explain.leakage import odds
from meteragent.explain.words import (
    IN_WORDS,
    at_most,
    listed,
    power_text,
    significant,
    time_text,
    window_text,
)
from meteragent.privacy.exact import NANO, epsilon_at, per_watt_text
from meteragent.privacy.group import GroupPolicy
from meteragent.privacy.policy import Policy
from meteragent.privacy.question import Question
from meteragent.privacy.terms import JOINT
from meteragent.privacy.units import WATT


def most_spent(policy: Policy, windows: int) -> int:
    """Nano-units per watt that so many windows in a row can spend at most."""
    terms = policy.terms
    runs, rest = divmod(windows, terms.per_horizon)
    whole = min(terms.budget, terms.dearest(terms.per_horizon))
    return runs * whole + min(terms.budget, terms.dearest(rest))


@dataclass(frozen=True)
class Guarantee:
    """A policy, by the name that people call it, at the radius that it was chosen for."""

    name: str
    policy: Policy
    radius: Decimal
    beside: tuple["Guarantee", ...] = ()
    """What else is promised of the same meters."""
    tiers: tuple["Guarantee", ...] = ()
    """What is promised of those who are told noisier copies of its releases."""

    def called(self, name: str) -> "Guarantee":
        """The same by another name."""
        return replace(self, name=name)

    @property
    def apart(self) -> Decimal:
        """How far apart, on the grid, readings can be that are `radius` apart."""
        domain = self.policy.domain
        return domain.levels_apart(self.radius) * domain.resolution

    def epsilon(self, nano: int) -> Decimal:
        """A loss in nano-units per watt, as log-odds at the radius."""
        return epsilon_at(nano, self.apart)

    @property
    def losses(self) -> dict[str, Decimal]:
        """What all answers to a query lose about one window, or to all queries, by their names."""
        return {charge.name: self.epsilon(charge.cost) for charge in self.policy.charges}

    @property
    def window(self) -> int:
        """Nano-units per watt that the release of one window can lose."""
        return most_spent(self.policy, 1)

    @property
    def horizon(self) -> int:
        """Those of all releases of a horizon that starts or ends with a window."""
        return most_spent(self.policy, self.policy.terms.per_horizon)

    @property
    def any_horizon(self) -> int:
        """Those of all releases of any stretch of time as long as the horizon."""
        terms = self.policy.terms
        return most_spent(self.policy, terms.windows.touching(terms.horizon))

    def together(self, loss: Callable[["Guarantee"], int]) -> Decimal:
        """A loss of all policies of these meters, as log-odds at this one's radius."""
        every = (self, *(replace(other, radius=self.radius) for other in self.beside))
        return sum((one.epsilon(loss(one)) for one in every), Decimal(0))

    @property
    def guess(self) -> float:
        """By how much one release multiplies a guess among stories within the radius, at most."""
        policy, resolution = self.policy, float(self.policy.domain.resolution)
        levels, asked = policy.domain.levels_apart(self.radius), policy.questions
        rates = [resolution * one.nano / NANO for one in asked]
        if policy.noise == JOINT:
            return filled_together(levels, rates[0], len(asked))
        return prod(
            _named(one, levels, rate, policy.slots) for one, rate in zip(asked, rates, strict=True)
        )

    @property
    def words(self) -> str:
        """Who learns how much at most, for people."""
        return " ".join(self._bounds_in_words())

    def promised(self) -> Promised:
        """All of it, in numbers and in words."""
        return Promised(
            sentences=(*self._bounds_in_words(), *self._conditions_in_words()),
            known_within=float(self.radius / 2),
            apart=float(self.apart),
            one_release=self._bound(self.window),
            one_horizon=self._bound(self.horizon),
            any_horizon=self._bound(self.any_horizon),
            guess=self.guess,
            horizon_ms=self.policy.horizon,
            window_per_watt=per_watt_text(self.window),
            horizon_per_watt=per_watt_text(self.horizon),
            any_horizon_per_watt=per_watt_text(self.any_horizon),
            beside=tuple(other.name for other in self.beside),
            together_one_horizon=Bound.of(float(self.together(_horizon))),
            together_any_horizon=Bound.of(float(self.together(_any_horizon))),
        )

    def _bound(self, nano: int) -> Bound:
        return Bound.of(float(self.epsilon(nano)))

    def _at_most(self, nano: int) -> str:
        return at_most(float(self.epsilon(nano)))

    def _bounds_in_words(self) -> Iterator[str]:
        policy, unit = self.policy, self.policy.domain.unit
        span, window = time_text(policy.horizon), window_text(policy.windows)
        asked = listed(question.query.name for question in policy.questions)
        yield (
            f"Someone who already knows every reading of a home to within "
            f"{power_text(self.radius / 2, unit)} either way improves the odds of any guess "
            f"{self._at_most(self.window)} from one release ({asked} of {window}), and "
            f"{self._at_most(self.horizon)} from all releases of {span} that start or end with a "
            "window."
        )
        if policy.windows.touching(policy.horizon) > policy.terms.per_horizon:
            yield (
                f"All releases of any other {span}, which touch one window more, improve the odds "
                f"{self._at_most(self.any_horizon)}."
            )
        if self.beside:
            others = listed(other.name for other in self.beside)
            aligned, any_other = (
                at_most(float(self.together(loss))) for loss in (_horizon, _any_horizon)
            )
            yield (
                f"The same account pays for {others}: all releases of these meters together, of "
                f"{span} that start or end with a window of each policy, improve the odds "
                f"{aligned}, and those of any other {span} {any_other}."
            )

        for tier in self.tiers:
            one, all_of_them = (
                at_most(float(tier.epsilon(loss))) for loss in (tier.window, tier.horizon)
            )
            yield (
                f"Someone with only the noisier copies of {tier.name} improves the odds {one} from "
                f"one release, and {all_of_them} from all of them of {span} as above."
            )
        if self.tiers:
            yield (
                "Copies are made from the same draws and cost nothing: whoever has them and the "
                "first releases knows no more than whoever has the first releases."
            )

    def _conditions_in_words(self) -> Iterator[str]:
        policy, span = self.policy, time_text(self.policy.horizon)
        unit, some = policy.domain.unit, "W" if policy.domain.unit == WATT else "D"
        if policy.tier is not None:
            yield (
                "These are noisier copies of releases that others get, made from the same draws. "
                "No budget is spent on them: the numbers are what copies of everything that is "
                "paid for reveal at most, to those who have nothing but copies like these or "
                "noisier ones."
            )
        if isinstance(policy, GroupPolicy):
            yield from _of_groups(policy)
        one, aligned, any_other = (
            f"exp({per_watt_text(nano)} x {some})"
            for nano in (self.window, self.horizon, self.any_horizon)
        )
        yield (
            "Of any number of stories whose readings lie within "
            f"{power_text(self.apart, unit)} of one another, one release lets nobody name the "
            f"right one more than {significant(self.guess, ROUND_CEILING)} times as often as "
            "before."
        )
        yield (
            "That holds whatever they know besides and whatever method they use, unless they hold "
            "the noise key or see the readings themselves."
        )
        yield (
            f"In general: if two versions of a home differ by at most {some} {IN_WORDS[unit][1]} "
            f"in every reading, {some} in whole steps of {power_text(policy.domain.step, unit)}, "
            f"the odds between them change by at most {one} from one release, {aligned} in "
            f"{span} that start or end with a window, "
            f"and {any_other} in any {span}."
        )
        yield from self._answers_in_words()
        if policy.presence == "public":
            yield "Which readings arrived is public: a gap in the readings can be seen."
        else:
            told = float(epsilon_at(self.window, _widest(policy)))
            yield (
                "Which readings arrived is protected too, as far as a load of the whole range is: "
                f"one release improves the odds of guessing which did {at_most(told)}."
            )

    def _answers_in_words(self) -> Iterator[str]:
        policy = self.policy
        if policy.noise == JOINT:
            yield (
                "The answers of a window share one draw: all of them together lose what one alone "
                "would, and of a load they tell as much as the one that it moves most."
            )
        if policy.domain.finer > 1:
            fine = power_text(policy.domain.resolution, policy.domain.unit)
            yield (
                f"Answers lie on a grid of {fine}, finer than that of the readings: they are as "
                "private, but another mechanism that keeps the same "
                "promise might serve a reader better."
            )
        if policy.fill_limit:
            yield (
                "A slot without a reading holds the last one of its window, for up to "
                f"{time_text(policy.fill_limit)}: readings are then what slots hold."
            )
        if policy.asking.of_hours:
            yield (
                f"Hours in brackets are by the clocks of {policy.asking.zone.name}. A window that "
                "holds none of them is not asked about them, and pays nothing for it."
            )


def _widest(policy: Policy) -> Decimal:
    """How far apart two versions of a home can be, in watts."""
    if isinstance(policy, GroupPolicy):
        return policy.widest
    return policy.domain.maximum - policy.domain.minimum


def _of_groups(policy: GroupPolicy) -> Iterator[str]:
    pane, widest = time_text(policy.interval), power_text(policy.widest, policy.domain.unit)
    yield (
        "That is said of each home of a group, to someone who knows all its other homes exactly: "
        f"the group's reading is the sum of its homes' averages over {pane}. What several "
        "homes do together adds up, as their differences do."
    )
    yield (
        f"Two versions of a home are at most {widest} apart, so that one release improves the "
        f"odds of any guess about a home, whatever it may be, by a factor of at most "
        f"exp({per_watt_text(policy.terms.price)} x {policy.widest:f}): that is ordinary "
        "differential privacy for a home."
    )
    yield (
        "A home's loss to groups is that of all groups that it is in. It reserves a part of its "
        "budget for them: a membership takes effect only while all of them fit it. The promise "
        "does not depend on how many homes there are; groups of fewer than "
        f"{policy.homes.least} are withheld."
    )


_horizon, _any_horizon = attrgetter("horizon"), attrgetter("any_horizon")


def _named(asked: Question, levels: int, rate: float, slots: int) -> float:
    """By how much the answers to a question multiply a guess; layers move no more than a home."""
    each, outputs = filled(levels, rate), asked.query.outputs(slots)
    if not asked.query.layers:
        return each**outputs
    return odds(NANO, min(levels * rate, outputs * log(each)))
