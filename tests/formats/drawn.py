"""Documents, tables and messages of many shapes, mostly good: seeded, and as many as wanted."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING, Any, NamedTuple

from meteragent.formats.csv_header import Columns
from meteragent.formats.csv_rows import Table
from meteragent.formats.framing import framed
from meteragent.formats.mapping import Mapping, Meaning
from meteragent.formats.quantity import Quantity
from meteragent.formats.times import TimeFormat, zone_of
from tests.formats.payloads import LITERALS, NOON
from tests.formats.written import BLOCK, READING, in_avro, record

if TYPE_CHECKING:
    from datetime import tzinfo
    from random import Random

GIVEN = frozenset({"value"})
PARIS, GREENWICH = zone_of("Europe/Paris"), UTC
QUARTER = 900_000
MARKS = {"absent": frozenset({"missing", "7", ""}), "rejected": frozenset({"error", "True"})}
ENERGY = Meaning(Quantity("energy", "kWh", QUARTER), QUARTER, QUARTER, **MARKS)
POWER = Meaning(Quantity("power", "kW"), 60_000, 0, **MARKS)
REGISTER = Meaning(Quantity("register", "Wh"), 60_000, 0)


class Mapped(NamedTuple):
    """A mapping, and a document that it is for; `@x` in it is drawn."""

    mapping: Mapping
    document: str


def _mapping(
    columns: Columns,
    meaning: Meaning,
    zone: tzinfo | None = None,
    form: str = "auto",
    **more: Any,  # noqa: ANN401
) -> Mapping:
    return Mapping(columns, time_format=form, zone=zone, meaning=meaning, given=GIVEN, **more)


MAPPED = {
    "flat": Mapped(
        _mapping(Columns("id", ("t",), "w", quality="q", account="home"), POWER, PARIS),
        '{"id":@m,"t":@t,"w":@v,"q":@q,"unit":@u,"home":@a,"more":@x}',
    ),
    "nested": Mapped(
        _mapping(Columns("device.id", ("Time",), "ENERGY.Power", quality="quality"), ENERGY),
        '{"Time":@t,"ENERGY":{"Total":@x,"Power":@v,"Today":3},"device":{"id":@m,"x":@x},"quality":@q}',
    ),
    "lone": Mapped(
        _mapping(Columns("id", ("t",), "w", unit="about.unit"), ENERGY),
        '{"id":@m,"x":@x,"t":@t,"about":@o,"w":@v}',
    ),
    "channels": Mapped(
        _mapping(
            Columns("id", ("t",), ""), POWER, UTC,
            channels=(("a", "emeters.0.power"), ("b", "emeters.1.power"), ("", "all")),
        ),
        '{"id":@m,"t":@t,"emeters":[{"power":@v,"pf":@x},{"power":@v}],"all":@v}',
    ),
    "entries": Mapped(
        _mapping(Columns("id", ("r[].t",), "r[].v", unit="u", quality="r[].q"), ENERGY, PARIS),
        '{"r":[{"t":@t,"v":@v,"q":@q},{"v":@v,"t":@t,"x":@x}],"id":@m,"u":@u}',
    ),
    "deep": Mapped(
        _mapping(Columns("all[].meter.id", ("all[].b[].t",), "all[].b[].v[]"), REGISTER),
        '{"x":@x,"all":[{"b":[{"t":@t,"v":[@v,@v,1]}],"meter":{"id":@m}},{"meter":{"id":@m},"b":[]}]}',
    ),
    "series": Mapped(
        _mapping(Columns("id", ("d", "h"), "v[]", unit=None), POWER, GREENWICH, "%Y-%m-%d %H:%M"),
        '{"id":@m,"d":"2025-11-18","h":@h,"v":[1,@v,null,2.5]}',
    ),
    "seconds": Mapped(
        _mapping(
            Columns(time=("params.ts",), value="params.switch:0.apower", constant_meter="é"),
            POWER, form="unix",
        ),
        '{"src":@x,"params":{"ts":@s,"switch:0":{"apower":@v,"aenergy":{"total":@x}}}}',
    ),
}  # fmt: skip
_PLAIN = {
    "m": ('"m-1"', '"é"', "17", '"m-2"'),
    "t": (
        *(str(NOON), str(NOON // 1000), '"2025-11-18T00:00:00Z"', '"2025-11-18 00:00"'),
        f"{NOON // 1000}.25",
    ),
    "h": ('"12:00"', '"00:07"', '"23:59"'),
    "s": (str(NOON // 1000), f"{NOON // 1000}.125", f'"{NOON // 1000}"', "0.5"),
    "v": ("0.1", "412", "-3.5", "null", '"0.25"', '" 7 "', '"?"', "1e3", "0.12345678"),
    "q": ("null", '"ok"', '"missing"', "7", "3"),
    "u": ('"kW"', '"kWh"', "null", '"KWH"'),
    "a": ("null", '"home-1"', "5"),
    "o": ("7", "null", "{}", '{"unit":"kWh"}', '{"unit":null}', '{"unit":"W"}', "[1]"),
    "x": ('"x"', "[1,{}]", '{"a":[],"b":"\\n\\u00e9"}', "true", "-1.5e3"),
}  # fmt: skip
_ODD = (
    *('"error"', "true", '"2025-10-26T02:30:00"', '"2025-03-30T02:30:00"', '"1970-01-01T00:10:00"'),
    *('"9999-12-31T23:59:59Z"', '"9999-12-30 12:00"', '"24:00"', '"12:60"', '" 12:00 "', '"X"'),
    *('"2025-11-18T00:00:00.1234567Z"', '"2025-11-18T00:00:00.123456789+05:45"', '"Missing"'),
    *('"[kW]"', '"kw"', "-0", "-5", "007", '"-0"', '"1,5"', '"1e999"', "[]", "[null]", '["1"]'),
    *("{}", "1763424000.1234567"),
)  # fmt: skip


def document(draw: Random, drawn: Mapped, bad: float) -> bytes:
    """One that is good, but for what is drawn to be odd."""
    some = (*LITERALS, *_ODD)

    def literal(found: re.Match[str]) -> str:
        return draw.choice(some if draw.random() < bad else _PLAIN[found[1]])

    text = re.sub("@(.)", literal, drawn.document)
    if draw.random() < bad:
        loose = [*re.finditer(r'"\w+":', text)]
        one = draw.choice(loose)[0]
        change = draw.choice(('"x":', f"{one}1,{one}", one.replace('"', ' "'), '"\\u0074":'))
        text = text.replace(one, change, 1)
    return mutated(draw, text.encode("utf-8", "surrogatepass"), bad / 2)


def mutated(draw: Random, raw: bytes, bad: float) -> bytes:
    """The same bytes, but for a few of them, perhaps."""
    if draw.random() >= bad:
        return raw
    found = bytearray(raw[:4000])
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(len(found) + 1)
        byte = draw.choice((draw.randrange(256), *b'{}[],:"\\ 0tfn;.\xe9'))
        change = draw.randrange(4)
        if change == 0:
            found[at : at + 1] = bytes([byte])
        elif change == 1:
            found.insert(at, byte)
        elif change == 2:
            del found[at : at + draw.choice((1, 1, 8))]
        else:
            del found[at:]
    return bytes(found)


# Tables


class Tabled(NamedTuple):
    """A table: its columns, and what is drawn for each."""

    columns: Columns
    header: str
    row: str
    times: TimeFormat
    meaning: Meaning

    def table(self) -> Table:
        return Table("in.csv", self.header.encode(), self.columns, self.times, self.meaning)


TABLES = {
    "plain": Tabled(Columns(), "meter_id,ts,value", "@m,@t,@v", TimeFormat(), Meaning()),
    "milliseconds": Tabled(
        Columns(), "ts,value,meter_id", "@s,@v,@m", TimeFormat("unix_ms"), Meaning()
    ),
    "among": Tabled(
        Columns(decimal_comma=True, delimiter=";"),
        "more;value;x;ts;meter_id;note", "@x;@c;@x;@t;@m;@x", TimeFormat("auto", PARIS), ENERGY,
    ),
    "beside": Tabled(
        Columns(quality="q", account="home", unit="u"),
        "q;meter_id;ts;home;value;u;more", "@q;@m;@t;@a;@v;@u;@x",
        TimeFormat("auto", PARIS), POWER,
    ),
    "local": Tabled(
        Columns(time=("date", "hour"), constant_meter="m", decimal_comma=True, delimiter=";"),
        "date;hour;value", "@d;@h;@c", TimeFormat("%d/%m/%Y %H:%M", PARIS, at_ends=True), ENERGY,
    ),
    "spaces": Tabled(
        Columns(meter="3", time=("1",), value="2", delimiter="space", header=False),
        "1763424000 5 m", "@s @v m-@n", TimeFormat("unix"), REGISTER,
    ),
}  # fmt: skip
_CELLS = {
    "m": ("m-1", "m-2", "é", " m-1"),
    "t": ("2025-11-18T00:00:00Z", "2025-11-18 00:15", "2025-11-18T00:15:00.25+01:00"),
    "s": (str(NOON // 1000), str(NOON), "1763424000.5"),
    "d": ("18/11/2025", "01/01/2024"),
    "h": ("12:00", "00:15", "23:59"),
    "v": ("0.1", "412", "-3.5", "", "?", ".5", "5.", "+5", "1e3"),
    "c": ("0,1", "412", "-3,5", "", "NaN"),
    "q": ("ok", "missing", "", "7"),
    "a": ("", "home-1"),
    "u": ("kW", "kw", "[kW]", "KW"),
    "x": ("", "x", "é", "\udcff"),
    "n": "123",
}
_ODD_CELLS = (
    *("error", "x", "\x0b7\x0c", "1 234.5", "2025-10-26 02:30", "2025-03-30 02:30", "24:00"),
    "nan",
    *("inf", "1_0", "1e999", "-0", "0x1", "9" * 30, "m" * 129, "m\x7f", "\udcff", "a\x00b"),
    *('"m-1"', '"a""b"', '"', 'a"b', "1763424000000000", "-1", "\t5\t", "1970-01-01T00:00"),
    *("\u0665", "31/02/2025"),
)  # fmt: skip


def row(draw: Random, drawn: Tabled, bad: float) -> bytes:
    """A line that is good, but for what is drawn to be odd; without its end."""

    def cell(found: re.Match[str]) -> str:
        text = draw.choice(_ODD_CELLS if draw.random() < bad else _CELLS[found[1]])
        return f'"{text}"' if draw.random() < bad else text

    text = re.sub("@(.)", cell, drawn.row).encode("utf-8", "surrogateescape")
    return mutated(draw, text, bad / 2).replace(b"\n", b"")


# Avro

_OPTIONAL = ["null", "string"]
_MARK = {"type": "enum", "name": "Mark", "symbols": ["ok", "missing", "error"]}
_METER = record(("id", _OPTIONAL), ("at", "bytes"), name="Device")
SCHEMAS: dict[str, tuple[Any, Mapping]] = {
    "reading": (READING, Mapping()),
    "block": (BLOCK, Mapping()),
    "either": (
        record(
            ("unit", _OPTIONAL), ("meter_id", "string"), ("account", _OPTIONAL),
            ("ts", ["null", "long", "string"]), ("start", ["null", "long"]),
            ("interval_ms", ["null", "int"]), ("value", ["null", "float", "int"]),
            ("values", ["null", {"type": "array", "items": ["null", "double", "int"]}]),
            ("kind", {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}),
            ("more", {"type": "map", "values": {"type": "array", "items": ["boolean", "string"]}}),
        ),
        Mapping(),
    ),
    "mapped": (
        record(
            ("device", _METER), ("t", ["long", "string"]), ("w", ["double", "string", "null"]),
            ("q", ["null", _MARK, "int"]),
            ("spare", ["null", "Device"]), ("five", {"type": "fixed", "name": "Five", "size": 5}),
        ),
        _mapping(Columns("device.id", ("t",), "w", quality="q"), POWER, PARIS),
    ),
    "lone": (
        record(
            ("device", record(("id", "string"), ("kind", "string"), name="Plug")),
            ("t", "long"), ("kwh", ["null", "double"]), ("spare", _OPTIONAL),
        ),
        _mapping(Columns("device.id", ("t",), "kwh", unit="unit"), ENERGY),
    ),
    "lacking": (
        record(("value", ["null", "double", "int"]), ("ts", "long"), ("meter_id", "string")),
        Mapping(),
    ),
    "entries": (
        record(
            ("id", ["string", "long"]),
            ("r", {"type": "array", "items": record(
                ("t", "long"), ("v", {"type": "array", "items": ["float", "null"]}), name="Entry",
            )}),
            ("u", _OPTIONAL),
        ),
        _mapping(Columns("id", ("r[].t",), "r[].v[]", unit="u"), ENERGY),
    ),
}  # fmt: skip


def _value(draw: Random, schema: Any) -> Any:  # noqa: ANN401, PLR0911 - as many as there are kinds
    if isinstance(schema, list):
        return _value(draw, draw.choice(schema))
    kind = schema if isinstance(schema, str) else schema["type"]
    if kind == "record":
        return {field["name"]: _field(draw, field) for field in schema["fields"]}
    if kind == "array":
        return [_value(draw, schema["items"]) for _ in range(draw.choice((0, 1, 2, 2, 3)))]
    if kind == "map":
        return {"k": _value(draw, schema["values"])} if draw.random() < 0.5 else {}
    if kind == "enum":
        return draw.choice(schema["symbols"])
    if kind == "Device":
        return _value(draw, _METER)
    return draw.choice(_SAID[kind])


_SAID: dict[str, tuple[Any, ...]] = {
    "null": (None,),
    "boolean": (True, False),
    "string": ("m-1", "é", "kWh", "W", "7", "2025-11-18T00:00:00Z", "missing", ""),
    "bytes": (b"", b"\xff"),
    "fixed": (b"12345",),
    "int": (0, 5, 7, -1, 2**31 - 1),
    "long": (NOON, NOON + 60_000, NOON // 1000, 900_000, -1, 2**62),
    "float": (1.5, -2.25, float("nan"), 1e30),
    "double": (0.1, 412.0, -3.5, float("inf")),
}


_USUAL: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("meter_id", "id"), ("m-1", "m-2", "é")),
    **dict.fromkeys(("ts", "start", "t"), (NOON, NOON + 60_000)),
    "account": (None, "home"),
    "unit": (None, "W"),
    "u": (None, "kWh"),
    "interval_ms": (60_000, 1),
    "value": (1.5, 7),
    "w": (0.25, "7", None),
    "kwh": (0.25, None, 0.1),
    "q": (None, "ok", "missing", 3),
    "v": ([1.5], [0.5, None, 2.5]),
    "values": ([1.5, 2.0], [0.25]),
}
_LACKS = (("start", "interval_ms", "values"), ("ts", "value"))
"""What a reading, and what a block does not say."""


def _field(draw: Random, field: dict[str, Any]) -> Any:  # noqa: ANN401
    name = field["name"]
    if name in _USUAL and draw.random() < 0.95:
        return draw.choice(_USUAL[name])
    return _value(draw, field["type"])


def message(draw: Random, name: str, number: int, bad: float) -> bytes:
    """In Avro, behind the id of its schema; mostly good."""
    schema = SCHEMAS[name][0]
    document = _value(draw, schema)
    if name == "either" and draw.random() < 0.9:
        document |= dict.fromkeys(draw.choice(_LACKS))
    body = in_avro(schema, document)
    return mutated(draw, framed(number, body), bad)


def good_message(name: str, number: int) -> bytes:
    """A reading of 5 W."""
    reading = {"meter_id": "m", "ts": NOON, "value": 5.0}
    return framed(number, in_avro(SCHEMAS[name][0], reading))


def registered(mapping: Mapping) -> Mapping:
    """The same of messages in Avro, whose schemas are in a registry."""
    return replace(mapping, written="avro")


def schema_text(name: str) -> str:
    return json.dumps(SCHEMAS[name][0])
