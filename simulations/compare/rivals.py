"""Ways to publish a home's averages, each with one knob.

All of them publish something from which a reader knows the average of every window; how far he
is off on average, in watts, is the *error*. All face the same attacker, who holds every
content's exact trace, knows the way and its knob, and names the likeliest content.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.spatial.distance import cdist

from meteragent.privacy import query
from meteragent.privacy.domain import Domain
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.question import question
from simulations.kit.product import policy, release
from simulations.kit.traces import Trace
from simulations.tv.attacks import Scores
from simulations.tv.contest import EPOCH

Watts = NDArray[np.float64]

HOUR = 3_600_000
BEGIN = EPOCH + 18 * HOUR
"""Six in the evening."""
INTERVAL, WINDOW = 10_000, HOUR // 4
PER_WINDOW = WINDOW // INTERVAL
DOMAIN = Domain(0, 24_000, 10, Decimal("0.25"))
"""Answers on a fine grid: on one of 10 W, small noise would be off by the rounding as well."""


@dataclass(frozen=True)
class Task:
    """Contents to be told apart, each watched in several homes that the attacker knows."""

    contents: Watts
    """contents[content, slot]"""
    homes: Watts
    """homes[trial, slot]: everything else that draws power there"""

    @property
    def chance(self) -> float:
        """What guessing gets."""
        return 1 / len(self.contents)

    @cached_property
    def truth(self) -> NDArray[np.int64]:
        """What was on in each trial."""
        return np.arange(len(self.homes)) % len(self.contents)

    @cached_property
    def loads(self) -> Watts:
        """loads[trial, slot]: what the meter measures."""
        loads: Watts = self.homes + self.contents[self.truth]
        return loads

    @cached_property
    def averages(self) -> Watts:
        """The truth, `averages[trial, window]`."""
        return windowed(self.loads)

    @cached_property
    def candidates(self) -> Watts:
        """`candidates[trial, content, window]`: the averages that each content would give."""
        candidates: Watts = windowed(self.homes)[:, np.newaxis] + windowed(self.contents)
        return candidates

    @cached_property
    def answers(self) -> Watts:
        """The same as levels, by the product's own query."""
        return np.array([_answers(home + self.contents) for home in self.homes])

    def seen(self, known: Watts) -> Watts:
        """What a way without noise publishes, if it makes `known` of the candidates."""
        return known[np.arange(len(known)), self.truth]


@dataclass(frozen=True)
class Published:
    """What the attacker and the reader have."""

    scores: Scores
    error: float


@dataclass(frozen=True)
class Rival:
    """One way, and the settings of its knob from least to most protection."""

    name: str
    label: str
    knob: str
    """What the settings are, with their unit."""
    settings: tuple[float, ...]
    publish: Callable[[Task, float, np.random.Generator], Published]


def windowed(readings: Watts, slots: int = PER_WINDOW) -> Watts:
    """The mean of every so many columns."""
    means: Watts = readings.reshape(len(readings), -1, slots).mean(axis=2)
    return means


def closest(seen: Watts, known: Watts) -> Scores:
    """Minus the sum of absolute differences: Laplace's log-likelihood, up to its scale.

    For ways without noise it ranks the contents first that would have given the same numbers.
    """
    scores: Scores = -np.abs(seen[:, np.newaxis] - known).sum(axis=2)
    return scores


def _off(published: Watts, truth: Watts) -> float:
    return float(np.abs(published - truth).mean())


def _answers(loads: Watts) -> Watts:
    levels = DOMAIN.levels(loads).reshape(-1, PER_WINDOW)
    return query.answer((query.NAMED["avg"],), levels).reshape(len(loads), -1).astype(np.float64)


def agent(task: Task, scale: float, draw: np.random.Generator) -> Published:
    """The product itself: averages with truncated geometric noise of a loss of 1 / scale."""
    asked = policy(DOMAIN, [question("avg", "1", f"{scale:g}")], window=WINDOW, interval=INTERVAL)
    traces = [Trace(f"{n}", BEGIN, INTERVAL, load) for n, load in enumerate(task.loads)]
    released = release(traces, asked, NoiseKey(draw.bytes(32)))
    values = np.array([one.values.ravel() for one in released])
    return Published(
        closest(values / float(DOMAIN.resolution), task.answers), _off(values, task.averages)
    )


def laplace(task: Task, scale: float, draw: np.random.Generator) -> Published:
    """Laplace noise on every average, be it calibrated to d∞ or to the range of a sum."""
    seen = task.averages + draw.laplace(scale=scale, size=task.averages.shape)
    return Published(closest(seen, task.candidates), _off(seen, task.averages))


def every_reading(task: Task, scale: float, draw: np.random.Generator) -> Published:
    """Laplace noise on every reading; the reader averages them himself."""
    seen = task.loads + draw.laplace(scale=scale, size=task.loads.shape)
    scores: Scores = -cdist(seen - task.homes, task.contents, "cityblock")
    return Published(scores, _off(windowed(seen), task.averages))


def rounding(task: Task, step: float, draw: np.random.Generator) -> Published:
    """Averages to so many watts, half up."""
    del draw
    known = np.floor(task.candidates / step + 0.5) * step
    seen = task.seen(known)
    return Published(closest(seen, known), _off(seen, task.averages))


def longer(task: Task, windows: float, draw: np.random.Generator) -> Published:
    """One average (to a watt) in place of so many."""
    del draw
    trials, contents, _ = task.candidates.shape
    known = np.round(task.candidates.reshape(trials, contents, -1, int(windows)).mean(axis=3))
    seen = task.seen(known)
    error = _off(np.repeat(seen, int(windows), axis=1), task.averages)
    return Published(closest(seen, known), error)


def battery(task: Task, minutes: float, draw: np.random.Generator) -> Published:
    """A large store that lets the grid see loads smoothed over so many minutes, to a watt.

    It has been charged for what such homes draw on average; the attacker knows that.
    """
    del draw
    keep = np.exp(-INTERVAL / (60_000 * minutes))

    def smooth(loads: Watts) -> Watts:
        begun = np.full((len(loads), 1), keep * loads.mean())
        return windowed(lfilter([1 - keep], [1, -keep], loads, axis=1, zi=begun)[0])

    known = np.round(smooth(task.homes)[:, np.newaxis] + smooth(task.contents))
    seen = task.seen(known)
    return Published(closest(seen, known), _off(seen, task.averages))


def scales(low: float, high: float, count: int) -> tuple[float, ...]:
    """From the smallest to the largest, each the same factor above the one before."""
    return tuple(float(f"{scale:.3g}") for scale in np.geomspace(low, high, count))


def rivals(*, quick: bool) -> tuple[Rival, ...]:
    """All of them, the product first."""
    count = 7 if quick else 22
    noise = scales(1, 1500, count)
    return (
        Rival("agent", "meteragent", "noise scale, W", noise, agent),
        Rival("laplace", "Laplace on the average", "noise scale, W", noise, laplace),
        Rival(
            "readings",
            "Laplace per reading",
            "noise scale, W",
            scales(10, 60_000, count),
            every_reading,
        ),
        Rival("rounding", "rounding", "step, W", (1, 5, 10, 20, 50, 100, 200, 500, 1000), rounding),
        Rival("sampling", "longer averages", "windows of 15 min", (1, 2, 4), longer),
        Rival("battery", "battery smoothing", "minutes", (5, 15, 60, 240, 960, 3840), battery),
    )
