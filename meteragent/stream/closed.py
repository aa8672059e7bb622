"""What becomes of readings: how many are held, and the panes that have closed."""

from dataclasses import dataclass, field

from meteragent.privacy.arrays import Integers
from meteragent.stream.order import Timing
from meteragent.stream.readings import Reject
from meteragent.stream.strips import Panes


@dataclass(slots=True)
class Tally:
    """What became of readings."""

    accepted: int = 0
    late: int = 0
    duplicate: int = 0

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
