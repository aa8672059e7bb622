"""The embedded ledger: one writer, all or nothing, never mistaken for an empty one."""

from __future__ import annotations

import sqlite3
import stat
from multiprocessing import get_context
from typing import TYPE_CHECKING

import pytest

from meteragent.errors import FileRefused, LedgerBusy, LedgerDamaged, LedgerOfAnother
from meteragent.files.ledger import IN_MEMORY, Resume, SqliteLedger, look
from meteragent.files.totals import Totals
from meteragent.stream.pipeline import Position

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "spend.db"


def standing() -> Resume:
    totals = Totals(readings=5, late=1)
    totals.rejects["not_json"] = 2
    totals.first_lines["not_json"] = 17
    return Resume(Position(3, 4, 5), 6, b"head", "/out", totals)


def test_a_new_ledger_is_empty_and_its_owners_alone(path: Path) -> None:
    ledger = SqliteLedger(str(path))
    assert ledger.accounts() == {}
    assert ledger.standing("in") == Resume()
    assert ledger.length("out") is None
    ledger.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_committed_is_there_again(path: Path) -> None:
    ledger = SqliteLedger(str(path))
    ledger.commit(
        lengths={"out": 100},
        accounts={"m-1": b"old", "m-2": b"two"},
        policies={"p": "{}"},
        standings={"in": standing()},
    )
    ledger.commit(lengths={"out": 200}, accounts={"m-1": b"new"}, policies={"p": "{}"})
    ledger.close()
    again = SqliteLedger(str(path))
    assert again.accounts() == {"m-1": b"new", "m-2": b"two"}
    assert again.length("out") == 200
    assert again.standing("in") == standing()
    again.close()


def test_it_writes_ahead_and_waits_for_the_disk(path: Path) -> None:
    ledger = SqliteLedger(str(path))
    assert ledger._database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert ledger._database.execute("PRAGMA synchronous").fetchone() == (2,)
    ledger.close()


def test_a_commit_that_fails_changes_nothing(path: Path) -> None:
    ledger = SqliteLedger(str(path))
    broken = {"in": Resume(output=None)}  # type: ignore[arg-type]
    with pytest.raises(FileRefused, match="SQLITE_CONSTRAINT"):
        ledger.commit(lengths={"out": 1}, accounts={"m": b"x"}, standings=broken)
    assert ledger.accounts() == {}
    assert ledger.length("out") is None
    ledger.close()


def hold(path: str, ready: object, done: object) -> None:
    ledger = SqliteLedger(path)
    ready.set()  # type: ignore[attr-defined]
    done.wait(60)  # type: ignore[attr-defined]
    ledger.close()


def test_a_second_process_is_told_and_readers_are_not_disturbed(path: Path) -> None:
    forks = get_context("spawn")
    ready, done = forks.Event(), forks.Event()
    process = forks.Process(target=hold, args=(str(path), ready, done))
    process.start()
    assert ready.wait(60)
    with pytest.raises(LedgerBusy, match="another process uses this ledger"):
        SqliteLedger(str(path))
    reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    assert reader.execute("SELECT count(*) FROM account").fetchone() == (0,)
    reader.close()
    done.set()
    process.join(60)
    SqliteLedger(str(path)).close()


def test_a_foreign_writer_is_told(path: Path) -> None:
    ledger = SqliteLedger(str(path))
    ledger._database.execute("PRAGMA busy_timeout = 0")
    foreign = sqlite3.connect(path, isolation_level=None)
    foreign.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerBusy):
        ledger.commit(lengths={})
    foreign.close()
    ledger.close()


@pytest.mark.parametrize("content", [b"not a database" * 100, b"SQLite format 3\0" + b"\1" * 5000])
def test_what_is_no_ledger_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(LedgerDamaged):
        SqliteLedger(str(path))
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "script", ["CREATE TABLE songs (title)", "PRAGMA application_id = 0x6D747241"]
)
def test_another_database_is_refused(path: Path, script: str) -> None:
    database = sqlite3.connect(path)
    database.execute(script)
    database.commit()
    database.close()
    with pytest.raises(LedgerDamaged, match="not a ledger of a version that is known"):
        SqliteLedger(str(path))


def test_a_damaged_page_is_told(path: Path) -> None:
    ledger = SqliteLedger(str(path))
    ledger.commit(lengths={}, accounts={f"m-{i}": b"x" * 500 for i in range(500)})
    ledger.close()
    content = bytearray(path.read_bytes())
    content[4096 * 8 :] = b"\xee" * (len(content) - 4096 * 8)
    path.write_bytes(content)
    ledger = SqliteLedger(str(path))
    with pytest.raises(LedgerDamaged):
        ledger.accounts()
    ledger.close()


def test_a_place_that_does_not_exist_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        SqliteLedger(str(tmp_path / "nowhere" / "spend.db"))


def test_a_ledger_in_memory_needs_no_lock() -> None:
    one, other = SqliteLedger(IN_MEMORY), SqliteLedger()
    one.commit(lengths={"out": 1})
    assert other.length("out") is None
    one.close()
    other.close()


def test_a_ledger_is_of_the_key_that_it_was_first_written_with(path: Path) -> None:
    ledger = SqliteLedger(str(path))
    ledger.refuse_another("aa")  # nothing was written yet
    ledger.commit(lengths={}, key="aa")
    ledger.commit(lengths={}, key="bb")
    ledger.refuse_another("aa")
    with pytest.raises(LedgerOfAnother, match="its noise key is aa, and bb here; use that key"):
        ledger.refuse_another("bb")
    ledger.adopt("bb")
    ledger.refuse_another("bb")
    ledger.close()


def test_a_ledger_of_before_they_knew_their_key_is_taken_over(path: Path) -> None:
    ledger = SqliteLedger(str(path))
    ledger.commit(lengths={"out": 7}, accounts={"m": b"x"}, key="aa")
    ledger.close()
    with sqlite3.connect(path) as database:
        for table in ("owner", "group_account", "home", "member", "frontier"):
            database.execute(f"DROP TABLE {table}")
        database.execute("PRAGMA user_version = 1")
    database.close()
    assert look(path).accounts == {"m": b"x"}
    for _ in range(2):
        ledger = SqliteLedger(str(path))
        assert (ledger.accounts(), ledger.length("out")) == ({"m": b"x"}, 7)
        ledger.refuse_another("bb")
        ledger.close()
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (3,)
    database.close()
