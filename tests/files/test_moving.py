"""A ledger that version 0.1 left, killed in the middle of a window: what 0.2 makes of it.

        0.1: three quarters are paid for        0.2: five more, and the budget is spent
    |----------|----------|----------|----=====|=====...|          |
    0         15         30         45    ^ line 90 is the oldest that its open window needs

The rows were written by 0.1.0 itself (commit 478b133), with the settings below.
"""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

import pytest

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from tests.files.given import write_key

if TYPE_CHECKING:
    from pathlib import Path

BEGIN, MINUTE, QUARTER = 1_767_571_200_000, 60_000, 900_000
PAID = 3
ACCOUNT = bytes.fromhex(
    "6d74724c02007000a0bb0d0000000000a0bb0d00000000008096980000000000c2f71d0000000000"
    f"e04a9d8b9b01{'00' * 98}0100010001{'00' * 123}"
)
"""Of each of its two meters: three windows of one epsilon each, of a budget of eight."""
TABLES = """
CREATE TABLE account (meter TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE policy (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE input (
    name TEXT PRIMARY KEY,
    head_bytes INTEGER NOT NULL,
    head BLOB NOT NULL,
    line INTEGER NOT NULL,
    clock INTEGER NOT NULL,
    processed INTEGER NOT NULL,
    output TEXT NOT NULL,
    totals TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE output (path TEXT PRIMARY KEY, length INTEGER NOT NULL) WITHOUT ROWID;
PRAGMA application_id = 1836347969;
PRAGMA user_version = 1;
"""
DOCUMENT = (
    '{"schema": "meteragent.policy/1", "minimum": "0", "maximum": "24000", "step": "10", "size_ms":'
    ' 900000, "interval_ms": 60000, "hop_ms": 900000, "presence": "public", "epsilon_per_watt": '
    '[["avg", "0.01"]], "grace_ms": 30000, "idle_ms": 300000, "min_coverage": "0.8", '
    '"budget_per_watt": "0.08", "horizon_ms": 86400000, "on_exhausted": "suppress", "policy": '
    '"e8947b5841785371a16cee419f54fc66"}'
)
POLICY = "e8947b5841785371a16cee419f54fc66"
HEAD = (1800, bytes.fromhex("f416c764088b2d11489778ee1e6bd678"), 90, BEGIN + 44 * MINUTE, 120)
TOTALS = (
    '{"duplicates": 0, "first_lines": {}, "late": 0, "readings": 120, "rejects": {}, "released": 6,'
    ' "withheld": {}}'
)
RELEASED = b"what 0.1 released\n"
SETTINGS = (
    *("--interval", "1m", "--maximum", "24kW", "--epsilon", "1", "--budget", "8"),
    *("--horizon", "24h", "--key-file", "noise.key", "--ledger", "spend.db"),
)
METERS = ("home-1", "home-2")

Said = pytest.CaptureFixture[str]


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory as 0.1 left it."""
    monkeypatch.chdir(tmp_path)
    write_key(tmp_path)
    lines = [
        json.dumps({"meter_id": meter, "ts": BEGIN + n * MINUTE, "value": 400 + n % 7 * 10})
        for n in range(200)
        for meter in METERS
    ]
    (tmp_path / "in.jsonl").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "out.jsonl").write_bytes(RELEASED)
    database = sqlite3.connect("spend.db")
    database.executescript(TABLES)
    with database:
        database.executemany("INSERT INTO account VALUES (?, ?)", [(m, ACCOUNT) for m in METERS])
        database.execute("INSERT INTO policy VALUES (?, ?)", (POLICY, DOCUMENT))
        output = str(tmp_path / "out.jsonl")
        row = (str(tmp_path / "in.jsonl"), *HEAD, output, TOTALS)
        database.execute("INSERT INTO input VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        database.execute("INSERT INTO output VALUES (?, ?)", (output, len(RELEASED)))
    database.close()
    return tmp_path


def sanitized(*others: str) -> int:
    return main(["sanitize", "in.jsonl", "-o", "out.jsonl", *SETTINGS, *others])


def released(directory: Path) -> dict[int, str]:
    """What became of each window of one meter, after what 0.1 had released."""
    before, _, after = (directory / "out.jsonl").read_bytes().partition(RELEASED)
    assert before == b""
    documents = [json.loads(line) for line in after.splitlines()]
    assert {one["schema"] for one in documents} == {"meteragent.release/2"}
    return {
        (one["window_start"] - BEGIN) // MINUTE: one.get("withheld", one["status"])
        for one in documents
        if one["meter_id"] == METERS[0]
    }


def test_what_was_spent_can_be_read_before_anything_is_changed(left: Path, capsys: Said) -> None:
    before = (left / "spend.db").read_bytes()
    assert main(["ledger", "totals", "--ledger", "spend.db"]) == Exit.OK
    assert capsys.readouterr().out.splitlines()[1].split()[1:] == ["2", "0", "100", "6", "10"]
    assert (left / "spend.db").read_bytes() == before


def test_budgets_count_on_and_the_open_window_is_read_again(left: Path, capsys: Said) -> None:
    """Nothing is released again, nothing is left out, and eight windows are paid for in all."""
    assert sanitized("--window", "15m") == Exit.OK
    found = released(left)
    assert list(found) == [15 * n for n in range(PAID, 14)]
    assert [*found.values()] == ["released"] * (8 - PAID) + ["budget"] * 5 + ["coverage"]
    capsys.readouterr()
    assert main(["ledger", "totals", "--ledger", "spend.db"]) == Exit.OK
    policy, *numbers = capsys.readouterr().out.splitlines()[1].split()
    assert POLICY.startswith(policy.rstrip("…"))
    assert numbers == ["2", "2", "100", "16", "0"]


def test_under_other_windows_what_was_spent_still_counts(left: Path) -> None:
    """Half hours: the first is half released already, and what is left pays for five of six."""
    more = ({"meter_id": METERS[0], "ts": BEGIN + n * MINUTE, "value": 1} for n in range(200, 290))
    with (left / "in.jsonl").open("a") as file:
        file.writelines(f"{json.dumps(reading)}\n" for reading in more)
    assert sanitized("--window", "30m") == Exit.OK
    found = released(left)
    assert found == {
        30: "coverage",
        **{60 + 30 * n: "released" for n in range(8 - PAID)},
        **{60 + 30 * n: "budget" for n in range(8 - PAID, 7)},
        270: "coverage",
    }


def test_it_is_of_the_first_key_from_then_on_and_0_1_does_not_read_it(
    left: Path, capsys: Said
) -> None:
    assert sanitized("--window", "15m") == Exit.OK
    (left / "noise.key").write_text("0123456789abcdef" * 4)
    assert sanitized("--window", "15m") == Exit.OWNER
    assert "key adopt" in capsys.readouterr().err
    assert sqlite3.connect("spend.db").execute("PRAGMA user_version").fetchone() == (3,)
