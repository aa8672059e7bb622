"""Meters that report on change, through the command line: filled, and warned of if not."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from tests.files.given import BEGIN, SETTINGS, in_small_blocks, write_key

FILL = ("--fill", "last", "--fill-limit", "3m")
EXACT = ("--epsilon", "10", "--radius", "1W", "--budget", "100000", "--readings", "exact")
SLOT = 30_000
SLOTS = 10


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_key(tmp_path)


def on_change(windows: int) -> dict[int, int]:
    """Slot -> watts, of a set that is off, then on: it reports when it moves, or now and then."""
    draw, told = Random(5), {}
    for slot in range(windows * SLOTS):
        on = slot // (3 * SLOTS) % 2
        if slot % 6 == 0 or (on and draw.random() < 0.4):
            told[slot] = 10 * (draw.randrange(10, 30) if on else 1)
    return told


def lines(told: dict[int, int], meter: str = "tv") -> list[bytes]:
    readings = (
        {"meter_id": meter, "ts": BEGIN + slot * SLOT, "value": watts}
        for slot, watts in told.items()
    )
    return [json.dumps(reading).encode() for reading in readings]


def released(records: list[bytes], *settings: str, ledger: str = "") -> list[dict[str, object]]:
    Path("in.jsonl").write_bytes(b"".join(record + b"\n" for record in records))
    if not ledger:
        Path("out.jsonl").unlink(missing_ok=True)
    kept = ["--ledger", ledger] if ledger else []
    arguments = ["in.jsonl", "-o", "out.jsonl", *kept, *SETTINGS, *settings]
    assert main(["sanitize", *arguments]) == Exit.OK
    return [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]


def held(told: dict[int, int], window: int, most: int) -> list[int]:
    """What the slots of a window hold: its own readings, each for so many slots more."""
    found = []
    for slot in range(window * SLOTS, (window + 1) * SLOTS):
        before = [at for at in told if window * SLOTS <= at <= slot and slot - at <= most]
        if before:
            found.append(told[max(before)])
    return found


def test_a_window_is_released_of_what_its_slots_hold() -> None:
    """Epsilon is so large that there is no noise."""
    told = on_change(8)
    documents = released(lines(told), *FILL, *EXACT, "--min-coverage", "0")
    assert len(documents) == 8
    for window, document in enumerate(documents):
        slots = held(told, window, most=6)
        assert document["readings"] == len(slots)
        mean = (2 * sum(slots) // 10 + len(slots)) // (2 * len(slots)) * 10
        assert document["values"]["avg"] == mean  # type: ignore[index]


def test_what_is_withheld_for_its_gaps_is_released_if_they_are_filled() -> None:
    told = on_change(8)
    assert {d["status"] for d in released(lines(told))} == {"suppressed"}
    statuses = [d["status"] for d in released(lines(told), *FILL)]
    assert statuses.count("released") > 4


def test_nothing_is_carried_into_a_window_and_a_late_reading_ends_what_was_carried() -> None:
    """
    |x . . . . . . . . .|. . . . x . . . . .|      a window begins empty
             ^ comes last, in its grace
    """
    told = {0: 100, 14: 400, 4: 700}
    settings = (*FILL, *EXACT, "--min-coverage", "0", "--query", "max", "--grace", "3m")
    first, second = released(lines(told), *settings)
    assert first["readings"] == 10  # 0 to 3 hold 100 W, 4 to 9 hold 700 W
    assert first["values"]["avg"] == 460.0  # type: ignore[index]
    assert second["readings"] == 6
    assert second["values"]["max"] == 400.0  # type: ignore[index]


def test_windows_that_overlap_are_filled_each_by_itself() -> None:
    told = {3: 100, 12: 300}
    documents = released(lines(told), *FILL, *EXACT, "--min-coverage", "0", "--hop", "150s")
    by_start = {(d["window_start"] - BEGIN) // SLOT: d["readings"] for d in documents}  # type: ignore[operator]
    assert by_start == {-5: 2, 0: 7, 5: 3, 10: 7}


def test_two_runs_fill_as_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    in_small_blocks(monkeypatch.setattr, 3)
    both = zip(lines(on_change(8)), lines(on_change(8), "b"), strict=True)
    records = [record for pair in both for record in pair]
    whole = released(records, *FILL)
    Path("out.jsonl").unlink()
    for cut in (len(records) // 3, len(records) // 2, len(records)):
        ended = () if cut == len(records) else ("--at-end", "keep")
        again = released(records[:cut], *FILL, *ended, ledger="spend.db")
    assert again == whole


UNEVEN = "report unevenly"


def test_a_trace_that_reports_unevenly_is_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    """Polled meters send about as many readings in each window, be they few or with gaps."""
    released(lines(on_change(12)))
    assert UNEVEN in capsys.readouterr().err
    polled = dict.fromkeys(range(12 * SLOTS), 100)
    seldom = dict.fromkeys(range(0, 12 * SLOTS, 5), 100)
    lossy = {slot: 100 for slot in polled if slot % 7 and slot // SLOTS != 4}
    for told in (polled, seldom, lossy):
        released(lines(told))
        assert UNEVEN not in capsys.readouterr().err
    for settings in (FILL, ("--presence", "private", "--min-coverage", "0")):
        released(lines(on_change(12)), *settings)
        assert UNEVEN not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("--fill", "last"), "--fill-limit: is missing"),
        (("--fill-limit", "3m"), "--fill: is missing"),
        (("--fill", "last", "--fill-limit", "5s"), "--fill-limit: is below one interval"),
    ],
)
def test_half_a_setting_is_refused(
    settings: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("in.jsonl").write_bytes(b"{}\n")
    assert main(["sanitize", "in.jsonl", *SETTINGS, *settings]) == Exit.CONFIGURATION
    assert said in capsys.readouterr().err
