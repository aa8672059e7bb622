"""The `[[policy]]` tables: which meters, what is released of them, and at what price."""

from collections.abc import Callable
from decimal import Decimal
from functools import cached_property, partial
from typing import Annotated, Literal

from pydantic import BeforeValidator, model_validator

from meteragent.config.fields import (
    BadSetting,
    Duration,
    Exact,
    Name,
    Power,
    Settings,
    SomeTime,
    refuse,
    setting,
)
from meteragent.config.presets import filled, presets
from meteragent.errors import InvalidSetting
from meteragent.explain.document import Choice
from meteragent.explain.guarantee import Guarantee
from meteragent.privacy.domain import Domain
from meteragent.privacy.policy import Policy, Question, per_watt, question
from meteragent.privacy.query import query

PUBLIC_COVERAGE = Decimal("0.8")
_OURS = {"size": "window", "costs": "queries"}
"""The core's names -> those of the settings."""


class AskedQuery(Settings):
    """One of the `queries`; a name alone means `{ query = NAME }`."""

    query: str = setting(
        '`"avg"`, `"min"`, `"median"`, `"max"`, a percentile such as `"p95"`, or `"reading"`, '
        "which releases every slot and costs as often.",
        '"avg"',
    )
    epsilon: Exact | None = setting(
        "The loss of this query's answer; without it, the policy's.", '"0.5"', default=None
    )


def _asked(queries: object) -> object:
    if not isinstance(queries, list | tuple):
        raise InvalidSetting("queries", "is no list", 'write for example ["avg"]')
    return tuple({"query": q} if isinstance(q, str) else q for q in queries)


