"""How fast other formats are read, beside canonical JSON, with the wheel and without it.

    python -m simulations.peers.formats             print the table, in about a minute
    python -m simulations.peers.formats --check     end with 1 if a target is missed
    python -m simulations.peers.formats --quick     few records: does it run?

The same readings of the same meters at the same times, in every format: from the bytes of record
batches, as brokers hold them, to columns. Without the wheel, Kafka's client unpacks the batches;
that is done before, and not measured. Every format is read once in every round, one after the
other, so that whatever else the machine does meets all of them; a ratio is the median of the
rounds' ratios. Times are of the processor.
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

import fastavro

from meteragent.formats.csv_header import Columns
from meteragent.formats.framing import framed
from meteragent.formats.mapping import Mapping, Meaning
from meteragent.formats.messages import message_decoder
from meteragent.formats.quantity import Quantity
from meteragent.formats.registered import RegisteredDecoder, Schema
from meteragent.kafka.unpack import Unpacker
from meteragent.privacy import native
from simulations.fleet.stages import packed

if TYPE_CHECKING:
    from collections.abc import Callable

    from meteragent.formats.forms import MessageDecoder
    from simulations.fleet.stages import Batch, Decode

BEGIN = 1_763_424_000_000
INTERVAL = 900_000
METERS = 1000
BLOCK = 96
NUMBER = 7
READINGS, ROUNDS = 200_000, 5
A_BATCH = 5_000
"""Readings."""

GIVEN = frozenset({"value"})
FIELDS = [
    {"name": "meter_id", "type": "string"},
    {"name": "ts", "type": "long"},
    {"name": "value", "type": "double"},
]
BLOCK_FIELDS = [
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
    kwh = numbers[0] * 7919 % 30_000 / 100_000
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
NESTED_SCHEMA = _avro(
    "Telemetry",
    [
        {"name": "device", "type": DEVICE},
        {"name": "at", "type": "long"},
        {"name": "kwh", "type": ["null", "double"]},
    ],
)
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


def _columns(ways: list[Decode]) -> int:
    """Read all batches; answer how many readings there were."""
    found = [decode() for decode in ways]
    return sum(len(one.watts) for one in found if one is not None)


def _seconds(read: Callable[[], int], expected: int) -> float:
    begun = time.process_time()
    readings = read()
    took = time.process_time() - begun
    if readings != expected:
        raise ValueError(f"{readings} readings instead of {expected}")
    return took


def reader(one: Format, readings: int, *, wheel: bool) -> tuple[Callable[[], int], int]:
    """What reads all of them once, and how many that are."""
    prepared, decoder = one.batches(readings), one.decoder()
    if wheel:
        unpacker = Unpacker(decoder)
        ways: list[Decode] = [partial(unpacker.columns, packed(*batch)) for batch in prepared]
    else:
        ways = [partial(decoder.decode, *batch) for batch in prepared]
    return partial(_columns, ways), sum(len(batch[0]) for batch in prepared) * one.values


def measure(readings: int, rounds: int, *, wheel: bool) -> dict[str, list[float]]:
    """Nanoseconds a reading in each round, by format."""
    ways = {one.name: reader(one, readings, wheel=wheel) for one in FORMATS}
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, (read, total) in ways.items():
            found[name].append(_seconds(read, total) / total * 1e9)
    return found


def shares(found: dict[str, list[float]]) -> dict[str, float]:
    """The rate of each format, as a share of that of what it stands beside."""
    return {
        one.name: median(
            its / mine for its, mine in zip(found[one.beside], found[one.name], strict=True)
        )
        for one in FORMATS
        if one.beside
    }


def main(arguments: list[str] | None = None) -> int:
    """Print the table; with --check, judge it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="end with 1 if a target is missed")
    parser.add_argument("--quick", action="store_true", help="few records")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N")
    given = parser.parse_args(arguments)
    missed = False
    for wheel in (False, True)[: 1 + native.fits()]:
        found = measure(READINGS // (40 if given.quick else 1), given.rounds, wheel=wheel)
        beside = shares(found)
        print(
            f"{'by ' + native.way() if wheel else 'in Python':<42}ns a reading   beside it   asked"
        )
        for one in FORMATS:
            share = beside.get(one.name)
            missed |= share is not None and share < one.target
            said = "" if share is None else f"{share:>12.2f}"
            asked = f"{one.target:>8}" if one.target else ""
            print(f"{one.name:<42}{median(found[one.name]):>12.1f}{said}{asked}", flush=True)
    print("targets: " + ("missed" if missed else "met"))
    return int(given.check and missed)


if __name__ == "__main__":
    sys.exit(main())
