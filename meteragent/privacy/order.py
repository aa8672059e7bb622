"""Released answers that agree with their order: isotonic least squares, exactly, in integers.

Whatever a window holds, its minimum is no more than its median, and that no more than its maximum.
Noise knows nothing of it. What is nearest to the drawn levels among all that agree with the order
is nearer to the truth than they are, and as it is worked out from what is released alone, it tells
nothing more (`mechanism.md`, claim 10).

Answers are put together to blocks, lowest first: of all that may stand below the rest, those with
the smallest mean, and of several such the most; then anew of what is left. A set of answers may
stand below the rest if it holds, with each of its answers, all that are never above it.
"""

from collections.abc import Sequence
from math import gcd

import numpy as np

from meteragent.privacy.arrays import Integers, Mask
from meteragent.privacy.query import Query

FINEST_SHARE = 64
"""A loss that is a smaller part of the largest one counts as this part of it."""


def never_above(one: Query, other: Query) -> bool:
    """Whether one's answer is at most the other's, whatever the window."""
    return one.ranks is not None and other.ranks is not None and one.ranks[1] <= other.ranks[0]


def is_ordered(queries: Sequence[Query]) -> bool:
    """Whether the answers to any two of them are in an order."""
    return any(
        never_above(one, other)
        for i, one in enumerate(queries)
        for j, other in enumerate(queries)
        if i != j
    )


class Order:
    """In which order the answers to some queries are, each with the loss of its noise.

    Answers of less noise count for more: as much as its variance is smaller.
    """

    def __init__(self, queries: Sequence[Query], losses: Sequence[int]) -> None:
        """Precondition: each query has one answer, or is in no order with any other."""
        below = np.array([[q is r or never_above(q, r) for q in queries] for r in queries])
        some = np.flatnonzero((below | below.T).sum(axis=1) > 1)
        self.columns = some
        """Of the queries: those that are in an order with another one."""
        self._below: Mask = below[np.ix_(some, some)]
        self._pairs = np.argwhere(self._below & ~np.eye(len(some), dtype=np.bool_)).tolist()
        """(high, low): of two different ones."""
        self._weights = _weights([losses[column] for column in some.tolist()])
        self._sets = _lower_sets(self._below)
        self._contains = np.logical_not((self._sets[:, np.newaxis] & ~self._sets).any(axis=2))
        """contains[part, whole]"""

    def agreed(self, levels: Integers) -> Integers:
        """`levels[window, column]` nearest to these that agree with the order, rounded half up.

        Precondition: levels of the `columns`. Postcondition: a function of these levels alone,
        within their bounds; levels that agree stay. Why half up: it keeps equal what is equal.
        """
        agreed = levels.copy()
        apart = np.flatnonzero(self._disagree(levels))
        if len(apart):
            agreed[apart] = self._projected(levels[apart])
        return agreed

    def _disagree(self, levels: Integers) -> Mask:
        columns = levels.T.copy()
        disagree = np.zeros(len(levels), dtype=np.bool_)
        for high, low in self._pairs:
            disagree |= columns[low] > columns[high]
        return disagree

    def _projected(self, levels: Integers) -> Integers:
        """Block after block; `state` is which answers of a window are in their places."""
        total = (levels * self._weights) @ self._sets.T  # total[window, set]
        placed = np.empty_like(levels)
        state, rows = np.zeros(len(levels), dtype=np.int64), np.arange(len(levels))
        while len(rows):
            grown, mean = self._lowest(total[rows], state)
            new = self._sets[grown] & ~self._sets[state]
            placed[rows] = np.where(new, mean[:, np.newaxis], placed[rows])
            left = np.flatnonzero(grown < len(self._sets) - 1)
            rows, state = rows[left], grown[left]
        return placed

    def _lowest(self, total: Integers, state: Integers) -> tuple[Integers, Integers]:
        """By window, the set that adds the smallest mean to its state, and that mean, rounded.

        Means are compared as fractions, the largest sets first. They fit: 20 bits of a level, 12
        of each weight, and of both sums those of the number of answers.
        """
        weight = self._sets @ self._weights
        here, weighed = total[np.arange(len(state)), state], weight[state]
        lowest = np.full_like(state, len(weight) - 1)
        above, under = total[:, -1] - here, weight[-1] - weighed
        for one in range(len(weight) - 2, 0, -1):
            more, wider = total[:, one] - here, weight[one] - weighed
            better = (wider > 0) & self._contains[state, one] & (more * under < above * wider)
            lowest[better] = one
            above, under = np.where(better, more, above), np.where(better, wider, under)
        return lowest, (2 * above + under) // (2 * under)


def _lower_sets(below: Mask) -> Mask:
    """`sets[set, answer]`: all that may stand below the rest, from none to all, by their sizes."""
    nothing = (False,) * len(below)
    found, fresh = {nothing}, {nothing}
    while fresh:
        grown = {tuple((needed | one).tolist()) for one in map(np.array, fresh) for needed in below}
        fresh = grown - found
        found |= grown
    return np.array(sorted(found, key=sum), dtype=np.bool_)


def _weights(losses: Sequence[int]) -> Integers:
    """The variance of noise falls with the square of its loss."""
    most = max(losses, default=1)
    shares = [max(1, loss * FINEST_SHARE // most) for loss in losses]
    return np.array([(share // gcd(*shares)) ** 2 for share in shares], dtype=np.int64)