class PolicySettings(Settings):
    """What is released of the meters whose id begins with `match`, and at what price.

    `epsilon` is the loss of one answer: someone who weighs two worlds that differ by at most
    `radius` in every reading sees his odds change by at most `exp(epsilon)`. `budget` is the
    same for all answers of any `horizon` together that starts or ends with a window; any other
    stretch as long touches one window more. A `radius` that is no whole number of steps counts
    as the next one that is. `meteragent explain` says all of it in numbers.
    """

    name: Name = setting("What people call it.", '"household"')
    match: str = setting(
        "It holds for meters whose id begins so; the longest match wins, and the empty one is "
        "every meter's. Other meters are rejected.",
        '"home-"',
        default="",
    )
    preset: Literal["tv-content", "appliances", "presence"] | None = setting(
        "What to hide, instead of a choice of numbers: it sets whatever is not set here.",
        '"tv-content"',
        default=None,
    )
    window: SomeTime = setting("The length of a window.", '"15m"')
    interval: SomeTime = setting("The distance between two readings, a slot.", '"10s"')
    hop: SomeTime | None = setting(
        "The distance between two windows' starts; by default they do not overlap.",
        '"5m"',
        default=None,
    )
    grace: Duration = setting(
        "How long after its end a window waits for late readings.", '"30s"', default="30s"
    )
    idle: Duration = setting(
        "How much longer it waits for a meter that is silent.", '"5m"', default="5m"
    )
    minimum: Power = setting(
        "The lowest reading; lower ones count as this. Negative for export.", '"0W"', default="0W"
    )
    maximum: Power = setting("The highest reading; higher ones count as this.", '"24kW"')
    step: Power = setting("The grid of readings between the two.", '"10W"', default="10W")
    queries: Annotated[tuple[AskedQuery, ...], BeforeValidator(_asked)] = setting(
        "What to release of each window, the most important first.",
        '["avg", { query = "p95", epsilon = "0.5" }]',
        default=["avg"],
    )
    epsilon: Exact = setting("The loss of one answer, at `radius`.", '"1"')
    radius: Power = setting(
        "How far apart, in every reading, two worlds are that `epsilon` and `budget` speak of.",
        '"100W"',
        default="100W",
    )
    budget: Exact = setting("The most that all answers of one `horizon` may lose.", '"24"')
    horizon: SomeTime = setting("The stretch of time that `budget` is for.", '"24h"', default="24h")
    min_coverage: Exact | None = setting(
        "The share of slots that a window needs to be released; by default 0.8, and 0 where "
        "presence is private.",
        '"0.8"',
        default=None,
    )
    presence: Literal["public", "private"] = setting(
        "Whether anybody may learn which readings are absent.", '"public"', default="public"
    )
    on_exhausted: Literal["suppress", "partial"] = setting(
        "What happens to a window that the budget does not cover: nothing of it is released, or "
        "its first queries that still fit are.",
        '"suppress"',
        default="suppress",
    )

    @cached_property
    def policy(self) -> Policy:
        """What the settings mean."""
        return Policy(
            domain=self._domain(),
            questions=self._questions(),
            size=self.window,
            interval=self.interval,
            hop=self.hop or self.window,
            grace=self.grace,
            idle=self.idle,
            budget=self._budget(),
            horizon=self.horizon,
            min_coverage=self._coverage(),
            presence=self.presence,
            on_exhausted=self.on_exhausted,
        )

    @cached_property
    def guarantee(self) -> Guarantee:
        """What they promise."""
        return Guarantee(self.name, self.policy, self.radius)

    @model_validator(mode="before")
    @classmethod
    def _of_preset(cls, settings: object) -> object:
        return filled(settings)

    @model_validator(mode="after")
    def _makes_sense(self) -> "PolicySettings":
        refuse(_found_by(self._domain, self._questions, self._budget))
        refuse(_found_by(lambda: self.policy))
        refuse(_found_by(self._afford))
        return self

    def _domain(self) -> Domain:
        return Domain(self.minimum, self.maximum, self.step)

    def _budget(self) -> int:
        return per_watt("budget", self.budget, self.radius)

    def _coverage(self) -> Decimal:
        if self.min_coverage is not None:
            return self.min_coverage
        return PUBLIC_COVERAGE if self.presence == "public" else Decimal(0)

    def _questions(self) -> tuple[Question, ...]:
        asking = [partial(self._question, i) for i in range(len(self.queries))]
        refuse(_found_by(*asking))
        return tuple(ask() for ask in asking)

    def _question(self, index: int) -> Question:
        asked, here = self.queries[index], f"queries[{index}]"
        try:
            return question(asked.query, self._epsilon(asked), self.radius)
        except InvalidSetting as error:
            own = error.field == "query" or asked.epsilon is not None
            field = f"{here}.{error.field}" if own and error.field != "radius" else error.field
            raise InvalidSetting(field, error.problem, error.instead) from None

    def _epsilon(self, asked: AskedQuery) -> Decimal:
        return self.epsilon if asked.epsilon is None else asked.epsilon

    def _afford(self) -> None:
        """Refuse a budget that would never release anything."""
        terms = self.policy.terms
        asked = self.queries[:1] if terms.partial else self.queries
        if terms.least > terms.budget:
            enough = sum(
                self._epsilon(a) * query(a.query).outputs(self.policy.slots) for a in asked
            )
            raise InvalidSetting(
                "budget", "does not cover one window", f'write at least "{enough:f}"'
            )


def _found_by(*checks: Callable[[], object]) -> list[InvalidSetting]:
    """What all of these checks refuse, in the settings' names."""
    found: list[InvalidSetting] = []
    for check in checks:
        try:
            check()
        except BadSetting as refused:
            found += refused.refusals
        except InvalidSetting as error:
            field = _OURS.get(error.field, error.field)
            found.append(InvalidSetting(field, error.problem, error.instead))
    return found


def choice(settings: PolicySettings) -> Choice | None:
    """The preset that was chosen, if one was, and what was set otherwise."""
    if settings.preset is None:
        return None
    preset = presets()[settings.preset]
    own = PolicySettings.model_validate({"name": settings.name, "preset": settings.preset})
    changed = tuple(
        name
        for name in PolicySettings.model_fields
        if name != "match" and getattr(settings, name) != getattr(own, name)
    )
    return Choice(settings.preset, preset.hides, preset.why, preset.evidence.words, changed)
