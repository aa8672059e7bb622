"""Documents of any shape are read as their mapping says, together as one by one."""

from __future__ import annotations

import json
import math
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.errors import InvalidSetting
from meteragent.formats.csv_header import Columns
from meteragent.formats.decoder import Decoder
from meteragent.formats.json_body import BETWEEN, JsonBody
from meteragent.formats.mapped import CHUNK, MappedDecoder
from meteragent.formats.mapping import Mapping, Meaning, steps
from meteragent.formats.messages import message_decoder
from meteragent.formats.quantity import Quantity
from meteragent.formats.times import zone_of
from meteragent.stream.readings import Reason
from tests.twins import mapped as twin

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from meteragent.stream.readings import Readings

NOON = 1_763_424_000_000
QUARTER = 900_000
GIVEN = frozenset({"value"})
NESTED = Columns("device.id", ("Time",), "ENERGY.Power", quality="quality")
ENERGY = Meaning(
    Quantity("energy", "kWh", QUARTER),
    QUARTER,
    QUARTER,
    frozenset({"missing"}),
    frozenset({"error"}),
)


def decode(mapping: Mapping, *messages: object) -> Readings:
    values = [m if isinstance(m, bytes) else json.dumps(m).encode() for m in messages]
    return MappedDecoder(mapping).decode(values, range(len(values)), [0] * len(values))


def shown(readings: Readings) -> list[tuple[int, str, int, float | None]]:
    """Offset, meter, time and watts of each reading."""
    meters = [*readings.meters]
    at = np.repeat(np.arange(len(readings.offsets)), readings.counts)
    return [
        (int(readings.offsets[i]), meters[i], time, None if math.isnan(w) else w)
        for i, time, w in zip(at, readings.times.tolist(), readings.watts.tolist(), strict=True)
    ]


def reasons(readings: Readings) -> list[Reason]:
    return [reject.reason for reject in readings.rejects]


# As the twin says


