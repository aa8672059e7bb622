"""What one document means under a mapping: readings, or the reason why it holds none.

Fields are found by paths. Of lists, each entry is gone through, and every field stands either in
the entry or in what is around it; a value that is itself a list holds values an interval apart.
A document is good as a whole or rejected as a whole.
"""

import re
from collections.abc import Iterator
from itertools import takewhile
from math import inf, isfinite, nan
from typing import Any, NamedTuple

from meteragent.errors import InvalidSetting
from meteragent.formats.json_one import (
    CONTROL,
    LATEST,
    LONGEST_METER,
    MOST_VALUES,
    BadRecord,
)
from meteragent.formats.mapping import ITEMS, NOTHING_READ, Mapping, steps
from meteragent.formats.quantity import unit_of
from meteragent.formats.times import TimeFormat
from meteragent.stream.readings import Reason

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

_CONTROLS = re.compile(f"[{CONTROL}]")
_NO_STEP = (KeyError, IndexError, TypeError, ValueError)


class MappedRun(NamedTuple):
    """Values of one meter, an interval apart; in the mapping's unit, NaN where there is none."""

    meter: str
    start: int
    values: list[float]


class FieldPlace(NamedTuple):
    """Where a field stands: in which of the lists that are gone through, and there how."""

    depth: int
    steps: tuple[str, ...]

    def of(self, entries: tuple[Any, ...]) -> Any:  # noqa: ANN401 - JSON is anything
        """What stands there; one of `_NO_STEP`: nothing does."""
        found = entries[self.depth]
        for step in self.steps:
            found = found[int(step)] if isinstance(found, list) else found[step]
        return found


