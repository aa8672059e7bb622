"""What is said of two worlds, and whether the laws of what leaves keep to it.

Everything but the bounds themselves is worked out here anew: which windows a reading is in, which
stretches of time start or end with a window, how likely noise is. The bounds are those that
`Guarantee` says, which are the ones that people read.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from meteragent.config import from_document
from tests.laws.whole_records import LN_2, Law, RandomFunction, Record, Story, World, cells

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from meteragent.config import Config
    from meteragent.explain.guarantee import Guarantee

Stretch = Literal["window", "horizon", "any_horizon"]
STRETCHES: tuple[Stretch, ...] = ("window", "horizon", "any_horizon")


@dataclass(frozen=True)
class Rule:
    """A policy in plain numbers: watts, and seconds."""

    asks: Mapping[str, int] = field(default_factory=lambda: {"avg": 1})
    """Query -> how often its noise halves at each level: its loss for a step, in `LN_2`."""
    top: int = 2
    step: int = 1
    minimum: int = 0
    slots: int = 2
    interval: int = 10
    hop: int | None = None
    horizon: int = 40
    budget: int = 8
    """For a horizon, in `LN_2`; or a share of an account."""
    match: str = ""
    name: str = "all"
    private: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Others, as in a file."""

    @property
    def size(self) -> int:
        return self.slots * self.interval

    @property
    def distance(self) -> int:
        """Between the starts of two windows."""
        return self.hop or self.size

    @property
    def words(self) -> int:
        """How many answers there are to a window."""
        return sum(self.slots if query == "reading" else 1 for query in self.asks)

    @property
    def maximum(self) -> int:
        return self.minimum + self.top * self.step

    def table(self) -> dict[str, Any]:
        """A `[[policy]]`; without its budget and its horizon."""
        return {
            "name": self.name,
            "match": self.match,
            "window": f"{self.size}s",
            "interval": f"{self.interval}s",
            "hop": f"{self.distance}s",
            "grace": "0s",
            "idle": "0s",
            "minimum": f"{self.minimum}W",
            "maximum": f"{self.maximum}W",
            "step": f"{self.step}W",
            "radius": f"{self.step}W",
            "queries": [{"query": q, "epsilon": losses(n)} for q, n in self.asks.items()],
            "epsilon": losses(1),
            "presence": "private" if self.private else "public",
            "min_coverage": "0",
            **self.settings,
        }

    def touched(self, times: Iterable[int]) -> int:
        """How many windows hold one of these times."""
        starts: set[int] = set()
        for time in times:
            newest = time // self.distance * self.distance
            starts |= {*range(newest, time - self.size, -self.distance)}
        return len(starts)

    def in_line(self, first: int, last: int) -> set[int]:
        """When the horizons begin that hold both times, and start or end with a window."""
        return {
            begin
            for begin in range(last - self.horizon + 1, first + 1)
            if not begin % self.distance or not (begin + self.horizon - self.size) % self.distance
        }


def losses(count: int) -> str:
    return str(count * LN_2)


def config_of(rules: Sequence[Rule], **document: Any) -> Config:  # noqa: ANN401 - as in a file
    """The configuration with these policies; they have shares if it has a `[budget]`."""
    tables = [
        rule.table()
        | (
            {"share": losses(rule.budget)}
            if "budget" in document
            else {"budget": losses(rule.budget), "horizon": f"{rule.horizon}s"}
        )
        for rule in rules
    ]
    return from_document({"policy": tables, **document}, Path(), {})


def noise_of(rules: Sequence[Rule], config: Config) -> RandomFunction:
    """The random function of these policies."""
    laws = {(halvings, rule.top) for rule in rules for halvings in rule.asks.values()}
    digests = {one.name: one.policy.digest for one in config.assigned}
    return RandomFunction({digests[rule.name]: rule.words for rule in rules}, cells(sorted(laws)))


# Two worlds.


@dataclass(frozen=True)
class Apart:
    """How far two worlds are apart, and in which stretch of time."""

    rules: tuple[Rule, ...]
    """Of the meter of which something differs."""
    radius: Decimal
    times: frozenset[int]

    def within(self, stretch: Stretch) -> bool:
        """Whether all that differs lies in such a stretch."""
        horizon, first, last = self.rules[0].horizon, min(self.times), max(self.times)
        if stretch == "window":
            return len(self.rules) == 1 == self.rules[0].touched(self.times)
        if stretch == "any_horizon":
            return last - first < horizon
        return bool(set.intersection(*(rule.in_line(first, last) for rule in self.rules)))