METERS = (
    '"m-1"',
    '"é"',
    '""',
    "17",
    "true",
    "1.5",
    "null",
    '"m\\u0000"',
    '"\\ud800"',
    '"a\\u0085"',
)
TIMES = (
    *(
        str(NOON),
        str(NOON // 1000),
        str(NOON * 1000),
        f"{NOON // 1000}.25",
        '"2025-11-18T00:00:00Z"',
    ),
    *('"2025-11-18 00:00+01:00"', '"2025-11-18T00:00:00"', "20251118", '"202511180000"', '"x"'),
    *("true", "null", "[]", "1e99", f'"{NOON}"', '"1970-01-01T00:01:00Z"', "900000"),
)
VALUES = (
    *("0.1", "412", "-3.5", "null", '"0.25"', '"NaN"', '"?"', '"1,5"', "NaN", "Infinity", "true"),
    *("{}", "1e308", '"1e999"', "9" * 400, "1e-7", "0.12345678", '" 7 "', "1e400"),
)
EXTRAS = ("", ',"unit":"kWh"', ',"unit":"W"', ',"unit":null', ',"quality":"error"', ',"quality":1')
ODD = (
    *(b"", b"{", b"[]", b"\xff", b'{"Time":1}', b"null", b'{"device":1,"Time":1,"ENERGY":[]}'),
    *(b'{"device":{"id":"m"},"Time":%d},{"ENERGY":{"Power":1}' % NOON, f'"{BETWEEN}"'.encode()),
    b'{"device":{"id":"m"},"Time":%d,"ENERGY":{"Power":[1' % NOON,
    b'{"device":{"id":"m"},"Time":%d,"ENERGY":{"Power":"%s"}}' % (NOON, BETWEEN.encode()),
)


def test_documents_are_read_together_where_that_is_sure() -> None:
    body, one = JsonBody(), b'{"a":1}'
    assert body.many([one]) == [{"a": 1}]
    assert body.many([one] * 3) == [{"a": 1}] * 3
    for odd in (b'{"a":1},{"a":1}', b'{"a":"%s"}' % BETWEEN.encode(), b"[]"):
        assert body.many([one, odd]) is None


def payload(draw: Random, bad: float) -> bytes:
    if draw.random() < bad / 4:
        return draw.choice(ODD)

    def pick(some: Sequence[str]) -> str:
        return draw.choice(some) if draw.random() < bad else some[0]

    extra = pick(EXTRAS) + (',"quality":"missing"' if draw.random() < bad else "")
    return (
        f'{{"device":{{"id":{pick(METERS)}}},"Time":{pick(TIMES)},'
        f'"ENERGY":{{"Power":{pick(VALUES)}}}{extra}}}'
    ).encode()


@pytest.mark.parametrize("seed", range(12))
def test_every_document_is_judged_as_the_twin_does(seed: int) -> None:
    draw = Random(seed)
    mapping = Mapping(NESTED, meaning=ENERGY, given=GIVEN)
    bad = (0.0, 0.0005, 0.3)[seed % 3]
    messages = [payload(draw, bad) for _ in range(3 * CHUNK + 7)]
    readings = decode(mapping, *messages)
    good, refused = [], []
    for offset, message in enumerate(messages):
        judged = twin.judge(message, earlier=QUARTER, unit="kWh") if message else Reason.EMPTY
        if isinstance(judged, Reason):
            refused.append((offset, judged))
        else:
            good.append((offset, *judged))
    assert [(r.offset, r.reason) for r in readings.rejects] == refused
    expected = [(at, m, t, None if v is None else watts(v)) for at, m, t, v in good]
    assert shown(readings) == expected


def watts(kilowatt_hours: Fraction) -> float:
    """Of a quarter of an hour, cut to milliwatts."""
    try:
        return (kilowatt_hours * 4_000_000 // 1) / 1000
    except OverflowError:
        return math.copysign(np.finfo(np.float64).max, kilowatt_hours)


@given(st.data())
def test_any_split_says_the_same(data: st.DataObject) -> None:
    draw = Random(data.draw(st.integers(0, 2**32)))
    messages = [payload(draw, 0.05) for _ in range(data.draw(st.integers(1, 20)))]
    mapping = Mapping(NESTED, meaning=ENERGY, given=GIVEN)
    together = decode(mapping, *messages)
    apart = [decode(mapping, message) for message in messages]
    assert [one[1:] for one in shown(together)] == [o[1:] for r in apart for o in shown(r)]
    assert reasons(together) == [reason for one in apart for reason in reasons(one)]


# The canonical form


def test_who_sets_nothing_has_the_canonical_reader() -> None:
    assert isinstance(message_decoder(Mapping()), Decoder)
    assert isinstance(message_decoder(Mapping(given=GIVEN)), MappedDecoder)
    with pytest.raises(InvalidSetting, match="delimiter: is of tables"):
        message_decoder(Mapping(given=frozenset({"delimiter"})))


def test_a_mapping_of_the_canonical_names_says_the_same() -> None:
    messages = [
        b'{"meter_id":"m-%d","ts":%d,"value":%d.5}' % (i % 7, NOON + i, i) for i in range(600)
    ]
    offsets = range(3, 3 + 600)
    ours = MappedDecoder(Mapping(given=GIVEN)).decode(messages, offsets, offsets)
    theirs = Decoder().decode(messages, offsets, offsets)
    for name in ("meters", "offsets", "timestamps", "counts", "starts", "intervals", "watts"):
        assert list(getattr(ours, name)) == list(getattr(theirs, name))
    assert ours.next_offset == theirs.next_offset


# Shapes


def reading(**fields: object) -> dict[str, Any]:
    return {"meter_id": "m", "ts": NOON, "value": 1} | fields


def test_entries_of_lists_are_gone_through() -> None:
    columns = Columns("meters[].id", ("meters[].blocks[].at",), "meters[].blocks[].values[]")
    mapping = Mapping(columns, meaning=Meaning(interval=1000), given=GIVEN)
    blocks = [{"at": NOON, "values": [1, None]}, {"at": NOON + 5000, "values": [3]}]
    document = {"meters": [{"id": "a", "blocks": blocks}, {"id": 2, "blocks": blocks[1:]}]}
    assert shown(decode(mapping, document)) == [
        *((0, "a", NOON, 1.0), (0, "a", NOON + 1000, None), (0, "a", NOON + 5000, 3.0)),
        (0, "2", NOON + 5000, 3.0),
    ]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"meters": []}, Reason.WRONG_SHAPE),
        ({"meters": {}}, Reason.WRONG_SHAPE),
        ({}, Reason.WRONG_SHAPE),
        ({"meters": [1]}, Reason.WRONG_SHAPE),
        ({"meters": [{"id": "a", "at": NOON, "values": []}]}, Reason.BAD_VALUE),
        ({"meters": [{"id": "a", "at": NOON, "values": 7}]}, Reason.BAD_VALUE),
        ({"meters": [{"id": "a", "at": NOON, "values": [0] * 100_001}]}, Reason.BAD_VALUE),
        ({"meters": [{"id": "a", "at": NOON}]}, Reason.WRONG_SHAPE),
        (
            {"meters": [{"id": "a", "at": "9999-12-31T23:59:59Z", "values": [1, 1]}]},
            Reason.BAD_TIME,
        ),
    ],
)
def test_a_list_that_is_none_is_rejected(document: object, reason: Reason) -> None:
    columns = Columns("meters[].id", ("meters[].at",), "meters[].values[]")
    mapping = Mapping(columns, meaning=Meaning(interval=1000), given=GIVEN)
    assert reasons(decode(mapping, document)) == [reason]


