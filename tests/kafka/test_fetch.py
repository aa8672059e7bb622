"""Batches are taken from aiokafka as it would have read them; and it is the aiokafka we know."""

from __future__ import annotations

import inspect
from hashlib import sha256
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.consumer.subscription_state import TopicPartitionState
from aiokafka.errors import CorruptRecordException
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from meteragent.formats.decoder import Decoder
from meteragent.kafka.fetch import _BatchFetcher, _Result, _shown
from meteragent.kafka.unpack import Unpacker
from meteragent.kafka.walk import Walk
from tests.batches import GZIP, LZ4, NONE, SNAPPY, ZSTD, Stored, batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from meteragent.formats.fast import Raw
    from meteragent.kafka.walk import Fetched

SOURCE = TopicPartition("meter.readings", 0)
CHECKED = True
KNOWN = {
    AIOKafkaConsumer.start: "2f1ba70443327538",
    AIOKafkaConsumer.getmany: "bc6d248e42a4e9d9",
    fetcher.FetchResult: "d7db13f06de8248c",
    fetcher.FetchError: "10966ad4c7954483",
    fetcher.PartitionRecords: "94aa0da0dbec8d1b",
    fetcher.Fetcher._proc_fetch_request: "59bf948fff47eed5",
    fetcher.Fetcher.fetched_records: "be4348896b9b66af",
    fetcher.Fetcher._create_fetch_waiter: "61d840568746477e",
    fetcher.Fetcher._notify: "d3a30d94f34fd3a0",
    fetcher.Fetcher._get_actions_per_node: "1dab2cf937d165d0",
    fetcher.Fetcher._select_read_replica: "70f0665e44fc8e90",
    TopicPartitionState: "2b83334afadf6d98",
}
"""What `kafka/fetch.py` stands on, or does its own way: digests of the sources that were read."""


@pytest.mark.parametrize("inside", KNOWN, ids=lambda inside: inside.__qualname__)
def test_aiokafka_is_as_it_was_read(inside: Callable[..., Any]) -> None:
    """Where it is not: read it again, mend `kafka/fetch.py`, and write the new digest here."""
    digest = sha256(inspect.getsource(inside).encode()).hexdigest()[:16]
    assert digest == KNOWN[inside], f"{inside.__qualname__} is now {digest}"


def by_aiokafka(raw: bytes, aborted: list[tuple[int, int]], first: int) -> tuple[list[Any], int]:
    """The records, and where to read on, as its own consumers have it."""
    records = fetcher.PartitionRecords(
        SOURCE, MemoryRecords(raw), aborted, first, None, None, CHECKED, fetcher.READ_COMMITTED
    )
    return [(r.value, r.offset, r.timestamp) for r in records], records.next_fetch_offset


class Told:
    """A decoder that only tells what it was given."""

    def decode(self, *columns: Any) -> Any:  # noqa: ANN401
        return columns

    def of(self, fetched: Fetched) -> Any:  # noqa: ANN401
        return Unpacker(self)._slow_columns(fetched)


def by_us(raw: Raw, aborted: list[tuple[int, int]], first: int, most: int) -> Any:  # noqa: ANN401
    walk = Walk(raw, aborted, first)
    found: list[Any] = []
    while walk.more:
        fetched, _ = walk.take(most)
        if columns := Told().of(fetched):
            found += zip(*columns, strict=True)
    return found, walk.next_fetch_offset


def marker(offset: int, producer: int, *, aborts: bool) -> bytes:
    key = bytes([0, 0, 0, 0 if aborts else 1])
    raw = bytearray(batch([Stored(b"\0" * 6, offset, key=key)], producer=producer))
    raw[22] |= 0x20
    raw[17:21] = calc_crc32c(bytes(raw[21:])).to_bytes(4, "big")
    return bytes(raw)


def old(offset: int, values: list[bytes], magic: int, compression: int) -> bytes:
    builder = LegacyRecordBatchBuilder(magic, compression, 2**20)
    for at, value in enumerate(values):
        builder.append(offset + at, timestamp=1000 + at, key=None, value=value)
    raw = bytes(builder.build())
    return (offset + len(values) - 1).to_bytes(8, "big") + raw[8:] if compression else raw


