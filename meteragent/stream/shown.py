"""What meters show, as slots of open panes hold it, and the levels of power that it becomes."""

from typing import NamedTuple

from meteragent.privacy.arrays import Integers
from meteragent.privacy.domain import Levels, Watts
from meteragent.privacy.policy import Policy
from meteragent.stream.closed import nobody
from meteragent.stream.strips import Panes


class Powers(NamedTuple):
    """What panes that have closed hold of power."""

    panes: Panes
    noted: Integers
    """The rows of which something else is to be written down now."""
    unpaired: int
    """Readings of which nothing follows, as the one before is of no slot beside."""


class Shown:
    """Power itself: a slot holds its level, and stays what it is."""

    def __init__(self, policy: Policy) -> None:
        self.domain = policy.domain
        self.dtype = policy.domain.dtype
        """Of what a slot holds."""

    @property
    def bytes_per_row(self) -> int:
        """What a meter takes here."""
        return 0

    def grow(self, rows: int) -> None:
        """Make room for so many rows."""

    def held(self, readings: Watts) -> Levels:
        """What slots hold of readings; NaN is absent."""
        return self.domain.levels(readings)

    def powers(self, panes: Panes) -> Powers:
        """The power of each slot of panes that have closed.

        Precondition: they are the next of their rows, by row and then by time.
        """
        return Powers(panes, nobody(), 0)
