"""Wheel and source distribution go into empty environments, of every Python that is at hand.

Those are looked for where pyenv keeps them, and on the path: `PYTHONS` names others, with colons
between. Dependencies come from the package registry, as they would to anybody.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.deploy.test_supply import READINGS, wheel

ROOT = Path(__file__).resolve().parents[2]
LEAST = (3, 11)

pytestmark = pytest.mark.slow


def pythons() -> list[str]:
    """The interpreters to try, ours among them, one for each version."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named = os.environ.get("PYTHONS", "").split(":")
    on_path = [shutil.which(f"python3.{minor}") or "" for minor in range(11, 16)]
    found: dict[str, str] = {}
    for one in (sys.executable, *named, *map(str, sorted(home.glob("*/bin/python"))), *on_path):
        if one and Path(one).exists():
            asked = "import sys; print('.'.join(map(str, sys.version_info[:2])))"
            done = subprocess.run(  # noqa: S603 - an interpreter
                [one, "-c", asked], capture_output=True, text=True, check=False
            )
            version = done.stdout.strip()
            if version and tuple(map(int, version.split("."))) >= LEAST:
                found.setdefault(version, one)
    return [*found.values()]


def works_in(python: str, package: Path, directory: Path) -> str:
    """Install a package into an empty environment, and use it; what it says of its version."""
    home = directory / "venv"
    subprocess.run([python, "-m", "venv", home], check=True, capture_output=True)  # noqa: S603
    pip = (home / "bin" / "python", "-m", "pip", "install", "--quiet")
    done = subprocess.run([*pip, package], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    meteragent = home / "bin" / "meteragent"
    (directory / "in.jsonl").write_text(READINGS)
    words = ("sanitize", "in.jsonl", "-o", "out.jsonl", "--preset", "tv-content")
    for command in (("key", "create", "noise.key"), (*words, "--key-file", "noise.key")):
        done = subprocess.run(  # noqa: S603 - what was just installed
            [meteragent, *command], cwd=directory, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert (directory / "out.jsonl").read_text().count('"status":"released"') == 2
    return subprocess.run(  # noqa: S603 - the same
        [meteragent, "--version"], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("python", pythons())
def test_the_wheel_goes_into_an_empty_environment(python: str, tmp_path: Path) -> None:
    made = wheel(tmp_path / "made")
    assert "0.2.0" in works_in(python, made, tmp_path)


def test_the_source_distribution_builds_the_same_package(tmp_path: Path) -> None:
    made = wheel(tmp_path / "made")
    source = tmp_path / "source"
    shutil.copytree(
        ROOT,
        source,
        ignore=shutil.ignore_patterns(".*", "node_modules", "target", "*.egg-info", "build"),
    )
    build = "import sys; from setuptools import build_meta as b; print(b.build_sdist(sys.argv[1]))"
    done = subprocess.run(  # noqa: S603 - our own project
        [sys.executable, "-c", build, tmp_path],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    package = tmp_path / done.stdout.splitlines()[-1]
    assert "0.2.0" in works_in(sys.executable, package, tmp_path)
    site = next((tmp_path / "venv").glob("lib/*/site-packages/meteragent"))
    with zipfile.ZipFile(made) as archive:
        names = {name for name in archive.namelist() if name.startswith("meteragent/")}
    found = {
        f"meteragent/{path.relative_to(site)}"
        for path in site.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert found == names
