"""What a reader takes off for free: the best guess (remap), a smoother course, and order.

Nothing of it costs privacy, as nothing but releases is looked at; and little of it helps what is
added up. Quarter hours of single homes, released by the program: the share of the mean error that
is left of a value, and of the mean of a day. What the best guess believed before are loads of other
homes, as none are known of the one in question.
"""

from typing import Any

import numpy as np

from meteragent.explain.bills import smoothed
from meteragent.explain.reader import absolute, remap
from meteragent.privacy.domain import Domain
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from meteragent.privacy.question import question
from simulations.compare.adaptive import mean_of
from simulations.home.street import QUARTER
from simulations.kit.command import Run
from simulations.kit.product import policy, release
from simulations.kit.statistics import Floats, bootstrap
from simulations.kit.traces import DAY, Trace
from simulations.noise import errors
from simulations.noise.settings import SETTINGS, traces

NOISES = (50, 100, 250, 500, 1000, 4000)
PER_DAY = DAY // QUARTER
DOMAIN = Domain(0, 24_000, 50)
NEVER_SEEN = 1e-6
"""The share of a prior that is for loads which no other home had."""


def study(run: Run, homes: Floats, others: Floats) -> dict[str, Any]:
    """By watts of noise; and what order takes off several answers about one window."""
    prior = _prior(others)
    return {
        "quarter_hours": {
            str(watts): _of(homes, prior, watts, run) for watts in run.each(NOISES, "free")
        },
        "order": _order(run),
    }


def _prior(others: Floats) -> Floats:
    counts = np.bincount(DOMAIN.levels(others).ravel(), minlength=DOMAIN.top + 1)
    shares: Floats = (1 - NEVER_SEEN) * counts / counts.sum() + NEVER_SEEN / len(counts)
    return shares


def _of(homes: Floats, prior: Floats, watts: int, run: Run) -> dict[str, dict[str, float]]:
    asked = policy(DOMAIN, [question("avg", 1, watts)], window=QUARTER, interval=QUARTER)
    key = NoiseKey(run.draw(31, watts).bytes(32))
    lives = [Trace(f"home-{n}", 0, QUARTER, home) for n, home in enumerate(homes)]
    seen = release(lives, asked, key)
    values, unbiased = (
        np.array([getattr(one, name)[:, 0] for one in seen]) for name in ("values", "unbiased")
    )
    read = {
        "guess": _guessed(values, prior, asked),
        "smooth": np.array([smoothed(row, asked, asked.questions[0]).watts for row in unbiased]),
    }
    sure = run.draw(33, watts)
    error, daily = _off(values - homes), _off(_days(unbiased - homes))
    left = {name: _left(_off(told - homes), error, sure) for name, told in read.items()}
    days = {
        f"days_{name}": _left(_off(_days(told - homes)), daily, sure) for name, told in read.items()
    }
    return {"error": mean_of(error, sure), **left, "days_error": mean_of(daily, sure), **days}


def _guessed(values: Floats, prior: Floats, asked: Policy) -> Floats:
    reader = remap(asked.mechanism(asked.questions[0]), prior, absolute)
    guess: Floats = DOMAIN.watts(reader.guess[DOMAIN.levels(values) - reader.first])
    return guess


def _off(off: Floats) -> Floats:
    """The mean error of each home."""
    mean: Floats = np.abs(off).mean(axis=1)
    return mean


def _left(after: Floats, before: Floats, draw: np.random.Generator) -> dict[str, float]:
    """Which share of the error of homes is left, and the interval that holds that of such homes."""
    both = np.stack([after, before], axis=1)

    def share(some: Floats) -> float:
        return float(some[:, 0].mean() / some[:, 1].mean())

    low, high = bootstrap(both, share, draw)
    return {"share": round(share(both), 3), "low": round(low, 3), "high": round(high, 3)}


def _days(off: Floats) -> Floats:
    means: Floats = off.reshape(len(off), -1, PER_DAY).mean(axis=2)
    return means


def _order(run: Run) -> dict[str, Any]:
    """The mean error of several answers drawn by themselves, before and after they agree."""
    [home, *_] = traces(run)
    return {
        setting.words: errors.drawn_and_in_order(setting, home, run, 0, "independent")
        for setting in SETTINGS
    }
