"""A group of homes, read as one meter: each of its panes is the sum of what its homes draw in it.

A home's pane is the average of its readings, on a grid of levels that its group has too; what
the group holds for a slot is the sum of these, and everything that may be asked of a meter's
readings may be asked of them (`mechanism.md`, claim 13). So a home that differs by `r` watts in
every reading moves each sum by `r` watts at most, however many homes there are: one draw is for all
of them.

A pane in which a home was not heard is filled with its own last one of the same window, and before
the first of these with the level nearest 0 W. What is there is never scaled up for what is not: a
home would then count for more than its readings say.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from meteragent.errors import InvalidSetting
from meteragent.privacy.arrays import Integers, Mask
from meteragent.privacy.calendar import Calendar
from meteragent.privacy.domain import ABSENT, Domain, Levels
from meteragent.privacy.layers import Layers, is_layered, layers_of
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import NAMED
from meteragent.privacy.question import Question
from meteragent.privacy.terms import JOINT
from meteragent.privacy.units import WATT
from meteragent.privacy.windows import Windows


@dataclass(frozen=True, slots=True)
class PerHome:
    """What is taken of each home of a group, and how many homes a group has at least."""

    minimum: Decimal
    """Of a reading, in watts; lower ones count as this."""
    maximum: Decimal
    interval: int
    """The distance between two readings, in milliseconds."""
    least: int = 1
    """Groups of fewer members are withheld. The promise does not depend on it."""


@dataclass(frozen=True, kw_only=True)
class GroupPolicy(Policy):
    """What is released of groups: `domain` is that of sums, and `interval` is a pane.

    Presence is private: every window of a known group is released on time, whoever was heard.
    """

    homes: PerHome

    def __post_init__(self) -> None:
        asked = tuple(self._with_layers(one) for one in self.questions)
        object.__setattr__(self, "questions", asked)  # the range of homes says how many layers
        super().__post_init__()
        if self.presence != "private":
            raise InvalidSetting("presence", "is private in groups", "leave it out")
        if self.fill_limit:
            raise InvalidSetting("fill", "is as it is in groups", "leave it out")
        if self.asking.of_hours:
            raise InvalidSetting("queries", "asks about some hours of groups", "ask about all")
        if self.windows.overlap > 1:
            raise InvalidSetting("hop", "is not for groups", "leave it out")
        if self.homes.least < 1:
            raise InvalidSetting("min_homes", "is below one", "write for example 10")
        for name, low in (("minimum", self.domain.minimum), ("home_minimum", self.homes.minimum)):
            if low % self.domain.resolution:
                fine, unit = f"{self.domain.resolution:f}", self.domain.unit
                problem = f"is no whole number of the steps of {fine} {unit} that sums are made of"
                raise InvalidSetting(name, problem, f'write for example "-{fine}{unit}"')
        self.home  # noqa: B018 - refuses a domain that no home can have
        if self.layers:
            self._refuse_what_has_no_layers()

    def _with_layers(self, asked: Question) -> Question:
        if not is_layered(asked.query):
            return asked
        count = layers_of(asked.query, self.home.domain).count
        return replace(asked, query=replace(asked.query, layers=count))

    def _refuse_what_has_no_layers(self) -> None:
        if self.windows.slots > 1:
            problem = "asks layers of windows of several panes, and each home has one load in one"
            raise InvalidSetting("queries", problem, 'write window = "15m"')
        if self.noise == JOINT:
            problem = "is joint, and layers lose no more than one answer without"
            raise InvalidSetting("noise", problem, "leave it out")
        if self.domain.minimum > 0:
            raise InvalidSetting("minimum", "is above 0 W, and layers are not", "leave it out")
        if self.domain.unit != WATT:
            raise InvalidSetting("queries", "asks layers of what is no power", "leave them out")

    @cached_property
    def home(self) -> Policy:
        """What is taken of each home: the average of each pane, as a policy that asks for that."""
        domain, homes = self.domain, self.homes
        try:
            own = Domain(homes.minimum, homes.maximum, domain.step, domain.resolution, domain.unit)
        except InvalidSetting as error:
            name = error.field if error.field == "step" else f"home_{error.field}"
            raise InvalidSetting(name, error.problem, error.instead) from None
        return Policy(
            domain=own,
            questions=(Question(NAMED["avg"], self.questions[0].nano),),
            size=self.interval,
            interval=homes.interval,
            hop=self.interval,
            grace=self.grace,
            idle=self.idle,
            budget=self.budget,
            horizon=self.horizon,
            presence="private",
        )

    @property
    def widest(self) -> Decimal:
        """How far apart two versions of a home can be, in watts."""
        return self.homes.maximum - self.homes.minimum

    @cached_property
    def rest(self) -> int:
        """The level of a home that was not heard: that nearest 0 W."""
        return int(self.home.domain.levels(np.zeros(1))[0])

    @cached_property
    def layers(self) -> tuple[Layers, ...]:
        """The layers of homes that it asks for, by query."""
        queries = (asked.query for asked in self.questions)
        return tuple(layers_of(one, self.home.domain) for one in queries if is_layered(one))

    def columns(self, levels: Levels) -> Iterator[Levels]:
        """What is added up of the levels of homes: these, and each of their layers."""
        yield levels
        for layers in self.layers:
            yield from layers.of(levels)

    @cached_property
    def at_rest(self) -> Integers:
        """The same of a home that was not heard."""
        columns = self.columns(np.array([self.rest]))
        return np.array([int(column[0]) for column in columns])

    def levels(self, sums: Integers, homes: Integers) -> Levels:
        """The group's level where those of so many homes add up to this; clipped to its range."""
        return self._clipped(sums + homes * int(self.homes.minimum / self.domain.resolution))

    def levels_of(self, sums: Integers, homes: Integers) -> Levels:
        """levels[group, column] where the columns of so many homes add up to sums[group, column].

        A layer begins at 0 W, whatever the least is that a home may draw.
        """
        own = self.levels(sums[:, 0], homes)[:, np.newaxis]
        return np.concatenate([own, self._clipped(sums[:, 1:])], axis=1)

    def _clipped(self, sums: Integers) -> Levels:
        lowest = int(self.domain.minimum / self.domain.resolution)
        levels: Levels = np.clip(sums - lowest, 0, self.domain.top)
        return levels.astype(self.domain.dtype)

    def _defining(self) -> dict[str, Any]:
        homes = {
            "minimum": f"{self.homes.minimum.normalize():f}",
            "maximum": f"{self.homes.maximum.normalize():f}",
            "interval_ms": self.homes.interval,
        }
        return {**super()._defining(), "homes": homes}

    def _promised(self) -> dict[str, Any]:
        promised = super()._promised()
        return {**promised, "homes": {**promised["homes"], "least": self.homes.least}}


