"""What a reader makes of the layers of a group for free: how many homes draw more than how much.

The sum of layer `j`, in widths of layers, is at least the number of homes that draw all of it, and
at most that of those which draw any of it. So the homes above its lower bound are no fewer than
that, and no more than the sum below says. Sums without noise fall from layer to layer: the nearest
such sums to what was released are used, so that all that is said here agrees with itself.
"""

from dataclasses import dataclass
from math import floor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from meteragent.errors import InvalidSetting
from meteragent.privacy.domain import Watts
from meteragent.privacy.group import GroupPolicy
from meteragent.privacy.question import Question

Floats = NDArray[np.float64]

ROUNDING = 1e-9
"""Floats are off by less, and homes are whole."""


class Between(NamedTuple):
    """A guess, and between what the truth lies."""

    low: float
    guess: float
    high: float


@dataclass(frozen=True, slots=True)
class Spread:
    """How many homes of a group draw more than how much, in one window."""

    homes: int
    thresholds: Floats
    """In watts: where each layer begins, and at last the most that a home can draw."""
    low: Floats
    """Homes above each threshold: at least so many ..."""
    guess: Floats
    """... about so many ..."""
    high: Floats
    """... and at most."""

    def quantile(self, share: float) -> Between:
        """The least power that so large a share of homes do not draw more than."""
        above = floor((1 - share) * self.homes + ROUNDING)
        low = self.thresholds[max(int((self.low > above + ROUNDING).sum()) - 1, 0)]
        high = self.thresholds[(self.high > above + ROUNDING).sum()]
        guess = np.interp(above, self.guess[::-1], self.thresholds[::-1])
        return Between(float(low), float(guess), float(high))


def spread(
    values: Watts, policy: GroupPolicy, asked: Question, homes: int, share: float = 0.9
) -> Spread:
    """Read the layers of one window: `values[layer]`, as released of so many homes.

    Precondition: `asked` is a question of the policy, for layers. Postcondition: all bounds of all
    thresholds hold together with this certainty at least, over the noise, of what homes draw on
    average, on the grid. InvalidSetting: layers of so many homes do not fit the range of sums.
    """
    width = float(asked.query.about.width)
    if homes * asked.query.about.width > policy.domain.maximum:
        problem = f"cuts off layers of {homes} homes"
        instead = f"write at least {homes * width:g}W, and release anew"
        raise InvalidSetting("maximum", problem, instead)
    each = 1 - (1 - share) / len(values)
    off = policy.mechanism(asked).error_quantile(each) / width
    full = np.clip(falling(np.asarray(values, dtype=np.float64) / width), 0, homes)
    under = np.append(homes, full[:-1])
    low, guess, high = np.maximum(full - off, 0), (full + under) / 2, np.minimum(under + off, homes)
    thresholds: Floats = float(policy.homes.minimum) + width * np.arange(len(full) + 1.0)
    return Spread(homes, thresholds, *map(_with_none_above_the_most, (low, guess, high)))


def _with_none_above_the_most(homes: Floats) -> Floats:
    return np.append(homes, 0.0).astype(np.float64)


def falling(values: Floats) -> Floats:
    """The nearest numbers, by squares, none of which is larger than the one before.

    Numbers that are each within some distance of such ones stay so.
    """
    blocks: list[tuple[float, int]] = []
    for value in values.tolist():
        total, count = value, 1
        while blocks and blocks[-1][0] * count < total * blocks[-1][1]:
            before, many = blocks.pop()
            total, count = total + before, count + many
        blocks.append((total, count))
    means, counts = [total / count for total, count in blocks], [count for _, count in blocks]
    return np.repeat(means, counts)