def test_places_in_lists_have_numbers() -> None:
    mapping = Mapping(Columns(value="emeters.1.power"), given=GIVEN)
    lists = reading(emeters=[{"power": 1}, {"power": 2}])
    keys = reading(emeters={"1": {"power": 3}})
    short = reading(emeters=[])
    assert [one[3] for one in shown(decode(mapping, lists, keys))] == [2, 3]
    assert reasons(decode(mapping, lists, short)) == [Reason.WRONG_SHAPE]


def test_channels_are_meters_of_their_own() -> None:
    mapping = Mapping(channels=(("a", "p.a"), ("b", "p.b")), given=GIVEN)
    both, one, none = (reading(p=p) for p in ({"a": 1, "b": 2}, {"b": 3}, {}))
    readings = decode(mapping, both, one, none)
    assert shown(readings) == [
        (0, "m:a", NOON, 1), (0, "m:b", NOON, 2), (1, "m:b", NOON, 3),
    ]  # fmt: skip
    assert reasons(readings) == [Reason.WRONG_SHAPE]
    assert reasons(decode(mapping, both | {"meter_id": "m" * 127})) == [Reason.BAD_METER]


def test_an_account_is_whose_home_it_is() -> None:
    mapping = Mapping(Columns(account="home"), given=GIVEN)
    readings = decode(mapping, reading(home="h"), reading(), reading(home=""))
    assert readings.meters == ["h", "m"]
    assert reasons(readings) == [Reason.BAD_METER]


def test_there_may_be_but_one_meter() -> None:
    documents = [{"ts": NOON, "value": 1}, {"ts": NOON, "value": 1, "home": "h"}]
    only = Columns(constant_meter="home-1")
    assert decode(Mapping(only, given=GIVEN), *documents).meters == ["home-1"] * 2
    ours = Columns(constant_meter="home-1", account="home")
    assert decode(Mapping(ours, given=GIVEN), *documents).meters == ["home-1", "h"]


def test_date_and_time_are_put_together() -> None:
    columns = Columns(time=("date", "time"))
    mapping = Mapping(columns, zone=zone_of("Europe/Paris"), given=GIVEN)
    documents = [reading(date="2025-11-18", time=f"01:0{i}") for i in range(3)]
    assert [one[2] - NOON for one in shown(decode(mapping, *documents))] == [0, 60_000, 120_000]
    assert reasons(decode(mapping, *documents, reading(date="2025-11-18", time=1))) == [
        Reason.BAD_TIME
    ]


def test_ends_of_days_are_the_next_ones_beginning() -> None:
    meaning = Meaning(earlier=3_600_000)
    mapping = Mapping(zone=zone_of("Europe/Paris"), meaning=meaning, given=GIVEN)
    documents = [reading(ts=f"2025-11-17T{hour}:00") for hour in (23, 24)]
    assert [one[2] - NOON for one in shown(decode(mapping, *documents))] == [
        -10_800_000,
        -7_200_000,
    ]
    start = Mapping(zone=zone_of("Europe/Paris"), given=GIVEN)
    assert reasons(decode(start, documents[1])) == [Reason.BAD_TIME]


