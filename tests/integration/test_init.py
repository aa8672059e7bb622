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


def test_a_preset_of_groups_has_all_their_topics(
    tmp_path: Path,
    kafka: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Once it is told who is in which group, `check` finds it good, and nothing is made again."""
    mark, file = secrets.token_hex(4), tmp_path / "agent.toml"
    names = ("input", "rejected", "policies", "group", "groups", "groups_output", "partials")
    for topic in (*names, "homes_ledger", "groups_ledger"):
        monkeypatch.setenv(f"METERAGENT__KAFKA__{topic.upper()}", f"{mark}.{topic}")
    arguments = ["init", "feeder", "--bootstrap", kafka, "--partitions", "2", "-c", str(file)]
    assert main(arguments) == Exit.OK
    assert capsys.readouterr().out.count(": made, a topic\n") == 8
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    groups = tmp_path / "groups.csv"
    groups.write_text("meter_id,group_id\n" + "".join(f"home-{n},street\n" for n in range(12)))
    assert main(["topics", "members", str(groups), "-c", str(file)]) == Exit.OK
    assert main(["check", "-c", str(file)]) == Exit.OK
    assert main(arguments) == Exit.OK
    assert "all topics exist already" in capsys.readouterr().out
    assert {name: (tmp_path / name).read_bytes() for name in kept} == kept
