"""Many documents at once are what each is by itself, whatever lists and channels they have."""

from __future__ import annotations

import re
from itertools import product
from random import Random
from typing import TYPE_CHECKING

import pytest

from meteragent.formats import mapped
from meteragent.formats.csv_header import Columns
from meteragent.formats.json_one import LATEST
from meteragent.formats.mapped import MappedDecoder
from meteragent.formats.mapping import Mapping, Meaning
from meteragent.formats.quantity import Quantity
from meteragent.formats.times import zone_of
from tests.formats import drawn
from tests.formats.payloads import LITERALS, NOON
from tests.formats.same import plain

if TYPE_CHECKING:
    from meteragent.formats.forms import Payloads

BATCHES, SLOW_BATCHES = 20, 1_000
ODD = (0.0, 0.0005, 0.01, 0.2)
SIZES = (1, 3, 40, 300)
PARIS = zone_of("Europe/Paris")
MARKS = frozenset({"missing"}), frozenset({"error"})
ENERGY = Meaning(Quantity("energy", "kWh", 900_000), 900_000, 900_000, *MARKS)
POWER = Meaning(Quantity("power", "kW"), 60_000, 0, *MARKS)


def of(columns: Columns, meaning: Meaning = POWER, **more: object) -> Mapping:
    return Mapping(columns, meaning=meaning, given=frozenset({"value"}), **more)  # type: ignore[arg-type]


