"""Avro: many messages column by column, as fastavro reads each; whatever their schema has."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from meteragent.formats import avro_readings
from meteragent.formats.avro import MOST_TOGETHER, AvroBody
from meteragent.formats.avro_columns import Cursor
from meteragent.formats.avro_readings import AvroReadings, canonical
from meteragent.formats.avro_schema import BEHIND, MOST_BYTES, MOST_VALUES, parsed
from meteragent.formats.decoder import DocumentDecoder
from meteragent.formats.json_one import LATEST, LONGEST_METER, LONGEST_RECORD, BadRecord
from meteragent.formats.registered import Schema, SchemaRefused
from meteragent.stream.readings import Readings, Reason
from tests.formats.same import plain
from tests.formats.written import BLOCK, READING, avro, in_avro, record

NOON = 1_763_467_200_000
READING_FIELDS = (("meter_id", "string"), ("ts", "long"), ("value", "double"))
START = (("start", "long"), ("interval_ms", "long"))
OPTIONAL = ["null", "string"]
ACCOUNT = record(
    ("unit", OPTIONAL), ("meter_id", "string"), ("account", OPTIONAL), ("ts", "long"),
    ("seq", "int"), ("value", ["null", "float"]), ("note", "bytes"),
    ("on", "boolean"), ("five", {"type": "fixed", "name": "Five", "size": 5}),
    ("kind", {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}),
)  # fmt: skip
GAPS = record(
    ("meter_id", "string"), ("start", "long"), ("interval_ms", "int"),
    ("values", {"type": "array", "items": ["double", "null"]}),
)  # fmt: skip
FLOATS = record(
    ("meter_id", "string"), ("start", "long"), ("interval_ms", "int"),
    ("values", {"type": "array", "items": "float"}),
)  # fmt: skip

USUAL = {
    "meter_id": "m", "account": None, "ts": 5, "seq": 1, "value": 1.5, "note": b"", "on": True,
    "five": b"12345", "kind": "A",
}  # fmt: skip

meters = st.one_of(
    st.sampled_from(["m-1", "m-2", "größe"]),
    st.text(max_size=4),
    st.just("x" * (LONGEST_METER + 1)),
)
times = st.one_of(
    st.integers(0, LATEST), st.sampled_from([-1, LATEST, LATEST + 1, 2**62, -(2**63)])
)
values = st.floats(width=32)
texts = st.sampled_from([None, "W", "kW", "m-9", "", "\x07"])
DRAWN: dict[str, tuple[dict[str, Any], st.SearchStrategy[Any]]] = {
    "reading": (
        READING,
        st.fixed_dictionaries({"meter_id": meters, "ts": times, "value": values}),
    ),
    "account": (
        ACCOUNT,
        st.fixed_dictionaries(
            {
                "unit": texts,
                "meter_id": meters,
                "account": texts,
                "ts": times,
                "seq": st.integers(-(2**31), 2**31 - 1),
                "value": st.none() | values,
                "note": st.binary(max_size=3),
                "on": st.booleans(),
                "five": st.binary(min_size=5, max_size=5),
                "kind": st.sampled_from(["A", "B"]),
            }
        ),
    ),
    **{
        name: (
            schema,
            st.fixed_dictionaries(
                {
                    "meter_id": meters,
                    "start": times,
                    "interval_ms": st.sampled_from([1, 900_000, 0, -1, 2**31 - 1]),
                    "values": st.lists(items, max_size=5),
                }
            ),
        )
        for name, schema, items in (
            ("block", BLOCK, values),
            ("gaps", GAPS, st.none() | values),
            ("floats", FLOATS, values),
        )
    },
}


def both(schema: dict[str, Any], messages: list[bytes | None]) -> tuple[Readings, Readings]:
    """What is read column by column, and what the judge says of each document by itself."""
    fast, judge = canonical(parsed(avro(schema))), DocumentDecoder(AvroBody(parsed(avro(schema))))
    assert isinstance(fast, AvroReadings)
    offsets, stamps = range(3, 3 + len(messages)), [5] * len(messages)
    one_by_one = [judge.decode([m], [o], [5]) for m, o in zip(messages, offsets, strict=True)]
    whole = judge.decode(messages, offsets, stamps)
    assert plain(whole).offsets == [o for one in one_by_one for o in plain(one).offsets]
    assert whole.rejects == [reject for one in one_by_one for reject in one.rejects]
    return fast.decode(messages, offsets, stamps), whole


@pytest.mark.parametrize("kind", DRAWN)
@given(data=st.data())
def test_columns_are_what_documents_say(kind: str, data: st.DataObject) -> None:
    schema, documents = DRAWN[kind]
    drawn = data.draw(st.lists(documents, min_size=1, max_size=12))
    messages: list[bytes | None] = []
    for document in drawn:
        message = in_avro(schema, document)
        harm = data.draw(st.sampled_from(["", "", "", "cut", "more", "other"]))
        if harm == "cut":
            message = message[: data.draw(st.integers(0, len(message)))]
        elif harm == "more":
            message += data.draw(st.binary(min_size=1, max_size=3))
        elif harm == "other" and message:
            at = data.draw(st.integers(0, len(message) - 1))
            message = (
                message[:at] + data.draw(st.binary(min_size=1, max_size=1)) + message[at + 1 :]
            )
        messages.append(message)
    fast, slow = both(schema, messages)
    assert plain(fast) == plain(slow)
    assert fast.next_offset == slow.next_offset
    assert len({*fast.offsets.tolist()}) + len(fast.rejects) == len(messages)


def test_what_is_good_is_read_without_the_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would be right, and slow."""
    for schema, document in (
        (READING, {"meter_id": "m", "ts": NOON, "value": -1.5}),
        (BLOCK, {"meter_id": "m", "start": NOON, "interval_ms": 5, "values": [1.0, 2.5]}),
        (GAPS, {"meter_id": "m", "start": NOON, "interval_ms": 5, "values": [1.0, 2.5]}),
        (ACCOUNT, USUAL | {"meter_id": "m", "unit": "W", "value": -1.5}),
    ):
        fast = canonical(parsed(avro(schema)))
        with monkeypatch.context() as patch:
            patch.setattr(DocumentDecoder, "decode", None)
            readings = fast.decode([in_avro(schema, document)] * 3, [1, 2, 3], [0, 0, 0])
        assert [*readings.meters] == ["m"] * 3
        assert readings.watts.tolist() == 3 * (document.get("values") or [-1.5])  # type: ignore[operator]


