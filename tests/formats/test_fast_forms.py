"""The wheel reads mapped JSON, tables and Avro as its twins in Python do, each record of them."""

from __future__ import annotations

from random import Random

import pytest

from meteragent.errors import InvalidSetting
from meteragent.formats import fast
from meteragent.formats.lines import JsonLines, TableLines
from meteragent.formats.messages import message_decoder
from meteragent.formats.registered import RegisteredDecoder, Schema
from meteragent.kafka.unpack import Unpacker
from tests.batches import batch
from tests.formats import drawn
from tests.formats.test_fast import assert_alike, stored, whole

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
