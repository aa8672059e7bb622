"""Documents of any shape -> columns, as a mapping says.

Many documents are parsed together and read by `mapped_many`, wherever nothing is unusual. Where
anything is, that is tried with a few; and where it is among these, `mapped_one` judges each.
"""

from collections.abc import Iterator
from itertools import chain

import numpy as np

from meteragent.formats.forms import Body, Numbers, Payloads
from meteragent.formats.json_body import JsonBody
from meteragent.formats.json_many import all_present, packed
from meteragent.formats.json_one import MOST_BYTES, BadRecord
from meteragent.formats.mapped_many import Found, Gathered, ManyDocuments, joined
from meteragent.formats.mapped_one import Documents
from meteragent.formats.mapping import Mapping
from meteragent.stream.readings import Readings, Reason, Reject

CHUNK = 256
"""Documents that are parsed together."""
FEW = 32
"""And of those that cannot be: few enough to lose to one that is unusual."""


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
        self._many = ManyDocuments(one)

    def decode(self, values: Payloads, offsets: Numbers, timestamps: Numbers) -> Readings:
        """The columns of a batch, as `MessageDecoder` asks for them."""
        refused: dict[int, Reason] = {}
        found = self._found(values, refused)
        return self._readings(found, refused, offsets, timestamps)

    def _readings(
        self,
        found: list[Found],
        refused: dict[int, Reason],
        offsets: Numbers,
        timestamps: Numbers,
    ) -> Readings:
        meters, *columns = zip(*found, strict=True)
        of, starts, counts, numbers = map(np.concatenate, columns)
        return Readings(
            meters=[*chain.from_iterable(meters)],
            offsets=np.frombuffer(packed(offsets), np.int64)[of],
            timestamps=np.frombuffer(packed(timestamps), np.int64)[of],
            counts=counts,
            starts=starts,
            intervals=np.full(len(of), self._meaning.interval),
            watts=self._meaning.quantity.watts(numbers),
            rejects=[Reject(offsets[index], reason) for index, reason in refused.items()],
            next_offset=offsets[-1] + 1,
        )

    def _one_by_one(self, messages: Payloads, first: int, refused: dict[int, Reason]) -> Found:
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
        return Found(meters, whole[0], whole[1], whole[2], np.array(values, dtype=np.float64))

    def _found(self, values: Payloads, refused: dict[int, Reason]) -> list[Found]:
        """The runs of the good ones; the others are added to `refused`."""
        begins = range(0, len(values), CHUNK)
        chunks = [self._gathered(values[at : at + CHUNK], at) for at in begins]
        gathered = [chunk for chunk in chunks if chunk]
        if len(gathered) == len(chunks) and (whole := self._many.found(joined(gathered))):
            return [whole]
        return [
            found
            for chunk, at in zip(chunks, begins, strict=True)
            for found in self._found_in(chunk, values[at : at + CHUNK], at, refused)
        ]

    def _found_in(
        self, chunk: Gathered | None, messages: Payloads, first: int, refused: dict[int, Reason]
    ) -> Iterator[Found]:
        """The same of a chunk; if something is unusual about it, of a few of its documents each."""
        found = chunk and self._many.found(chunk)
        if found:
            yield found
        elif len(messages) <= FEW:
            yield self._one_by_one(messages, first, refused)
        else:
            for at in range(0, len(messages), FEW):
                few = messages[at : at + FEW]
                gathered = self._gathered(few, first + at)
                yield from self._found_in(gathered, few, first + at, refused)

    def _gathered(self, messages: Payloads, first: int) -> Gathered | None:
        """What stands in their fields, or None: something is unusual about one of them."""
        if not (self._many.can_be_alike and all_present(messages)):
            return None
        try:
            documents = self._body.many(messages)
        except ValueError:
            return None
        return None if documents is None else self._many.gathered(documents, first)