@pytest.mark.parametrize("said", [1000, "1970-01-01T00:00:01Z"])
def test_what_began_before_1970_has_no_time(said: object) -> None:
    mapping = Mapping(
        time_format="unix_ms" if said == 1000 else "iso", meaning=Meaning(earlier=2000), given=GIVEN
    )
    assert reasons(decode(mapping, reading(ts=said), reading(ts=said))) == [Reason.BAD_TIME] * 2


def test_times_beyond_their_years_are_rejected() -> None:
    mapping = Mapping(time_format="unix_ms", given=GIVEN)
    assert reasons(decode(mapping, reading(ts=253_402_300_800_000))) == [Reason.BAD_TIME]


def test_what_is_no_document_by_itself_is_none_beside_others() -> None:
    whole = json.dumps(reading()).encode()
    first, second = whole[:-1] + b',"a":[1', b"2]}," + whole + b"," + whole
    assert decode(Mapping(given=GIVEN), first, second).meters == []
    assert decode(Mapping(given=GIVEN), first, whole, second).meters == ["m"]


def test_what_is_beyond_all_numbers_is_rejected_alone() -> None:
    beyond = json.dumps(reading()).replace('"value": 1', '"value": 1e999').encode()
    readings = decode(Mapping(given=GIVEN), reading(), beyond)
    assert (readings.meters, reasons(readings)) == (["m"], [Reason.BAD_VALUE])


def test_too_large_documents_are_not_parsed() -> None:
    message = json.dumps(reading(note="x" * 100)).encode()
    decoder = MappedDecoder(Mapping(given=GIVEN), max_bytes=80)
    assert reasons(decoder.decode([message], [0], [0])) == [Reason.TOO_LARGE]


@pytest.mark.parametrize("name", ["unit", "uom.said"])
def test_another_unit_is_rejected_wherever_it_stands(name: str) -> None:
    mapping = Mapping(Columns(unit=name), given=GIVEN)

    def saying(unit: str) -> dict[str, Any]:
        return reading(unit=unit) if name == "unit" else reading(uom={"said": unit})

    assert shown(decode(mapping, saying("W"), saying("watts"))) == shown(
        decode(mapping, reading(), reading())
    )
    assert reasons(decode(mapping, saying("W"), saying("kWh"))) == [Reason.WRONG_UNIT]
    nobody = Mapping(Columns(unit=None), given=GIVEN)
    assert not decode(nobody, saying("kWh")).rejects


# Paths


def test_paths_are_taken_apart() -> None:
    assert steps("a.b[].c[][]") == ("a", "b", "[]", "c", "[]", "[]")
    assert steps(r"1-0:1\.8\.0.value") == ("1-0:1.8.0", "value")


@pytest.mark.parametrize("path", ["", ".", "a.", ".a", "a..b", "[]", "a[0]", "a[].[]", "a]"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(InvalidSetting, match=r"input\.value: is no path"):
        MappedDecoder(Mapping(Columns(value=path), given=GIVEN))


def test_fields_of_different_lists_are_refused() -> None:
    columns = Columns("meters[].id", ("readings[].at",), "readings[].value")
    with pytest.raises(InvalidSetting, match=r"input\.meter: stands in another list"):
        MappedDecoder(Mapping(columns, given=GIVEN))


@pytest.mark.parametrize("empty", [b"", None])
def test_what_is_empty_moves_no_reading_to_another_message(empty: bytes | None) -> None:
    said = [b'{"m":"%d","ts":1763424000000,"value":%d}' % (at, at) for at in range(3)]
    messages = [said[0], empty, said[1], said[2]]
    mapping = Mapping(Columns("m", ("ts",), "value"))
    read = MappedDecoder(mapping).decode(messages, range(4), [0] * 4)
    assert shown(read) == [(0, "0", NOON, 0.0), (2, "1", NOON, 1.0), (3, "2", NOON, 2.0)]
    assert [bad.offset for bad in read.rejects] == [1]
