"""One use, or one day, against the attacker who holds both versions: the frontier."""

from typing import Any

import numpy as np

from meteragent.privacy.policy import Policy
from simulations.home.contests import Street
from simulations.home.house import Home
from simulations.home.policies import HOUR, MINUTE, all_presets, plain
from simulations.home.yardstick import Arena, absence, whether
from simulations.kit.command import Run
from simulations.kit.yardstick import up

NAMES = {
    "fridge": "a fridge",
    "kettle": "a kettle",
    "microwave": "a microwave oven",
    "tv": "an evening of television",
    "washer": "a washing machine",
    "dishwasher": "a dishwasher",
    "oven": "an oven",
    "dryer": "a tumble dryer",
    "heat_pump": "a heat pump, one round",
    "ev": "a car, one charge",
}
ABSENCES = {"1 day away": 1, "7 days away": 7}
WINDOWS = (15 * MINUTE, HOUR, 24 * HOUR)
NOISES = ("0.1", "0.03", "0.01", "0.003", "0.001", "0.0003")


def study(run: Run) -> dict[str, Any]:
    """Success by window, noise and secret, and at every preset; chance is one half."""
    arena = Arena(run)
    windows, noises = (WINDOWS[2:], NOISES[::3]) if run.quick else (WINDOWS, NOISES)
    tried = [(window, epsilon) for window in windows for epsilon in noises]
    frontier = [
        {
            "window_minutes": window // MINUTE,
            "noise_watts": round(1 / float(epsilon)),
            "success": weighed(arena, plain(window, epsilon)),
        }
        for window, epsilon in run.each(tried, "both versions in hand")
    ]
    presets = {
        name: weighed(arena, policy)
        for name, policy in run.each(list(all_presets(interval="1m").items()), "presets", None)
    }
    return {
        "frontier": frontier,
        "presets": presets,
        "energy": energies(run),
        "a day at home": days_at_home(arena.streets[MINUTE]),
    }


def weighed(arena: Arena, policy: Policy) -> dict[str, Any]:
    """How often each secret is told, under one policy."""
    verdicts = {name: whether(name, words, arena, policy) for name, words in NAMES.items()}
    verdicts |= {words: absence(days, arena, policy) for words, days in ABSENCES.items()}
    return {
        name: {
            "success": up(verdict.success),
            "most": up(verdict.most),
            "cases": verdict.cases,
        }
        for name, verdict in verdicts.items()
    }


def energies(run: Run) -> dict[str, Any]:
    """What the street's uses are like: kWh and minutes of a typical and of a large one."""
    found = {}
    homes = [Home.draw(run.seed, n, having=("ev", "heat_pump", "dryer")) for n in range(6)]
    lives = [home.live(14, interval=MINUTE) for home in homes]
    for name in NAMES:
        uses = sorted(
            (use.joules / 3.6e6, (use.end - use.begin) / 60)
            for life in lives
            for use in life.uses.get(name, [])
        )
        often = len(uses) / sum(life.days for life in lives if name in life.uses)
        middle, large = uses[len(uses) // 2], uses[int(len(uses) * 0.95)]
        found[name] = {
            "kwh": round(middle[0], 3),
            "kwh_95": round(large[0], 3),
            "minutes": round(middle[1], 1),
            "a_day": round(often, 2),
        }
    return found


def days_at_home(street: Street) -> dict[str, float]:
    """By how many kWh a day of people at home exceeds the same day without them."""
    surplus = np.array(
        [
            (total - life.trace().watts).reshape(street.days, -1).mean(axis=1) * 24 / 1000
            for total, life in zip(street.totals, street.empty, strict=True)
        ]
    )
    middle, large = np.quantile(surplus, [0.5, 0.95])
    return {"kwh": round(float(middle), 3), "kwh_95": round(float(large), 3)}
