"""A ledger goes on with the key that it was written with, or is told that it was replaced."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.config import keyfile
from tests.files.given import BEGIN, CONFIGURATION, MINUTE, SETTINGS, contents, write_key

Said = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_key(tmp_path)
    keyfile.create(tmp_path / "other.key")
    (tmp_path / "agent.toml").write_text(CONFIGURATION.replace("noise.key", "other.key"))
    lines = [
        json.dumps({"meter_id": "home-1", "ts": BEGIN + half * MINUTE // 2, "value": 100})
        for half in range(60)
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")


def sanitize(key: str, out: str) -> int:
    settings = [key if word == "noise.key" else word for word in SETTINGS]
    return main(["sanitize", "in.jsonl", "-o", out, "--ledger", "spend.db", *settings])


def test_another_key_is_refused_and_nothing_is_touched(capsys: Said) -> None:
    assert sanitize("noise.key", "out.jsonl") == Exit.OK
    before = contents(Path("spend.db")), Path("out.jsonl").read_bytes()
    capsys.readouterr()
    for out in ("out.jsonl", "other.jsonl"):
        assert sanitize("other.key", out) == Exit.OWNER
        said = capsys.readouterr().err
        assert "spend.db: is someone else's ledger: its noise key is " in said
        assert "run `meteragent key adopt --ledger`" in said
    assert (contents(Path("spend.db")), Path("out.jsonl").read_bytes()) == before
    assert not Path("other.jsonl").exists() or not Path("other.jsonl").read_bytes()


@pytest.mark.parametrize("named", [("--key-file", "other.key"), ("-c", "agent.toml")])
def test_a_key_that_was_replaced_on_purpose_is_adopted(
    named: tuple[str, str], capsys: Said
) -> None:
    assert sanitize("noise.key", "out.jsonl") == Exit.OK
    assert main(["key", "adopt", "--ledger", "spend.db", *named]) == Exit.OK
    assert capsys.readouterr().out == "spend.db: belongs to this key from now on\n"
    assert sanitize("other.key", "out.jsonl") == Exit.OK
    assert sanitize("noise.key", "out.jsonl") == Exit.OWNER


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), Exit.CONFIGURATION, "-c: is missing; name the configuration, or an SQLite --ledger"),
        (("--ledger", "spend.db"), Exit.CONFIGURATION, "--key-file: is not given"),
        (
            ("--ledger", "none.db", "--key-file", "other.key"),
            Exit.FILE,
            "none.db: is not a file; name the ledger of a `sanitize`",
        ),
        (
            ("--ledger", "in.jsonl", "--key-file", "other.key"),
            Exit.DATA,
            "in.jsonl: is not a ledger",
        ),
        (("--ledger", "spend.db", "--key-file", "none.key"), Exit.KEY, "none.key"),
    ],
)
def test_what_is_to_be_adopted_must_be_there(
    arguments: tuple[str, ...], code: Exit, said: str, capsys: Said
) -> None:
    assert main(["key", "adopt", *arguments]) == code
    assert said in capsys.readouterr().err
    assert not Path("none.db").exists()
