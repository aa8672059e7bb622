"""Pages that can be followed are followed: every file saved, every command typed, in order."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.docs.typed import ROOT, Shell, brought

if TYPE_CHECKING:
    from collections.abc import Iterator

GUIDE = ROOT / "deploy" / "guide"
VENV = Path(sys.prefix) / "bin"
FROM_THE_PROJECT = ("deploy/example.csv", "deploy/kafka", "deploy/prometheus", "deploy/grafana")


def page(name: str) -> str:
    return (GUIDE / f"{name}.md").read_text("utf-8")


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with Shell(tmp_path, [VENV, *os.environ["PATH"].split(":"), "/usr/sbin"]) as opened:
        brought(opened.directory, *FROM_THE_PROJECT)
        yield opened
        opened.types("kill $(jobs -p); wait; deploy/kafka/broker stop")


@pytest.mark.integration
@pytest.mark.slow
def test_the_tutorial_does_what_it_shows(shell: Shell) -> None:
    """A file, Kafka, Prometheus; all but `pip install .`, which is tried with the README's."""
    assert shell.follows(page("tutorial").replace("$ pip install .\n", ""))
    assert shell.follows(page("tutorial-kafka"))
    assert shell.follows(page("tutorial-grafana"))
