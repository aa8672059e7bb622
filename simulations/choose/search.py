"""The search: for every window and set of queries, the least noise that holds every attack."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from meteragent.privacy.entropy import NoiseKey
from simulations.choose.candidate import NOISES, Candidate, candidate
from simulations.kit.command import Run
from simulations.kit.yardstick import Estimate, Verdict, Yardstick

CONFIRMATIONS = 3
"""Fresh keys under which a policy that was found is attacked again; together they decide."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One policy under attack."""

    candidate: Candidate
    verdicts: list[Verdict]

    @property
    def held(self) -> bool:
        """Whether no attack did better than guessing."""
        return all(verdict.held for verdict in self.verdicts)

    @property
    def worst(self) -> Verdict:
        """The attack that came closest to success."""
        return max(self.verdicts, key=_excess)


@dataclass(frozen=True, slots=True)
class Point:
    """What was found for one window and set of queries."""

    window: str
    queries: tuple[str, ...]
    trials: list[Trial]
    best: Trial | None
    """The policy of the least noise that held, under all fresh keys together; None if none did."""


def search(yardstick: Yardstick, run: Run) -> list[Point]:
    """Every window, finest first, and every set of queries, most useful first."""
    pairs = [(w, q) for w in yardstick.windows for q in yardstick.queries]
    return [_point(yardstick, run, w, q) for w, q in run.each(pairs, "choosing")]


def chosen(points: list[Point], most: float) -> Trial | None:
    """The first whose error is no larger than this: the finest window, the most useful queries."""
    found = (point.best for point in points if point.best)
    return next((trial for trial in found if trial.candidate.error <= most), None)


def within(yardstick: Yardstick, share: float, mean: float, run: Run) -> list[Trial]:
    """For every window, what attacks make of as much noise as a month's sum can bear.

    It can bear so much that the sum of a home of `mean` watts is off by no more than `share`.
    """
    trials = []
    for window in yardstick.windows:
        some = candidate(yardstick, window, yardstick.queries[-1], NOISES[-1])
        noise = int(some.noise * share / some.month(mean)) + 1
        while (one := candidate(yardstick, window, some.queries, noise)).month(mean) > share:
            noise -= 1
        keys = (NoiseKey(run.draw(2, again).bytes(32)) for again in range(CONFIRMATIONS))
        trials.append(pooled([Trial(one, yardstick.attack(one.tried, k, run)) for k in keys]))
    return trials


def _point(yardstick: Yardstick, run: Run, window: str, queries: tuple[str, ...]) -> Point:
    """Halve the ladder of noises, then climb it until fresh keys confirm.

    Why climb: the noise that was found is the least that held, so chance may have helped. Why
    together: several experiments show a smaller advantage than each of them alone.
    """
    trials: list[Trial] = []

    def trial(rung: int, again: int) -> Trial:
        one = candidate(yardstick, window, queries, NOISES[rung])
        key = NoiseKey(run.draw(1, again).bytes(32))
        trials.append(Trial(one, yardstick.attack(one.tried, key, run)))
        return trials[-1]

    low, high = -1, len(NOISES)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if trial(middle, 0).held else (middle, high)
    while high < len(NOISES):
        together = pooled([trial(high, again) for again in range(1, CONFIRMATIONS + 1)])
        if together.held:
            return Point(window, queries, trials, together)
        high += 1
    return Point(window, queries, trials, None)


def pooled(trials: Sequence[Trial]) -> Trial:
    """Several experiments with one policy as one: means, in intervals that are narrower for it."""
    contests = zip(*(trial.verdicts for trial in trials), strict=True)
    return Trial(trials[0].candidate, [_pooled(verdicts) for verdicts in contests])


def _pooled(verdicts: Sequence[Verdict]) -> Verdict:
    """Precondition: one contest, under independent noise each time."""
    ends = ((v.success.value, v.success.low, v.success.high) for v in verdicts)
    value, low, high = (sum(each) / len(verdicts) for each in zip(*ends, strict=True))
    narrower = len(verdicts) ** -0.5
    success = Estimate(value, value - narrower * (value - low), value + narrower * (high - value))
    return replace(verdicts[0], success=success, trials=sum(v.trials for v in verdicts))


def _excess(verdict: Verdict) -> float:
    """How far an attack is above guessing, in widths of its interval."""
    success = verdict.success
    return (success.value - verdict.chance) / max(success.high - success.low, 1e-9)
