"""Whatever bytes stand behind the id of a schema: no crash, one verdict each, none valid lost.

And no word of them in it: everything that is drawn holds a word that is nowhere else.
"""

from __future__ import annotations

import json
import logging
from itertools import count
from random import Random
from typing import TYPE_CHECKING

import pytest

from meteragent.formats.framing import framed
from meteragent.formats.mapping import Mapping
from meteragent.formats.messages import message_decoder
from meteragent.formats.registered import RegisteredDecoder, Schema
from meteragent.stream.readings import Reason
from tests.formats.test_avro import ACCOUNT, GAPS
from tests.formats.written import BLOCK, PROTO, READING, avro, in_avro, in_proto, proto, record

if TYPE_CHECKING:
    from collections.abc import Callable

MESSAGES, SLOW_MESSAGES = 6_000, 340_000
"""Of each format."""
WORD = "zzqx"
NOON = 1_763_467_200_000
NESTED = record(
    ("meter_id", "string"), ("ts", "long"), ("value", ["null", "double"]),
    ("tags", {"type": "map", "values": {"type": "array", "items": "string"}}),
)  # fmt: skip
MICROS = record(
    ("meter_id", "string"), ("ts", {"type": "long", "logicalType": "timestamp-micros"}),
    ("value", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}),
)  # fmt: skip
SOURCE = """
syntax = "proto3";
message Reading { string meter_id = 1; int64 ts = 2; double value = 3; }
message Block { string meter_id = 1; int64 start = 2; int64 interval_ms = 3;
  repeated double values = 4; }
"""
STRICT = {
    "type": "object",
    "properties": {"value": {"type": "number", "minimum": 0}, WORD: {"const": WORD}},
    "required": ["value", WORD],
}
SCHEMAS = {"avro": (READING, BLOCK, ACCOUNT, GAPS, NESTED, MICROS)}


class Drawn:
    """Messages of one format, good ones and such as were harmed."""

    def __init__(self, written: str, seed: int) -> None:
        self.random = Random(seed)
        self.good: Callable[[str], bytes] = getattr(self, f"_{written.replace('-', '_')}")
        self._names = count()

    def name(self) -> str:
        return f"{WORD}{next(self._names)}"

    def harmed(self, message: bytes) -> bytes:
        draw = self.random
        changed = bytearray(message)
        for _ in range(draw.choice((1, 1, 2, 8))):
            at = draw.randrange(len(changed) + 1)
            match draw.randrange(6):
                case 0:
                    del changed[at:]
                case 1:
                    del changed[at : at + draw.randrange(1, 9)]
                case 2:
                    changed[at:at] = draw.randbytes(draw.randrange(1, 9))
                case 3:
                    changed[at:at] = b"\xff" * draw.randrange(1, 12)
                case 4:
                    changed[at:at] = changed * draw.randrange(1, 3)
                case 5 if at < len(changed):
                    changed[at] ^= 1 << draw.randrange(8)
        return bytes(changed)

    def _avro(self, name: str) -> bytes:
        draw, which = self.random, self.random.randrange(4)
        value, values = draw.random() * 1e4, [draw.random() for _ in range(draw.randrange(1, 9))]
        block = {"meter_id": name, "start": NOON, "interval_ms": 900_000}
        if which == 0:
            return framed(1, in_avro(READING, {"meter_id": name, "ts": NOON, "value": value}))
        if which == 1:
            return framed(2, in_avro(BLOCK, block | {"values": values}))
        if which == 2:
            return framed(4, in_avro(GAPS, block | {"values": [*values, None]}))
        document = {"meter_id": name, "ts": NOON, "value": value, "tags": {WORD: [WORD]}}
        return framed(5, in_avro(NESTED, document))

    def _protobuf(self, name: str) -> bytes:
        if self.random.random() < 0.5:
            reading = self._reading(meter_id=name, ts=NOON, value=self.random.random())
            return framed(1, b"\0" + reading)
        values = [self.random.random()] * self.random.randrange(1, 9)
        return framed(1, b"\x02\x02" + self._block(name, values))

    def _by_name(self, name: str) -> bytes:
        """As Apicurio's clients say which message it is."""
        if self.random.random() < 0.5:
            reading = self._reading(meter_id=name, ts=NOON, value=self.random.random())
            return framed(1, b"\x09\x0a\x07Reading" + reading)
        return framed(1, b"\x07\x0a\x05Block" + self._block(name, [self.random.random()] * 3))

    def _reading(self, **fields: object) -> bytes:
        written: bytes = in_proto(PROTO, "Reading", **fields).SerializeToString()
        return written

    def _block(self, name: str, values: list[float]) -> bytes:
        fields = {"meter_id": name, "start": NOON, "interval_ms": 5, "values": values}
        written: bytes = in_proto(PROTO, "Block", **fields).SerializeToString()
        return written

    def _json_schema(self, name: str) -> bytes:
        document = {"meter_id": name, "ts": NOON, "value": self.random.random(), WORD: WORD}
        return framed(1, json.dumps(document).encode())


