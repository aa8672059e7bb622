"""Many records parsed together, wherever nothing is unusual.

Both ways here, the certificate and the validation, only ever say what `record.judge` would have
said of each record by itself; where they cannot, they say nothing.
"""

from collections.abc import Sequence
from struct import error as CannotPack  # noqa: N812 - it says what happened
from struct import pack
from typing import NamedTuple, TypeGuard

import numpy as np
from pydantic_core import from_json

from meteragent.formats.json_one import (
    EITHER,
    LATEST,
    LONGEST_METER,
    MOST_VALUES,
    Fields,
    in_time,
    is_too_large,
)

_ONE = pack("q", 1)
_LARGEST = np.finfo(np.float64).max


class Runs(NamedTuple):
    """Good records as columns of int64 and float64, packed: that also checks the numbers."""

    meters: list[str]
    starts: bytes
    intervals: bytes
    counts: bytes
    watts: bytes


class _Packed(NamedTuple):
    """The same, as parsed; `intervals` and `counts` are empty if all are readings."""

    meters: list[str]
    starts: Sequence[int]
    intervals: Sequence[int]
    counts: Sequence[int]
    values: list[float | None]

    def packed(self, watts: bytes) -> Runs:
        ones = _ONE * len(self.meters)
        intervals, counts = packed(self.intervals), packed(self.counts)
        return Runs(self.meters, packed(self.starts), intervals or ones, counts or ones, watts)


def packed(numbers: Sequence[int]) -> bytes:
    """As int64. struct.error: one of them is none; a bool passes."""
    return pack(f"{len(numbers)}q", *numbers)


def together(messages: Sequence[bytes | None], max_bytes: int) -> Runs | None:
    """The runs of messages, or None: something is unusual about them.

    Why joined messages are what they are by themselves: every message starts with a brace,
    there are no other braces, and the array holds as many objects. So the braces open just
    these objects, none within another, and between two of them stand the rest of one message
    and the joining comma.
    """
    if not all_present(messages):
        return None
    text = b"[" + b",".join(messages) + b"]"
    if len(text) > max_bytes and _any_too_large(messages, max_bytes):
        return None
    if {message[:1] for message in messages} != {b"{"} or _count(text, "{") != len(messages):
        return None
    try:
        looks_plain = _looks_plain(from_json(messages[0]))
        certified = _certified(text, len(messages)) if looks_plain else None
        return certified or _validated(text, len(messages))
    except ValueError:
        return None


def of_documents(documents: Sequence[Fields]) -> Runs | None:
    """The runs of documents that were read already, or None: not every field of them is good."""
    said = [{key: v for key, v in one.items() if v is not None} for one in documents]
    try:
        records = EITHER.validate_python(said)
        for record in records:
            if "value" not in record:
                in_time(record)
        return runs(records)
    except (KeyError, ValueError):
        return None


def runs(records: list[Fields]) -> Runs:
    """The runs of records whose fields are good. KeyError: one of them is incomplete."""
    columns = _columns(records)
    if any("account" in record for record in records):
        columns = columns._replace(
            meters=[r["account"] if "account" in r else r["meter_id"] for r in records]
        )
    watts = np.array(columns.values, dtype=np.float64)
    kilo = [record.get("unit") == "kW" for record in records]
    if any(kilo):
        scales = np.where(kilo, 1000.0, 1.0)
        with np.errstate(over="ignore"):  # what is no float any more becomes the largest one
            watts *= np.repeat(scales, columns.counts) if columns.counts else scales
        np.clip(watts, -_LARGEST, _LARGEST, out=watts)
    return columns.packed(watts.tobytes())


def _any_too_large(messages: Sequence[bytes], most: int) -> bool:
    return any(is_too_large(message, most) for message in messages)


def all_present(messages: Sequence[bytes | None]) -> TypeGuard[Sequence[bytes]]:
    """Whether none is empty."""
    return all(messages)


def _count(text: bytes, letter: str) -> int:
    """How often an ASCII letter stands in it; several times as fast as `bytes.count`."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord(letter)))


def _looks_plain(record: Fields) -> bool:
    """Whether records like this one are worth the attempt at a certificate."""
    in_figures = not isinstance(record.get("ts", record.get("start")), str)
    return in_figures and not {"unit", "account"} & record.keys()


def _certified(text: bytes, count: int) -> Runs | None:
    """The runs of plain records, as most are: passes over whole columns show that all are good.

    Plain: in watts, without nulls, times in milliseconds. None: they are not surely that.
    ValueError: they are no JSON.

    Why two letters tell: every record spells `value` or `values` with a u. If there is no
    other u but those of the ids, then nothing else is spelled with one, or with its escape:
    no `unit`, no `account`, no second `value`, no null, no true. If then there is no f but
    those of the ids, there is no false.
    """
    spare = _count(text, "u") - count
    if spare and b"null" in text:
        return None  # as below, but before the parsing
    records = from_json(text, cache_strings="keys")
    try:
        columns = _columns(records)
        ids = "".join(columns.meters)
        watts = pack(f"{len(columns.values)}d", *columns.values)
        good = (
            len(records) == count
            and spare == ids.count("u")
            and (b"f" not in text or text.count(b"f") == ids.count("f"))
            and ids.isprintable()  # so there are no control characters
            and all(columns.meters)
            and max(map(len, columns.meters)) <= LONGEST_METER
            and _are_in_range(columns)
            and np.count_nonzero(np.isfinite(np.frombuffer(watts))) == len(columns.values)
        )
        return columns.packed(watts) if good else None
    except (KeyError, TypeError, OverflowError, CannotPack):
        return None


def _are_in_range(columns: _Packed) -> bool:
    last, most = max(columns.starts), 1
    if columns.counts:
        most, longest = max(columns.counts), max(columns.intervals)
        last += (most - 1) * longest
        if min(columns.intervals) < 1 or longest > LATEST or not all(columns.counts):
            return False
    return min(columns.starts) >= 0 and last <= LATEST and most <= MOST_VALUES


def _validated(text: bytes, count: int) -> Runs | None:
    """The runs of records of any kind, if every field of them is good. ValueError: one is not."""
    try:
        records = EITHER.validate_json(text)
        for record in records:
            if "value" not in record:
                in_time(record)
        return runs(records) if len(records) == count else None
    except KeyError:
        return None


def _columns(records: list[Fields]) -> _Packed:
    meters = [record["meter_id"] for record in records]
    try:
        values = [record["value"] for record in records]
        return _Packed(meters, [record["ts"] for record in records], (), (), values)
    except KeyError:
        spans = [_span(record) for record in records]
    starts, intervals, lists = zip(*spans, strict=True)
    values = []
    for some in lists:
        values += some
    return _Packed(meters, starts, intervals, tuple(map(len, lists)), values)


def _span(record: Fields) -> tuple[int, int, Sequence[float | None]]:
    if "value" in record:
        return record["ts"], 1, (record["value"],)
    return record["start"], record["interval_ms"], record["values"]
