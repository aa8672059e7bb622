"""Batches of JSON records -> columns: the only reader of what meters and gateways write.

`record.judge` says what a record means. Most records need no judge: they are parsed a chunk at
a time, as one JSON array, and either certified by a few passes over whole columns or validated
together. Both say only what the judge would have said of each message; where they cannot, the
chunk is judged message by message. So a bad message costs its neighbours a little time and
nothing else.
"""

from collections.abc import Sequence
from itertools import chain
from math import isfinite
from struct import error as CannotPack  # noqa: N812 - it says what happened
from struct import pack
from typing import NamedTuple, TypeGuard

import numpy as np
from pydantic_core import from_json

from meteragent.columns import Integers, Readings, Reason, Reject
from meteragent.record import (
    EITHER,
    LATEST,
    LONGEST_METER,
    MOST_BYTES,
    MOST_VALUES,
    Fields,
    Refused,
    in_time,
    judge,
)

CHUNK = 128
"""Messages parsed together: enough to spread the call, few enough to lose to a bad one."""

MOST_TOGETHER = 2**23
"""Bytes parsed together, to bound the memory that it takes."""

_BRACE = ord("{")
_LARGEST = np.finfo(np.float64).max
_ONE = pack("q", 1)


class _Runs(NamedTuple):
    """Good records as columns, packed into bytes: that checks numbers and keeps them small."""

    meters: list[str]
    starts: bytes
    intervals: bytes
    counts: bytes
    watts: bytes


class Decoder:
    """Decodes batches; it holds settings only, so any number of partitions may share it."""

    def __init__(self, max_bytes: int = MOST_BYTES) -> None:
        self.max_bytes = max_bytes

    def decode(
        self,
        values: Sequence[bytes | None],
        offsets: Sequence[int],
        timestamps: Sequence[int],
    ) -> Readings:
        """The columns of a batch.

        Precondition: at least one record; offsets ascend. Postcondition: each record is one
        run or one reject, in order, and which of them depends on its own bytes alone: any
        split of the batch gives the same columns.
        """
        refused: dict[int, Reason] = {}
        chunks: list[_Runs] = []
        for first in range(0, len(values), CHUNK):
            chunk = values[first : first + CHUNK]
            chunks.append(self._together(chunk) or self._one_by_one(chunk, first, refused))
        good = np.ones(len(values), dtype=np.bool_)
        good[list(refused)] = False
        meters, *packed = zip(*chunks, strict=True)
        starts, intervals, counts = (np.frombuffer(b"".join(p), np.int64) for p in packed[:3])
        return Readings(
            meters=list(chain.from_iterable(meters)),
            offsets=np.array(offsets, dtype=np.int64)[good],
            timestamps=np.array(timestamps, dtype=np.int64)[good],
            counts=counts,
            times=_times(starts, intervals, counts),
            watts=np.frombuffer(b"".join(packed[3])),
            rejects=[Reject(offsets[index], reason) for index, reason in refused.items()],
            next_offset=offsets[-1] + 1,
        )

    def _together(self, messages: Sequence[bytes | None]) -> _Runs | None:
        """The runs of a chunk in which nothing is unusual.

        Why a joined chunk is what its messages are, each by itself: every message starts
        with a brace, there are no other braces, and the array holds as many objects. So the
        braces open just these objects, none within another, and between two of them stand
        the rest of one message and the joining comma.
        """
        if not _all_present(messages):
            return None
        text = b"[" + b",".join(messages) + b"]"
        if len(text) > self.max_bytes and max(map(len, messages)) > self.max_bytes:
            return None
        if {message[0] for message in messages} != {_BRACE} or len(text) > MOST_TOGETHER:
            return None
        if text.count(b"{") != len(messages):
            return None
        try:
            return _certified(text, len(messages)) or _validated(text, len(messages))
        except ValueError:
            return None

    def _one_by_one(
        self, messages: Sequence[bytes | None], first: int, refused: dict[int, Reason]
    ) -> _Runs:
        records = []
        for index, message in enumerate(messages, first):
            try:
                records.append(self._judged(message))
            except Refused as why:
                refused[index] = why.reason
        return _runs(records)

    def _judged(self, message: bytes | None) -> Fields:
        if not message:
            raise Refused(Reason.EMPTY)
        if len(message) > self.max_bytes:
            raise Refused(Reason.TOO_LARGE)
        return judge(message)


def _all_present(messages: Sequence[bytes | None]) -> TypeGuard[Sequence[bytes]]:
    return all(messages)


