"""The truncated geometric mechanism: exact sampling, cost, bias correction, error.

Its definition, and the proofs of what is claimed here, stand beside it in `mechanism.md`.
Nothing in this module draws randomness: it turns uniform words that it is given into noise.
"""

import math
from bisect import bisect_left
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, repeat
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from meteragent.errors import InvalidSetting
from meteragent.privacy.domain import Domain, Watts
from meteragent.privacy.exact import NANO, nano, type_of_decimal
from meteragent.privacy.thresholds import WORD_BITS, WORDS, Thresholds, Words

DIGITS = 140  # of every power of alpha; 100 are left after the widest scaling below
SHARED = 256  # mechanisms: more than a configuration asks for
MOST_REACHED = 100_000
"""Levels that noise goes either way at most: as long is half of a table of thresholds."""

Number = TypeVar("Number", Fraction, Decimal, float)


class Mechanism(Protocol):
    """What is asked of a mechanism: noise on levels, and what somebody still learns of them.

    Whatever makes the noise, two levels that differ by `d` watts give any output with odds
    within `exp(loss * d)`, for the loss that the ledger adds up: the rest of the promise, and
    all bounds on loads and horizons, follow from that alone.
    """

    domain: Domain
    shared_rows: int
    """Rows of words that all answers of a window share, before the row of each of them. A policy
    has no other mechanism beside one that has any."""

    def release(self, levels: NDArray[np.int64], words: Words) -> tuple[NDArray[np.int64], Watts]:
        """Of `levels[window, output]`: what is released, and watts that are right on average.

        Precondition: levels in 0..top; words uniform and independent of one another. Postcondition:
        levels in 0..top, and watts whose mean over the noise is exactly the true level's; each a
        function of the level and of its rows of words alone.
        """

    def expected_error(self, level: int | None = None) -> float:
        """Mean of |released - level| in watts; at no level, as if the range had no ends."""

    def error_quantile(self, share: float, level: int | None = None) -> float:
        """The smallest error in watts that at least `share` of the releases stay within."""

    @property
    def multiplicative_capacity(self) -> float:
        """By how much one release can multiply an adversary's chance to guess the level."""

    @property
    def additive_capacity(self) -> float:
        """By how much one release can add to any gain between 0 and 1."""


def decay(domain: Domain, loss: int) -> Decimal:
    """The chance of one level more of noise, for a loss in nano-units per watt.

    InvalidSetting: so little noise is left that thresholds could not tell it from none.
    """
    with localcontext(Context(prec=DIGITS)):
        alpha = (-Decimal(loss) / NANO * domain.resolution).exp()
        if alpha * 2 ** (WORDS * WORD_BITS) < 1:
            raise InvalidSetting(
                "epsilon", "is so large that no noise is left", "write a smaller one"
            )
        return alpha


def refuse(domain: Domain, loss: int, *, unclamped: bool = False) -> None:
    """InvalidSetting: noise of this loss is none, or goes farther than any table."""
    alpha = decay(domain, loss)
    if unclamped or domain.top > MOST_REACHED:
        with localcontext(Context(prec=DIGITS)):
            tail = _first_tail(alpha) * alpha ** (MOST_REACHED - 1)
        if tail >= LEAST_TAIL:
            name = "resolution" if domain.finer > 1 else "step"
            raise InvalidSetting(
                name,
                f"lets noise go farther than {MOST_REACHED} levels",
                f"write a larger {name}, or a larger epsilon",
            )


