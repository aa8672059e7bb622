"""A file sanitized by days, weeks and months of a time zone."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from tests.files.given import write_key

if TYPE_CHECKING:
    from pathlib import Path

    Said = pytest.CaptureFixture[str]

PARIS = ZoneInfo("Europe/Paris")
QUARTER = timedelta(minutes=15)
SETTINGS = (
    *("--interval", "15m", "--maximum", "24kW", "--epsilon", "9", "--budget", "900"),
    *("--horizon", "40d", "--query", "avg", "--readings", "exact", "--key-file", "noise.key"),
)
ZONED = ("--timezone", "Europe/Paris")


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_key(tmp_path)
    return tmp_path


def quarters(first: datetime, until: datetime) -> list[datetime]:
    found, moment = [], first.astimezone(UTC)
    while moment < until:
        found.append(moment)
        moment += QUARTER
    return found


def as_lines(moments: list[datetime]) -> str:
    lines = ({"meter_id": "m", "ts": int(at.timestamp() * 1000), "value": 900} for at in moments)
    return "".join(json.dumps(line) + "\n" for line in lines)


def sanitize(*arguments: str) -> int:
    return main(["sanitize", *arguments, *SETTINGS])


def released(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def local(release: dict[str, Any], edge: str) -> str:
    return f"{datetime.fromtimestamp(release[f'window_{edge}'] / 1000, PARIS):%d %H:%M}"


def test_days_have_the_slots_that_their_clocks_give_them(directory: Path) -> None:
    march = datetime(2024, 3, 30, tzinfo=PARIS), datetime(2024, 4, 2, tzinfo=PARIS)
    (directory / "in.jsonl").write_text(as_lines(quarters(*march)))
    assert sanitize("in.jsonl", "-o", "out.jsonl", "--window", "day", *ZONED) == Exit.OK
    found = released(directory / "out.jsonl")
    assert [(r["readings"], r["slots"]) for r in found] == [(96, 96), (92, 92), (96, 96)]
    assert [local(r, "start") for r in found] == ["30 00:00", "31 00:00", "01 00:00"]
    assert [local(r, "end") for r in found] == ["31 00:00", "01 00:00", "02 00:00"]
    assert {r["status"] for r in found} == {"released"}


def test_a_table_says_so_too(directory: Path) -> None:
    october = datetime(2024, 10, 27, 6, tzinfo=PARIS), datetime(2024, 10, 29, 6, tzinfo=PARIS)
    (directory / "in.jsonl").write_text(as_lines(quarters(*october)))
    to_csv = ("-o", "out.csv", "--format", "csv", "--window", "day", "--offset", "6h", *ZONED)
    assert sanitize("in.jsonl", *to_csv) == Exit.OK
    with (directory / "out.csv").open() as table:
        rows = [(row["readings"], row["slots"]) for row in csv.DictReader(table)]
    assert rows == [("96", "96"), ("96", "96")]
    (directory / "before.jsonl").write_text(
        as_lines(quarters(*(day - timedelta(days=1) for day in october)))
    )
    assert sanitize("before.jsonl", "-o", "before.csv", *to_csv[2:]) == Exit.OK
    with (directory / "before.csv").open() as table:
        rows = [(row["readings"], row["slots"]) for row in csv.DictReader(table)]
    assert rows == [("100", "100"), ("96", "96")]


def test_one_zone_is_of_the_times_of_a_table_and_of_its_windows(directory: Path) -> None:
    """As its clocks show them; without a calendar it is of the times alone."""
    june = datetime(2024, 6, 1, tzinfo=PARIS), datetime(2024, 7, 1, tzinfo=PARIS)
    rows = [f"m,{moment.astimezone(PARIS):%Y-%m-%dT%H:%M},900\n" for moment in quarters(*june)]
    (directory / "in.csv").write_text("meter_id,ts,value\n" + "".join(rows))
    assert sanitize("in.csv", "-o", "month.jsonl", "--window", "month", *ZONED) == Exit.OK
    [month] = released(directory / "month.jsonl")
    assert (month["readings"], month["slots"]) == (30 * 96, 30 * 96)
    assert (local(month, "start"), local(month, "end")) == ("01 00:00", "01 00:00")
    assert sanitize("in.csv", "-o", "days.jsonl", "--window", "1d", *ZONED) == Exit.OK
    assert {local(r, "start")[-5:] for r in released(directory / "days.jsonl")} == {"02:00"}


def test_beside_a_file_of_settings_it_is_of_times_alone(directory: Path, capsys: Said) -> None:
    (directory / "in.csv").write_text("meter_id,ts,value\nm,2024-06-01T00:00,900\n")
    (directory / "agent.toml").write_text(
        '[agent]\nkey_file = "noise.key"\n[[policy]]\nname = "all"\nwindow = "1d"\n'
        'interval = "15m"\nmaximum = "24kW"\nepsilon = "1"\nbudget = "9"\n'
    )
    assert main(["sanitize", "in.csv", "-o", "o", "-c", "agent.toml", *ZONED]) == Exit.OK
    (directory / "in.jsonl").write_text('{"meter_id":"m","ts":"2024-06-01T00:00","value":900}\n')
    assert main(["sanitize", "in.jsonl", "-o", "p", "-c", "agent.toml", *ZONED]) == Exit.OK
    assert (directory / "p").read_bytes() == (directory / "o").read_bytes()
    capsys.readouterr()
    assert sanitize("in.jsonl", "-o", "q", "--window", "day", *ZONED) == Exit.NOTHING
    assert "1 lines rejected (bad_time 1 from line 1)" in capsys.readouterr().err


def test_a_month_that_comes_in_pieces_is_the_month(directory: Path) -> None:
    march = quarters(datetime(2024, 3, 1, tzinfo=PARIS), datetime(2024, 4, 1, tzinfo=PARIS))
    whole = ("--window", "month", *ZONED)
    (directory / "in.jsonl").write_text(as_lines(march))
    assert sanitize("in.jsonl", "-o", "whole.jsonl", *whole) == Exit.OK
    pieces = ("-o", "pieces.jsonl", "--ledger", "spend.db", *whole)
    for until in (100, 2000, len(march)):
        (directory / "in.jsonl").write_text(as_lines(march[:until]))
        assert sanitize("in.jsonl", "--at-end", "keep", *pieces) == Exit.OK
        assert (directory / "pieces.jsonl").read_bytes() == b""
    assert sanitize("in.jsonl", *pieces) == Exit.OK
    assert (directory / "pieces.jsonl").read_bytes() == (directory / "whole.jsonl").read_bytes()
    [month] = released(directory / "pieces.jsonl")
    assert (month["readings"], month["slots"]) == (31 * 96 - 4, 31 * 96 - 4)
    assert main(["ledger", "show", "m", "--ledger", "spend.db"]) == Exit.OK


def test_explaining_needs_the_zone_and_says_it(capsys: Said) -> None:
    settings = [word for word in SETTINGS if word not in {"--key-file", "noise.key"}]
    assert main(["explain", "--window", "month", *ZONED, *settings]) == Exit.OK
    said = " ".join(capsys.readouterr().out.split())
    assert "one release (avg of a month in Europe/Paris)" in said
    assert main(["explain", "--window", "15m", *ZONED, *settings]) == Exit.CONFIGURATION
    assert "--timezone: is of days, weeks and months" in capsys.readouterr().err
    assert main(["explain", "--window", "day", *settings]) == Exit.CONFIGURATION
    assert "--timezone: is missing" in capsys.readouterr().err