def test_lists_in_several_pieces_are_left_to_the_judge() -> None:
    head = in_avro(BLOCK, {"meter_id": "m", "start": 5, "interval_ms": 1, "values": [1.0]})[:-10]
    item = b"\x00\x00\x00\x00\x00\x00\xf0\x3f"
    pieces = [
        head + b"\x02" + item + b"\x04" + 2 * item + b"\0",
        head + b"\x03" + b"\x20" + 2 * item + b"\0",  # with its size: -2, 16 bytes
        head + b"\0",
        head + b"\x02" + item + b"\0",
        head + b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01" + item + b"\0",
    ]
    fast, slow = both(BLOCK, [*pieces])
    assert plain(fast) == plain(slow)
    assert fast.counts.tolist() == [3, 2, 1]


def test_a_list_without_its_end_is_rejected_whatever_comes_next() -> None:
    message = in_avro(BLOCK, {"meter_id": "m", "start": 5, "interval_ms": 1, "values": [1.0]})
    empty = in_avro(BLOCK, {"meter_id": "", "start": 5, "interval_ms": 1, "values": [1.0]})
    fast, slow = both(BLOCK, [message[:-1], empty, message[:-1]])
    assert plain(fast) == plain(slow)
    assert [reject.reason for reject in fast.rejects] == [
        Reason.NOT_AVRO, Reason.BAD_METER, Reason.NOT_AVRO,
    ]  # fmt: skip


