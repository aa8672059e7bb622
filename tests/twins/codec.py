"""The obvious twins of `codec` and `encode`: one record, one window at a time, with `json`."""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from meteragent.stream.readings import Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from meteragent.privacy.policy import Policy
    from meteragent.stream.releases import Releases

LATEST = 253_402_300_799_999
DEEPEST = 201  # nested arrays and objects, the record itself counted
DAYS_IN = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass
class Rejected(Exception):
    reason: Reason


@dataclass
class Decoded:
    """`columns.Readings` in plain lists; NaN is None."""

    meters: list[str] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    timestamps: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    watts: list[float | None] = field(default_factory=list)
    rejects: list[tuple[int, Reason]] = field(default_factory=list)


def decode(
    values: Sequence[bytes | None],
    offsets: Sequence[int],
    timestamps: Sequence[int],
    max_bytes: int,
) -> Decoded:
    decoded = Decoded()
    for value, offset, timestamp in zip(values, offsets, timestamps, strict=True):
        try:
            meter, times, watts = decode_one(value, max_bytes)
        except Rejected as rejected:
            decoded.rejects.append((offset, rejected.reason))
            continue
        decoded.meters.append(meter)
        decoded.offsets.append(offset)
        decoded.timestamps.append(timestamp)
        decoded.counts.append(len(times))
        decoded.times += times
        decoded.watts += watts
    return decoded


def decode_one(value: bytes | None, max_bytes: int) -> tuple[str, list[int], list[float | None]]:
    if value is None or value == b"":
        raise Rejected(Reason.EMPTY)
    others = [byte for byte in value if byte not in b"+-.0123456789Ee"]
    if len(others) > max_bytes or len(value) > max_bytes + 100_000 * 32:
        raise Rejected(Reason.TOO_LARGE)
    record = parse(value)
    if not isinstance(record, dict):
        raise Rejected(Reason.WRONG_SHAPE)
    keys = ("ts", "value") if "value" in record else ("start", "interval_ms", "values")
    if not {"meter_id", *keys} <= record.keys():
        raise Rejected(Reason.WRONG_SHAPE)
    meter = meter_of(record["meter_id"])
    if "account" in record:
        meter = meter_of(record["account"])
    start = time_of(record[keys[0]])
    interval = interval_of(record["interval_ms"]) if len(keys) == 3 else 0
    if len(keys) == 2:
        watts: list[float | None] = [number_of(record["value"])]
    else:
        watts = numbers_of(record["values"])
    watts = [in_unit(watt, record.get("unit", "W")) for watt in watts]
    times = [start + index * interval for index in range(len(watts))]
    if times[-1] > LATEST:
        raise Rejected(Reason.BAD_TIME)
    return meter, times, watts


def parse(value: bytes) -> object:
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        raise Rejected(Reason.NOT_UTF8) from None
    if deepest(text) > DEEPEST:
        raise Rejected(Reason.NOT_JSON)
    try:
        return json.loads(
            text, parse_int=integer, parse_float=decimal, object_pairs_hook=whole_object
        )
    except ValueError:
        raise Rejected(Reason.NOT_JSON) from None


def deepest(text: str) -> int:
    """How deep brackets nest outside of strings; only meaningful where the text is JSON."""
    depth = most = 0
    for bracket in re.sub(r'"(?:[^"\\]|\\.)*"', "", text, flags=re.DOTALL):
        depth += (bracket in "[{") - (bracket in "]}")
        most = max(most, depth)
    return most


def integer(text: str) -> int:
    if len(text.lstrip("-")) > 4300:
        raise ValueError
    return int(text)


def decimal(text: str) -> float:
    integer(re.split("[.eE]", text)[0])
    return float(text)


def whole_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """No half of a surrogate pair may stand in any string, even one that a later key hides."""
    json.dumps([*map(list, pairs)], ensure_ascii=False).encode()  # UnicodeError is a ValueError
    return dict(pairs)


def meter_of(meter: object) -> str:
    if not isinstance(meter, str) or not 1 <= len(meter) <= 128:
        raise Rejected(Reason.BAD_METER)
    if any(ord(c) < 32 or 127 <= ord(c) < 160 for c in meter):
        raise Rejected(Reason.BAD_METER)
    return meter


def time_of(time: object) -> int:
    if isinstance(time, str):
        time = rfc3339(time)
    if type(time) is not int or not 0 <= time <= LATEST:
        raise Rejected(Reason.BAD_TIME)
    return time


