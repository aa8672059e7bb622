"""Registers in files: as they are read, in one run or in several, and what is said of gaps."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit

if TYPE_CHECKING:
    from collections.abc import Sequence

QUARTER = 900_000
MIDNIGHT = 1_709_251_200_000
CONFIG = """
[agent]
key_file = "noise.key"
[input]
kind = "register"
unit = "kWh"
[[policy]]
name = "household"
window = "1h"
interval = "15m"
grace = "1h"
maximum = "24kW"
step = "1W"
epsilon = "3000"
budget = "1000000"
min_coverage = "0.5"
"""
"""With so little noise that releases are what was measured."""

Said = pytest.CaptureFixture[str]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert main(["key", "create", "noise.key"]) == Exit.OK
    (tmp_path / "agent.toml").write_text(CONFIG)
    return tmp_path


def lines(registers: Sequence[float | None], first: int = 0) -> list[str]:
    """One at the end of each quarter of an hour from midnight on, and one before."""
    return [
        json.dumps({"meter_id": "m", "ts": MIDNIGHT + nth * QUARTER, "value": shown})
        for nth, shown in enumerate(registers, first)
        if shown is not None
    ]


def sanitized(text: list[str], *more: str) -> list[tuple[int, float]]:
    Path("in.jsonl").write_text("".join(f"{line}\n" for line in text))
    assert main(["sanitize", "in.jsonl", "-c", "agent.toml", "-o", "out", *more]) == Exit.OK
    documents = [json.loads(line) for line in Path("out").read_text().splitlines()]
    return [
        ((d["window_start"] - MIDNIGHT) // 3_600_000, d["values"]["avg"])
        for d in documents
        if d["values"]
    ]


DAY = [100 + 0.05 * nth for nth in range(9)]
"""200 W for two hours."""


@pytest.mark.usefixtures("directory")
def test_a_register_is_the_power_between_its_readings() -> None:
    assert sanitized(lines(DAY)) == [(0, 200.0), (1, 200.0)]


@pytest.mark.usefixtures("directory")
def test_disorder_within_the_grace_changes_nothing() -> None:
    Path("agent.toml").write_text(CONFIG.replace('grace = "1h"', 'grace = "3h"'))
    shuffled = lines(DAY)
    random.Random(1).shuffle(shuffled)
    assert sanitized(shuffled) == [(0, 200.0), (1, 200.0)]


@pytest.mark.parametrize(
    ("registers", "what"),
    [
        ([100, 100.05, 100.1, 0.01, 0.06, *[0.11 + 0.05 * n for n in range(4)]], "exchanged"),
        ([99999.9, 99999.95, 0.0, 0.05, 0.1, *[0.15 + 0.05 * n for n in range(4)]], "rolled over"),
        ([100, 100.05, 100.1, 5100, 5100.05, *[5100.1 + 0.05 * n for n in range(4)]], "leapt"),
        ([100, 100.05, None, 100.15, 100.2, *[100.25 + 0.05 * n for n in range(4)]], "left out"),
        ([100, 100.05, 100.1, None, None, 100.25, 100.3, 100.35, 100.4], "several left out"),
    ],
    ids=lambda its: its if isinstance(its, str) else "",
)
@pytest.mark.usefixtures("directory")
def test_a_gap_is_no_power_at_all(registers: list[float | None], what: str, capsys: Said) -> None:
    """The hour's average is that of what is left of it: neither negative nor a leap."""
    assert sanitized(lines(registers)) == [(0, 200.0), (1, 200.0)]
    said = capsys.readouterr().err
    assert ("1 registers without one before" in said) == ("left out" in what)


