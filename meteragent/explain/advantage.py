"""How often the best attacker is right who holds several stories, and a release: exactly.

Nobody is right more often, whatever they know besides and whatever method they use. No trials are
made: success follows from the law of the noise (claim 12 of `mechanism.md`).

    apart     two stories in one answer: their total variation, a closed form
    right     two stories in any number of draws: log-odds add up, and so do whole numbers
    named     many stories: exactly in one answer, a bound in several
    bound     two stories, of which no more is known than what all releases lose

Stories are told apart by how many levels lie between their answers, and by nothing else: the ends
of the range take nothing from the attacker, as what is clamped there speaks for one story alike.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from meteragent.privacy.arrays import Integers
from meteragent.privacy.exact import NANO
from meteragent.privacy.joint import radii

MOST_CELLS = 2**19
"""Log-odds that are told apart at most; those of longer sums are rounded up to so many."""
MOST_MULTIPLIED = 2**12
"""Levels between two stories, over all draws, up to which moments are worked out."""
MOST_PAIRED = 2**22
"""Pairs of radii that are looked at for one joint draw."""
SURE = math.log(1e-9)
"""Who is wrong less often than that is said to be always right."""
NEVER = 700.0
"""`exp(-NEVER)` is the least chance that is kept."""
POWERS = (1, 2, 3, 4, 6, 8, 12, 16, 24)

Floats = NDArray[np.float64]
Law = tuple[Integers, Floats]
"""How far something speaks for the true story, in levels of noise, and how likely."""


@dataclass(frozen=True, slots=True)
class Draw:
    """One draw of noise, and by how many levels two stories move each answer that it is for."""

    nano: int
    """What the draw loses, in nano-units per watt."""
    moves: tuple[int, ...]

    @property
    def reach(self) -> int:
        """The most that it can tell, in nano-units per watt, times levels."""
        return self.nano * max(self.moves)


def apart(rate: float, levels: int) -> float:
    """By how much one answer is more likely above some level in one story than in the other.

    Their total variation: `1 - alpha**(levels / 2)` where that is whole. Two stories are told
    apart in `(1 + apart) / 2` of cases.
    """
    lower, odd = divmod(levels, 2)
    if odd:
        return 1 - 2 * math.exp(-rate * (lower + 1)) / (1 + math.exp(-rate))
    return -math.expm1(-rate * lower)


def bound(loss: float, step: float) -> float:
    """The most that anybody is right about two stories that all releases tell apart by `loss`.

    Precondition: one story becomes the other by steps that lose `step` or less each, and `loss`
    together. It is reached by one answer that an odd number of levels lies between.
    """
    return 1 - math.exp(-loss / 2) / (math.exp(step / 2) + math.exp(-step / 2))


# Two stories, and any number of draws.


def right(draws: Mapping[Draw, int], resolution: float) -> float:
    """How often two stories are told apart that lie so far apart in so many draws each.

    Exactly, if losses have a common measure that is not too small (those of one epsilon have);
    else log-odds are rounded up to one, which never makes less of them.
    """
    told = {draw: count for draw, count in draws.items() if draw.reach}
    if not told:
        return 0.5
    laws = {draw: law(draw, resolution) for draw in told}
    rates = {draw: resolution * draw.nano / NANO for draw in told}
    if sum(_alike(*laws[draw], rates[draw]) * told[draw] for draw in told) < SURE:
        return 1.0
    return (1 + min(max(_variation(told, laws, resolution), 0.0), 1.0)) / 2


def _variation(told: Mapping[Draw, int], laws: Mapping[Draw, Law], resolution: float) -> float:
    """The total variation of all draws together, by the Fourier transforms of their laws."""
    reach = sum(draw.reach * count for draw, count in told.items())
    unit = max(math.gcd(*(draw.nano for draw in told)), -(-reach // MOST_CELLS))
    furthest = sum(-(-draw.reach // unit) * count for draw, count in told.items())
    size = 1 << (2 * furthest).bit_length()
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    for draw, count in told.items():
        odds, chances = laws[draw]
        cells = np.zeros(size)
        np.add.at(cells, -(-odds * draw.nano // unit) % size, chances)
        spectrum *= _power(np.fft.rfft(cells), count)
    positive = np.fft.irfft(spectrum, size)[1 : furthest + 1]
    rate = resolution * unit / NANO
    return float(positive @ -np.expm1(-rate * np.arange(1, furthest + 1)))


def _power(base: NDArray[np.complex128], count: int) -> NDArray[np.complex128]:
    """By squares: numpy takes ten times as long."""
    power = np.ones_like(base)
    while count:
        if count & 1:
            power *= base
        base, count = base * base, count >> 1
    return power


def _alike(odds: Integers, chances: Floats, rate: float) -> float:
    """The logarithm of twice what one draw leaves to be wrong about, at most (Bhattacharyya).

    What speaks against the true story is as much as what speaks for it, seen from the other.
    """
    sides = np.where(odds > 0, 2.0, odds == 0)
    alike = float((sides * chances) @ np.exp(-np.minimum(rate / 2 * np.abs(odds), NEVER)))
    return math.log(max(alike, math.exp(-NEVER)))


def law(draw: Draw, resolution: float) -> Law:
    """How far a draw speaks for the true story, in levels of noise, and how likely."""
    rate = resolution * draw.nano / NANO
    if len(draw.moves) == 1:
        return _own_law(draw.moves[0], rate)
    return _joint_law(tuple(sorted(draw.moves)), rate)


def _own_law(levels: int, rate: float) -> Law:
    """Of one answer: what is between the two stories speaks for the nearer one."""
    passed = np.arange(levels + 1)
    chances = np.exp(-np.minimum(rate * (levels - passed), NEVER)) / (1 + math.exp(-rate))
    chances[1:-1] *= -math.expm1(-rate)
    return 2 * passed - levels, chances


@lru_cache(maxsize=64)
def _joint_law(moves: tuple[int, ...], rate: float) -> Law:
    """Of several answers with one draw, by how many vectors lie on the faces of two cubes.

    `of[a, b]` of them have entries of at most `a` in the true story, and `b` in the other. Where
    these are too many, the farthest move is taken to be that of an answer with a draw of its own,
    which tells no less.
    """
    most, law_of_radius = moves[-1], radii(rate, len(moves))
    reach = len(law_of_radius)
    if reach * most > MOST_PAIRED:
        return _own_law(most, rate)
    odds = np.arange(-most, most + 1)
    one = np.arange(reach)[:, np.newaxis]
    faces = np.zeros((reach, len(odds)))
    for inner, sign in ((0, 1), (1, -1)):
        for other, turn in ((0, 1), (1, -1)):
            faces += sign * turn * _in_both(one - inner, one + odds - other, moves)
    chances = (np.exp(-rate * (one - one[-1])) * faces / _scale(moves, reach)).sum(axis=0)
    return odds, chances / chances.sum()


def _scale(moves: tuple[int, ...], reach: int) -> float:
    """So that the largest numbers are about one."""
    return float(2 * reach + 1) ** len(moves)


def _in_both(one: Integers, other: Integers, moves: tuple[int, ...]) -> Floats:
    """How many vectors lie within `one` of zero and within `other` of the moves, entry by entry."""
    many = np.ones(np.broadcast_shapes(one.shape, other.shape))
    for move in moves:
        many *= np.maximum(np.minimum(one, move + other) - np.maximum(-one, move - other) + 1, 0)
    return np.where((one >= 0) & (other >= 0), many, 0.0)


# Many stories.


@dataclass(frozen=True, slots=True)
class Named:
    """How often the right one of several stories is named, by whoever names the likeliest."""

    success: float
    exact: bool
    """Whether it is no mere bound."""


def named(answers: Integers, nano: Sequence[int], resolution: float) -> Named:
    """Of `answers[story, output]`, each output with a draw of its own, each story as likely.

    In one answer exactly. In several it is the smaller of two bounds: what all answers multiply a
    guess by, one by one; and what stories lie about the middle of all of them, together.
    """
    stories, rates = len(answers), [resolution * one / NANO for one in nano]
    moved = np.flatnonzero(np.ptp(answers, axis=0))
    times = math.prod(spread(answers[:, output], rates[output]) for output in moved)
    if len(moved) <= 1:
        return Named(times / stories, exact=True)
    times = min(times, _about_the_middle(answers[:, moved], [rates[output] for output in moved]))
    return Named(min(times / stories, 1.0), exact=False)


def spread(levels: Integers, rate: float) -> float:
    """By how much one answer multiplies a guess among stories that answer these levels."""
    distinct = np.unique(levels).tolist()
    return 1 + sum(apart(rate, above - below) for below, above in pairwise(distinct))


def filled(levels: int, rate: float) -> float:
    """The same of any number of stories whose answers lie within so many levels."""
    return 1 + levels * apart(rate, 1)


def filled_together(levels: int, rate: float, answers: int) -> float:
    """The same of all answers that one draw is for (claim 11)."""
    radius = radii(rate, answers)
    width = 2 * np.arange(len(radius)) + 1
    return float(radius @ ((width + levels) / width) ** answers)


def _about_the_middle(answers: Integers, rates: Sequence[float]) -> float:
    """A bound on the mean of the largest likelihood ratio of a story to the middle of them all."""
    middle = np.median(answers, axis=0).astype(np.int64)
    moves = np.abs(answers - middle)
    if int(moves.sum(axis=1).max()) > MOST_MULTIPLIED or len(set(rates)) > 1:
        return math.inf
    sums = np.zeros(len(POWERS))
    for story, count in zip(*np.unique(np.sort(moves), axis=0, return_counts=True), strict=True):
        sums += count * _moments(tuple(story[story > 0].tolist()), rates[0])
    return 1 + float(min(sums ** (1 / np.array(POWERS))))


def _moments(moves: tuple[int, ...], rate: float) -> Floats:
    """The means of powers of how much likelier a story is than the middle, where it is.

    By plain sums of positive numbers: large powers are made of chances that are next to nothing.
    """
    chances = reduce(np.convolve, (_spaced(levels, rate) for levels in moves), np.ones(1))
    likelier = chances[: len(chances) // 2][::-1]
    ratio = rate * np.arange(1, len(likelier) + 1)
    with np.errstate(over="ignore"):
        powers = np.expm1(ratio) ** np.array(POWERS)[:, np.newaxis]
        means: Floats = np.where(likelier > 0, powers, 0.0) @ likelier
    return means


def _spaced(levels: int, rate: float) -> Floats:
    """The law of one answer as an array of all log-odds from `-levels` to `levels`."""
    chances = np.zeros(2 * levels + 1)
    chances[::2] = _own_law(levels, rate)[1]
    return chances
