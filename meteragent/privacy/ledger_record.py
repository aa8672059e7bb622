"""Ledger records: an account as bytes, and back, under the same shares or changed ones.

Little endian, one record per meter; the latest of a meter holds all there is to know:

    magic    4 bytes   "mtr2"
    rings    uint16    how many rings the account has, one for each policy of the meter
    zero     uint16

then the shape of each ring, which is the same for all meters of a policy:

    mark     uint64    of the policy's name: see `Share`
    item     uint16    bytes per entry of `spent`: 2, 4 or 8
    ring     uint16    number of entries
    private  uint32    1 if the policy's presence is private; and, times 2, the `mark` of windows
    budget   int64     nano-units per watt that it may spend over any `horizon`
    horizon  int64
    bucket   int64     width of a bucket; of a calendar's windows, on average
    reach    int64     bucket `b` holds windows that are over by `b * bucket + reach`
    unit     int64     nano-units per watt that an entry of 1 means

and then the content of each ring, in the same order:

    head     int64     the newest bucket
    until    int64     every window ending by then has been decided
    spent    item * ring   `spent[i]`: units of the newest bucket `b <= head` with b % ring == i

What stands behind that is not of the account (`stream.fold_record`).

Times are in milliseconds. An entry of `full` means that much or more. Records of version 0.1
begin with "mtrL" and hold one ring, without its name, privacy, budget and horizon.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meteragent.errors import LedgerDamaged
from meteragent.privacy.arrays import Integers
from meteragent.privacy.ledger import NEVER, Ledger, full
from meteragent.privacy.terms import MOST_BUCKETS, MOST_BUDGET, Share, Terms
from meteragent.privacy.windows import LONGEST

MAGIC, FIRST_MAGIC = b"mtr2", b"mtrL"
"""Of these records, and of those of version 0.1."""
OPEN_WINDOWS = b"fld1"
"""What stands behind an account begins so."""
MOST_RINGS = 64
_NUMBERS = ("bucket", "reach", "unit")
_HEAD = np.dtype([("magic", "S4"), ("rings", "<u2"), ("zero", "<u2")])
_FIRST_HEAD = np.dtype(
    [("magic", "S4"), ("item", "<u2"), ("ring", "<u2"), *((name, "<i8") for name in _NUMBERS)]
)
_LATEST = 2**60
_CHUNK = 1024  # records at a time, so that temporaries stay in the processor's cache


class Shape(NamedTuple):
    """What a ring is, without what is in it."""

    mark: int
    item: int
    ring: int
    kind: int
    budget: int
    horizon: int
    bucket: int
    reach: int
    unit: int

    @classmethod
    def of(cls, share: Share, ledger: Ledger) -> "Shape":
        """As a ledger keeps it now."""
        terms, item = share.terms, ledger.buckets.dtype.itemsize
        kind = int(share.private) + 2 * terms.windows.mark
        own = (share.mark, item, ledger.buckets_kept, kind)
        return cls(*own, terms.budget, terms.horizon, terms.bucket, terms.reach, ledger.unit)

    @property
    def private(self) -> bool:
        """Whether presence is."""
        return bool(self.kind % 2)

    def is_of(self, terms: Terms) -> bool:
        """Whether buckets hold the windows that those of these terms hold."""
        windows = (self.bucket, self.reach, self.kind // 2)
        return windows == (terms.bucket, terms.reach, terms.windows.mark)

    @property
    def is_possible(self) -> bool:
        """Whether an account can be kept so."""
        lengths = (self.horizon, self.bucket, self.reach)
        return (
            (self.item in {2, 4, 8} and 0 < self.ring <= MOST_BUCKETS)
            and all(0 < length <= 2 * LONGEST for length in lengths)
            and all(0 < nano <= MOST_BUDGET for nano in (self.budget, self.unit))
        )


_SHAPE = np.dtype([*zip(Shape._fields, ["<u8", "<u2", "<u2", "<u4", *["<i8"] * 5], strict=True)])


class Ring(NamedTuple):
    """One ring of several accounts that have it in one shape."""

    shape: Shape
    is_named: bool
    """Or version 0.1 wrote it, and nobody knows whose it is."""
    head: Integers
    until: Integers
    spent: NDArray[np.signedinteger]
    """spent[account, entry]"""

    @property
    def full(self) -> int:
        """What an entry says that holds as much as that, or more."""
        return full(self.spent.dtype, self.shape.unit)


def dump(shares: Sequence[Share], ledgers: Sequence[Ledger], accounts: Integers) -> list[bytes]:
    """Write these accounts as records, in their order; `ledgers` holds the ring of each share."""
    shapes = tuple(map(Shape.of, shares, ledgers))
    before = np.array((MAGIC, len(shapes), 0), _HEAD).tobytes()
    before += np.array([*map(tuple, shapes)], _SHAPE).tobytes()
    layout, records = _layout(len(before), shapes), []
    for first in range(0, len(accounts), _CHUNK):
        some = accounts[first : first + _CHUNK]
        table = np.empty(len(some), dtype=layout)
        table["before"] = np.void(before)
        for nth, ledger in enumerate(ledgers):
            table[f"head{nth}"] = ledger.head[some]
            table[f"until{nth}"] = ledger.released_until[some]
            table[f"spent{nth}"] = ledger.buckets[some]
        records += table.view(f"V{layout.itemsize}").tolist()
    return records


def parsed(records: Sequence[bytes]) -> Iterator[tuple[list[int], list[Ring]]]:
    """Which of these records have the same shape, and the rings that they hold."""
    for before, members in _by_shape(records):
        yield members, _rings(before, [records[member] for member in members])


def behind(records: Sequence[bytes]) -> list[bytes]:
    """What stands behind the account in each of these records."""
    lengths: dict[bytes, int] = {}
    tails = []
    for record in records:
        before = record[: _length_before(record)]
        if before not in lengths:
            lengths[before] = _layout(len(before), _shapes(before)).itemsize
        tails.append(record[lengths[before] :])
    return tails


def _by_shape(records: Sequence[bytes]) -> Iterator[tuple[bytes, list[int]]]:
    """What stands before the content of records -> which ones; nearly always all of them."""
    starts = [*map(itemgetter(slice(_length_before(records[0]))), records)]
    if len(set(starts)) > 1:
        starts = [record[: _length_before(record)] for record in records]
    for before in dict.fromkeys(starts):
        yield before, [nth for nth, its in enumerate(starts) if its == before]


def _length_before(record: bytes) -> int:
    """How many bytes stand before the content of a record."""
    if record[:4] == FIRST_MAGIC:
        return _FIRST_HEAD.itemsize
    rings = int.from_bytes(record[4:6], "little")
    if record[:4] != MAGIC or record[6:8] != b"\0\0" or not 0 < rings <= MOST_RINGS:
        raise LedgerDamaged("a record is not a ledger record of a version that is known here")
    return _HEAD.itemsize + rings * _SHAPE.itemsize


@lru_cache(maxsize=2**8)
def _layout(before: int, shapes: tuple[Shape, ...]) -> np.dtype[np.void]:
    fields: list[tuple[Any, ...]] = [("before", f"V{before}")]
    for nth, shape in enumerate(shapes):
        fields += [(f"head{nth}", "<i8"), (f"until{nth}", "<i8")]
        fields.append((f"spent{nth}", f"<i{shape.item}", (shape.ring,)))
    return np.dtype(fields)


def _rings(before: bytes, records: list[bytes]) -> list[Ring]:
    """Read records of one shape."""
    shapes = _shapes(before)
    layout = _layout(len(before), shapes)
    length = layout.itemsize
    beyond = {len(record) - length and record[length : length + 4] for record in records}
    if not beyond <= {0, OPEN_WINDOWS}:
        raise LedgerDamaged("a ledger record is cut short or too long")
    table = np.frombuffer(b"".join([record[:length] for record in records]), dtype=layout)
    is_named = before[:4] == MAGIC
    rings = [
        Ring(shape, is_named, table[f"head{nth}"], table[f"until{nth}"], table[f"spent{nth}"])
        for nth, shape in enumerate(shapes)
    ]
    if not all(map(_is_possible, rings)):
        raise LedgerDamaged("a ledger record holds numbers that no account can have")
    return rings


def _shapes(before: bytes) -> tuple[Shape, ...]:
    """The shapes of the rings of a record."""
    if len(before) < _length_before(before):
        raise LedgerDamaged("a ledger record is cut short")
    shapes: tuple[Shape, ...]
    if before[:4] == FIRST_MAGIC:
        _, item, ring, *numbers = np.frombuffer(before, _FIRST_HEAD).item()
        shapes = (Shape(0, item, ring, 0, MOST_BUDGET, 1, *numbers),)
    else:
        table = np.frombuffer(before, _SHAPE, offset=_HEAD.itemsize)
        shapes = tuple(Shape(*numbers) for numbers in table.tolist())
    if not all(shape.is_possible for shape in shapes):
        raise LedgerDamaged("a ledger record is kept under terms that no account can have")
    return shapes


def _is_possible(ring: Ring) -> bool:
    """Whether sums and products of these numbers stay within 64 bits."""
    new = ring.head == NEVER
    return bool(
        (ring.spent.min() >= 0 and ring.spent.max() <= ring.full)
        and (new | _within(ring.head, _LATEST // ring.shape.bucket)).all()
        and ((ring.until == NEVER) | _within(ring.until, _LATEST)).all()
        and not ring.spent[new].any()
    )


def _within(times: Integers, limit: int) -> NDArray[np.bool_]:
    return (times >= -limit) & (times <= limit)  # the least integer has no absolute value