@given(numbers=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), cut=st.booleans())
@example(numbers=[-(2**55), -(2**55) - 1, 2**55 - 1, 2**55, 2**48, -(2**48)], cut=False)
def test_numbers_are_read_as_they_were_written_but_for_the_longest(
    *, numbers: list[int], cut: bool
) -> None:
    schema = record(("n", "long"))
    messages = [in_avro(schema, {"n": number}) for number in numbers]
    messages = [message[:-1] if cut else message for message in messages]
    cursor, rows = Cursor(messages), np.arange(len(numbers))
    found = cursor.numbers(rows)
    cursor.good &= cursor.at == cursor.ends
    fits = [-(2**55) <= number < 2**55 and not cut for number in numbers]
    assert cursor.good.tolist() == fits
    assert found[cursor.good].tolist() == [n for n, good in zip(numbers, fits, strict=True) if good]


def test_a_unit_is_that_of_the_message_that_says_it() -> None:
    units = (None, "W", "kW", None, "W", "kW", "")
    messages = [in_avro(ACCOUNT, USUAL | {"unit": unit}) for unit in units]
    fast, slow = both(ACCOUNT, [*messages])
    assert plain(fast) == plain(slow)
    assert fast.watts.tolist() == [1.5, 1.5, 1500, 1.5, 1.5, 1500]


@pytest.mark.parametrize("kind", ["string", ["null", "string"], ["string", "null"]])
@pytest.mark.parametrize("harm", [b"\xff\xff", b"\xc3\xa9", b"x\xc3", b"\xa9x"])
def test_what_nobody_asks_for_is_what_its_schema_says_all_the_same(
    kind: object, harm: bytes
) -> None:
    mark = {"type": "enum", "name": "Mark", "symbols": ["A", "B"]}
    schema = record(*READING_FIELDS, ("note", kind), ("mark", mark))
    good = in_avro(schema, {"meter_id": "m", "ts": 5, "value": 1.5, "note": "ab", "mark": "B"})
    marks = [good[:-1] + byte for byte in (b"\0", b"\x01", b"\x02", b"\x03", b"\x04", b"\x05")]
    notes = [good[:-3] + letters + good[-1:] for letters in (b"cd", harm, b"ef")]
    fast, slow = both(schema, [*marks, *notes])
    assert plain(fast) == plain(slow)
    assert len(fast.rejects) == 2 + (harm != b"\xc3\xa9")


def test_names_are_forgotten_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(avro_readings, "MOST_NAMES", 2)
    fast = canonical(parsed(avro(READING)))
    for name in ("a", "b", "c", "d", "a"):
        message = in_avro(READING, {"meter_id": name, "ts": 1, "value": 1.0})
        assert [*fast.decode([message], [1], [1]).meters] == [name]
    assert isinstance(fast, AvroReadings)
    assert len(fast._names) <= 3


@pytest.mark.parametrize(
    "schema",
    [
        record(("meter_id", "string"), ("ts", "long")),
        record(("meter_id", "string"), ("ts", "string"), ("value", "double")),
        record(("meter_id", "bytes"), ("ts", "long"), ("value", "double")),
        record(("meter_id", "string"), ("ts", "long"), ("value", ["int", "double"])),
        record(("meter_id", "string"), ("ts", "long"), ("value", "double"), ("on", "null")),
        record(("meter_id", "string"), ("ts", "long"), ("value", "boolean")),
        *(
            record(("meter_id", "string"), *START, ("values", one))
            for one in ("string", "double", ["null", "long"], {"type": "map", "values": "double"})
        ),
        record(("meter_id", "string"), ("ts", ["null"]), ("value", "double")),
        record(
            ("meter_id", "string"), ("start", "long"), ("interval_ms", "long"),
            ("values", {"type": "array", "items": "int"}),
        ),
        record(
            ("meter_id", "string"), ("ts", {"type": "long", "logicalType": "timestamp-micros"}),
            ("value", "double"),
        ),
        record(("meter_id", "string"), ("ts", "long"), ("value", {"type": "map", "values": "int"})),
    ],
)  # fmt: skip
def test_what_is_not_flat_is_read_by_documents(schema: dict[str, Any]) -> None:
    assert isinstance(canonical(parsed(avro(schema))), DocumentDecoder)


