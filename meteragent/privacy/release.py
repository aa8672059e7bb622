"""Paid-for windows -> released values: queries, keyed words and noise, for one policy."""

import numpy as np

from meteragent.privacy.arrays import Integers
from meteragent.privacy.domain import Levels, Watts
from meteragent.privacy.entropy import Entropy, NoiseKey, Tags
from meteragent.privacy.mechanism import Words
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import Sums, answer, answer_sums


class Releaser:
    """Answers a policy's questions about windows, each answer with its own noise."""

    def __init__(self, policy: Policy, key: NoiseKey) -> None:
        self._queries = tuple(question.query for question in policy.questions)
        self._domain = policy.domain
        self._rest = int(policy.domain.levels(np.zeros(1))[0])
        """Of what is absent: the level nearest 0 W, which is what a home at rest draws."""
        self._entropy = Entropy(key, policy.digest)
        outputs = [query.outputs(policy.slots) for query in self._queries]
        self.outputs = sum(outputs)
        losses = np.repeat([question.nano for question in policy.questions], outputs)
        mechanisms = {question.nano: policy.mechanism(question) for question in policy.questions}
        self._mechanisms = [
            (np.flatnonzero(losses == nano), mechanism) for nano, mechanism in mechanisms.items()
        ]

    def release(self, tags: Tags, starts: Integers, contents: Levels | Sums) -> tuple[Watts, Watts]:
        """(values, unbiased), each [window, output] in watts, of what windows hold.

        Precondition: every window has been paid for. Postcondition: a function of key,
        policy, meter, window and answers alone, however often and wherever it is computed.
        """
        if isinstance(contents, Sums):
            answers = answer_sums(self._queries, contents, self._rest)
        else:
            answers = answer(self._queries, contents, self._rest)
        words = self._entropy.words(tags, starts, answers, self.outputs)
        released = np.empty_like(answers)
        unbiased = np.empty(answers.shape)
        for columns, mechanism in self._mechanisms:
            some = mechanism.sample(answers[:, columns], _WordsOf(words, columns))
            released[:, columns] = some
            unbiased[:, columns] = mechanism.unbiased(some)
        return self._domain.watts(released), unbiased


class _WordsOf:
    """The words of some outputs."""

    def __init__(self, words: Words, columns: Integers) -> None:
        self.first = words.first[:, columns]
        self._words = words
        self._columns = columns

    def further(self, window: int, output: int, depth: int) -> int:
        return self._words.further(window, int(self._columns[output]), depth)
