"""What a record means, and how chunks of them are decoded."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.formats import decoder, json_many
from meteragent.formats.json_one import (
    LATEST,
    LONGEST_RECORD,
    MOST_BYTES,
    MOST_VALUES,
    judge,
    milliseconds,
)
from meteragent.stream.readings import Reason
from tests.formats.same import FIRST_OFFSET, assert_as_the_twin_says, decode, plain

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

NOON = 1_763_424_000_000


def reading(**changes: object) -> dict[str, object]:
    return {"meter_id": "m-17", "ts": NOON, "value": 412.5} | changes


def block(**changes: object) -> dict[str, object]:
    fields = {"meter_id": "m-17", "start": NOON, "interval_ms": 10_000, "values": [412, None, 398]}
    return fields | changes


def written(fields: dict[str, object]) -> bytes:
    return json.dumps(fields).encode()


def reason_of(record: bytes | None) -> Reason:
    (reject,) = decode([record]).rejects
    return reject.reason


def joined(records: list[dict[str, object]]) -> bytes:
    return json.dumps(records, ensure_ascii=False).encode()


def test_a_reading_is_a_run_of_one() -> None:
    readings = decode([written(reading())])
    assert plain(readings).meters == ["m-17"]
    assert readings.times.tolist() == [NOON]
    assert readings.watts.tolist() == [412.5]
    assert readings.counts.tolist() == [1]
    assert readings.offsets.tolist() == [FIRST_OFFSET]
    assert readings.timestamps.tolist() == [10 * FIRST_OFFSET]
    assert readings.next_offset == FIRST_OFFSET + 1


def test_a_block_is_a_run_of_readings_an_interval_apart() -> None:
    readings = decode([written(block())])
    assert readings.meters == ["m-17"]
    assert readings.counts.tolist() == [3]
    assert readings.times.tolist() == [NOON, NOON + 10_000, NOON + 20_000]
    assert plain(readings).watts == [412.0, None, 398.0]


@pytest.mark.parametrize("others", [[], [reading()], [block()], [reading(unit="kW")], [b"x"]])
def test_a_record_is_its_accounts_whatever_meter_hangs_there(others: list[Any]) -> None:
    """Beside any others: those without an account are their meters'."""
    exchanged = [reading(account="home-7", meter_id=f"m-{n}") for n in (1, 2)]
    records = [*exchanged, block(account="home-7"), *others]
    readings = decode([one if isinstance(one, bytes) else written(one) for one in records])
    assert readings.meters == ["home-7"] * 3 + ["m-17" for one in others if one != b"x"]


def test_kilowatts_are_watts_by_the_thousand() -> None:
    records = [
        reading(unit="kW", value=1.5),
        block(unit="kW", values=[-2, None]),
        reading(unit="W"),
    ]
    assert plain(decode([*map(written, records)])).watts == [1500.0, -2000.0, None, 412.5]


def test_a_figure_beyond_all_floats_is_refused_but_its_kilowatts_are_only_large() -> None:
    values = [math.nextafter(math.inf, 0), 1e306, 2**70]
    readings = decode([written(reading(value=value, unit="kW")) for value in values])
    assert np.isfinite(readings.watts).all()
    assert (readings.watts >= 2**70 * 1000).all()
    assert reason_of(written(reading(value=10**400))) == Reason.BAD_VALUE


def test_the_last_of_repeated_keys_counts() -> None:
    twice = b'{"meter_id":"a","value":"x","meter_id":"b","ts":1,"value":1,"ts":2,"value":3}'
    readings = decode([twice, twice])
    assert readings.meters == ["b", "b"]
    assert readings.times.tolist() == [2, 2]
    assert readings.watts.tolist() == [3.0, 3.0]


