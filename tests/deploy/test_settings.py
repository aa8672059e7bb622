"""What deploy/ sets, the agent knows: no file there may go stale unseen."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from meteragent import config
from meteragent.commands.parser import parser
from meteragent.config import keyfile
from meteragent.config.model import Config
from meteragent.config.tree import PREFIX, settings, tables, variable

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
TOML = sorted(DEPLOY.rglob("*.toml"))
TEXT = {".toml", ".yaml", ".yml", ".md", ".tpl", ".txt", ".service", ".conf", ""}
NAMES = {variable(path) for path, _ in settings()}
PATHS = {".".join(path) for path, _ in settings()}
TABLES = {path[0] for path, _ in tables(Config)} - {"policy"}


def texts() -> list[tuple[Path, str]]:
    files = [path for path in DEPLOY.rglob("*") if path.is_file() and path.suffix in TEXT]
    return [(path, path.read_text()) for path in files if "__pycache__" not in path.parts]


@pytest.mark.parametrize("file", TOML, ids=lambda file: str(file.relative_to(DEPLOY)))
def test_every_example_passes_the_check(file: Path, tmp_path: Path) -> None:
    keyfile.create(tmp_path / "noise-key")
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    given = config.load(file, environ).agent.key_file
    if given is None or not given.credential:
        environ[variable(("agent", "key_file"))] = str(tmp_path / "noise-key")
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "meteragent", "check", "--offline", "-c", file],
        env=environ,
        cwd=DEPLOY.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "noise key: good" in done.stdout


def test_every_variable_that_is_named_is_one() -> None:
    named = {
        (path.name, name)
        for path, text in texts()
        for name in re.findall(rf"\b{PREFIX}[A-Z][A-Z_]*[A-Z]\b", text)
    }
    assert {"Dockerfile", "compose.yaml", "statefulset.yaml"} <= {file for file, _ in named}
    assert [one for one in named if one[1] not in NAMES] == []


def test_every_setting_that_is_named_is_one() -> None:
    pattern = rf"(?<![\w./-])(?:{'|'.join(sorted(TABLES))})\.[a-z]+(?:_[a-z]+)+\b"
    named = {(path.name, name) for path, text in texts() for name in re.findall(pattern, text)}
    assert "agent.drain_deadline" in {name for _, name in named}
    assert [one for one in named if one[1] not in PATHS] == []


def test_every_command_of_ours_that_is_named_is_one() -> None:
    commands = {
        line
        for page in (DEPLOY / "operations.md", *(DEPLOY / "prometheus").glob("*.md"))
        for line in re.findall(r"^\$ meteragent ((?:(?! #).)+)", page.read_text(), re.MULTILINE)
    }
    assert commands
    for command in commands:
        parser().parse_args(command.split())
