"""Tables: in columns as row by row, and numbers as in JSON."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meteragent.errors import InputDamaged, InvalidSetting
from meteragent.formats import csv_rows
from meteragent.formats.csv_header import Columns
from meteragent.formats.csv_rows import Table
from meteragent.formats.decoder import Decoder
from meteragent.formats.mapping import Meaning
from meteragent.formats.quantity import Quantity
from meteragent.formats.times import TimeFormat
from meteragent.stream.readings import Reason
from tests.twins import table as twin

if TYPE_CHECKING:
    from meteragent.stream.readings import Readings

HEADER = b"meter_id,ts,value"
UNIX = TimeFormat("unix_ms")


def of(
    columns: Columns = Columns(),  # noqa: B008
    header: bytes = HEADER,
    times: TimeFormat = UNIX,
    unit: str = "W",
) -> Table:
    return Table("in.csv", header, columns, times, Meaning(Quantity("power", unit)))


def shown(readings: Readings) -> tuple[list[twin.Row], list[tuple[int, Reason]], int]:
    rows = zip(
        readings.offsets.tolist(),
        readings.meters,
        readings.times.tolist(),
        [None if isnan(watts) else watts for watts in readings.watts.tolist()],
        strict=True,
    )
    rejects = [(reject.offset, reject.reason) for reject in readings.rejects]
    return [twin.Row(*row) for row in rows], rejects, readings.next_offset


IDS = st.sampled_from(["m-1", "m-2", " m-1", "é", "", "x" * 129, "a b", "m\x7f", "m-1\t"])
TIMES = st.integers(0, 2_000_000_000_000).map(str) | st.sampled_from(["", "x", "-1", "1_0", "1.5"])
VALUES = st.one_of(
    st.integers(-30_000, 30_000).map(str),
    st.decimals(-3000, 30_000, places=3).map(str),
    st.floats(allow_nan=True).map(str),
    st.sampled_from(["", "?", "1_0", "nan", "inf", "1e999", ".5", "5.", "+5", "0x1", "5 W", " 7 "]),
)
GOOD = st.tuples(
    st.sampled_from(["m-1", "m-2", "é"]),
    st.integers(0, 2_000_000_000_000).map(str),
    st.decimals(-3000, 30_000, places=2).map(str),
)
ROWS = (
    st.tuples(IDS, TIMES, VALUES).map(",".join)
    | GOOD.map(",".join)
    | GOOD.map(",".join)
    | GOOD.map(lambda cells: ",".join(f'"{cell}"' for cell in cells))
    | st.sampled_from(["", " ", ",", "a,b", "a,1,2,3", '"a,1,2', '"a""b",1,2', '"a\n', "\x00"])
)
LINES = st.lists(ROWS.map(str.encode) | st.just(b"\xff,1,2"), max_size=80)


@given(lines=LINES, few=st.sampled_from([1, 4, 32]), first=st.integers(1, 5))
@settings(max_examples=300)
def test_columns_say_what_each_row_says(lines: list[bytes], few: int, first: int) -> None:
    text = b"".join(line.replace(b"\n", b"") + b"\n" for line in lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_rows, "FEW", few)
        read = of().decode(text, first)
    good, bad = twin.rows(text, first, ",", (0, [1], 2), UNIX.one)
    assert shown(read) == (good, bad, first + len(lines))


@given(lines=LINES, cut=st.integers(0, 80))
def test_any_split_says_the_same(lines: list[bytes], cut: int) -> None:
    lines = [line.replace(b"\n", b"") + b"\n" for line in lines]
    whole = of()
    first, second = lines[:cut], lines[cut:]
    parts = [whole.decode(b"".join(first), 1), whole.decode(b"".join(second), 1 + len(first))]
    together = shown(whole.decode(b"".join(lines), 1))
    assert together[0] == shown(parts[0])[0] + shown(parts[1])[0]
    assert together[1] == shown(parts[0])[1] + shown(parts[1])[1]


NUMBERS = st.decimals(-(10**12), 10**12, allow_nan=False) | st.floats(
    allow_nan=False, allow_infinity=False
)


@given(st.lists(NUMBERS.map(str), min_size=1, max_size=30), st.booleans())
def test_a_number_is_the_same_float_as_in_json(numbers: list[str], kilo: bool) -> None:  # noqa: FBT001
    numbers = [re.sub(r"^(-?)0+(?=\d)", r"\1", number) for number in numbers]
    unit = ',"unit":"kW"' if kilo else ""
    records = [f'{{"meter_id":"m","ts":1,"value":{number}{unit}}}'.encode() for number in numbers]
    expected = Decoder().decode(records, range(len(records)), [0] * len(records))
    rows = "".join(f"m,1,{number}\n" for number in numbers).encode()
    read = of(unit="kW" if kilo else "W").decode(rows, 0)
    assert not read.rejects
    assert not expected.rejects
    assert read.watts.tobytes() == expected.watts.tobytes()


def test_a_good_stretch_is_never_judged_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Table, "_judged", None)
    rows = b"".join(b"m-%d,%d,%d.5\n" % (i % 7, i * 1000, i) for i in range(40_000))
    assert len(rows) > 2 * csv_rows.STRETCH
    read = of().decode(rows, 1)
    assert read.watts.tolist() == [i + 0.5 for i in range(40_000)]
    quoted = b"".join(b'"m-%d","%d","%d.5"\n' % (i % 7, i * 1000, i) for i in range(100))
    assert of().decode(quoted, 1).watts.tolist() == [i + 0.5 for i in range(100)]


def test_a_bad_row_costs_its_neighbours_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = []
    judge = Table._judged

    def judge_and_note(one: Table, line: bytes) -> tuple[str, int, float]:
        judged.append(line)
        return judge(one, line)

    monkeypatch.setattr(Table, "_judged", judge_and_note)
    rows = [b"m,%d,5\n" % i for i in range(5000)]
    rows[1234] = b"m,x,5\n"
    read = of().decode(b"".join(rows), 0)
    assert shown(read)[1] == [(1234, Reason.BAD_TIME)]
    assert len(read.meters) == 4999
    assert len(judged) <= csv_rows.FEW


def watts_of(values: list[str], columns: Columns = Columns(delimiter=";")) -> list[float]:  # noqa: B008
    text = "".join(f"m-1;{at};{value}\n" for at, value in enumerate(values))
    readings = of(columns, HEADER.replace(b",", b";")).decode(text.encode(), 1)
    assert readings.rejects == []
    return [float(watts) for watts in readings.watts]


GROUPED = ["990", "1,010", "12,345.5", "-1,234,567", "1'010", "1 010", "1\u202f010"]
GROUPED_WATTS = [990, 1010, 12_345.5, -1_234_567, 1010, 1010, 1010]


def test_thousands_may_stand_apart_so_that_no_reject_tells_of_them() -> None:
    assert watts_of(GROUPED) == GROUPED_WATTS
    commas = [value.translate(str.maketrans(",.", ".,")) for value in GROUPED]
    assert watts_of([*commas, "0,5"], Columns(delimiter=";", decimal_comma=True)) == [
        *GROUPED_WATTS,
        0.5,
    ]


@pytest.mark.parametrize(
    ("value", "comma"), [("412,5", False), ("1,01", False), ("1,0100", False), ("412.5", True)]
)
def test_a_file_that_writes_numbers_otherwise_is_refused_as_a_whole(
    value: str, *, comma: bool
) -> None:
    with pytest.raises(InvalidSetting) as refused:
        watts_of(["412", value], Columns(delimiter=";", decimal_comma=comma))
    assert refused.value.field == "--decimal"
    assert value not in str(refused.value)


def test_names_are_remembered_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_rows, "MOST_NAMES", 10)
    one = of()
    for begin in range(0, 300, 50):
        rows = b"".join(b"m-%d,%d,5\n" % (begin + i, i) for i in range(50))
        assert one.decode(rows, 0).meters == [f"m-{begin + i}" for i in range(50)]
        assert len(one._names) <= 100


def test_a_row_that_is_too_long_is_not_parsed() -> None:
    text = b"m,1,5\n" + b"x" * (2**20 + 1) + b"\nm,2,5\n"
    assert shown(of().decode(text, 0))[1] == [(1, Reason.TOO_LARGE)]


def test_bytes_that_are_no_text_do_not_matter_in_other_columns() -> None:
    one = of(header=HEADER + b",Temp (\xb0C)")
    assert len(one.decode(b"m,1,5,\xb0\n" * 40, 1).meters) == 40
    assert len(one.decode(b'm,1,5,"\xb0"\n' * 40, 1).meters) == 40
    assert len(one.decode(b"m,1,5,\xb0\nm,x,5,\xb0\n", 1).meters) == 1


@pytest.mark.parametrize(
    ("columns", "header", "row", "times"),
    [
        (Columns(constant_meter="m"), b"ts;value", b"1000;5.5", UNIX),
        (Columns(constant_meter="m"), b"ts\tvalue", b"1000\t5.5", UNIX),
        (Columns(constant_meter="m"), b"value,ts", b"5.5,1000", UNIX),
        (Columns(constant_meter="m", delimiter="space"), b"ts value", b"1000 5.5", UNIX),
        (Columns(constant_meter="m", delimiter="tab"), b"ts\tvalue;", b"1000\t5.5", None),
        (Columns("Zähler", ("Zeit",), "W"), "W,Zähler,Zeit".encode(), b"5.5,m,1000", UNIX),
        (Columns("3", ("1",), "2", header=False), b"1000,5.5,m", b"1000,5.5,m", UNIX),
        (Columns("3", ("1",), "2"), b"a,b,c", b"1000,5.5,m", UNIX),
        (Columns(), b'"meter_id","ts","value"', b'"m","1000","5.5"', UNIX),
        (
            Columns(time=("day", "time"), constant_meter="m"),
            b"day;time;value",
            b"01/01/1970;00:00:01;5.5",
            TimeFormat("%d/%m/%Y %H:%M:%S"),
        ),
    ],
)
def test_columns_are_found(
    columns: Columns, header: bytes, row: bytes, times: TimeFormat | None
) -> None:
    if times is None:
        columns, times = replace(columns, value="value;"), UNIX
    one = Table("in.csv", header, columns, times)
    assert one.header_lines == int(columns.header)
    for count in (1, 50):
        read = one.decode((row + b"\n") * count, 1)
        assert shown(read)[0][-1] == twin.Row(count, "m", 1000, 5.5)


@pytest.mark.parametrize(
    ("columns", "header", "message"),
    [
        (Columns(value="W"), HEADER, "in.csv: line 1: has no column 'W'; .*--value-column"),
        (Columns(time=("ts", "t")), HEADER, "in.csv: line 1: has no column 't'; .*--time-column"),
        (Columns("id"), HEADER, "in.csv: line 1: has no column 'id'; .*--meter-column"),
        (Columns(value="9"), HEADER, "in.csv: line 1: has 3 columns, not 9; .*--delimiter"),
        (Columns(), b"", "in.csv: line 1: has no column"),
    ],
)
def test_a_missing_column_is_told(columns: Columns, header: bytes, message: str) -> None:
    with pytest.raises(InputDamaged, match=message):
        of(columns, header)


@pytest.mark.parametrize(
    ("columns", "field"),
    [
        (Columns(header=False), "--meter-column"),
        (Columns("1", header=False), "--time-column"),
        (Columns("1", ("0",), header=False), "--time-column"),
        (Columns(delimiter=";;"), "--delimiter"),
        (Columns(delimiter='"'), "--delimiter"),
        (Columns(constant_meter=""), "--meter"),
        (Columns(constant_meter="a\nb"), "--meter"),
    ],
)
def test_a_mapping_that_makes_no_sense_is_refused(columns: Columns, field: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        of(columns)
    assert refused.value.field == field


def test_an_error_never_quotes_the_table() -> None:
    with pytest.raises(InputDamaged) as damaged:
        of(Columns(), b"m-4711,1763424000000,1234.5")
    assert not re.search("4711|1763424000000|1234", str(damaged.value))


def test_nothing_is_read_from_nothing() -> None:
    read = of().decode(b"", 7)
    assert shown(read) == ([], [], 7)
    assert read.times.dtype == np.int64
    assert json.dumps(read.meters) == "[]"


# What stands beside values


BESIDE = Columns(account="home", quality="how", constant_meter="m")
SAID = b"ts,value,home,how,unit"
MARKED = Meaning(Quantity("power", "kW"), absent=frozenset({"none"}), rejected=frozenset({"bad"}))


@pytest.mark.parametrize("count", [1, 50])
@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (b"1000,5,h,good,kW", ("h", 5000.0)),
        (b"1000,5,,good,KW", ("m", 5000.0)),
        (b"1000,5,h,none,kW", ("h", None)),
        (b"1000,,h,good,kW", ("h", None)),
        (b"1000,5,h,bad,kW", Reason.BAD_QUALITY),
        (b"1000,5,h,good,W", Reason.WRONG_UNIT),
        (b"1000,5,h,good,", Reason.WRONG_UNIT),
    ],
)
def test_what_stands_beside_a_value_counts(
    row: bytes, expected: tuple[str, float | None] | Reason, count: int
) -> None:
    table = Table("in.csv", SAID, BESIDE, UNIX, MARKED)
    read = shown(table.decode((row + b"\n") * count, 1))
    if isinstance(expected, Reason):
        assert read[:2] == ([], [(line, expected) for line in range(1, count + 1)])
    else:
        meter, watts = expected
        assert read[:2] == (
            [twin.Row(line, meter, 1000, watts) for line in range(1, count + 1)],
            [],
        )


@pytest.mark.parametrize("count", [1, 50])
def test_stamps_may_be_ends(count: int) -> None:
    table = Table("in.csv", HEADER, Columns(), UNIX, Meaning(earlier=900))
    read = shown(table.decode(b"m,1000,5\n" * count + b"m,899,5\n", 1))
    assert read[0] == [twin.Row(line, "m", 100, 5.0) for line in range(1, count + 1)]
    assert read[1] == [(count + 1, Reason.BAD_TIME)]


def test_a_column_of_a_unit_that_is_not_looked_at_says_nothing() -> None:
    table = Table("in.csv", HEADER + b",unit", Columns(unit=None), UNIX)
    assert not table.decode(b"m,1000,5,kWh\n", 1).rejects


def test_a_value_whose_name_says_another_unit_is_refused() -> None:
    with pytest.raises(InvalidSetting, match=r"input\.unit: is W, but 'kWh' says kWh; .*energy"):
        of(Columns(value="kWh"), b"meter_id,ts,kWh")
    with pytest.raises(InvalidSetting, match=r"input\.unit: is W, but 'P \(kW\)' says kW"):
        of(Columns(value="P (kW)"), b"meter_id,ts,P (kW)")
