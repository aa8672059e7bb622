"""From a draw to a noisier one: what is added to it, exactly, so that nothing more is lost.

Two-sided geometric noise that decays by `alpha` a level becomes noise that decays by a slower
`beta` if something independent is added: mostly nothing, and otherwise two-sided geometric noise
that decays by `beta` (`mechanism.md`, claim 16). Whoever sees only the noisier draw has it as if it
were a draw of its own; whoever has both knows no more than whoever has the first.

Nothing in this module draws randomness: it turns uniform words that it is given into noise.
"""

from decimal import Context, Decimal, localcontext
from functools import lru_cache

from meteragent.privacy.arrays import Integers
from meteragent.privacy.domain import Domain
from meteragent.privacy.mechanism import (
    DIGITS,
    MOST_REACHED,
    SHARED,
    Number,
    decay,
    two_sided,
)
from meteragent.privacy.thresholds import WORD_BITS, WORDS, Thresholds, Words


class Refinement:
    """What makes unclamped draws of one loss draws of a smaller one.

    `above` and `loss` are in nano-units per watt. Precondition: `loss < above`, and noise of `loss`
    is within reach of a table (`refuse`).
    """

    def __init__(self, domain: Domain, above: int, loss: int) -> None:
        alpha, beta = decay(domain, above), decay(domain, loss)
        with localcontext(Context(prec=DIGITS)):
            tail: Decimal = moved(alpha, beta) * beta / (1 + beta)
            exact = two_sided(tail * 2 ** (WORDS * WORD_BITS), beta, MOST_REACHED)
        self._thresholds = Thresholds(exact)
        self._reach = len(exact) // 2

    def added(self, words: Words) -> Integers:
        """added[window, output]: what is to be added to each draw.

        Precondition: words uniform, and independent of one another and of the draws.
        Postcondition: the law of `moved`, up to a total variation below 2**-250.
        """
        return self._thresholds.count(words.first, words) - self._reach


@lru_cache(maxsize=SHARED)
def shared(domain: Domain, above: int, loss: int) -> Refinement:
    """The same for all who ask, as mechanisms are."""
    return Refinement(domain, above, loss)


def moved(alpha: Number, beta: Number) -> Number:
    """The chance that two-sided geometric noise is added at all, in any exact arithmetic.

    Precondition: `0 < alpha < beta < 1`. The noise decays by `beta`; with the rest of the chances
    nothing is added.
    """
    one = alpha**0
    return (beta - alpha) * (one - alpha * beta) / (beta * (one - alpha) ** 2)
