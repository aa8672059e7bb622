"""`ledger show`, `top` and `totals` of files that `sanitize` has written."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import pytest

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.config import load
from meteragent.files.ledger import SqliteLedger
from meteragent.privacy.ledger import Ledger
from tests.files.given import CONFIGURATION, SETTINGS, contents, lively, write_key
from tests.given import written

Said = pytest.CaptureFixture[str]

BOTH = ("--ledger", "spend.db", "-c", "agent.toml")
ALONE = ("--ledger", "spend.db")


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said) -> Path:
    """A ledger under two policies, as `sanitize` leaves it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    write_key(tmp_path)
    (tmp_path / "agent.toml").write_text(CONFIGURATION)
    (tmp_path / "in.jsonl").write_bytes(lively(1500))
    assert main(["sanitize", "in.jsonl", "-o", "out.jsonl", *BOTH]) == Exit.OK
    capsys.readouterr()
    return tmp_path


def rows(capsys: Said) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def paid() -> dict[str, Decimal]:
    """Meter -> epsilon at 100 W of all its releases, added up from the releases themselves."""
    total: dict[str, Decimal] = defaultdict(Decimal)
    for line in Path("out.jsonl").read_text().splitlines():
        release = json.loads(line)
        total[release["meter_id"]] += 100 * sum(map(Decimal, release["epsilon"].values()))
    return total


def test_spent_is_what_the_releases_cost(capsys: Said) -> None:
    """All within one horizon, so nothing has come back yet."""
    assert main(["ledger", "top", "--csv", *BOTH]) == Exit.OK
    told = rows(capsys)
    assert {row["meter"]: Decimal(row["spent"]) for row in told} == paid()
    assert len(told) == 5
    for row in told:
        budget = 24 if row["policy"] == "homes" else 200
        assert Decimal(row["spent"]) + Decimal(row["remaining"]) == budget
        assert Decimal(row["spent_per_watt"]) * 100 == Decimal(row["spent"])
    shares = [
        Decimal(row["spent"]) / (Decimal(row["spent"]) + Decimal(row["remaining"])) for row in told
    ]
    assert shares == sorted(shares, reverse=True)


def test_totals_are_sums_over_the_meters_of_a_policy(capsys: Said) -> None:
    assert main(["ledger", "totals", "--csv", *BOTH]) == Exit.OK
    homes, plugs = rows(capsys)
    assert (homes["policy"], homes["meters"], plugs["meters"]) == ("homes", "3", "2")
    for row in (homes, plugs):
        mine = [spent for meter, spent in paid().items() if meter[:4] == row["policy"][:4]]
        assert Decimal(row["spent"]) == sum(mine)


def test_a_history_adds_up_to_what_is_spent(capsys: Said) -> None:
    assert main(["ledger", "show", "home-ü", "--csv", *BOTH]) == Exit.OK
    told = rows(capsys)
    assert sum(Decimal(row["spent"]) for row in told) == paid()["home-ü"]
    starts = [row["start"] for row in told]
    assert starts == sorted(starts)
    assert all(start.endswith("Z") for start in starts)


def test_a_meter_is_shown_to_people(capsys: Said) -> None:
    assert main(["ledger", "show", "home-a", *BOTH]) == Exit.OK
    said = capsys.readouterr().out
    spent, left = paid()["home-a"], 24 - paid()["home-a"]
    assert said.startswith("home-a: policy homes (0081f3150b0b829683a4c7ab6af019d0)\n")
    told = {name: amounts for name, *amounts in map(str.split, filter(None, said.splitlines()))}
    for name, amount in (("spent", spent), ("remaining", left), ("budget", Decimal(24))):
        assert list(map(Decimal, told[name])) == [amount, amount / 100]
    assert "in 24 h    epsilon at 100 W  per watt\n" in said
    assert "next refresh: 2 (0.02 per watt) from the window of 2025-11-19T00:" in said


def test_as_many_as_asked_for_are_at_the_top(capsys: Said) -> None:
    assert main(["ledger", "top", "--count", "2", *BOTH]) == Exit.OK
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split("  ")[0] == "meter"
    assert header.endswith("policy  radius watts  spent  remaining         decided until")
    assert len(lines) == 2