def _certified(text: bytes, count: int) -> _Runs | None:
    """The runs of a chunk of plain readings, or of plain blocks, as most chunks are.

    Plain: in watts, without nulls, times in milliseconds. None: it is not surely that.
    ValueError: it is no JSON.
    """
    if text.count(b"u") != count and (b"null" in text or b'"unit"' in text):
        return None  # the same as below, told before the parsing
    records = from_json(text, cache_strings="keys")
    try:
        meters = [record["meter_id"] for record in records]
        if len(meters) != count or not (_are_ids(meters) and _is_plain(text, meters)):
            return None
        spans = _plain_readings if "value" in records[0] else _plain_blocks
        return spans(meters, records)
    except (KeyError, TypeError, OverflowError, CannotPack):
        return None


def _are_ids(meters: list[str]) -> bool:
    """Whether they surely are: what is printable holds no control character."""
    return all(meters) and max(map(len, meters)) <= LONGEST_METER and "".join(meters).isprintable()


def _is_plain(text: bytes, meters: list[str]) -> bool:
    """Whether no record has a unit, both `value` and `values`, a null, a true or a false.

    Why two letters tell: every record spells `value` or `values` with a u. If there is no
    other u but those of the ids, nothing else is spelled with one, nor with its escape; if
    then there is no f but those of the ids, there is no false.
    """
    ids = "".join(meters)
    return text.count(b"u") == len(meters) + ids.count("u") and text.count(b"f") == ids.count("f")


def _plain_readings(meters: list[str], records: list[Fields]) -> _Runs | None:
    starts = [record["ts"] for record in records]
    values = [record["value"] for record in records]
    if min(starts) < 0 or max(starts) > LATEST or not isfinite(sum(values)):
        return None
    ones = _ONE * len(meters)
    return _Runs(meters, _integers(starts), ones, ones, _floats(values))


def _plain_blocks(meters: list[str], records: list[Fields]) -> _Runs | None:
    starts = [record["start"] for record in records]
    intervals = [record["interval_ms"] for record in records]
    lists = [record["values"] for record in records]
    counts = list(map(len, lists))
    values = list(chain.from_iterable(lists))
    if min(starts) < 0 or max(starts) + (max(counts) - 1) * max(intervals) > LATEST:
        return None
    if min(intervals) < 1 or min(counts) < 1 or max(counts) > MOST_VALUES:
        return None
    if not isfinite(sum(values)):
        return None
    packed = [_integers(column) for column in (starts, intervals, counts)]
    return _Runs(meters, packed[0], packed[1], packed[2], _floats(values))


def _validated(text: bytes, count: int) -> _Runs | None:
    """The runs of a chunk in which every field of every record is good."""
    try:
        records = EITHER.validate_json(text)
        for record in records:
            if "value" not in record:
                in_time(record)
        return _runs(records) if len(records) == count else None
    except KeyError:
        return None


def _runs(records: Sequence[Fields]) -> _Runs:
    """The columns of judged records. KeyError: one of them is incomplete, and none was taken."""
    spans = [_span(record) for record in records]
    counts = [len(values) for _, _, values in spans]
    watts = np.array(list(chain.from_iterable(values for _, _, values in spans)), dtype=np.float64)
    kilo = [record.get("unit") == "kW" for record in records]
    if any(kilo):
        with np.errstate(over="ignore"):  # what is no float any more becomes the largest one
            watts *= np.repeat(np.where(kilo, 1000.0, 1.0), counts)
        np.clip(watts, -_LARGEST, _LARGEST, out=watts)
    return _Runs(
        [record["meter_id"] for record in records],
        _integers([start for start, _, _ in spans]),
        _integers([interval for _, interval, _ in spans]),
        _integers(counts),
        watts.tobytes(),
    )


def _span(record: Fields) -> tuple[int, int, Sequence[float | None]]:
    if "value" in record:
        return record["ts"], 1, (record["value"],)
    return record["start"], record["interval_ms"], record["values"]


def _integers(numbers: Sequence[int]) -> bytes:
    return pack(f"{len(numbers)}q", *numbers)


def _floats(numbers: Sequence[float]) -> bytes:
    return pack(f"{len(numbers)}d", *numbers)


def _times(starts: Integers, intervals: Integers, counts: Integers) -> Integers:
    """The time of each reading: its run's start, and an interval for each before it."""
    total = int(counts.sum())
    if total == len(counts):
        return starts
    times: Integers = np.arange(total)
    times -= np.repeat(np.cumsum(counts) - counts, counts)
    times *= np.repeat(intervals, counts)
    times += np.repeat(starts, counts)
    return times
