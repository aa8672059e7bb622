"""Batches of JSON records -> columns: the only reader of what meters and gateways write.

`json_one` says what one record means, `json_many` reads many at once. A chunk in which anything is
unusual is judged record by record, so that a bad record costs its neighbours a little time and
nothing else.
"""

from itertools import chain

import numpy as np

from meteragent.formats.forms import Body, Numbers, Payloads
from meteragent.formats.json_body import complete
from meteragent.formats.json_many import Runs, of_documents, packed, runs, together
from meteragent.formats.json_one import (
    MOST_BYTES,
    BadRecord,
    Fields,
    judge,
    judge_document,
)
from meteragent.privacy.arrays import Integers
from meteragent.stream.readings import Readings, Reason, Reject

CHUNK = 128
"""Records parsed together: enough to spread the call, few enough to lose to a bad one."""


class Decoder:
    """Decodes batches; it holds settings only, so any number of partitions may share it."""

    def __init__(self, max_bytes: int = MOST_BYTES) -> None:
        self.max_bytes = max_bytes

    def decode(self, values: Payloads, offsets: Numbers, timestamps: Numbers) -> Readings:
        """The columns of a batch, as `MessageDecoder` asks for them."""
        refused: dict[int, Reason] = {}
        chunks: list[Runs] = []
        for first in range(0, len(values), CHUNK):
            chunk = values[first : first + CHUNK]
            found = self._together(chunk)
            chunks.append(found or self._one_by_one(chunk, first, refused))
        meters, *columns, watts = zip(*chunks, strict=True)
        starts, intervals, counts = (_integers(b"".join(column)) for column in columns)
        good = np.ones(len(values), dtype=np.bool_)
        good[list(refused)] = False
        return Readings(
            meters=list(chain.from_iterable(meters)),
            offsets=_integers(packed(offsets))[good],
            timestamps=_integers(packed(timestamps))[good],
            counts=counts,
            starts=starts,
            intervals=intervals,
            watts=np.frombuffer(b"".join(watts)),
            rejects=[Reject(offsets[index], reason) for index, reason in refused.items()],
            next_offset=offsets[-1] + 1,
        )

    def _together(self, messages: Payloads) -> Runs | None:
        """The runs of messages, or None: something is unusual about them."""
        return together(messages, self.max_bytes)

    def _judged(self, message: bytes | None) -> Fields:
        """The fields of one. BadRecord: it is bad."""
        return judge(complete(message, self.max_bytes))

    def _one_by_one(self, messages: Payloads, first: int, refused: dict[int, Reason]) -> Runs:
        """The runs of the good ones; the others are added to `refused`."""
        records = []
        for index, message in enumerate(messages, first):
            try:
                records.append(self._judged(message))
            except BadRecord as why:
                refused[index] = why.reason
        return runs(records)


class DocumentDecoder(Decoder):
    """The same of canonical documents that are written otherwise than in JSON."""

    def __init__(self, body: Body) -> None:
        super().__init__()
        self._body = body

    def _together(self, messages: Payloads) -> Runs | None:
        if not all(messages):
            return None
        documents = self._body.many([message for message in messages if message])
        return None if documents is None else of_documents(documents)

    def _judged(self, message: bytes | None) -> Fields:
        return judge_document(self._body.one(message))


def refusing(offsets: Numbers, reason: Reason) -> Readings:
    """Nothing but rejects, all for one reason."""
    none = _integers(b"")
    rejects = [Reject(offset, reason) for offset in offsets]
    return Readings([], none, none, none, none, none, np.empty(0), rejects, offsets[-1] + 1)


def _integers(numbers: bytes) -> Integers:
    return np.frombuffer(numbers, np.int64)
