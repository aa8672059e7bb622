"""Accounts from their records, under the shares of then or of now: the past is never cheaper.

A ring is its policy's by name, and is billed anew where the terms differ. It counts against the
meter's *other* policies too if it may hold more than the share that its policy has now: if there is
no such policy any more, or its share is smaller, its horizon longer or its windows are others. What
such a ring holds is billed to each of the others in full: then what was spent and what is to be
spent stay within the sum of the shares (`mechanism.md`, claim 6), and nothing is withheld for it
longer than a horizon.
"""

from collections.abc import Sequence
from itertools import compress

import numpy as np

from meteragent.privacy.arrays import Integers
from meteragent.privacy.ledger import NEVER, Ledger
from meteragent.privacy.ledger_record import Ring, parsed
from meteragent.privacy.terms import MOST_BUDGET, REACH_BACK, Share

AT_ONCE = 1024  # records, so that temporaries stay in the processor's cache


def load(shares: Sequence[Share], records: Sequence[bytes]) -> list[Ledger]:
    """Read the accounts of these records, in their order: a ledger for each share.

    Other shares than they were kept under only ever make the past look dearer.
    """
    ledgers = [Ledger(share.terms, len(records)) for share in shares]
    for first in range(0, len(records), AT_ONCE):
        some = records[first : first + AT_ONCE]
        for members, rings in parsed(some):
            accounts = first + np.array(members)
            for share, ledger in zip(shares, ledgers, strict=True):
                _enter(share, ledger, accounts, rings, shares)
    return ledgers


def load_together(shares: Sequence[Share], records: Sequence[Sequence[bytes]]) -> list[Ledger]:
    """Read accounts of which some have several records, all of which count."""
    ledgers = load(shares, [first for first, *_ in records])
    for nth in range(1, max(map(len, records), default=1)):
        several = [account for account, its in enumerate(records) if len(its) > nth]
        further = load(shares, [records[account][nth] for account in several])
        for ledger, more in zip(ledgers, further, strict=True):
            ledger.add(np.array(several), more, np.arange(len(several)))
    return ledgers


def _enter(
    share: Share,
    ledger: Ledger,
    accounts: Integers,
    rings: Sequence[Ring],
    shares: Sequence[Share],
) -> None:
    """Enter what counts against a share: its own ring, and those that others have lost."""
    alone = len(shares) == len(rings) == 1
    owned = [_is_of(ring, share, alone=alone) for ring in rings]
    for ring in compress(rings, owned):
        _take_over(ledger, accounts, ring)
    for ring, is_own in zip(rings, owned, strict=True):
        if not is_own and _is_lost(ring, shares):
            ledger.add(accounts, _billed(share, ring), np.arange(len(accounts)))
            if not any(owned):
                ledger.settle(accounts, ring.until)


def _billed(share: Share, ring: Ring) -> Ledger:
    """What counts against a share of another policy's ring."""
    ledger = Ledger(share.terms, len(ring.head))
    if share.private and not ring.shape.private:
        # What was spent may tell of presence; that it was all that could be does not.
        ring = ring._replace(spent=np.full_like(ring.spent, ring.full))
    _bill(ledger, np.arange(len(ledger)), ring)
    return ledger


def _take_over(ledger: Ledger, accounts: Integers, ring: Ring) -> None:
    """Enter a policy's own ring."""
    ledger.released_until[accounts] = ring.until
    shape, terms = ring.shape, ledger.terms
    kept, here = (ring.spent.dtype, shape.ring, shape.unit), ledger.buckets
    if shape.is_of(terms) and kept == (here.dtype, ledger.buckets_kept, ledger.unit):
        ledger.buckets[accounts] = ring.spent
        ledger.head[accounts] = ring.head
        ledger.recount(accounts)
    else:
        _bill(ledger, accounts, ring)


def _bill(ledger: Ledger, accounts: Integers, ring: Ring) -> None:
    """Enter amounts that were kept under other terms.

    Postcondition: no charge from now on, with all that was spent before, overdraws a horizon
    under the new terms. Each old bucket is billed to our first window that ends no earlier
    than its last; what the record no longer remembers is billed beyond any budget; and no
    charge reaches back behind the last bill. So only runs that end with it or later count:
    what they hold is rounded up, not each bucket, and no past gains a unit.
    """
    known = ring.head != NEVER
    accounts, head, spent = accounts[known], ring.head[known], ring.spent[known].T
    shape, span = ring.shape, ledger.terms.span
    nano = np.where(
        spent < np.iinfo(spent.dtype).max, spent.astype(np.int64) * shape.unit, MOST_BUDGET
    )

    def entry(old: Integers) -> Integers:
        end = old * shape.bucket + shape.reach
        return ledger.terms.windows.first_open(end - 1) // ledger.terms.bucket_windows

    entries = np.array([entry(head - (head - i) % shape.ring) for i in range(shape.ring)])
    forgotten = entry(head - shape.ring)
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
    ledger.recount(accounts)


def _is_of(ring: Ring, share: Share, *, alone: bool) -> bool:
    """Whether it is this policy's; where there was and is but one, whatever its name."""
    return alone or (ring.is_named and ring.shape.mark == share.mark)


def _is_lost(ring: Ring, shares: Sequence[Share]) -> bool:
    """Whether it may hold more than the share that its policy has now."""
    shape = ring.shape
    terms = next((share.terms for share in shares if share.mark == shape.mark), None)
    return (
        terms is None
        or terms.budget < shape.budget
        or terms.horizon > shape.horizon
        or not shape.is_of(terms)
    )
