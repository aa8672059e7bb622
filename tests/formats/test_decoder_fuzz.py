"""Whatever bytes arrive: no crash, one verdict each, no word of them in it, no harm to others."""

from __future__ import annotations

import logging
from itertools import product
from random import Random
from typing import TYPE_CHECKING

import pytest

from meteragent.formats.decoder import CHUNK
from meteragent.formats.json_one import BadRecord, judge
from meteragent.stream.readings import Reason
from tests.formats.payloads import MARKED_WATTS, MARKER, Payloads
from tests.formats.same import assert_as_the_twin_says, decode, plain
from tests.twins import codec as twin

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCHES, SLOW_BATCHES = 420, 8_400
SIZES = (1, 3, CHUNK, 3 * CHUNK + 16)

GOOD = b'{"meter_id":"a","ts":1,"value":2}'
FRAGMENTS = (
    *(GOOD, b'{"meter_id":"b","start":1,"interval_ms":1,"values":[2]}', GOOD + b" ", GOOD + b"]"),
    *(b'{"meter_id":"a","ts":1', b'"value":2}', b",", b"{}", b"{", b"}"),
    *(GOOD + b"," + GOOD, GOOD + b",", GOOD + b',{"meter_id":"a","ts":1'),
    *(
        b'{"meter_id":"c","ts":1,"value":2,"x":[{}',
        GOOD + b',{"meter_id":"c","ts":1,"value":2,"x":[{}',
    ),
    *(b"{}]}", b'{"meter_id":"d","x":"', b'{"meter_id":"d","x":"u', b'{","ts":1,"value":2}'),
)
"""Pieces of which some, joined, are as many records as they are pieces, but not one each."""


def batches(seed: int, count: int) -> Iterator[list[bytes | None]]:
    """Up to a few chunks, in which no, few, half or all records are bad."""
    payloads = Payloads(Random(seed))
    draw = payloads.random
    for _ in range(count):
        bad = draw.choice((0.0, 0.01, 0.5, 1.0))
        kind = draw.choice((payloads.reading, payloads.block, payloads.good))
        yield [payloads.any() if draw.random() < bad else kind() for _ in range(draw.choice(SIZES))]


def judged_alike(seed: int, count: int) -> int:
    """How many payloads of random batches got the verdicts of the twin: all of them."""
    payloads = 0
    for batch in batches(seed, count):
        assert_as_the_twin_says(batch)
        payloads += len(batch)
    return payloads


def test_every_payload_gets_the_verdict_of_the_twin() -> None:
    assert judged_alike(seed=1, count=BATCHES) > 50_000


@pytest.mark.slow
def test_a_million_payloads_get_the_verdict_of_the_twin() -> None:
    assert judged_alike(seed=2, count=SLOW_BATCHES) > 1_000_000


def test_the_fuzz_reaches_every_reason_and_enough_good_records() -> None:
    payloads = Payloads(Random(3))
    readings = decode([payloads.any() for _ in range(5_000)], max_bytes=5_000)
    by_pipeline = {Reason.FUTURE, Reason.NO_POLICY, Reason.TOO_MANY_METERS, Reason.WRONG_PARTITION}
    by_pipeline |= {Reason.NO_GROUP, Reason.IN_SECONDS}
    by_sums = {Reason.OTHER_MEMBERS, Reason.LATE_PARTIAL, Reason.REPEATED_PARTIAL}
    by_mapping = {Reason.WRONG_UNIT, Reason.BAD_QUALITY}
    by_schema = {Reason.BAD_FRAMING, Reason.UNKNOWN_SCHEMA, Reason.BAD_SCHEMA}
    by_schema |= {Reason.NOT_AVRO, Reason.NOT_PROTOBUF, Reason.NOT_JSON_SCHEMA}
    by_codec = set(Reason) - by_pipeline - by_mapping - by_schema - by_sums
    assert {reject.reason for reject in readings.rejects} == by_codec
    assert len(readings.meters) > 1_000


def test_a_record_cut_at_any_byte_spoils_nothing_next_to_it() -> None:
    payloads = Payloads(Random(4))
    for _ in range(20):
        whole, neighbour = payloads.good(), payloads.good()
        for cut in range(len(whole) + 1):
            assert_as_the_twin_says([neighbour, whole[:cut], whole[cut:], neighbour])


def test_no_byte_flipped_goes_unjudged() -> None:
    payloads = Payloads(Random(5))
    neighbour = payloads.reading()
    for whole in (payloads.reading(), payloads.block()):
        flipped = [
            whole[:where] + bytes([whole[where] ^ 1 << bit]) + whole[where + 1 :]
            for where in range(len(whole))
            for bit in range(8)
        ]
        assert_as_the_twin_says([m for message in flipped for m in (neighbour, message)])


@pytest.mark.parametrize("length", [1, 2, 3])
def test_no_fragments_pass_as_something_else_when_joined(length: int) -> None:
    for messages in product(FRAGMENTS, repeat=length):
        assert_as_the_twin_says(messages)


def test_a_batch_is_no_more_than_its_records_however_it_is_split() -> None:
    for batch in batches(seed=6, count=30):
        cuts = sorted(Random(7).choices(range(len(batch) + 1), k=3))
        whole, parts = decode(batch), twin.Decoded()
        for first, last in zip([0, *cuts], [*cuts, len(batch)], strict=True):
            if first < last:
                part = plain(decode(batch[first:last]))
                parts.meters += part.meters
                parts.counts += part.counts
                parts.times += part.times
                parts.watts += part.watts
                parts.rejects += [(3 * first + offset, reason) for offset, reason in part.rejects]
                parts.offsets += [3 * first + offset for offset in part.offsets]
        parts.timestamps = [10 * offset for offset in parts.offsets]
        assert plain(whole) == parts


def test_good_neighbours_of_garbage_are_decoded_exactly() -> None:
    payloads = Payloads(Random(8))
    good = [payloads.good() for _ in range(2_000)]
    alone = plain(decode(good))
    among = plain(decode([m for message in good for m in (message, payloads.marked())]))
    assert alone.rejects == []
    assert (among.meters, among.counts) == (alone.meters, alone.counts)
    assert (among.times, among.watts) == (alone.times, alone.watts)
    assert len(among.rejects) == len(good)


def test_no_word_of_a_bad_payload_leaves_the_decoder(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    payloads = Payloads(Random(9))
    bad = [payloads.marked() for _ in range(500)]
    readings = decode(bad)
    assert len(readings.rejects) == len(bad)
    said = repr(readings) + caplog.text
    for message in bad:
        with pytest.raises(BadRecord) as refused:
            judge(message)
        error = refused.value
        said += (
            repr(error)
            + str(error)
            + repr(error.args)
            + repr(error.__notes__ if hasattr(error, "__notes__") else "")
        )
        assert error.__cause__ is None
        assert error.__context__ is None
    assert any(MARKER.encode() in message for message in bad)
    assert MARKER not in said
    assert str(MARKED_WATTS) not in said


def test_ten_megabytes_are_turned_away_unread() -> None:
    reading = b'{"meter_id":"m","ts":1,"value":2}'
    huge = b'{"meter_id":"m","ts":1,"value":2,"x":"' + b"x" * 10_000_000 + b'"}'
    assert_as_the_twin_says([reading, huge, reading])
    assert_as_the_twin_says([reading, huge, reading], max_bytes=2**24)