class TruncatedGeometric:
    """Two-sided geometric noise on a level, clamped to the domain.

    `epsilon` is per watt, rounded down to whole nano-units: the very integer that the
    ledger adds up. Two levels that differ by `d` watts give any output with odds within
    `exp(epsilon * d)`, and no mechanism with that promise serves a reader of levels better: nor one
    of windows, unless levels are finer than the readings' steps (claim 4).
    """

    def __init__(
        self, domain: Domain, epsilon: type_of_decimal, *, unclamped: bool = False
    ) -> None:
        """`unclamped`: `noise` is as it was drawn, also where it clamps to an end anyhow.

        Precondition: what `refuse` would refuse is not asked for.
        """
        self.domain = domain
        self.nano = nano("epsilon", epsilon)
        self.alpha = decay(domain, self.nano)
        most = MOST_REACHED if unclamped else domain.top
        with localcontext(Context(prec=DIGITS)):
            exact = two_sided(_first_tail(self.alpha), self.alpha, most)
        self.thresholds = Thresholds(exact)
        self.reach = len(exact) // 2
        """How many levels noise goes either way at most."""
        self._rate = float(self.epsilon * domain.resolution)

    @property
    def epsilon(self) -> Decimal:
        """The exact loss per watt of one draw."""
        return Decimal(self.nano) / NANO

    def cost(self, outputs: int = 1) -> int:
        """Nano-units per watt that `outputs` draws on one window cost: losses add up."""
        return outputs * self.nano

    shared_rows = 0

    def release(self, levels: NDArray[np.int64], words: Words) -> tuple[NDArray[np.int64], Watts]:
        """What is drawn, and the same corrected."""
        released = self.sample(levels, words)
        return released, self.unbiased(released)

    def sample(self, levels: NDArray[np.int64], words: Words) -> NDArray[np.int64]:
        """Release `levels[window, output]`, each with noise from its own row of words.

        Precondition: levels in 0..top; words uniform and independent of one another.
        Postcondition: each output has the law of `matrix`, up to a total variation below
        2**-250. Why exact: noise made of floats has gaps that give the level away.
        """
        released: NDArray[np.int64] = np.clip(levels + self.noise(words), 0, self.domain.top)
        return released

    def noise(self, words: Words) -> NDArray[np.int64]:
        """Invert the distribution function: count the thresholds at or below each row of words."""
        return self.thresholds.count(words.first, words) - self.reach

    def matrix(self) -> NDArray[np.float64]:
        """`matrix[level, released]`: the probability of every release, for inspection."""
        with localcontext(Context(prec=DIGITS)):
            return np.array(matrix(self.domain.top, self.alpha), dtype=np.float64)

    @cached_property
    def _unbiased(self) -> NDArray[np.float64]:
        corrected = np.arange(self.domain.top + 1, dtype=np.float64)
        overshoot = float(self.alpha / (1 - self.alpha))
        corrected[0] -= overshoot
        corrected[-1] += overshoot
        return corrected

    def unbiased(self, released: NDArray[np.int64]) -> Watts:
        """Watts whose mean over the noise is exactly the true level's (claim 5).

        Clamped noise is memoryless: what was cut off at an end exceeds it by
        `alpha / (1 - alpha)` levels on average, so that much is put back there.
        """
        return self.domain.watts(self._unbiased[released])

    def expected_error(self, level: int | None = None) -> float:
        """Mean of |released - level| in watts; at no level, that of unclamped noise."""
        alpha, gap = math.exp(-self._rate), -math.expm1(-self._rate)
        room = -sum(math.expm1(-self._rate * side) for side in self._sides(level))
        return float(self.domain.resolution) * room * alpha / (gap * (1 + alpha))

    def error_quantile(self, share: float, level: int | None = None) -> float:
        """The smallest error in watts that at least `share` of the releases stay within."""
        if not 0 <= share < 1:
            raise InvalidSetting("share", "must be in [0, 1)", 'write for example "0.9"')
        sides = self._sides(level)

        def within(error: int) -> bool:
            beyond = sum(self._power(error + 1) for side in sides if side > error)
            return beyond <= (1 + self._power(1)) * (1 - share)

        most = 1
        while not within(most):
            most *= 2
        return bisect_left(range(most), True, key=within) * float(self.domain.resolution)  # noqa: FBT003

    @property
    def multiplicative_capacity(self) -> float:
        """By how much one release can multiply an adversary's chance to guess the level.

        The worst case over all priors and goals: the sum of the columns' largest entries, all
        on the diagonal, `(2 + (top - 1)(1 - alpha)) / (1 + alpha)` (claim 8).
        """
        alpha, top = float(self.alpha), self.domain.top
        return (2 + (top - 1) * float(1 - self.alpha)) / (1 + alpha)

    @property
    def additive_capacity(self) -> float:
        """By how much one release can add to any gain between 0 and 1.

        One less the sum of the columns' smallest entries, which lie at the far ends (claim 8).
        """
        alpha, top = float(self.alpha), self.domain.top
        if top % 2 == 0:
            return 1 - alpha ** (top // 2)
        return 1 - 2 * alpha ** ((top + 1) // 2) / (1 + alpha)

    def _power(self, exponent: float) -> float:
        return math.exp(-self._rate * exponent)

    def _sides(self, level: int | None) -> tuple[float, float]:
        """How far noise can carry a release down and up, in levels."""
        if level is not None and not 0 <= level <= self.domain.top:
            raise InvalidSetting(
                "level", "is not on the grid", f"give one in 0..{self.domain.top}, or none"
            )
        return (math.inf, math.inf) if level is None else (level, self.domain.top - level)


@lru_cache(maxsize=SHARED)
def shared(
    domain: Domain, epsilon: type_of_decimal, *, unclamped: bool = False
) -> TruncatedGeometric:
    """The same for all who ask: its tables are large, take long to make, and never change."""
    return TruncatedGeometric(domain, epsilon, unclamped=unclamped)


def matrix(top: int, alpha: Number) -> list[list[Number]]:
    """The mechanism's law in any exact arithmetic: `c(z) * alpha**|y - z|` (claim 2)."""
    one = alpha**0
    powers = list(accumulate(repeat(alpha, top), lambda power, a: power * a, initial=one))
    at_end, inside = one / (one + alpha), (one - alpha) / (one + alpha)
    return [
        [(at_end if z in (0, top) else inside) * powers[abs(y - z)] for z in range(top + 1)]
        for y in range(top + 1)
    ]


LEAST_TAIL = 2
"""A tail that is smaller, in whole numbers of 320 bits, is the last of a table."""


def _first_tail(alpha: Decimal) -> Decimal:
    """`P(noise < 0) * 2**320`; of each level farther off it is `alpha` times as much."""
    tail: Decimal = alpha * 2 ** (WORDS * WORD_BITS) / (1 + alpha)
    return tail


def two_sided(first: Decimal, alpha: Decimal, most: int) -> list[int]:
    """`P(noise <= j) * 2**320` for j in -reach..reach-1, as integers, `reach` being `most` at most.

    `first` is `P(noise < 0) * 2**320`, of noise that is as likely to go up as down; of each level
    farther off it is `alpha` times as much. Where a tail is below `LEAST_TAIL / 2**320` next to
    nothing is beyond, and noise beyond the top either way clamps to an end of the domain whatever
    the level was: so with that for `most` these thresholds are all there is to know. Tails are
    rounded down on both sides alike, and none to nothing.
    """
    tails: list[int] = []
    while len(tails) < most and (not tails or tails[-1] >= LEAST_TAIL):
        tails.append(max(1, int(first)))
        first *= alpha
    scale = 2 ** (WORDS * WORD_BITS)
    return [*reversed(tails), *(scale - t for t in tails)]
