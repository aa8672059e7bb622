"""What is pure has no clock, no input or output, and no randomness of its own.

Read from the source: a name counts if it is imported or reached through an import, in the
module itself or in any module of ours that it imports.
"""

from __future__ import annotations

import ast
import gc
import tomllib
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import meteragent

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGE = Path(meteragent.__file__).parent
PURE = ("privacy", "stream", "formats", "explain")
"""The folders that tests of the promise need no clock and no broker for."""
IMPURE = (
    *("asyncio", "threading", "multiprocessing", "concurrent", "subprocess", "signal"),
    *("time", "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today"),
    *("datetime.date.today", "logging", "structlog", "warnings", "socket", "ssl", "http", "urllib"),
    *("os", "io", "sys", "pathlib", "tempfile", "shutil", "sqlite3", "importlib", "ctypes"),
    *("random", "secrets", "uuid", "numpy.random", "aiokafka", "prometheus_client", "uvloop"),
)
PURE_PARTS = {"io.BytesIO"}
"""Of what is not pure: bytes in memory, which readers of formats want as a file."""
IMPURE_CALLS = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint", "hash"}


@cache
def parsed(source: str) -> ast.Module:
    """A module as a tree; once, and without a collection of garbage in the midst.

    Some Pythons count their recursion wrongly if one comes while a tree is built.
    """
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        gc.enable()


@cache
def sources() -> dict[str, str]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = path.read_text(encoding="utf-8")
    return found


@cache
def imported(source: str) -> tuple[tuple[str, str], ...]:
    """Pairs of a name that the module binds and the dotted name that it stands for."""
    pairs: list[tuple[str, str]] = []
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Import):
            pairs += [(a.asname or a.name.partition(".")[0], a.name) for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            pairs += [(a.asname or a.name, f"{node.module}.{a.name}") for a in node.names]
    return tuple(pairs)


@cache
def reached(source: str) -> frozenset[str]:
    """Dotted names that are imported, or reached by attributes of what is imported."""
    bound = dict(imported(source))
    names = set(bound.values())
    for node in ast.walk(parsed(source)):
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.insert(0, node.attr)
            node = node.value  # noqa: PLW2901 - walks down the chain
        if attributes and isinstance(node, ast.Name) and node.id in bound:
            # `import a.b` binds `a`: what is reached then starts with the name itself.
            root = bound[node.id]
            root = node.id if root.startswith(f"{node.id}.") else root
            names.add(".".join((root, *attributes)))
    return frozenset(names)


@cache
def called(source: str) -> frozenset[str]:
    """Plain names that are called."""
    calls = (node.func for node in ast.walk(parsed(source)) if isinstance(node, ast.Call))
    return frozenset(func.id for func in calls if isinstance(func, ast.Name))


def within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def own_imports(module: str, modules: Mapping[str, str]) -> set[str]:
    """Which modules of the package this one imports."""
    names = {name for _, name in imported(modules[module])}
    return {
        next(known for known in (name, name.rpartition(".")[0], "meteragent") if known in modules)
        for name in names
        if within(name, ("meteragent",))
    }


def impurities(module: str, modules: Mapping[str, str]) -> list[str]:
    """What a module, and what it imports of ours, has to do with the outer world."""
    found, seen, waiting = [], {module}, [module]
    while waiting:
        one = waiting.pop()
        names = reached(modules[one]) - PURE_PARTS
        found += [f"{one}: {name}" for name in sorted(names) if within(name, IMPURE)]
        found += [f"{one}: {name}()" for name in sorted(called(modules[one]) & IMPURE_CALLS)]
        fresh = own_imports(one, modules) - seen
        seen |= fresh
        waiting += fresh
    return found


def cycle(modules: Mapping[str, str]) -> list[str] | None:
    try:
        TopologicalSorter({m: own_imports(m, modules) for m in modules}).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle
    return None


def pure_modules() -> list[str]:
    return sorted(m for m in sources() if within(m, tuple(f"meteragent.{p}" for p in PURE)))


@pytest.mark.parametrize("module", pure_modules())
def test_what_is_pure_has_no_clock_no_outer_world_and_no_randomness(module: str) -> None:
    assert impurities(module, sources()) == []


def test_every_pure_folder_has_rooms() -> None:
    assert {module.split(".")[1] for module in pure_modules()} == set(PURE)


def test_branches_are_counted_of_all_that_is_pure() -> None:
    settings = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))
    followed = settings["tool"]["coverage"]["run"]
    assert followed["source_dirs"] == [f"meteragent/{folder}" for folder in PURE]
    assert followed["source_pkgs"] == ["meteragent.errors"]


