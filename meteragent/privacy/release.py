"""Paid-for windows -> released values: queries, keyed words and noise, for one policy."""

from collections.abc import Mapping
from functools import cache, partial

import numpy as np

from meteragent.privacy.arrays import Integers, alike
from meteragent.privacy.domain import Levels, Watts
from meteragent.privacy.entropy import METER, Entropy, NoiseKey, Tags
from meteragent.privacy.order import Order
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import About, Sums, answer
from meteragent.privacy.thresholds import Words


class Releaser:
    """Answers a policy's questions about windows, with noise for each answer or for all of them."""

    def __init__(self, policy: Policy, key: NoiseKey, kind: bytes = METER) -> None:
        self._queries = tuple(question.query for question in policy.questions)
        self._domain = policy.domain
        self._rest = int(policy.domain.levels(np.zeros(1))[0])
        """Of what is absent: the level nearest 0 W, which is what a home at rest draws."""
        self._entropy = Entropy(key, policy.digest, kind)
        self._is_told_who_is_heard = policy.presence == "public"
        outputs = [query.outputs(policy.slots) for query in self._queries]
        self.outputs = sum(outputs)
        losses = np.repeat([question.nano for question in policy.questions], outputs)
        mechanisms = {question.nano: policy.mechanism(question) for question in policy.questions}
        self._mechanisms = [
            (np.flatnonzero(losses == nano), mechanism) for nano, mechanism in mechanisms.items()
        ]
        self._shared_rows = max(mechanism.shared_rows for mechanism in mechanisms.values())
        self._first = np.cumsum([0, *outputs])
        """Of each query's outputs; those of the leading ones end where the next one's begin."""
        self._order = cache(partial(self._order_of, policy))

    def release(
        self,
        tags: Tags,
        starts: Integers,
        heard: Integers,
        contents: Levels | Sums | Mapping[About, Levels | Sums],
        granted: Integers,
    ) -> tuple[Watts, Watts]:
        """(values, unbiased), each [window, output] in watts, for so many leading queries.

        `heard` says for how many slots of each window a reading came. Precondition: all of these
        queries have been paid for, and are one at least. Postcondition: a function of key, policy,
        meter, window, answers, of `heard` where presence is public, and of what is granted alone,
        however often and wherever it is computed; no value depends on one that is not granted.
        """
        answers = answer(self._queries, contents, self._rest)
        if not self._is_told_who_is_heard:
            heard = np.zeros_like(starts)
        outputs = self._shared_rows + self.outputs
        words = self._entropy.words(tags, starts, heard, answers, outputs)
        released = np.empty_like(answers)
        unbiased = np.empty(answers.shape)
        for columns, mechanism in self._mechanisms:
            its = np.append(np.arange(self._shared_rows), self._shared_rows + columns)
            drawn = mechanism.release(answers[:, columns], _WordsOf(words, its))
            released[:, columns], unbiased[:, columns] = drawn
        self._agree(released, granted)
        return self._domain.watts(released), unbiased

    def _agree(self, released: Integers, granted: Integers) -> None:
        """Put the answers of each window in their order: those that are granted, and no others."""
        for some in alike(granted):
            order, columns = self._order(int(granted[some[0]]))
            if len(columns):
                cells = np.ix_(some, columns)
                released[cells] = order.agreed(released[cells])

    def _order_of(self, policy: Policy, count: int) -> tuple[Order, Integers]:
        """What is ordered of the answers to so many leading queries, and in which columns."""
        order = Order(self._queries[:count], [asked.nano for asked in policy.questions[:count]])
        return order, self._first[order.columns]


class _WordsOf:
    """The words of some outputs."""

    def __init__(self, words: Words, columns: Integers) -> None:
        self.first = words.first[:, columns]
        self._words = words
        self._columns = columns

    def further(self, window: int, output: int, depth: int) -> int:
        return self._words.further(window, int(self._columns[output]), depth)
