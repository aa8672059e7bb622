"""What is released, chosen in Python: a preset, or settings one by one."""

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from meteragent.commands.explain import explanations, text
from meteragent.config import Config, from_document, keyfile, load
from meteragent.config.secretfile import SecretFile
from meteragent.errors import ConfigRefused, InvalidSetting
from meteragent.explain.document import Explanation
from meteragent.formats.mapping import Meaning, Stamp
from meteragent.formats.quantity import MEASURED, UNITS, Kind, Quantity, refuse_other_units
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from meteragent.privacy.units import BASE, Measured

WIDTH = 100
KeyLike = NoiseKey | str | Path | None
"""A key, or the file that holds it; None takes the one that an `agent.toml` names."""


@dataclass(frozen=True, slots=True)
class Explained:
    """What `meteragent explain` says: as text where it is shown, as numbers in `policies`."""

    policies: tuple[Explanation, ...]

    def __str__(self) -> str:
        return "\n\n".join(text(one, WIDTH) for one in self.policies)

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True)
class PolicyPlan:
    """What is released of which meters, and at what price."""

    config: Config

    @property
    def policies(self) -> tuple[Policy, ...]:
        """Those of meters, and those of groups."""
        return (*self.config.policies, *(one.policy for one in self.config.groups))

    def explain(self) -> Explained:
        """What it protects, what it costs and what it is good for."""
        return Explained(tuple(explanations(self.config)))

    def meaning(self, kind: Kind, unit: str | None, stamp: Stamp) -> Meaning:
        """What numbers of a frame mean. InvalidSetting: they cannot mean that."""
        _refuse_unknown("kind", kind, UNITS)
        _refuse_unknown("stamp", stamp, get_args(Stamp))
        tables = (*self.config.policy, *self.config.group)
        intervals = {one.interval for one in tables}
        at_end = stamp == "end" or kind == "register"
        if len(intervals) > 1 and (at_end or kind == "energy"):
            name = "stamp" if kind == "power" else "kind"
            problem = "needs to know the interval, and policies have several"
            raise InvalidSetting(name, problem, "protect with one after the other")
        interval = min(intervals)
        quantity = Quantity(kind, unit or _usual(kind, tables[0].quantity), interval)
        refuse_other_units(quantity.unit, {one.name: one.quantity for one in tables})
        return Meaning(quantity, interval, interval if at_end else 0)

    def noise_key(self, key: KeyLike) -> NoiseKey:
        """The secret that noise is derived from. KeyRefused: there is none, or others read it."""
        if key is None:
            return self.config.agent.noise_key()
        return key if isinstance(key, NoiseKey) else keyfile.load(SecretFile(Path(key)))


def policy(preset: str | None = None, /, **settings: Any) -> PolicyPlan:  # noqa: ANN401 - any setting
    """Choose what is released: by what to hide, and what is to be otherwise.

    `settings` are those of a `[[policy]]` table, written the same way; numbers that money-like
    arithmetic needs exactly, such as `epsilon`, as text.

    >>> import meteragent as ma
    >>> plan = ma.policy("tv-content", interval="1m")
    >>> print(plan.explain().policies[0].name)
    tv-content
    >>> ma.policy("tv-content", window="no day")
    Traceback (most recent call last):
    meteragent.errors.ConfigRefused: window: is not a duration; write for example "15m" or "1h30m"

    ConfigRefused: what is wrong with it, all at once.
    """
    return _planned("policy", preset, settings)


def group_policy(preset: str | None = None, /, **settings: Any) -> PolicyPlan:  # noqa: ANN401 - any setting
    """Choose what is released of the sums of groups of homes, such as the feeder that they are on.

    `settings` are those of a `[[group]]` table, written the same way.

    >>> import meteragent as ma
    >>> plan = ma.group_policy("feeder", interval="1m", min_homes=50)
    >>> print(plan.explain().policies[0].of)
    groups

    ConfigRefused: what is wrong with it, all at once.
    """
    return _planned("group", preset, settings)


def policies(file: str | Path) -> PolicyPlan:
    """What an `agent.toml` releases: all of its policies, of meters and of groups, and its key."""
    config = load(Path(file), os.environ)
    config.refuse_tiers("by the library")
    return PolicyPlan(config)


def _planned(table: str, preset: str | None, settings: dict[str, Any]) -> PolicyPlan:
    chosen = {} if preset is None else {"preset": preset}
    document: dict[str, Any] = {table: [{"name": preset or table, **chosen, **settings}]}
    if settings.get("quantity") in BASE:
        document["input"] = {"unit": BASE[settings["quantity"]]}
    try:
        config = from_document(document, Path(), {})
        config.refuse_tiers("by the library")
        return PolicyPlan(config)
    except ConfigRefused as refused:
        raise ConfigRefused([_as_argument(problem) for problem in refused.problems]) from None


def create_key(path: str | Path) -> None:
    """Make a new noise key, for its owner alone. KeyRefused: there is a file already."""
    keyfile.create(Path(path))


def _refuse_unknown(name: str, said: str, known: Collection[str]) -> None:
    if said not in known:
        instead = " or ".join(f'"{one}"' for one in known)
        raise InvalidSetting(name, "is none", f"write {instead}")


def _usual(kind: Kind, quantity: Measured) -> str:
    """The unit of numbers that do not say theirs."""
    return next(
        unit for unit, ratio in UNITS[kind].items() if ratio == 1 and MEASURED[unit] == quantity
    )


def _as_argument(problem: InvalidSetting) -> InvalidSetting:
    name = problem.field.removeprefix("policy[0].").removeprefix("group[0].")
    return InvalidSetting(name, problem.problem, problem.instead)
