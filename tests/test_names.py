"""One word, one meaning: who meets a class's name knows which of the house's classes it is."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tests.test_purity import parsed, sources

if TYPE_CHECKING:
    from collections.abc import Mapping


def named_twice(modules: Mapping[str, str]) -> dict[str, set[str]]:
    """Class names -> their modules, where these are several; a leading underscore is no name."""
    found: dict[str, set[str]] = {}
    for module, text in modules.items():
        for node in ast.walk(parsed(text)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name.lstrip("_"), set()).add(module)
    return {name: places for name, places in found.items() if len(places) > 1}


def test_no_two_classes_have_one_name() -> None:
    assert named_twice(sources()) == {}


def test_a_name_that_is_given_twice_is_found() -> None:
    planted = {
        "meteragent.a": "class Agent: pass\nclass Table: pass",
        "meteragent.b": "def late():\n    class _Agent: pass",
        "meteragent.c": "class Lines: pass",
    }
    assert named_twice(planted) == {"Agent": {"meteragent.a", "meteragent.b"}}
