"""The wheel reads records as its twin in Python does, each of them; and it is never deceived."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import zlib
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import meteragent
from meteragent.errors import BatchRefused
from meteragent.formats import fast
from meteragent.formats.decoder import Decoder
from meteragent.formats.json_one import LATEST
from meteragent.formats.lines import JsonLines
from meteragent.formats.mapping import Mapping
from meteragent.kafka.unpack import Unpacker
from meteragent.kafka.walk import Fetched
from meteragent.privacy import native
from tests.batches import GZIP, LZ4, NONE, SNAPPY, ZSTD, Stored, batch
from tests.formats.fuzz import Form, verdict
from tests.formats.payloads import Payloads
from tests.formats.same import plain
from tests.formats.test_decoder_fuzz import batches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from meteragent.stream.readings import Readings

CODECS = (NONE, GZIP, SNAPPY, LZ4, ZSTD)
BATCHES, SLOW_BATCHES = 420, 8_400
BROKEN, SLOW_BROKEN = 3_000, 1_000_000
GOOD = b'{"meter_id":"m","ts":1763424000000,"value":412.5}'

pytestmark = pytest.mark.fast


def slow() -> Unpacker:
    unpacker = Unpacker(Decoder())
    unpacker._fast = None
    return unpacker


def stored(values: Sequence[bytes | None], draw: Random) -> list[Stored]:
    """Records with gaps between them, keys and headers, in any order of time."""
    found, offset = [], draw.randrange(1000)
    for value in values:
        headers = [("h", b"x" * draw.randrange(3)), ("zähler", None)][: draw.randrange(3)]
        key = draw.choice((None, b"", b"k"))
        found.append(Stored(value, offset, draw.randrange(2**41), key, headers))
        offset += draw.choice((1, 1, 1, 3))
    return found


def whole(raw: bytes, first: int = 0, until: int = 2**63 - 1) -> Fetched:
    return Fetched(raw, ((0, len(raw)),), first, until)


def read_alike(seed: int, count: int) -> int:
    """How many payloads of random batches are read as the twin reads them: all of them."""
    draw, unpacker, twin, read = Random(seed), Unpacker(Decoder()), slow(), 0
    for values in batches(seed, count):
        some = stored(values, draw)
        raw = batch(some, draw.choice(CODECS))
        begin, end = some[0].offset, some[-1].offset + 1
        fetched = whole(raw, draw.choice((0, begin + 1, end)), draw.choice((end, end - 1)))
        assert_alike(unpacker.columns(fetched), twin.columns(fetched))
        read += len(values)
    return read


def assert_alike(readings: Readings | None, expected: Readings | None) -> None:
    if readings is None or expected is None:
        assert readings is expected
    else:
        assert plain(readings) == plain(expected)
        assert readings.next_offset == expected.next_offset
        assert [*map(str, readings.watts)] == [*map(str, expected.watts)]  # zeros have their sign


def test_every_record_of_a_batch_is_read_as_the_twin_reads_it() -> None:
    assert read_alike(1, BATCHES) > 50_000


@pytest.mark.slow
def test_a_million_records_are_read_as_the_twin_reads_them() -> None:
    assert read_alike(2, SLOW_BATCHES) > 1_000_000


def test_most_of_what_meters_write_is_not_left_to_the_twin() -> None:
    payloads = Payloads(Random(5))
    values = [payloads.good() for _ in range(2_000)]
    _, _, odd, _ = native.wheel.Reader().lines(b"\n".join(values) + b"\n", 0, 0)[0]
    assert len(odd) < len(values) / 5  # escapes, and keys that nobody knows


def test_every_line_is_read_as_the_twin_reads_it() -> None:
    lines = JsonLines(Mapping())
    for values in batches(3, BATCHES // 4):
        text = b"".join((v or b"").replace(b"\n", b" ") + b"\n" for v in values)
        assert_alike(lines.decode(text, 7), lines._by_decoder(text, 7))


number = st.from_regex(
    r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True
)
moment = st.from_regex(
    r"[0-9]{4}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{1,9})?"
    r"(Z|[+-][0-2][0-9]:[0-6][0-9])",
    fullmatch=True,
)


def alone(record: bytes) -> None:
    raw = batch([Stored(record, 0, 5)])
    assert_alike(Unpacker(Decoder()).columns(whole(raw)), slow().columns(whole(raw)))


@given(number | st.floats(allow_nan=False, allow_infinity=False).map(repr) | st.integers().map(str))
@example("-0")
@example("-0.0")
@example("9007199254740993")
@example("9007199254740993.0")
@example("0.1e-400")
@example("1e400")
@example("2.2250738585072011e-308")
@example("123456789012345")
@example("12345678901.23456")
def test_numbers_are_rounded_as_the_twin_rounds_them(text: str) -> None:
    alone(b'{"meter_id":"m","ts":1,"value":%s}' % text.encode())
    alone(b'{"meter_id":"m","ts":1,"value":%s,"unit":"kW"}' % text.encode())


@given(moment | st.datetimes().map(lambda at: at.isoformat() + "Z"))
@example("1970-01-01T00:59:59.999+01:00")
@example("9999-12-31T23:59:59.999999Z")
@example("2024-02-29T12:00:00.0001-23:59")
@example("2100-02-29T12:00:00Z")
@example("2025-11-18T00:00:00+00:60")
def test_times_are_those_of_the_twin(text: str) -> None:
    alone(b'{"meter_id":"m","ts":"%s","value":1}' % text.encode())


@given(st.text(max_size=140) | st.binary(max_size=140))
def test_ids_are_those_of_the_twin(text: str | bytes) -> None:
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    alone(b'{"meter_id":"%s","ts":1,"value":1}' % raw)
    alone(b'{"meter_id":"m","account":"%s","ts":1,"value":1}' % raw)


def test_no_two_ids_are_one_however_little_they_differ() -> None:
    alike = ["m" * length for length in range(1, 31)]
    ids = [*alike, *(one[:at] + "x" + one[at + 1 :] for one in alike for at in range(len(one)))]
    text = "".join(f'{{"meter_id":"{one}","ts":1,"value":1}}\n' for one in [*ids, *ids[::-1]])
    found = JsonLines(Mapping()).decode(text.encode(), 0)
    assert [*found.meters] == [*ids, *ids[::-1]]


def broken(draw: Random) -> bytes:
    """A batch that was changed by somebody who can count checksums."""
    payloads = Payloads(draw)
    values = [payloads.good() for _ in range(draw.randrange(1, 30))]
    raw = bytearray(batch(stored(values, draw), draw.choice(CODECS)))
    for _ in range(draw.choice((1, 1, 2, 5))):
        where = draw.randrange(57, len(raw)) if draw.random() < 0.9 else 22
        change = draw.randrange(3)
        if change == 0:
            raw[where] ^= 1 << draw.randrange(8)
        elif change == 1 and where != 22:
            del raw[where:]
            break
        else:
            raw[where:where] = raw[draw.randrange(61, len(raw)) :][: draw.randrange(9)]
    raw = raw.ljust(61, b"\0")
    raw[8:12] = (len(raw) - 12).to_bytes(4, "big")
    return bytes(raw)


def survives(seed: int, count: int) -> tuple[int, int]:
    """How many broken batches are read as the twin reads them, and how many are refused."""
    draw, form, counts = Random(seed), Form(Decoder(), lambda _: None), Counter[str]()
    for _ in range(count):
        counts[verdict(form, broken(draw))] += 1
    return counts["alike"], counts["refused"]


def test_an_interval_has_its_limit_also_where_a_block_holds_one_value() -> None:
    for interval in (LATEST, LATEST + 1, 2**62):
        alone(b'{"meter_id":"m","start":1,"interval_ms":%d,"values":[1]}' % interval)


def test_gzip_that_reaches_before_its_beginning_is_read_by_the_wheel_alone() -> None:
    """zlib refuses it; the other library takes zeros for what is not there."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15, zdict=bytes(64))
    plain_bytes = batch([Stored(bytes(40), 0)])[61:]
    body = deflate.compress(plain_bytes) + deflate.flush()
    head = b"\x1f\x8b\x08" + bytes(7)
    tail = zlib.crc32(plain_bytes).to_bytes(4, "little") + len(plain_bytes).to_bytes(4, "little")
    raw = bytearray(batch([Stored(bytes(40), 0)])[:61] + head + body + tail)
    raw[8:12], raw[22] = (len(raw) - 12).to_bytes(4, "big"), GZIP
    assert verdict(Form(Decoder(), lambda _: None), bytes(raw)) == "by the wheel alone"


