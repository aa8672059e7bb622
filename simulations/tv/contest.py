"""Contests: contents are put into homes, the product releases them, and an attacker guesses.

An attacker knows every candidate's exact trace, when it was on, and the policy. What else was
on in the home is either known, which is the worst case, or drawn from habits.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meteragent.explain.advantage import Named
from meteragent.explain.reader import drawn
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from simulations.kit.exact import named_of
from simulations.kit.product import release
from simulations.kit.statistics import Share
from simulations.kit.traces import Integers, Trace
from simulations.kit.windows import answered as window_by_window
from simulations.kit.windows import whole
from simulations.tv.attacks import Scores, among, ranks
from simulations.tv.background import background
from simulations.tv.likelihood import Habits, Levels, known_home, rates

Watts = NDArray[np.float64]

OTHERS = 200
"""Homes that an attacker has measured himself."""

EPOCH = 1_767_225_600_000
"""The midnight at which the simulated year 2026 begins."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What might have been on: `watts[content, slot]`, all begun at the same time."""

    begin: int
    """Milliseconds since the epoch; a whole number of intervals."""
    interval: int
    watts: Watts
    sets: NDArray[np.int64] | None = None
    """The set that each was seen on, where an attacker knows it: others are no candidates."""

    @property
    def chance(self) -> float:
        """What guessing gets."""
        if self.sets is None:
            return 1 / len(self.watts)
        _, which, sizes = np.unique(self.sets, return_inverse=True, return_counts=True)
        return float(np.mean(1 / sizes[which]))

    def chance_of(self, first: int) -> float:
        """What so many guesses get."""
        if self.sets is None:
            return min(1.0, first / len(self.watts))
        _, which, sizes = np.unique(self.sets, return_inverse=True, return_counts=True)
        return float(np.mean(np.minimum(1, first / sizes[which])))


@dataclass(frozen=True, slots=True)
class Seen:
    """What an attacker has before him."""

    released: Levels
    """released[observed, output], repeat after repeat of all contents"""
    answers: Levels
    """answers[content, output]: what the queries say of each content in a known home"""
    rates: NDArray[np.float64]
    habits: Habits | None

    def scores(self) -> Scores:
        """The likelihood of every content, given what was released."""
        if self.habits is None:
            return known_home(self.released, self.answers, self.rates)
        return self.habits.scores(self.released, self.answers, self.rates)


def alone(contents: Contents, policy: Policy, key: NoiseKey, repeats: int, rest: float) -> Seen:
    """Contents in homes where everything else draws `rest` watts, which the attacker knows."""
    begin, ends, placed = _placed(contents, policy, rest)
    answers = _answers(placed, ends, policy)
    released = _released(placed, begin, policy, key, repeats)
    return Seen(released, answers, rates(policy, len(ends)), None)


def answered(contents: Contents, policy: Policy, rest: float) -> list[Integers]:
    """levels[window, output] of each content, where everything else draws `rest` watts."""
    _, ends, placed = _placed(contents, policy, rest)
    return [*window_by_window(placed, ends, policy)]


def named_among(contents: Contents, policy: Policy, rest: float) -> Named:
    """How often the best attacker names the right one, who knows the set that it was seen on."""
    levels = answered(contents, policy, rest)
    sets = np.zeros(len(levels)) if contents.sets is None else contents.sets
    each = [
        (named_of([levels[n] for n in members], policy), len(members))
        for members in (np.flatnonzero(sets == one).tolist() for one in np.unique(sets).tolist())
    ]
    right = sum(found.success * count for found, count in each)
    return Named(right / len(levels), exact=all(found.exact for found, _ in each))


def in_homes(
    contents: Contents, policy: Policy, key: NoiseKey, repeats: int, draw: np.random.Generator
) -> Seen:
    """Contents in homes of which the attacker knows no more than what such homes draw.

    Every trial has a home of its own, and the attacker has learned from others.
    """
    begin, ends, placed = _placed(contents, policy, 0.0)
    trials = repeats * len(placed)
    drawn = background(
        draw,
        trials + OTHERS,
        placed.shape[1],
        policy.interval / 1000,
        begin / 1000 % 86_400,
    )
    mixed = np.tile(placed, (repeats, 1)) + drawn[:trials]
    released = _released(mixed, begin, policy, key, 1)
    habits = Habits(_answers(drawn[trials:], ends, policy))
    return Seen(released, _answers(placed, ends, policy), rates(policy, len(ends)), habits)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How often the right content was the first guess, and among the first five."""

    first: Share
    five: Share


def outcome(scores: Scores, contents: Contents, draw: np.random.Generator) -> Outcome:
    """Precondition: `scores[observed, content]`, observed repeat after repeat."""
    truth = np.arange(len(scores)) % len(contents.watts)
    if contents.sets is not None:
        scores = np.where(contents.sets[truth][:, np.newaxis] == contents.sets, scores, -np.inf)
    beaten = ranks(scores, truth, draw)
    return Outcome(among(beaten, 1), among(beaten, 5))


def _placed(contents: Contents, policy: Policy, rest: float) -> tuple[int, list[int], Watts]:
    """The windows that contents touch, whole: when they begin, where they end, and their slots."""
    end = contents.begin + contents.watts.shape[1] * contents.interval
    begin, ends = whole(contents.begin, end, policy)
    coarse = [
        Trace("", contents.begin, contents.interval, row).coarser(policy.interval).watts
        for row in contents.watts
    ]
    first = (contents.begin - begin) // policy.interval
    placed = np.full((len(coarse), ends[-1]), rest)
    placed[:, first : first + len(coarse[0])] += np.array(coarse)
    return begin, ends, placed


def _answers(placed: Watts, ends: list[int], policy: Policy) -> Levels:
    """answers[content, output], of all windows."""
    each = window_by_window(placed, ends, policy).astype(np.float64)
    return each.reshape(len(placed), -1)


def _released(placed: Watts, begin: int, policy: Policy, key: NoiseKey, repeats: int) -> Levels:
    """Every repeat is another meter, so it has its own noise."""
    traces = [
        Trace(f"tv-{repeat}-{number}", begin, policy.interval, watts)
        for repeat in range(repeats)
        for number, watts in enumerate(placed)
    ]
    unbiased = np.array([one.unbiased for one in release(traces, policy, key)])
    return drawn(unbiased, policy).reshape(len(traces), -1)
