"""Step detection after Hart (1992): edges of the total, paired to uses of single appliances.

The attacker knows what stands in the home: how large each appliance is and how long its heater
or motor runs at a time. How far edges may deviate is tuned on days whose truth is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from simulations.kit.traces import Integers, Watts

Floats = NDArray[np.float64]

THRESHOLDS = (15.0, 40.0, 100.0, 250.0)
TOLERANCES = (0.03, 0.06, 0.12, 0.25, 0.4)


@dataclass(frozen=True, slots=True)
class Signature:
    """What the attacker knows of an appliance; times are in seconds."""

    name: str
    watts: float
    shortest: float
    longest: float
    """How long one stretch at full power lasts."""
    gap: float = 0.0
    """Stretches of one use are no further apart; 0: a use is one stretch."""
    stretches: int = 1
    """A use has at least so many."""
    lead: float = 0.0
    """From the begin of a use to its first stretch."""


STRETCHES: dict[str, tuple[float, float, float, int, float]] = {
    "fridge": (700, 1300, 0, 1, 0),
    "kettle": (75, 250, 0, 1, 0),
    "microwave": (55, 310, 0, 1, 0),
    "oven": (45, 740, 600, 5, 0),
    "washer": (650, 1350, 0, 1, 150),
    "dishwasher": (380, 1050, 2700, 2, 600),
    "dryer": (180, 720, 400, 3, 0),
    "tv": (2300, 11000, 0, 1, 0),
    "heat_pump": (280, 3400, 0, 1, 0),
    "ev": (2000, 30000, 0, 1, 0),
}
"""The rest of each signature."""


def signature(name: str, watts: float) -> Signature:
    """Of an appliance of this size."""
    return Signature(name, watts, *STRETCHES[name])


@dataclass(frozen=True, slots=True)
class Tuning:
    """From which size on a difference is an edge, and how far sizes may deviate."""

    threshold: float
    tolerance: float
    nearest: bool
    """Whether an edge up belongs to the very next edge down; or to the next one in due time."""


TUNINGS = tuple(Tuning(*both) for both in product(THRESHOLDS, TOLERANCES, (True, False)))


def edges(watts: Watts, threshold: float) -> tuple[Integers, Floats]:
    """Where the power steps, and by how much; steps in a row in one direction are one."""
    steps = np.nan_to_num(np.diff(watts))
    direction = np.where(np.abs(steps) >= threshold, np.sign(steps), 0)
    begins = np.flatnonzero((direction != 0) & (direction != np.concatenate([[0], direction[:-1]])))
    if not len(begins):
        return begins, np.zeros(0)
    sizes = np.add.reduceat(np.where(direction != 0, steps, 0.0), begins)
    return begins + 1, sizes


def detect(watts: Watts, seconds: float, signature: Signature, tuning: Tuning) -> Floats:
    """When uses of an appliance seem to begin, in seconds.

    `seconds` is the length of a window: a use that is shorter than it shows less than its size.
    """
    slots, sizes = edges(watts, tuning.threshold)
    least = signature.watts * min(1.0, signature.shortest / seconds) * (1 - tuning.tolerance)
    most = signature.watts * (1 + tuning.tolerance)
    up = (sizes >= least) & (sizes <= most)
    down = (sizes <= -least) & (sizes >= -most)
    on, off = slots[up] * seconds, slots[down] * seconds
    if not len(on) or not len(off):
        return np.zeros(0)
    due = signature.shortest - 1.5 * seconds
    first = np.searchsorted(off, on, side="right")
    if not tuning.nearest:
        first = np.maximum(first, np.searchsorted(off, on + due, side="left"))
    held = np.minimum(first, len(off) - 1)
    length = off[held] - on
    paired = (first < len(off)) & (length >= due) & (length <= signature.longest + 1.5 * seconds)
    near = np.abs(sizes[down][held] + sizes[up]) <= 1.5 * tuning.tolerance * signature.watts
    begins: Floats = _uses(on[paired & near].astype(np.float64), signature) - signature.lead
    return begins


def _uses(stretches: Floats, signature: Signature) -> Floats:
    """The first stretch of each use that has enough of them."""
    if not signature.gap or not len(stretches):
        return stretches
    apart = np.diff(stretches, prepend=-np.inf) > signature.gap + signature.longest
    first = np.flatnonzero(apart)
    many: Floats = stretches[first[np.diff(first, append=len(stretches)) >= signature.stretches]]
    return many


@dataclass(frozen=True, slots=True)
class Score:
    """How well uses were found."""

    found: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        """How many of the detections were uses."""
        return self.found / max(self.found + self.wrong, 1)

    @property
    def recall(self) -> float:
        """How many of the uses were detected."""
        return self.found / max(self.found + self.missed, 1)

    @property
    def f1(self) -> float:
        """Their harmonic mean."""
        return 2 * self.found / max(2 * self.found + self.wrong + self.missed, 1)


def score(detected: Floats, truth: Floats, within: float) -> Score:
    """Detections and uses matched one to one, in order, no further apart than `within`."""
    found = i = j = 0
    while i < len(detected) and j < len(truth):
        if abs(detected[i] - truth[j]) <= within:
            found, i, j = found + 1, i + 1, j + 1
        elif detected[i] < truth[j]:
            i += 1
        else:
            j += 1
    return Score(found, len(detected) - found, len(truth) - found)


def added(scores: Sequence[Score]) -> Score:
    """Of several homes or days together."""
    return Score(
        sum(s.found for s in scores), sum(s.wrong for s in scores), sum(s.missed for s in scores)
    )
