"""Mapped documents one after the other, with `json` and fractions: what each says, plainly."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from meteragent.stream.readings import Reason

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})"
)
LATEST = 253_402_300_799_999
ABSENT = {"", "nan", "null", "none", "na", "n/a", "?"}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PATHS = {"meter": ("device", "id"), "time": ("Time",), "value": ("ENERGY", "Power")}

Judged = tuple[str, int, Fraction | None] | Reason


class Bad(Exception):
    def __init__(self, reason: Reason) -> None:
        self.reason = reason


def judge(message: bytes, *, earlier: int, unit: str) -> Judged:
    """Of a document with `PATHS`, a `unit` at its outermost level and a `quality`."""
    try:
        try:
            document = json.loads(message.decode())
        except UnicodeDecodeError:
            return Reason.NOT_UTF8
        except ValueError:
            return Reason.NOT_JSON
        if any(0xD800 <= ord(c) < 0xE000 for c in json.dumps(document, ensure_ascii=False)):
            return Reason.NOT_JSON  # half of a pair
        if not isinstance(document, dict):
            return Reason.WRONG_SHAPE
        return _fields(document, earlier, unit)
    except Bad as bad:
        return bad.reason


def _fields(document: dict[str, Any], earlier: int, unit: str) -> Judged:
    quality = document.get("quality")
    if quality is not None and str(quality) == "error":
        raise Bad(Reason.BAD_QUALITY)
    said = document.get("unit")
    if said is not None and str(said).strip(" \t[]()") != unit:
        raise Bad(Reason.WRONG_UNIT)
    meter = _at(document, "meter")
    if isinstance(meter, int) and not isinstance(meter, bool):
        meter = str(meter)
    if not isinstance(meter, str) or not 1 <= len(meter) <= 128:
        raise Bad(Reason.BAD_METER)
    if any(ord(c) < 32 or 127 <= ord(c) < 160 for c in meter):
        raise Bad(Reason.BAD_METER)
    time = _time(_at(document, "time")) - earlier
    if time < 0:
        raise Bad(Reason.BAD_TIME)
    value = _value(_at(document, "value"))
    return meter, time, None if quality is not None and str(quality) == "missing" else value


def _at(document: Any, name: str) -> Any:  # noqa: ANN401 - JSON is anything
    for step in PATHS[name]:
        if not isinstance(document, dict) or step not in document:
            raise Bad(Reason.WRONG_SHAPE)
        document = document[step]
    return document


def _time(said: object) -> int:
    if isinstance(said, bool) or not isinstance(said, int | float | str):
        raise Bad(Reason.BAD_TIME)
    text = str(said).strip(" \t\n\r\v\f")
    if re.fullmatch(r"[+-]?[0-9]+(\.[0-9]*)?", text):
        number = Fraction(text)
        for power in (0, 3, 6, 9):
            if 10 ** (9 + power) <= number < 2 * 10 ** (9 + power):
                return int(number * 1000 / 10**power // 1)
        raise Bad(Reason.BAD_TIME)
    if not ISO.fullmatch(text):
        raise Bad(Reason.BAD_TIME)
    try:
        time = (datetime.fromisoformat(text) - EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        raise Bad(Reason.BAD_TIME) from None
    if not 0 <= time <= LATEST:
        raise Bad(Reason.BAD_TIME)
    return time


def _value(said: object) -> Fraction | None:
    if said is None:
        return None
    if isinstance(said, str):
        if said.strip().lower() in ABSENT:
            return None
        if not NUMBER.fullmatch(said.strip()):
            raise Bad(Reason.BAD_VALUE)
        said = float(said)
    if isinstance(said, bool) or not isinstance(said, int | float):
        raise Bad(Reason.BAD_VALUE)
    try:
        number = float(said)
    except OverflowError:
        raise Bad(Reason.BAD_VALUE) from None
    if number != number:  # noqa: PLR0124 - NaN
        return None
    if number in {float("inf"), float("-inf")}:
        raise Bad(Reason.BAD_VALUE)
    return Fraction(repr(number))
