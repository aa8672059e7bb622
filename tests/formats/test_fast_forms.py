"""The wheel reads mapped JSON, tables and Avro as its twins in Python do, each record of them."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING

import pytest

from meteragent.errors import BatchRefused, InvalidSetting
from meteragent.formats import fast
from meteragent.formats.csv_header import Columns
from meteragent.formats.csv_rows import Table
from meteragent.formats.framing import framed
from meteragent.formats.lines import JsonLines, TableLines
from meteragent.formats.mapping import Mapping
from meteragent.formats.messages import message_decoder
from meteragent.formats.registered import RegisteredDecoder, Schema, SchemasLacking
from meteragent.formats.times import TimeFormat
from meteragent.kafka.unpack import Unpacker
from meteragent.privacy import native
from meteragent.stream.readings import Reason
from tests.batches import ZSTD, Stored, batch
from tests.formats import drawn
from tests.formats.payloads import NOON
from tests.formats.test_fast import assert_alike, stored, whole
from tests.formats.written import in_avro, record

if TYPE_CHECKING:
    from meteragent.formats.forms import Numbers, Payloads
    from meteragent.stream.readings import Readings

RECORDS, SLOW_RECORDS = 4_000, 300_000
BAD = (0.0, 0.02, 0.2)

pytestmark = pytest.mark.fast


def mapped_alike(name: str, seed: int, count: int) -> None:
    draw, one = Random(f"{name}{seed}"), drawn.MAPPED[name]
    lines = JsonLines(one.mapping)
    for nth in range(0, count, 100):
        bad = BAD[nth // 100 % 3]
        documents = [drawn.document(draw, one, bad).replace(b"\n", b" ") for _ in range(100)]
        text = b"".join(document + b"\n" for document in documents)
        assert_alike(lines.decode(text, 7), lines._by_decoder(text, 7))


@pytest.mark.parametrize("name", drawn.MAPPED)
def test_mapped_documents_are_read_as_the_twin_reads_them(name: str) -> None:
    mapped_alike(name, 1, RECORDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", drawn.MAPPED)
def test_very_many_mapped_documents(name: str) -> None:
    mapped_alike(name, 2, SLOW_RECORDS)


@pytest.mark.parametrize("name", drawn.MAPPED)
def test_most_mapped_documents_are_not_left_to_the_twin(name: str) -> None:
    draw, one = Random(3), drawn.MAPPED[name]
    reader = fast.reader_for(message_decoder(one.mapping))
    assert reader is not None
    text = b"".join(drawn.document(draw, one, 0.0) + b"\n" for _ in range(1000))
    (columns, _, odd, _), _ = reader._native.lines(text, 0, 0)
    assert len({*columns[1].tolist()}) > len(odd) / 2


def tables_alike(name: str, seed: int, count: int) -> None:
    draw, one = Random(f"{name}{seed}"), drawn.TABLES[name]
    lines, table = TableLines(one.table()), one.table()
    for nth in range(0, count, 100):
        bad = BAD[nth // 100 % 3]
        text = b"".join(drawn.row(draw, one, bad) + b"\n" for _ in range(100))
        try:
            expected = table.decode(text, 7)
        except InvalidSetting:
            with pytest.raises(InvalidSetting):
                lines.decode(text, 7)
        else:
            assert_alike(lines.decode(text, 7), expected)


@pytest.mark.parametrize("name", drawn.TABLES)
def test_lines_of_tables_are_read_as_the_twin_reads_them(name: str) -> None:
    tables_alike(name, 1, RECORDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", drawn.TABLES)
def test_very_many_lines_of_tables(name: str) -> None:
    tables_alike(name, 2, SLOW_RECORDS)


@pytest.mark.parametrize("name", drawn.TABLES)
def test_most_lines_are_not_left_to_the_twin(name: str) -> None:
    draw, one = Random(3), drawn.TABLES[name]
    reader = fast.reader_of_rows(one.table())
    assert reader is not None
    text = b"".join(drawn.row(draw, one, 0.0) + b"\n" for _ in range(1000))
    (columns, _, odd, _), _ = reader._native.lines(text, 0, 0)
    assert len(columns[1]) > len(odd) / 2


def learned(name: str) -> RegisteredDecoder:
    schema, mapping = drawn.SCHEMAS[name]
    decoder = message_decoder(drawn.registered(mapping))
    assert isinstance(decoder, RegisteredDecoder)
    decoder.learn(7, Schema("AVRO", drawn.schema_text(name)))
    assert decoder.reads(7), schema
    return decoder


def messages_alike(name: str, seed: int, count: int) -> None:
    draw, decoder = Random(f"{name}{seed}"), learned(name)
    unpacker, twin = Unpacker(decoder), Unpacker(decoder)
    twin._fast = None
    for nth in range(0, count, 100):
        bad = BAD[nth // 100 % 3]
        some = stored([drawn.message(draw, name, 7, bad) for _ in range(100)], draw)
        some = [one for one in some if one.value and one.value[:5] == b"\0\0\0\0\x07"]
        raw = whole(batch(some))
        assert_alike(unpacker.columns(raw), twin.columns(raw))


@pytest.mark.parametrize("name", drawn.SCHEMAS)
def test_avro_is_read_as_the_twin_reads_it(name: str) -> None:
    messages_alike(name, 1, RECORDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", drawn.SCHEMAS)
def test_very_many_messages(name: str) -> None:
    messages_alike(name, 2, SLOW_RECORDS)


@pytest.mark.parametrize("name", drawn.SCHEMAS)
def test_most_messages_are_not_left_to_the_twin(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, decoder = Random(3), learned(name)
    odd: list[int] = []
    decode = decoder.decode

    def judge(values: Payloads, offsets: Numbers, timestamps: Numbers) -> Readings:
        odd.append(len(values))
        return decode(values, offsets, timestamps)

    monkeypatch.setattr(decoder, "decode", judge)
    some = stored([drawn.message(draw, name, 7, 0.0) for _ in range(1000)], draw)
    assert Unpacker(decoder).columns(whole(batch(some))) is not None
    assert sum(odd) < 650


def test_schemas_are_learned_and_forgotten_with_the_decoder() -> None:
    decoder = learned("reading")
    unpacker = Unpacker(decoder)
    raw = whole(batch(stored([drawn.good_message("reading", 7)] * 3, Random(1))))
    first = unpacker.columns(raw)
    decoder.forget(7)
    with pytest.raises(SchemasLacking):
        unpacker.columns(raw)
    decoder.learn(7, Schema("AVRO", drawn.schema_text("reading")))
    assert_alike(unpacker.columns(raw), first)
    decoder.learn(7, None)
    found = unpacker.columns(raw)
    assert found is not None
    assert {reject.reason for reject in found.rejects} == {Reason.UNKNOWN_SCHEMA}


@pytest.mark.parametrize(
    "columns",
    [
        Columns("id", ("t",), "v.-1"),
        Columns("id", ("t",), "v", quality="v"),
        Columns("id", ("t",), "v", quality="v.q"),
        Columns("id", ("t",), "a.0", quality="a.00"),
        Columns("id", ("a[].t",), "a[].v", quality="a"),
        Columns("id", ("a[].b[].c[].d[].e[].t",), "a[].b[].c[].d[].e[].v"),
        Columns("id", ("t",), ".".join("abc" * 30)),
    ],
)
def test_what_the_wheel_cannot_be_told_is_read_by_the_twin(columns: Columns) -> None:
    mapping = Mapping(columns, given=frozenset({"value"}))
    assert fast.reader_for(message_decoder(mapping)) is None
    assert fast.reader_for(message_decoder(drawn.registered(mapping))) is None


def test_patterns_of_times_that_the_wheel_does_not_read_are_read_by_the_twin() -> None:
    mapping = Mapping(time_format="%d %b %Y", given=frozenset({"time_format"}))
    assert fast.reader_for(message_decoder(mapping)) is None
    table = Table("in.csv", b"meter_id,ts,value", Columns(), TimeFormat("%d %b %Y"))
    assert fast.reader_of_rows(table) is None
    assert TableLines(table).decode(b"m,18 Nov 2025,5\n", 0).starts.tolist() == [1_763_424_000_000]


def test_messages_whose_fields_stand_in_maps_are_read_by_the_twin() -> None:
    schema = record(
        ("id", {"type": "string"}), ("t", "long"), ("w", {"type": "map", "values": "double"})
    )
    columns = Columns("id", ("t",), "w.now")
    decoder = message_decoder(Mapping(columns, given=frozenset({"value"}), written="avro"))
    assert isinstance(decoder, RegisteredDecoder)
    decoder.learn(7, Schema("AVRO", json.dumps(schema)))
    message = in_avro(schema, {"id": "m", "t": NOON, "w": {"now": 2.5}})
    found = Unpacker(decoder).columns(whole(batch([Stored(framed(7, message), 0)])))
    assert found is not None
    assert found.watts.tolist() == [2.5]


def test_without_a_wheel_and_for_other_formats_the_twin_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert fast.reader_for(message_decoder(Mapping(written="protobuf"))) is None
    monkeypatch.setattr(native, "wheel", None)
    table = drawn.TABLES["plain"].table()
    assert fast.reader_of_rows(table) is None
    assert TableLines(table).decode(b"m,2025-11-18T00:00:00Z,5\n", 0).watts.tolist() == [5]


def test_messages_of_schemas_with_other_values_are_read_by_the_twin() -> None:
    """Times in microseconds are texts to a mapping; the wheel would take them for numbers."""
    schema = record(
        ("meter_id", "string"), ("value", "double"),
        ("ts", {"type": "long", "logicalType": "timestamp-micros"}),
    )  # fmt: skip
    decoder = message_decoder(Mapping(written="avro"))
    assert isinstance(decoder, RegisteredDecoder)
    decoder.learn(7, Schema("AVRO", json.dumps(schema)))
    assert decoder.told == {}
    message = in_avro(
        schema, {"meter_id": "m", "value": 1.0, "ts": datetime(2025, 11, 18, tzinfo=UTC)}
    )
    found = Unpacker(decoder).columns(whole(batch([Stored(framed(7, message), 0)])))
    assert found is not None
    assert found.starts.tolist() == [1_763_424_000_000]


USUAL = (
    '{"Time":1763424000,"ENERGY":{"Total":1,"Power":@v},"device":{"id":"m"},"quality":@q,"unit":@u}'
)


@pytest.mark.parametrize(
    "changes",
    [
        {"q": ('"ok"', "null", '{"a":1}', "7", '"missing"', '"error"', "true", "3")},
        {"u": ('"kWh"', '{"a":1}', '{"a":2}', "null", "[1]", '["kWh"]', '"W"', '"KWH"')},
        {"v": ("1", '"2"', "null", "[1]", "[2]", '{"a":1}', '{"a":3}', "true", "4.5")},
    ],
)
def test_a_document_does_not_pass_for_the_one_before(changes: dict[str, tuple[str, ...]]) -> None:
    """What documents have alike is kept; what a field holds is looked at each time."""
    lines = JsonLines(drawn.MAPPED["nested"].mapping)
    [(name, values)] = changes.items()
    for value in values:
        text = USUAL.replace(f"@{name}", value)
        for other, good in (("v", "5"), ("q", '"ok"'), ("u", '"kWh"')):
            text = text.replace(f"@{other}", good)
        text_of_three = (text + "\n").encode() * 3
        assert_alike(lines.decode(text_of_three, 0), lines._by_decoder(text_of_three, 0))


def test_a_unit_counts_that_stands_where_documents_before_said_something_else() -> None:
    columns = Columns("id", ("t",), "w", unit="about.unit")
    lines = JsonLines(Mapping(columns, given=frozenset({"value"})))
    said = ("7", "7", '{"unit":"W"}', "7", '{"unit":"kW"}', '"kW"')
    text = "".join(f'{{"id":"m","t":1763424000,"about":{one},"w":5}}\n' for one in said).encode()
    found = lines.decode(text, 0)
    assert [(reject.offset, reject.reason) for reject in found.rejects] == [(4, Reason.WRONG_UNIT)]
    assert_alike(found, lines._by_decoder(text, 0))


@pytest.mark.parametrize(
    "document",
    [
        '{"Time":1763424000,"ENERGY":{"Power":5},"device":{"id":"m"},"device":{}}',
        '{"Time":1763424000,"ENERGY":{"Power":5},"ENERGY":7,"device":{"id":"m"}}',
        '{"Time":1763424000,"ENERGY":{"Power":5,"Power":6},"device":{"id":"m"}}',
        '{"Time":1763424000,"ENERGY":{"Power":5},"device":{"id":"a"},"device":{"id":"b"}}',
        '{"Time":1763424000,"ENERGY":{"Power":5},"device":{"id":"m"},"x":1,"x":2}',
    ],
)
def test_of_a_repeated_key_the_last_one_counts(document: str) -> None:
    lines = JsonLines(drawn.MAPPED["nested"].mapping)
    text = (document + "\n").encode() * 3
    assert_alike(lines.decode(text, 0), lines._by_decoder(text, 0))


def test_few_bytes_do_not_become_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "MOST_UNPACKED", 2**20)
    values = b",".join([b"1"] * 90_000)
    block = b'{"meter_id":"m","start":1,"interval_ms":1,"values":[%s]}' % values
    unpacker = Unpacker(message_decoder(Mapping()))
    for value, count in ((None, 5_000), (block, 4)):
        raw = batch([Stored(value, at) for at in range(count)], ZSTD)
        assert len(raw) < 2**16
        with pytest.raises(BatchRefused, match="holds more than"):
            unpacker.columns(whole(raw))
        some = batch([Stored(value, at) for at in range(count // 4)], ZSTD)
        assert unpacker.columns(whole(some)) is not None


def test_fuzzed_batches_are_read_alike_or_refused_within_bounded_memory() -> None:
    fuzzed(2_000)


@pytest.mark.slow
def test_very_many_fuzzed_batches() -> None:
    fuzzed(200_000)


def fuzzed(count: int) -> None:
    """In a process of its own, as its memory is bounded."""
    command = [sys.executable, "-m", "tests.formats.fuzz", "--count", str(count), "--seed", "5"]
    done = subprocess.run(  # noqa: S603 - our own program
        command, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "'alike'" in done.stdout
