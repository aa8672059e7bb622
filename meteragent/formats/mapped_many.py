"""What many documents mean under a mapping, read field by field, wherever nothing is unusual.

`mapped_one` says what one document means. Here each field is taken of all documents at once, entry
by entry of their lists; whatever is not surely what `mapped_one` says of each is left to it.
"""

from collections.abc import Sequence
from itertools import chain
from struct import error as CannotPack  # noqa: N812 - it says what happened
from struct import pack
from typing import Any, NamedTuple, Protocol

import numpy as np

from meteragent.formats.json_many import packed
from meteragent.formats.json_one import LATEST, LONGEST_METER, MOST_VALUES, BadRecord
from meteragent.formats.mapped_one import Documents, FieldPlace, channel
from meteragent.formats.quantity import unit_of
from meteragent.privacy.arrays import Integers
from meteragent.privacy.domain import Watts

_UNLIKE = (
    *(KeyError, IndexError, TypeError, ValueError, OverflowError, AttributeError),
    *(CannotPack, BadRecord),
)
"""What is raised where documents are not alike, or hold what is no number, time or text."""
_SECOND = 1000
_NUMBERS = {int, float, type(None)}


class Entries(Protocol):
    """Entries of the innermost list, of all documents; without lists, the documents."""

    @property
    def of(self) -> Integers:
        """Which message of the batch each stands in."""

    def column(self, place: FieldPlace) -> list[Any]:
        """What stands at a place. One of `_UNLIKE`: somewhere nothing does."""

    def may_say(self, place: FieldPlace) -> bool:
        """Whether anything may stand there, of any of them."""


class Gathered(NamedTuple):
    """What stands in the fields of documents, entry by entry; nobody has looked yet what it is."""

    of: Integers
    """Which message of the batch each entry stands in."""
    meters: Sequence[Any]
    times: list[Any]
    cells: list[Any]
    """Of each entry as many as a document has channels."""


class Found(NamedTuple):
    """Good documents as columns, of which each row is a run; `values` are in the mapping's unit."""

    meters: Sequence[str]
    of: Integers
    starts: Integers
    counts: Integers
    values: Watts


class ManyDocuments:
    """Reads documents that are alike."""

    def __init__(self, one: Documents) -> None:
        self._one = one
        self._marks = one.meaning.absent | one.meaning.rejected
        self._are_series = all(one.series)
        self.can_be_alike = self._are_series or not any(one.series)
        """Not where some channels are lists, and others are not."""

    def gathered(self, documents: list[dict[str, Any]], first: int) -> Gathered | None:
        """What stands in their fields, or None: something is unusual about one of them.

        `first`: which message of the batch the first of them is.
        """
        try:
            return self._gathered(_entered(documents, self._one.loops, first))
        except _UNLIKE:
            return None

    def found(self, some: Gathered) -> Found | None:
        """What all of them hold, or None: something is unusual about one of them."""
        try:
            return self._runs(some)
        except _UNLIKE:
            return None

    def found_in(self, entries: Entries) -> Found | None:
        """The same of entries that are told otherwise than by documents."""
        try:
            return self._runs(self._gathered(entries))
        except _UNLIKE:
            return None

    def _gathered(self, entries: Entries) -> Gathered:
        """What stands in the fields of entries. One of `_UNLIKE`: that is unusual."""
        one = self._one
        if not (self.can_be_alike and self._are_usual(entries)):
            raise ValueError("not as usual")
        times = [entries.column(place) for place in one.time]
        cells = [entries.column(place) for place in one.values]
        return Gathered(
            entries.of,
            self._named(entries),
            times[0] if len(times) == 1 else [*map(" ".join, zip(*times, strict=True))],
            cells[0] if len(cells) == 1 else [*chain.from_iterable(zip(*cells, strict=True))],
        )

    def _are_usual(self, entries: Entries) -> bool:
        """Whether nothing says another unit, and all qualities are such as are taken."""
        one, unit = self._one, self._one.meaning.quantity.unit
        if one.unit is not None and entries.may_say(one.unit):
            said = {*entries.column(one.unit)} - {None}
            if {unit_of(str(text)) for text in said} - {unit}:
                return False
        if one.quality is None or not entries.may_say(one.quality):
            return True
        return not {*map(str, entries.column(one.quality))} & self._marks

    def _named(self, entries: Entries) -> Sequence[Any]:
        """Whose each entry is."""
        one = self._one
        if one.account is not None and entries.may_say(one.account):
            return entries.column(one.account)
        if one.meter is not None:
            return entries.column(one.meter)
        return [one.only_meter] * len(entries.of)

    def _runs(self, some: Gathered) -> Found | None:
        of, _, said, cells = some
        one, meters, starts = self._one, _ids(some.meters), self._starts(said)
        if one.names != ("",):
            several = len(one.names)
            meters = [channel(meter, name) for meter in meters for name in one.names]
            starts, of = np.repeat(starts, several), np.repeat(of, several)
        counts = np.ones_like(of)
        if self._are_series:
            counts, cells = _lengths(cells), [*chain.from_iterable(cells)]
        if int((starts + (counts - 1) * one.meaning.interval).max()) > LATEST:
            return None
        if len(cells) > MOST_VALUES and np.bincount(of, counts).max() > MOST_VALUES:
            return None
        values = _numbers(cells)
        return None if values is None else Found(meters, of, starts, counts, values)

    def _starts(self, said: list[Any]) -> Integers:
        """When each entry's first reading began. One of `_UNLIKE`: that is unusual.

        Why not in the first second that there is: what is true or false would be one.
        """
        if type(said[0]) is int:
            times = self._one.times.figures(np.frombuffer(packed(said), np.int64))
        else:
            times = self._one.times.column([text.encode() for text in said])
        if times is None or int(times.min()) <= _SECOND or int(times.max()) > LATEST:
            raise ValueError("no times")
        starts: Integers = times - self._one.meaning.earlier
        if int(starts.min()) < 0:
            raise ValueError("before all times")
        return starts


