"""A copy of the project, in which mistakes are made one at a time and its tests are run."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.mutants.suites import ROOT, likeliest_first

if TYPE_CHECKING:
    from collections.abc import Iterable

PARTS = (
    *("meteragent", "tests", "simulations", "deploy", "pyproject.toml", "README.md"),
    *("SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"),
)
PATIENCE = 4
"""How much longer than without a mistake a suite may take."""
LEAST_SECONDS = 60.0
SECONDS_OF_OTHERS = 600.0
"""Of a suite that was not tried without a mistake."""
_PYTEST = ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly")


class Verdict(NamedTuple):
    """Whether tests noticed a mistake, and how long they took."""

    found: bool
    seconds: float
    said: str


class Trial:
    """Runs tests on a copy; the project itself is only read."""

    def __init__(self, directory: Path) -> None:
        self._copy = directory / "copy"
        self._copy.mkdir()
        ignored = shutil.ignore_patterns("__pycache__", "node_modules", ".*_cache", "out")
        for part in PARTS:
            if (ROOT / part).is_dir():
                shutil.copytree(ROOT / part, self._copy / part, ignore=ignored)
            else:
                shutil.copy(ROOT / part, self._copy / part)
        self._limits: dict[tuple[str, ...], float] = {}
        where = self._run("-c", "import meteragent; print(meteragent.__file__)", limit=60)
        assert where is not None
        assert Path(where.stdout.strip()).is_relative_to(self._copy), where

    def without_mistake(self, suites: Iterable[tuple[str, ...]]) -> None:
        """See that the tests pass, and how long they take."""
        for tests in suites:
            begun = time.monotonic()
            done = self._run(
                *_PYTEST, *likeliest_first("meteragent/__init__.py", tests), limit=3600
            )
            assert done is not None
            assert done.returncode == 0, f"{tests} fail without a mistake:\n{done.stdout[-3000:]}"
            self._limits[tests] = max(LEAST_SECONDS, PATIENCE * (time.monotonic() - begun))

    def with_mistake(self, module: str, mistaken: bytes, tests: tuple[str, ...]) -> Verdict:
        """Run the tests of a module that has a mistake in it."""
        path = self._copy / module
        right = path.read_bytes()
        begun = time.monotonic()
        try:
            path.write_bytes(mistaken)
            files = likeliest_first(module, tests)
            done = self._run(*_PYTEST, *files, limit=self._limits.get(tests, SECONDS_OF_OTHERS))
        finally:
            path.write_bytes(right)
        seconds = time.monotonic() - begun
        if done is None:
            return Verdict(found=True, seconds=seconds, said="does not end")
        said = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return Verdict(done.returncode != 0, seconds, (said or [""])[0])

    def _run(self, *arguments: str, limit: float) -> subprocess.CompletedProcess[str] | None:
        """Python's answer, from the copy; none if there is none in time."""
        try:
            return subprocess.run(  # noqa: S603 - our own tests
                [sys.executable, "-B", *arguments],
                cwd=self._copy,
                capture_output=True,
                text=True,
                check=False,
                timeout=limit,
                env={
                    "PYTHONPATH": str(self._copy),
                    "PATH": "/usr/bin:/bin",
                    "HOME": str(Path.home()),
                },
            )
        except subprocess.TimeoutExpired:
            return None