def test_unknown_keys_are_ignored_and_so_are_those_of_the_other_kind() -> None:
    records = [
        reading(firmware={"a": [1, {"b": None}]}, values="none", start=False),
        block(ts="yesterday", source=[True]),
        reading(start=1, interval_ms=1, values=[1]),
    ]
    assert plain(decode([*map(written, records)])).counts == [1, 3, 1]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (None, Reason.EMPTY),
        (b"", Reason.EMPTY),
        (b" " * (MOST_BYTES + 1), Reason.TOO_LARGE),
        (b"\xff", Reason.NOT_UTF8),
        (b'{"meter_id":"\xc3("}', Reason.NOT_UTF8),
        (b" ", Reason.NOT_JSON),
        (b"\xef\xbb\xbf{}", Reason.NOT_JSON),
        (b'{"meter_id":"\\ud800","ts":1,"value":2}', Reason.NOT_JSON),
        (b'{"a":' * 10_000, Reason.NOT_JSON),
        (b"[" * 10_000 + b"]" * 10_000, Reason.NOT_JSON),
        (b"[]", Reason.WRONG_SHAPE),
        (b"17", Reason.WRONG_SHAPE),
        (b"null", Reason.WRONG_SHAPE),
        (b"{}", Reason.WRONG_SHAPE),
        (b'{"meter_id":"a","value":2}', Reason.WRONG_SHAPE),
        (b'{"meter_id":7,"value":true}', Reason.WRONG_SHAPE),
        (b'{"meter_id":"a","start":1,"values":[2]}', Reason.WRONG_SHAPE),
        (written(reading(meter_id=17)), Reason.BAD_METER),
        (written(reading(meter_id="")), Reason.BAD_METER),
        (written(reading(meter_id="m" * 129)), Reason.BAD_METER),
        (written(reading(meter_id="a\nb")), Reason.BAD_METER),
        (written(reading(meter_id="a\x85")), Reason.BAD_METER),
        (written(reading(account="")), Reason.BAD_METER),
        (written(reading(account=None)), Reason.BAD_METER),
        (written(block(account=17)), Reason.BAD_METER),
        (written(reading(account="home-7", meter_id=17)), Reason.BAD_METER),
        (written(reading(meter_id=None, ts=None, value=None)), Reason.BAD_METER),
        (written(reading(ts=-1)), Reason.BAD_TIME),
        (written(reading(ts=LATEST + 1)), Reason.BAD_TIME),
        (written(reading(ts=1.0)), Reason.BAD_TIME),
        (written(reading(ts=True)), Reason.BAD_TIME),
        (written(reading(ts="1763424000000")), Reason.BAD_TIME),
        (written(reading(ts=2**70, value=None)), Reason.BAD_TIME),
        (written(block(start=LATEST)), Reason.BAD_TIME),
        (written(block(start=LATEST, unit="V")), Reason.BAD_UNIT),
        (written(block(interval_ms=0)), Reason.BAD_INTERVAL),
        (written(block(interval_ms=10.0)), Reason.BAD_INTERVAL),
        (written(block(interval_ms=False)), Reason.BAD_INTERVAL),
        (written(block(interval_ms=2**63)), Reason.BAD_INTERVAL),
        (written(reading(value=None)), Reason.BAD_VALUE),
        (written(reading(value="412.5")), Reason.BAD_VALUE),
        (written(reading(value=True)), Reason.BAD_VALUE),
        (written(reading(value=math.nan)), Reason.BAD_VALUE),
        (written(reading(value=-math.inf)), Reason.BAD_VALUE),
        (b'{"meter_id":"a","ts":1,"value":1e400}', Reason.BAD_VALUE),
        (written(block(values=[])), Reason.BAD_VALUE),
        (written(block(values={})), Reason.BAD_VALUE),
        (written(block(values="12")), Reason.BAD_VALUE),
        (written(block(values=[1, True])), Reason.BAD_VALUE),
        (written(block(values=[1, [2]])), Reason.BAD_VALUE),
        (written(block(values=[math.inf, -math.inf])), Reason.BAD_VALUE),
        (written(block(values=[1] * (MOST_VALUES + 1))), Reason.BAD_VALUE),
        (written(reading(unit="kWh")), Reason.BAD_UNIT),
        (written(reading(unit=None)), Reason.BAD_UNIT),
        (written(reading(unit=["W"])), Reason.BAD_UNIT),
    ],
)
def test_every_reject_has_its_reason(record: bytes | None, reason: Reason) -> None:
    assert reason_of(record) == reason
    assert_as_the_twin_says([written(reading()), record, record, written(block())])


@pytest.mark.parametrize(
    "record",
    [
        reading(meter_id="m" * 128),
        reading(meter_id="zähler 7 😀\u200b"),
        reading(meter_id="use of fuses"),
        reading(value=2**70),
        reading(value=-0.0),
        reading(value=5e-324),
        reading(ts=0),
        reading(ts=LATEST),
        block(start=LATEST - 20_000),
        block(values=[1] * MOST_VALUES),
        block(values=[None]),
        block(start="2025-11-18T00:00:00Z"),
    ],
)
def test_what_is_just_good_enough_passes(record: dict[str, object]) -> None:
    assert decode([written(record)]).rejects == []
    assert_as_the_twin_says([written(record)] * 3)


