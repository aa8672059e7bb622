"""Times as exports write them -> milliseconds since the epoch.

A format is `iso` (RFC 3339, the zone and the seconds may be missing), `unix` (seconds),
`unix_ms`, or a pattern such as `%d/%m/%Y %H:%M:%S`. Local times are of one zone; of an hour
that the clock shows twice, the first is meant. `auto` is `iso`, or a number that can be but one
thing: seconds, milliseconds, … since the epoch between 2001 and 2033, which no date in figures
(`20240131`, `202401311545`) is as long as.

Whole columns are read at once where all their times have the same width; `one` is what they
mean, time by time.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from fractions import Fraction
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from meteragent.errors import InvalidSetting
from meteragent.formats.json_one import LATEST
from meteragent.privacy.arrays import Integers

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - local times have no zone yet
_MILLISECOND = timedelta(milliseconds=1)
_QUARTER = 15 * 60_000  # clocks change at quarters of an hour
_LARGEST = 2 * 10**18
"""No number of a time is larger, and a thousand times a larger one may be no number any more."""
_SECONDS = {"unix": 1000, "unix_ms": 1}
_SAID_BY_SIZE = (10**9, 10**12, 10**15, 10**18)
"""Of seconds, milliseconds, microseconds and nanoseconds, each up to its double."""
_MIDNIGHT = re.compile(r"(?<![0-9])24(:00(?::00)?)(?![0-9:.])")
_DAY = timedelta(days=1)
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?")
_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}"
    r"(:(?P<second>[0-9]{2})(\.(?P<fraction>[0-9]{1,9}))?)?"
    r"((?P<zulu>Z)|(?P<sign>[+-])[0-9]{2}:[0-9]{2})?"
)
_AT = (0, 5, 8, 11, 14)
_WIDTHS = {"Y": 4, "m": 2, "d": 2, "H": 2, "M": 2, "S": 2}
_MOST = {"m": 12, "H": 23, "M": 59, "S": 59, "h": 23, "n": 59}


def zone_of(name: str) -> tzinfo:
    """A zone by its name, such as `Europe/Paris`."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidSetting(
            "timezone", "is not a known time zone", 'write for example "Europe/Paris"'
        ) from None


class TimeFormat:
    """Reads times of one format."""

    def __init__(
        self, form: str = "iso", zone: tzinfo | None = UTC, *, at_ends: bool = False
    ) -> None:
        """Of which `zone` local times are; without one, there are none.

        `at_ends`: they may be the end of a day, 24:00.
        """
        if form not in {"auto", "iso", *_SECONDS} and "%" not in form:
            raise InvalidSetting(
                "time_format",
                "is not a time format",
                'write auto, iso, unix, unix_ms or a pattern such as "%d/%m/%Y %H:%M:%S"',
            )
        self.form = form
        self.zone = zone
        self._at_ends = at_ends
        self._offsets: dict[int, int] = {}
        self._layout = _layout(form) if "%" in form else None

    def column(self, texts: Sequence[bytes]) -> Integers | None:
        """All of them, or None if they are not surely what `one` would say of each."""
        in_figures = self.form == "auto" and texts[0].strip().isdigit()
        try:
            if in_figures or self.form in _SECONDS:
                times = self._numbers(texts)
            else:
                times = self._calendar(texts)
        except (ValueError, OverflowError):
            return None
        if times is None or times.min() < 0 or times.max() > LATEST:
            return None
        return times

    def one(self, text: str) -> int:
        """One of them. ValueError: it is none, or outside 1970 to 9999."""
        milliseconds = self._one(text.strip(" \t\n\r\x0b\x0c"))
        if not 0 <= milliseconds <= LATEST:
            raise ValueError("out of range")
        return milliseconds

    def _one(self, text: str) -> int:
        if self.form in _SECONDS:
            if not _NUMBER.fullmatch(text):
                raise ValueError("not a number")
            return _number_of(text) * _SECONDS[self.form] // 1
        if self.form == "auto" and _NUMBER.fullmatch(text):
            return _by_size(_number_of(text))
        after = timedelta()
        if self._at_ends and _MIDNIGHT.search(text):
            text, after = _MIDNIGHT.sub(r"00\1", text), _DAY
        moment = self._moment(text) + after
        if moment.tzinfo is None:
            if self.zone is None:
                raise ValueError("of no zone")
            moment = moment.replace(tzinfo=self.zone)
        return (moment - _EPOCH) // _MILLISECOND

    def _moment(self, text: str) -> datetime:
        if self.form not in {"iso", "auto"}:
            return datetime.strptime(text, self.form)  # noqa: DTZ007 - `_one` knows its zone
        if not _ISO.fullmatch(text):
            raise ValueError("not ISO")
        return datetime.fromisoformat(text)

    def figures(self, numbers: Sequence[int] | Integers) -> Integers | None:
        """What numbers mean, or None if they are not surely what `one` would say of each."""
        try:
            times = np.array(numbers, dtype=np.int64)
        except OverflowError:
            return None
        low, high = int(times.min()), int(times.max())
        if low < 0 or high > (_LARGEST if self.form == "auto" else LATEST):
            return None
        if self.form != "auto":
            return times * _SECONDS[self.form] if self.form in _SECONDS else None
        return _all_by_size(times, low, high)

    def _numbers(self, texts: Sequence[bytes]) -> Integers | None:
        if b"_" in b"".join(texts):
            return None
        return self.figures(list(map(int, texts)))

    def _calendar(self, texts: Sequence[bytes]) -> Integers | None:
        written = self.form in {"iso", "auto"}
        layout = self._layout or (_iso_layout(texts[0]) if written else None)
        if layout is None or set(map(len, texts)) != {layout.width}:
            return None
        characters = np.frombuffer(b"".join(texts), dtype=np.uint8).reshape(-1, layout.width)
        times = layout.read(np.ascontiguousarray(characters.T))
        if times is None or layout.zoned:
            return times
        if self.zone is None:
            return None
        return times if self.zone is UTC else times - self.offsets_at(times)

    def offsets_at(self, local: Integers) -> Integers:
        """Local time minus UTC, for each; neighbours mostly share a quarter of an hour."""
        quarters = local // _QUARTER
        changes = np.flatnonzero(np.diff(quarters, prepend=-1))
        offsets = [self._offset(quarter) for quarter in quarters[changes].tolist()]
        return np.repeat(offsets, np.diff(changes, append=len(local)))

    def _offset(self, quarter: int) -> int:
        offset = self._offsets.get(quarter)
        if offset is None:
            local = _NAIVE_EPOCH + quarter * _QUARTER * _MILLISECOND
            ahead = local.replace(tzinfo=self.zone) - _EPOCH
            offset = self._offsets[quarter] = quarter * _QUARTER - ahead // _MILLISECOND
        return offset


