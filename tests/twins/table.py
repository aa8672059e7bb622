"""Tables row by row: what one line says, as plainly as it can be written down."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from meteragent.stream.readings import Reason

if TYPE_CHECKING:
    from collections.abc import Callable

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

ABSENT = {"", "nan", "null", "none", "na", "n/a", "?"}
"""Where there is no value."""


@dataclass(frozen=True)
class Row:
    line: int
    meter: str
    time: int
    watts: float | None


def rows(
    text: bytes,
    first: int,
    delimiter: str,
    where: tuple[int | str, list[int], int],
    moment: Callable[[str], int],
) -> tuple[list[Row], list[tuple[int, Reason]]]:
    """`where`: the column of the meter, or its constant id; those of the time; of the value."""
    good: list[Row] = []
    bad: list[tuple[int, Reason]] = []
    for line, raw in enumerate(text.split(b"\n")[:-1], first):
        if raw:
            judged = row(raw, delimiter, where, moment)
            if isinstance(judged, Reason):
                bad.append((line, judged))
            else:
                good.append(Row(line, *judged))
    return good, bad


def row(  # noqa: PLR0911 - a reason each
    raw: bytes,
    delimiter: str,
    where: tuple[int | str, list[int], int],
    moment: Callable[[str], int],
) -> tuple[str, int, float | None] | Reason:
    meter_at, times_at, value_at = where
    text = raw.decode("utf-8", "surrogateescape")
    try:
        cells = text.split(delimiter)
        if '"' in text:
            [cells] = csv.reader([text], delimiter=delimiter, strict=True)
    except csv.Error:
        return Reason.WRONG_SHAPE
    cells = [cell.strip(" \t\n\r\v\f") for cell in cells]
    try:
        meter = meter_at if isinstance(meter_at, str) else cells[meter_at]
        time = " ".join(cells[at] for at in times_at)
        value = cells[value_at]
    except IndexError:
        return Reason.WRONG_SHAPE
    if any("\udc80" <= character <= "\udcff" for character in meter):
        return Reason.NOT_UTF8
    if not 1 <= len(meter) <= 128 or any(ord(c) < 32 or 127 <= ord(c) < 160 for c in meter):
        return Reason.BAD_METER
    try:
        milliseconds = moment(time)
    except (ValueError, OverflowError):
        return Reason.BAD_TIME
    if value.lower() in ABSENT:
        return meter, milliseconds, None
    if not NUMBER.fullmatch(value) or abs(float(value)) == float("inf"):
        return Reason.BAD_VALUE
    return meter, milliseconds, float(value)
