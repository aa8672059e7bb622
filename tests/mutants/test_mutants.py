"""The program that makes small mistakes makes them, and tells which of them tests notice."""

from __future__ import annotations

import ast
import random
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.mutants.__main__ import drawn, mutants
from tests.mutants.changes import changes
from tests.mutants.suites import (
    ON_A_BROKER,
    PURE,
    ROOT,
    SUITES,
    UNASKED,
    likeliest_first,
    on_a_broker,
)
from tests.mutants.trial import Trial
from tests.test_purity import PURE as PURE_FOLDERS


@pytest.mark.parametrize(
    ("text", "mistaken"),
    [
        ("x = a < b", {"x = a <= b"}),
        ("x = a in b", {"x = a not in b"}),
        ("x = a <= b < c", {"x = a < b < c", "x = a <= b <= c"}),
        ("x = a and b", {"x = a or b", "x = a", "x = b"}),
        ("x = c * (a + b)", {"x = c // (a + b)", "x = c * ((a - b))"}),
        ("x = not a", {"x = a"}),
        ("x = -a", {"x = a"}),
        ("x = a - b", {"x = a + b", "x = b - a"}),
        ("x = a @ b", set()),
        ("x = 7", {"x = 8", "x = 6"}),
        ("x = True", {"x = False"}),
        ("x = 0.5", {"x = 2.0"}),
        ("x = 'text'", set()),
        ("x = a == 'text'", {"x = a != 'text'", "x = a == 'text?'"}),
        ("x = side(a='left')", {"x = side(a='right')"}),
        ("x = f(a, b)", {"x = f(b, a)"}),
        ("x = f(a, a)", set()),
        ("x = max(a, b)", {"x = min(a, b)"}),
        ("x = np.gcd(a, b)", set()),
        ("x = f(*a, b)", set()),
        ("x = min(a)", {"x = max(a)"}),
        ("x = a.any()", {"x = a.all()"}),
        ("x.y = a", {"pass"}),
        ("x += a", {"pass", "x -= a"}),
        ("x = a", set()),
        ("raise Error('text', 7)", {"pass"}),
        ("if a: b()", {"if not a: b()", "if a: pass"}),
        ("x = y if a else z", {"x = y if not a else z"}),
        ("ü = 'ä' + f(a)", {"ü = 'ä' - f(a)"}),
        # What no test could notice.
        ('"""7 < 8"""', set()),
        ("x: Literal['7']", set()),
        ("x: array[7]", set()),
        ("def f(a: array[7]) -> array[8]: ...", set()),
        ("@cache(7)\nclass A(b[7]): ...", set()),
        ("__all__ = [7]", set()),
        ("AT_ONCE = 7", set()),
        ("if TYPE_CHECKING:\n    x = 7", set()),
        ("x = zip(a, strict=True)", set()),
        ("x = f'{a < b}'", set()),
        ("assert a < b", set()),
    ],
)
def test_mistakes_are_these(text: str, mistaken: set[str]) -> None:
    source = text.encode()
    said = [change.made(source).decode() for change in changes(source)]
    assert {*said} == mistaken


def test_a_mistake_is_where_it_says_it_is() -> None:
    source = dedent(
        """\
        def f(a):  # ü
            if a:
                return 1
            return (
                a * 2
            )
        """
    ).encode()
    lines = {(change.line, change.before, change.after) for change in changes(source)}
    assert lines == {
        (2, "a", "not a"),
        (3, "return 1", "pass"),
        (3, "1", "2"),
        (3, "1", "0"),
        (5, "a * 2", "a // 2"),
        (5, "2", "3"),
        (5, "2", "1"),
    }


def test_every_mistake_is_another_program() -> None:
    every = mutants([*PURE])
    assert len(every) > 3000
    for mutant in random.Random(1).sample(every, 200):
        assert ast.dump(ast.parse(mutant.mistaken)) != ast.dump(ast.parse(mutant.source)), mutant


def test_the_same_seed_makes_the_same_mistakes() -> None:
    some = ["meteragent/privacy"]
    assert drawn(some, 3, 9) == drawn(some, 3, 9)
    assert drawn(some, 3, 9) != drawn(some, 4, 9)
    last = mutants(["meteragent/privacy/query.py"])[-1]
    assert last in mutants([f"meteragent/privacy/query.py:{last.change.line}"])
    assert {m.change.line for m in mutants([f"{last.module}:{last.change.line}"])} == {
        last.change.line
    }


def test_every_folder_has_tests_that_are_asked() -> None:
    assert tuple(f"meteragent/{folder}" for folder in PURE_FOLDERS) == PURE
    folders = {path.parent.relative_to(ROOT) for path in (ROOT / "meteragent").rglob("*.py")}
    assert {Path(folder) for folder in SUITES} == folders
    for tests in SUITES.values():
        assert all((ROOT / test).exists() for test in tests)
    for room in ON_A_BROKER:
        module = f"meteragent/kafka/{room}.py"
        assert all((ROOT / path).is_file() for path in (module, *on_a_broker(module)))
    assert not on_a_broker("meteragent/stream/agents.py")


def test_a_mistake_is_found_and_a_change_without_effect_is_not(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    module, tests = "meteragent/privacy/exact.py", ("tests/privacy/test_exact.py",)
    source = (ROOT / module).read_bytes()
    trial.without_mistake([tests])
    assert not trial.with_mistake(module, source + b"# no mistake\n", tests).found
    assert trial.with_mistake(module, source.replace(b"units <= 0", b"units < 0"), tests).found
    assert not trial.with_mistake(module, source, tests).found
    assert (ROOT / module).read_bytes() == source


def test_the_likeliest_tests_are_asked_first() -> None:
    asked = likeliest_first("meteragent/stream/shown.py", SUITES["meteragent/stream"])
    assert asked[0] == "tests/stream/test_shown.py"
    named = ["meteragent.stream.shown" in (ROOT / file).read_text("utf-8") for file in asked]
    assert named == sorted(named, reverse=True)
    assert len(set(asked)) == len(asked) > 10
    assert not UNASKED & set(asked)


def test_tests_are_run_in_the_order_in_which_they_are_asked() -> None:
    """Files that take long begin first where several processes share them, and not here."""
    asked = ["tests/stream/test_shown.py", "tests/laws/test_ticks.py", "tests/kafka/test_seams.py"]
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:randomly", *asked]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    found = [line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line]
    assert [*dict.fromkeys(found)] == asked


def test_stamps_are_not_asked() -> None:
    asked = likeliest_first("meteragent/privacy/query.py", SUITES["meteragent/privacy"])
    assert asked[0] == "tests/privacy/test_query.py"
    assert all((ROOT / file).is_file() for file in UNASKED)
    assert not UNASKED & set(asked)
