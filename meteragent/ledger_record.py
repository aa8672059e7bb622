"""Ledger records: an account as bytes, and back, under the same terms or changed ones.

Little endian, one record per meter; the latest of a meter holds all there is to know:

    magic    4 bytes   "mtrL"
    item     uint16    bytes per entry of `spent`: 4 or 8
    ring     uint16    number of entries
    bucket   int64     width of a bucket in milliseconds
    head     int64     the newest bucket; bucket `b` covers window starts from `b * bucket` on
    until    int64     every window ending by then has been decided
    spent    item * ring   `spent[i]`: nano-units of the newest bucket `b <= head`, b % ring == i
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from meteragent.errors import LedgerDamaged
from meteragent.ledger import MOST_BUCKETS, NEVER, Integers, Ledger, Terms

MAGIC = b"mtrL"
_LAYOUT_BYTES = 16  # what records must share to be read as one array


def dump(ledger: Ledger, accounts: Integers) -> list[bytes]:
    """Write these accounts as records, in their order."""
    item = ledger.buckets.dtype.itemsize
    records = np.zeros(len(accounts), dtype=_layout(ledger.ring, item))
    records["magic"] = MAGIC
    records["item"] = item
    records["ring"] = ledger.ring
    records["bucket"] = ledger.terms.bucket
    records["head"] = ledger.head[accounts]
    records["until"] = ledger.released_until[accounts]
    records["spent"] = ledger.buckets[accounts]
    raw, length = records.tobytes(), records.dtype.itemsize
    return [raw[i : i + length] for i in range(0, len(raw), length)]


def load(terms: Terms, records: Sequence[bytes]) -> Ledger:
    """Read the accounts of these records, in their order, under possibly other terms.

    Other terms only ever make the past look dearer: a bucket is billed to the latest one
    it touches, and a stretch that the record no longer remembers but the new horizon needs
    is billed at the whole budget.
    """
    ledger = Ledger(terms, len(records))
    alike: dict[bytes, list[int]] = {}
    for i, record in enumerate(records):
        alike.setdefault(record[:_LAYOUT_BYTES], []).append(i)
    for layout, members in alike.items():
        parsed = _parse(layout, [records[i] for i in members])
        accounts = np.array(members)
        ledger.released_until[accounts] = parsed["until"]
        if (parsed["spent"].shape[1], parsed["bucket"][0]) == (ledger.ring, terms.bucket):
            _copy(ledger, accounts, parsed)
        else:
            known = parsed["head"] != NEVER
            _bill_again(ledger, accounts[known], parsed[known])
    ledger.recount(np.arange(len(records)))
    return ledger


def _copy(ledger: Ledger, accounts: Integers, parsed: NDArray[np.void]) -> None:
    ledger.buckets = ledger.buckets.astype(
        np.promote_types(ledger.buckets.dtype, parsed["spent"].dtype), copy=False
    )
    ledger.buckets[accounts] = parsed["spent"]
    ledger.head[accounts] = parsed["head"]


def _bill_again(ledger: Ledger, accounts: Integers, parsed: NDArray[np.void]) -> None:
    """Enter buckets of another width or number into this ledger's own."""
    spent, head = parsed["spent"].astype(np.int64), parsed["head"][:, np.newaxis]
    width, ring, own = int(parsed["bucket"][0]), spent.shape[1], ledger.terms.bucket
    bucket = head - (head - np.arange(ring)) % ring
    latest = ((bucket + 1) * width - 1) // own
    newest = latest.max(axis=1, keepdims=True)
    forgotten = ((head - ring + 1) * width - 1) // own
    entries = np.concatenate([latest, forgotten], axis=1)
    bills = np.concatenate([spent, np.full_like(forgotten, ledger.terms.budget)], axis=1)
    held = entries > newest - ledger.ring
    rows = np.broadcast_to(accounts[:, np.newaxis], bills.shape)[held]
    ledger.buckets = ledger.buckets.astype(np.int64)
    np.add.at(ledger.buckets, (rows, entries[held] % ledger.ring), bills[held])
    ledger.head[accounts] = newest[:, 0]


def _layout(ring: int, item: int) -> np.dtype[np.void]:
    return np.dtype(
        [
            ("magic", "S4"),
            ("item", "<u2"),
            ("ring", "<u2"),
            ("bucket", "<i8"),
            ("head", "<i8"),
            ("until", "<i8"),
            ("spent", f"<i{item}", (ring,)),
        ]
    )


def _parse(layout: bytes, records: list[bytes]) -> NDArray[np.void]:
    item, ring = (int.from_bytes(layout[i : i + 2], "little") for i in (4, 6))
    if layout[:4] != MAGIC or item not in (4, 8) or not 0 < ring <= MOST_BUCKETS:
        raise LedgerDamaged("a record is not a ledger record of a version that is known here")
    dtype = _layout(ring, item)
    if {len(record) for record in records} != {dtype.itemsize}:
        raise LedgerDamaged("a ledger record is cut short or too long")
    parsed: NDArray[np.void] = np.frombuffer(b"".join(records), dtype=dtype)
    if (parsed["bucket"] <= 0).any() or (parsed["spent"] < 0).any():
        raise LedgerDamaged("a ledger record holds numbers that no account can have")
    return parsed
