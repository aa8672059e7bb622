"""`init` makes what `check` finds good, and leaves topics that are there."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration


def test_from_a_purpose_to_an_agent_that_check_finds_good(
    tmp_path: Path,
    kafka: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    mark, file = secrets.token_hex(4), str(tmp_path / "agent.toml")
    for topic in ("input", "output", "ledger", "rejected", "policies", "group"):
        monkeypatch.setenv(f"METERAGENT__KAFKA__{topic.upper()}", f"{mark}.{topic}")
    arguments = ["init", "appliances", "--bootstrap", kafka, "--partitions", "2", "-c", file]
    assert main(arguments) == Exit.OK
    assert capsys.readouterr().out.count(": made, a topic\n") == 5
    assert main(["check", "-c", file]) == Exit.OK
    assert main(arguments) == Exit.OK
    assert "all topics exist already" in capsys.readouterr().out