SHAPES = {
    "flat": (
        of(Columns("id", ("t",), "v", quality="q", account="home")),
        '{"id":@m,"t":@t,"v":@v@x}',
    ),
    "home": (
        of(Columns("id", ("t",), "v", quality="q", account="home"), ENERGY),
        '{"home":@m,"t":@t,"v":@v,"q":@q,"unit":@u}',
    ),
    "number": (
        of(Columns("id", ("t",), "v"), ENERGY, time_format="unix"),
        '{"id":@n,"t":@s,"v":@v@x}',
    ),
    "seconds": (of(Columns("id", ("t",), "v"), time_format="unix"), '{"id":@m,"t":@s,"v":@v}'),
    "list": (of(Columns("id", ("t",), "v[]"), ENERGY), '{"id":@m,"t":@t,"v":[@v,@v,@v]@x}'),
    "lengths": (of(Columns("id", ("t",), "v[]")), '{"id":@m,"t":@t,"v":[@l]@x}'),
    "entries": (
        of(Columns("id", ("r[].t",), "r[].v", quality="r[].q", unit="r[].u"), ENERGY),
        '{"r":[{"t":@t,"v":@v,"q":@q,"u":@u},{"t":@t,"v":@v,"q":@q,"u":@u}],"id":@m@x}',
    ),
    "pairs": (of(Columns("id", ("r[].0",), "r[].1", unit="r[].2")), '{"id":@m,"r":[@p,@p]}'),
    "deep": (
        of(Columns("all[].m.id", ("all[].b[].t",), "all[].b[].v[]")),
        '{"all":[{"m":{"id":@m},"b":[{"t":@t,"v":[@l]},@e]},{"m":{"id":@m},"b":[@e]}]@x}',
    ),
    "channels": (
        of(Columns("id", ("t",)), channels=(("a", "p.0"), ("b", "p.1"), ("", "all"))),
        '{"id":@m,"t":@t,"p":[@v,@v],"all":@v@x}',
    ),
    "phases": (
        of(Columns("id", ("t",)), ENERGY, channels=(("a", "a[]"), ("b", "b[]"))),
        '{"id":@m,"t":@t,"a":[@l],"b":[@v]@x}',
    ),
    "uneven": (
        of(Columns("id", ("t",)), channels=(("a", "a[]"), ("b", "b"))),
        '{"id":@m,"t":@t,"a":@k,"b":@v}',
    ),
    "apart": (
        of(Columns("id", ("d", "h"), "v"), zone=PARIS, time_format="%Y-%m-%d %H:%M"),
        '{"id":@m,"d":"2025-11-18","h":@h,"v":@v@x}',
    ),
    "stamps": (of(Columns("id", ("t[]",), "v")), '{"id":@m,"t":@y,"v":@v}'),
    "alone": (of(Columns(time=("t",), value="v", constant_meter="é")), '{"t":@t,"v":@v@x}'),
}  # fmt: skip
USUAL = {
    "m": ('"m-1"', '"m-2"', '"é"'),
    "n": ("17", "4", "123456789012345678901234567890"),
    "t": (str(NOON), str(NOON + 60_000)),
    "s": (str(NOON // 1000), "901"),
    "h": ('"12:00"', '"00:07"'),
    "v": ("0.1", "412", "-3.5", "0", "1", "null", "1e3", "0.12345678", "-0.0"),
    "l": ("1.5", "1,2.5,null", "0,0,0,0,1"),
    "p": (f'[{NOON},2.5,"kW"]', f'[{NOON},null,"KW",[]]', f"[{NOON},0.5,null]"),
    "y": ('["2025-11-18T00:00:00Z"]', '["2025-11-18T00:00:00Z","2025-11-18T00:01:00Z"]'),
    "k": ("[1]", "[2.5,null]"),
    "e": (f'{{"t":{NOON},"v":[7]}}', f'{{"v":[1,2.5],"t":{NOON}}}'),
    "q": ('"ok"', "null", "7"),
    "u": ('"kWh"', '"KWH"', "null"),
    "x": (',"x":{}', ',"more":["x",{"a":"\\n"}]'),
}
UNUSUAL = (
    *(one for one in LITERALS if len(one) < 200),
    *('"missing"', '"error"', '"W"', "true", "false", "[]", "{}", "[1]", '["1"]'),
    '"0.25"',
    *("17", '"1"', "1e999", "NaN", "-Infinity", '"\\u007f"', '"\x7f"', '""', "1.5", "0", "1", "-5"),
    *('"2025-11-18T00:00:00Z"', '"9999-12-31T23:59:59Z"', '[1,2,"error"]', '{"0":1,"1":2}'),
    *('{"2025-11-18T00:00:00Z":1}', "[[1]]", f'[{NOON},1,"W"]', "[true,1]"),
    *(f"[{NOON},true]", "902", "900", "899"),
    *(str(LATEST // 1000), str(LATEST // 1000 + 1), str(LATEST), str(LATEST + 1)),
)  # fmt: skip


def judge_of(mapping: Mapping) -> MappedDecoder:
    """What judges each document by itself."""
    judge = MappedDecoder(mapping)
    judge._many.can_be_alike = False
    return judge


def document(draw: Random, text: str, odd: float) -> bytes:
    def literal(found: re.Match[str]) -> str:
        if draw.random() >= odd:
            return draw.choice(USUAL[found[1]])
        unusual = draw.choice(UNUSUAL)
        if found[1] != "x":
            return unusual
        return draw.choice(("", ",@", ',"unit":@', ',"q":@', ',"home":@')).replace("@", unusual)

    raw = re.sub("@(.)", literal, text).encode("utf-8", "surrogatepass")
    return drawn.mutated(draw, raw, odd / 4)


def assert_alike(decoder: MappedDecoder, judge: MappedDecoder, batch: list[bytes]) -> None:
    numbers = range(3, 3 + len(batch)), range(7, 7 + len(batch))
    found, expected = decoder.decode(batch, *numbers), judge.decode(batch, *numbers)
    assert plain(found) == plain(expected), batch
    assert [*map(str, found.watts)] == [*map(str, expected.watts)]  # zeros have their sign
    assert found.next_offset == expected.next_offset


def alike(name: str, seed: int, batches: int) -> None:
    mapping, text = SHAPES[name]
    draw, decoder, judge = Random(f"{name}{seed}"), MappedDecoder(mapping), judge_of(mapping)
    for _ in range(batches):
        odd, size = draw.choice(ODD), draw.choice(SIZES)
        assert_alike(decoder, judge, [document(draw, text, odd) for _ in range(size)])


@pytest.mark.parametrize("name", SHAPES)
def test_whatever_stands_in_whichever_field_is_what_it_is_by_itself(name: str) -> None:
    """All that is unusual, one at a time, in each field, alone and beside what is usual."""
    mapping, text = SHAPES[name]
    decoder, judge = MappedDecoder(mapping), judge_of(mapping)
    parts = re.split("@(.)", text)
    fields = parts[1::2]
    parts[1::2] = [USUAL[field][0] for field in fields]
    usual = "".join(parts).encode()
    for nth, unusual in product(range(len(fields)), UNUSUAL):
        other = parts.copy()
        other[1 + 2 * nth] = f',"unit":{unusual}' if fields[nth] == "x" else unusual
        odd = "".join(other).encode("utf-8", "surrogatepass")
        assert_alike(decoder, judge, [odd])
        assert_alike(decoder, judge, [usual, odd])


@pytest.mark.parametrize("name", SHAPES)
def test_what_is_read_together_is_what_each_is_by_itself(name: str) -> None:
    alike(name, 1, BATCHES)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_very_many_batches_are_what_each_document_is_by_itself(name: str) -> None:
    alike(name, 2, SLOW_BATCHES)


@pytest.mark.parametrize("name", sorted(SHAPES.keys() - {"uneven"}))
def test_what_is_usual_is_read_together(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would be right, and slow."""
    mapping, text = SHAPES[name]
    draw, decoder = Random(name), MappedDecoder(mapping)
    batch = [document(draw, text, 0.0) for _ in range(600)]
    monkeypatch.setattr(MappedDecoder, "_one_by_one", None)
    found = decoder.decode(batch, range(600), [0] * 600)
    assert len({*found.offsets.tolist()}) == 600


def test_one_odd_document_costs_a_few_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    mapping, text = SHAPES["list"]
    monkeypatch.setattr(mapped, "CHUNK", 25)
    monkeypatch.setattr(mapped, "FEW", 5)
    judged: list[int] = []
    by_one = MappedDecoder._one_by_one

    def counted(
        self: MappedDecoder, messages: Payloads, first: int, refused: dict[int, object]
    ) -> object:
        judged.append(first)
        return by_one(self, messages, first, refused)  # type: ignore[arg-type]

    monkeypatch.setattr(MappedDecoder, "_one_by_one", counted)
    for odd in (b"{", b'{"id":"m","t":%d,"v":[true]}' % NOON):
        batch = [document(Random(n), text, 0.0) for n in range(40)]
        batch[25] = odd
        readings = MappedDecoder(mapping).decode(batch, range(40), [0] * 40)
        assert [reject.offset for reject in readings.rejects] == [25]
        assert readings.offsets.tolist() == [n for n in range(40) if n != 25]
    assert judged == [25, 25]


def test_a_document_holds_no_more_values_than_it_may() -> None:
    mapping = of(Columns("id", ("r[].t",), "r[].v[]"))
    entry = b'{"t":%d,"v":[%s]}' % (NOON, b",".join([b"1"] * 40_000))
    few, many = (b'{"id":"m","r":[%s]}' % b",".join([entry] * n) for n in (2, 3))
    for batch in ([few, few], [few, many, few]):
        found = MappedDecoder(mapping).decode(batch, range(len(batch)), [0] * len(batch))
        assert plain(found) == plain(
            judge_of(mapping).decode(batch, range(len(batch)), [0] * len(batch))
        )
        assert len(found.rejects) == len(batch) - 2


@pytest.mark.parametrize(
    "between",
    [b'"\x7f"', b'"\\u007f"', b'"\\u007F"', b"8190273645546372", b"81902736455463.72e2", b"null"],
)
def test_no_two_messages_pass_for_documents_that_neither_is(between: bytes) -> None:
    good = b'{"id":"m","t":%d,"v":1}' % NOON
    halves = good + b"," + between + b"," + good[:-1] + b',"a":[1', b"2]}"
    decoder = MappedDecoder(of(Columns("id", ("t",), "v")))
    assert plain(decoder.decode(halves, [0, 1], [0, 0])).meters == []
    whole = decoder.decode([good, *halves, good], range(4), [0] * 4)
    assert whole.offsets.tolist() == [0, 3]
