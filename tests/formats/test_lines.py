"""Blocks of lines are read by whoever reads such lines."""

from __future__ import annotations

import pytest

from meteragent.errors import InputDamaged
from meteragent.formats.csv_header import Columns
from meteragent.formats.lines import decoder_of
from meteragent.formats.mapping import Mapping
from meteragent.formats.times import zone_of
from meteragent.privacy import native

READING = b'{"meter_id":"m","ts":1763424000000,"value":1}\n'


@pytest.mark.parametrize("wheel", [native.wheel, None], ids=["the wheel", "Python"])
@pytest.mark.parametrize("mapping", [Mapping(), Mapping(given=frozenset({"value"}))])
def test_empty_lines_hold_nothing(
    mapping: Mapping, wheel: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "wheel", wheel)
    lines = decoder_of("in", READING, mapping)
    read = lines.decode(READING + b"\n" + READING, 7)
    assert (read.offsets.tolist(), read.next_offset) == ([7, 9], 10)
    assert lines.decode(READING * 2, 7).offsets.tolist() == [7, 8]
    nothing = lines.decode(b"\n\n", 7)
    assert ([*nothing.meters], nothing.next_offset) == ([], 9)


def test_an_array_is_refused_with_the_way_out() -> None:
    with pytest.raises(InputDamaged, match=r"is a JSON array, .* convert"):
        decoder_of("in", b"\n [\n", Mapping())
    with pytest.raises(InputDamaged, match=r"is NEM12, .* convert"):
        decoder_of("in", b"100,NEM12,1\n", Mapping())


def test_lines_before_a_table_are_left_out() -> None:
    columns = Columns(constant_meter="m", skip_lines=2)
    text = b"About\n\nts,value\n2025-11-18 01:00,7\n"
    paris = Mapping(columns, zone=zone_of("Europe/Paris"))
    for mapping, hours in ((paris, 0), (Mapping(columns), 1)):
        table = decoder_of("in", text, mapping)
        assert table.header_lines == 3
        read = table.decode(text.split(b"\n", 3)[3], 3)
        assert read.starts.tolist() == [1_763_424_000_000 + hours * 3_600_000]


def test_a_table_that_ends_before_it_begins_has_no_columns() -> None:
    with pytest.raises(InputDamaged, match="has no column"):
        decoder_of("in", b"About\n", Mapping(Columns(skip_lines=7)))