values = st.one_of(st.none(), st.binary(max_size=40))


@st.composite
def logs(draw: st.DrawFn) -> tuple[bytes, list[tuple[int, int]], int]:
    """Batches of every kind, in transactions of two producers and outside of them; and gaps.

    What is older than batches comes alone: aiokafka reads all of an answer as it reads the first.
    """
    raw, offset, aborted = b"", draw(st.integers(0, 50)), []
    first, firsts = None, draw(st.integers(0, 4))
    open_since: dict[int, int] = {}
    kinds = draw(st.sampled_from((("plain", "transactional", "marker"), ("old",))))
    for _ in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(kinds))
        producer = draw(st.integers(0, 1))
        offset += draw(st.integers(0, 3))  # what was compacted away
        some = draw(st.lists(values, min_size=1, max_size=5))
        last = offset + len(some) - 1 if kind in {"plain", "transactional"} else offset
        first = min(offset + firsts, last) if first is None else first
        if kind == "marker":
            aborts = draw(st.booleans())
            if producer in open_since and aborts:
                aborted.append((producer, open_since[producer]))
            if producer in open_since or not aborts:
                raw += marker(offset, producer, aborts=aborts)
            open_since.pop(producer, None)
            offset += 1
        elif kind == "old":
            magic, compression = draw(st.integers(0, 1)), draw(st.sampled_from((NONE, GZIP)))
            raw += old(offset, [value or b"" for value in some], magic, compression)
            offset += len(some)
        else:
            its = producer if kind == "transactional" else -1
            messages = [
                Stored(v, offset + at, draw(st.integers(0, 2**41)), b"k", (("h", None),))
                for at, v in enumerate(some)
            ]
            raw += batch(messages, draw(st.sampled_from((NONE, GZIP, SNAPPY, LZ4, ZSTD))), its)
            if its >= 0:
                open_since.setdefault(its, offset)
            offset += len(some)
    cut = old(offset, [b"cut"], 1, NONE) if kinds == ("old",) else batch([Stored(b"cut", offset)])
    raw += draw(st.just(b"") | st.just(cut[:-1]))
    return raw, sorted(aborted, key=lambda one: one[1]), first or 0


@settings(max_examples=300, deadline=None)
@given(logs(), st.integers(1, 9))
def test_batches_hold_what_aiokafka_reads_of_them(
    log: tuple[bytes, list[tuple[int, int]], int], most: int
) -> None:
    assert by_us(*log, most) == by_aiokafka(*log)


def test_aborted_records_and_markers_are_drawn() -> None:
    """Else the law above would say nothing of them."""
    raw = (
        batch([Stored(b"kept", 0)], producer=7)
        + batch([Stored(b"gone", 1)], producer=8)
        + marker(2, 8, aborts=True)
        + batch([Stored(b"again", 3)], producer=8)
        + marker(4, 8, aborts=False)
    )
    assert by_us(raw, [(8, 1)], 0, 9) == ([(b"kept", 0, 0), (b"again", 3, 0)], 5)
    assert by_aiokafka(raw, [(8, 1)], 0) == by_us(raw, [(8, 1)], 0, 9)


