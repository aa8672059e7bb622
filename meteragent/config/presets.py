"""Presets: what somebody wants to hide -> the settings of a policy, and what speaks for them.

They are data, in one file of the package that `python -m simulations.choose` writes.
"""

import tomllib
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from meteragent.config.fields import BadSetting, Exact, Power, Settings, Text
from meteragent.errors import InvalidSetting
from meteragent.explain.words import power_text

FILE = "presets.toml"
PROVISIONAL = "provisional"


class Evidence(Settings):
    """What an attacker makes of a home under a preset's own settings."""

    attack: Text
    """What is known to whom nothing but the secret is hidden; completes "an attacker who"."""
    goal: Text
    """What counts as success; a sentence without its subject, too."""
    success: Exact
    """The share of attempts that succeeded."""
    low: Exact
    high: Exact
    """Where that share lies, with 95 % confidence."""
    chance: Exact
    """The share that guessing without any release would get."""
    error: Power
    """The expected error of one release."""
    source: Text
    """The command that measured it, or `provisional`."""

    @model_validator(mode="after")
    def _is_coherent(self) -> "Evidence":
        if not 0 <= self.low <= self.success <= self.high <= 1 or not 0 <= self.chance <= 1:
            raise InvalidSetting(
                "success", "is not between low and high, in shares of 1", 'write for example "0.02"'
            )
        return self

    @property
    def words(self) -> str:
        """What it shows, in one sentence."""
        measured = (
            f"An attacker who {self.attack} {self.goal} in {_percent(self.success)} of cases "
            f"({_percent(self.low)} to {_percent(self.high)} with 95 % confidence; guessing: "
            f"{_percent(self.chance)}). One release is off by {power_text(self.error)} on average."
        )
        if self.source == PROVISIONAL:
            return f"{measured} These numbers are provisional: reasoned, not simulated yet."
        return f"{measured} Measured by `{self.source}`."


class Preset(Settings):
    """One preset."""

    hides: Text
    why: Annotated[str, BeforeValidator(str.strip)] = Field(min_length=1)
    policy: dict[str, Any]
    """Settings of a policy, as a file would set them."""
    evidence: Evidence


@cache
def presets() -> dict[str, Preset]:
    """All of them, by name, in the order of the file."""
    text = (files("meteragent") / "config" / FILE).read_text("utf-8")
    return {
        name: Preset.model_validate(table)
        for name, table in tomllib.loads(text, parse_float=Decimal).items()
    }


def filled(settings: object) -> object:
    """The settings of a policy, with those of its preset that it does not set itself."""
    if not isinstance(settings, dict) or settings.get("preset") is None:
        return settings
    preset = next((one for name, one in presets().items() if name == settings["preset"]), None)
    if preset is None:
        known = ", ".join(f'"{known}"' for known in presets())
        raise BadSetting([InvalidSetting("preset", "is no preset", f"write one of {known}")])
    return preset.policy | settings


def _percent(share: Decimal) -> str:
    return f"{(share * 100).normalize():f} %"