def pane_of(interval: int, lengths: dict[str, Any]) -> int:
    """How long the panes of windows are that have a reading every `interval`."""
    calendar = lengths.get("calendar")
    offset: int = lengths.get("offset", 0)
    if isinstance(calendar, Calendar):
        return calendar.windows(interval, offset).panes.size
    return Windows(lengths["size"], lengths["hop"], interval, offset).panes.size


def without_gaps(levels: Levels, last: Levels, rest: int) -> Levels:
    """Panes of homes, with those of homes that were not heard filled.

    `last` is each home's last pane of the same window, or absent too. Postcondition: what is
    filled is a copy of one of the home's own, or the constant `rest`, as follows from which of
    its panes are there and from nothing else.
    """
    own: Levels = np.where(levels == ABSENT, last, levels)
    filled: Levels = np.where(own == ABSENT, rest, own)
    return filled


def added_up(levels: Levels, homes: Integers, groups: Integers, count: int) -> Integers:
    """The sum of the levels of each of so many groups: member `n` is a home of a group.

    Precondition: no home is twice in a group. Postcondition: a home that moves by `j` levels
    moves the sums of its groups by `j`, and no other sum.
    """
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, groups, levels[homes].astype(np.int64))
    return sums


def heard(levels: Levels, homes: Integers, groups: Integers, count: int) -> Mask:
    """Which of so many groups have a home that is there."""
    found = np.zeros(count, dtype=np.bool_)
    found[groups[levels[homes] != ABSENT]] = True
    return found
