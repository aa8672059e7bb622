"""The frontier of every way: what the attacker reaches, against what readers lose."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulations.compare.rivals import Rival, Task, windowed
from simulations.kit.command import Run
from simulations.kit.statistics import Share
from simulations.tv.attacks import among, ranks
from simulations.tv.background import background
from simulations.tv.displays import LCD
from simulations.tv.library import library, metered
from simulations.tv.plugs import INTERVAL, recordings, stretches
from simulations.tv.programmes import Luminance

SECONDS = 10
LENGTHS = {"one hour": 3600, "an evening of four hours": 4 * 3600}
"""Contents, in seconds; all begin with a window."""

FEW = 0.05
"""The share of right names at which ways are compared: far enough above chance to be measured."""


@dataclass(frozen=True)
class Point:
    """One setting of one way."""

    setting: float
    error: float
    success: Share

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "setting": self.setting,
            "error_watts": round(self.error, 4),
            "success": self.success.document(),
        }


@dataclass(frozen=True)
class Frontier:
    """All settings of one way."""

    rival: Rival
    points: list[Point]

    def error_at(self, share: float) -> float | None:
        """The error at which the attacker names this share, between the settings around it.

        None: no setting goes so far.
        """
        above = [i for i, point in enumerate(self.points) if point.success.value > share]
        last = max(above, default=-1)
        if last + 1 == len(self.points):
            return None
        if last < 0:
            return self.points[0].error
        before, after = self.points[last], self.points[last + 1]
        passed = (before.success.value - share) / (before.success.value - after.success.value)
        return math.exp((1 - passed) * math.log(before.error) + passed * math.log(after.error))

    def least_error(self, chance: float) -> float | None:
        """The error from which on the attacker does no better than guessing, if there is one."""
        held = None
        for point in reversed(self.points):
            if point.success.low > chance:
                break
            held = point.error
        return held


def task(run: Run, seconds: int) -> Task:
    """What so many channels showed, or stretches of recordings, in homes of all kinds."""
    draw = run.draw(1, seconds)
    channels, homes = (40, 2) if run.quick else (200, 5)
    if run.traces:
        recorded = stretches(recordings(run.traces), seconds).watts
        contents = windowed(recorded, SECONDS * 1000 // INTERVAL)
    else:
        contents = metered(_channels(draw, channels, seconds), LCD, SECONDS, draw)
    trials, slots = homes * len(contents), contents.shape[1]
    return Task(contents, background(draw, trials, slots, SECONDS, 18 * 3600))


def _channels(draw: np.random.Generator, count: int, seconds: int) -> Luminance:
    """luminance[channel, second]: one programme after another, on no two channels the same."""
    programmes = library(draw, count).programmes
    shown = []
    for first in range(count):
        following = np.concatenate(programmes[first:] + programmes[:first])
        shown.append(following[:seconds])
    return np.array(shown)


def frontier(run: Run, rival: Rival, of: Task) -> Frontier:
    """Every setting against the attacker."""
    points = []
    for number, setting in enumerate(rival.settings):
        draw = run.draw(2, number, *rival.name.encode())
        published = rival.publish(of, setting, draw)
        success = among(ranks(published.scores, of.truth, draw), 1)
        points.append(Point(setting, published.error, success))
    return Frontier(rival, points)
