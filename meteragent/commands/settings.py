"""What is released, as a command is told: by a file, or by arguments alone."""

import os
from argparse import Namespace
from pathlib import Path
from typing import Any

from meteragent.commands.arguments import POLICY
from meteragent.config import Config, from_document, load
from meteragent.errors import ConfigRefused, InvalidSetting


def settings(arguments: Namespace) -> Config:
    """From a file, or from the arguments: never some from each."""
    given = {name: value for name in POLICY if (value := getattr(arguments, name)) is not None}
    if arguments.query is not None:
        given["queries"] = arguments.query
    key_file = getattr(arguments, "key_file", None)  # explaining needs none
    if arguments.config is None:
        return _by_arguments(given, key_file)
    if key_file is not None:
        given["key_file"] = key_file
    if given:
        raise ConfigRefused(
            [
                InvalidSetting(_option(name), "is set beside -c", "write it into the file")
                for name in given
            ]
        )
    return load(arguments.config, os.environ)


def _by_arguments(given: dict[str, Any], key_file: str | None) -> Config:
    if not given:
        instead = "name a file: -c agent.toml; or what to hide: --preset tv-content"
        raise ConfigRefused([InvalidSetting("what is released", "is not said", instead)])
    document: dict[str, Any] = {"policy": [{"name": given.get("preset", "policy"), **given}]}
    if key_file is not None:
        document["agent"] = {"key_file": key_file}
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
