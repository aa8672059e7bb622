"""Ledger records: an account as bytes, and back, under the same terms or changed ones.

Little endian, one record per meter; the latest of a meter holds all there is to know:

    magic    4 bytes   "mtrL"
    item     uint16    bytes per entry of `spent`: 2, 4 or 8
    ring     uint16    number of entries
    bucket   int64     width of a bucket: bucket `b` covers window starts from `b * bucket` on
    reach    int64     from a bucket's start to the end of its last window
    unit     int64     nano-units per watt that an entry of 1 means
    head     int64     the newest bucket
    until    int64     every window ending by then has been decided
    spent    item * ring   `spent[i]`: units of the newest bucket `b <= head` with b % ring == i

Times are in milliseconds. An entry of `full` means that much or more.
"""

from collections.abc import Sequence
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from meteragent.errors import LedgerDamaged
from meteragent.privacy.arrays import Integers
from meteragent.privacy.ledger import NEVER, Ledger, full
from meteragent.privacy.terms import MOST_BUCKETS, MOST_BUDGET, REACH_BACK, Terms
from meteragent.privacy.windows import LONGEST

MAGIC = b"mtrL"
_LAYOUT_OF = itemgetter(slice(32))  # what records must share to be read as one array
_LATEST = 2**60
_CHUNK = 1024  # records at a time, so that temporaries stay in the processor's cache


def dump(ledger: Ledger, accounts: Integers) -> list[bytes]:
    """Write these accounts as records, in their order."""
    records: list[bytes] = []
    item = ledger.buckets.dtype.itemsize
    layout = _layout(ledger.buckets_kept, item)
    for first in range(0, len(accounts), _CHUNK):
        some = accounts[first : first + _CHUNK]
        table = np.empty(len(some), dtype=layout)
        table["magic"] = MAGIC
        table["item"] = item
        table["ring"] = ledger.buckets_kept
        table["bucket"] = ledger.terms.bucket
        table["reach"] = ledger.terms.reach
        table["unit"] = ledger.unit
        table["head"] = ledger.head[some]
        table["until"] = ledger.released_until[some]
        table["spent"] = ledger.buckets[some]
        records += table.view(f"V{layout.itemsize}").tolist()
    return records


def load(terms: Terms, records: Sequence[bytes]) -> Ledger:
    """Read the accounts of these records, in their order, under possibly other terms.

    Other terms only ever make the past look dearer: see `_bill_again`.
    """
    ledger = Ledger(terms, len(records))
    for first in range(0, len(records), _CHUNK):
        some = records[first : first + _CHUNK]
        layouts = list(map(_LAYOUT_OF, some))
        for layout in set(layouts):
            members = [i for i, its in enumerate(layouts) if its == layout]
            parsed = _parse(layout, [some[i] for i in members])
            _enter(ledger, first + np.array(members), parsed)
    return ledger


def load_together(terms: Terms, records: Sequence[Sequence[bytes]]) -> Ledger:
    """Read accounts of which some have several records, all of which count."""
    ledger = load(terms, [first for first, *_ in records])
    for nth in range(1, max(map(len, records), default=1)):
        several = [account for account, its in enumerate(records) if len(its) > nth]
        further = load(terms, [records[account][nth] for account in several])
        ledger.add(np.array(several), further, np.arange(len(several)))
    return ledger


def _enter(ledger: Ledger, accounts: Integers, parsed: NDArray[np.void]) -> None:
    ledger.released_until[accounts] = parsed["until"]
    spent, kept_as = parsed["spent"], parsed[["bucket", "reach", "unit"]][0].item()
    if (spent.dtype, spent.shape[1], *kept_as) == (
        ledger.buckets.dtype,
        ledger.buckets_kept,
        ledger.terms.bucket,
        ledger.terms.reach,
        ledger.unit,
    ):
        ledger.buckets[accounts] = spent
        ledger.head[accounts] = parsed["head"]
    else:
        known = parsed["head"] != NEVER
        _bill_again(ledger, accounts[known], parsed[known])
    ledger.recount(accounts)


