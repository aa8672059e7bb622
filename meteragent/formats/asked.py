"""What the wheel is told of a mapping, so that it finds and reads what the twin finds and reads.

It makes no watts of values, takes nothing from stamps, and knows no zone of places: Python does
that on the columns that it hands over.
"""

from datetime import UTC
from typing import NamedTuple

from meteragent.formats.csv_rows import Table
from meteragent.formats.mapped_one import Documents, FieldPlace
from meteragent.formats.mapping import NOTHING_READ, Meaning
from meteragent.formats.quantity import spellings
from meteragent.formats.times import TimeFormat

Way = list[tuple[str, int | None]]
"""Steps, each by its name, and which entry of a list it is."""
Where = tuple[int, Way]
"""How many lists are around a field, and the way from there; or its column, and no way."""

LARGEST_INDEX = 2**31


class Meant(NamedTuple):
    """How what is found is read."""

    time_format: str
    zone: bool | None
    """Whether local times are of Greenwich; nothing if there are none."""
    earlier: int
    interval: int
    absent: list[str]
    rejected: list[str]
    units: list[str]
    nothing: list[str]
    has_commas: bool


class Asked(NamedTuple):
    """Where fields are found."""

    lists: list[Way]
    """The ways from one list that is gone through to the next."""
    only_meter: str | None
    meter: Where | None
    account: Where | None
    time: list[Where]
    channels: list[tuple[str, Where, bool]]
    """What each value is called, where it stands, and whether it is a list."""
    quality: Where | None
    unit: Where | None
    meant: Meant


class _NotAsked(Exception):
    """A way that means something else to Python than to the wheel."""


def of_documents(documents: Documents) -> Asked | None:
    """What is asked of documents; nothing where the wheel cannot be told."""
    meaning = documents.meaning
    channels = zip(documents.names, documents.values, documents.series, strict=True)
    try:
        return Asked(
            lists=[_way(steps) for steps in documents.loops],
            only_meter=documents.only_meter,
            meter=_optional(documents.meter),
            account=_optional(documents.account),
            time=[_where(place) for place in documents.time],
            channels=[(name, _where(place), series) for name, place, series in channels],
            quality=_optional(documents.quality),
            unit=_optional(documents.unit),
            meant=_meant(meaning, documents.times, meaning.interval, has_commas=False),
        )
    except _NotAsked:
        return None


def of_table(table: Table) -> Asked:
    """What is asked of the lines of a table, each of which is one reading."""
    beside = table.beside
    return Asked(
        lists=[],
        only_meter=table.constant,
        meter=_column(table.meter),
        account=_column(beside.account),
        time=[(column, []) for column in table.time],
        channels=[("", (table.value, []), False)],
        quality=_column(beside.quality),
        unit=_column(beside.unit),
        meant=_meant(table.meaning, table.time_format, 1, has_commas=table.comma),
    )


def _meant(meaning: Meaning, times: TimeFormat, interval: int, *, has_commas: bool) -> Meant:
    return Meant(
        time_format=times.form,
        zone=None if times.zone is None else times.zone is UTC,
        earlier=meaning.earlier,
        interval=interval,
        absent=sorted(meaning.absent),
        rejected=sorted(meaning.rejected),
        units=spellings(meaning.quantity.unit),
        nothing=sorted(NOTHING_READ),
        has_commas=has_commas,
    )


def _column(number: int) -> Where | None:
    return None if number < 0 else (number, [])


def _optional(place: FieldPlace | None) -> Where | None:
    return None if place is None else _where(place)


def _where(place: FieldPlace) -> Where:
    return place.depth, _way(place.steps)


def _way(steps: tuple[str, ...]) -> Way:
    return [(step, _index(step)) for step in steps]


def _index(step: str) -> int | None:
    """Which entry of a list a step is, as Python has it, if it is one."""
    try:
        index = int(step)
    except ValueError:
        return None
    if not 0 <= index < LARGEST_INDEX:  # from the end
        raise _NotAsked
    return index
