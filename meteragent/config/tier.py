"""The `[[policy.tier]]` tables: noisier copies of a policy's releases, for other audiences."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Protocol

from pydantic import BeforeValidator

from meteragent.config.fields import (
    Exact,
    Settings,
    TierName,
    TopicName,
    found_by,
    refuse,
    setting,
)
from meteragent.errors import InvalidSetting
from meteragent.explain.guarantee import Guarantee
from meteragent.privacy.policy import Policy
from meteragent.privacy.question import per_watt
from meteragent.privacy.tiers import tier_of
from meteragent.stream.releases import tier_name


class TierSettings(Settings):
    """A noisier copy of a policy's releases for another audience, or of a `[[group]]`'s, as
    `[[group.tier]]`. It is made from the very draws of the first, so it costs nothing more: whoever
    has both knows no more than whoever has the first, and whoever has only the copy knows no more
    than its own `epsilon` says. List several tiers in falling order of `epsilon`. Each is made from
    the one before, so audiences together know no more than the one that learns most. Each has an
    output of its own; for files, `sanitize --tier NAME=FILE` names it.
    """  # noqa: D205 - the reference shows it whole

    name: TierName = setting("What people call it.", '"research"')
    epsilon: Exact = setting(
        "The loss of one answer as this audience sees it, at the policy's `radius`: smaller than "
        "that of each answer of the policy.",
        '"0.1"',
    )
    output: TopicName | None = setting(
        "The topic for these releases; by default the policy's topic, a dot and the name.",
        '"meter.sanitized.research"',
        default=None,
    )


class Released(Protocol):
    """A table of what is released, with its tiers."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def output(self) -> str | None:
        """The topic for its releases, if it has one of its own."""

    @property
    def tier(self) -> tuple[TierSettings, ...]:
        """Its noisier copies."""


def _tables(given: object) -> object:
    if not isinstance(given, list | tuple):
        raise InvalidSetting("tier", "is not a list of tables", "write [[policy.tier]]")
    return given


Tiers = Annotated[tuple[TierSettings, ...], BeforeValidator(_tables)]


def tiers_of(policy: Policy, tiers: Iterable[TierSettings], radius: Decimal) -> tuple[Policy, ...]:
    """What is released of each tier. BadSetting: some are no copies."""
    made: list[Policy] = []
    for at, tier in enumerate(tiers):
        above = made[-1] if made else policy

        def make(above: Policy = above, tier: TierSettings = tier) -> None:
            loss = per_watt("epsilon", tier.epsilon, radius)
            made.append(tier_of(above, tier.name, loss))

        refuse(
            [
                InvalidSetting(
                    error.field if error.field == "noise" else f"tier[{at}].{error.field}",
                    error.problem,
                    error.instead,
                )
                for error in found_by(make)
            ]
        )
    return tuple(made)


def promised(
    policy: str, tiers: Iterable[TierSettings], made: Iterable[Policy], radius: Decimal
) -> tuple[Guarantee, ...]:
    """What is promised of those who are told of each tier of the policy of this name."""
    return tuple(
        Guarantee(tier_name(policy, tier.name), its, radius)
        for tier, its in zip(tiers, made, strict=True)
    )


def called_alike(tiers: tuple[TierSettings, ...]) -> Iterator[InvalidSetting]:
    """Tiers of one policy that have one name."""
    names = [tier.name for tier in tiers]
    for at, name in enumerate(names):
        if name in names[:at]:
            problem = f"is that of tier[{names.index(name)}] too"
            yield InvalidSetting(f"tier[{at}].name", problem, "write another one")


def outputs_of(tables: Sequence[Released], first: str) -> dict[str, str]:
    """Name of a table, or of a tier of one -> the topic of its releases: by default, the first."""
    own = {one.name: one.output or first for one in tables}
    tiers = {
        tier_name(one.name, tier.name): tier.output or f"{own[one.name]}.{tier.name}"
        for one in tables
        for tier in one.tier
    }
    return own | tiers


def astray(
    kind: str, tables: Sequence[Released], outputs: Mapping[str, str], taken: Container[str]
) -> Iterator[InvalidSetting]:
    """What would go where other things are, or where more is told than is to be known there.

    `outputs` are the topics of tables by their names, and of their tiers by theirs.
    """
    problem, instead = "is the topic of another stream", "write another one"
    for at, one in enumerate(tables):
        if one.output in taken:
            yield InvalidSetting(f"{kind}[{at}].output", problem, instead)
    of_tables = {outputs[one.name] for one in tables}
    for at, one in enumerate(tables):
        before: set[str] = set()
        for nth, tier in enumerate(one.tier):
            topic = outputs[tier_name(one.name, tier.name)]
            if topic in taken or topic in of_tables or topic in before:
                yield InvalidSetting(f"{kind}[{at}].tier[{nth}].output", problem, instead)
            before.add(topic)