@pytest.mark.parametrize("what", ["rolls over", "is exchanged", "is silent for a day"])
@pytest.mark.usefixtures("directory")
def test_what_happens_to_a_register_neither_shifts_nor_splits_a_month(what: str) -> None:
    """March, in which clocks change, and April: 1,463 hours of 200 W."""
    months = 'horizon = "32d"\nwindow = "month"\ntimezone = "Europe/London"'
    config = CONFIG.replace('window = "1h"', months).replace('interval = "15m"', 'interval = "1h"')
    Path("agent.toml").write_text(config)
    begin = 99_990 if what == "rolls over" else 10
    shown: list[float | None] = [round((begin + 0.2 * n) % 100_000, 3) for n in range(31 * 48)]
    if what == "is exchanged":
        shown[50:] = shown[:-50]
    if what == "is silent for a day":
        shown[50:74] = [None] * 24
    by_the_hour = [shown[nth // 4] if nth % 4 == 0 else None for nth in range(4 * len(shown))]
    assert sanitized(lines(by_the_hour)) == [(0, 200.0), (743, 200.0)]


@pytest.mark.usefixtures("directory")
def test_a_run_that_goes_on_counts_from_the_last_register(capsys: Said) -> None:
    """
    run 1:  ....|          run 2:      .....|    with one ledger, the input having grown
    """
    arguments = ("--ledger", "spend.db", "--at-end", "keep")
    assert sanitized(lines(DAY[:6]), *arguments) == []
    assert sanitized(lines(DAY) + lines([100.5] * 9, 9), *arguments)[:2] == [(0, 200.0), (1, 200.0)]
    assert "without one before" not in capsys.readouterr().err


@pytest.mark.usefixtures("directory")
def test_another_file_goes_on_from_the_last_register_too() -> None:
    sanitized(lines(DAY[:5]), "--ledger", "spend.db")
    Path("in.jsonl").rename("first.jsonl")
    Path("out").rename("kept")
    Path("out").write_bytes(Path("kept").read_bytes())
    assert sanitized(lines(DAY[5:], 5), "--ledger", "spend.db") == [(0, 200.0), (1, 200.0)]


@pytest.mark.usefixtures("directory")
def test_registers_of_another_step_are_said_to_be(capsys: Said) -> None:
    hours = [shown if nth % 4 == 0 else None for nth, shown in enumerate(DAY)]
    assert sanitized(lines(hours)) == []
    said = capsys.readouterr().err
    assert "2 registers without one before" in said
    assert "most registers have none in the slot before" in said


@pytest.mark.usefixtures("directory")
def test_the_unit_of_a_register_is_an_energy(capsys: Said) -> None:
    Path("agent.toml").write_text(CONFIG.replace('"kWh"', '"kW"'))
    assert main(["check", "--offline", "-c", "agent.toml"]) == Exit.CONFIGURATION
    assert "input.unit: is not a unit of energy" in capsys.readouterr().err


@pytest.mark.usefixtures("directory")
def test_a_register_that_says_another_unit_is_rejected_by_name(capsys: Said) -> None:
    said = [line[:-1] + ', "unit": "m3"}' for line in lines(DAY)]
    Path("in.jsonl").write_text("".join(f"{line}\n" for line in said))
    main(["sanitize", "in.jsonl", "-c", "agent.toml", "-o", "out"])
    assert "wrong_unit 9" in capsys.readouterr().err


GROUPS = (
    CONFIG.replace("[[policy]]", "[[group]]")
    .replace('"household"', '"feeder"\nhome_maximum = "12kW"\nmin_homes = 1')
    .replace('idle = "1h"\n', "")
    .replace('min_coverage = "0.5"\n', "")
)
STREET = [
    line
    for nth in range(20)
    for home, used in (("m", 0.05), ("n", 0.1))
    for line in lines([1000 + used * nth], nth)
    for line in [line.replace('"m"', f'"{home}"')]
]
"""Of one home 200 W and of the other one 400 W, as their registers show it."""


@pytest.mark.usefixtures("directory")
@pytest.mark.parametrize("cut", [0, 7, 12])
def test_registers_of_the_homes_of_a_group_are_summed(cut: int) -> None:
    """In one run, or in two with one ledger: the second goes on from the last registers."""
    Path("agent.toml").write_text(GROUPS)
    Path("groups.csv").write_text("meter_id,group_id\nm,f\nn,f\n")
    more = ("--groups", "groups.csv", "--ledger", "spend.db", "--at-end", "keep")
    sanitized(STREET[:cut], *more)
    assert sanitized(STREET, *more)[:3] == [(0, 600.0), (1, 600.0), (2, 600.0)]
