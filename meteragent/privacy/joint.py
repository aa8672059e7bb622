"""One draw for all answers of a window: exact sampling, error, and what it tells.

Noise `z` on `m` answers has a chance that falls with the largest of its entries alone,
`P(z) ~ alpha**max(|z|)`: as all lawful answers move by at most as much as the readings do, that
costs what one answer costs, however many they are (`mechanism.md`, claim 11). It is drawn as the
mixture that it is: first the radius `s`, with `P(s) ~ alpha**s * (2 s + 1)**m`, then `m`
independent uniform integers of `-s..s`.

Nothing in this module draws randomness: it turns uniform words that it is given into noise.
"""

import math
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from functools import cached_property, lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from meteragent.errors import InvalidSetting
from meteragent.privacy.arrays import Integers
from meteragent.privacy.domain import Domain, Watts
from meteragent.privacy.exact import NANO, nano, type_of_decimal
from meteragent.privacy.mechanism import DIGITS, SHARED, decay
from meteragent.privacy.query import Query
from meteragent.privacy.thresholds import WORD_BITS, WORDS, Thresholds, Words, uniform

MOST_ANSWERS = 16
LEAST_RATE = Decimal("0.002")
"""Of the loss for a level: below it tables get long, and so fine a grid serves nobody."""
LEFT_OUT = 100
"""Chances below `10**-LEFT_OUT` of the largest one are left out of the table of radii."""

LEADING_BITS = 44
"""Of a first word: no bound has more than 20 bits, so that a product has no more than 64."""

Floats = NDArray[np.float64]


def refuse(domain: Domain, queries: Sequence[Query], losses: Sequence[int]) -> None:
    """InvalidSetting: one draw cannot be for the answers to these, or not at these losses."""
    if any(query.per_slot for query in queries):
        raise InvalidSetting(
            "queries",
            "asks for every reading, where with joint noise a load of one reading would cost as "
            "much as one of all",
            'leave out "reading", or noise = "joint"',
        )
    if len(set(losses)) > 1:
        raise InvalidSetting(
            "queries",
            "has an epsilon of its own, but joint noise has one for all",
            "leave it out, and write the policy's",
        )
    if len(queries) > MOST_ANSWERS:
        raise InvalidSetting(
            "queries", f"asks more than {MOST_ANSWERS}, with joint noise", "ask fewer"
        )
    if Decimal(losses[0]) / NANO * domain.resolution < LEAST_RATE:
        name = "resolution" if domain.finer > 1 else "step"
        raise InvalidSetting(
            name,
            f"loses less than {LEAST_RATE}, and for so fine a {name} there is no joint noise",
            f"write a larger {name}, or a larger epsilon",
        )
    decay(domain, losses[0])  # refuses what would be no noise


class JointGeometric:
    """Noise on all answers of a window that loses what noise on one of them would.

    `epsilon` is per watt, for all answers together, rounded down to whole nano-units: the very
    integer that the ledger adds up.
    """

    shared_rows = 1
    """The first row of words says how large the noise of all of them may be."""

    def __init__(self, domain: Domain, epsilon: type_of_decimal, answers: int) -> None:
        self.domain = domain
        self.answers = answers
        self.nano = nano("epsilon", epsilon)
        self.alpha = decay(domain, self.nano)
        self.radii = Thresholds(_thresholds(self.alpha, answers))

    def release(self, levels: Integers, words: Words) -> tuple[Integers, Watts]:
        """What is drawn, clamped to the domain, and the same as it was drawn, in watts.

        Precondition: levels in 0..top; words uniform and independent of one another, a row more
        than there are answers. Postcondition: the noise has the law of the claim, up to a total
        variation below 2**-300. Why not clamped: here what clamping cuts off depends on the other
        answers, so that no single answer could be corrected for it; what was drawn is right.
        """
        drawn = levels + self.noise(words)
        released: Integers = np.clip(drawn, 0, self.domain.top)
        return released, self.domain.watts(drawn)

    def noise(self, words: Words) -> Integers:
        """noise[window, answer]: a radius for each window, and uniform integers up to it."""
        radius = self.radii.count(words.first[:, :1], words)[:, 0]
        drawn = _below(2 * radius + 1, words)
        drawn -= radius
        return drawn.T

    # For people: of one answer, and of all of them together.

    def expected_error(self, level: int | None = None) -> float:
        """Mean of |released - level| in watts of one answer; at no level, that of unclamped noise.

        The order of the answers, which takes some of it off, is left out.
        """
        off = sum(float(self._beyond[1 : side + 1].sum()) for side in self._sides(level))
        return off * float(self.domain.resolution)

    def error_quantile(self, share: float, level: int | None = None) -> float:
        """The smallest error in watts that at least `share` of all answers stay within."""
        farther = np.append(self._beyond[1:], 0.0)  # farther[off]: than by so much, upwards
        off = np.arange(len(farther))
        left = np.zeros(len(farther))
        for side in self._sides(level):
            left += np.where(off < side, farther, 0.0)
        return int(np.argmax(left <= 1 - share)) * float(self.domain.resolution)

    @property
    def multiplicative_capacity(self) -> float:
        """By how much one answer can multiply an adversary's chance to guess its level."""
        return self._capacity(1, 1)

    @property
    def additive_capacity(self) -> float:
        """By how much one answer can add to any gain between 0 and 1."""
        return 1 - self._capacity(1, -1)

    @property
    def times_together(self) -> float:
        """By how much all answers can multiply the chance to guess their levels."""
        return self._capacity(self.answers, 1)

    @property
    def plus_together(self) -> float:
        """By how much all answers can add to any gain between 0 and 1."""
        return 1 - self._capacity(self.answers, -1)

    def _sides(self, level: int | None) -> tuple[int, int]:
        """How far noise can carry an answer down and up, in levels."""
        everything = len(self._beyond)
        return (everything, everything) if level is None else (level, self.domain.top - level)

    def _capacity(self, answers: int, sign: int) -> float:
        """The sum of the largest entries of all columns, or of the smallest ones.

        Of noise of radius `s` an answer can be released from some level in `2 s + 1 + top` ways,
        and from every level in `2 s + 1 - top`.
        """
        width = 2 * np.arange(len(self._radius)) + 1
        ways = np.maximum(width + sign * self.domain.top, 0) / width
        return float(self._radius @ ways**answers)

    @cached_property
    def _radius(self) -> Floats:
        return radii(float(-self.alpha.ln()), self.answers)

    @cached_property
    def marginal(self) -> Floats:
        """marginal[v]: the chance that one answer is v levels too high, or as many too low."""
        return marginal(self._radius)

    @cached_property
    def _beyond(self) -> Floats:
        """beyond[v]: the chance that one answer is v levels or more too high."""
        return np.cumsum(self.marginal[::-1])[::-1]