def test_what_one_schema_says_of_both_is_read_by_what_is_there() -> None:
    none = "null"
    schema = record(
        ("meter_id", "string"), ("ts", [none, "long"]), ("value", [none, "double"]),
        ("start", [none, "long"]), ("interval_ms", [none, "long"]),
        ("values", [none, {"type": "array", "items": [none, "double"]}]),
    )  # fmt: skip
    empty = dict.fromkeys(("ts", "value", "start", "interval_ms", "values"))
    documents = [
        empty | {"meter_id": "a", "ts": 5, "value": 1.0},
        empty | {"meter_id": "b", "start": 5, "interval_ms": 2, "values": [None, 2.0]},
        empty | {"meter_id": "c", "ts": 5},
    ]
    reader = canonical(parsed(avro(schema)))
    messages = [in_avro(schema, one) for one in documents]
    readings = reader.decode(messages, [0, 1, 2], [0, 0, 0])
    assert [*readings.meters] == ["a", "b"]
    assert readings.counts.tolist() == [1, 2]
    assert [reject.reason for reject in readings.rejects] == [Reason.WRONG_SHAPE]
    assert math.isnan(readings.watts[1])


def test_fields_are_found_by_name_whatever_else_a_newer_schema_has() -> None:
    newer = record(
        ("firmware", "string"), ("value", "float"), ("ts", "long"), ("meter_id", "string")
    )
    message = in_avro(newer, {"firmware": "2", "value": 1.5, "ts": NOON, "meter_id": "m"})
    readings = canonical(parsed(avro(newer))).decode([message], [0], [0])
    assert ([*readings.meters], readings.watts.tolist()) == (["m"], [1.5])


def test_logical_values_are_said_as_json_would() -> None:
    micros = {"type": "long", "logicalType": "timestamp-micros"}
    schema = record(
        ("at", micros),
        ("ms", {"type": "long", "logicalType": "timestamp-millis"}),
        ("local", {"type": "long", "logicalType": "local-timestamp-millis"}),
        ("day", {"type": "int", "logicalType": "date"}),
        ("hour", {"type": "int", "logicalType": "time-millis"}),
        ("kwh", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3}),
        ("id", {"type": "string", "logicalType": "uuid"}),
        ("several", {"type": "array", "items": micros}),
        ("raw", ["null", "bytes"]),
    )
    moment = datetime(2026, 11, 19, 12, 0, 0, 250_000, tzinfo=UTC)
    document = {
        "at": moment,
        "ms": NOON,
        "local": datetime(2026, 11, 19, 12),  # noqa: DTZ001 - it is of no zone
        "day": date(2026, 11, 19),
        "hour": time(12),
        "kwh": Decimal("1.234"),
        "id": UUID(int=7),
        "several": [moment],
        "raw": None,
    }
    body, message = AvroBody(parsed(avro(schema))), in_avro(schema, document)
    expected = {
        "at": "2026-11-19T12:00:00.250000+00:00",
        "ms": NOON,
        "local": "2026-11-19T12:00:00",
        "day": "2026-11-19",
        "hour": "12:00:00",
        "kwh": 1.234,
        "id": str(UUID(int=7)),
        "several": ["2026-11-19T12:00:00.250000+00:00"],
        "raw": None,
    }
    assert body.one(message) == expected
    assert body.many([message, message]) == [expected, expected]


def test_types_of_another_subject_are_known() -> None:
    device = record(("id", "string"), name="Device")
    schema = record(("device", "Device"), ("ts", "long"))
    message = b"\x02a\x0a"
    body = AvroBody(parsed(avro(schema, Device=avro(device))))
    assert body.one(message) == {"device": {"id": "a"}, "ts": 5}
    assert body.many([message, message]) == [{"device": {"id": "a"}, "ts": 5}] * 2
    with pytest.raises(SchemaRefused):
        parsed(avro(schema))


def zeros(levels: int) -> dict[str, Any]:
    """A record of nothing, doubled so many times: no bytes, and very many values."""
    schema: Any = record(name="R0")
    for level in range(levels):
        schema = record(("a", schema), ("b", f"R{level}"), name=f"R{level + 1}")
    return record(("x", schema), name="Whole")


