"""What becomes of readings: how many are held, and the panes that have closed."""

from dataclasses import dataclass, field

import numpy as np

from meteragent.privacy.arrays import Integers
from meteragent.stream.order import Timing
from meteragent.stream.readings import Reject
from meteragent.stream.strips import Panes


def nobody() -> Integers:
    """No rows."""
    return np.empty(0, dtype=np.int64)


@dataclass(slots=True)
class Tally:
    """What became of readings."""

    accepted: int = 0
    late: int = 0
    duplicate: int = 0
    unpaired: int = 0
    """Registers of panes that have closed, without one in the slot before."""

    def count(self, held: int, fresh: int) -> None:
        """Of readings in time that held a value, `fresh` found their slot empty."""
        self.accepted += fresh
        self.duplicate += held - fresh


@dataclass(slots=True)
class Counts:
    """What happened since somebody last asked; readings that were read again do not count."""

    tally: Tally = field(default_factory=Tally)
    rejects: list[Reject] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Closed:
    """What has closed of some meters."""

    panes: Panes
    rows: Integers
    """Of which all panes are closed ..."""
    begin: Integers
    """... from this one on ..."""
    reached: Integers
    """... up to this one: those that are not among `panes` hold nothing."""
    timing: Timing
    noted: Integers = field(default_factory=nobody)
    """Of which a last register is noted, though panes may hold no power."""
    unpaired: int = 0
    """How many registers had none in the slot before."""
