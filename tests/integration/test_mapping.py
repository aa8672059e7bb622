"""Records of another shape are read through Kafka too, and a topic can be looked at."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING

import pytest

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.config import load
from meteragent.stream.homes import Homes
from tests.files.given import BEGIN, write_key
from tests.integration.test_same_as_files import configured, through_kafka

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration

TABLES = """
[input]
meter = "meter_id"
time = "at.end"
value = "used.amount"
kind = "energy"
unit = "Wh"
stamp = "end"
[agent]
key_file = "noise.key"
commit_interval = "20ms"
max_skew = "1h"
[[policy]]
name = "homes"
window = "15m"
interval = "5m"
maximum = "24kW"
step = "1W"
epsilon = "3000"
budget = "1000000"
idle = "0s"
"""
METERS, SLOTS, STEP = 5, 12, 300_000


def test_energy_of_any_shape_is_released_as_power(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_key(tmp_path)
    (tmp_path / "agent.toml").write_text(configured(kafka, f"mapping-{os.getpid()}", TABLES))
    config = load(tmp_path / "agent.toml", {})
    assert main(["topics", "create", "-c", "agent.toml", "--partitions", "2"]) == Exit.OK
    lines = [
        json.dumps(
            {
                "meter_id": f"m-{meter}",
                "at": {"end": (BEGIN + (slot + 1) * STEP) // 1000},
                "used": {"amount": 10 * (meter + 1)},
            }
        ).encode()
        for slot in range(SLOTS)
        for meter in range(METERS)
    ]
    read = asyncio.run(through_kafka(config, 2, lines, METERS * SLOTS // 3))
    found = [json.loads(text) for told in read.values() for _, text in told]
    assert {(one["meter_id"], one["values"]["avg"]) for one in found} == {
        (f"m-{meter}", 120.0 * (meter + 1)) for meter in range(METERS)
    }
    assert len(found) == METERS * SLOTS // 3
    assert {partition for partition, _ in read} == {
        Homes("murmur2", 2).of(f"m-{m}") for m in range(METERS)
    }

    capsys.readouterr()
    assert main(["inspect", config.kafka.input, "-c", "agent.toml"]) == Exit.OK
    said = capsys.readouterr().out
    assert 'time = "at.end"' in said
    assert 'value = "used.amount"' in said
    assert "5m apart" in said
    assert main(["inspect", "no.such.topic", "-c", "agent.toml"]) == Exit.CONFIGURATION


def test_what_only_tables_have_is_refused_before_anything_is_read(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_key(tmp_path)
    tables = TABLES.replace("[agent]", 'delimiter = ";"\n[agent]')
    (tmp_path / "agent.toml").write_text(configured(kafka, f"tables-{os.getpid()}", tables))
    for command in ("check", "run"):
        assert main([command, "-c", "agent.toml"]) == Exit.CONFIGURATION
    assert "input.delimiter: is of tables" in capsys.readouterr().err