NOTHINGS = record(*[(f"f{at}", "null") for at in range(20)], name="Nothings")


@pytest.mark.parametrize(
    "schema",
    [
        record(("next", ["null", "Reading"])),
        record(("all", {"type": "array", "items": "Reading"})),
        record(("x", {"type": "array", "items": "null"})),
        record(("x", {"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}})),
        record(("x", {"type": "array", "items": record(name="Empty")})),
        record(
            (
                "x",
                {
                    "type": "map",
                    "values": record(*[(f"f{i}", "null") for i in range(20)], name="N"),
                },
            )
        ),
        zeros(60),
        {"type": "enum", "name": "E", "symbols": ["A"]},
        ["null", READING],
        record(("x", "unheard-of")),
        {"type": "record"},
        [],
    ],
)
def test_schemas_are_refused_of_which_few_bytes_hold_much(schema: object) -> None:
    with pytest.raises(SchemaRefused):
        parsed(avro(schema))


def test_schemas_are_refused_that_are_too_long_or_too_wide() -> None:
    with pytest.raises(SchemaRefused):
        parsed(Schema("AVRO", json.dumps(READING) + " " * MOST_BYTES))
    with pytest.raises(SchemaRefused):
        parsed(avro(record(*[(f"f{at}", "int") for at in range(MOST_VALUES + 1)])))


def test_deep_schemas_are_read_as_deep_as_they_are() -> None:
    schema: Any = "double"
    for level in range(30):
        schema = record(("in", schema), name=f"L{level}")
    document: Any = 1.5
    for _ in range(30):
        document = {"in": document}
    assert AvroBody(parsed(avro(schema))).one(in_avro(schema, document)) == document


def test_other_kinds_of_fields_are_weighed_too() -> None:
    schema = record(
        ("a", {"type": "map", "values": "double"}),
        ("b", {"type": "fixed", "name": "F", "size": 3}),
        ("c", {"type": "enum", "name": "E", "symbols": ["X"]}),
        ("d", ["null", "boolean", {"type": "array", "items": "E"}]),
        ("e", {"type": "string"}),
    )
    document = {"a": {"k": 1.0}, "b": b"abc", "c": "X", "d": ["X"], "e": "s"}
    assert AvroBody(parsed(avro(schema))).one(in_avro(schema, document)) == document


def test_messages_that_hold_what_stands_between_are_read_alone() -> None:
    schema = record(("note", "bytes"))
    body = AvroBody(parsed(avro(schema)))
    messages = [in_avro(schema, {"note": note}) for note in (BEHIND, b"x", b"")]
    assert body.many(messages) is None
    assert body.one(messages[0]) == {"note": BEHIND}
    assert body.many(messages[1:]) == [{"note": b"x"}, {"note": b""}]
    assert body.many([in_avro(schema, {"note": bytes(MOST_TOGETHER)})]) is None
    assert body.many([b"\x02", b"\x00"]) is None
    assert body.many(messages[1:] * 100) is not None


def test_one_message_that_eats_into_the_next_is_not_taken_for_both() -> None:
    """The first one's text is said to be as long as what follows it, with what stands between."""
    schema = record(("note", "bytes"))
    body = AvroBody(parsed(avro(schema)))
    eater = bytes([2 * (len(BEHIND) + 2)])
    assert body.many([eater, b"\x02x", b"\x02y"]) is None


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (None, Reason.EMPTY),
        (b"", Reason.EMPTY),
        (bytes(LONGEST_RECORD + 1), Reason.TOO_LARGE),
        (b"\x02", Reason.NOT_AVRO),
        (b"\x02\xff", Reason.NOT_AVRO),
        (b"\xff" * 20, Reason.NOT_AVRO),
    ],
)
def test_what_is_no_avro_is_rejected(message: bytes | None, reason: Reason) -> None:
    with pytest.raises(BadRecord) as found:
        AvroBody(parsed(avro(record(("meter_id", "string"))))).one(message)
    assert found.value.reason is reason
    assert found.value.__context__ is None
