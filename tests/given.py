"""What tests start from: a key, policies and readings, as they are inside the agent.

`tests/files/given.py` is for those who come from outside: settings, files and the command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from meteragent.privacy.billing import load, load_together
from meteragent.privacy.domain import Domain
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.ledger_record import dump
from meteragent.privacy.policy import Policy
from meteragent.privacy.question import question
from meteragent.privacy.terms import Share, Terms
from meteragent.stream.readings import Readings, Reason, Reject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from meteragent.privacy.arrays import Integers
    from meteragent.privacy.ledger import Ledger

SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
KEY = NoiseKey(bytes(range(32)))


def policy(**changes: Any) -> Policy:  # noqa: ANN401 - whatever a policy has
    """The average of each minute, more budget than a test spends, and what is set otherwise.

    Windows do not overlap unless a `hop` is set.
    """
    size = changes.get("size", MINUTE)
    settings: dict[str, Any] = {
        "domain": Domain(0, 1000, 10),
        "questions": (question("avg", 1, 100),),
        "size": size,
        "interval": 10 * SECOND,
        "hop": size,
        "grace": 0,
        "idle": 0,
        "budget": 10**12,
        "horizon": max(DAY, size),
    }
    return Policy(**settings | changes)


def written(ledger: Ledger, accounts: Integers | None = None, name: str = "all") -> list[bytes]:
    """The records of some accounts, or of all, whose meters have one policy."""
    some = np.arange(len(ledger)) if accounts is None else accounts
    return dump([Share(name, ledger.terms)], [ledger], some)


def read(terms: Terms, records: Sequence[bytes], name: str = "all") -> Ledger:
    """The accounts of some records, whose meters have one policy."""
    [ledger] = load([Share(name, terms)], records)
    return ledger


def read_together(terms: Terms, records: Sequence[Sequence[bytes]]) -> Ledger:
    """The accounts of meters of which some have several records."""
    [ledger] = load_together([Share("all", terms)], records)
    return ledger


class Record(NamedTuple):
    """A reading, or an interval block; a bad one says nothing."""

    meter: str
    written: int
    start: int
    watts: tuple[float, ...]
    spacing: int = 10 * SECOND
    bad: bool = False


def readings(records: Sequence[Record], first: int = 0) -> Readings:
    """Records as the decoder makes columns of them; the first has this offset."""
    good = [(offset, record) for offset, record in enumerate(records, first) if not record.bad]
    numbers = [(at, r.written, len(r.watts), r.start, r.spacing) for at, r in good]
    offsets, timestamps, counts, starts, intervals = (
        np.array(numbers, dtype=np.int64).reshape(-1, 5).T.copy()
    )
    return Readings(
        meters=[record.meter for _, record in good],
        offsets=offsets,
        timestamps=timestamps,
        counts=counts,
        starts=starts,
        intervals=intervals,
        watts=np.array([watts for _, record in good for watts in record.watts], dtype=np.float64),
        rejects=[Reject(at, Reason.NOT_JSON) for at, r in enumerate(records, first) if r.bad],
        next_offset=first + len(records),
    )
