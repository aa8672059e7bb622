"""Bills by the hours of a tariff, from a file: what each day is asked, says and pays."""

from __future__ import annotations

import csv
import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
from jsonschema import Draft202012Validator

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.formats.schema import release_schema
from tests.files.given import write_key
from tests.files.test_calendar import quarters

if TYPE_CHECKING:
    from pathlib import Path

    Said = pytest.CaptureFixture[str]

PARIS = ZoneInfo("Europe/Paris")
PEAK, REST = "weekday 17:00-20:00", "not weekday 17:00-20:00"
SETTINGS = (
    *("--interval", "15m", "--maximum", "24kW", "--epsilon", "90", "--budget", "9000"),
    *("--horizon", "40d", "--key-file", "noise.key", "--timezone", "Europe/Paris"),
)
BY_HOURS = tuple(word for name in ("avg", f"avg[{PEAK}]") for word in ("--query", name))


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_key(tmp_path)
    return tmp_path


def at_home(moment: datetime) -> int:
    """3 kW at the peak, 600 W otherwise."""
    shows = moment.astimezone(PARIS)
    return 3000 if shows.weekday() < 5 and 17 <= shows.hour < 20 else 600


def write(directory: Path, first: datetime, until: datetime, *without: datetime) -> None:
    lines = [
        {"meter_id": "m", "ts": int(at.timestamp() * 1000), "value": at_home(at)}
        for at in quarters(first, until)
        if at not in without
    ]
    (directory / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def sanitize(*arguments: str) -> int:
    return main(["sanitize", "in.jsonl", *arguments, *SETTINGS])


def released(path: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in path.read_text().splitlines()]
    check = Draft202012Validator(release_schema())
    for one in found:
        check.validate(one)
    return found


def weekday(release: dict[str, Any]) -> str:
    return f"{datetime.fromtimestamp(release['window_start'] / 1000, PARIS):%a}"


def test_a_day_without_such_hours_is_not_asked_about_them_and_pays_nothing(
    directory: Path,
) -> None:
    write(directory, datetime(2024, 3, 28, tzinfo=PARIS), datetime(2024, 4, 2, tzinfo=PARIS))
    assert sanitize("-o", "out.jsonl", "--window", "day", *BY_HOURS) == Exit.OK
    found = released(directory / "out.jsonl")
    assert [weekday(day) for day in found] == ["Thu", "Fri", "Sat", "Sun", "Mon"]
    for day in found:
        peak = {f"avg[{PEAK}]"} if weekday(day) not in {"Sat", "Sun"} else set()
        for said in ("values", "unbiased", "epsilon"):
            assert day[said].keys() == {"avg", *peak}
        assert day["status"] == "released"
        assert "withheld" not in day
        assert day["values"].get(f"avg[{PEAK}]", 3000) == pytest.approx(3000, abs=20)
    assert [round(day["values"]["avg"], -2) for day in found] == [900, 900, 600, 600, 900]
    assert sanitize("-o", "out.csv", "--format", "csv", "--window", "day", *BY_HOURS) == Exit.OK
    with (directory / "out.csv").open() as table:
        rows = list(csv.DictReader(table))
    assert [row[f"avg[{PEAK}]"] != "" for row in rows] == [True, True, False, False, True]
    assert [row[f"avg[{PEAK}]_epsilon"] != "" for row in rows] == [True, True, False, False, True]


def test_of_a_day_that_is_asked_nothing_nothing_is_said(directory: Path) -> None:
    write(directory, datetime(2024, 3, 28, tzinfo=PARIS), datetime(2024, 4, 2, tzinfo=PARIS))
    peak = ("--window", "day", "--query", f"avg[{PEAK}]")
    assert sanitize("-o", "out.jsonl", *peak) == Exit.OK
    assert [*map(weekday, released(directory / "out.jsonl"))] == ["Thu", "Fri", "Mon"]


def test_hours_that_a_clock_leaves_out_are_not_asked_and_those_that_it_shows_twice_count_twice(
    directory: Path,
) -> None:
    """The last Sundays of March and October."""
    night = ("--window", "day", "--query", "avg[02:00-03:00]")
    write(directory, datetime(2024, 3, 30, tzinfo=PARIS), datetime(2024, 4, 2, tzinfo=PARIS))
    assert sanitize("-o", "march.jsonl", *night) == Exit.OK
    assert [*map(weekday, released(directory / "march.jsonl"))] == ["Sat", "Mon"]
    first, until = (datetime(2024, 10, day, tzinfo=PARIS) for day in (27, 28))
    both = [at for at in quarters(first, until) if at.astimezone(PARIS).hour == 2]
    assert len(both) == 8
    for missing, days in ((1, ["Sun"]), (2, [])):  # of eight, seven are needed
        write(directory, first, until, *both[:missing])
        assert sanitize("-o", f"{missing}.jsonl", *night) == Exit.OK
        said = released(directory / f"{missing}.jsonl")
        assert [weekday(day) for day in said if day["status"] == "released"] == days


def test_hours_of_which_too_few_readings_came_withhold_their_window(directory: Path) -> None:
    first, until = (datetime(2024, 3, day, tzinfo=PARIS) for day in (28, 29))
    evening = [at for at in quarters(first, until) if at_home(at) > 600]
    assert len(evening) == 12
    for missing, withheld in ((2, None), (3, "coverage"), (12, "coverage")):
        write(directory, first, until, *evening[:missing])
        out = f"{missing}.jsonl"
        assert sanitize("-o", out, "--window", "day", *BY_HOURS) == Exit.OK
        [day] = released(directory / out)
        assert day.get("withheld") == withheld


def test_where_presence_is_private_hours_that_hold_nothing_say_that_a_home_is_at_rest(
    directory: Path,
) -> None:
    first, until = (datetime(2024, 3, day, tzinfo=PARIS) for day in (28, 29))
    evening = [at for at in quarters(first, until) if at_home(at) > 600]
    write(directory, first, until, *evening)
    private = ("--presence", "private", "--window", "day", *BY_HOURS)
    assert sanitize("-o", "out.jsonl", *private) == Exit.OK
    day = next(day for day in released(directory / "out.jsonl") if weekday(day) == "Thu")
    assert day["values"][f"avg[{PEAK}]"] == pytest.approx(0, abs=20)
    assert day["values"]["avg"] == pytest.approx(600, abs=20)


def test_a_month_that_comes_in_pieces_is_the_month(directory: Path) -> None:
    """What registers hold of it is carried in the ledger."""
    march = [datetime(2024, month, 1, tzinfo=PARIS) for month in (3, 4)]
    names = ("avg", f"avg[{PEAK}]", f"max(1h)[{REST}]", f"min[{PEAK}]")
    month = ("--window", "month", *(word for name in names for word in ("--query", name)))
    write(directory, *march)
    assert sanitize("-o", "whole.jsonl", *month) == Exit.OK
    for days in (3, 11, 30):
        write(directory, march[0], march[0] + timedelta(days=days))
        pieces = ("-o", "pieces.jsonl", "--ledger", "spend.db", *month)
        assert sanitize("--at-end", "keep", *pieces) == Exit.OK
    write(directory, *march)
    assert sanitize("-o", "pieces.jsonl", "--ledger", "spend.db", *month) == Exit.OK
    assert (directory / "pieces.jsonl").read_bytes() == (directory / "whole.jsonl").read_bytes()
    [said] = released(directory / "whole.jsonl")
    watts = [said["values"][name] for name in names]
    assert watts == pytest.approx([600 + 2400 * 63 / 743, 3000, 600, 3000], abs=20)


def test_explaining_says_by_whose_clocks_hours_are(capsys: Said) -> None:
    settings = [word for word in SETTINGS if word not in {"--key-file", "noise.key"}]
    assert main(["explain", "--window", "day", *BY_HOURS, *settings]) == Exit.OK
    said = " ".join(capsys.readouterr().out.split())
    assert f"one release (avg and avg[{PEAK}] of a day in Europe/Paris)" in said
    assert "Hours in brackets are by the clocks of Europe/Paris." in said
    assert "pays nothing for it" in said


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("avg[7-23]", "'7-23' are no hours of a week; write for example avg[07:00-23:00]"),
        ("avg[00:00-24:00]", "holds every hour of a week; leave it out"),
        ("avg[07:10-23:00]", "do not begin and end with what is 15m long; write hours of whole"),
        ("max(1h)[07:30-23:00]", "do not begin and end with what is 1h long; write hours of whole"),
        ("reading[07:00-23:00]", "reading is of every slot; write avg"),
    ],
)
def test_hours_that_make_no_sense_are_refused_with_the_way_out(
    asked: str, said: str, capsys: Said
) -> None:
    settings = [word for word in SETTINGS if word not in {"--key-file", "noise.key"}]
    asking = ("--window", "day", "--query", asked, *settings)
    assert main(["explain", *asking]) == Exit.CONFIGURATION
    assert said in capsys.readouterr().err