def test_one_policy_needs_no_configuration(directory: Path, capsys: Said) -> None:
    (directory / "one.jsonl").write_bytes(lively(300))
    assert main(["sanitize", "one.jsonl", "-o", "o", *SETTINGS, "--ledger", "one.db"]) == Exit.OK
    capsys.readouterr()
    assert main(["ledger", "totals", "--csv", "--ledger", "one.db"]) == Exit.OK
    [row] = rows(capsys)
    assert (row["meters"], row["radius_watts"]) == ("6", "100")
    assert len(row["policy"]) == 32


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (("show", "home-x", *BOTH), "METER: has no account here; write", Exit.CONFIGURATION),
        (("show", "home-a", *ALONE), "was kept under 2 policies; name the", Exit.CONFIGURATION),
        (("totals",), "-c: is missing; name the configuration, or", Exit.CONFIGURATION),
        (("top", "--count", "0", *BOTH), "--count: is below 1", Exit.CONFIGURATION),
        (("top", "--ledger", "none.db"), "none.db: is not a file; name the", Exit.FILE),
        (("top", "--ledger", "in.jsonl"), "in.jsonl: is not a ledger, or", Exit.DATA),
        (("top", "--ledger", "other.db"), "other.db: is not a ledger of a", Exit.DATA),
    ],
)
def test_what_cannot_be_shown_is_told(
    directory: Path, capsys: Said, arguments: tuple[str, ...], said: str, code: Exit
) -> None:
    sqlite3.connect(directory / "other.db").execute("CREATE TABLE x (y)").connection.close()
    assert main(["ledger", *arguments]) == code
    told = capsys.readouterr()
    assert said in told.err
    assert told.out == ""
    assert not (directory / "none.db").exists()


def test_meters_without_a_policy_are_counted_and_not_guessed(directory: Path, capsys: Said) -> None:
    only_homes = CONFIGURATION[: CONFIGURATION.rindex("[[policy]]")]
    (directory / "agent.toml").write_text(only_homes)
    assert main(["ledger", "totals", "--csv", *BOTH]) == Exit.OK
    told = capsys.readouterr()
    assert told.err == "meteragent: 2 accounts are of meters that no policy is for\n"
    assert len(told.out.splitlines()) == 2
    assert main(["ledger", "show", "plug-1", *BOTH]) == Exit.CONFIGURATION
    assert "METER: is a meter that no policy is for" in capsys.readouterr().err


def test_who_looks_and_who_writes_do_not_disturb_each_other(capsys: Said) -> None:
    writer = SqliteLedger("spend.db")
    assert main(["ledger", "totals", *BOTH]) == Exit.OK
    writer.commit(lengths={"x": 1}, accounts={"home-b": writer.accounts()["home-a"]})
    before = contents(Path("spend.db"))
    assert main(["ledger", "totals", *BOTH]) == Exit.OK
    assert contents(Path("spend.db")) == before
    writer.close()
    said = capsys.readouterr().out.splitlines()
    assert said[0] == said[3]
    assert said[1] != said[4]


def test_an_account_that_has_paid_for_nothing_is_shown_whole(capsys: Said) -> None:
    writer = SqliteLedger("spend.db")
    [home] = [one for one in load(Path("agent.toml"), {}).assigned if one.prefix == "home-"]
    [empty] = written(Ledger(home.policy.terms, 1), name=home.name)
    writer.commit(lengths={}, accounts={"home-new": empty})
    writer.close()
    assert main(["ledger", "show", "home-new", *BOTH]) == Exit.OK
    said = capsys.readouterr().out
    assert "windows are decided until never\n" in said
    assert "next refresh" not in said
    assert said.endswith("start  spent  spent_per_watt\n")


@pytest.mark.parametrize("document", ["{", "{}", "[]", '{"minimum": "x"}', "changed"])
def test_a_policy_that_is_not_what_its_id_says_is_damage(
    directory: Path, capsys: Said, document: str
) -> None:
    with sqlite3.connect(directory / "spend.db") as database:
        [(kept,)] = database.execute("SELECT document FROM policy LIMIT 1")
        if document == "changed":
            document = kept.replace('"grace_ms": ', '"grace_ms": 1')
        database.execute("DELETE FROM policy WHERE document != ?", (kept,))
        database.execute("UPDATE policy SET document = ?", (document,))
    database.close()
    assert main(["ledger", "totals", *ALONE]) == Exit.DATA
    assert "the ledger holds a policy that" in capsys.readouterr().err


def test_an_id_does_nothing_to_a_terminal(directory: Path, capsys: Said) -> None:
    with sqlite3.connect(directory / "spend.db") as database:
        database.execute("UPDATE account SET meter = ? WHERE meter = 'home-a'", ("home-\x1b[2J",))
    database.close()
    assert main(["ledger", "top", *BOTH]) == Exit.OK
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "'home-\\x1b[2J'" in said
