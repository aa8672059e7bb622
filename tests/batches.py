"""Record batches as brokers hold them, and as they are fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from aiokafka.record.default_records import DefaultRecordBatchBuilder

from meteragent.kafka.walk import EVERYTHING, Walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from meteragent.kafka.walk import Fetched

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
ROOM = 2**26


class Stored(NamedTuple):
    """A record: its value, where it stands, when it was written, and what nobody asks for."""

    value: bytes | None
    offset: int
    timestamp: int = 0
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()


def batch(messages: Sequence[Stored], compression: int = NONE, producer: int = -1) -> bytes:
    """One batch of these; where a producer is named, part of its transaction."""
    builder = DefaultRecordBatchBuilder(2, compression, producer >= 0, producer, 0, 0, ROOM)
    base = messages[0].offset
    for m in messages:
        builder.append(
            m.offset - base, timestamp=m.timestamp, key=m.key, value=m.value, headers=[*m.headers]
        )
    built = builder.build()
    return base.to_bytes(8, "big") + bytes(built[8:])


def fetched(messages: Iterable[Stored]) -> Fetched:
    """What a consumer hands over, if all of these came in one batch."""
    some = [*messages]
    return Walk(batch(some), [], some[0].offset).take(EVERYTHING)[0]