def rfc3339(text: str) -> int | None:
    shape = re.sub("[0-9]", "0", text)
    if not re.fullmatch(r"0000-00-00[ T]00:00:00(\.0+)?(Z|[+-]00:00)", shape):
        return None
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:10])
    hour, minute, second = int(text[11:13]), int(text[14:16]), int(text[17:19])
    zone = text[19:].lstrip(".0123456789")
    fraction = text[19 : len(text) - len(zone)][1:]
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not (year >= 1 and 1 <= month <= 12 and hour < 24 and minute < 60 and second < 60):
        return None
    if not 1 <= day <= DAYS_IN[month - 1] + (leap and month == 2):
        return None
    before = year - 1
    days = 365 * before + before // 4 - before // 100 + before // 400 - 719_162
    days += sum(DAYS_IN[: month - 1]) + (leap and month > 2) + day - 1
    east = 0
    if zone != "Z":
        if int(zone[1:3]) > 23 or int(zone[4:6]) > 59:
            return None
        east = (int(zone[1:3]) * 60 + int(zone[4:6])) * (-1 if zone[0] == "-" else 1)
    seconds = ((days * 24 + hour) * 60 + minute - east) * 60 + second
    return seconds * 1000 + int((fraction + "000")[:3])


def interval_of(interval: object) -> int:
    if type(interval) is not int or not 1 <= interval <= LATEST:
        raise Rejected(Reason.BAD_INTERVAL)
    return interval


def number_of(number: object) -> float:
    if type(number) not in {int, float}:
        raise Rejected(Reason.BAD_VALUE)
    try:
        value = float(number)  # type: ignore[arg-type]
    except OverflowError:
        raise Rejected(Reason.BAD_VALUE) from None
    if not math.isfinite(value):
        raise Rejected(Reason.BAD_VALUE)
    return value


def numbers_of(numbers: object) -> list[float | None]:
    if not isinstance(numbers, list) or not 1 <= len(numbers) <= 100_000:
        raise Rejected(Reason.BAD_VALUE)
    return [None if number is None else number_of(number) for number in numbers]


def in_unit(value: float | None, unit: object) -> float | None:
    if unit not in ("W", "kW"):
        raise Rejected(Reason.BAD_UNIT)
    if value is None or unit == "W":
        return value
    return min(max(value * 1000, -sys.float_info.max), sys.float_info.max)


def encode(releases: Releases) -> list[bytes]:
    return [encode_one(releases, window) for window in range(len(releases.meters))]


def told(policy: Policy, readings: int) -> int | str:
    if policy.readings == "exact":
        return readings
    share = Fraction(readings, policy.slots)
    if share == 1:
        return "all"
    if share >= Fraction(4, 5):
        return "most"
    return "half" if share >= Fraction(1, 2) else "some"


def encode_one(releases: Releases, window: int) -> bytes:
    policy = releases.policy
    granted = policy.questions[: int(releases.granted[window])]
    start = int(releases.starts[window])
    document: dict[str, Any] = {
        "schema": "meteragent.release/2",
        "meter_id": releases.meters[window],
        "window_start": start,
        "window_end": start + policy.size,
        "status": "released" if granted else "suppressed",
        "values": {},
        "unbiased": {},
        "unit": "W",
        "policy": policy.id,
        "epsilon": (
            {"joint": granted[0].epsilon}
            if granted and policy.noise == "joint"
            else {asked.query.name: asked.epsilon for asked in granted}
        ),
    }
    column = 0
    for asked in granted:
        for name, outputs in (("values", releases.values), ("unbiased", releases.unbiased)):
            answer: Any = float(outputs[window, column])
            if asked.query.per_slot:
                answer = [float(outputs[window, column + slot]) for slot in range(policy.slots)]
                if policy.presence == "public":
                    answer = [
                        a if releases.present[window, slot] else None
                        for slot, a in enumerate(answer)
                    ]
            document[name][asked.query.name] = answer
        column += policy.slots if asked.query.per_slot else 1
    if releases.withheld[window]:
        document["withheld"] = str(releases.withheld[window])
    if policy.presence == "public" and policy.readings != "none" and granted:
        document["readings"] = told(policy, sum(map(bool, releases.present[window])))
        document["slots"] = policy.slots
    return json.dumps(document, separators=(",", ":")).encode()
