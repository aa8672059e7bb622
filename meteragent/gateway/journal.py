"""Readings on the disk, for as long as open windows need them.

A journal is a directory of segments, each named by the number of its first record. What is written
is written as a batch, and on the disk before anybody is told so; the next one is written after
that. So of all batches only the very last one may be torn, and it was never acknowledged: it is
cut off. Whatever else cannot be read was damaged later, and is refused.

Segments go one by one, once nobody needs their records; a loss of power may bring some of them
back, and they go again.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from meteragent.errors import FileRefused
from meteragent.gateway.disk import Disk, GrowingFile
from meteragent.gateway.errors import JournalDamaged, JournalLost
from meteragent.gateway.frames import (
    HEADER_BYTES,
    SALT,
    Frame,
    Header,
    JournalRecord,
    batch,
    follows,
    header,
    read_batch,
    read_header,
)

SUFFIX = ".journal"
MEGABYTE = 1_000_000
SEGMENTS = 16
"""Of a journal that is full; as small as that, none keeps much that nobody needs."""
LARGEST_SEGMENT = 4 * MEGABYTE


@dataclass(slots=True)
class Segment:
    """A file of the journal."""

    name: str
    first: int
    salt: bytes
    size: int = HEADER_BYTES


class Journal:
    """What came in, from the oldest record that is needed to the last one that was acknowledged."""

    def __init__(
        self,
        disk: Disk,
        name: str,
        *,
        limit: int = 64 * MEGABYTE,
        salt: Callable[[int], bytes] = os.urandom,
    ) -> None:
        """Nothing is read yet; `name` is that of the directory, for errors."""
        self._disk, self._name, self._salt = disk, name, salt
        self._limit = limit
        self._owner = b""
        self._full_segment = min(limit // SEGMENTS, LARGEST_SEGMENT)
        self._segments: list[Segment] = []
        self._file: GrowingFile | None = None
        self.next = 0
        """The number of the next record."""

    @property
    def size(self) -> int:
        """How large it is."""
        return sum(segment.size for segment in self._segments)

    @property
    def is_there(self) -> bool:
        """Whether there is anything of it."""
        return bool(self._names())

    def start(self, owner: bytes, first: int) -> None:
        """Begin anew, with this number."""
        for name in self._names():
            self._disk.remove(name)
        self._owner, self._segments, self.next = owner, [], first
        self._begin()

    def open(self, owner: bytes, oldest: int, known: int) -> None:
        """Go on with what is there: needed from `oldest` on, and surely written before `known`.

        JournalLost: it is not all there. JournalDamaged: it cannot be read. FileRefused: it is
        newer than the ledger, as records go only once the ledger says that nobody needs them.
        """
        self._owner = owner
        found = [*self._found()]
        if not found and known == 0:
            self.start(owner, 0)
            return
        if not found:
            raise JournalLost(self._name, "is missing, and open windows may need what it held")
        if found[0].first > oldest:
            raise refuse_ledger(self._name, "is newer than the ledger")
        needed = max(at for at, segment in enumerate(found) if segment.first <= oldest)
        for segment in found[:needed]:
            self._disk.remove(segment.name)
        self._segments = found[needed:]
        self.next = self._segments[0].first
        for at, segment in enumerate(self._segments):
            self._read_through(segment, is_last=at == len(self._segments) - 1)
        if self.next < known:
            raise JournalLost(
                self._name, "ends before the last reading that the ledger has taken from it"
            )
        self._file = self._disk.open(self._segments[-1].name)

    def records(self, since: int) -> Iterator[tuple[int, Sequence[JournalRecord]]]:
        """All records from a number on, by batches: the number of the first, and they."""
        for segment in self._segments:
            for one in _batches(segment, self._disk.read(segment.name)):
                skipped = max(0, since - one.first)
                if records := one.records[skipped:]:
                    yield one.first + skipped, records

    def has_room(self, records: Sequence[JournalRecord]) -> bool:
        """Whether these would fit in."""
        return self.size + sum(len(r.message) + len(r.meter) for r in records) <= self._limit

    def append(self, records: Sequence[JournalRecord]) -> int:
        """Add these; answer with the number of the first one.

        Postcondition: they are on the disk. An exception leaves that open: nothing may be
        appended after it.
        """
        if self._segments[-1].size >= self._full_segment:
            self._begin()
        assert self._file is not None  # noqa: S101 - opened, or begun
        segment, first = self._segments[-1], self.next
        data = batch(segment.salt, first, records)
        self._file.append(data)
        self._file.sync()
        segment.size += len(data)
        self.next += len(records)
        return first

    def forget(self, before: int) -> None:
        """Nobody needs what stands before this number any more."""
        while self.can_forget(before):
            self._disk.remove(self._segments.pop(0).name)

    def can_forget(self, before: int) -> bool:
        """Whether a whole segment stands before this number."""
        return len(self._segments) > 1 and self._segments[1].first <= before

    def close(self) -> None:
        """Let go of it."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _names(self) -> list[str]:
        return sorted(name for name in self._disk.names() if name.endswith(SUFFIX))

    def _begin(self) -> None:
        """A new segment is on the disk before anything is written to it."""
        self.close()
        segment = Segment(f"{self.next:020}{SUFFIX}", self.next, self._salt(SALT))
        self._file = self._disk.open(segment.name)
        self._file.append(header(Header(self._owner, segment.salt, segment.first)))
        self._file.sync()
        self._disk.sync_directory()
        self._segments.append(segment)

    def _found(self) -> Iterator[Segment]:
        """The segments that there are; without a last one that was just begun, and is torn."""
        names = self._names()
        for at, name in enumerate(names):
            text = self._disk.read(name)
            known = read_header(text)
            if known is not None and known.owner != self._owner:
                raise JournalLost(self._name, "belongs to another ledger")
            if known is not None:
                yield Segment(name, known.first, known.salt, len(text))
            elif at == len(names) - 1 and len(text) <= HEADER_BYTES:
                self._disk.remove(name)
            else:
                raise JournalDamaged(f"{self._name}/{name}", 0)

    def _read_through(self, segment: Segment, *, is_last: bool) -> None:
        """See that all of it is there; cut off a last batch that is torn."""
        if segment.first != self.next:
            raise JournalDamaged(f"{self._name}/{segment.name}", 0)
        text, end = self._disk.read(segment.name), HEADER_BYTES
        for one in _batches(segment, text):
            if one.first != self.next:
                raise JournalDamaged(f"{self._name}/{segment.name}", end)
            self.next += len(one.records)
            end = one.end
        if end == len(text):
            return
        if not is_last or follows(segment.salt, text, end):
            raise JournalDamaged(f"{self._name}/{segment.name}", end)
        file = self._disk.open(segment.name)
        file.cut(end)
        file.sync()
        file.close()
        segment.size = end


def _batches(segment: Segment, text: bytes) -> Iterator[Frame]:
    """The whole batches, up to the first that is none."""
    one = read_batch(segment.salt, text, HEADER_BYTES)
    while one is not None:
        yield one
        one = read_batch(segment.salt, text, one.end)


def refuse_ledger(name: str, how: str) -> FileRefused:
    """Why nobody may go on: accounts are lost, and would begin anew."""
    problem = f"{how}: what meters have spent is unknown"
    instead = "put the ledger back; or remove the journal: meters may then spend a second budget"
    return FileRefused(name, problem, instead)


def refuse_full(name: str, limit: int) -> FileRefused:
    """Why no more is taken in."""
    problem = f"is full: open windows need all of its {limit} megabytes"
    return FileRefused(name, problem, "raise mqtt.journal_limit")