ORDER = (
    *("errors", "privacy", "stream", "formats", "explain", "config", "watch"),
    *("process", "kafka", "files", "gateway", "commands", "library", "cli", "__main__"),
)
"""A folder stands on those before it, and on no other."""


def turning_back(modules: Mapping[str, str]) -> list[str]:
    """Imports from a folder of one that comes later."""
    place = {folder: at for at, folder in enumerate(ORDER)}
    return [
        f"{module} -> {other}"
        for module in modules
        for other in sorted(own_imports(module, modules) - {"meteragent"})
        if module != "meteragent" and place[module.split(".")[1]] < place[other.split(".")[1]]
    ]


def test_folders_stand_on_those_before_them() -> None:
    assert turning_back(sources()) == []


def test_an_import_that_turns_back_is_found() -> None:
    planted = {
        "meteragent": "from meteragent.privacy import exact",
        "meteragent.privacy.exact": "def late():\n    from meteragent.stream.panes import x",
        "meteragent.stream.panes": "from meteragent.privacy.exact import y",
    }
    assert turning_back(planted) == ["meteragent.privacy.exact -> meteragent.stream.panes"]


def test_imports_run_one_way() -> None:
    assert cycle(sources()) is None


@pytest.mark.parametrize(
    "planted",
    [
        "import time",
        "import asyncio.events as loops",
        "from os import urandom",
        "def late():\n    from secrets import token_bytes",
        "import numpy as np\nx = np.random.default_rng(1)",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import numpy\nx = numpy.random",
        "import numpy.linalg\nx = numpy.random.rand()",
        "from datetime import datetime as dt\nx = dt.now()",
        "import datetime\nx = datetime.datetime.utcnow()",
        "import logging.handlers",
        "from structlog import get_logger",
        "import socket",
        "import random",
        "import aiokafka",
        "x = open('readings')",
        "from io import open as read",
        "import io\nx = io.FileIO('readings')",
        "x = hash('m-17')",
        "time = __import__('time')",
        "from meteragent.helper import now",
        "from meteragent import helper",
        "import meteragent.helper",
    ],
)
def test_a_planted_impurity_is_found(planted: str) -> None:
    modules = {
        "meteragent": "",
        "meteragent.planted": planted,
        "meteragent.between": "from meteragent.planted import x",
        "meteragent.helper": "from time import time as now",
    }
    assert impurities("meteragent.planted", modules) != []
    assert impurities("meteragent.between", modules) != []


@pytest.mark.parametrize(
    "clean",
    [
        "import numpy as np\nx = np.sort(np.array([2, 1]))",
        "from datetime import UTC, datetime\nx = datetime.fromtimestamp(0, UTC)",
        "def advance(self, now):\n    self.now = now\n    self.time.sleep = self.random",
        "import re\nx = re.compile('open')",
        "from io import BytesIO\nx = BytesIO(b'')",
        "from hashlib import blake2b\nfrom meteragent.other import time",
    ],
)
def test_what_is_pure_is_left_alone(clean: str) -> None:
    modules = {"meteragent": "", "meteragent.planted": clean, "meteragent.other": "time = 1"}
    assert impurities("meteragent.planted", modules) == []


def test_a_planted_circle_is_found() -> None:
    modules = {
        "meteragent": "",
        "meteragent.a": "from meteragent.b import x",
        "meteragent.b": "def late():\n    from meteragent import c",
        "meteragent.c": "import meteragent.a",
    }
    found = cycle(modules)
    assert found is not None
    assert set(found) == {"meteragent.a", "meteragent.b", "meteragent.c"}
    assert cycle({**modules, "meteragent.c": ""}) is None
