"""Step detection on what is released: how well each appliance's uses are found."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from simulations.home.edges import (
    TUNINGS,
    Floats,
    Score,
    Signature,
    added,
    detect,
    score,
    signature,
)
from simulations.home.house import Home, Life
from simulations.home.policies import CLEAN, MINUTE, by_days, plain
from simulations.kit.command import Run
from simulations.kit.statistics import bootstrap

DAY_SECONDS = 86_400.0
SEEN = ("kettle", "microwave", "fridge", "oven", "washer", "dishwasher", "dryer", "ev", "heat_pump")
RELEASES: tuple[tuple[str, int, str], ...] = (
    ("10 s, no noise", 10_000, CLEAN),
    ("10 s, 10 W", 10_000, "0.1"),
    ("10 s, 100 W", 10_000, "0.01"),
    ("1 min, no noise", MINUTE, CLEAN),
    ("1 min, 100 W", MINUTE, "0.01"),
    ("15 min, no noise", 15 * MINUTE, CLEAN),
    ("15 min, 100 W", 15 * MINUTE, "0.01"),
)
"""(words, window, loss per watt): an average of each window, with a typical noise of 1 / loss."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A home under attack: half of its days for tuning, half for the score."""

    home: Home
    life: Life


def watched(run: Run) -> list[Watched]:
    """Homes with gas heating, and a few with a heat pump in which only that is looked for."""
    gas, pumps, days = (2, 1, 8) if run.quick else (6, 2, 14)
    homes = [
        Home.draw(run.seed, n, having=("ev", "dryer", "dishwasher"), lacking=("pv", "heat_pump"))
        for n in range(gas)
    ] + [
        Home.draw(run.seed, 100 + n, having=("heat_pump",), lacking=("pv", "ev"))
        for n in range(pumps)
    ]
    return [Watched(home, home.live(days)) for home in homes]


def study(run: Run) -> dict[str, Any]:
    """F1, precision and recall of every appliance under every release, with their intervals."""
    homes, found = watched(run), {}
    chosen = RELEASES[3::3] if run.quick else RELEASES
    for place, (words, window, epsilon) in enumerate(run.each(chosen, "step detection")):
        key = NoiseKey(run.draw(10, place).bytes(32))
        policy = plain(window, epsilon, interval=10_000)
        found[words] = _attacked(homes, policy, key, run.draw(11, place))
    return found


def _attacked(
    homes: list[Watched], policy: Policy, key: NoiseKey, draw: np.random.Generator
) -> dict[str, Any]:
    traces = [one.life.trace() for one in homes]
    seen = [one.values[:, 0] for one in by_days(traces, policy, key)]
    by_appliance = {}
    for name in SEEN:
        days: list[Score] = []
        elsewhere: list[Score] = []
        for one, values in zip(homes, seen, strict=True):
            if name in one.life.uses and (name == "heat_pump") == ("heat_pump" in one.home.size):
                sig = signature(name, one.home.size[name])
                right, wrong = by_day(one.life, sig, values, policy.size / 1000)
                days += right
                elsewhere += wrong
        by_appliance[name] = _summary(days, draw) | {"chance_f1": round(added(elsewhere).f1, 4)}
    return by_appliance


def by_day(
    life: Life, signature: Signature, values: Floats, seconds: float
) -> tuple[list[Score], list[Score]]:
    """The best tuning of the first half, scored on each day of the second.

    And against the uses of another day: what is found by habit and luck alone.
    """
    truth = np.array([use.begin for use in life.uses[signature.name]])
    half, within = life.days // 2, max(60.0, 1.5 * seconds)
    cut = half * DAY_SECONDS
    known, asked = values[: int(cut / seconds)], values[int(cut / seconds) :]

    def fits(tuning: Any) -> float:  # noqa: ANN401 - a Tuning
        found = detect(known, seconds, signature, tuning)
        return score(found, truth[truth < cut], within).f1

    detected = detect(asked, seconds, signature, max(TUNINGS, key=fits)) + cut
    days = range(half, life.days)
    right = [score(_of_day(detected, d), _of_day(truth, d), within) for d in days]
    moved = (truth - cut + DAY_SECONDS) % (len(days) * DAY_SECONDS) + cut
    moved = np.sort(moved[truth >= cut])
    wrong = [score(_of_day(detected, d), _of_day(moved, d), within) for d in days]
    return right, wrong


def _of_day(times: Floats, day: int) -> Floats:
    chosen: Floats = times[times // DAY_SECONDS == day]
    return chosen


def _summary(days: list[Score], draw: np.random.Generator) -> dict[str, Any]:
    counts = np.array([[d.found, d.wrong, d.missed] for d in days], dtype=np.float64)
    total = added(days)

    def f1(rows: Floats) -> float:
        found, wrong, missed = rows.sum(axis=0).tolist()
        return float(2 * found / max(2 * found + wrong + missed, 1))

    low, high = bootstrap(counts, f1, draw)
    return {
        "uses": total.found + total.missed,
        "precision": round(total.precision, 4),
        "recall": round(total.recall, 4),
        "f1": round(total.f1, 4),
        "low": round(low, 4),
        "high": round(high, 4),
    }
