"""What meters show, as slots of open panes hold it, and the levels of power that it becomes."""

from typing import NamedTuple

from meteragent.privacy.arrays import Integers
from meteragent.privacy.domain import ABSENT, Levels, Watts, smallest
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


class ShownInSteps(Shown):
    """Power where answers are on a finer grid: a slot holds how many steps it is.

    Readings lie on every `finer`-th level alone, so that these say the same in fewer bytes.
    """

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self.dtype = smallest(policy.domain.top // policy.domain.finer)

    def held(self, readings: Watts) -> Levels:
        """What slots hold of readings; NaN is absent."""
        steps: Levels = (super().held(readings) // self.domain.finer).astype(self.dtype)
        return steps  # ABSENT, which is -1, stays what it is

    def powers(self, panes: Panes) -> Powers:
        """The power of each slot of panes that have closed."""
        levels = panes.levels.astype(self.domain.dtype) * self.domain.dtype.type(self.domain.finer)
        levels[panes.levels == ABSENT] = ABSENT
        return super().powers(Panes(panes.rows, panes.panes, levels))


def shown_of(policy: Policy) -> Shown:
    """What slots hold where readings are of power."""
    return ShownInSteps(policy) if policy.domain.finer > 1 else Shown(policy)