def test_an_empty_block_of_zstd_is_nothing_or_corrupt_as_the_library_is_asked() -> None:
    """Found by the fuzz program, with seed 202."""
    raw = bytes.fromhex(
        "000000000000018b0000006bffffffff02f3d95f6c0004000000000000005d33f9651b0000005d33f9651b"
        "ffffffffffffffff0000000000000000000128b52ffd202b0400000000005901005400000001480000000007"
        "066d2d3180e096c4d266c0a90704000000000000f83f00000000000000400000"
    )
    assert verdict(Form(Decoder(), lambda _: None), raw) == "by the wheel alone"


def test_broken_batches_are_read_as_the_twin_reads_them_or_not_at_all() -> None:
    assert min(survives(6, BROKEN)) > BROKEN / 20


@pytest.mark.slow
def test_a_million_broken_batches() -> None:
    assert min(survives(7, SLOW_BROKEN)) > SLOW_BROKEN / 20


@pytest.mark.slow
def test_the_crate_holds_to_its_own_laws() -> None:
    """No panic, no more memory than is said, columns that fit: on two million drawn inputs."""
    subprocess.run(
        ["cargo", "test", "--quiet", "--release", "--locked"],  # noqa: S607 - as tests/formats/install
        cwd=Path(fast.__file__).parent,
        env={**os.environ, "PROPTEST_CASES": "400000", "CARGO_TARGET_DIR": f"{sys.prefix}/cargo"},
        check=True,
    )


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_a_bomb_is_refused_before_it_has_gone_off(
    codec: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = batch([Stored(b"0" * (40 * 2**20), 3)], codec)
    monkeypatch.setattr(fast, "MOST_UNPACKED", 2**20)
    with pytest.raises(BatchRefused, match="holds more than 1048576 bytes"):
        Unpacker(Decoder()).columns(whole(bomb, 3))
    just = batch([Stored(GOOD, at) for at in range(9)], codec)
    assert Unpacker(Decoder()).columns(whole(just)) is not None


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_what_is_not_compressed_is_refused(codec: int) -> None:
    raw = bytearray(batch([Stored(GOOD, 0)]))
    raw[22] |= codec
    with pytest.raises(BatchRefused, match="is not what was compressed"):
        Unpacker(Decoder()).columns(whole(bytes(raw)))


def test_ids_are_remembered_until_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "MOST_NAMES", 10)
    lines = JsonLines(Mapping())
    names = [f"meter-{n % 3}" for n in range(9)]
    text = [b'{"meter_id":"%s","ts":1,"value":1}\n' % name.encode() for name in names]
    tables = []
    for line, name in zip(text, names, strict=True):
        meters = lines.decode(line, 0).meters
        assert [*meters] == [name]
        tables.append(id(meters.names))  # type: ignore[union-attr]
        kept = meters  # noqa: F841 - else another may get its place in memory
    assert len(set(tables)) > 2