def joined(parts: Sequence[Gathered]) -> Gathered:
    """Of all these documents, one after the other."""
    if len(parts) == 1:
        return parts[0]
    of, meters, times, cells = zip(*parts, strict=True)
    lists = [[*chain.from_iterable(column)] for column in (meters, times, cells)]
    return Gathered(np.concatenate(of), lists[0], lists[1], lists[2])


class _DocumentEntries(NamedTuple):
    """Of documents that were read already."""

    of: Integers
    levels: list[list[Any]]
    """The document, the entry in it, and so on, of each of them."""

    def column(self, place: FieldPlace) -> list[Any]:
        return _column(self.levels[place.depth], place.steps)

    def may_say(self, place: FieldPlace) -> bool:
        step, *more = place.steps
        around = self.levels[place.depth]
        if more or (place.depth and {*map(type, around)} != {dict}):
            return True
        return [None for one in around if step in one] != []


def _entered(
    documents: list[dict[str, Any]], loops: Sequence[tuple[str, ...]], first: int
) -> _DocumentEntries:
    """All entries. One of `_UNLIKE`: somewhere there are none."""
    of, levels = np.arange(first, first + len(documents)), [documents]
    for way in loops:
        lists = _column(levels[-1], way)
        rows = np.repeat(np.arange(len(of)), _lengths(lists))
        of, around = of[rows], rows.tolist()
        levels = [[level[row] for row in around] for level in levels]
        levels.append([*chain.from_iterable(lists)])
    return _DocumentEntries(of, levels)


def _column(around: list[Any], steps: tuple[str, ...]) -> list[Any]:
    found = around
    for step in steps:
        if step.isdigit():
            at = int(step)
            found = [one[at] if type(one) is list else one[step] for one in found]
        else:
            found = [one[step] for one in found]
    return found


def _ids(names: Sequence[Any]) -> Sequence[str]:
    """The ids of meters that these are. One of `_UNLIKE`: not all of them are plainly that."""
    if type(names[0]) is int and {*map(type, names)} == {int}:
        return _ids([*map(str, names)])
    if "".join(names).isprintable() and all(names) and max(map(len, names)) <= LONGEST_METER:
        return names
    raise ValueError("no ids")


def _lengths(lists: list[Any]) -> Integers:
    """How much each holds. ValueError: one is no list, or empty."""
    if {*map(type, lists)} != {list} or not all(lists):
        raise ValueError("no lists")
    return np.array([*map(len, lists)])


def _numbers(values: list[Any]) -> Watts | None:
    """They as numbers, NaN where there is none; or None: one is none that is plainly one.

    Why zeros and ones are looked at: what is true or false would be one.
    """
    try:
        found: Watts = np.frombuffer(pack(f"{len(values)}d", *values))
    except CannotPack:
        if not {*map(type, values)} <= _NUMBERS:
            return None
        found = np.array(values, dtype=np.float64)
    small = np.flatnonzero((found == 0) | (found == 1)).tolist()
    if any(type(values[at]) is bool for at in small) or np.isinf(found).any():
        return None
    return found
