"""How fast other formats are read, beside canonical JSON, with the wheel and without it.

    python -m simulations.peers.formats             print the table, in about a minute
    python -m simulations.peers.formats --check     end with 1 if a target is missed
    python -m simulations.peers.formats --quick     few records: does it run?

The same readings of the same meters at the same times, in every format: from the bytes of record
batches, as brokers hold them, to columns, and on to releases of quarter hours, with their accounts.
Targets are about the whole of it; for blocks about columns, as what comes then is most of a block's
time, however it was written. Without the wheel, Kafka's client unpacks batches; that is done
before, and not measured. Every format is read once in every round, one after the other, so that
whatever else the machine does meets all of them; a ratio is the median of the rounds' ratios. Times
are of the processor.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import time
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import fastavro

from meteragent.formats.csv_header import Columns
from meteragent.formats.encoder import Encoder
from meteragent.formats.framing import framed
from meteragent.formats.mapping import Mapping, Meaning
from meteragent.formats.messages import message_decoder
from meteragent.formats.quantity import Quantity
from meteragent.formats.registered import RegisteredDecoder, Schema
from meteragent.kafka.unpack import Unpacker
from meteragent.privacy import native
from simulations.fleet.scale import pipeline
from simulations.fleet.stages import packed

if TYPE_CHECKING:
    from collections.abc import Callable

    from meteragent.formats.forms import MessageDecoder
    from simulations.fleet.stages import Batch, Decode

BEGIN = 1_763_424_000_000
INTERVAL = 10_000
METERS = 1000
BLOCK = 96
NUMBER = 7
READINGS, ROUNDS = 200_000, 5
A_BATCH = 5_000
"""Readings."""

GIVEN = frozenset({"value"})
FIELDS: list[dict[str, Any]] = [
    {"name": "meter_id", "type": "string"},
    {"name": "ts", "type": "long"},
    {"name": "value", "type": "double"},
]
BLOCK_FIELDS: list[dict[str, Any]] = [
    {"name": "meter_id", "type": "string"},
    {"name": "start", "type": "long"},
    {"name": "interval_ms", "type": "long"},
    {"name": "values", "type": {"type": "array", "items": "double"}},
]


@dataclass(frozen=True)
class Format:
    """How records are written, and how they are read."""

    name: str
    write: Callable[[str, int, list[int]], bytes]
    mapping: Mapping
    beside: str = ""
    """By its name, the format that it is compared with."""
    target: float = 0.0
    """The share of its rate that is asked for."""
    values: int = 1
    schema: dict[str, Any] | None = None

    def decoder(self) -> MessageDecoder:
        """One of its own."""
        decoder = message_decoder(self.mapping)
        if isinstance(decoder, RegisteredDecoder):
            decoder.learn(NUMBER, Schema("AVRO", json.dumps(self.schema)))
        return decoder

    def batches(self, readings: int) -> list[Batch]:
        """So many readings, of which each meter has one after the other."""
        each, records = A_BATCH // self.values, readings // self.values
        return [self._batch(range(at, min(at + each, records))) for at in range(0, records, each)]

    def _batch(self, numbers: range) -> Batch:
        steps = [divmod(at, METERS) for at in numbers]
        starts = [BEGIN + step * self.values * INTERVAL for step, _ in steps]
        records = [
            self.write(f"home-{meter}", start, [at * self.values + k for k in range(self.values)])
            for (_, meter), start, at in zip(steps, starts, numbers, strict=True)
        ]
        return records, numbers, starts


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _in_avro(schema: dict[str, Any], document: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, schema, document)
    return framed(NUMBER, stream.getvalue())


def _watts(number: int) -> float:
    return number * 7919 % 30_000 / 10


def _reading(meter: str, start: int, numbers: list[int]) -> dict[str, Any]:
    return {"meter_id": meter, "ts": start, "value": _watts(numbers[0])}


def _block(meter: str, start: int, numbers: list[int]) -> dict[str, Any]:
    values = [*map(_watts, numbers)]
    return {"meter_id": meter, "start": start, "interval_ms": INTERVAL, "values": values}


def _renamed(meter: str, start: int, numbers: list[int]) -> dict[str, Any]:
    return {"id": meter, "at": start, "power": _watts(numbers[0])}


def _nested(meter: str, start: int, numbers: list[int]) -> dict[str, Any]:
    kwh = numbers[0] * 7919 % 30_000 / 10_000_000
    return {"device": {"id": meter, "type": "plug"}, "at": start // 1000, "kwh": kwh}


def _list(meter: str, start: int, numbers: list[int]) -> dict[str, Any]:
    return {"id": meter, "from": start, "list": [*map(_watts, numbers)]}


def _telemetry(meter: str, start: int, numbers: list[int]) -> dict[str, Any]:
    """As a plug says it, with much that nobody asks for."""
    power = _watts(numbers[0])
    energy = {"Total": 3.185, "Yesterday": 3.058, "Today": 0.127, "Power": power, "Factor": 0.5}
    return {"Time": start // 1000, "device": {"id": meter, "type": "plug"}, "ENERGY": energy}


def _mapped(columns: Columns, meaning: Meaning | None = None, **more: Any) -> Mapping:  # noqa: ANN401
    return Mapping(columns, meaning=meaning or Meaning(), given=GIVEN, **more)


def _avro(name: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": fields}


READING_SCHEMA, BLOCK_SCHEMA = _avro("Reading", FIELDS), _avro("Block", BLOCK_FIELDS)
DEVICE = _avro("Device", [{"name": "id", "type": "string"}, {"name": "type", "type": "string"}])
NESTED: list[dict[str, Any]] = [
    {"name": "device", "type": DEVICE},
    {"name": "at", "type": "long"},
    {"name": "kwh", "type": ["null", "double"]},
]
NESTED_SCHEMA = _avro("Telemetry", NESTED)
ENERGY = Meaning(Quantity("energy", "kWh", INTERVAL), INTERVAL)
JSON, BLOCKS = "JSON", f"JSON, blocks of {BLOCK}"

FORMATS = (
    Format(JSON, lambda *of: _json(_reading(*of)), Mapping()),
    Format(
        "JSON, other names",
        lambda *of: _json(_renamed(*of)),
        _mapped(Columns("id", ("at",), "power")),
        JSON,
        0.8,
    ),
    Format(
        "JSON, nested, in kWh",
        lambda *of: _json(_nested(*of)),
        _mapped(Columns("device.id", ("at",), "kwh"), ENERGY),
        JSON,
        0.8,
    ),
    Format(
        "JSON, telemetry of 140 bytes",
        lambda *of: _json(_telemetry(*of)),
        _mapped(Columns("device.id", ("Time",), "ENERGY.Power")),
        JSON,
    ),
    Format(
        "Avro",
        lambda *of: _in_avro(READING_SCHEMA, _reading(*of)),
        Mapping(written="avro"),
        JSON,
        1.0,
        schema=READING_SCHEMA,
    ),
    Format(
        "Avro, nested, in kWh",
        lambda *of: _in_avro(NESTED_SCHEMA, _nested(*of)),
        _mapped(Columns("device.id", ("at",), "kwh"), ENERGY, written="avro"),
        JSON,
        schema=NESTED_SCHEMA,
    ),
    Format(BLOCKS, lambda *of: _json(_block(*of)), Mapping(), values=BLOCK),
    Format(
        f"JSON, lists of {BLOCK} under other names",
        lambda *of: _json(_list(*of)),
        _mapped(Columns("id", ("from",), "list[]"), Meaning(interval=INTERVAL)),
        BLOCKS,
        0.8,
        BLOCK,
    ),
    Format(
        f"Avro, blocks of {BLOCK}",
        lambda *of: _in_avro(BLOCK_SCHEMA, _block(*of)),
        Mapping(written="avro"),
        BLOCKS,
        1.5,
        BLOCK,
        BLOCK_SCHEMA,
    ),
)


def released(decode: list[Decode], begun: float) -> tuple[float, float, int]:
    """Seconds to columns, and to releases, since then; and how many readings there were."""
    windows, encoder = pipeline(METERS), Encoder()
    reading, readings = 0.0, 0
    for one in decode:
        before = time.process_time()
        columns = one()
        reading += time.process_time() - before
        if columns is not None:
            readings += len(columns.watts)
            for step in windows.feed(columns):
                encoder.encode(step.releases)
    return reading, time.process_time() - begun, readings


def reader(one: Format, readings: int, *, wheel: bool) -> tuple[list[Decode], int]:
    """What reads each batch, and how many readings are in all of them."""
    prepared, decoder = one.batches(readings), one.decoder()
    if wheel:
        unpacker = Unpacker(decoder)
        ways: list[Decode] = [partial(unpacker.columns, packed(*batch)) for batch in prepared]
    else:
        ways = [partial(decoder.decode, *batch) for batch in prepared]
    return ways, sum(len(batch[0]) for batch in prepared) * one.values


Nanoseconds = dict[str, list[tuple[float, float]]]
"""A reading, to columns and to releases, in each round; by format."""


def measure(readings: int, rounds: int, *, wheel: bool) -> Nanoseconds:
    """All formats, in turns."""
    with patch.object(native, "wheel", native.wheel if wheel else None):
        ways = {one.name: reader(one, readings, wheel=wheel) for one in FORMATS}
        found: Nanoseconds = {name: [] for name in ways}
        for _ in range(rounds):
            for name, (decode, total) in ways.items():
                *took, read = released(decode, time.process_time())
                if read != total:
                    raise ValueError(f"{name}: {read} readings instead of {total}")
                found[name].append((took[0] / total * 1e9, took[1] / total * 1e9))
    return found


def shares(found: Nanoseconds, part: int) -> dict[str, float]:
    """The rate of each format, as a share of that of what it stands beside."""
    return {
        one.name: median(
            its[part] / mine[part]
            for its, mine in zip(found[one.beside], found[one.name], strict=True)
        )
        for one in FORMATS
        if one.beside
    }


def tell(way: str, found: Nanoseconds) -> bool:
    """Print a table; answer whether a target was missed."""
    print(
        f"{way:<36}{'to columns':>14}{'beside it':>12}{'to releases':>14}{'beside it':>12}  asked"
    )
    missed = False
    both = [shares(found, part) for part in (0, 1)]
    for one in FORMATS:
        row = f"{one.name:<36}"
        for part, its in enumerate(both):
            row += f"{median(took[part] for took in found[one.name]):>11.0f} ns"
            row += f"{its[one.name]:>12.2f}" if one.beside else 12 * " "
        print(row + (f"{one.target:>7}" if one.target else ""), flush=True)
        asked = both[one.values == 1]
        missed |= one.beside != "" and asked[one.name] < one.target
    return missed


def main(arguments: list[str] | None = None) -> int:
    """Print the table; with --check, judge it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="end with 1 if a target is missed")
    parser.add_argument("--quick", action="store_true", help="few records")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N")
    given = parser.parse_args(arguments)
    readings, missed = READINGS // (20 if given.quick else 1), False
    for wheel in (False, True)[: 1 + native.fits()]:
        found = measure(readings, given.rounds, wheel=wheel)
        missed |= tell(native.way() if wheel else "Python", found)
    print("targets: " + ("missed" if missed else "met"))
    return int(given.check and missed)


if __name__ == "__main__":
    sys.exit(main())
