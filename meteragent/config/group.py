"""The `[[group]]` tables: what is released of the sums of groups of homes, and at what price."""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

from pydantic import model_validator

from meteragent.config.budget import Budget, with_shares
from meteragent.config.fields import (
    BadSetting,
    Many,
    Power,
    SomeTime,
    TopicName,
    refuse,
    setting,
)
from meteragent.config.policy import PolicySettings
from meteragent.config.presets import filled
from meteragent.errors import InvalidSetting
from meteragent.privacy.exact import epsilon_at
from meteragent.privacy.group import GroupPolicy, PerHome, pane_of
from meteragent.privacy.members import Reserve
from meteragent.stream.meters import longest_prefix

NOT_OF_GROUPS = (*("hop", "min_coverage", "fill", "fill_limit", "readings", "pseudonyms"),)
"""Settings of a policy that groups have not."""


class GroupSettings(PolicySettings):
    """What is released of the groups of homes whose id begins with `match`, and at what price.

    A group is read as one meter. Its reading is the sum, over its homes, of each home's average in
    every pane (mostly a quarter of an hour). All settings of a `[[policy]]` can be set here too,
    for groups in place of meters, except {left_out}. `minimum`, `maximum` and `step` are those of
    the sum, and `radius` is the difference that is hidden in each reading of one *home*. One draw
    is for all homes: the error of a sum does not grow with their number. Presence is private:
    every window of a known group is released on time, whoever was heard. A home that was not
    heard in a pane counts with its last one in that window, or else with 0 W. `kafka.groups`, or a
    file for `meteragent sanitize --groups`, says which homes are in which groups.
    """

    preset: Literal["feeder", "feeder-15m"] | None = setting(  # type: ignore[assignment]
        "What to hide of each home, instead of a choice of numbers: it sets whatever is not set "
        "here.",
        '"feeder"',
        default=None,
    )
    presence: Literal["private"] = setting("Private, always.", default="private")
    interval: SomeTime = setting("The distance between two readings of a home, a slot.", '"10s"')
    maximum: Power = setting("The highest sum; higher ones count as this.", '"500kW"')
    home_minimum: Power = setting(
        "The lowest reading of a home; lower ones count as this. Negative for export.", default="0"
    )
    home_maximum: Power = setting(
        "The highest reading of a home. With the whole range from `home_minimum` to here as "
        "`radius`, the promise is ordinary differential privacy for a home, at the price of that "
        "much noise.",
        '"24kW"',
    )
    output: TopicName | None = setting(
        "The topic for these releases; by default, `kafka.groups_output`.",
        '"meter.feeders"',
        default=None,
    )
    min_homes: Many = setting(
        "Groups with fewer members are withheld, for law and trust: the promise does not depend "
        "on how many there are.",
        default=10,
    )

    @cached_property
    def policy(self) -> GroupPolicy:
        """What the settings mean."""
        lengths = self._lengths()
        return GroupPolicy(
            domain=self._domain(),
            questions=self._questions(),
            interval=pane_of(self.interval, lengths),
            grace=self.grace,
            idle=self.delay or self.idle,
            budget=self._budget(),
            horizon=self.horizon,
            presence="private",
            on_exhausted=self.on_exhausted,
            noise=self.noise,
            homes=PerHome(self.home_minimum, self.home_maximum, self.interval, self.min_homes),
            **lengths,
        )

    @model_validator(mode="before")
    @classmethod
    def _of_preset(cls, settings: object) -> object:
        return filled(settings, "groups")

    @model_validator(mode="after")
    def _is_of_groups(self) -> "GroupSettings":
        astray = [name for name in NOT_OF_GROUPS if name in self.model_fields_set]
        refuse([InvalidSetting(name, "is not for groups", "leave it out") for name in astray])
        return self


GroupSettings.__doc__ = (GroupSettings.__doc__ or "").replace(
    "{left_out}", ", ".join(f"`{name}`" for name in NOT_OF_GROUPS)
)


def reserved(budget: Budget | None, groups: Sequence[GroupSettings]) -> tuple[GroupSettings, ...]:
    """The tables, each with its share of what homes reserve, where there is a `[budget]`.

    BadSetting: everything that is wrong with it.
    """
    if budget is None or not groups:
        return tuple(groups)
    if budget.groups is None:
        problem = "is missing, and there is a [[group]]"
        raise BadSetting([InvalidSetting("budget.groups", problem, 'write for example "1"')])
    resolved = with_shares(budget, groups, budget.groups, "group")
    for match in dict.fromkeys(group.match for group in resolved):
        asked = sum(group.policy.budget for group in resolved if group.match == match)
        if asked > reserve_of(budget, resolved).nano:
            enough = epsilon_at(asked, budget.radius).normalize()
            problem = f'is less than what a group "{match}" may spend'
            raise BadSetting([InvalidSetting("budget.groups", problem, f'write "{enough:f}"')])
    return tuple(resolved)


def reserve_of(budget: Budget | None, groups: Sequence[GroupSettings]) -> Reserve:
    """What each home may lose to all groups that it is in: precondition, there are some.

    Without a `[budget]`, as much as one group of each table may spend.
    """
    every = sum(group.policy.budget for group in groups)
    nano = every if budget is None or budget.groups is None else budget.reserved
    prefixes = list(dict.fromkeys(group.match for group in groups))

    def most(group: str) -> int:
        of = longest_prefix(prefixes, group)
        own = (one.policy.budget for one in groups if of is not None and one.match == prefixes[of])
        return sum(own)

    lasting = max(group.policy.windows.lasting(1) for group in groups)
    return Reserve(nano, groups[0].horizon, most, lasting)


def namesakes(
    policies: Sequence[PolicySettings], groups: Sequence[GroupSettings]
) -> list[InvalidSetting]:
    """What is on both is told apart by the names of policies alone: in metrics, for one."""
    own = {policy.name: at for at, policy in enumerate(policies)}
    return [
        InvalidSetting(
            f"group[{at}].name", f"is that of policy[{own[group.name]}] too", "write another one"
        )
        for at, group in enumerate(groups)
        if group.name in own
    ]


def unlike(groups: Sequence[GroupSettings]) -> list[InvalidSetting]:
    """Horizons that differ, where what a home loses to all its groups is to be added up."""
    return [
        InvalidSetting(
            f"group[{at}].horizon", "is not that of group[0]", "write the same, or a [budget]"
        )
        for at, group in enumerate(groups)
        if group.horizon != groups[0].horizon
    ]
