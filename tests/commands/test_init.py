"""`init`: what it writes works, says what it did, and takes nothing from anybody."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from meteragent.cli import main
from meteragent.commands.arguments import CHOICES, OF_GROUPS
from meteragent.commands.exit_codes import Exit
from meteragent.config import load
from meteragent.config.presets import presets
from tests.files.given import BEGIN

if TYPE_CHECKING:
    from pathlib import Path


def init(directory: Path, *arguments: str) -> int:
    return main(["init", *arguments, "-c", str(directory / "agent.toml")])


@pytest.mark.parametrize("preset", ["tv-content", "appliances", "presence", "bill"])
def test_what_is_written_is_that_preset_and_works(
    preset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert init(tmp_path, preset, "--interval", "15m") == Exit.OK
    config = load(tmp_path / "agent.toml", {})
    [policy] = config.policy
    assert (policy.name, policy.preset, policy.interval) == (preset, preset, 900_000)
    assert main(["check", "--offline", "-c", str(tmp_path / "agent.toml")]) == Exit.OK
    readings = tmp_path / "in.csv"
    days = 62 if preset == "bill" else 8  # a whole month, wherever it begins
    rows = [f"home-1,{BEGIN + quarter * 900_000},250" for quarter in range(96 * days)]
    readings.write_text("\n".join(["meter_id,ts,value", *rows, ""]))
    told = capsys.readouterr().out
    [command] = [line.split() for line in told.splitlines() if " sanitize " in line]
    places = {"IN": readings, "OUT": tmp_path / "out.jsonl", "spend.db": tmp_path / "spend.db"}
    given = [str(places.get(word, word)) for word in command[1:]]
    assert main([*given, "--time-format", "unix_ms"]) == Exit.OK
    assert b'"status":"released"' in (tmp_path / "out.jsonl").read_bytes()


@pytest.mark.parametrize("preset", ["feeder", "feeder-15m"])
def test_what_is_written_of_groups_is_that_preset_and_works(
    preset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert init(tmp_path, preset, "--interval", "5m", "--name", "street") == Exit.OK
    config = load(tmp_path / "agent.toml", {})
    [group] = config.group
    assert (group.name, group.preset, group.interval) == ("street", preset, 300_000)
    assert config.policy == ()
    rows = [f"home-{n % 12},{BEGIN + n // 12 * 300_000},250" for n in range(12 * 24)]
    (tmp_path / "in.csv").write_text("\n".join(["meter_id,ts,value", *rows, ""]))
    members = "".join(f"home-{n},street-1\n" for n in range(12))
    (tmp_path / "groups.csv").write_text("meter_id,group_id\n" + members)
    told = capsys.readouterr().out
    assert "home" in told.split("\n\n")[1]
    [command] = [line.split() for line in told.splitlines() if " sanitize " in line]
    names = {"IN": "in.csv", "OUT": "out.jsonl", "spend.db": "spend.db", "groups.csv": "groups.csv"}
    given = [str(tmp_path / names[word]) if word in names else word for word in command[1:]]
    assert main([*given, "--time-format", "unix_ms"]) == Exit.OK
    assert b'"status":"released"' in (tmp_path / "out.jsonl").read_bytes()


def test_presets_that_may_be_named_are_those_there_are() -> None:
    assert CHOICES["preset"] == tuple(presets())
    assert tuple(presets("groups")) == OF_GROUPS


def test_the_key_is_its_owners_alone(tmp_path: Path) -> None:
    init(tmp_path, "tv-content")
    assert (tmp_path / "noise.key").stat().st_mode & 0o777 == 0o600


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def all_there_is() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    init(tmp_path, "tv-content", "--interval", "1m")
    before = all_there_is()
    capsys.readouterr()
    assert init(tmp_path, "tv-content", "--interval", "1m") == Exit.OK
    assert capsys.readouterr().out.count("already exists, left unchanged") == 2
    assert init(tmp_path, "presence") != Exit.OK
    assert "already exists, and says something else" in capsys.readouterr().err
    assert all_there_is() == before


def test_a_key_that_is_there_is_used(tmp_path: Path) -> None:
    main(["key", "create", str(tmp_path / "noise.key")])
    key = (tmp_path / "noise.key").read_bytes()
    assert init(tmp_path, "tv-content") == Exit.OK
    assert (tmp_path / "noise.key").read_bytes() == key
    (tmp_path / "noise.key").chmod(0o644)
    assert init(tmp_path, "tv-content") != Exit.OK


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--interval", "soon"), "--interval: is not a duration"),
        (("--interval", "7m"), "--interval"),
        (("--name", "\u202e"), "--name: is not a name"),
        (("--bootstrap", "somewhere"), "--bootstrap"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(
    arguments: tuple[str, ...], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert init(tmp_path, "tv-content", *arguments) == Exit.CONFIGURATION
    assert named in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_brokers_that_do_not_answer_leave_the_rest_and_can_be_tried_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("appliances", "--name", "plugs", "--bootstrap", "127.0.0.1:1,127.0.0.1:2")
    for made in ("agent.toml: made", "agent.toml: already exists"):
        assert init(tmp_path, *arguments) == Exit.UNAVAILABLE
        assert made in capsys.readouterr().out
    config = load(tmp_path / "agent.toml", os.environ)
    assert config.kafka.bootstrap_servers == ("127.0.0.1:1", "127.0.0.1:2")
