"""The command as people and scripts meet it."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pytest

from meteragent.cli import main
from meteragent.commands.arguments import MAPPING, POLICY
from meteragent.commands.exit_codes import Exit
from meteragent.commands.parser import parser
from meteragent.config.policy import PolicySettings
from meteragent.config.presets import presets
from meteragent.files.job import Job
from meteragent.files.ledger import SqliteLedger
from meteragent.files.source import Source
from meteragent.formats.encoder import Encoder
from tests.files.given import (
    BEGIN,
    CONFIGURATION,
    KEY,
    MINUTE,
    SETTINGS,
    contents,
    lively,
    write_key,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ROOT = Path(__file__).parents[2]
MARKER = "4711.25"
LEDGER = ("--ledger", "spend.db")
OUT = ("-o", "out.jsonl")

Said = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_key(tmp_path)
    (tmp_path / "agent.toml").write_text(CONFIGURATION)
    return tmp_path


def sanitize(name: str, *arguments: str, settings: Iterable[str] = SETTINGS) -> int:
    return main(["sanitize", name, *settings, *arguments])


def reading(minute: float, value: float = 100, meter: str = "m") -> bytes:
    time = BEGIN + round(minute * MINUTE)
    return b'{"meter_id":"%s","ts":%d,"value":%g}\n' % (meter.encode(), time, value)


def readings(first: float, last: float, **options: Any) -> bytes:  # noqa: ANN401
    count = round((last - first) * 2)
    return b"".join(reading(first + half / 2, **options) for half in range(count))


def together(*parts: bytes) -> bytes:
    """In turns, by time."""
    rows = zip(*(part.splitlines(keepends=True) for part in parts), strict=True)
    return b"".join(line for row in rows for line in row)


def released(path: str = "out.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_bytes().splitlines()]


def starts(path: str = "out.jsonl") -> list[float]:
    """In minutes since the beginning."""
    return [(release["window_start"] - BEGIN) / MINUTE for release in released(path)]


def defaults(kind: type[Source | Job]) -> dict[str, Any]:
    """What it is made with where nothing else is said."""
    return kind.__init__.__kwdefaults__ or {}


def reading_from(piped: TextIO, read: Callable[[int, int], bytes] = os.read) -> object:
    """As if it were standard input."""
    return lambda descriptor, count: read(descriptor or piped.fileno(), count)


# The same from anywhere, to anywhere.


def as_csv(lines: bytes) -> bytes:
    rows = [json.loads(line) for line in lines.splitlines()]
    table = "".join(f"{row['meter_id']};{row['ts']};{row['value']}\r\n" for row in rows)
    return b"\xef\xbb\xbfmeter_id;ts;value\r\n" + table.encode()


def test_a_file_a_gzip_a_pipe_and_a_table_say_the_same(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    lines = together(readings(0, 31), readings(0, 31, meter="other")) + b"\n"
    (directory / "in.jsonl").write_bytes(lines)
    (directory / "in.jsonl.gz").write_bytes(gzip.compress(lines))
    (directory / "in.csv").write_bytes(as_csv(lines.strip()))
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    expected = (directory / "out.jsonl").read_bytes()
    assert len(expected.splitlines()) == 14
    assert sanitize("in.jsonl.gz", "-o", "gzip.jsonl", "--ledger", "2.db") == Exit.OK
    table = ("--time-format", "unix_ms")
    assert sanitize("in.csv", "-o", "csv.jsonl", "--ledger", "3.db", *table) == Exit.OK
    assert (directory / "gzip.jsonl").read_bytes() == expected
    assert (directory / "csv.jsonl").read_bytes() == expected
    with (directory / "in.jsonl").open() as piped, monkeypatch.context() as patch:
        patch.setattr(os, "read", reading_from(piped))
        assert sanitize("-") == Exit.OK
    assert capsysbinary.readouterr().out == expected


def test_settings_may_stand_in_a_file(directory: Path) -> None:
    (directory / "in.jsonl").write_bytes(lively(300))
    assert sanitize("in.jsonl", "-c", "agent.toml", *OUT, settings=()) == Exit.OK
    assert {release["status"] for release in released()} == {"released", "suppressed"}


def test_output_may_be_a_table(directory: Path) -> None:
    (directory / "in.jsonl").write_bytes(readings(0, 11))
    assert (
        sanitize("in.jsonl", "-o", "out.csv", "--format", "csv", *LEDGER, "--at-end", "keep") == 0
    )
    assert sanitize("in.jsonl", "-o", "out.csv", "--format", "csv", *LEDGER) == Exit.OK
    header, *rows = (directory / "out.csv").read_text().splitlines()
    assert header.startswith("meter_id,window_start,window_end,status,")
    assert [row.split(",")[1] for row in rows] == [str(BEGIN + m * MINUTE) for m in (0, 5, 10)]


def test_the_ledger_keeps_the_policies_documents(directory: Path) -> None:
    (directory / "in.jsonl").write_bytes(readings(0, 5))
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    [release] = released()
    assert any(
        f"INSERT INTO \"policy\" VALUES('{release['policy']}'" in x
        for x in contents(directory / "spend.db")
    )


def test_a_file_may_hold_one_meter_after_the_other(directory: Path, capsys: Said) -> None:
    homes = [readings(0, 31, meter=f"m-{i}") for i in range(3)]
    path = directory / "in.jsonl"
    path.write_bytes(b"".join(homes))
    assert sanitize("in.jsonl", "-o", "lost.jsonl") == Exit.OK
    said = capsys.readouterr().err
    assert "if IN holds one meter after the" in said
    assert "a second budget" in said  # never a new ledger without it
    assert sanitize("in.jsonl", *OUT, *LEDGER, "--by-meter") == Exit.OK
    assert " 0 late" in capsys.readouterr().err
    path.write_bytes(b"".join(homes) + readings(0, 31, meter="m-3"))
    assert sanitize("in.jsonl", *OUT, *LEDGER, "--by-meter") == Exit.OK
    path.write_bytes(together(*homes, readings(0, 31, meter="m-3")))
    assert sanitize("in.jsonl", "-o", "timely.jsonl") == Exit.OK

    def values(path: str) -> list[object]:
        found = ((r["meter_id"], r["window_start"], r["values"]) for r in released(path))
        return sorted(found, key=str)

    assert values("out.jsonl") == values("timely.jsonl")


def test_what_a_head_end_collects_now_and_then_is_late_unless_a_delay_is_set(
    directory: Path, capsys: Said
) -> None:
    """Every two hours it sends what each of four homes measured, one home after the other.

    arrives      0-2 h of m-0, of m-1, of m-2, of m-3 | 2-4 h of m-0, …
    """
    homes = [f"m-{home}" for home in range(4)]
    collected = [readings(h, h + 120, meter=home) for h in (0, 120) for home in homes]
    (directory / "in.jsonl").write_bytes(b"".join(collected))
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    *_, hint = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"meteragent: 1,\d{3} of 1,920 readings came late, and are thrown away: where a head-end "
        r"collects once a day or so, set delay, for example to 36h",
        hint,
    )
    assert sanitize("in.jsonl", "-o", "all.jsonl", "--ledger", "2.db", "--delay", "3h") == Exit.OK
    said = capsys.readouterr().err
    assert " 0 late" in said
    assert "set delay" not in said
    found = {(release["meter_id"], release["window_start"]) for release in released("all.jsonl")}
    assert found == {(m, BEGIN + 5 * n * MINUTE) for m in homes for n in range(48)}


SPELLINGS = ("HOME-1", "home-1\u00a0", "caf\u00e9", "cafe\u0301", "barn-7")


def test_spellings_of_an_id_are_said_and_told_apart(directory: Path, capsys: Said) -> None:
    parts = [readings(0, 5, meter=meter) for meter in ("home-1", *SPELLINGS)]
    (directory / "in.jsonl").write_bytes(together(*parts))
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    *_, hint = capsys.readouterr().err.splitlines()
    assert hint == (
        "meteragent: ids that differ from another one in case, width, normal form or spaces "
        "alone: 3; each has a budget of its own: if they are one meter, set normalise_ids"
    )
    assert len(released()) == 6
    assert not any(spelling in hint for spelling in SPELLINGS)


def test_spellings_of_an_id_are_one_meter_if_that_is_asked_for(
    directory: Path, capsys: Said
) -> None:
    """One budget, one ledger record, one release of each window; and the noise of its name."""
    path = directory / "in.jsonl"
    path.write_bytes(readings(0, 5, meter="HOME-1") + readings(5, 10, meter=" home-1"))
    assert sanitize("in.jsonl", *OUT, *LEDGER, "--normalise-ids") == Exit.OK
    assert "normalise" not in capsys.readouterr().err
    path.write_bytes(readings(0, 10, meter="home-1"))
    assert sanitize("in.jsonl", "-o", "plain.jsonl") == Exit.OK
    assert released() == released("plain.jsonl")
    assert [release["meter_id"] for release in released()] == ["home-1"] * 2
    with closing(SqliteLedger("spend.db")) as ledger:
        assert [*ledger.accounts()] == ["home-1"]
    path.write_bytes(readings(0, 5, meter="Home-1"))
    assert sanitize("in.jsonl", "-o", "late.jsonl", *LEDGER, "--normalise-ids") == Exit.OK
    assert "10 late" in capsys.readouterr().err
    assert released("late.jsonl") == []


def test_an_account_that_was_kept_under_another_spelling_goes_on(
    directory: Path, capsys: Said
) -> None:
    path, budget = directory / "in.jsonl", ("--budget", "4", "--normalise-ids")
    path.write_bytes(readings(0, 10, meter="HOME-1"))
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    path.write_bytes(readings(0, 20, meter="home-1"))
    assert sanitize("in.jsonl", "-o", "on.jsonl", *LEDGER, *budget) == Exit.OK
    assert "10 late" not in capsys.readouterr().err
    statuses = [(r["window_start"], r["status"]) for r in released("on.jsonl")]
    late = [BEGIN + minute * MINUTE for minute in (10, 15)]
    assert statuses == [(start, "suppressed") for start in late]


# Totals, rejects.


def test_what_became_of_every_line_is_told(directory: Path, capsys: Said) -> None:
    lines = [reading(0), reading(0), b"{\n", b"\n", reading(20), reading(1), b'{"ts":1}\n']
    (directory / "in.jsonl").write_bytes(b"".join(lines))
    assert sanitize("in.jsonl", *OUT, *LEDGER, "--rejects", "bad.jsonl") == Exit.OK
    assert capsys.readouterr().err.startswith(
        "meteragent: 2 readings, 0 windows released, 2 withheld (coverage 2), 1 late, "
        "1 sharing a slot, 2 lines rejected (not_json 1 from line 3, wrong_shape 1 from line 7)\n"
    )
    assert released("bad.jsonl") == [
        {"input": "in.jsonl", "line": 3, "reason": "not_json"},
        {"input": "in.jsonl", "line": 7, "reason": "wrong_shape"},
    ]


def test_a_faulty_table_is_counted_row_by_row(directory: Path, capsys: Said) -> None:
    rows = [
        *("m,2025-11-18T00:00:00,5", "m,2025-11-18T00:00:30,5 W", "m,2025-11-18 00:00:30,5"),
        *("m,18.11.2025,5", "m,2025-11-18T00:01:00", ",2025-11-18T00:01:00,7", '"m,1,2'),
        *("m,2025-11-18T00:00:30,6", "m,2025-11-18T00:20:00,6", "m,2025-11-18T00:10:00,6"),
    ]
    mixed = "meter_id,ts,value\r\n" + "\n".join(rows[:5]) + "\r" + "\r\n".join(rows[5:])
    (directory / "in.csv").write_bytes(mixed.encode())
    assert sanitize("in.csv", *OUT, *LEDGER) == Exit.OK
    assert (
        "3 readings, 0 windows released, 2 withheld (coverage 2), 1 late, 1 sharing a slot, "
        "5 lines rejected (bad_meter 1 from line 7, bad_time 1 from line 5, "
        "bad_value 1 from line 3, wrong_shape 2 from line 6)"
    ) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("table", "arguments", "hint"),
    [
        ("ts,value\nx,1\n", (), "not one line was good; compare --time-column, --time-format"),
        (f"ts,value\n{BEGIN},x\n", ("--time-format", "unix_ms"), "good; compare --value-column"),
        ("ts,value\n1\n", (), "not one line was good; compare --…-column"),
        (
            "ts,value\n" + "".join(f"{BEGIN + n * MINUTE},5\n" for n in range(20)),
            ("--time-format", "unix_ms"),
            "no window held enough readings; is --interval the time between two of them?",
        ),
        (
            "ts,value\n" + "".join(f"{BEGIN + n * 30_000},5\n" for n in range(3)),
            ("--time-format", "unix_ms"),
            "min long, and IN holds too little of each; name a longer IN, or a shorter --window",
        ),
    ],
)
def test_what_probably_went_wrong_is_said(
    directory: Path, capsys: Said, table: str, arguments: tuple[str, ...], hint: str
) -> None:
    (directory / "in.csv").write_text(table)
    ending = Exit.NOTHING if "good" in hint else Exit.OK
    assert sanitize("in.csv", *OUT, *LEDGER, "--meter", "m", *arguments) == ending
    assert hint in capsys.readouterr().err


def test_readings_that_share_a_slot_are_called_that(directory: Path, capsys: Said) -> None:
    rows = "".join(f"{BEGIN + n * 6000},5\n" for n in range(200))
    (directory / "in.csv").write_text("ts,value\n" + rows)
    assert sanitize("in.csv", *OUT, *LEDGER, "--meter", "m") == Exit.OK
    said = capsys.readouterr().err
    assert "40 readings, " in said
    assert "160 sharing a slot" in said
    assert "readings are 6s apart (median), and slots 30s: --interval 6s" in said


def test_readings_that_come_twice_are_called_that(directory: Path, capsys: Said) -> None:
    (directory / "in.jsonl").write_bytes(readings(0, 20) * 2)
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    assert "share a slot with an earlier one, and count for nothing; does IN" in (
        capsys.readouterr().err
    )


def test_what_was_good_before_does_not_make_this_run_good(directory: Path, capsys: Said) -> None:
    (directory / "in.jsonl").write_bytes(readings(0, 6))
    assert sanitize("in.jsonl", *OUT, *LEDGER, "--at-end", "keep") == Exit.OK
    (directory / "in.jsonl").write_bytes(readings(0, 6) + b"{\n")
    assert sanitize("in.jsonl", *OUT, *LEDGER, "--at-end", "keep") == Exit.NOTHING
    capsys.readouterr()


def test_values_that_begin_with_a_minus_are_no_options(directory: Path) -> None:
    (directory / "in.jsonl").write_bytes(readings(0, 6))
    arguments = ("sanitize", "in.jsonl", *OUT, *SETTINGS, "--minimum", "-10kW")
    assert main([*arguments]) == Exit.OK


def test_values_that_are_none_are_absent(directory: Path, capsys: Said) -> None:
    values = ["1", "", "NaN", "null", "x"]
    rows = "".join(f"{BEGIN + n * 30_000},{value}\n" for n, value in enumerate(values))
    (directory / "in.csv").write_text("ts,value\n" + rows)
    assert sanitize("in.csv", *OUT, *LEDGER, "--meter", "m") == Exit.OK
    assert "1 lines rejected (bad_value 1 from line 6)" in capsys.readouterr().err


def test_where_something_came_out_nothing_is_guessed(directory: Path, capsys: Said) -> None:
    (directory / "in.jsonl").write_bytes(readings(0, 6) + b"{\n")
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_missing_key_is_named_as_an_argument(directory: Path, capsys: Said) -> None:
    (directory / "in.jsonl").write_bytes(readings(0, 1))
    assert sanitize("in.jsonl", settings=SETTINGS[:-2]) == Exit.KEY
    told = "noise key --key-file: is not given; make one: meteragent key create noise.key"
    assert capsys.readouterr().err == f"meteragent: {told}\n"


def test_without_a_ledger_there_is_a_warning(directory: Path, capsys: Said) -> None:
    (directory / "in.jsonl").write_bytes(readings(0, 5))
    assert sanitize("in.jsonl", *OUT) == Exit.OK
    assert capsys.readouterr().err.startswith("meteragent: no --ledger: what is spent is forgotten")
    assert len(released()) == 1


def test_an_empty_input_is_no_problem(directory: Path, capsys: Said) -> None:
    (directory / "in.csv").touch()
    assert sanitize("in.csv", *OUT, *LEDGER) == Exit.OK
    assert capsys.readouterr().err.startswith("meteragent: 0 readings,")
    assert (directory / "out.jsonl").read_bytes() == b""


# Again, further, elsewhere.


def test_a_finished_job_is_not_done_again(directory: Path, capsys: Said) -> None:
    (directory / "in.jsonl").write_bytes(readings(0, 12))
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    before = (directory / "out.jsonl").read_bytes(), contents(directory / "spend.db")
    told = capsys.readouterr().err
    for _ in range(3):
        assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
        assert capsys.readouterr().err == f"meteragent: in.jsonl: nothing new after line 24\n{told}"
        assert ((directory / "out.jsonl").read_bytes(), contents(directory / "spend.db")) == before


def test_what_a_file_has_grown_by_is_released_and_nothing_twice(directory: Path) -> None:
    path = directory / "in.jsonl"
    path.write_bytes(readings(0, 10))
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    before = (directory / "out.jsonl").read_bytes()
    path.write_bytes(readings(0, 20))
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    assert (directory / "out.jsonl").read_bytes().startswith(before)
    assert starts() == [0, 5, 10, 15]


def test_a_window_that_was_closed_at_the_end_stays_closed(directory: Path, capsys: Said) -> None:
    path = directory / "in.jsonl"
    path.write_bytes(readings(0, 9))
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    path.write_bytes(readings(0, 15))
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    assert starts() == [0, 5, 10]
    assert " 2 late" in capsys.readouterr().err


def test_windows_can_be_kept_open_for_a_file_that_grows(directory: Path, capsys: Said) -> None:
    whole = readings(0, 15)
    path = directory / "in.jsonl"
    for part in (0.2, 0.5, 0.61, 0.9, 1):
        path.write_bytes(whole[: round(len(whole) * part)])
        assert sanitize("in.jsonl", *OUT, *LEDGER, "--at-end", "keep") == Exit.OK
    assert "the last windows are still open" in capsys.readouterr().err
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    assert sanitize("in.jsonl", "-o", "whole.jsonl", "--ledger", "whole.db") == Exit.OK
    assert released() == released("whole.jsonl")
    assert [release["readings"] for release in released()] == ["all"] * 3


def test_a_window_that_is_not_over_waits_for_the_clock(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    (directory / "in.jsonl").write_bytes(readings(0, 14))
    now = BEGIN / 1000 + 14 * 60
    monkeypatch.setitem(defaults(Job), "wall", lambda: now)
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    assert starts() == [0, 5]
    assert "wait for more, or for the clock" in capsys.readouterr().err
    now += 60 * 60
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    assert starts() == [0, 5, 10]


def test_a_rotated_file_is_read_from_its_start(directory: Path, capsys: Said) -> None:
    path = directory / "in.jsonl"
    path.write_bytes(readings(0, 10))
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    path.write_bytes(readings(10, 20))
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    assert "begins otherwise than before" in capsys.readouterr().err
    assert starts() == [0, 5, 10, 15]


def test_several_inputs_share_one_budget(directory: Path, capsys: Said) -> None:
    (directory / "1.jsonl").write_bytes(readings(0, 40))
    (directory / "2.jsonl").write_bytes(readings(40, 80))
    assert sanitize("1.jsonl", *OUT, *LEDGER) == Exit.OK
    assert sanitize("2.jsonl", *OUT, *LEDGER) == Exit.OK
    assert [release["status"] for release in released()] == ["released"] * 12 + ["suppressed"] * 4
    assert "4 withheld (budget 4)" in capsys.readouterr().err


def test_releases_can_go_on_elsewhere(directory: Path, capsys: Said) -> None:
    path = directory / "in.jsonl"
    path.write_bytes(readings(0, 10))
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    with (directory / "out.jsonl").open("ab") as torn:
        torn.write(b'{"half of')
    path.write_bytes(readings(0, 20))
    assert sanitize("in.jsonl", "-o", "new.jsonl", *LEDGER) == Exit.OK
    assert f"what was released before is in {directory / 'out.jsonl'}" in capsys.readouterr().err
    assert (starts(), starts("new.jsonl")) == ([0, 5], [10, 15])
    (directory / "new.jsonl").unlink()
    path.write_bytes(readings(0, 30))
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    assert starts() == [0, 5, 20, 25]


def test_a_pipe_is_known_again(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    for last in (10, 20):
        (directory / "in.jsonl").write_bytes(readings(0, last))
        with (directory / "in.jsonl").open() as piped, monkeypatch.context() as patch:
            patch.setattr(os, "read", reading_from(piped))
            assert sanitize("-", *OUT, *LEDGER) == Exit.OK
    assert starts() == [0, 5, 10, 15]
    assert " 0 late" in capsys.readouterr().err


# Following.


class Enough(Exception):
    """The test has seen it."""


def test_a_growing_file_is_followed(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = directory / "in.jsonl"
    path.write_bytes(readings(0, 12) + reading(12)[:20])
    clock = [12.0]
    pauses = iter([(12.5, reading(12)[20:] + readings(12.5, 17)), (17, b""), (23, b"")])

    def wait(_: float) -> None:
        step = next(pauses, None)
        if step is None:
            raise Enough
        assert starts() == ([0, 5] if clock[0] < 17 else [0, 5, 10])
        clock[0], more = step
        with path.open("ab") as file:
            file.write(more)

    monkeypatch.setitem(defaults(Source), "wait", wait)
    monkeypatch.setitem(defaults(Job), "wall", lambda: BEGIN / 1000 + clock[0] * 60)
    assert sanitize("in.jsonl", *OUT, *LEDGER, "--follow") == Exit.BUG  # told by `Enough`
    assert starts() == [0, 5, 10]
    clock[0] = 60.0
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    assert starts() == [0, 5, 10, 15]


def test_a_silent_file_is_left_to_the_clock(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (directory / "in.jsonl").write_bytes(readings(0, 12))
    minutes = iter([12.0, 12.0, 17.0, 21.0])

    def now() -> float:
        minute = next(minutes, None)
        if minute is None:
            raise Enough
        return BEGIN / 1000 + minute * 60

    monkeypatch.setitem(defaults(Source), "wait", lambda _: None)
    monkeypatch.setitem(defaults(Job), "wall", now)
    assert sanitize("in.jsonl", *OUT, *LEDGER, "--follow") == Exit.BUG  # told by `Enough`
    assert starts() == [0, 5, 10]


def test_ctrl_c_ends_following_and_nothing_is_lost(directory: Path) -> None:
    path = directory / "in.jsonl"
    path.write_bytes(readings(0, 12))
    with subprocess.Popen(  # noqa: S603 - our own program
        [
            sys.executable,
            "-m",
            "meteragent",
            "sanitize",
            "in.jsonl",
            *SETTINGS,
            *OUT,
            *LEDGER,
            "--follow",
        ],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        patience = time.monotonic() + 60
        while not (Path("out.jsonl").exists() and len(released()) == 2):
            if time.monotonic() > patience:
                process.kill()
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (Exit.INTERRUPTED, "")
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    assert starts() == [0, 5, 10]


# What goes wrong.


def test_what_stood_before_a_gzip_breaks_off_is_released_once(
    directory: Path, capsys: Said
) -> None:
    lines = together(*(readings(0, 60, meter=f"m-{i}") for i in range(30)))
    whole = gzip.compress(lines)
    settings = (*SETTINGS, "--budget", "100")
    (directory / "in.gz").write_bytes(whole[: len(whole) // 2])
    assert sanitize("in.gz", *OUT, *LEDGER, settings=settings) == Exit.DATA
    said = capsys.readouterr().err.splitlines()
    assert "lines rejected" in said[0]
    assert said[1].startswith("meteragent: in.gz: line ")
    assert "the gzip stream is cut short or damaged; fetch it again" in said[1]
    assert len(released()) > 0
    (directory / "in.gz").write_bytes(whole)
    assert sanitize("in.gz", *OUT, *LEDGER, settings=settings) == Exit.OK
    (directory / "in.jsonl").write_bytes(lines)
    assert sanitize("in.jsonl", "-o", "2.jsonl", "--ledger", "2.db", settings=settings) == Exit.OK
    assert sorted(map(json.dumps, released())) == sorted(map(json.dumps, released("2.jsonl")))


def test_a_damaged_first_line_is_told(directory: Path, capsys: Said) -> None:
    (directory / "in.gz").write_bytes(gzip.compress(b"x" * 10_000)[:30])
    assert sanitize("in.gz", *OUT, *LEDGER) == Exit.DATA
    assert "in.gz: line 1: the gzip stream" in capsys.readouterr().err


def test_an_input_that_has_shrunk_is_told(directory: Path, capsys: Said) -> None:
    lines = readings(0, 1500)
    (directory / "in.jsonl").write_bytes(lines)
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    (directory / "in.jsonl").write_bytes(lines[: 2**17])
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.DATA
    assert "is the last, but the last run came to line 3000" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "arguments", "code", "message"),
    [
        (f"a;b\n{MARKER};2\n", (), Exit.DATA, "in: line 1: has no column 'meter_id'"),
        (f"[{MARKER}]\n", (), Exit.DATA, "in: line 1: is a JSON array"),
        (f"{{{MARKER}\n", ("--delimiter", ";"), Exit.CONFIGURATION, "--delimiter: is of tables"),
        (f"{{{MARKER}\n", ("--value-column", "a..b"), Exit.CONFIGURATION, "--value-column: is no"),
        (f"{MARKER}\n", ("--no-header",), Exit.CONFIGURATION, "--meter-column: is not a number"),
        (f"{MARKER}\n", ("--time-format", "x"), Exit.CONFIGURATION, "--time-format: is not a time"),
        (f"{MARKER}\n", ("--timezone", "x"), Exit.CONFIGURATION, "--timezone: is not a known"),
        (f"{MARKER}\n", ("-o", "in"), Exit.FILE, "in: is the input itself"),
        (f"{MARKER}\n", ("--ledger", "in"), Exit.FILE, "in: is the input itself"),
        (f"{MARKER}\n", ("--rejects", "in"), Exit.FILE, "in: is the input itself"),
        (f"{MARKER}\n", ("-o", "noise.key"), Exit.FILE, "noise.key: already holds something"),
        (f"{MARKER}\n", ("--ledger", "noise.key"), Exit.DATA, "noise.key: is not a ledger"),
        (f"{MARKER}\n", ("-o", "no/out"), Exit.FILE, "no/out: No such file or directory"),
        (f"{MARKER}\n", ("-o", "/dev/full"), Exit.FILE, "/dev/full: is not a regular file"),
        (f"{MARKER}\n", ("--window", "15"), Exit.CONFIGURATION, "--window: is not a duration"),
        (f"{MARKER}\n", ("--query", "p100"), Exit.CONFIGURATION, "--query: "),
        (f"{MARKER}\n", ("--key-file", "no"), Exit.KEY, "noise key no: there is no such file"),
        (f"{MARKER}\n", ("--follow", "--at-end", "x"), Exit.USAGE, "usage:"),
    ],
)
def test_what_is_wrong_is_told_in_one_line_and_never_quoted(
    directory: Path,
    capsys: Said,
    content: str,
    arguments: tuple[str, ...],
    code: Exit,
    message: str,
) -> None:
    (directory / "in").write_text(content)
    assert sanitize("in", *arguments) == code
    said = capsys.readouterr().err
    assert message in said
    assert MARKER not in said
    assert (directory / "in").read_text() == content


def test_settings_that_are_missing_are_named_as_arguments(directory: Path, capsys: Said) -> None:
    (directory / "in").write_text("x\n")
    assert sanitize("in", settings=("--step", "5W")) == Exit.CONFIGURATION
    fields = [line.split(": ")[1] for line in capsys.readouterr().err.splitlines()]
    assert fields == ["--window", "--interval", "--maximum", "--epsilon", "--budget"]
    assert sanitize("in", settings=()) == Exit.CONFIGURATION
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("name a file: -c agent.toml; or what to hide: --preset tv-content")


def test_a_preset_says_all_that_is_released(directory: Path) -> None:
    (directory / "in.jsonl").write_bytes(readings(0, 100))
    other = ("--window", "15m", "--interval", "30s", "--budget", "96")
    rest = (*other, "--key-file", "noise.key")
    assert sanitize("in.jsonl", *OUT, settings=("--preset", "tv-content", *rest)) == Exit.OK
    policy = presets()["tv-content"].policy | {"queries": "avg"}
    policy = {name: value for name, value in policy.items() if f"--{name}" not in other}
    words = [(f"--{name.replace('queries', 'query')}", value) for name, value in policy.items()]
    assert sanitize("in.jsonl", "-o", "again", settings=(*chain(*words), *rest)) == Exit.OK
    assert [release["status"] for release in released()] == [*["released"] * 6, "suppressed"]
    assert released("again") == released()


def test_the_key_may_come_by_the_environment(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    (directory / "in.jsonl").write_bytes(readings(0, 5))
    settings = SETTINGS[:-2]
    assert sanitize("in.jsonl", settings=settings) == Exit.KEY
    monkeypatch.setenv("METERAGENT__AGENT__KEY", KEY)
    assert sanitize("in.jsonl", *OUT, settings=settings) == Exit.OK
    monkeypatch.setenv("METERAGENT__HTTP__PORT", "x")
    assert sanitize("in.jsonl", *OUT, settings=settings) == Exit.CONFIGURATION
    assert "METERAGENT__HTTP__PORT: is not a whole number" in capsys.readouterr().err


def test_settings_stand_in_one_place(capsys: Said) -> None:
    given = ("--window", "5m", "--query", "avg", "--key-file", "k")
    assert sanitize("in", "-c", "agent.toml", settings=given) == Exit.CONFIGURATION
    assert [line.split(": ")[1] for line in capsys.readouterr().err.splitlines()] == [
        *("--window", "--query", "--key-file")
    ]


def test_every_setting_of_a_policy_is_an_argument() -> None:
    apart = {"queries", "name", "match", "share", "output", "tier", "pseudonyms"}
    assert {*POLICY, *apart} == set(PolicySettings.model_fields)
    given = vars(parser().parse_args(["sanitize", "-"]))
    assert {*POLICY, *MAPPING, "query", "key_file"} <= given.keys()


@pytest.mark.parametrize("what", ["in.jsonl", "out.jsonl", "spend.db"])
def test_no_permission_is_told(directory: Path, what: str) -> None:
    (directory / "in.jsonl").write_bytes(readings(0, 5))
    (directory / what).touch()
    (directory / what).chmod(0)
    code = (
        "import os, sys, meteragent.commands.sanitize; from meteragent.cli import main;"
        "os.geteuid() or (os.chown('.', 65534, 65534),"
        "os.chown('noise.key', 65534, 65534), os.setuid(65534)); sys.exit(main(sys.argv[1:]))"
    )
    for parent in directory.parents[:3]:
        parent.chmod(parent.stat().st_mode | 0o011)
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", code, "sanitize", "in.jsonl", *SETTINGS, *OUT, *LEDGER],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == Exit.FILE
    instead = "change its rights or name another"
    assert done.stderr == f"meteragent: {what}: Permission denied; {instead}\n"


def test_on_a_full_disk_nothing_is_lost(directory: Path, capsys: Said) -> None:
    (directory / "in.jsonl").write_bytes(readings(0, 1500))
    settings = (*SETTINGS, "--budget", "1000")
    assert sanitize("in.jsonl", "-o", "whole.jsonl", settings=settings) == Exit.OK
    expected = (directory / "whole.jsonl").read_bytes()
    assert len(expected) > 80_000
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for room in (5_000, 40_000, 80_000):  # for the ledger, its log, and the output
        capsys.readouterr()
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
        try:
            assert sanitize("in.jsonl", *OUT, *LEDGER, settings=settings) == Exit.FILE
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert "; make room or name another" in capsys.readouterr().err
    assert sanitize("in.jsonl", *OUT, *LEDGER, settings=settings) == Exit.OK
    assert (directory / "out.jsonl").read_bytes() == expected


def test_a_reader_that_has_gone_is_charged_nothing(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (directory / "in.jsonl").write_bytes(readings(0, 40))
    reading_end, writing_end = os.pipe()
    os.close(reading_end)
    with monkeypatch.context() as patch, os.fdopen(writing_end, "wb", buffering=0) as gone:
        text = io.TextIOWrapper(gone, write_through=True)
        patch.setattr(sys, "stdout", text)
        assert sanitize("in.jsonl", *LEDGER) == Exit.PIPE
        text.detach()
    assert not [x for x in contents(directory / "spend.db") if x.startswith("INSERT")]
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    assert len(released()) == 8


def test_a_second_job_on_one_ledger_is_told(directory: Path, capsys: Said) -> None:
    (directory / "in.jsonl").write_bytes(readings(0, 5))
    held = SqliteLedger("spend.db")
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.UNAVAILABLE
    assert "spend.db: another process uses this ledger" in capsys.readouterr().err
    held.close()
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK


def test_at_a_terminal_there_is_a_progress_bar(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (directory / "in.jsonl").write_bytes(readings(0, 5))
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("meteragent.files.progress._SECONDS_BETWEEN", 0)
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    assert "] 100%  0s left  " in terminal.getvalue()
    assert terminal.getvalue().endswith("0 lines rejected\n")


def test_only_the_encoder_writes_releases(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (directory / "in.jsonl").write_bytes(readings(0, 5))
    monkeypatch.setattr(Encoder, "encode", lambda *_: [b'{"sealed":1}'])
    assert sanitize("in.jsonl", *OUT, *LEDGER) == Exit.OK
    assert (directory / "out.jsonl").read_bytes() == b'{"sealed":1}\n'
