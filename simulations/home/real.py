"""Recordings of real homes: step detection on what is released of them."""

from pathlib import Path
from typing import Any

import numpy as np

from meteragent.privacy.entropy import NoiseKey
from simulations.home.edges import TUNINGS, Floats, Score, Signature, detect, score
from simulations.home.policies import CLEAN, MINUTE, plain
from simulations.home.readers import Recorded, recorded
from simulations.kit.command import Run
from simulations.kit.product import release
from simulations.kit.traces import Trace, Watts

SHORTEST_DAYS = 1.0
LEAST = 700.0
"""Watts from which on a stretch of a part counts as a use."""


def study(run: Run, folder: Path) -> dict[str, Any]:
    """F1 of large heaters and motors in every recording of a day or more."""
    found = {}
    for place, one in enumerate(run.each(recorded(folder, MINUTE), "recordings", 1)):
        if len(one.total.watts) * one.total.interval < SHORTEST_DAYS * 86_400_000:
            continue
        found[one.total.name] = {
            words: _attacked(one, epsilon, run, place)
            for words, epsilon in (("no noise", CLEAN), ("10 W", "0.1"), ("100 W", "0.01"))
        }
    return found


def _attacked(one: Recorded, epsilon: str, run: Run, place: int) -> dict[str, Any]:
    """With submeters, their uses are the truth; without, what the clean total shows."""
    policy = plain(MINUTE, epsilon)
    (seen,) = release([one.total], policy, NoiseKey(run.draw(40, place).bytes(32)))
    values = seen.values[:, 0]
    parts = {part.name: part for part in one.parts} or {"steps of the total": one.total}
    return {name: _found(values, part, one.total) for name, part in parts.items()}


def _found(values: Watts, part: Trace, total: Trace) -> dict[str, Any]:
    shift = (part.begin - total.begin) / 1000
    begins, watts = _truth(part, shift)
    sig = Signature(part.name, watts, 60, 7200)
    best = max((score(detect(values, 60, sig, t), begins, 120) for t in TUNINGS), key=_f1)
    return {
        "uses": len(begins),
        "precision": round(best.precision, 4),
        "recall": round(best.recall, 4),
        "f1": round(best.f1, 4),
    }


def _truth(part: Trace, shift: float) -> tuple[Floats, float]:
    """When stretches begin that lie clearly above what was before, and how high they are."""
    base = np.nanquantile(part.watts, 0.5)
    on = np.nan_to_num(part.watts - base) > LEAST
    change = np.diff(on.astype(np.int8), prepend=0)
    begins: Floats = np.flatnonzero(change == 1) * np.float64(60) + shift
    watts = float(np.median(part.watts[on] - base)) if on.any() else LEAST
    return begins, watts


def _f1(one: Score) -> float:
    return one.f1
