"""The `[[policy]]` tables: which meters, what is released of them, and at what price."""

from collections.abc import Iterable
from decimal import Decimal
from functools import cached_property, partial
from typing import Any, Literal, Self

from pydantic import PrivateAttr, model_validator

from meteragent.config.amount import Amount
from meteragent.config.fields import (
    Duration,
    Exact,
    Flag,
    Name,
    Power,
    Settings,
    SomeTime,
    SomeWindow,
    Text,
    TopicName,
    found_by,
    refuse,
    setting,
)
from meteragent.config.presets import filled
from meteragent.config.queries import Asked, AskedQuery, afford, question_of
from meteragent.config.tier import Tiers, called_alike, promised, tiers_of
from meteragent.config.windows import lengths, refuse_half_a_fill
from meteragent.errors import InvalidSetting
from meteragent.explain.guarantee import Guarantee
from meteragent.privacy.domain import Domain
from meteragent.privacy.exact import epsilon_at
from meteragent.privacy.policy import HowMany, Noise, OnExhausted, Policy, Presence
from meteragent.privacy.question import Question, per_watt
from meteragent.privacy.terms import JOINT
from meteragent.privacy.units import BASE, Measured

PUBLIC_COVERAGE = Decimal("0.8")


class PolicySettings(Settings):
    """What is released of the meters whose id begins with `match`, and at what price.

    `epsilon` is the loss of one draw: someone who weighs two worlds that differ by at most
    `radius` in every reading sees their odds change by at most `exp(epsilon)`. `budget` is the
    same for all answers of any `horizon` together that starts or ends with a window; any other
    stretch as long touches one window more. A `radius` that is not a whole number of steps counts
    as the next one that is. `meteragent explain` says all of it in numbers.
    """

    name: Name = setting("What people call it.", '"household"')
    match: str = setting(
        "The policy holds for meters whose id begins with this. The longest match wins, and the "
        "empty one fits every meter. Other meters are rejected. Policies with the same match are "
        "for the same meters, and share their `[budget]`.",
        '"home-"',
        default="",
    )
    preset: Literal["tv-content", "appliances", "presence", "bill"] | None = setting(
        "What to hide, instead of a choice of numbers: it sets whatever is not set here.",
        '"tv-content"',
        default=None,
    )
    quantity: Measured = setting(
        "What is measured: `power`, `reactive` power, or the `flow` of water or gas. What is "
        'said about power then holds for it, in its own units: `"10var"`, `"1kvar"`; '
        '`"10l/h"`, `"1m3/h"`. Presets are for power only.',
        '"flow"',
        default="power",
    )
    window: SomeWindow = setting(
        'The length of a window; or `"day"`, `"week"` (from Monday on) or `"month"`, by the clocks '
        "of `timezone`: a day has 23 to 25 hours.",
        '"15m"',
    )
    interval: SomeTime = setting("The distance between two readings, a slot.", '"10s"')
    hop: SomeTime | None = setting(
        "The distance between two windows' starts; by default they do not overlap.",
        '"5m"',
        default=None,
    )
    offset: Duration = setting(
        "How much later windows begin. Windows of a fixed length are counted from "
        "1970-01-01T00:00Z; a day, a week or a month begins when clocks show that it does.",
        '"6h"',
        default="0s",
    )
    timezone: Text | None = setting(
        "The time zone of days, weeks and months, by its IANA name. Its data come with the agent "
        "(`tzdata`), never from the machine, and are part of the policy's id.",
        '"Europe/Paris"',
        default=None,
    )
    grace: Duration = setting(
        "How long after its end a window waits for late readings.", default="30s"
    )
    idle: Duration = setting(
        "How much longer it waits for silent meters; for all, if presence is private.",
        default="5m",
    )
    delay: SomeTime | None = setting(
        "How late readings usually come, for example from a head-end that collects once a day: "
        "windows wait that long for silent meters, in place of `idle`.",
        '"36h"',
        default=None,
    )
    minimum: Power = setting(
        "The lowest reading; lower ones count as this. Negative for export.", default="0"
    )
    maximum: Power = setting("The highest reading; higher ones count as this.", '"24kW"')
    step: Power = setting("The grid of readings between the two.", default="10W")
    resolution: Power | None = setting(
        "The grid of answers, if it should be finer than that of readings: `step` divided by a "
        "whole number. An average over a month is then released to `0.1W`, although readings are "
        "in steps of `1W`.",
        '"0.1W"',
        default=None,
    )
    queries: Asked = setting(
        "What to release of each window, the most important first.",
        '["avg", { query = "p95", epsilon = "0.5" }]',
        default=["avg"],
    )
    epsilon: Exact = setting(
        'The loss of one answer, at `radius`; with `noise = "joint"`, of all answers of a window '
        "together.",
        '"1"',
    )
    noise: Noise = setting(
        "Whether each answer of a window has a draw of its own, and all cost their sum, or they "
        "share one, and cost what one does. Joint noise reveals as much of a load as the answer "
        "that moves most: it is for several queries, and loads of half a window or more.",
        '"joint"',
        default="independent",
    )
    radius: Power = setting(
        "The difference in every reading that `epsilon` and `budget` are for.",
        default="100W",
    )
    budget: Amount = setting(
        "The most that all answers of one `horizon` may lose; where there is a `[budget]`, it is "
        "written as a share of that instead.",
        '"24"',
        default=None,
    )
    share: Exact | None = setting(
        "What this policy may spend of the `[budget]` of each of its meters, at the radius given "
        "there. A single policy has all of it, unless it says how much.",
        '"12"',
        default=None,
    )
    horizon: SomeTime = setting(
        "The stretch of time that `budget` is for; where there is a `[budget]`, it is set there.",
        default="24h",
    )
    min_coverage: Exact | None = setting(
        "The share of slots with a reading that a window needs to be released, and that the "
        "hours of a query need; by default 0.8, and 0 where presence is private.",
        '"0.8"',
        default=None,
    )
    presence: Presence = setting(
        "Whether anybody may learn which readings are absent. If not, windows close only by the "
        "clock of all meters of a partition, and every window of a known meter is released, an "
        "empty one as if it held 0 W throughout.",
        default="public",
    )
    fill: Literal["last"] | None = setting(
        "For meters that report on change: a slot without a reading holds the last one of its "
        "window, for up to `fill_limit`. Nothing is carried on from one window into the next.",
        '"last"',
        default=None,
    )
    fill_limit: SomeTime | None = setting(
        "How long a reading is carried on: a little longer than the heartbeat of the meters.",
        '"15m"',
        default=None,
    )
    readings: HowMany = setting(
        "What a release says about how many of its slots hold a reading, where presence is "
        'public: `"some"`, `"half"`, `"most"` (0.8 and more) or `"all"`; their number; '
        "or nothing. A withheld window never says.",
        '"exact"',
        default="classes",
    )
    on_exhausted: OnExhausted = setting(
        "What happens to a window that the budget does not cover: nothing is released, or the "
        "first queries that still fit.",
        default="suppress",
    )
    output: TopicName | None = setting(
        "The topic for these releases; by default, `kafka.output`.",
        '"meter.sanitized.research"',
        default=None,
    )
    tier: Tiers = setting("", "[[policy.tier]]", default=())
    pseudonyms: Flag = setting(
        "Whether releases, and their keys in Kafka, call meters by keyed pseudonyms that differ "
        "from policy to policy, so that two audiences cannot join them. Accounts keep the ids.",
        "true",
        default=False,
    )
    _share: int | None = PrivateAttr(default=None)
    """In nano-units per watt, where there is a `[budget]`."""
    _beside: tuple[Guarantee, ...] = PrivateAttr(default=())
    """What else is promised of the same meters."""

    @cached_property
    def policy(self) -> Policy:
        """What the settings mean."""
        return Policy(
            domain=self._domain(),
            questions=self._questions(),
            interval=self.interval,
            grace=self.grace,
            idle=self.delay or self.idle,
            budget=self._budget(),
            horizon=self.horizon,
            min_coverage=self._coverage(),
            presence=self.presence,
            on_exhausted=self.on_exhausted,
            readings=self.readings,
            fill_limit=self.fill_limit or 0,
            noise=self.noise,
            **self._lengths(),
        )

    @cached_property
    def tiers(self) -> tuple[Policy, ...]:
        """What is released of each tier of it."""
        return tiers_of(self.policy, self.tier, self.radius)

    @cached_property
    def guarantee(self) -> Guarantee:
        """What they promise."""
        told = promised(self.name, self.tier, self.tiers, self.radius)
        return Guarantee(self.name, self.policy, self.radius, self._beside, told)

    _of_preset = model_validator(mode="before")(filled)

    @model_validator(mode="after")
    def _makes_sense(self) -> "PolicySettings":
        if self.delay and "idle" in self.model_fields_set:
            refuse([InvalidSetting("delay", "stands in place of idle", "leave out one of the two")])
        if self.budget is None:
            refuse(found_by(self._domain, self._questions, self._lengths, self._fill))
        elif self.share is not None:
            refuse([InvalidSetting("share", "is set without a [budget]", "leave it out")])
        else:
            refuse(found_by(self._domain, self._questions, self._budget, self._lengths, self._fill))
            refuse(found_by(lambda: self.policy))
            refuse([*called_alike(self.tier), *found_by(lambda: self.tiers)])
            refuse(found_by(lambda: afford(self.policy, self.queries, self._epsilon)))
        return self

    def with_share(self, nano: int, *, radius: Decimal, horizon: int) -> Self:
        """The same with a share of so many nano-units per watt, of an account of these terms.

        InvalidSetting: it would never release anything, or the policy makes no sense.
        """
        own = {"budget": epsilon_at(nano, self.radius), "horizon": horizon}
        resolved = type(self).model_construct(**dict(self) | own)
        resolved._share = nano  # noqa: SLF001 - the same class
        for error in found_by(lambda: resolved.policy, lambda: resolved.tiers):
            raise error
        least = resolved.policy.terms.least
        if least > nano:
            enough = f'write at least "{epsilon_at(least, radius).normalize():f}"'
            raise InvalidSetting("share", "does not cover one window", enough)
        return resolved

    def stand_beside(self, others: Iterable["PolicySettings"]) -> None:
        """Note the other policies of the same meters. Precondition: nobody has asked yet."""
        self._beside = tuple(Guarantee(o.name, o.policy, o.radius) for o in others)

    def _lengths(self) -> dict[str, Any]:
        return lengths(self.window, self.interval, self.hop, self.offset, self.timezone)

    def _domain(self) -> Domain:
        base = BASE[self.quantity]
        return Domain(self.minimum, self.maximum, self.step, self.resolution, base)

    def _budget(self) -> int:
        if self._share is not None:
            return self._share
        assert self.budget is not None  # noqa: S101 - what is left to the account has a share
        return per_watt("budget", self.budget, self.radius)

    def _fill(self) -> None:
        refuse_half_a_fill(self.fill, self.fill_limit)

    def _coverage(self) -> Decimal:
        if self.min_coverage is not None:
            return self.min_coverage
        return PUBLIC_COVERAGE if self.presence == "public" else Decimal(0)

    def _questions(self) -> tuple[Question, ...]:
        asking = [partial(self._question, i) for i in range(len(self.queries))]
        refuse(found_by(*asking))
        return tuple(ask() for ask in asking)

    def _question(self, index: int) -> Question:
        asked = self.queries[index]
        where, own = f"queries[{index}]", self.noise != JOINT
        return question_of(asked, where, self._epsilon(asked), self.radius, own_loss=own)

    def _epsilon(self, asked: AskedQuery) -> Decimal:
        return self.epsilon if asked.epsilon is None else asked.epsilon
