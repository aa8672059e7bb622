"""One partition of the input, read by several kinds of work in one process: decoded once.

Each kind of work has its consumer group, its position and its transactions, and none knows how far
the others are. So each fetches for itself; but what a batch holds is the same for all, and to find
that out is most of what a record costs. Whoever comes to a batch first decodes it, and what it has
found is kept until the other one has come there too, or until there is too much of it: who falls
behind, or reads again, decodes for itself. Nothing depends on who it was.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from weakref import WeakSet

from meteragent.config import Config
from meteragent.formats.messages import message_decoder
from meteragent.kafka.unpack import Unpacker, unpacker_for
from meteragent.kafka.walk import MAGIC, Fetched, magic, offsets_of
from meteragent.stream.readings import Readings, joined

MOST_KEPT = 2**18
"""Readings of one partition that are kept for others."""


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """What stands in a stretch of a partition."""

    first: int
    until: int
    readings: Readings | None

    def __len__(self) -> int:
        return 0 if self.readings is None else len(self.readings.watts)


class _Partition:
    """What was read of one partition, for those who still come there."""

    def __init__(self, unpacker: Unpacker) -> None:
        self._unpacker = unpacker
        self._kept: list[_Read] = []
        self.readers: WeakSet[SharedReader] = WeakSet()

    def columns(self, fetched: Fetched) -> Readings | None:
        """What the records hold that are wanted of these; nothing if none is."""
        if len(self.readers) == 1:
            self._kept = []
        old = any(magic(fetched.raw, at) < MAGIC for at, _ in fetched.spans)
        if old or len(self.readers) == 1:
            return self._unpacker.columns(fetched)
        return joined([part for part in self._parts(fetched) if part is not None])

    def _parts(self, fetched: Fetched) -> Iterator[Readings | None]:
        """What is kept, and what is decoded now, in the order of the records."""
        found = [(span, self._covering(fetched, span)) for span in fetched.spans]
        for read, its in groupby(found, key=lambda one: one[1]):
            spans = tuple(span for span, _ in its)
            first = _wanted(fetched, spans[0])[0]
            until = _wanted(fetched, spans[-1])[1]
            if read is None:
                yield self._decoded(replace(fetched, spans=spans), first, until)
                continue
            if until == read.until:
                self._kept.remove(read)
            yield None if read.readings is None else read.readings.between(first, until)

    def _covering(self, fetched: Fetched, span: tuple[int, int]) -> _Read | None:
        first, until = _wanted(fetched, span)
        return next((r for r in self._kept if r.first <= first and until <= r.until), None)

    def _decoded(self, fetched: Fetched, first: int, until: int) -> Readings | None:
        readings = self._unpacker.columns(fetched)
        self._kept.append(_Read(first, until, readings))
        while sum(map(len, self._kept)) > MOST_KEPT:  # who falls behind comes there last
            self._kept.remove(min(self._kept, key=lambda read: read.first))
        return readings


def _wanted(fetched: Fetched, span: tuple[int, int]) -> tuple[int, int]:
    """From which offset on, and up to which, records of a batch are wanted."""
    first, until = offsets_of(fetched.raw, span[0])
    return max(first, fetched.first), min(until, fetched.until)


class SharedReader:
    """One kind of work on a partition."""

    def __init__(self, partition: _Partition) -> None:
        self._partition = partition
        partition.readers.add(self)

    def ahead(self, fetched: Fetched) -> None:
        """Who comes to it first decodes it, and nobody knows yet who that is."""

    def columns(self, fetched: Fetched) -> Readings | None:
        """What the records hold that are wanted of these; nothing if none is."""
        return self._partition.columns(fetched)


class DecodedOnce:
    """All partitions of an input that several kinds of work read in this process."""

    def __init__(self, config: Config) -> None:
        self._mapping = config.mapping
        self.decoder = message_decoder(config.mapping)
        self._partitions: dict[int, _Partition] = {}

    def reader(self, partition: int) -> SharedReader:
        """For one kind of work; another one that reads the same has its own."""
        known = self._partitions.get(partition)
        if known is None:
            its = unpacker_for(self._mapping, self.decoder)
            known = self._partitions[partition] = _Partition(its)
        return SharedReader(known)