def test_only_the_decoder_of_our_own_json_has_a_fast_twin() -> None:
    class Other(Decoder):
        """Reads what the wheel does not know."""

    assert fast.reader_for(Decoder()) is not None
    assert fast.reader_for(Other()) is None
    assert fast.reader_for(Decoder(max_bytes=100)) is None


def test_a_wheel_of_another_version_is_not_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    assert native.wheel.__version__ == native.VERSION == meteragent.__version__
    assert native.way() == f"meteragent-fast {native.VERSION}"
    monkeypatch.setattr(native, "VERSION", "9.9")
    assert fast.reader_for(Decoder()) is None
    assert fast.checksum(b"abc", 0, 3) is None
    assert (
        native.way()
        == f"Python, as meteragent-fast {meteragent.__version__} is not for this version"
    )
    monkeypatch.setattr(native, "wheel", None)
    assert native.way() == "Python"
    assert fast.reader_for(Decoder()) is None


def test_without_a_wheel_there_is_no_fast_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "meteragent_fast", None)
    assert runpy.run_path(str(native.__file__))["way"]() == "Python"


def test_lines_without_a_record_leave_columns_empty() -> None:
    found = JsonLines(Mapping()).decode(b"\n\n", 5)
    assert (len(found.meters), found.next_offset, found.rejects) == (0, 7, [])
    assert LATEST not in found.timestamps