class Documents:
    """Reads documents one by one."""

    def __init__(self, mapping: Mapping) -> None:
        """Find all places. InvalidSetting: a path is none, or fields stand in different lists."""
        columns = mapping.columns
        self.meaning = mapping.meaning
        self.times = TimeFormat(mapping.time_format, mapping.zone, at_ends=mapping.at_ends)
        self.only_meter = columns.constant_meter
        self.names, paths = zip(*mapping.values, strict=True)
        times = [_steps_of("time", name) for name in columns.time]
        self.series = [path.endswith(ITEMS) for path in paths]
        values = [_steps_of("value", path.removesuffix(ITEMS)) for path in paths]
        finder = _Locator(max(map(_lists, (*times, *values)), key=len))
        self.loops = [*_loops(finder.lists)]
        self.in_lists = bool(self.loops) or any(self.series)
        self.time = [finder.place("time", path) for path in times]
        self.values = [finder.place("value", path) for path in values]
        self.meter = finder.known("meter", columns.meter if self.only_meter is None else None)
        self.account = finder.known("account", columns.account)
        self.quality = finder.known("quality", columns.quality)
        self.unit = finder.known("unit_field", columns.unit)

    def runs(self, document: dict[str, Any]) -> list[MappedRun]:
        """What a document holds. BadRecord: it is rejected, and why."""
        found: list[MappedRun] = []
        room = MOST_VALUES
        for entries in self._entries((document,)):
            found += (runs := self._runs(entries))
            room -= sum(len(run.values) for run in runs)
            if room < 0:
                raise BadRecord(Reason.BAD_VALUE)
        if not found:
            raise BadRecord(Reason.WRONG_SHAPE)
        return found

    def _entries(self, entries: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        """Every entry of the innermost list, each with what it stands in."""
        depth = len(entries) - 1
        if depth == len(self.loops):
            yield entries
            return
        try:
            items = FieldPlace(depth, self.loops[depth]).of(entries)
        except _NO_STEP:
            raise BadRecord(Reason.WRONG_SHAPE) from None
        if not isinstance(items, list):
            raise BadRecord(Reason.WRONG_SHAPE)
        for item in items:
            yield from self._entries((*entries, item))

    def _runs(self, entries: tuple[Any, ...]) -> list[MappedRun]:
        """What stands in an entry, channel by channel; some may be silent, but not all."""
        absent = self._is_marked_absent(entries)
        self._refuse_other_units(entries)
        meter, start = self._meter(entries), self._start(entries)
        found: list[MappedRun] = []
        for name, place, series in zip(self.names, self.values, self.series, strict=True):
            try:
                value = place.of(entries)
            except _NO_STEP:
                continue
            if series and not (isinstance(value, list) and value):
                raise BadRecord(Reason.BAD_VALUE)
            numbers = [*map(number, value if series else [value])]
            run = MappedRun(
                channel(meter, name), start, [nan] * len(numbers) if absent else numbers
            )
            if start + (len(numbers) - 1) * self.meaning.interval > LATEST:
                raise BadRecord(Reason.BAD_TIME)
            found.append(run)
        if not found:
            raise BadRecord(Reason.WRONG_SHAPE)
        return found

    def _meter(self, entries: tuple[Any, ...]) -> str:
        """Whose the reading is: the account's, where there is one."""
        account = self._optional(self.account, entries)
        if account is None and self.only_meter is not None:
            return self.only_meter
        found = account if account is not None or self.meter is None else _at(self.meter, entries)
        name = str(found) if isinstance(found, int) and not isinstance(found, bool) else found
        if not isinstance(name, str) or not is_meter(name):
            raise BadRecord(Reason.BAD_METER)
        return name

    def _start(self, entries: tuple[Any, ...]) -> int:
        """When the (first) reading began."""
        parts = [_at(place, entries) for place in self.time]
        if not all(isinstance(part, int | float | str) for part in parts):
            raise BadRecord(Reason.BAD_TIME)
        try:
            start = self.times.one(" ".join(map(str, parts))) - self.meaning.earlier
        except (ValueError, OverflowError):
            start = -1
        if start < 0:
            raise BadRecord(Reason.BAD_TIME)
        return start

    def _is_marked_absent(self, entries: tuple[Any, ...]) -> bool:
        mark = self._optional(self.quality, entries)
        if mark is None:
            return False
        if str(mark) in self.meaning.rejected:
            raise BadRecord(Reason.BAD_QUALITY)
        return str(mark) in self.meaning.absent

    def _refuse_other_units(self, entries: tuple[Any, ...]) -> None:
        said = self._optional(self.unit, entries)
        if said is not None and unit_of(str(said)) != self.meaning.quantity.unit:
            raise BadRecord(Reason.WRONG_UNIT)

    def _optional(self, place: FieldPlace | None, entries: tuple[Any, ...]) -> Any:  # noqa: ANN401
        """What stands there, or None."""
        try:
            return None if place is None else place.of(entries)
        except _NO_STEP:
            return None


def _at(place: FieldPlace, entries: tuple[Any, ...]) -> Any:  # noqa: ANN401 - JSON is anything
    try:
        return place.of(entries)
    except _NO_STEP:
        raise BadRecord(Reason.WRONG_SHAPE) from None


class _Locator(NamedTuple):
    """Finds the places of fields."""

    lists: tuple[str, ...]
    """The path to the innermost list that is gone through."""

    def known(self, name: str, path: str | None) -> FieldPlace | None:
        """The place of a field that may not be looked at."""
        return None if path is None else self.place(name, _steps_of(name, path))

    def place(self, name: str, path: tuple[str, ...]) -> FieldPlace:
        """Where a path leads. InvalidSetting: into another list."""
        around = _lists(path)
        if self.lists[: len(around)] != around:
            problem = "stands in another list than values and times do"
            raise InvalidSetting(f"input.{name}", problem, "write a path into the same one")
        return FieldPlace(around.count(ITEMS), path[len(around) :])


def _steps_of(name: str, path: str) -> tuple[str, ...]:
    """The steps of the path that a setting holds."""
    try:
        return steps(path)
    except ValueError:
        instead = 'write for example "ENERGY.Power"'
        raise InvalidSetting(f"input.{name}", "is no path", instead) from None


def _lists(path: tuple[str, ...]) -> tuple[str, ...]:
    """A path up to the last list that is gone through."""
    last = max((at for at, step in enumerate(path) if step == ITEMS), default=-1)
    return path[: last + 1]


def _loops(path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The ways from one list to the next."""
    while path:
        way = (*takewhile(lambda step: step != ITEMS, path),)
        yield way
        path = path[len(way) + 1 :]


def channel(meter: str, name: str) -> str:
    """The meter that a channel is. BadRecord: its id is too long."""
    if not name:
        return meter
    if len(full := f"{meter}:{name}") > LONGEST_METER:
        raise BadRecord(Reason.BAD_METER)
    return full


def is_meter(text: str) -> bool:
    """Whether it can be a meter's id."""
    return 0 < len(text) <= LONGEST_METER and not _CONTROLS.search(text)


def number(value: object) -> float:
    """A value, NaN where there is none. BadRecord: it is no number."""
    if type(value) is float and isfinite(value):
        return value  # as most are
    if value is None:
        return nan
    if isinstance(value, str):
        value = _in_figures(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRecord(Reason.BAD_VALUE)
    try:
        read = float(value)
    except OverflowError:
        read = inf
    if not isfinite(read) and read == read:  # noqa: PLR0124 - NaN alone is not itself
        raise BadRecord(Reason.BAD_VALUE)
    return read


def _in_figures(text: str) -> float:
    """The number that a text is, NaN where it says that there is none, infinite if it is none."""
    if text.lower() in NOTHING_READ:
        return nan
    return float(text) if NUMBER.fullmatch(text) else inf
