"""What is released, as a command is told: by a file, or by arguments alone."""

import os
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from meteragent.commands.arguments import MAPPING, POLICY
from meteragent.config import Config, from_document, load
from meteragent.errors import ConfigRefused, InvalidSetting
from meteragent.formats.mapping import Mapping
from meteragent.privacy.calendar import UNITS
from meteragent.privacy.units import BASE

AGENT = ("key_file", "normalise_ids")
"""Settings of the agent that are arguments too; explaining needs none of them."""


def settings(arguments: Namespace) -> Config:
    """From a file, or from the arguments: never some from each."""
    left_out = set() if windows_have_zone(arguments) else {"timezone"}
    given = _given(arguments, (name for name in POLICY if name not in left_out))
    if arguments.query is not None:
        given["queries"] = arguments.query
    agent, written = _given(arguments, AGENT), written_as(arguments)
    if arguments.config is None:
        return _by_arguments(given, agent, written)
    if given or agent:
        raise ConfigRefused(
            [
                InvalidSetting(option_of(name), "is set beside -c", "write it into the file")
                for name in given | agent
            ]
        )
    with _named("input." if written else "no argument"):
        return load(arguments.config, os.environ, written)


def written_as(arguments: Namespace) -> dict[str, Any]:
    """What the arguments say of how the input is written, as `[input]` would."""
    given = _given(arguments, MAPPING)
    if "no_header" in given:
        given["no_header"] = False
    return {MAPPING[name]: value for name, value in given.items()}


def mapping_of(arguments: Namespace, config: Config) -> Mapping:
    """How the input is written; where a zone is of the windows, that alone says nothing of it."""
    mapping = config.mapping
    if windows_have_zone(arguments) and mapping.given == {"timezone"}:
        return replace(mapping, given=frozenset())
    return mapping


@contextmanager
def _named(within: str = "") -> Iterator[None]:
    """Settings that are refused are named as the arguments that set them."""
    try:
        yield
    except ConfigRefused as refused:
        found = []
        for one in refused.problems:
            field = option_of(one.field) if one.field.startswith(within) else one.field
            found.append(InvalidSetting(field, one.problem, one.instead))
        raise ConfigRefused(found) from None


def _given(arguments: Namespace, names: Iterable[str]) -> dict[str, Any]:
    found = {name: getattr(arguments, name, None) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def windows_have_zone(arguments: Namespace) -> bool:
    """Whether `--timezone` is of windows; where a table is read, it may be of its times alone."""
    reads_times = hasattr(arguments, "time_column")
    return not reads_times or (arguments.config is None and arguments.window in UNITS)


def _by_arguments(given: dict[str, Any], agent: dict[str, Any], written: dict[str, Any]) -> Config:
    if not given:
        instead = "name a file: -c agent.toml; or what to hide: --preset tv-content"
        raise ConfigRefused([InvalidSetting("what is released", "is not given", instead)])
    policy = {"name": given.get("preset", "policy"), **given}
    if not written.keys() & {"unit", "format"} and given.get("quantity") in BASE:
        written = {**written, "unit": BASE[given["quantity"]]}
    document: dict[str, Any] = {"agent": agent, "input": written, "policy": [policy]}
    with _named():
        return from_document(document, Path(), os.environ)


_ARGUMENTS = {setting: name for name, setting in MAPPING.items()}


def option_of(setting: str) -> str:
    """The argument that sets a setting; an environment variable stays what it is."""
    name = setting.removeprefix("policy[0].").removeprefix("agent.")
    if name.startswith("input."):
        name = name.removeprefix("input.")
        name = _ARGUMENTS.get(name, name)
    if name.isupper():
        return name
    return "--query" if name.startswith("queries") else f"--{name.replace('_', '-')}"
