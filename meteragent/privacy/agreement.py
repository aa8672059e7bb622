"""What is released of windows, put into the order that their answers are known to have."""

from functools import cache

import numpy as np

from meteragent.privacy.arrays import Integers, alike
from meteragent.privacy.order import Order
from meteragent.privacy.policy import Policy


class Agreement:
    """The orders of a policy's answers, for every number of them that may be granted."""

    def __init__(self, policy: Policy) -> None:
        self._queries = tuple(question.query for question in policy.questions)
        self._losses = [question.nano for question in policy.questions]
        self._first = np.cumsum([0, *(query.outputs(policy.slots) for query in self._queries)])
        """Of each query's outputs; those of the leading ones end where the next one's begin."""
        self._order = cache(self._order_of)

    def agree(self, released: Integers, granted: Integers) -> None:
        """Put the answers of each window in their order: those that are granted, and no others."""
        for some in alike(granted):
            order, columns = self._order(int(granted[some[0]]))
            if len(columns):
                cells = np.ix_(some, columns)
                released[cells] = order.agreed(released[cells])

    def _order_of(self, count: int) -> tuple[Order, Integers]:
        """What is ordered of the answers to so many leading queries, and in which columns."""
        order = Order(self._queries[:count], self._losses[:count])
        return order, self._first[order.columns]