def _bill_again(ledger: Ledger, accounts: Integers, parsed: NDArray[np.void]) -> None:
    """Enter amounts that were kept under other terms.

    Postcondition: no charge from now on, with all that was spent before, overdraws a horizon
    under the new terms. Each old bucket is billed to our first window that ends no earlier
    than its last; what the record no longer remembers is billed beyond any budget; and no
    charge reaches back behind the last bill. So only runs that end with it or later count:
    what they hold is rounded up, not each bucket, and no past gains a unit.
    """
    bucket, reach, head = (parsed[name].astype(np.int64) for name in ("bucket", "reach", "head"))
    spent = parsed["spent"].T
    nano = np.where(spent < np.iinfo(spent.dtype).max, spent * parsed["unit"], MOST_BUDGET)
    ring, span = len(spent), ledger.terms.span

    def entry(old: Integers) -> Integers:
        end = old * bucket + reach
        return ledger.terms.windows.first_open(end - 1) // ledger.terms.bucket_windows

    entries = np.array([entry(head - (head - i) % ring) for i in range(ring)])
    forgotten = entry(head - ring)
    newest = np.where(nano > 0, entries, forgotten).max(axis=0)
    owed = np.zeros((span, len(accounts)), dtype=np.int64)  # owed[age, account], in nano-units
    whole = np.full_like(head, MOST_BUDGET)
    for where, amount in zip([*entries, forgotten], [*nano, whole], strict=True):
        held = np.flatnonzero((amount > 0) & (newest - where < span))
        owed[(newest - where)[held], held] += amount[held]
    through = -(-np.cumsum(owed, axis=0) // ledger.unit)
    bills = np.minimum(np.diff(through, axis=0, prepend=0), ledger.full)
    ours = newest - np.arange(span)[:, np.newaxis]
    ledger.buckets[accounts, ours % ledger.buckets_kept] = bills
    ledger.head[accounts] = newest + REACH_BACK


def _layout(ring: int, item: int) -> np.dtype[np.void]:
    return np.dtype(
        [
            ("magic", "S4"),
            ("item", "<u2"),
            ("ring", "<u2"),
            ("bucket", "<i8"),
            ("reach", "<i8"),
            ("unit", "<i8"),
            ("head", "<i8"),
            ("until", "<i8"),
            ("spent", f"<i{item}", (ring,)),
        ]
    )


def _parse(layout: bytes, records: list[bytes]) -> NDArray[np.void]:
    item, ring = (int.from_bytes(layout[i : i + 2], "little") for i in (4, 6))
    if layout[:4] != MAGIC or item not in (2, 4, 8) or not 0 < ring <= MOST_BUCKETS:
        raise LedgerDamaged("a record is not a ledger record of a version that is known here")
    dtype = _layout(ring, item)
    if set(map(len, records)) != {dtype.itemsize}:
        raise LedgerDamaged("a ledger record is cut short or too long")
    parsed: NDArray[np.void] = np.frombuffer(b"".join(records), dtype=dtype)
    if not _possible(parsed):
        raise LedgerDamaged("a ledger record holds numbers that no account can have")
    return parsed


def _possible(parsed: NDArray[np.void]) -> bool:
    """Whether sums and products of these numbers stay within 64 bits."""
    bucket, spent, head, until = (parsed[name] for name in ("bucket", "spent", "head", "until"))
    lengths, new = np.concatenate([bucket, parsed["reach"]]), head == NEVER
    unit = int(parsed["unit"][0])
    return bool(
        (lengths.min() > 0 and lengths.max() <= 2 * LONGEST and 0 < unit <= MOST_BUDGET)
        and (spent.min() >= 0 and spent.max() <= full(spent.dtype, unit))
        and (new | _within(head, _LATEST // bucket)).all()
        and ((until == NEVER) | _within(until, _LATEST)).all()
        and not spent[new].any()
    )


def _within(times: Integers, limit: Integers | int) -> NDArray[np.bool_]:
    return (times >= -limit) & (times <= limit)  # the least integer has no absolute value
