"""What is said of an input is what is in it; the command that is printed works."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from meteragent.cli import main
from meteragent.commands.arguments import MAPPING
from meteragent.commands.exit_codes import Exit
from tests.files.test_quantities import FLOW, REACTIVE
from tests.files.test_samples import (
    CONVERTED,
    MORE,
    OF_FINDINGS,
    SAMPLES,
    released,
    written,
)

BEYOND = {
    "end_stamps.csv": ["--stamp", "end"],  # nothing in it says so
}
"""What the samples do not tell, and has to be added to the command."""
OF_QUANTITIES = {
    "gas.csv": (FLOW.format(mapping="", window="2h", interval="1h"), [250.0, 1001.0]),
    "water.jsonl": (FLOW.format(mapping="", window="30m", interval="15m"), [90.0, 310.0]),
    "reactive.csv": (
        REACTIVE.format(mapping="", window="30m", interval="15m") + 'minimum = "-5kvar"\n',
        [-100.0, 150.0],
    ),
}
SPLIT = {sample.file: sample for sample in OF_FINDINGS + MORE + CONVERTED}
EVERY = sorted(file.name for file in SAMPLES.iterdir() if file.name != "README.md")
OPTIONS = {f"--{name.replace('_', '-')}" for name in MAPPING}

Said = pytest.CaptureFixture[str]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert main(["key", "create", "noise.key"]) == Exit.OK
    return tmp_path


def inspected(name: str | Path, capsys: Said) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["inspect", str(name)])
    told = capsys.readouterr()
    return code, told.out or told.err


def command_of(file: Path, capsys: Said) -> list[str]:
    """What it says at last; of a document, what it says of the lines that are made of it."""
    code, said = inspected(file, capsys)
    if code == Exit.DATA:
        assert "meteragent convert IN > lines.jsonl, and inspect that" in said
        assert main(["convert", str(file)]) == Exit.OK
        lines = Path("lines.jsonl")
        lines.write_text(capsys.readouterr().out)
        code, said = inspected(lines, capsys)
    assert code == Exit.OK
    assert "0 lines rejected" in said or file.name == "water.jsonl"  # one says another unit
    words = shlex.split(said.splitlines()[-1])
    assert words[:2] == ["meteragent", "sanitize"]
    return words[1:]


def mapping_in(words: list[str]) -> list[str]:
    """What a command says of how its input is written, and nothing of what is released."""
    kept: list[str] = []
    for at, word in enumerate(words):
        if word in OPTIONS:
            kept += [word] if word == "--no-header" else words[at : at + 2]
    return kept


def test_every_sample_is_inspected() -> None:
    assert SPLIT.keys() | OF_QUANTITIES.keys() == {*EVERY}


@pytest.mark.parametrize("name", EVERY)
def test_the_command_that_is_said_takes_the_input(directory: Path, capsys: Said, name: str) -> None:
    """As it is; and with hardly any noise it releases what the sample says, and no other."""
    command = command_of(SAMPLES / name, capsys)
    assert main(command) == Exit.OK
    assert Path("released.jsonl").stat().st_size
    assert "0 readings" not in capsys.readouterr().err

    if name in OF_QUANTITIES:
        text, means = OF_QUANTITIES[name]
        text = text.replace("[input]", "").replace('window = "2h"', 'window = "2h"\noffset = "1h"')
    else:
        sample = SPLIT[name]
        text, means = written(directory, sample._replace(mapping="")).read_text(), sample.means
        text += 'min_coverage = "0.5"\n' if name == "quality.jsonl" else ""
    Path("agent.toml").write_text(text)
    more = BEYOND.get(name, [])
    arguments = ["sanitize", command[1], "-c", "agent.toml", "-o", "exact", *mapping_in(command)]
    assert main([*arguments, *more]) == Exit.OK
    assert [value for _, value in released(Path("exact"))][:2] == means


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tasmota.jsonl", ("--input-format tasmota", "only_meter is not said", "timezone is not")),
        ("enedis.csv", ("--input-format enedis", "30m apart")),
        ("energy.jsonl", ("--kind energy --unit kWh", "see stamp")),
        ("epoch_seconds.jsonl", ("--time-format unix",)),
        ("register.csv", ("values only rise, as those of a register do", "--kind register")),
        ("end_stamps.csv", ("see stamp",)),
        (
            "gas.csv",
            ("--kind energy --unit m3", "no preset is for water and gas", "--quantity flow"),
        ),
        ("water.jsonl", ("--kind register --unit m3", "1 line rejected", "--window 1h")),
        ("reactive.csv", ("--unit var", "--minimum=-5kvar", "for reactive power")),
        ("quality.jsonl", ("quality says ESTIMATED, MISSING, VALIDATED", "--absent MISSING")),
        ("tasmota_total.jsonl", ("--input-format tasmota-total", "or, as tasmota: ")),
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


def test_registers_of_several_meters_are_found_among_each_other(
    directory: Path, capsys: Said
) -> None:
    rows = "".join(
        f"{meter},2024-02-01T00:{15 * n:02d}Z,{base + n / 10:.1f}\n"
        for n in range(4)
        for meter, base in (("a", 812), ("b", 77))
    )
    (directory / "in.csv").write_text("meter_id,ts,m3\n" + rows)
    _, said = inspected("in.csv", capsys)
    assert "--kind register --unit m3" in said


@pytest.mark.parametrize("interval", ["7m", "15m", "1h", "24h", "36h"])
def test_a_policy_that_is_an_example_can_be_used(
    directory: Path, capsys: Said, interval: str
) -> None:
    step = int(interval[:-1]) * (60 if interval.endswith("m") else 3600)
    rows = "".join(f"w,{1_709_251_200 + n * step},{n % 3}\n" for n in range(9))
    (directory / "in.csv").write_text("meter_id,time,litres [l/h]\n" + rows)
    code, said = inspected("in.csv", capsys)
    assert code == Exit.OK
    assert main(shlex.split(said.splitlines()[-1])[1:]) == Exit.OK


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