def apart(rules: Sequence[Rule], story: Story, one: World, other: World) -> Apart | None:
    """None: they are the same, or nothing is promised of them.

    Where presence is private, nothing is promised of worlds that move the partition's clock
    otherwise: it counts as known (`mechanism.md`, claim 9).
    """
    slots = [(message.meter, time) for message in story.log for time in message.at]
    differ = [
        (meter, time, a, b) for (meter, time), a, b in zip(slots, one, other, strict=True) if a != b
    ]
    if len({meter for meter, *_ in differ}) != 1:
        return None
    match = max((r.match for r in rules if differ[0][0].startswith(r.match)), key=len)
    its = tuple(rule for rule in rules if rule.match == match)
    radius = Decimal(0)
    for _, _, a, b in differ:
        if a is not None and b is not None:
            radius = max(radius, abs(Decimal(str(a)) - Decimal(str(b))))
        elif all(rule.private for rule in its) and story.clocks(one) == story.clocks(other):
            radius = max(radius, *(Decimal(rule.maximum - rule.minimum) for rule in its))
        else:
            return None
    return Apart(its, radius, frozenset(time for _, time, *_ in differ))


def said(config: Config, its: Apart, stretch: Stretch) -> Fraction:
    """The bound on log-odds, in `LN_2`, that is said of them."""
    named: dict[str, Guarantee] = {policy.name: policy.guarantee for policy in config.policy}
    guarantee = replace(named[its.rules[0].name], radius=its.radius)
    loss: Callable[[Guarantee], int] = attrgetter(stretch)
    return Fraction(guarantee.together(loss)) / Fraction(LN_2)


class Breach(NamedTuple):
    """Odds beyond what is said."""

    stretch: Stretch
    one: World
    other: World
    said: Fraction
    likely: Fraction
    """How likely the record is in the one world ..."""
    unlikely: Fraction
    """... and in the other."""
    record: Hashable


class Judged(NamedTuple):
    """What all pairs of worlds come to."""

    breach: Breach | None
    """The one with the fewest differences, if there is any."""
    reached: frozenset[Stretch]
    """In which stretches the odds of some pair are as far apart as is said."""


def judged(
    rules: Sequence[Rule],
    story: Story,
    laws: Mapping[World, Law],
    seen: Callable[[Record], Hashable],
) -> Judged:
    """Compare every world with every other, by what is seen of the records."""
    views = {world: _as_seen(law, seen) for world, law in laws.items()}
    whole = math.lcm(*(p.denominator for view in views.values() for p in view.values()))
    counts = {w: {r: int(p * whole) for r, p in view.items()} for w, view in views.items()}
    breaches: list[tuple[int, Decimal, Breach]] = []
    reached: set[Stretch] = set()
    bounds: dict[tuple[str, Decimal, Stretch], Fraction] = {}
    for one, other in itertools.permutations(counts, 2):
        its = apart(rules, story, one, other)
        for stretch in STRETCHES if its is not None else ():
            if its is None or not its.within(stretch):
                continue
            key = its.rules[0].name, its.radius, stretch
            if key not in bounds:
                bounds[key] = said(story.config, its, stretch)
            bound = bounds[key]
            for record, p in counts[one].items():
                q = counts[other].get(record, 0)
                odds = p**bound.denominator
                most = q**bound.denominator << bound.numerator
                if odds == most:
                    reached.add(stretch)
                elif odds > most:
                    likely, unlikely = Fraction(p, whole), Fraction(q, whole)
                    breach = Breach(stretch, one, other, bound, likely, unlikely, record)
                    breaches.append((len(its.times), its.radius, breach))
    nearest = min(breaches, key=itemgetter(0, 1), default=None)
    return Judged(nearest and nearest[2], frozenset(reached))


def _as_seen(law: Law, seen: Callable[[Record], Hashable]) -> dict[Hashable, Fraction]:
    view: dict[Hashable, Fraction] = defaultdict(Fraction)
    for record, chance in law.items():
        view[seen(record)] += chance
    return view
