"""The reference of the configuration, written from the models that read it."""

import json
from inspect import cleandoc
from itertools import starmap
from typing import Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from meteragent.config.fields import CREDENTIAL, Settings
from meteragent.config.policy import PolicySettings
from meteragent.config.presets import Preset, presets
from meteragent.config.queries import AskedQuery
from meteragent.config.recipes import Recipe, recipes
from meteragent.config.tier import TierSettings
from meteragent.config.tree import Path, is_secret, table_in, tables, variable

_INTRODUCTION = f"""
# Configuration

Settings come from a TOML file and from the environment. Every setting outside `[[policy]]` can be
set by a variable, such as `{variable(("kafka", "bootstrap_servers"))}` for `bootstrap_servers` in
`[kafka]`. Unknown settings and variables are errors.

Durations are written as `"250ms"`, `"10s"`, `"15m"`, `"1h30m"` or `"7d"`; powers as `"10W"`,
`"0.5kW"`, `"24kW"`, or as a number of watts; other quantities as `"10l/h"`, `"1m3/h"`, `"10var"` or
`"1kvar"`. Paths are relative to the file. Secrets are read
from a file that only its owner can read, or from a credential of the service manager:
`"{CREDENTIAL}NAME"` is the file `NAME` in `$CREDENTIALS_DIRECTORY`.
"""


_PRESETS = """
## Presets

A preset names what to hide, and sets whatever its `[[policy]]`, or its `[[group]]`, does
not set itself. The evidence is for the preset's own settings.
"""


_RECIPES = """
## Formats

What `[input]` takes as its `format`. Each sets what is under its name in `config/recipes.toml`, and
asks for what it cannot know. `meteragent convert` turns documents that are not lines into lines:
arrays of JSON, NEM12, Green Button's XML, telegrams of a P1 port.

| format | | needs | documented at |
|---|---|---|---|
"""


def reference() -> str:
    """All settings as Markdown."""
    parts = [_INTRODUCTION.strip()]
    for path, table in tables():
        parts += [f"## {_heading(path, table)}", cleandoc(table.__doc__ or ""), _rows(path, table)]
    parts += [_RECIPES.strip() + "\n" + "\n".join(starmap(_recipe, recipes().items()))]
    every_preset = presets("meters") | presets("groups")
    parts += [_PRESETS.strip(), *(_preset(name, one) for name, one in every_preset.items())]
    return "\n\n".join(parts) + "\n"


def _recipe(name: str, recipe: Recipe) -> str:
    needs = ", ".join(f"`{need}`" for need in recipe.needs)
    return f"| `{name}` | {recipe.about} | {needs} | {recipe.source} |"


def _preset(name: str, preset: Preset) -> str:
    settings = "\n".join(f"{key} = {_toml(value)}" for key, value in preset.policy.items())
    why = " ".join(preset.why.split())
    told = f"To hide {preset.hides}. {why}\n\n{preset.evidence.words}"
    return f"### `{name}`\n\n{told}\n\n```toml\n{settings}\n```"


def _toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _heading(path: Path, table: type[Settings]) -> str:
    if table is AskedQuery:
        return "`queries` of a `[[policy]]`"
    name = ".".join(path)
    listed = issubclass(table, PolicySettings | TierSettings)
    return f"`[[{name}]]`" if listed else f"`[{name}]`"


def _rows(path: Path, table: type[Settings]) -> str:
    rows = ["| setting | by default | for example | |", "|---|---|---|---|"]
    rows += [
        _row((*path, name), field)
        for name, field in table.model_fields.items()
        if not _is_told_apart(field)
    ]
    return "\n".join(rows)


def _is_told_apart(field: FieldInfo) -> bool:
    """Whether it is a table that has a heading of its own."""
    empty = not field.is_required() and field.default in ({}, ())
    return empty and table_in(field.annotation) is not None


def _row(path: Path, field: FieldInfo) -> str:
    [example] = field.examples or [""]
    if is_secret(field):
        return f"| `{path[-1]}` | | | {field.description} Only as `{variable(path)}`. |"
    choices = [f'`"{choice}"`' for choice in _choices(field.annotation)]
    meaning = f"{field.description} One of {', '.join(choices)}." if choices else field.description
    its = presets({"policy": "meters", "group": "groups"}.get(path[0], "")).values()
    preset = len(path) > 1 and bool(its) and all(path[-1] in one.policy for one in its)
    unless = ", if no preset sets it" if preset and field.is_required() else ""
    return f"| `{path[-1]}` | {_default(field)}{unless} | `{example}` | {meaning} |"


def _choices(annotation: object) -> list[str]:
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [choice for inner in get_args(annotation) for choice in _choices(inner)]


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "**required**"
    if field.default is None:
        return ""
    return f"`{field.default!r}`".replace("'", '"')