def _number_of(text: str) -> Fraction | int:
    return int(text) if text.isdigit() else Fraction(text)


def _by_size(number: Fraction | int) -> int:
    """Milliseconds of a number of seconds, milliseconds, … as large as today's are."""
    for size in _SAID_BY_SIZE:
        if size <= number < 2 * size:
            return number * 1000 // (size // 10**9)
    raise ValueError("of no size that says what it is")


class _TimeLayout:
    """Where the parts of a time stand, if all times have the same width.

    Beside the directives of a pattern: `f` a fraction of a second, `h` and `n` hours and
    minutes of a zone, which are `east` of Greenwich by that much, or by that much less.
    """

    def __init__(
        self, width: int, parts: dict[str, slice], literals: dict[int, int], east: int = 0
    ) -> None:
        self.width = width
        self.zoned = bool(east)
        self._parts = parts
        self._literals = literals
        self._east = east
        self._digits = np.concatenate([np.arange(s.start, s.stop) for s in parts.values()])

    def read(self, characters: NDArray[np.uint8]) -> Integers | None:
        """The times of `characters[position, time]`; as UTC if they have no zone."""
        if any((characters[at] != literal).any() for at, literal in self._literals.items()):
            return None
        digits = characters - np.uint8(ord("0"))  # what is below zero becomes large
        if (digits[self._digits] > _NINE).any():
            return None
        parts = {name: _number(digits[where]) for name, where in self._parts.items()}
        if any((parts[name] > most).any() for name, most in _MOST.items() if name in parts):
            return None
        months = ((parts["Y"] - 1970) * 12 + parts["m"] - 1).astype("datetime64[M]")
        first = months.astype("datetime64[D]").astype(np.int64)
        length = (months + 1).astype("datetime64[D]").astype(np.int64) - first
        if ((parts["d"] > length) | (parts["m"] * parts["d"] == 0)).any():
            return None
        hour, minute, second, h, n = (parts.get(name, _NONE) for name in "HMShn")
        minutes = ((first + parts["d"] - 1) * 24 + hour - self._east * h) * 60 + minute
        times: Integers = ((minutes - self._east * n) * 60 + second) * 1000
        times += self._fraction(parts.get("f", _NONE))
        return times

    def _fraction(self, digits: Integers) -> Integers:
        where = self._parts.get("f", slice(0, 0))
        milliseconds: Integers = digits * 1000 // 10 ** (where.stop - where.start)
        return milliseconds


_NINE = 9
_NONE = np.zeros(1, dtype=np.int64)


def _number(digits: NDArray[np.uint8]) -> Integers:
    number: Integers = digits[0].astype(np.int64)
    for digit in digits[1:]:
        number = number * 10 + digit
    return number


def _layout(form: str) -> _TimeLayout | None:
    """Of a pattern; None if a part of it has no fixed width, or is not known here."""
    parts: dict[str, slice] = {}
    literals: dict[int, int] = {}
    width = 0
    for directive, literal in re.findall(r"%(.?)|([^%])", form, re.DOTALL):
        length = 1 if literal.isascii() and literal else _WIDTHS.get(directive, 0)
        if not length or directive in parts:
            return None
        if literal:
            literals[width] = ord(literal)
        else:
            parts[directive] = slice(width, width + length)
        width += length
    return _TimeLayout(width, parts, literals) if {"Y", "m", "d"} <= parts.keys() else None


def _all_by_size(times: Integers, low: int, high: int) -> Integers | None:
    """Milliseconds of numbers that can be of one unit alone; None if they are not."""
    least = next((size for size in _SAID_BY_SIZE if size <= low and high < 2 * size), None)
    if least is None:
        return None
    return times // (least // 10**12) if least >= 10**12 else times * 1000


def _iso_layout(sample: bytes) -> _TimeLayout | None:
    """Of times that are written as this one is."""
    found = _ISO.fullmatch(sample.decode("latin-1"))
    if not found:
        return None
    parts = {name: slice(at, at + _WIDTHS[name]) for name, at in zip("YmdHM", _AT, strict=True)}
    if found["second"]:
        parts["S"] = slice(*found.span("second"))
    if found["fraction"]:
        parts["f"] = slice(*found.span("fraction"))
    if found["sign"]:
        start = found.end("sign")
        parts |= {"h": slice(start, start + 2), "n": slice(start + 3, start + 5)}
    digits = {at for where in parts.values() for at in range(where.start, where.stop)}
    literals = {at: byte for at, byte in enumerate(sample) if at not in digits}
    east = {None: 0, "Z": 1, "+": 1, "-": -1}[found["zulu"] or found["sign"]]
    return _TimeLayout(len(sample), parts, literals, east)
