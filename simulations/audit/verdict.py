"""From what was seen to the smallest epsilon that could have produced it.

An *event* is something that anybody could look for in what is published. If it has
probability `p` in one world and `q` in the other, no epsilon below `ln(p / q)` is true. Which
event to look for is chosen on some of the draws, and tested on the others, which had no say in
the choice: so one test is made, however many events were tried.

The bounds on `p` and `q` are Clopper and Pearson's, exact for independent draws. Draws are
independent as far as the keyed hash behind the noise is what it is taken for.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from simulations.audit.drive import Observed, Seen

WRONG = 1e-4
"""The chance that a build which keeps its promise is said to break it, for one verdict."""
TRAINING = 3
"""One draw in so many chooses the event, the others test it."""
WITHIN = 0.1
"""How close to the claim the audit must come to be believed when it finds nothing."""

Hits = NDArray[np.bool_]


@dataclass(frozen=True)
class Condition:
    """One answer, or the difference of two, at most or at least so many watts."""

    output: int
    minus: int | None
    at_least: bool
    watts: float

    def holds(self, seen: Seen) -> Hits:
        """In which draws it is met."""
        feature = _feature(seen, self.output, self.minus)
        hits: Hits = feature >= self.watts if self.at_least else feature <= self.watts
        return hits

    def __str__(self) -> str:
        what = f"answer {self.output + 1}"
        if self.minus is not None:
            what += f" less answer {self.minus + 1}"
        return f"{what} is at {'least' if self.at_least else 'most'} {self.watts:g} W"


@dataclass(frozen=True)
class Event:
    """All of some conditions at once; `favours_other`: likelier in the second world."""

    conditions: tuple[Condition, ...]
    favours_other: bool

    def count(self, seen: Observed) -> tuple[int, int]:
        """How often it came true: in the world where it is likelier, and in the other."""
        one, other = (int(self._holds(world).sum()) for world in (seen.one, seen.other))
        return (other, one) if self.favours_other else (one, other)

    def _holds(self, world: Seen) -> Hits:
        hits: Hits = np.logical_and.reduce([c.holds(world) for c in self.conditions])
        return hits

    def __str__(self) -> str:
        return ", and ".join(map(str, self.conditions))


@dataclass(frozen=True)
class Verdict:
    """What the audit says of one pair of worlds under one build."""

    claimed: float
    smallest: float
    """No smaller epsilon is consistent with what was seen, but for a chance of `WRONG`."""
    estimate: float
    event: str
    likelier: int
    rarer: int
    tests: int
    otherwise_equal: bool

    @property
    def kept(self) -> bool:
        """Whether the promise may be true."""
        return self.smallest <= self.claimed and self.otherwise_equal

    @property
    def share(self) -> float:
        """How much of the claim was found to be used."""
        return self.smallest / self.claimed

    @property
    def close(self) -> bool:
        """Whether the promise is kept, and no smaller one could have been made."""
        return self.kept and self.share >= 1 - WITHIN


def judge(seen: Observed) -> Verdict:
    """Choose an event on a part of the draws, and test it on the rest."""
    training, tested = _parts(seen)
    event = max(_candidates(training), key=lambda e: _promises(e, training))
    (hits, rare), draws = event.count(tested), len(tested.one)
    return Verdict(
        claimed=seen.claimed,
        smallest=max(0.0, log_odds(hits, rare, draws)),
        estimate=math.log(max(hits, 0.5) / max(rare, 0.5)),
        event=str(event),
        likelier=hits,
        rarer=rare,
        tests=draws,
        otherwise_equal=seen.otherwise_equal,
    )


def log_odds(hits: int, rare: int, draws: int) -> float:
    """A lower bound on `ln(p / q)`, wrong with chance at most `WRONG`."""
    tail = WRONG / 2
    low = beta.ppf(tail, hits, draws - hits + 1) if hits else 0.0
    high = beta.isf(tail, rare + 1, draws - rare) if rare < draws else 1.0
    return math.log(low / high) if low > 0 else -math.inf


def _promises(event: Event, training: Observed) -> float:
    """As strict as the test itself: a lucky few draws of a rare event must not be chosen."""
    return log_odds(*event.count(training), len(training.one))


def _parts(seen: Observed) -> tuple[Observed, Observed]:
    chooses = np.arange(len(seen.one)) % TRAINING == 0
    training, tested = (
        Observed(seen.one[part], seen.other[part], seen.claimed, seen.otherwise_equal)
        for part in (chooses, ~chooses)
    )
    return training, tested


def _candidates(training: Observed) -> Iterator[Event]:
    """The most telling condition on each answer and difference; those on all answers at once."""
    outputs = training.one.shape[1]
    for favours_other in (False, True):
        singles = [_best(training, i, None, favours_other) for i in range(outputs)]
        pairs = [_best(training, i, j, favours_other) for i, j in combinations(range(outputs), 2)]
        yield from (Event((condition,), favours_other) for condition in singles + pairs)
        yield Event(tuple(singles), favours_other)


def _best(
    training: Observed,
    output: int,
    minus: int | None,
    favours_other: bool,  # noqa: FBT001 - which of the two
) -> Condition:
    both = np.concatenate([training.one, training.other])
    marks = np.unique(_feature(both, output, minus)).tolist()
    conditions = [Condition(output, minus, up, mark) for up in (False, True) for mark in marks]
    return max(conditions, key=lambda c: _promises(Event((c,), favours_other), training))


def _feature(seen: Seen, output: int, minus: int | None) -> NDArray[np.float64]:
    column: NDArray[np.float64] = seen[:, output]
    return column if minus is None else column - seen[:, minus]
