"""Ties each claim of `mechanism.md` to the functions it is about and the tests that check it."""

from __future__ import annotations

import ast
import hashlib
import re
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import meteragent

if TYPE_CHECKING:
    from collections.abc import Iterable

PACKAGE = Path(meteragent.__file__).parent
TESTS = Path(__file__).parents[1]
PROOFS = (PACKAGE / "privacy" / "mechanism.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| (.*) \| `([0-9a-f]{12})` \| (.*) \|$", re.MULTILINE)


class Row(NamedTuple):
    functions: list[str]
    stamp: str
    tests: list[str]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


CLAIMS = re.findall(r"^## (\d+)\.", PROOFS, re.MULTILINE)
ROWS = {claim: Row(quoted(f), stamp, quoted(t)) for claim, f, stamp, t in ROW.findall(PROOFS)}


def defined(tree: ast.AST, path: Iterable[str]) -> ast.AST | None:
    """The definition or assignment that a dotted path names, one level after the other."""
    for part in path:
        for node in getattr(tree, "body", []):
            names = [getattr(node, "name", None)]
            targets = getattr(node, "targets", [getattr(node, "target", None)])
            names += [getattr(target, "id", None) for target in targets]
            if part in names:
                tree = node
                break
        else:
            return None
    return tree


def function(name: str) -> ast.AST | None:
    folder, module, *path = name.split(".")
    source = (PACKAGE / folder / f"{module}.py").read_text(encoding="utf-8")
    return defined(ast.parse(source), path)


def test_named(name: str) -> ast.AST | None:
    file, *path = name.split("::")
    return defined(ast.parse((TESTS / file).read_text(encoding="utf-8")), path)


test_named.__test__ = False  # type: ignore[attr-defined]


def is_text(node: ast.AST) -> bool:
    """A docstring, wherever it stands: what a statement that is only a string is for."""
    constant = getattr(node, "value", None) if isinstance(node, ast.Expr) else None
    return isinstance(constant, ast.Constant) and isinstance(constant.value, str)


def is_nothing(node: ast.AST) -> bool:
    """An empty piece of an f-string, which Python 3.12 puts where others put none."""
    return isinstance(node, ast.Constant) and node.value == ""


def canonical(node: object) -> str:
    """The code alone, the same on every Python: `ast.dump` differs between versions."""
    if isinstance(node, list):
        return "[" + ",".join(canonical(one) for one in node if not is_text(one)) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.JoinedStr):
        return f"f{[canonical(piece) for piece in node.values if not is_nothing(piece)]}"
    fields = [(name, value) for name, value in ast.iter_fields(node) if value not in (None, [])]
    inner = ",".join(f"{name}={canonical(value)}" for name, value in fields)
    return f"{type(node).__name__}({inner})"


def stamp(definitions: Iterable[ast.AST | None]) -> str:
    code = "\n".join(canonical(definition) for definition in definitions)
    return hashlib.sha256(code.encode()).hexdigest()[:12]


def test_every_claim_has_a_row_and_every_row_a_claim() -> None:
    assert list(ROWS) == CLAIMS
    assert all(row.functions and row.tests for row in ROWS.values())


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_was_proved_is_what_runs(claim: str) -> None:
    row = ROWS[claim]
    definitions = [function(name) for name in row.functions]
    assert None not in definitions, dict(zip(row.functions, definitions, strict=True))
    now = stamp(definitions)
    assert now == row.stamp, (
        f"a function of claim {claim} has changed: read its proof in mechanism.md again, "
        f"correct the proof or the code, then write the stamp {now}"
    )


@pytest.mark.parametrize("name", sorted(set(chain(*(row.tests for row in ROWS.values())))))
def test_a_test_that_is_said_to_check_a_claim_exists(name: str) -> None:
    found = test_named(name)
    assert isinstance(found, ast.FunctionDef | ast.Assign)


PLANTED = '''
LIMIT = 320  # bits
class Sampler:
    """Draws."""
    def noise(self, words: list[int], *, deep=None) -> str:
        """Why: because."""
        # a remark
        first, *rest = words
        return f"{first:>{LIMIT}} {rest!r}" if rest else ""
'''


def planted_stamp(source: str) -> str:
    return stamp([defined(ast.parse(source), ["Sampler"]), defined(ast.parse(source), ["LIMIT"])])


def test_a_stamp_is_the_same_on_every_python() -> None:
    """Frozen from 3.11, 3.12 and 3.13."""
    assert planted_stamp(PLANTED) == "6c91a57b9e20"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Draws."""', '"""Draws noise, exactly."""'),
        ('        """Why: because."""\n', ""),
        ("        # a remark\n", "\n\n"),
        ("first, *rest = words", "(first,\n         *rest) = words"),
    ],
)
def test_words_and_layout_do_not_change_a_stamp(old: str, new: str) -> None:
    assert planted_stamp(PLANTED.replace(old, new)) == planted_stamp(PLANTED)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 320", "LIMIT = 319"),
        ("deep=None", "deep=0"),
        ("first:>", "first:<"),
        ("!r", "!s"),
        ('if rest else ""', 'if rest else " "'),
        ("first, *rest", "*rest, first"),
    ],
)
def test_any_change_of_the_code_changes_a_stamp(old: str, new: str) -> None:
    assert old in PLANTED
    assert planted_stamp(PLANTED.replace(old, new)) != planted_stamp(PLANTED)