def radii(rate: float, answers: int) -> Floats:
    """radii[s]: the chance of each radius, for a loss of `rate` at each level."""
    likely = (answers + 1) / rate
    reach = math.ceil(likely + (90 + 18 * math.sqrt(answers + 1)) / rate) + 1
    s = np.arange(reach + 1)
    exponent = answers * np.log(2 * s + 1) - rate * s
    chances = np.exp(exponent - exponent.max())
    law: Floats = chances / chances.sum()
    return law


def marginal(radius: Floats) -> Floats:
    """marginal[v]: the chance that one answer is v levels too high, or as many too low."""
    width = 2 * np.arange(len(radius)) + 1
    law: Floats = np.cumsum((radius / width)[::-1])[::-1]
    return law


@lru_cache(maxsize=SHARED)
def shared(domain: Domain, epsilon: type_of_decimal, answers: int) -> JointGeometric:
    """The same for all who ask: its tables are large, take long to make, and never change."""
    return JointGeometric(domain, epsilon, answers)


def _thresholds(alpha: Decimal, answers: int) -> list[int]:
    """`P(radius <= s) * 2**320` for s = 0, 1, …, as integers, until next to nothing is left.

    The weights grow until about `answers / (1 - alpha)`, and fall ever faster behind that.
    """
    with localcontext(Context(prec=DIGITS)):
        weights: list[Decimal] = []
        power = weight = most = Decimal(1)
        while weight >= most.scaleb(-LEFT_OUT):
            weights.append(weight)
            most = max(most, weight)
            power *= alpha
            weight = power * (2 * len(weights) + 1) ** answers
        scale = 2 ** (WORDS * WORD_BITS) / sum(weights)
        return [int(below * scale) for below in accumulate(weights[:-1])]


def _below(bounds: Integers, words: Words) -> Integers:
    """below[answer, window]: `floor(u * bound / 2**320)` of each row of words but the first.

    That is the upper part of the product of the window's bound and the first word's leading bits,
    unless what follows these carries over: which it could for one answer in 2**24, of the widest
    noise. Why by answer: rows of so few numbers are slow.
    """
    bound = bounds.astype(np.uint64)
    product = np.right_shift(words.first.T[1:], np.uint64(WORD_BITS - LEADING_BITS), order="C")
    product *= bound
    rest = product & np.uint64(2**LEADING_BITS - 1)
    product >>= np.uint64(LEADING_BITS)
    drawn: Integers = product.view(np.int64)
    carries = rest > np.uint64(2**LEADING_BITS) - bound
    if carries.any():
        for answer, window in np.argwhere(carries).tolist():
            exact = uniform(int(words.first[window, answer + 1]), words, window, answer + 1)
            drawn[answer, window] = exact * int(bounds[window]) >> (WORDS * WORD_BITS)
    return drawn
