"""Mapped Avro: many messages column by column, as the documents say that fastavro reads of them."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from meteragent.formats.avro import AvroBody
from meteragent.formats.avro_mapped import MappedAvro, mapped
from meteragent.formats.avro_schema import parsed
from meteragent.formats.csv_header import Columns
from meteragent.formats.json_one import LATEST, BadRecord
from meteragent.formats.mapped import MappedDecoder
from meteragent.formats.mapping import Mapping, Meaning
from meteragent.formats.quantity import Quantity
from meteragent.stream.readings import Reason
from tests.formats import drawn
from tests.formats.same import plain
from tests.formats.written import avro, in_avro, record

if TYPE_CHECKING:
    from collections.abc import Callable

    from meteragent.stream.readings import Readings

NOON = 1_763_424_000_000
BATCHES, SLOW_BATCHES = 60, 4_000
ODD = (0.0, 0.01, 0.2)
OPTIONAL = ["null", "string"]
ENERGY = Meaning(
    Quantity("energy", "kWh", 900_000),
    900_000,
    900_000,
    frozenset({"missing"}),
    frozenset({"error"}),
)
POWER = Meaning(Quantity("power", "kW"), 60_000)
PLUG = record(
    ("device", record(("id", "string"), ("kind", "string"), name="Plug")),
    ("at", "long"), ("kwh", ["null", "double"]), ("quality", OPTIONAL), ("unit", OPTIONAL),
    ("mark", {"type": "enum", "name": "Mark", "symbols": ["A", "B"]}), ("on", "boolean"),
)  # fmt: skip
LISTS = record(
    ("a", {"type": "array", "items": "double"}), ("id", ["int", "null"]),
    ("b", {"type": "array", "items": ["null", "float"]}), ("t", "string"),
)  # fmt: skip
PHASES = record(
    ("id", "string"), ("home", OPTIONAL), ("t", "long"),
    ("p", record(("one", "float"), ("two", ["float", "null"]), ("n", "int"), name="P")),
)  # fmt: skip


def of(columns: Columns, meaning: Meaning = POWER, **more: object) -> Mapping:
    return Mapping(columns, meaning=meaning, given=frozenset({"value"}), **more)  # type: ignore[arg-type]


def floats(draw: Random, odd: float) -> float:
    some = (math.nan, math.inf, -math.inf, 1e300, 0.1, -0.0)
    return draw.choice(some) if draw.random() < odd else draw.choice((0.5, 1.0, -2.25, 0.0))


def either(draw: Random, odd: float, usual: object, *others: object) -> Any:  # noqa: ANN401
    return draw.choice(others) if draw.random() < odd else usual


def plug(draw: Random, odd: float) -> dict[str, Any]:
    return {
        "device": {"id": either(draw, odd, "m-1", "", "é", "m\x7f", "m" * 129), "kind": "é\n"},
        "at": either(draw, odd, NOON + draw.randrange(9), NOON // 1000, 0, -1, 2**62, LATEST * 9),
        "kwh": either(draw, 0.2, floats(draw, odd), None),
        "quality": either(draw, odd, None, "ok", "missing", "error"),
        "unit": either(draw, odd, draw.choice((None, "kWh")), "kwh", "W", ""),
        "mark": "B",
        "on": True,
    }


def lists(draw: Random, odd: float) -> dict[str, Any]:
    def some() -> list[Any]:
        least = either(draw, odd, 1, 0)
        return [floats(draw, odd) for _ in range(draw.randrange(least, 4))]

    return {
        "a": some(),
        "id": either(draw, odd, 7, None, -1),
        "b": [*some(), *either(draw, odd, [], [None])],
        "t": either(draw, odd, "2025-11-18T00:00:00Z", "9999-12-31T23:59:59Z", "x", ""),
    }


def phases(draw: Random, odd: float) -> dict[str, Any]:
    two = either(draw, 0.2, floats(draw, odd), None)
    return {
        "id": "m",
        "home": either(draw, odd, "h", None, ""),
        "t": NOON,
        "p": {"one": floats(draw, odd), "two": two, "n": either(draw, 0.5, 3, 2**31 - 1)},
    }


SHAPES: dict[str, tuple[dict[str, Any], Mapping, Callable[[Random, float], dict[str, Any]]]] = {
    "plug": (PLUG, of(Columns("device.id", ("at",), "kwh", quality="quality"), ENERGY), plug),
    "series": (LISTS, of(Columns("id", ("t",), "a[]", unit="b.u")), lists),
    "both": (LISTS, of(Columns("id", ("t",)), channels=(("a", "a[]"), ("b", "b[]"))), lists),
    "phases": (
        PHASES,
        of(
            Columns("id", ("t",), account="home"),
            channels=(("a", "p.one"), ("b", "p.two"), ("", "p.n")),
        ),
        phases,
    ),
    "constant": (PHASES, of(Columns(time=("t",), value="p.one", constant_meter="é")), phases),
}


def both(shape: str, messages: list[bytes | None]) -> tuple[Readings, Readings]:
    """What is read column by column, and what is by documents."""
    schema, mapping, _ = SHAPES[shape]
    fast = mapped(mapping, parsed(avro(schema)))
    assert isinstance(fast, MappedAvro)
    judge = MappedDecoder(mapping, body=AvroBody(parsed(avro(schema))))
    numbers = range(3, 3 + len(messages)), [5] * len(messages)
    return fast.decode(messages, *numbers), judge.decode(messages, *numbers)


def alike(shape: str, seed: int, batches: int) -> None:
    schema, _, document = SHAPES[shape]
    draw = Random(f"{shape}{seed}")
    for _ in range(batches):
        odd, bad = draw.choice(ODD), draw.choice(ODD)
        written = [in_avro(schema, document(draw, odd)) for _ in range(draw.choice((1, 5, 40)))]
        messages: list[bytes | None] = [drawn.mutated(draw, message, bad) for message in written]
        fast, slow = both(shape, messages)
        assert plain(fast) == plain(slow)
        assert [*map(str, fast.watts)] == [*map(str, slow.watts)]
        assert fast.next_offset == slow.next_offset


@pytest.mark.parametrize("shape", SHAPES)
def test_columns_are_what_documents_say(shape: str) -> None:
    alike(shape, 1, BATCHES)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_columns_of_very_many_batches_are_what_documents_say(shape: str) -> None:
    alike(shape, 2, SLOW_BATCHES)


@pytest.mark.parametrize("shape", sorted(SHAPES.keys() - {"series"}))
def test_what_is_usual_is_read_without_documents(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would be right, and slow; and what is no Avro costs its neighbours nothing."""
    schema, mapping, document = SHAPES[shape]
    messages = [in_avro(schema, document(Random(n), 0.0)) for n in range(50)]
    fast = mapped(mapping, parsed(avro(schema)))
    seen: list[object] = []

    def refused(_: AvroBody, message: bytes) -> None:
        seen.append(message)
        raise BadRecord(Reason.NOT_AVRO)

    monkeypatch.setattr(AvroBody, "many", lambda _, some: seen.extend(some))
    monkeypatch.setattr(AvroBody, "one", refused)
    assert len({*fast.decode(messages, range(50), [0] * 50).offsets.tolist()}) == 50
    assert not seen
    messages[7] = messages[7][:-1]
    readings = fast.decode(messages, range(50), [0] * 50)
    assert {*readings.offsets.tolist()} == {*range(50)} - {7}
    assert [reject.offset for reject in readings.rejects] == [7]
    assert {*seen} == {messages[7]}


