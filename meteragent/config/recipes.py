"""Recipes: the name of a known format -> what `[input]` would have to say of it.

They are data, in one file of the package. What no recipe can know, such as the time zone of clocks
that do not say theirs, is asked for.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from meteragent.config.fields import BadSetting, Settings, Text, Texts, refuse
from meteragent.errors import InvalidSetting
from meteragent.formats.mapping import REGISTERED

FILE = "recipes.toml"
_EXAMPLES = {
    "timezone": 'write for example "Europe/Paris"',
    "only_meter": 'write for example "home-1"; or with meter, where it stands',
}


class Recipe(Settings):
    """How a known format is read."""

    about: Text
    """What it is."""
    source: Text
    """Where it is documented."""
    needs: Texts = ()
    """What else is to be set."""
    input: dict[str, Any]


@cache
def recipes() -> dict[str, Recipe]:
    """All of them, by name."""
    text = (files(__package__) / FILE).read_text("utf-8")
    return {name: Recipe.model_validate(one) for name, one in tomllib.loads(text).items()}


def completed(settings: object) -> object:
    """The settings of an `[input]` with what the recipe of its format says.

    BadSetting: there is no such recipe, or it needs what is not set.
    """
    if not isinstance(settings, dict) or settings.get("format") in (None, *REGISTERED):
        return settings
    name = settings["format"]
    recipe = recipes().get(name) if isinstance(name, str) else None
    if recipe is None:
        problem, instead = (
            "is not a known format",
            f"write one of {', '.join((*REGISTERED, *recipes()))}",
        )
        raise BadSetting([InvalidSetting("format", problem, instead)])
    said = settings.keys() | ({"only_meter"} if "meter" in settings else set())
    problem = f"is missing, and {name} does not say it"
    lacking = [InvalidSetting(one, problem, _EXAMPLES[one]) for one in recipe.needs]
    refuse([one for one in lacking if one.field not in said])
    return recipe.input | settings
