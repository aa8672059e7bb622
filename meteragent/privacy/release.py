"""Paid-for windows -> released values: queries, keyed words and noise, for one policy."""

from collections.abc import Mapping, Sequence

import numpy as np

from meteragent.privacy.agreement import Agreement
from meteragent.privacy.arrays import Integers
from meteragent.privacy.domain import Levels, Watts
from meteragent.privacy.entropy import METER, Entropy, NoiseKey, Tags
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import About, Sums, answer
from meteragent.privacy.thresholds import WordsOf
from meteragent.privacy.tiers import Copies


class Releaser:
    """Answers a policy's questions about windows, with noise for each answer or for all of them."""

    def __init__(
        self, policy: Policy, key: NoiseKey, kind: bytes = METER, tiers: Sequence[Policy] = ()
    ) -> None:
        """`tiers`: each is one of that before it, and the first of the policy."""
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
        self._agreement = Agreement(policy)
        self._copies = Copies(policy, tiers, key) if tiers else None

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
        first, *_ = self.release_all(tags, starts, heard, contents, granted)
        return first

    def release_all(
        self,
        tags: Tags,
        starts: Integers,
        heard: Integers,
        contents: Levels | Sums | Mapping[About, Levels | Sums],
        granted: Integers,
    ) -> list[tuple[Watts, Watts]]:
        """The same, and what each tier is told of it."""
        answers = answer(self._queries, contents, self._rest)
        if not self._is_told_who_is_heard:
            heard = np.zeros_like(starts)
        outputs = self._shared_rows + self.outputs
        words = self._entropy.words(tags, starts, heard, answers, outputs)
        released = np.empty_like(answers)
        unbiased = np.empty(answers.shape)
        for columns, mechanism in self._mechanisms:
            its = np.append(np.arange(self._shared_rows), self._shared_rows + columns)
            drawn = mechanism.release(answers[:, columns], WordsOf(words, its))
            released[:, columns], unbiased[:, columns] = drawn
        self._agreement.agree(released, granted)
        found = [(self._domain.watts(released), unbiased)]
        if self._copies is not None:
            found += self._copies.of(tags, starts, heard, answers, words, granted)
        return found
