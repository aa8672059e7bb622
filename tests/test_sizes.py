"""Modules and functions stay small enough to be read at once.

Measured beside other projects, ours are the shortest; this keeps them so. What a function decides
is counted as radon does: each branch, loop, handler, comprehension, and each `and` or `or`. (Ruff
counts without the last two, and lets none beyond 10 pass at all.)
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.test_purity import parsed, sources

if TYPE_CHECKING:
    from collections.abc import Iterator

DEPLOY = Path(__file__).parents[1] / "deploy"
MOST_LINES = 310
"""Of a module."""
LONGEST_BODY = 45
MANIFOLD = 10
"""Decisions of a function that is still plain."""
MOST_MANIFOLD = 7

Function = ast.FunctionDef | ast.AsyncFunctionDef
_BRANCHES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert)


def functions(source: str) -> Iterator[Function]:
    for node in ast.walk(parsed(source)):
        if isinstance(node, Function):
            yield node


def body_lines(function: Function) -> int:
    """Without the docstring."""
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def decisions(node: ast.AST) -> int:
    """Ways through: one, and one more wherever there is a choice."""
    ways = 1
    for inner in ast.walk(node):
        if isinstance(inner, _BRANCHES):
            ways += 1
        elif isinstance(inner, ast.BoolOp):
            ways += len(inner.values) - 1
        elif isinstance(inner, ast.comprehension):
            ways += 1 + len(inner.ifs)
        elif isinstance(inner, ast.Match):
            ways += len(inner.cases)
    return ways


def test_modules_are_short() -> None:
    lengths = {module: text.count("\n") for module, text in sources().items()}
    assert {module: n for module, n in lengths.items() if n > MOST_LINES} == {}


def test_modules_of_deploy_are_short() -> None:
    files = [path for path in DEPLOY.rglob("*.py") if "node_modules" not in path.parts]
    lengths = {path.name: path.read_text().count("\n") for path in files}
    assert len(lengths) > 20
    assert {name: n for name, n in lengths.items() if n > MOST_LINES} == {}


def test_functions_are_short() -> None:
    lengths = {
        f"{module}.{function.name}": body_lines(function)
        for module, text in sources().items()
        for function in functions(text)
    }
    assert {name: n for name, n in lengths.items() if n > LONGEST_BODY} == {}


def test_few_functions_decide_much() -> None:
    counts = {
        f"{module}.{function.name}": decisions(function)
        for module, text in sources().items()
        for function in functions(text)
    }
    manifold = {name: n for name, n in counts.items() if n > MANIFOLD}
    assert len(manifold) <= MOST_MANIFOLD, manifold


@pytest.mark.parametrize(
    ("text", "lines", "ways"),
    [
        ("def f():\n    pass", 1, 1),
        ('def f():\n    """Says so."""\n', 0, 1),
        ('def f():\n    """Says so,\n    at length.\n    """\n    x = 1\n    return x', 2, 1),
        ("async def f():\n    if a and b or c:\n        return 1\n    return 2", 3, 4),
        ("def f():\n    return [\n        x for x in y if x\n    ]", 3, 3),
        ("def f():\n    for x in y:\n        try:\n            g()\n        except E: ...", 4, 3),
    ],
)
def test_sizes_are_counted(text: str, lines: int, ways: int) -> None:
    [function] = functions(text)
    assert (body_lines(function), decisions(function)) == (lines, ways)
