"""What is released, as a command is told: by a file, or by arguments alone."""

import os
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from meteragent.commands.arguments import POLICY
from meteragent.config import Config, from_document, load
from meteragent.errors import ConfigRefused, InvalidSetting
from meteragent.privacy.calendar import UNITS

AGENT = ("key_file", "normalise_ids")
"""Settings of the agent that are arguments too; explaining needs none of them."""


def settings(arguments: Namespace) -> Config:
    """From a file, or from the arguments: never some from each."""
    left_out = set() if windows_have_zone(arguments) else {"timezone"}
    given = _given(arguments, (name for name in POLICY if name not in left_out))
    if arguments.query is not None:
        given["queries"] = arguments.query
    agent = _given(arguments, AGENT)
    if arguments.config is None:
        return _by_arguments(given, agent)
    if given or agent:
        raise ConfigRefused(
            [
                InvalidSetting(_option(name), "is set beside -c", "write it into the file")
                for name in given | agent
            ]
        )
    return load(arguments.config, os.environ)


def _given(arguments: Namespace, names: Iterable[str]) -> dict[str, Any]:
    found = {name: getattr(arguments, name, None) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def windows_have_zone(arguments: Namespace) -> bool:
    """Whether `--timezone` is of windows; where a table is read, it may be of its times alone."""
    reads_times = hasattr(arguments, "time_column")
    return not reads_times or (arguments.config is None and arguments.window in UNITS)


def _by_arguments(given: dict[str, Any], agent: dict[str, Any]) -> Config:
    if not given:
        instead = "name a file: -c agent.toml; or what to hide: --preset tv-content"
        raise ConfigRefused([InvalidSetting("what is released", "is not said", instead)])
    policy = {"name": given.get("preset", "policy"), **given}
    document: dict[str, Any] = {"agent": agent, "policy": [policy]}
    try:
        return from_document(document, Path(), os.environ)
    except ConfigRefused as refused:
        raise ConfigRefused(
            [InvalidSetting(_option(p.field), p.problem, p.instead) for p in refused.problems]
        ) from None


def _option(setting: str) -> str:
    """The argument that sets a setting; an environment variable stays what it is."""
    name = setting.removeprefix("policy[0].").removeprefix("agent.")
    if name.isupper():
        return name
    return "--query" if name.startswith("queries") else f"--{name.replace('_', '-')}"
