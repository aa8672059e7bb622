"""Open windows as bytes, and back: what stands behind a meter's account in its ledger record.

Little endian; nothing, where every policy of the meter has windows that are panes, readings are no
registers, and no pane is carried. Else

    magic    4 bytes   "fld1"
    count    uint16    how many pieces follow: one for each policy whose windows have several
                       panes, one for each where readings are registers, one for each whose open
                       panes are carried for this meter, and one for each of which open windows of
                       this meter have lost something
    zero     uint16

then of each, the same for all meters of a policy:

    mark     uint64    of the policy's name: see `Share`; for open panes, its `mark_of_open`, and
                       for last registers its `mark_of_last`, and for what was lost its
                       `mark_of_lost`
    digest   uint64    the first bytes of its digest, which says what is kept, and how; for last
                       registers, its interval; for what was lost 0, as that is lost whatever the
                       policy
    bytes    uint64    how many of them

and then what is kept, in the same order. Of windows:

    until    int64     all panes ending by then are folded, in milliseconds; or never was any
    kept     bytes     counts of readings (int32), then sums (int64), minima and maxima of open
                       windows, a column each; or the slots of the last panes

of last registers:

    until    int64     when the slot begins that it stands in, in milliseconds; or never was any
    shown    int64     what is held of it: see `counters`

and of open panes:

    until    int64     none behind this time holds anything, in milliseconds ...
    since    int64     ... and none before this
    first    int64     when the first begins that has not closed, in milliseconds
    slots    bytes     from there on, as many as a row has: levels, or registers, or -1

and of what was lost:

    until    int64     windows that begin before this time have lost something
    since    int64     when the first begins of which somebody is to be told, or 2^63 - 1

A window of which a part was folded under another digest is lost: it is withheld, and said to be.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from meteragent.errors import LedgerDamaged
from meteragent.privacy.arrays import Integers
from meteragent.privacy.ledger import NEVER
from meteragent.privacy.ledger_record import MOST_RINGS, OPEN_WINDOWS

_HEAD = np.dtype([("magic", "S4"), ("count", "<u2"), ("zero", "<u2")])
_SHAPE = np.dtype([("mark", "<u8"), ("digest", "<u8"), ("bytes", "<u8")])
Bytes = NDArray[np.uint8]
"""bytes[meter, byte]"""


class FoldShape(NamedTuple):
    """Whose open windows they are, and how they are kept."""

    mark: int
    digest: int
    bytes: int


class Folded(NamedTuple):
    """The open windows of some meters under one policy."""

    shape: FoldShape
    until: Integers
    """In milliseconds, or NEVER."""
    state: Bytes


def dump(kept: Sequence[Folded]) -> list[bytes]:
    """What is put behind the accounts of these meters. Precondition: there is a policy."""
    shapes = [one.shape for one in kept]
    before = np.array((OPEN_WINDOWS, len(shapes), 0), _HEAD).tobytes()
    before += np.array([*map(tuple, shapes)], _SHAPE).tobytes()
    table = np.empty(len(kept[0].until), dtype=_layout(len(before), shapes))
    table["before"] = np.void(before)
    for nth, one in enumerate(kept):
        table[f"until{nth}"] = one.until
        table[f"state{nth}"] = one.state
    return [row.tobytes() for row in table]


def longest(shapes: Sequence[FoldShape]) -> int:
    """How many bytes stand behind an account where all of this does."""
    return _layout(_HEAD.itemsize + len(shapes) * _SHAPE.itemsize, shapes).itemsize


def parsed(records: Sequence[bytes]) -> Iterator[tuple[list[int], list[Folded]]]:
    """Which of these have the same shapes, and what they hold; those of no bytes hold nothing."""
    by_start: dict[bytes, list[int]] = {}
    for nth, record in enumerate(records):
        by_start.setdefault(record[: _length_before(record)], []).append(nth)
    for before, members in by_start.items():
        yield members, _kept(before, [records[member] for member in members]) if before else []


def _length_before(record: bytes) -> int:
    if not record:
        return 0
    count = int.from_bytes(record[4:6], "little")
    if record[:4] != OPEN_WINDOWS or record[6:8] != b"\0\0" or not 0 < count <= 4 * MOST_RINGS:
        raise LedgerDamaged("what stands behind an account is of no version that is known here")
    return _HEAD.itemsize + count * _SHAPE.itemsize


def _kept(before: bytes, records: list[bytes]) -> list[Folded]:
    if len(before) < _length_before(before):
        raise LedgerDamaged("a ledger record is cut short")
    shapes = [
        FoldShape(*row) for row in np.frombuffer(before, _SHAPE, offset=_HEAD.itemsize).tolist()
    ]
    if len(before) + sum(8 + shape.bytes for shape in shapes) != len(records[0]):
        raise LedgerDamaged("a ledger record is cut short or too long")
    layout = _layout(len(before), shapes)
    if {*map(len, records)} != {layout.itemsize}:
        raise LedgerDamaged("a ledger record is cut short or too long")
    rows = np.frombuffer(b"".join(records), dtype=layout)
    kept = [
        Folded(shape, rows[f"until{nth}"], rows[f"state{nth}"]) for nth, shape in enumerate(shapes)
    ]
    if not all(_is_possible(one.until) for one in kept):
        raise LedgerDamaged("a ledger record holds times that no window can have")
    return kept


def _layout(before: int, shapes: Sequence[FoldShape]) -> np.dtype[np.void]:
    fields: list[tuple[str, str] | tuple[str, str, tuple[int]]] = [("before", f"V{before}")]
    for nth, shape in enumerate(shapes):
        fields += [(f"until{nth}", "<i8"), (f"state{nth}", "u1", (shape.bytes,))]
    return np.dtype(fields)


def _is_possible(until: Integers) -> bool:
    """Whether these are times, or NEVER."""
    return bool(((until == NEVER) | (np.abs(until) < 2**60)).all())
