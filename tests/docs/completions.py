"""What shells read to complete commands: written by shtab from the parser, and shipped as it is."""

from __future__ import annotations

from argparse import ArgumentParser, _SubParsersAction
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import shtab

from meteragent.commands.parser import parser

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(str(files("meteragent") / "commands" / "completions"))
SHELLS = ("bash", "zsh", "fish")


def completions() -> dict[str, str]:
    """File name -> script."""
    return {f"meteragent.{shell}": shtab.complete(_told(shell), shell) for shell in SHELLS}


def _told(shell: str) -> ArgumentParser:
    """The parser, knowing which arguments are files; bash takes what is not told for one."""
    whole = parser()
    for command in commands(whole) if shell != "bash" else ():
        for action in command._actions:
            if action.type is Path or action.metavar in {"FILE", "IN"}:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    return whole


def commands(command: ArgumentParser) -> Iterator[ArgumentParser]:
    """A command and all below it; each knows by its `prog` how it is written."""
    yield command
    for group in command._actions:
        if isinstance(group, _SubParsersAction):
            for inner in group.choices.values():
                yield from commands(inner)


def write() -> None:
    """All of them."""
    FOLDER.mkdir(exist_ok=True)
    for name, script in completions().items():
        (FOLDER / name).write_text(script, "utf-8")
