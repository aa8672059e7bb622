"""Record batches that nobody would send: the wheel reads them as its twins do, or not at all.

    python -m tests.formats.fuzz --count 10000000 --seed 1

Each batch holds canonical or mapped JSON, or Avro, in any compression; most are then changed: bits,
pieces, lengths, ends, as somebody would who can count checksums. Some are nothing but random bytes,
and some are bombs. Ends with 1 where the wheel says anything else than its twin, or fails otherwise
than by refusing; it is killed where memory grows beyond what `meteragent.formats.fast` says.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
import zlib
from collections import Counter
from contextlib import contextmanager
from itertools import repeat
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import cramjam
import numpy as np

from meteragent.errors import BatchRefused
from meteragent.formats import fast
from meteragent.formats.decoder import Decoder
from meteragent.formats.messages import message_decoder
from meteragent.formats.registered import RegisteredDecoder, Schema
from meteragent.kafka.unpack import Unpacker
from meteragent.kafka.walk import Fetched
from tests.batches import GZIP, LZ4, NONE, SNAPPY, ZSTD, Stored, batch
from tests.formats import drawn
from tests.formats.payloads import Payloads
from tests.formats.same import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from meteragent.stream.readings import Readings

STATM = os.open("/proc/self/statm", os.O_RDONLY)
CODECS = (NONE, NONE, GZIP, SNAPPY, LZ4, ZSTD)
HEAD = 61
NUMBER = 7
BOMB_EVERY = 500
CHANGES = 3
MOST = 2**22
"""Bytes that a batch may hold here, so that small bombs are bombs."""
ROOM = 4 * MOST + 2**26
"""Bytes by which a process may grow: what a call takes, and twins, ids and pages that are kept."""


class Form:
    """A way of writing records, read by the wheel and by its twin."""

    def __init__(self, decoder: Any, write: Callable[[Random], bytes | None]) -> None:  # noqa: ANN401
        self.write = write
        self.by_wheel, self.by_twin = Unpacker(decoder), Unpacker(decoder)
        assert self.by_wheel._fast is not None
        self.by_twin._fast = None


def forms() -> list[Form]:
    found = [Form(Decoder(), lambda draw: Payloads(draw).any())] * 3
    for one in drawn.MAPPED.values():
        decoder = message_decoder(one.mapping)
        found.append(Form(decoder, lambda draw, one=one: drawn.document(draw, one, 0.1)))  # type: ignore[misc]
    for name, (_, mapping) in drawn.SCHEMAS.items():
        decoder = message_decoder(drawn.registered(mapping))
        assert isinstance(decoder, RegisteredDecoder)
        decoder.learn(NUMBER, Schema("AVRO", drawn.schema_text(name)))
        for other in (0, 0x0107):  # that somebody has changed into
            decoder.learn(other, None)
        found.append(Form(decoder, lambda draw, name=name: drawn.message(draw, name, NUMBER, 0.1)))  # type: ignore[misc]
    return found


def changed(draw: Random, raw: bytes) -> bytes:
    """A batch that was changed by somebody who can count checksums."""
    found = bytearray(raw)
    for _ in range(draw.choice((1, 1, 2, 5))):
        where = draw.randrange(57, len(found)) if draw.random() < 0.9 else 22
        change = draw.randrange(4)
        if change == 0:
            found[where] ^= 1 << draw.randrange(8)
        elif change == 1 and where != 22:
            del found[where:]
            break
        elif change == 2:
            found[where:where] = found[draw.randrange(HEAD, len(found)) :][: draw.randrange(9)]
        else:
            found[where] = draw.randrange(256)
    found = found.ljust(HEAD, b"\0")
    found[8:12] = (len(found) - 12).to_bytes(4, "big")
    return bytes(found)


def drawn_batches(draw: Random, form: Form) -> Iterator[bytes]:
    """A batch and changes of it: to draw one takes longer than to change it."""
    if draw.random() < 0.05:
        yield changed(draw, bytes(HEAD) + draw.randbytes(draw.randrange(1, 300)))
        return
    offset, some = draw.randrange(1000), []
    for _ in range(draw.choice((1, 1, 2, 3, 8))):
        some.append(Stored(form.write(draw), offset, draw.randrange(2**41)))
        offset += draw.choice((1, 1, 3))
    raw = batch(some, draw.choice(CODECS))
    yield raw
    for _ in range(CHANGES):
        yield changed(draw, raw)


def bombs() -> list[bytes]:
    """Batches of few bytes that hold very many, or of which very much comes."""
    values = b",".join([b"1"] * 90_000)
    block = b'{"meter_id":"m","start":1,"interval_ms":1,"values":[%s]}' % values
    held = [
        *([Stored(letter * (2 * MOST), 0)] for letter in (b"0", b"[", b" ")),
        [Stored(None, at) for at in range(MOST // 100)],
        [Stored(block, at) for at in range(20)],
    ]
    return [batch(some, codec) for some in held for codec in CODECS[2:]]


def outcome(unpacker: Unpacker, raw: bytes) -> Any:  # noqa: ANN401
    try:
        return unpacker.columns(Fetched(raw, ((0, len(raw)),), 0, 2**63 - 1))
    except Exception as error:  # noqa: BLE001 - aiokafka's have no common root
        return error


def is_alike(found: Readings | None, expected: Readings | None) -> bool:
    if found is None or expected is None:
        return found is expected
    same = plain(found) == plain(expected) and found.next_offset == expected.next_offset
    return same and np.array_equal(np.signbit(found.watts), np.signbit(expected.watts))


def verdict(form: Form, raw: bytes) -> str:
    """What became of a batch. AssertionError: something that may not.

    Of a gzip stream whose checksum is right zlib refuses distances that reach before its beginning;
    the wheel's library takes what is there for zeros, which they then were. And one way to ask the
    library of zstd takes a compressed block without a byte for nothing, another for corrupt.
    """
    with bounded():
        found = outcome(form.by_wheel, raw)
    expected = outcome(form.by_twin, raw)
    if isinstance(found, Exception):
        is_packed = raw[22] & 7 and isinstance(found, BatchRefused)
        assert isinstance(expected, Exception) or is_packed, (found, raw)
        return "refused"
    lenient = {GZIP: zlib.error, ZSTD: cramjam.DecompressionError}.get(raw[22] & 7)
    if lenient is not None and isinstance(expected, lenient):
        return "by the wheel alone"
    assert not isinstance(expected, Exception), (expected, raw)
    assert is_alike(found, expected), raw
    return "alike"


@contextmanager
def bounded() -> Iterator[None]:
    """Let this process grow by no more than `ROOM` bytes: it ends where more is asked for."""
    pages = int(os.pread(STATM, 64, 0).split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def run(seed: int, count: int, tell: Callable[[Counter[str]], None]) -> Counter[str]:
    """How many batches were read alike, and how many refused. AssertionError: another."""
    draw, some, counts = Random(seed), forms(), Counter[str]()
    batches: Iterator[tuple[Form, bytes]] = iter(())
    with patch.object(fast, "MOST_UNPACKED", MOST):
        bad = bombs()
        for nth in range(count):
            if nth % BOMB_EVERY == BOMB_EVERY - 1:
                raw = draw.choice(bad)
                with bounded():
                    found = outcome(some[0].by_wheel, raw)
                assert isinstance(found, BatchRefused), (found, raw[:200])
                counts["bombs"] += 1
            else:
                drawn = next(batches, None)
                if drawn is None:
                    form = draw.choice(some)
                    batches = zip(repeat(form), drawn_batches(draw, form), strict=False)
                    drawn = next(batches)
                counts[verdict(*drawn)] += 1
            if nth % 100_000 == 0:
                tell(counts)
    return counts


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.formats.fuzz")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    begun = time.process_time()

    def tell(counts: Counter[str]) -> None:
        sys.stdout.write(f"{time.process_time() - begun:>8.0f} s  {dict(counts)}\n")
        sys.stdout.flush()

    try:
        tell(run(given.seed, given.count, tell))
    except AssertionError as wrong:
        sys.stdout.write(f"seed {given.seed}: {wrong}"[:5_000] + "\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
