"""The house as a newcomer sees it: its folders and rooms, from their docstrings."""

from __future__ import annotations

import ast
import re
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import meteragent
from meteragent.stream import pipeline
from tests.test_purity import ORDER

PACKAGE = Path(meteragent.__file__).parent
_LISTED = re.compile(r"^(\w+(?:, \w+)*) {2,}\S", re.MULTILINE)
_WAY = re.compile(r"^ +(\w+ -> .*)$", re.MULTILINE)


class Folder(NamedTuple):
    """One of the house's folders, or a module that stands beside them."""

    name: str
    meaning: str
    rooms: tuple[str, ...]
    """In the order in which its docstring says to read them."""


def folders() -> list[Folder]:
    """All of them: each stands on those before it."""
    return [
        Folder(name, _first_line(name), rooms_of(docstring(name)))
        for name in ORDER
        if name != "__main__"
    ]


def docstring(module: str) -> str:
    """What a module says of itself; of a folder, its `__init__`."""
    path = PACKAGE / Path(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""


def rooms_of(text: str) -> tuple[str, ...]:
    """The rooms that a folder's docstring lists: `room    what it is`, or several with commas."""
    return tuple(chain.from_iterable(found.split(", ") for found in _LISTED.findall(text)))


def house() -> str:
    """The way of a reading, and the folders."""
    [way] = _WAY.findall(pipeline.__doc__ or "")
    rows = [
        f"| {_shown(folder)} | {folder.meaning.rstrip('.')} | {', '.join(folder.rooms)} |"
        for folder in folders()
    ]
    head = ["| | | rooms, in the order to read them |", "|---|---|---|"]
    return "\n".join(["```", way, "```", "", *head, *rows]) + "\n"


def rooms() -> str:
    """Every room, and what it says of itself."""
    parts = []
    for folder in folders():
        if folder.rooms:
            lines = [f"- `{name}`: {_first_line(f'{folder.name}.{name}')}" for name in folder.rooms]
            parts.append("\n".join([f"**{folder.name}**: {folder.meaning}", "", *lines, ""]))
    return "\n".join(parts)


def _shown(folder: Folder) -> str:
    if folder.rooms:
        return f"[`{folder.name}`](meteragent/{folder.name})"
    return f"[`{folder.name}`](meteragent/{folder.name}.py)"


def _first_line(module: str) -> str:
    return docstring(module).partition("\n")[0]
