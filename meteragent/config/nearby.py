"""Settings near those of a policy: other windows, radii, epsilons and queries, and all else alike.

A budget pays for every window, so that what is compared is what windows tell. The grid is as fine
as the noise asks for: a twentieth of it, or less.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, get_args

from pydantic import ValidationError

from meteragent.config.policy import PolicySettings
from meteragent.config.presets import presets
from meteragent.config.problems import problems
from meteragent.privacy.calendar import Unit
from meteragent.privacy.units import duration, format_watts

WINDOWS = ("15m", "1h", "3h", "6h", "12h", "24h")
RADII = tuple(map(Decimal, (20, 50, 100, 200, 500)))
EPSILONS = tuple(map(Decimal, ("0.1", "0.25", "0.5", "1", "2")))
QUERIES = (("avg",), ("avg", "max"))
STEPS = tuple(map(Decimal, (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)))
FINER, FINEST = (2, 5, 10, 20, 50), 100
_FINE = 20
"""Levels that the noise is as wide as, or more."""
_REPLACED = {"window", "timezone", "hop", "offset", "noise", "budget", "share", "step"} | {
    *("radius", "epsilon", "queries", "resolution", "output"),
}

Raw = dict[str, Any]
Place = tuple[int, int, int, int]


@dataclass(frozen=True)
class Nearby:
    """What is near the settings of one policy, as a file writes them."""

    raw: Mapping[str, Any]
    own: PolicySettings

    @cached_property
    def windows(self) -> tuple[str, ...]:
        """Their lengths, its own among them."""
        own = self._own_window
        lengths = {text: duration("window", text) for text in WINDOWS}
        return tuple(sorted({*WINDOWS, own}, key=lambda t: lengths.get(t, self.own.policy.size)))

    @cached_property
    def _own_window(self) -> str:
        """As one of `WINDOWS`, if it is, or as it is written."""
        known = (text for text in WINDOWS if duration("window", text) == self.own.window)
        return next(known, str(self.raw.get("window", self._preset.get("window"))))

    @cached_property
    def radii(self) -> tuple[Decimal, ...]:
        """In watts."""
        return tuple(sorted({*RADII, self.own.radius}))

    @cached_property
    def epsilons(self) -> tuple[Decimal, ...]:
        """Of one answer."""
        return tuple(sorted({*EPSILONS, self.own.epsilon}))

    @cached_property
    def queries(self) -> tuple[tuple[str, ...], ...]:
        """What is asked; of its own, what needs neither parts nor hours."""
        own = tuple(asked.query for asked in self.own.queries)
        plain = all(name.isalnum() and name != "reading" for name in own)
        return (*QUERIES, own) if plain and own not in QUERIES else QUERIES

    @cached_property
    def start(self) -> Place:
        """Where its own settings are."""
        own = tuple(asked.query for asked in self.own.queries)
        return (
            self.windows.index(self._own_window),
            self.radii.index(self.own.radius),
            self.epsilons.index(self.own.epsilon),
            self.queries.index(own) if own in self.queries else 0,
        )

    def places(self) -> Iterator[Place]:
        """Everything that there is, in the order of a table that is read row by row."""
        axes = (self.windows, self.radii, self.epsilons, self.queries)
        w, r, e, q = (range(len(axis)) for axis in axes)
        yield from product(w, r, e, q)

    @property
    def many(self) -> int:
        """How many places there are."""
        return prod(map(len, (self.windows, self.radii, self.epsilons, self.queries)))

    def document(self, place: Place) -> Raw:
        """What a file would say there, with a budget for every window."""
        window, radius, epsilon, queries = place
        asked = self.queries[queries]
        kept = {name: given for name, given in self.raw.items() if name not in _REPLACED}
        document = kept | {
            "window": self.windows[window],
            "queries": [*asked],
            "epsilon": f"{self.epsilons[epsilon].normalize():f}",
            "radius": format_watts(self.radii[radius]),
            **self._grid(self.radii[radius], self.epsilons[epsilon]),
        }
        if "resolution" in self._preset:
            document.setdefault("resolution", document["step"])
        if self.windows[window] in get_args(Unit):
            document["timezone"] = self.own.timezone
        one = self.epsilons[epsilon] * len(asked)
        windows = PolicySettings.model_validate(document | {"budget": one}).policy.terms.per_horizon
        document["budget"] = f"{(one * windows).normalize():f}"
        return {name: its for name, its in document.items() if self._preset.get(name) != its}

    def settings(self, place: Place) -> tuple[Raw, PolicySettings | str]:
        """The same, and what it means; or why it means nothing."""
        try:
            document = self.document(place)
            return document, PolicySettings.model_validate(document)
        except ValidationError as error:
            return {}, "; ".join(f"{p.field} {p.problem}" for p in problems(error))

    @cached_property
    def _preset(self) -> Raw:
        return presets()[self.own.preset].policy if self.own.preset else {}

    def _grid(self, radius: Decimal, epsilon: Decimal) -> dict[str, str]:
        """As fine as the noise asks for, and no finer than that by much."""
        own, noise = self.own, radius / epsilon
        if noise / 100 <= own.step <= noise / 4 and not radius % own.step:
            return {"step": format_watts(own.step)}
        if fitting := max(filter(self._fits(radius), _small_beside(noise)), default=None):
            return {"step": format_watts(fitting)}
        step = min(own.step, radius)
        finer = (part for part in FINER if step / part * _FINE <= noise)
        return {"step": format_watts(step), "resolution": format_watts(step / next(finer, FINEST))}

    def _fits(self, radius: Decimal) -> Callable[[Decimal], bool]:
        """Whether the radius and the range are whole numbers of a step."""
        span = self.own.maximum - self.own.minimum
        return lambda step: not radius % step and not span % step


def _small_beside(noise: Decimal) -> Iterator[Decimal]:
    """Steps that are small beside the noise."""
    return (step for step in STEPS if step * _FINE <= noise)


def as_toml(document: Mapping[str, Any]) -> str:
    """A `[[policy]]` table."""
    lines = [f"{name} = {_written(value)}" for name, value in document.items()]
    return "\n".join(["[[policy]]", *lines, ""])


def _written(value: object) -> str:
    if isinstance(value, Decimal):
        return f'"{value:f}"'
    return json.dumps(value, ensure_ascii=False)
