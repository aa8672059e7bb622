"""Presets: what somebody wants to hide -> the settings of a policy, and what speaks for them.

They are data, in one file of the package that `python -m simulations.choose` writes.
"""

import tomllib
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, model_validator

from meteragent.config.fields import BadSetting, Exact, Power, Settings, Text
from meteragent.errors import InvalidSetting
from meteragent.explain.words import power_text
from meteragent.privacy.calendar import Unit

FILE = "presets.toml"
PROVISIONAL = "provisional"


class Evidence(Settings):
    """What an attacker makes of a home under a preset's own settings."""

    attack: Text
    """What is known to whom nothing but the secret is hidden; completes "an attacker who"."""
    goal: Text
    """What counts as success; a sentence without its subject, too."""
    contest: Text
    """The event of which the releases tell most."""
    success: Exact
    """In which share of cases the best attacker succeeds: worked out, rounded up."""
    most: Exact
    """The same for the case that shows most."""
    chance: Exact
    """The share that guessing without any release would get."""
    habit: Text
    """What adds up over a week and over four."""
    week: Exact
    weeks: Exact
    """In which share of cases the best attacker succeeds then, of one week and of four."""
    guessed: Exact
    """The share that guessing would get of it."""
    error: Power
    """The expected error of one release."""
    source: Text
    """The command that measured it, or `provisional`."""

    @model_validator(mode="after")
    def _is_coherent(self) -> "Evidence":
        shares = (self.chance, self.success, self.most, self.guessed, self.week, self.weeks)
        if not self.success <= self.most or not all(0 <= share <= 1 for share in shares):
            raise InvalidSetting(
                "success", "is not a share of 1, or more than most", 'write for example "0.02"'
            )
        return self

    @property
    def words(self) -> str:
        """What it shows, in one sentence."""
        found = (
            f"An attacker who {self.attack} {self.goal} in at most {_percent(self.success)} of "
            f"cases ({self.contest}; in the worst case {_percent(self.most)}; guessing: "
            f"{_percent(self.chance)}). What people do every day adds up ({self.habit}): in a week "
            f"{_percent(self.week)}, in four {_percent(self.weeks)}, guessing "
            f"{_percent(self.guessed)}. One release is off by {power_text(self.error)} on average."
        )
        if self.source == PROVISIONAL:
            return f"{found} These numbers are provisional: reasoned, not worked out yet."
        return f"{found} Worked out by `{self.source}`."


class Preset(Settings):
    """One preset."""

    of: Literal["meters", "groups"] = "meters"
    """Whether it is for a `[[policy]]`, or for a `[[group]]`."""
    hides: Text
    why: Annotated[str, BeforeValidator(str.strip)] = Field(min_length=1)
    policy: dict[str, Any]
    """Settings of a policy, as a file would set them."""
    evidence: Evidence


@cache
def presets(of: str = "meters") -> dict[str, Preset]:
    """Those of meters, or of groups, by name, in the order of the file."""
    text = (files("meteragent") / "config" / FILE).read_text("utf-8")
    every = {
        name: Preset.model_validate(table)
        for name, table in tomllib.loads(text, parse_float=Decimal).items()
    }
    return {name: one for name, one in every.items() if one.of == of}


def filled(settings: object, of: str = "meters") -> object:
    """The settings of a policy, with those of its preset that it does not set itself.

    A preset's timezone goes with its window: one of a length has none.
    """
    if not isinstance(settings, dict) or settings.get("preset") is None:
        return settings
    preset = next((one for name, one in presets(of).items() if name == settings["preset"]), None)
    if preset is None:
        known = ", ".join(f'"{known}"' for known in presets(of))
        raise BadSetting([InvalidSetting("preset", "is not a preset", f"write one of {known}")])
    _refuse_other_than_power(settings)
    own = preset.policy
    if settings.get("window", own["window"]) not in get_args(Unit):
        own = {name: value for name, value in own.items() if name != "timezone"}
    return own | settings


def _refuse_other_than_power(settings: dict[str, Any]) -> None:
    if settings.get("quantity", "power") != "power":
        instead = "write settings one by one, or leave out quantity"
        raise BadSetting([InvalidSetting("preset", "is for power alone", instead)])


def _percent(share: Decimal) -> str:
    return f"{(share * 100).normalize():f} %"
