"""What cannot be read line by line is converted exactly, or refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.errors import InputDamaged
from meteragent.files.documents import Converter

SAMPLES = Path(__file__).parent / "samples"
TELEGRAMS = (SAMPLES / "dsmr.txt").read_bytes().decode()
DAY = 1_709_215_200_000  # 2024-03-01 in the time of Australia's market
HEAD = "100,NEM12,202403021200,MDP1,RETAILER1\n"
CHANNEL = "200,NMI,E1,1,{suffix},N1,1,{unit},720,\n"

Said = pytest.CaptureFixture[str]


def converted(content: str) -> tuple[list[dict[str, Any]], int]:
    converter = Converter("in", content.encode())
    lines = json.loads(json.dumps([*converter.lines()], default=float))
    return lines, converter.left_out


def nem12(*rows: str, suffix: str = "E1", unit: str = "kWh") -> tuple[list[dict[str, Any]], int]:
    rows = (CHANNEL.format(suffix=suffix, unit=unit).strip(), *rows)
    return converted(HEAD + "\n".join(rows) + "\n900\n")


# Telegrams


def telegrams(content: str) -> tuple[list[dict[str, Any]], int]:
    converter = Converter("in", content.encode("latin-1"))
    lines = [*converter.lines()]
    return lines, converter.damaged


def test_a_telegram_says_what_its_meter_shows_and_both_tariffs_together() -> None:
    found, damaged = telegrams(TELEGRAMS)
    assert (len(found), damaged) == (5, 0)
    assert [one["ELECTRICITY_USED"]["value"] for one in found] == [
        *(124456.789, 124456.839, 124456.899, 124456.974, 124457.051),
    ]
    assert found[0]["P1_MESSAGE_TIMESTAMP"]["value"] == "2024-03-01T00:00:00+00:00"
    assert found[4]["MBUS_DEVICES"][0]["MBUS_METER_READING"]["value"] == 812.655


def test_whatever_ends_its_lines_a_telegram_is_the_same() -> None:
    assert telegrams(TELEGRAMS.replace("\r\n", "\n")) == telegrams(TELEGRAMS)


@pytest.mark.parametrize("seed", range(40))
def test_a_telegram_that_is_not_whole_is_left_out_and_counted(
    seed: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """One character is another, or everything from it on is lost: nothing of it is read."""
    whole, _ = telegrams(TELEGRAMS)
    first, *rest = TELEGRAMS.split("!")
    draw = Random(seed)
    at = draw.randrange(1, len(first))
    if seed % 2:
        changed = first[:at] + chr(ord(first[at]) ^ 1 << draw.randrange(4)) + first[at + 1 :]
    else:
        changed = first[:at]
    found, damaged = telegrams("!".join([changed, *rest]) if seed % 2 else changed)
    assert found == (whole[1:] if seed % 2 else [])
    assert damaged >= 1
    said = capfd.readouterr()
    assert not said.out + said.err


def test_one_without_a_checksum_is_none(capsys: Said, tmp_path: Path) -> None:
    file = tmp_path / "telegram"
    file.write_text(TELEGRAMS.partition("!")[0] + "!\r\n")
    assert main(["convert", str(file)]) == Exit.NOTHING
    assert "1 telegrams are cut off or have a wrong checksum" in capsys.readouterr().err


# NEM12


def test_a_day_of_nem12_is_a_block() -> None:
    [block], left_out = nem12("300,20240301,1.2,-0.0001,A,,,,")
    assert block == {
        "meter_id": "NMI:E1",
        "start": DAY,
        "interval_ms": 43_200_000,
        "values": [100.0, -0.009],
    }
    assert left_out == 0


def test_units_of_nem12_are_taken_as_they_are() -> None:
    assert nem12("300,20240301,1200,0,A,,,,", unit="Wh")[0][0]["values"] == [100, 0]
    assert nem12("300,20240301,1.2,0,A,,,,", unit="MWH")[0][0]["values"] == [100_000, 0]


@pytest.mark.parametrize(("suffix", "unit"), [("B1", "kWh"), ("Q1", "kVArh"), ("E1", "kVArh")])
def test_what_is_no_consumption_is_left_out(suffix: str, unit: str) -> None:
    assert nem12("300,20240301,1,1,A,,,,", suffix=suffix, unit=unit) == ([], 1)


def test_null_data_is_absent() -> None:
    [whole], _ = nem12("300,20240301,1,1,N,,,,")
    [part], _ = nem12("300,20240301,1.2,1.2,V,,,,", "400,1,1,A,,", "400,2,2,N,,")
    assert (whole["values"], part["values"]) == ([None, None], [100, None])


@pytest.mark.parametrize(
    "row", ["300,20240301", "300,x,1,1,A,,,,", "300,20240301,x,1,A,,,,", "300,20240231,1,1,A,,,,"]
)
def test_a_row_that_is_none_is_refused_and_never_quoted(row: str) -> None:
    with pytest.raises(InputDamaged, match="in: line 1: is not NEM12 in row 3; fetch it again"):
        nem12(row)


# ESPI


def espi(**changed: str) -> str:
    text = (SAMPLES / "espi.xml").read_text()
    for name, value in changed.items():
        before, _, after = text.partition(f"<espi:{name}>")
        rest = after.partition(f"</espi:{name}>")[2]
        text = f"{before}<espi:{name}>{value}</espi:{name}>{rest}"
    return text


def test_a_feed_says_what_its_numbers_are() -> None:
    blocks, left_out = converted(espi())
    assert [block["values"] for block in blocks] == [[200], [240], [300], [310]]
    assert left_out == 0
    watts, _ = converted(espi(uom="38", powerOfTenMultiplier="-2"))
    assert watts[0]["values"] == [500]


@pytest.mark.parametrize(
    "changed",
    [
        {"flowDirection": "19"},
        {"commodity": "7"},
        {"uom": "119"},
        {"accumulationBehaviour": "1"},
    ],
)
def test_a_feed_of_anything_else_is_left_out(changed: dict[str, str]) -> None:
    assert converted(espi(**changed)) == ([], 1)


def test_of_several_reading_types_the_related_one_counts() -> None:
    text = espi()
    begin = text.index(" <entry>", text.index("<espi:MeterReading/>"))
    entry = text[begin : text.index("</entry>", begin) + len("</entry>")]
    other = entry.replace("ReadingType/7", "ReadingType/8").replace(">72<", ">119<")
    assert len(converted(text.replace(entry, other + entry))[0]) == 4
    assert converted(text.replace(entry, other + entry.replace("/7", "/9"))) == ([], 1)
    elsewhere = text.replace(entry, other + entry).replace("17/MeterReading/1/I", "17/M/1/I")
    assert converted(elsewhere) == ([], 1)


def test_a_block_of_no_usage_point_is_called_by_its_own_name() -> None:
    blocks, _ = converted(espi().replace("UsagePoint/17/", "meters/"))
    assert {block["meter_id"] for block in blocks} == {"1"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("<a>", "is not XML"),
        ("<a/>", "is XML, but not ESPI"),
        ("[1]", "holds something other than objects"),
        ("[", "is not JSON"),
        ("ts,value", "is not a JSON array"),
    ],
)
def test_what_is_no_document_is_refused(content: str, said: str) -> None:
    with pytest.raises(InputDamaged, match=said):
        converted(content)


def test_entities_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cr3t")
    text = espi().replace("<feed", f'<!DOCTYPE f [<!ENTITY x SYSTEM "{secret}">]><feed')
    blocks, _ = converted(text.replace(">Green Button", ">&x; Green Button"))
    assert "s3cr3t" not in json.dumps(blocks)


def test_without_lxml_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "lxml", None)
    with pytest.raises(InputDamaged, match=r"pip install 'meteragent\[xml\]'"):
        converted(espi())


def test_what_is_left_out_is_said(tmp_path: Path, capsys: Said) -> None:
    file = tmp_path / "in"
    file.write_text(HEAD + CHANNEL.format(suffix="B1", unit="kWh") + "300,20240301,1,1,A,,,,\n")
    assert main(["convert", str(file)]) == Exit.NOTHING
    said = capsys.readouterr()
    assert (said.out, "1 channels do not hold consumption" in said.err) == ("", True)
