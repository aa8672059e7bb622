"""The law of a release and of its noisier copy, in fractions: by sums of geometric series.

`alpha` is the first draw's, `beta` the copy's. Nothing of the product is used here.
"""

from __future__ import annotations

from fractions import Fraction

Law = dict[tuple[int, int], Fraction]
"""(released, copied) -> chance."""


def geometric(decay: Fraction, off: int) -> Fraction:
    """Of two-sided geometric noise."""
    return (1 - decay) / (1 + decay) * decay ** abs(off)


def stays(alpha: Fraction, beta: Fraction) -> Fraction:
    """How often nothing is added, so that the noise that decays by alpha becomes beta's."""
    return alpha / beta * ((1 - beta) / (1 - alpha)) ** 2


def added(alpha: Fraction, beta: Fraction, off: int) -> Fraction:
    """The chance that so much is added."""
    still = stays(alpha, beta)
    return (still if off == 0 else Fraction(0)) + (1 - still) * geometric(beta, off)


def clamped(alpha: Fraction, beta: Fraction, level: int, top: int) -> Law:
    """What is told of a level to both audiences, each clamped to 0..top."""
    law: Law = {}
    for first in range(1, top):
        chance = geometric(alpha, first - level)
        for copied in range(1, top):
            law[first, copied] = chance * added(alpha, beta, copied - first)
        law[first, 0] = chance * _at_least(alpha, beta, first)
        law[first, top] = chance * _at_least(alpha, beta, top - first)
    for end, towards in ((0, 1), (top, -1)):
        draws = (1 - alpha) / (1 + alpha) * alpha ** abs(level - end)
        more = (1 - stays(alpha, beta)) * (1 - beta) / (1 + beta)
        for far in range(1, top):
            law[end, end + towards * far] = draws * more * beta**far / (1 - alpha * beta)
        law[end, top - end] = draws * more * beta**top / (1 - beta) / (1 - alpha * beta)
        rest = alpha ** abs(level - end) / (1 + alpha)
        law[end, end] = rest - sum((law[end, z] for z in range(top + 1) if z != end), Fraction(0))
    return law


def _at_least(alpha: Fraction, beta: Fraction, off: int) -> Fraction:
    """The chance that `off` >= 1 or more is added."""
    return (1 - stays(alpha, beta)) * beta**off / (1 + beta)
