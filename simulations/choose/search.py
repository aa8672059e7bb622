"""The search: for every window and set of queries, the least noise that is enough."""

from collections.abc import Sequence
from dataclasses import dataclass

from simulations.choose.candidate import NOISES, Candidate, candidate
from simulations.kit.command import Run
from simulations.kit.yardstick import Verdict, Yardstick

SHOWN = 4
"""One of so many noises is shown at least."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One policy under attack."""

    candidate: Candidate
    verdicts: list[Verdict]

    @property
    def kept(self) -> bool:
        """Whether no attack gains more over guessing than is aimed at."""
        return all(verdict.kept for verdict in self.verdicts)

    @property
    def worst(self) -> Verdict:
        """The attack that comes nearest to what is aimed at, or goes farthest beyond."""
        return max(self.verdicts, key=_excess)


@dataclass(frozen=True, slots=True)
class Point:
    """What was found for one window and set of queries."""

    window: str
    queries: tuple[str, ...]
    trials: list[Trial]
    best: Trial | None
    """The policy of the least noise; None if none of those that were tried has enough."""


def search(yardstick: Yardstick, run: Run) -> list[Point]:
    """Every window, finest first, and every set of queries, most useful first."""
    pairs = [(w, q) for w in yardstick.windows for q in yardstick.queries]
    return [_point(yardstick, w, q) for w, q in run.each(pairs, "choosing")]


def chosen(points: Sequence[Point], most: float) -> Trial | None:
    """The first whose error is no larger than this: the finest window, the most useful queries."""
    found = (point.best for point in points if point.best)
    return next((trial for trial in found if trial.candidate.error <= most), None)


def within(yardstick: Yardstick, share: float, mean: float) -> list[Trial]:
    """For every window, what attacks make of as much noise as a month's sum can bear.

    It can bear so much that the sum of a home of `mean` watts is off by no more than `share`.
    """
    trials = []
    for window in yardstick.windows:
        some = candidate(yardstick, window, yardstick.queries[-1], NOISES[-1])
        noise = int(some.noise * share / some.month(mean)) + 1
        while (one := candidate(yardstick, window, some.queries, noise)).month(mean) > share:
            noise -= 1
        trials.append(Trial(one, yardstick.attack(one.tried)))
    return trials


def _point(yardstick: Yardstick, window: str, queries: tuple[str, ...]) -> Point:
    """Look at some noises of the ladder, for the picture, and halve it."""
    trials: dict[int, Trial] = {}

    def trial(rung: int) -> Trial:
        if rung not in trials:
            one = candidate(yardstick, window, queries, NOISES[rung])
            trials[rung] = Trial(one, yardstick.attack(one.tried))
        return trials[rung]

    for rung in range(0, len(NOISES), SHOWN):
        trial(rung)
    low, high = -1, len(NOISES)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if trial(middle).kept else (middle, high)
    return Point(window, queries, [*trials.values()], trials.get(high))


def _excess(verdict: Verdict) -> float:
    """How much of what may be gained over guessing is."""
    return (verdict.success - verdict.chance) / (verdict.limit - verdict.chance)
