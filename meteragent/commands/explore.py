"""`explore`: one page to try settings on, as a file that needs no network."""

import hashlib
import json
import os
import sys
import tomllib
from argparse import Namespace
from base64 import b64encode
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Any

from meteragent.commands.exit_codes import Exit
from meteragent.commands.explored import explored
from meteragent.commands.settings import settings
from meteragent.config import Config
from meteragent.config.nearby import Nearby
from meteragent.config.policy import PolicySettings
from meteragent.errors import ConfigRefused, FileRefused, InvalidSetting
from meteragent.watch.fixed import MARK

USUAL = "tv-content"
"""The preset to begin with, if nothing is said."""


def run(arguments: Namespace) -> Exit:
    """Write the page; needs neither key nor brokers."""
    path: Path = arguments.output
    _refuse_to_overwrite(path)
    nearby = _nearby(arguments)
    shown = explored(nearby, _HowFar(nearby.many))
    path.write_text(page(shown), "utf-8")
    sys.stdout.write(f"{path}: made; open it in a browser\n")
    return Exit.OK


def page(shown: dict[str, Any]) -> str:
    """The page, its style, its script and its numbers in one: nothing is fetched, nor may it be."""
    here = files("meteragent") / "commands" / "explorer"
    html, style, script = (
        (here / name).read_text("utf-8") for name in ("index.html", "style.css", "script.js")
    )
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    numbers = json.dumps(shown, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    parts = {
        "<!-- mark -->": MARK,
        "/* policy */": policy,
        "/* style.css */": style,
        "/* script.js */": script,
        "/* numbers */": numbers,
    }
    for place, part in parts.items():
        html = html.replace(place, part)
    return html


def _nearby(arguments: Namespace) -> Nearby:
    """The settings to begin with, and as they are written."""
    if arguments.config is None and arguments.preset is None and arguments.window is None:
        arguments.preset = USUAL
    config = settings(arguments)
    own = _chosen(config, arguments.policy)
    if arguments.config is None:
        return Nearby({"name": own.name, **_said(arguments)}, own)
    text = arguments.config.read_text("utf-8")
    tables = tomllib.loads(text, parse_float=Decimal)["policy"]
    return Nearby(next(table for table in tables if table["name"] == own.name), own)


def _said(arguments: Namespace) -> dict[str, Any]:
    """The arguments, as a table would write them."""
    given = {name: getattr(arguments, name, None) for name in PolicySettings.model_fields}
    return {name: value for name, value in given.items() if value is not None}


def _chosen(config: Config, name: str | None) -> PolicySettings:
    found = [policy for policy in config.policy if name in {None, policy.name}]
    if not found:
        known = ", ".join(policy.name for policy in config.policy)
        instead = f"name one of {known}" if known else "explore does not try settings of groups"
        raise ConfigRefused([InvalidSetting("--policy", "is not one of the policies", instead)])
    if found[0].quantity != "power":
        problem, instead = "is not about power", "name one that is; `explain` covers the others"
        raise ConfigRefused([InvalidSetting("--policy", problem, instead)])
    return found[0]


def _refuse_to_overwrite(path: Path) -> None:
    """FileRefused: there is a file that is no page of ours."""
    if path.exists() and MARK not in path.read_text("utf-8", errors="replace")[:200]:
        raise FileRefused(
            str(path), "already exists, and is not an explorer", "name another: -o FILE"
        )


class _HowFar:
    """How far it is, for people at a terminal."""

    def __init__(self, all_of_it: int) -> None:
        self._all = all_of_it
        self._shown = sys.stderr.isatty() and "CI" not in os.environ

    def __call__(self, done: int) -> None:
        if self._shown:
            end = "\n" if done == self._all else ""
            sys.stderr.write(f"\r{done} of {self._all} settings{end}")
            sys.stderr.flush()


def _hash(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
