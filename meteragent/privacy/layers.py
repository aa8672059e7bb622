"""How homes of a group spread over what they draw: their levels, cut into layers of one width.

Layer `j` of a home is what of its level lies between `j` and `j + 1` widths above the lowest, and
each layer is added up over all homes. So the `n`-th sum, in widths, is no more than the number of
homes above its lower bound, and no less than that of homes at its upper bound or above: all of them
together say how many homes draw how much.

A home that moves by `d` levels moves all sums together by `d`, as its layers add up to its level
(`mechanism.md`, claim 15): noise on each of the sums, at the whole loss, costs that loss *once*.
They are layers of a home's average of the pane. Layers of its readings, averaged, would not do:
each of them is rounded, and several could jump where readings move by a level.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from meteragent.errors import InvalidSetting
from meteragent.privacy.domain import Domain, Levels
from meteragent.privacy.query import About, Query

MOST_LAYERS = 256


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers that a query asks for, on the grid of a home."""

    about: About
    width: int
    """In levels."""
    count: int
    """So many make up the range of a home."""

    def of(self, levels: Levels) -> Iterator[Levels]:
        """Each layer of the levels of homes, the lowest first.

        Precondition: levels of a home, none absent. Postcondition: they add up to the level, and
        where it moves by `d` they move by `d` together, all of them up or all down.
        """
        for nth in range(self.count):
            yield np.clip(levels - nth * self.width, 0, self.width)


def layers_of(query: Query, home: Domain) -> Layers:
    """What a query asks of homes. InvalidSetting: their range is not made of such layers."""
    width, span = query.about.width, home.maximum - home.minimum
    if width % home.resolution or span % width:
        problem = f"asks {query.name}: such layers do not make up the range of a home"
        instead = f"write a width that divides {span:f} W, of whole steps of {home.resolution:f} W"
        raise InvalidSetting("queries", problem, instead)
    if span / width > MOST_LAYERS:
        problem = f"asks {query.name}: these are more than {MOST_LAYERS}"
        raise InvalidSetting("queries", problem, "write a larger width")
    return Layers(query.about, int(width / home.resolution), int(span / width))


def is_layered(query: Query) -> bool:
    """Whether it asks for layers of homes."""
    return query.about.width > Decimal(0)
