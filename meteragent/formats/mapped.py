"""Documents of any shape -> columns, as a mapping says.

`mapped_one` says what one document means. Here many are parsed together and read field by field,
wherever nothing is unusual; a chunk in which anything is, is judged document by document.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from meteragent.formats.forms import Body, Numbers, Payloads
from meteragent.formats.json_body import JsonBody
from meteragent.formats.json_one import (
    LATEST,
    LONGEST_METER,
    MOST_BYTES,
    BadRecord,
)
from meteragent.formats.mapped_one import Documents, FieldPlace
from meteragent.formats.mapping import Mapping
from meteragent.privacy.arrays import Integers
from meteragent.privacy.domain import Watts
from meteragent.stream.readings import Readings, Reason, Reject

CHUNK = 256
"""Documents that are parsed together."""


class _Found(NamedTuple):
    """Good documents as columns; `values` are in the mapping's unit."""

    meters: Sequence[str]
    of: Integers
    """Which message of the batch each run stands in."""
    starts: Integers
    counts: Integers
    values: Watts


class MappedDecoder:
    """Decodes batches; it holds settings only, so any number of partitions may share it."""

    def __init__(
        self, mapping: Mapping, max_bytes: int = MOST_BYTES, body: Body | None = None
    ) -> None:
        """Find where everything stands. InvalidSetting: that makes no sense."""
        self._body = body or JsonBody(max_bytes)
        self.is_plain_json = body is None and max_bytes == MOST_BYTES
        self.documents = one = Documents(mapping)
        self._meaning = mapping.meaning
        self._alike = not one.in_lists and len(one.values) == 1 and one.account is None
        """Whether every good document is one reading, and thus worth to be read with others."""
        self._marks = mapping.meaning.absent | mapping.meaning.rejected

    def decode(self, values: Payloads, offsets: Numbers, timestamps: Numbers) -> Readings:
        """The columns of a batch, as `MessageDecoder` asks for them."""
        refused: dict[int, Reason] = {}
        chunks: list[_Found] = []
        for first in range(0, len(values), CHUNK):
            chunk = values[first : first + CHUNK]
            found = self._together(chunk, first) if self._alike else None
            chunks.append(found or self._one_by_one(chunk, first, refused))
        meters, *columns = zip(*chunks, strict=True)
        of, starts, counts, numbers = map(np.concatenate, columns)
        return Readings(
            meters=[*chain.from_iterable(meters)],
            offsets=np.array(offsets, dtype=np.int64)[of],
            timestamps=np.array(timestamps, dtype=np.int64)[of],
            counts=counts,
            starts=starts,
            intervals=np.full(len(of), self._meaning.interval),
            watts=self._meaning.quantity.watts(numbers),
            rejects=[Reject(offsets[index], reason) for index, reason in refused.items()],
            next_offset=offsets[-1] + 1,
        )

    def _one_by_one(self, messages: Payloads, first: int, refused: dict[int, Reason]) -> _Found:
        """The runs of the good ones; the others are added to `refused`."""
        meters, of, starts, counts, values = [], [], [], [], []
        for index, message in enumerate(messages, first):
            try:
                runs = self.documents.runs(self._body.one(message))
            except BadRecord as why:
                refused[index] = why.reason
                continue
            for run in runs:
                meters.append(run.meter)
                of.append(index)
                starts.append(run.start)
                counts.append(len(run.values))
                values += run.values
        whole = [np.array(column, dtype=np.int64) for column in (of, starts, counts)]
        return _Found(meters, whole[0], whole[1], whole[2], np.array(values, dtype=np.float64))

    def _together(self, messages: Payloads, first: int) -> _Found | None:
        """The readings of all, or None: something is unusual about one of them."""
        if not all(messages):
            return None
        try:
            records = self._body.many([message for message in messages if message])
            return None if records is None else self._columns(records, first)
        except (KeyError, IndexError, TypeError, ValueError, OverflowError):
            return None

    def _columns(self, records: list[Any], first: int) -> _Found | None:
        one = self.documents
        if one.meter is None:
            meters: Sequence[str] = [one.only_meter or ""] * len(records)
        else:
            meters = _column(one.meter, records)
            if {*map(type, meters)} != {str} or not _are_meters(meters):
                return None
        starts, values = self._starts(records), _column(one.values[0], records)
        if starts is None or not {*map(type, values)} <= _NUMBERS or not self._agree(records):
            return None
        found = np.array(values, dtype=np.float64)
        if np.isinf(found).any():
            return None
        of = np.arange(first, first + len(records))
        return _Found(meters, of, starts, np.ones_like(of), found)

    def _starts(self, records: list[Any]) -> Integers | None:
        parts = [_column(place, records) for place in self.documents.time]
        times = self._times(parts[0] if len(parts) == 1 else [*map(" ".join, zip(*parts))])  # noqa: B905
        if times is None or int(times.max()) > LATEST:
            return None
        starts: Integers = times - self._meaning.earlier
        return starts if int(starts.min()) >= 0 else None

    def _times(self, said: list[Any]) -> Integers | None:
        kinds = {*map(type, said)}
        if kinds == {int}:
            return self.documents.times.figures(said)
        if kinds == {str}:
            return self.documents.times.column([text.encode() for text in said])
        return None

    def _agree(self, records: list[Any]) -> bool:
        """Whether no document says another unit, and all qualities are such as are taken."""
        one = self.documents
        if one.unit is not None and self._says(one.unit, records):
            units = {*_column(one.unit, records)}
            if units != {self._meaning.quantity.unit}:
                return False
        if one.quality is None:
            return True
        return not {*map(str, _column(one.quality, records))} & self._marks

    def _says(self, place: FieldPlace, records: list[Any]) -> bool:
        """Whether any document may say something there."""
        return len(place.steps) > 1 or any(place.steps[0] in record for record in records)


_NUMBERS = {int, float, type(None)}


def _column(place: FieldPlace, records: list[Any]) -> list[Any]:
    """What stands at a place of each. Precondition: there are no lists on the way."""
    found = records
    for step in place.steps:
        if step.isdigit():
            at = int(step)
            found = [one[at] if type(one) is list else one[step] for one in found]
        else:
            found = [one[step] for one in found]
    return found


def _are_meters(meters: Sequence[str]) -> bool:
    return "".join(meters).isprintable() and all(meters) and max(map(len, meters)) <= LONGEST_METER