def decoder(written: str) -> RegisteredDecoder:
    mapping = Mapping(written="protobuf", framing="apicurio-4")
    if written != "by-name":
        mapping = Mapping(written=written)  # type: ignore[arg-type]
    made = message_decoder(mapping)
    assert isinstance(made, RegisteredDecoder)
    schemas = {
        "avro": [*map(avro, SCHEMAS["avro"])],
        "protobuf": [proto()],
        "by-name": [Schema("PROTOBUF", SOURCE)],
        "json-schema": [Schema("JSON", json.dumps(STRICT))],
    }
    for number, schema in enumerate(schemas[written], 1):
        made.learn(number, schema)
    for number in (0, 7, 255):
        made.learn(number, None)
    return made


def judged(written: str, seed: int, messages: int) -> dict[Reason, int]:
    """How many were rejected for what; every good one is taken, under its own name."""
    drawn, reader = Drawn(written, seed), decoder(written)
    known = range(len(SCHEMAS["avro"]) + 1)
    found: dict[Reason, int] = {}
    for first in range(0, messages, 500):
        batch: list[bytes | None] = []
        good: dict[int, str] = {}
        for at in range(first, first + 500):
            name = drawn.name()
            message = drawn.good(name)
            if drawn.random.random() < 0.6:
                good[at] = name
            else:
                message = drawn.harmed(message)
                if drawn.random.random() < 0.9:  # else it may name any schema, or none
                    number = drawn.random.choice((*known, 255))
                    message = message[:1] + number.to_bytes(4, "big") + message[5:]
            batch.append(message)
        for number in {int.from_bytes(m[1:5], "big") for m in batch if m and len(m) >= 5}:
            if not reader.knows(number):
                reader.learn(number, None)
        readings = reader.decode(batch, range(first, first + 500), [NOON] * 500)
        taken = dict(zip(readings.offsets.tolist(), readings.meters, strict=True))
        assert {at: taken.get(at) for at in good} == good
        assert {*taken} | {r.offset for r in readings.rejects} == {*range(first, first + 500)}
        assert not {*taken} & {r.offset for r in readings.rejects}
        for reject in readings.rejects:
            assert isinstance(reject.reason, Reason)
            found[reject.reason] = found.get(reject.reason, 0) + 1
    return found


EXPECTED = {
    "avro": {Reason.NOT_AVRO, Reason.UNKNOWN_SCHEMA, Reason.BAD_TIME, Reason.BAD_FRAMING},
    "protobuf": {Reason.NOT_PROTOBUF, Reason.UNKNOWN_SCHEMA, Reason.BAD_METER, Reason.BAD_FRAMING},
    "by-name": {Reason.NOT_PROTOBUF, Reason.UNKNOWN_SCHEMA, Reason.BAD_FRAMING},
    "json-schema": {
        Reason.NOT_JSON,
        Reason.UNKNOWN_SCHEMA,
        Reason.NOT_UTF8,
        Reason.NOT_JSON_SCHEMA,
    },
}


def verdicts(
    written: str,
    seed: int,
    messages: int,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with caplog.at_level(logging.DEBUG):
        found = judged(written, seed, messages)
    assert EXPECTED[written] <= found.keys()
    said = capfd.readouterr()
    assert WORD not in caplog.text + said.out + said.err


@pytest.mark.parametrize("written", EXPECTED)
def test_every_message_gets_a_verdict(
    written: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    verdicts(written, 1, MESSAGES, caplog, capfd)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("written", EXPECTED)
def test_every_one_of_a_million_messages_gets_a_verdict(
    written: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    verdicts(written, 2, SLOW_MESSAGES, caplog, capfd)