def test_an_interval_has_its_limit_also_where_a_block_holds_one_value() -> None:
    widest, wider = (block(interval_ms=span, values=[1]) for span in (LATEST, LATEST + 1))
    assert decode([written(widest)] * 3).rejects == []
    for records in ([wider], [wider] * 3, [block(), wider], [reading(), wider, widest]):
        assert [r.reason for r in decode([*map(written, records)]).rejects] == [
            Reason.BAD_INTERVAL for record in records if record is wider
        ]


def test_the_longest_blocks_at_the_widest_interval_stay_exact() -> None:
    wide = written(block(start=0, interval_ms=LATEST // 2, values=[1, 2, 3]))
    readings = decode([written(block())] * 1000 + [wide])
    assert readings.times[-3:].tolist() == [0, LATEST // 2, LATEST // 2 * 2]


@given(
    st.datetimes(datetime(1970, 1, 2), datetime(9999, 12, 30)),  # noqa: DTZ001 - the zone follows
    st.integers(-23 * 60 - 59, 23 * 60 + 59),
    st.integers(0, 12),
)
def test_rfc_3339_times_are_exact_to_the_millisecond(
    local: datetime, east: int, digits: int
) -> None:
    zone = timezone(timedelta(minutes=east))
    fraction = f".{local.microsecond:06d}{'9' * 6}"[: digits + 1 if digits else 0]
    sign, minutes = "-" if east < 0 else "+", abs(east)
    text = f"{local:%Y-%m-%dT%H:%M:%S}{fraction}{sign}{minutes // 60:02d}:{minutes % 60:02d}"
    whole = local.replace(microsecond=0, tzinfo=zone) - datetime(1970, 1, 1, tzinfo=UTC)
    assert milliseconds(text) == whole // timedelta(milliseconds=1) + int(f"{fraction[1:]}000"[:3])


@pytest.mark.parametrize(
    "text",
    [
        "2016-12-31T23:59:60Z",
        "2025-02-29T00:00:00Z",
        "2025-11-18T00:00:00+24:00",
        "1969-12-31T23:59:59Z",
        "1970-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
    ],
)
def test_a_time_that_never_is_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(ValueError, match=r"^(not in the calendar|out of range)$") as refused:
        milliseconds(text)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None
    assert reason_of(written(reading(ts=text))) == Reason.BAD_TIME


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2025-11-18T00:00:00",
        "2025-11-18",
        "2025-11-18T00:00:00z",
        "2025-11-18T00:00:00,5Z",
        "2025-11-18T00:00:00.Z",
        "2025-11-18T00:00:00+0100",
        "2025-11-18T00:00:00Z\n",
        "20251118T000000Z",
        "2025-W47-2T00:00:00Z",
        "1763424000",
    ],
)
def test_other_ways_to_write_a_time_are_refused(text: str) -> None:
    assert reason_of(written(reading(ts=text))) == Reason.BAD_TIME
    assert reason_of(written(block(start=text))) == Reason.BAD_TIME


def spy(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> list[int]:
    """How many bytes each call of a function was given."""
    calls: list[int] = []
    real: Callable[..., object] = getattr(module, name)

    def watched(text: bytes, *others: object, **named: object) -> object:
        calls.append(len(text))
        return real(text, *others, **named)

    monkeypatch.setattr(module, name, watched)
    return calls


def test_one_bad_record_sends_only_its_own_chunk_to_the_judge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged = spy(monkeypatch, decoder, "judge")
    records = [written(reading())] * 100 * decoder.CHUNK
    records[17 * decoder.CHUNK] = b"{"
    assert len(decode(records).rejects) == 1
    assert len(judged) == decoder.CHUNK


@pytest.mark.parametrize(
    "records",
    [
        [reading()] * 3,
        [block(values=[1, 2.5])] * 3,
        [reading(value=1e308), reading(value=1e308), block(values=[0])],
        [block(values=[0, 1]), reading(), reading()],
    ],
)
def test_plain_chunks_are_certified(records: list[dict[str, object]]) -> None:
    records[1] = {**records[1], "meter_id": "unfussy ümlaut"}
    assert json_many._certified(joined(records), len(records)) is not None


@pytest.mark.parametrize(
    "odd",
    [
        reading(unit="W"),
        reading(unit="kW"),
        reading(ts="2025-11-18T00:00:00Z"),
        reading(extra="stuff"),
        block(),
        block(values=[1.0], value=3),
        block(unit="kW"),
    ],
)
def test_other_good_chunks_are_validated_together(odd: dict[str, object]) -> None:
    records = joined([reading(), odd, reading()])
    assert json_many._certified(records, 3) is None
    if "value" in odd and "ts" not in odd:
        assert json_many._validated(records, 3) is None
    else:
        assert json_many._validated(records, 3) is not None


@pytest.mark.parametrize(
    "odd",
    [
        *(reading(meter_id=name) for name in ("", "m" * 129, "\x7f", "a\x85", 17, None, ["m"])),
        *(reading(ts=time) for time in (-1, LATEST + 1, 2**70, 1.0, "noon", None, True, False)),
        *(reading(value=value) for value in (None, "1", [1], True, False, math.nan, math.inf)),
        *(reading(value=value) for value in (10**400, -(10**400))),
        {"meter_id": "m", "ts": 1},
        {"ts": 1, "value": 1},
    ],
)
def test_no_doubtful_reading_is_certified(odd: dict[str, object]) -> None:
    assert json_many._certified(joined([reading(value=1e308), odd]), 2) is None
    assert_as_the_twin_says([written(reading(value=1e308)), written(odd)])


@pytest.mark.parametrize(
    "odd",
    [
        *(block(start=time, values=[1]) for time in (-1, LATEST + 1, 2**70, 1.0, "noon", True)),
        *(block(interval_ms=span, values=[1]) for span in (0, -1, 2**70, 1.0, "1", None, False)),
        block(interval_ms=LATEST + 1, values=[1]),  # nobody would notice, of one value
        *(
            block(values=values)
            for values in ([], "12", None, 7, [None], ["1"], [[1]], [True], [False])
        ),
        *(block(values=values) for values in ([math.nan], [math.inf, -math.inf], [10**400])),
        block(values=[1] * (MOST_VALUES + 1)),
        block(start=LATEST, values=[1, 2]),
        {"meter_id": "m", "start": 1, "values": [1]},
    ],
)
def test_no_doubtful_block_is_certified(odd: dict[str, object]) -> None:
    assert json_many._certified(joined([block(values=[1]), odd]), 2) is None
    assert_as_the_twin_says([written(block(values=[1])), written(odd)])


@pytest.mark.parametrize("odd", [block(), reading(unit="kW"), reading(ts="2025-11-18T00:00:00Z")])
def test_a_chunk_that_looks_odd_is_parsed_only_once(
    odd: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = spy(monkeypatch, json_many, "from_json")
    assert decode([written(odd)] * 3).rejects == []
    assert parsed == [len(written(odd))]  # the first one, for a look


def test_a_smaller_limit_turns_away_only_what_is_larger() -> None:
    records = [written(reading()), written(reading(extra="x" * 100)), written(reading())]
    limit = len(records[0])
    assert_as_the_twin_says(records, max_bytes=limit)
    assert [reject.reason for reject in decode(records, max_bytes=limit).rejects] == [
        Reason.TOO_LARGE
    ]


def test_how_many_digits_readings_have_turns_no_record_away() -> None:
    values = [9] * 90_000
    short = written(block(values=values, pad=""))
    padded = written(block(values=values, pad="x" * (MOST_BYTES - len(short))))
    assert len(padded) == MOST_BYTES
    longer = padded.replace(b"9", b"10", 1)
    longest = padded.replace(b"9", b"10.0000000000000000000000000001")
    assert decode([padded, longer]).rejects == []
    assert decode([longest]).rejects == []
    fuller = written(block(values=values, pad="x" * MOST_BYTES))
    shorter = fuller.replace(b"9", b"1", 1)
    assert {reject.reason for reject in decode([fuller, shorter]).rejects} == {Reason.TOO_LARGE}
    endless = written(block(values=[9], pad="1" * (LONGEST_RECORD - 50)))
    assert [reject.reason for reject in decode([endless]).rejects] == [Reason.TOO_LARGE]


def test_a_judged_record_keeps_its_known_fields_only() -> None:
    assert judge(written(reading(extra=1))) == reading()
    assert judge(written(block(extra=1))) == block()
