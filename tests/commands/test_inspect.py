"""What is said of an input is what is in it; the command that is printed works."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit

SAMPLES = Path(__file__).parents[1] / "files" / "samples"
LINES = [
    file.name
    for file in sorted(SAMPLES.iterdir())
    if file.name not in {"README.md", "array.json", "espi.xml", "nem12.csv", "dsmr.txt"}
    and file.name not in {"gas.csv", "water.jsonl", "reactive.csv"}  # it guesses power alone
]

Said = pytest.CaptureFixture[str]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert main(["key", "create", "noise.key"]) == Exit.OK
    return tmp_path


def inspected(name: str | Path, capsys: Said) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["inspect", str(name)])
    return code, capsys.readouterr().out


@pytest.mark.parametrize("name", LINES)
@pytest.mark.usefixtures("directory")
def test_the_command_that_is_said_takes_the_input(capsys: Said, name: str) -> None:
    code, said = inspected(SAMPLES / name, capsys)
    assert code == Exit.OK
    many = 5 if "total" in name or name == "register.csv" else 4  # one before the first, too
    assert f"{many} readings of 1 meters, " in said
    assert "0 lines rejected" in said
    command = shlex.split(said.splitlines()[-1])
    assert main(command[1:]) == Exit.OK
    assert f"{many} readings, " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tasmota.jsonl", ("--input-format tasmota", "only_meter is not said", "timezone is not")),
        ("enedis.csv", ("--input-format enedis", "30m apart")),
        ("energy.jsonl", ("--kind energy --unit kWh", "look at stamp")),
        ("epoch_seconds.jsonl", ("--time-format unix",)),
        ("register.csv", ("values only rise, as those of a register do", "--kind register")),
        ("redd.dat", ("--no-header", "--delimiter space", "--value-column 2")),
    ],
)
def test_what_is_found_is_said(capsys: Said, name: str, words: tuple[str, ...]) -> None:
    _, said = inspected(SAMPLES / name, capsys)
    assert all(word in said for word in words)


TABLE = """Exported by head-end
Meter;Date;Time;Consumption;Unit
home-1;01/02/2024;00:00;0,25;kWh
home-1;01/02/2024;00:30;0,20;kWh
home-2;01/02/2024;00:00;0,15;kWh
"""


def test_a_table_of_ones_own_is_found_out(directory: Path, capsys: Said) -> None:
    (directory / "in.csv").write_text(TABLE)
    code, said = inspected("in.csv", capsys)
    assert code == Exit.OK
    for word in (
        "--skip-lines 1", "--time-column Date --time-column Time", "--decimal comma",
        "--kind energy --unit kWh", "--meter-column Meter", "--interval 30m",
        "timezone is not said", "days and months cannot be told apart",
    ):  # fmt: skip
        assert word in said
    assert main(shlex.split(said.splitlines()[-1])[1:]) == Exit.OK


def test_small_numbers_without_a_unit_are_doubted(directory: Path, capsys: Said) -> None:
    rows = "".join(f"h,2024-02-01T00:{15 * n:02d}Z,{0.2 + n / 10:.1f}\n" for n in range(4))
    (directory / "in.csv").write_text("meter_id,ts,value\n" + rows)
    _, said = inspected("in.csv", capsys)
    assert "no unit is said; numbers this small are probably kW" in said
    assert "--unit kW" in said


@pytest.mark.parametrize(
    ("text", "word"),
    [("a b c\nd e f\n", "time is not said"), ("{\n", "value is not said"), ("\n", "fields: ")],
)
def test_where_nothing_is_found_all_of_it_is_said(
    directory: Path, capsys: Said, text: str, word: str
) -> None:
    (directory / "in").write_text(text)
    code, said = inspected("in", capsys)
    assert code == Exit.NOTHING
    assert word in said


def test_an_empty_file_is_refused(directory: Path) -> None:
    (directory / "in").write_text("")
    assert main(["inspect", "in"]) == Exit.DATA
