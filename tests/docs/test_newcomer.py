"""Somebody new, with the manual alone: an empty folder, a fresh environment, and a clock.

Every command is copied from the page. What the page takes from a copy of the project is there, and
the package is installed from its wheel: nothing is imported from the project.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.docs.test_typed import FROM_THE_PROJECT, GUIDE
from tests.docs.typed import ROOT, Shell, brought

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.integration]

TEN_MINUTES = 600
PATHS = {
    "file": ("tutorial",),
    "kafka": ("tutorial", "tutorial-kafka"),
    "gateway": ("gateway",),
    "researcher": ("researcher",),
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As it is released."""
    folder = tmp_path_factory.mktemp("wheel")
    make = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*make, "--wheel-dir", folder, ROOT], check=True)  # noqa: S603 - our own
    [made] = folder.glob("meteragent-*.whl")
    return made


def of_the_wheel(page: str, wheel: Path) -> str:
    """What `pip install` would find on an index is this wheel."""
    return page.replace("pip install .\n", f"pip install --quiet {wheel}\n").replace(
        "pip install 'meteragent[", f"pip install --quiet '{wheel}["
    )


@pytest.mark.parametrize("path", PATHS)
def test_a_newcomer_needs_less_than_ten_minutes(path: str, tmp_path: Path, wheel: Path) -> None:
    begun = time.monotonic()
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)  # noqa: S603 - Python's own
    with Shell(
        tmp_path, [venv / "bin", "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin"]
    ) as shell:
        brought(shell.directory, *FROM_THE_PROJECT)
        for name in PATHS[path]:
            page = (GUIDE / f"{name}.md").read_text("utf-8").partition("## systemd")[0]
            shell.follows(of_the_wheel(page, wheel))
        shell.types("kill $(jobs -p); wait; deploy/kafka/broker stop")
        where, _ = shell.types('python -c "import meteragent; print(meteragent.__file__)"')
    took = time.monotonic() - begun
    print(f"{path}: {took:.0f} s")  # noqa: T201 - `pytest -s` shows the times
    assert str(venv) in where
    assert took < TEN_MINUTES
