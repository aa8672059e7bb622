"""How far answers are off, before and after they agree with their order."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from meteragent.explain.reader import drawn
from meteragent.privacy.domain import Domain
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.exact import NANO
from meteragent.privacy.joint import JointGeometric
from meteragent.privacy.mechanism import TruncatedGeometric
from meteragent.privacy.policy import Noise
from simulations.home.likelihood import answers
from simulations.kit.command import Run
from simulations.kit.product import release
from simulations.kit.statistics import Floats, bootstrap
from simulations.kit.traces import Trace
from simulations.noise.settings import SETTINGS, Setting, traces

KINDS: tuple[Noise, ...] = ("independent", "joint")
GRID = Domain(0, 24_000, 10)
SCALE = "0.002"
"""Of noise beside the grid: a loss of 0.02 for each step."""


def study(run: Run) -> dict[str, Any]:
    """By trace and setting, the mean error of all answers in watts."""
    found = {}
    for place, trace in enumerate(run.each(list(traces(run)), "errors of answers")):
        found[trace.name] = {setting.words: _of(setting, trace, run, place) for setting in SETTINGS}
    return found


def _of(setting: Setting, trace: Trace, run: Run, place: int) -> dict[str, Any]:
    return {noise: drawn_and_in_order(setting, trace, run, place, noise) for noise in KINDS}


def drawn_and_in_order(
    setting: Setting, trace: Trace, run: Run, place: int, noise: Noise
) -> dict[str, Any]:
    """The mean error as drawn, and as answers agree with their order, and the gain of it.

    Each with the interval that holds it for such windows.
    """
    policy = setting.policy(noise)
    key = NoiseKey(run.draw(70, place, setting.radius, KINDS.index(noise)).bytes(32))
    [seen] = release([trace], policy, key)
    there = np.isfinite(seen.values).all(axis=1)
    truth = policy.domain.watts(answers(trace, policy))[there]
    levels = np.clip(drawn(seen.unbiased[there], policy), 0, policy.domain.top)
    off = [
        np.abs(watts - truth).mean(axis=1)
        for watts in (policy.domain.watts(levels), seen.values[there])
    ]
    each = np.stack(off, axis=1)
    sure = run.draw(74, place, setting.radius, KINDS.index(noise))
    return {
        **{name: round(of(each), digits) for name, (of, digits) in SAID.items()},
        "between": {
            name: [round(end, digits) for end in bootstrap(each, of, sure)]
            for name, (of, digits) in SAID.items()
        },
        "windows": int(there.sum()),
    }


def _gain(each: Floats) -> float:
    return float(1 - each[:, 1].mean() / each[:, 0].mean())


SAID: dict[str, tuple[Callable[[Floats], float], int]] = {
    "drawn": (lambda each: float(each[:, 0].mean()), 1),
    "in_order": (lambda each: float(each[:, 1].mean()), 1),
    "gain": (_gain, 4),
}
"""Of the errors of each window, drawn and in order: what is said, and to how many digits."""


def table() -> dict[str, Any]:
    """By the number of answers: one joint draw beside as many of their own at the same cost."""
    own = TruncatedGeometric(GRID, SCALE)
    scale = NANO / own.nano
    told = {}
    for count in (1, 2, 3, 4, 8, 16):
        joint = JointGeometric(GRID, SCALE, count)
        error, tail = (
            joint.expected_error() / (count * own.expected_error()),
            joint.error_quantile(0.9) / (count * own.error_quantile(0.9)),
        )
        told[str(count)] = {
            "mean_in_radii": round(joint.expected_error() / scale, 3),
            "mean_ratio": round(error, 3),
            "error_90_ratio": round(tail, 3),
            "bits_joint": round(float(np.log2(joint.times_together)), 2),
        }
    return cast("dict[str, Any]", told)
