"""What a partition of the input tells of one pane: sums over those of its homes that it has.

A sum is told as how far it is from that of the same homes at rest. So groups of which nobody was
heard need not be told of, and nobody has to know how many homes were. As bytes a partial is a
head of fixed length, then a row for each group: its tag, and the sum of each column. What is told
of a pane may take several records, which come one after the other.

A partial holds exact sums, of one home too: it is as sensitive as the readings.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np

from meteragent.privacy.arrays import Integers
from meteragent.privacy.entropy import TAG_BYTES
from meteragent.stream.meters import AssignedGroups
from meteragent.stream.roster import DIGEST_BYTES

_MAGIC, _AFTER = b"mpt1", b"mpta"
_HEAD = struct.Struct(f"<4s{DIGEST_BYTES}s{DIGEST_BYTES}sqIHHHI")
MOST_BYTES = 2**19
"""Of the rows of a record: brokers take a megabyte, unless they are told to take more."""


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """What a partition has of a pane, or a part of that."""

    way: bytes
    """Under which policy: see `way_of`."""
    members: bytes
    """The digest of who is in which group, as it was used."""
    pane: int
    source: int
    """The partition of the input; it has passed this pane, and told of all before it."""
    tags: bytes
    """Of the groups of which a home was heard in the pane's window so far, one after the other."""
    sums: Integers
    """sums[group, column]: how far from rest."""
    part: int = 0
    parts: int = 1
    follows: bool = False
    """Whether nobody was told of the panes before under this policy, but under another one."""

    @property
    def is_last(self) -> bool:
        """Whether nothing more is told of the pane."""
        return self.part + 1 == self.parts

    @property
    def groups(self) -> list[bytes]:
        """The tag of each row."""
        return [self.tags[at : at + TAG_BYTES] for at in range(0, len(self.tags), TAG_BYTES)]

    def records(self) -> Iterator[bytes]:
        """As it is sent: in as many records as its size asks for."""
        rows, columns = self.sums.shape
        most = max(1, MOST_BYTES // (TAG_BYTES + 8 * columns))
        parts = max(1, -(-rows // most))
        for part in range(parts):
            low, high = part * most, (part + 1) * most
            tags = self.tags[low * TAG_BYTES : high * TAG_BYTES]
            its = replace(self, tags=tags, sums=self.sums[low:high], part=part, parts=parts)
            yield its.dump()

    def dump(self) -> bytes:
        """As one record."""
        rows, columns = self.sums.shape
        numbers = (self.pane, self.source, self.part, self.parts, columns, rows)
        magic = _AFTER if self.follows else _MAGIC
        head = _HEAD.pack(magic, self.way, self.members, *numbers)
        return head + self.tags + self.sums.astype("<i8").tobytes()


def load(record: bytes) -> Partial | None:
    """What `dump` wrote, or nothing if it is not that."""
    if len(record) < _HEAD.size or not record.startswith((_MAGIC, _AFTER)):
        return None
    magic, way, members, pane, source, part, parts, columns, rows = _HEAD.unpack_from(record)
    begin = _HEAD.size + rows * TAG_BYTES
    if not columns or part >= parts or len(record) != begin + 8 * rows * columns:
        return None
    sums = np.frombuffer(record[begin:], "<i8").astype(np.int64).reshape(rows, columns)
    return Partial(
        way, members, pane, source, record[_HEAD.size : begin], sums, part, parts, magic == _AFTER
    )


def way_of(one: AssignedGroups) -> bytes:
    """What sums under a policy are called: no other policy's have the same name."""
    named = b"\0".join((one.prefix.encode(), one.name.encode(), one.policy.digest))
    return blake2b(named, digest_size=DIGEST_BYTES).digest()
