"""The data that people have, each in its own shape: released as it is, or refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.config.recipes import recipes

SAMPLES = Path(__file__).parent / "samples"
MOST_LINES = 8
"""Of a mapping."""
MOST_REFUSED = 2

POLICY = """
[agent]
key_file = "noise.key"
[[policy]]
name = "household"
window = "{window}"
interval = "{interval}"
offset = "{offset}"
maximum = "24kW"
step = "1W"
epsilon = "3000"
budget = "1000000"
"""
"""With so little noise that releases are what was measured."""

WINDOWS = {"15m": "30m", "30m": "1h", "1h": "2h"}
MEANS = [220.0, 305.0]
MIDNIGHT = 1_709_251_200_000

Said = pytest.CaptureFixture[str]


class Sample(NamedTuple):
    """What a file needs, and when its first window begins."""

    file: str
    mapping: str = ""
    interval: str = "15m"
    begin: int = MIDNIGHT
    means: list[float] = MEANS
    offset: str = "0s"


ONE = 'only_meter = "home-1"\n'
PARIS = 'timezone = "Europe/Paris"\n'
OF_FINDINGS = [
    Sample("canonical.jsonl"),
    Sample("quality.jsonl", 'quality = "quality"\nabsent = ["MISSING"]', means=[200, 305]),
    Sample("energy.jsonl", 'kind = "energy"\nunit = "kWh"'),
    Sample("strings.jsonl", 'time_format = "unix_ms"'),
    Sample("numeric_ids.jsonl", 'time_format = "unix_ms"'),
    Sample("epoch_seconds.jsonl", 'time_format = "unix"'),
    Sample("local_times.jsonl", PARIS),
    Sample("tasmota.jsonl", 'format = "tasmota"\n' + ONE + PARIS),
    Sample("shelly.jsonl", 'format = "shelly"'),
    Sample("zigbee2mqtt.jsonl", 'format = "zigbee2mqtt"'),
    Sample("homewizard.jsonl", 'format = "homewizard"\n' + PARIS),
    Sample("cim.jsonl", 'format = "cim-json"'),
    Sample("lcl.csv", 'format = "lcl"', "30m"),
    Sample("datadis.csv", 'format = "datadis"', "1h", MIDNIGHT + 19 * 3_600_000, offset="1h"),
    Sample("enedis.csv", 'format = "enedis"\n' + ONE, "30m"),
    Sample("end_stamps.csv", 'stamp = "end"'),
    Sample("register.csv", 'kind = "register"\nunit = "kWh"'),
]
"""Of the 21 shapes that were tried first, those that need no more than a mapping."""
CONVERTED = [
    Sample("array.json"),
    Sample("espi.xml"),
    Sample("nem12.csv", "", "30m", MIDNIGHT - 10 * 3_600_000),
    Sample("dsmr.txt", 'format = "dsmr"'),
]
"""Those that are made lines of before."""
OF_TELEGRAMS = [Sample("dsmr.txt", 'format = "dsmr-total"', means=[220, 304])]
"""Their registers show whole watt-hours: 77 of a quarter of an hour are 308 W."""
MORE = [
    Sample("shelly_em.jsonl", 'format = "shelly-em"'),
    Sample("tasmota_total.jsonl", 'format = "tasmota-total"\n' + ONE + PARIS),
    Sample("shelly_total.jsonl", 'format = "shelly-total"'),
    Sample("zigbee2mqtt_total.jsonl", 'format = "zigbee2mqtt-total"'),
    Sample("homewizard_total.jsonl", 'format = "homewizard-total"\n' + PARIS),
    Sample("octopus.json", 'format = "octopus"\n' + ONE, "30m"),
    Sample("ha_statistics.tsv", 'format = "ha-statistics"\n' + PARIS, "1h"),
    Sample("uci.txt", 'format = "uci"\n' + ONE + PARIS),
    Sample("uk_dale.dat", 'format = "uk-dale"\n' + ONE),
    Sample("redd.dat", 'format = "redd"\n' + ONE),
    Sample("tracebase.csv", 'format = "tracebase"\n' + ONE + PARIS),
]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert main(["key", "create", "noise.key"]) == Exit.OK
    return tmp_path


def written(directory: Path, sample: Sample) -> Path:
    window = WINDOWS[sample.interval]
    policy = POLICY.format(window=window, interval=sample.interval, offset=sample.offset)
    mapping = f"[input]\n{sample.mapping}\n" if sample.mapping else ""
    file = directory / "agent.toml"
    file.write_text(mapping + policy.replace("0.8", "0.5"))
    return file


def released(path: Path) -> list[tuple[int, float]]:
    documents = [json.loads(line) for line in path.read_text().splitlines()]
    return [(d["window_start"], d["values"]["avg"]) for d in documents if d["values"]]


@pytest.mark.parametrize("sample", OF_FINDINGS + MORE, ids=lambda sample: sample.file)
def test_a_sample_is_released_as_it_is(directory: Path, sample: Sample) -> None:
    assert len(sample.mapping.splitlines()) <= MOST_LINES
    config = written(directory, sample)
    if sample.file == "quality.jsonl":  # one of two slots is absent there
        config.write_text(config.read_text() + 'min_coverage = "0.5"\n')
    arguments = ("sanitize", str(SAMPLES / sample.file), "-c", str(config), "-o", "out")
    assert main([*arguments]) == Exit.OK
    hour = {"15m": 1, "30m": 2, "1h": 4}[sample.interval]
    starts = [sample.begin + i * hour * 1_800_000 for i in range(2)]
    assert released(Path("out")) == list(zip(starts, sample.means, strict=True))


@pytest.mark.parametrize("sample", CONVERTED + OF_TELEGRAMS, ids=lambda sample: sample.file)
def test_a_document_is_released_as_it_is_once_it_is_converted(
    directory: Path, capsys: Said, sample: Sample
) -> None:
    capsys.readouterr()
    assert main(["convert", str(SAMPLES / sample.file)]) == Exit.OK
    Path("lines").write_text(capsys.readouterr().out)
    config = written(directory, sample)
    assert main(["sanitize", "lines", "-c", str(config), "-o", "out"]) == Exit.OK
    hour = {"15m": 1, "30m": 2}[sample.interval]
    starts = [sample.begin + i * hour * 1_800_000 for i in range(2)]
    assert released(Path("out"))[:2] == list(zip(starts, sample.means, strict=True))


def test_all_shapes_that_were_tried_first_are_right() -> None:
    assert len(OF_FINDINGS) + len(CONVERTED) == 21


@pytest.mark.parametrize(
    ("file", "code", "said"),
    [
        (
            "array.json",
            Exit.DATA,
            "is a JSON array, which is not read by lines; meteragent convert",
        ),
        ("espi.xml", Exit.DATA, "is XML, which is not read by lines; meteragent convert"),
        ("nem12.csv", Exit.DATA, "is NEM12, which is not read by lines; meteragent convert"),
        ("dsmr.txt", Exit.DATA, "is a telegram, which is not read by lines; meteragent convert"),
    ],
)
def test_a_document_is_refused_with_the_way_out(
    directory: Path, capsys: Said, file: str, code: Exit, said: str
) -> None:
    config = written(directory, Sample(file))
    assert main(["sanitize", str(SAMPLES / file), "-c", str(config), "-o", "out"]) == code
    assert said in capsys.readouterr().err


def test_every_recipe_has_its_sample() -> None:
    every = OF_FINDINGS + CONVERTED + MORE + OF_TELEGRAMS
    named = {s.mapping.split('"')[1] for s in every if s.mapping.startswith("format")}
    assert named == recipes().keys()


@pytest.mark.parametrize("recipe", recipes())
def test_a_recipe_asks_for_what_it_does_not_know(
    recipe: str, directory: Path, capsys: Said
) -> None:
    sample = Sample(
        "canonical.jsonl", f'format = "{recipe}"', recipes()[recipe].input.get("interval", "15m")
    )
    code = main(["check", "--offline", "-c", str(written(directory, sample))])
    said = capsys.readouterr().err
    needs = recipes()[recipe].needs
    assert code == (Exit.CONFIGURATION if needs else Exit.OK), said
    assert all(f"input.{need}: is missing, and {recipe} does not say it" in said for need in needs)


def test_a_column_of_units_may_be_something_else(directory: Path) -> None:
    config = written(directory, Sample("register.csv"))
    Path("in.csv").write_text(
        "meter_id,ts,value,unit\n"
        + "".join(f"m,{MIDNIGHT + n * 900_000},300,flat 4\n" for n in range(2))
    )
    arguments = ("sanitize", "in.csv", "-c", str(config), "-o", "out", "--unit-column", "")
    assert main([*arguments]) == Exit.OK
    assert released(Path("out")) == [(MIDNIGHT, 300.0)]


def test_how_the_input_is_written_is_said_once(directory: Path, capsys: Said) -> None:
    config = written(directory, Sample("lcl.csv", 'format = "lcl"', "30m"))
    arguments = ("sanitize", str(SAMPLES / "lcl.csv"), "-c", str(config), "--unit", "Wh")
    assert main([*arguments]) == Exit.CONFIGURATION
    assert "--unit: is set beside [input] of the file; write it there" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ('format = "x"', "input.format: is not a known format; write one of "),
        ('unit = "kWh"', 'input.unit: is not a unit of power; write kind = "energy", or one of W'),
        ('unit = "gal"', "input.unit: is not one of them"),
        (
            'kind = "energy"\nunit = "m3"',
            "input.unit: is m3, and household is about power, in W; write one of W, kW, MW, mWh",
        ),
        ('value = "used_kwh"', "input.value: says kWh, and unit is W"),
        ('kind = "energy"\nunit = "Wh"\ninterval = "5m"', "input.interval: is not the interval of"),
        ('absent = ["x"]', "input.quality: is missing"),
        ('timezone = "Mars"', "input.timezone: is not a known time zone"),
        ('time_format = "x"', "input.time_format: is not a time format"),
        ("channels = 7", "input.channels: is not a table of names and paths"),
        ('channels = { a = "" }', "input.channels: is not a table of names and paths"),
    ],
)
def test_a_mapping_that_makes_no_sense_is_refused(
    directory: Path, capsys: Said, mapping: str, said: str
) -> None:
    config = written(directory, Sample("canonical.jsonl", mapping))
    assert main(["check", "--offline", "-c", str(config)]) == Exit.CONFIGURATION
    assert said in capsys.readouterr().err


def test_policies_of_several_intervals_need_that_of_the_input(
    directory: Path, capsys: Said
) -> None:
    config = written(directory, Sample("canonical.jsonl", 'stamp = "end"'))
    table = config.read_text().partition("[[policy]]")[2]
    other = table.replace('"household"', '"plugs"').replace('"15m"', '"5m"')
    config.write_text(f'{config.read_text()}\n[[policy]]\nmatch = "plug-"{other}')
    assert main(["check", "--offline", "-c", str(config)]) == Exit.CONFIGURATION
    assert "input.interval: is missing, and policies have several" in capsys.readouterr().err


def test_seconds_are_never_taken_for_milliseconds(directory: Path, capsys: Said) -> None:
    config = written(directory, Sample("epoch_seconds.jsonl"))
    arguments = ("sanitize", str(SAMPLES / "epoch_seconds.jsonl"), "-c", str(config), "-o", "out")
    assert main([*arguments]) == Exit.NOTHING
    said = capsys.readouterr().err
    assert "4 lines rejected (in_seconds 4 from line 1)" in said
    assert "times are in seconds: --time-format unix" in said
    assert released(Path("out")) == []


def test_a_register_is_never_taken_for_power(directory: Path, capsys: Said) -> None:
    config = written(directory, Sample("register.csv"))
    arguments = ("sanitize", str(SAMPLES / "register.csv"), "-c", str(config), "-o", "out")
    main([*arguments])
    assert "5 lines rejected (wrong_unit 5 from line 2)" in capsys.readouterr().err
    assert released(Path("out")) == []


def test_half_hours_of_energy_are_never_taken_for_power(directory: Path, capsys: Said) -> None:
    mapping = 'meter = "LCLid"\ntime = "DateTime"\nvalue = "4"\nunit = "kW"'
    config = written(directory, Sample("lcl.csv", mapping, "30m"))
    arguments = ("sanitize", str(SAMPLES / "lcl.csv"), "-c", str(config), "-o", "out")
    assert main([*arguments]) == Exit.CONFIGURATION
    assert "is kW, but 'KWH/hh (per half hour)' says kWh" in capsys.readouterr().err