SWITCH = record(("id", "string"), ("t", "long"), ("on", "boolean"), ("v", ["null", "int", "long"]))
BESIDE = record(
    ("a", {"type": "array", "items": "double"}), ("id", "string"), ("t", "long"), ("v", "double")
)  # fmt: skip
ENTRY = record(("t", "long"), ("v", "int"), name="Entry")
ENTRIES = record(("r", {"type": "array", "items": ENTRY}))
OTHERS: list[tuple[dict[str, Any], dict[str, Any], list[Columns]]] = [
    (
        PLUG,
        plug(Random(1), 0.0),
        [
            Columns("device", ("at",), "kwh"),
            Columns("device.id.x", ("at",), "kwh"),
            Columns("mark", ("at",), "kwh"),
            Columns("device.id", ("at",), "on"),
            Columns("device.id", ("at",), "kwh", quality="mark"),
            Columns("device.id", ("at",), "kwh", unit="device"),
        ],
    ),
    (LISTS, lists(Random(1), 0.0), [Columns("id", ("t",), "a.0")]),
    (
        SWITCH,
        {"id": "m", "t": NOON, "on": True, "v": 3},
        [Columns("id", ("t",), "v")],
    ),
    (
        BESIDE,
        {"a": [1.5], "id": "m", "t": NOON, "v": 2.5},
        [Columns("id", ("a[].t",), "a[].v"), Columns("id", ("t",), "v")],
    ),
    (
        ENTRIES,
        {"r": [{"t": NOON, "v": 1}, {"t": NOON + 1, "v": 2}]},
        [Columns(time=("r[].t",), value="r[].v", constant_meter="m")],
    ),
]


@pytest.mark.parametrize(
    ("schema", "document", "columns"),
    [(schema, document, one) for schema, document, several in OTHERS for one in several],
)
def test_what_does_not_stand_in_a_column_is_read_by_documents(
    schema: dict[str, Any], document: dict[str, Any], columns: Columns
) -> None:
    mapping, messages, numbers = of(columns), [in_avro(schema, document)] * 3, (range(3), [0] * 3)
    judge = MappedDecoder(mapping, body=AvroBody(parsed(avro(schema))))
    fast = mapped(mapping, parsed(avro(schema)))
    assert plain(fast.decode(messages, *numbers)) == plain(judge.decode(messages, *numbers))
