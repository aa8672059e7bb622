"""What a reader's smoothing leaves of the error of quarter hours, and of a day's mean."""

from typing import Any

import numpy as np

from meteragent.explain.bills import smoothed
from meteragent.privacy.entropy import NoiseKey
from simulations.home.likelihood import answers
from simulations.home.policies import MINUTE, plain
from simulations.kit.command import Run
from simulations.kit.product import release
from simulations.noise.settings import traces

NOISES = (50, 100, 250, 500, 1000, 4000)
PER_DAY = 96


def study(run: Run) -> dict[str, Any]:
    """By trace and watts of noise: the share of the mean error that is left."""
    found: dict[str, Any] = {}
    for place, trace in enumerate(run.each(list(traces(run)), "smoothing")):
        by_noise: dict[str, Any] = {}
        for watts in NOISES:
            policy = plain(15 * MINUTE, f"{1 / watts:.9f}")
            [seen] = release([trace], policy, NoiseKey(run.draw(71, place, watts).bytes(32)))
            truth = policy.domain.watts(answers(trace, policy)[:, 0])
            drawn = seen.unbiased[:, 0]
            there = np.isfinite(drawn)
            smooth = smoothed(drawn, policy, policy.questions[0]).watts
            days = [np.where(there, off, np.nan) for off in (drawn - truth, smooth - truth)]
            by_noise[str(watts)] = {
                "left": round(_ratio(np.abs(days[1]), np.abs(days[0])), 3),
                "days_left": round(_ratio(*(np.abs(_daily(day)) for day in reversed(days))), 3),
            }
        found[trace.name] = by_noise
    return found


def _ratio(over: Any, under: Any) -> float:  # noqa: ANN401 - columns
    return float(np.nanmean(over) / np.nanmean(under))


def _daily(off: Any) -> Any:  # noqa: ANN401 - columns
    whole = off[: len(off) // PER_DAY * PER_DAY].reshape(-1, PER_DAY)
    return whole[np.isfinite(whole).all(axis=1)].mean(axis=1)