@pytest.mark.parametrize("bit", [8 * 23, 8 * 40 + 3, 8 * 70])
@pytest.mark.parametrize("kind", ["plain", "marker", "aborted", "old"])
def test_whatever_has_changed_on_its_way_is_noticed(kind: str, bit: int) -> None:
    whole = {
        "plain": batch([Stored(b"a value that is long enough", 5)]),
        "marker": marker(5, 3, aborts=True) + b"\0",
        "aborted": batch([Stored(b"a value that is long enough", 5)], producer=3),
        "old": old(5, [b"a value that is long enough to be changed like all others"], 1, NONE),
    }[kind]
    raw = bytearray(whole)
    raw[bit // 8] ^= 1 << bit % 8
    with pytest.raises(CorruptRecordException):
        by_aiokafka(bytes(raw), [(3, 0)], 0)
    with pytest.raises(CorruptRecordException):
        by_us(bytes(raw), [(3, 0)], 0, 9)


@pytest.mark.parametrize("length", [0, 13, 14, 20, 48])
def test_a_length_that_is_none_is_noticed(length: int) -> None:
    """A batch has a head of 61 bytes, of which 12 come before what is counted."""
    raw = bytearray(batch([Stored(b"x", 0)]))
    raw[8:12] = length.to_bytes(4, "big")
    for answer in (raw, raw[: 12 + max(length, 5)]):
        with pytest.raises(CorruptRecordException):
            by_us(bytes(answer), [], 0, 9)


@pytest.mark.parametrize(
    "whole", [batch([Stored(b"b", 1)]), old(1, [b"b"], 1, NONE)], ids=["batch", "record"]
)
def test_a_batch_may_be_cut_off_anywhere(whole: bytes) -> None:
    """Brokers end an answer where it is long enough: what is left is asked for again."""
    first = batch([Stored(b"a", 0)]) if whole[16] == 2 else old(0, [b"a"], 1, NONE)
    for cut in range(len(whole)):
        assert by_us(first + whole[:cut], [], 0, 9) == by_aiokafka(first, [], 0)


def test_aiokafka_sees_a_stand_in_of_what_was_not_cut_off() -> None:
    raw = batch([Stored(b"a", 0), Stored(b"b", 1)])
    seen = MemoryRecords(_shown(memoryview(raw)))
    assert seen.has_next()
    assert seen.size_in_bytes() < len(raw)
    assert _shown(memoryview(raw + raw[:-1])) == _shown(memoryview(raw))
    for cut in (raw[:-1], raw[:5], b""):
        assert _shown(memoryview(cut)) == cut  # aiokafka says what is wrong with it
    assert _shown(raw) == raw


def test_batches_may_stay_in_memory_that_somebody_else_holds() -> None:
    raw = batch([Stored(b"a", 0), Stored(b"b", 1)], producer=3) + marker(2, 3, aborts=False)
    assert by_us(memoryview(bytearray(raw)), [], 0, 9) == by_aiokafka(raw, [], 0)


OTHER = TopicPartition("meter.readings", 1)


@pytest.mark.parametrize(
    ("changed", "waits"),
    [
        ({}, False),
        ({"position": 9}, True),  # there is no more
        ({"lso": None}, True),  # nobody knows
        ({"paused": True}, True),
        ({"has_valid_position": False}, True),
        ({"node": 2}, True),  # that is another broker's
        ({"held": True}, True),
    ],
)
def test_more_is_fetched_at_once_where_a_partition_is_behind(
    changed: dict[str, Any], *, waits: bool
) -> None:
    """Else the answer that has nothing new would let the others wait."""
    state = {"position": 5, "lso": 9, "paused": False, "has_valid_position": True, **changed}
    assignment = SimpleNamespace(
        tps=[SOURCE, OTHER], state_value={OTHER: SimpleNamespace(**state)}.get
    )
    one = object.__new__(_BatchFetcher)
    one._records = {SOURCE: 1, **({OTHER: 1} if "held" in changed else {})}
    one._select_read_replica = lambda source: changed.get("node", 1) if source == OTHER else 1
    made = fetcher.FetchResult(
        SOURCE,
        assignment=assignment,
        partition_records=fetcher.PartitionRecords(
            SOURCE, MemoryRecords(b""), [], 0, None, None, CHECKED, fetcher.READ_COMMITTED
        ),
        backoff=60,
    )
    with patch.object(fetcher.Fetcher, "_get_actions_per_node", lambda *_: None):
        one._get_actions_per_node(assignment)
    assert (_Result.of(made, b"", one).calculate_backoff() > 0) == waits


def test_what_is_not_wanted_is_not_read() -> None:
    raw = batch([Stored(b"a", 0), Stored(b"b", 1), Stored(b"c", 2)])
    fetched, count = Walk(raw, [], 2).take(1)
    assert count == 3
    assert Told().of(fetched) == ((b"c",), (2,), (0,))
    assert Unpacker(Decoder()).columns(Walk(raw[:0] + raw, [], 3).take(1)[0]) is None
