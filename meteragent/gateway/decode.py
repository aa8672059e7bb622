"""Records of the journal -> columns, and whose they are."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from meteragent.formats.mapped_one import is_meter
from meteragent.formats.mapping import Mapping
from meteragent.formats.messages import message_decoder
from meteragent.gateway.frames import JournalRecord, RecordKind
from meteragent.stream.readings import Readings, Reason, Reject

OF_TOPIC = "\0"
"""Stands for the meter that a topic names; no message can say it."""


class Decoding:
    """Reads messages, as the configuration's input says."""

    def __init__(self, mapping: Mapping) -> None:
        """InvalidSetting: the mapping makes no sense for messages."""
        columns = replace(mapping.columns, constant_meter=OF_TOPIC)
        named = replace(mapping, columns=columns, given=mapping.given | {"only_meter"})
        self._decoders = {
            RecordKind.MESSAGE: message_decoder(mapping),
            RecordKind.NAMED: message_decoder(named),
        }

    def readings(
        self, first: int, records: Sequence[JournalRecord]
    ) -> Iterator[Readings | JournalRecord]:
        """The columns of messages, and ticks as they are, in order."""
        numbered = enumerate(records, first)
        for kind, group in groupby(numbered, key=lambda pair: pair[1].kind):
            offsets, run = zip(*group, strict=True)
            if kind is RecordKind.TICK:
                yield from run
                continue
            messages, times = [r.message for r in run], [r.time for r in run]
            found = self._decoders[kind].decode(messages, offsets, times)
            names = dict(zip(offsets, (r.meter for r in run), strict=True))
            yield _named(found, names) if kind is RecordKind.NAMED else found


def _named(readings: Readings, names: dict[int, str]) -> Readings:
    """With the meters that topics name; those that are none are rejected, whole records at once."""
    meters, unfit = [], set()
    for meter, offset in zip(readings.meters, readings.offsets.tolist(), strict=True):
        name = meter
        if meter.startswith(OF_TOPIC):
            name = names[offset] + meter.removeprefix(OF_TOPIC)
            if not is_meter(names[offset]) or not is_meter(name):
                unfit.add(offset)
        meters.append(name)
    found = replace(readings, meters=meters)
    if not unfit:
        return found
    rejects = [*readings.rejects, *(Reject(offset, Reason.BAD_METER) for offset in unfit)]
    fit = ~np.isin(readings.offsets, [*unfit])
    return found.chosen(fit, sorted(rejects), readings.next_offset)
