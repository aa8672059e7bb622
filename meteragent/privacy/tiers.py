"""Tiers: noisier copies of releases for other audiences, made of the draws of the first ones.

A copy starts from the draw before it was clamped or put in order, and each tier from that of the
tier before: so any audiences together know no more than the one that is told most exactly, and
nobody pays for a copy (`mechanism.md`, claim 16).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from meteragent.errors import InvalidSetting
from meteragent.privacy import mechanism, refinement
from meteragent.privacy.agreement import Agreement
from meteragent.privacy.arrays import Integers
from meteragent.privacy.domain import Watts
from meteragent.privacy.entropy import TIER, Entropy, NoiseKey, Tags
from meteragent.privacy.policy import Policy
from meteragent.privacy.terms import JOINT
from meteragent.privacy.thresholds import Words, WordsOf
from meteragent.privacy.tier import Tier


def tier_of(above: Policy, name: str, loss: int) -> Policy:
    """What is released as a copy of `above`, a policy or a tier, where each answer loses so much.

    Postcondition: its budget is no less than what the copies of all that `above` may release in a
    horizon lose. InvalidSetting: there is no such copy.
    """
    if above.noise == JOINT:
        problem = "is joint, and what answers share cannot be made noisier for each"
        raise InvalidSetting("noise", problem, "leave it out, or the tier")
    losses = tuple(asked.nano for asked in above.questions)
    least = min(losses)
    if loss >= least:
        problem = "is no smaller than that of every answer that it is a copy of"
        raise InvalidSetting("epsilon", problem, "write a smaller one, tiers in falling order")
    try:
        mechanism.refuse(above.domain, loss, unclamped=True)
    except InvalidSetting as error:
        instead = f"write a larger epsilon, or a larger {error.field} for the policy"
        raise InvalidSetting("epsilon", error.problem, instead) from None
    before = () if above.tier is None else above.tier.above
    return replace(
        above,
        questions=tuple(replace(asked, nano=loss) for asked in above.questions),
        budget=-(-above.budget * loss // least),
        tier=Tier(name, (*before, losses)),
    )


class Copies:
    """The noisier copies of a policy's releases."""

    def __init__(self, policy: Policy, tiers: Sequence[Policy], key: NoiseKey) -> None:
        """Precondition: each of the tiers is one of that before it, the first of the policy."""
        self._first = [
            (columns, mechanism.shared(policy.domain, asked.epsilon, unclamped=True))
            for asked, columns in zip(policy.questions, _columns(policy), strict=True)
        ]
        above = (policy, *tiers)
        self._tiers = [_Copy(*pair, key) for pair in zip(above, tiers, strict=False)]

    def of(
        self,
        tags: Tags,
        starts: Integers,
        heard: Integers,
        answers: Integers,
        words: Words,
        granted: Integers,
    ) -> Iterator[tuple[Watts, Watts]]:
        """(values, unbiased) of each tier, where the first release's noise is of these words.

        Postcondition: functions of the first's draws, before they were clamped, and of words that
        are independent of them.
        """
        drawn = answers.copy()
        for columns, noise in self._first:
            drawn[:, columns] += noise.noise(WordsOf(words, columns))
        for tier in self._tiers:
            yield tier.of(drawn, tier.words(tags, starts, heard, answers), granted)


class _Copy:
    """One tier."""

    def __init__(self, above: Policy, policy: Policy, key: NoiseKey) -> None:
        domain = policy.domain
        self._domain, self._entropy = domain, Entropy(key, policy.digest, TIER)
        self._refinements = [
            (columns, refinement.shared(domain, before.nano, asked.nano))
            for before, asked, columns in zip(
                above.questions, policy.questions, _columns(policy), strict=True
            )
        ]
        self._unbiased = mechanism.shared(domain, policy.questions[0].epsilon).unbiased
        self._agreement = Agreement(policy)

    def words(self, tags: Tags, starts: Integers, heard: Integers, answers: Integers) -> Words:
        """Its own, of these windows."""
        return self._entropy.words(tags, starts, heard, answers, answers.shape[1])

    def of(self, drawn: Integers, words: Words, granted: Integers) -> tuple[Watts, Watts]:
        """Make draws noisier, in place; answer what is released of them."""
        for columns, more in self._refinements:
            drawn[:, columns] += more.added(WordsOf(words, columns))
        released = np.clip(drawn, 0, self._domain.top)
        unbiased = self._unbiased(released)
        self._agreement.agree(released, granted)
        return self._domain.watts(released), unbiased


def _columns(policy: Policy) -> list[Integers]:
    """The outputs of each question."""
    outputs = [asked.query.outputs(policy.slots) for asked in policy.questions]
    ends = np.cumsum(outputs)
    return np.split(np.arange(int(ends[-1])), ends[:-1])
