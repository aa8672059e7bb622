"""What is stated of presets, on traces that nobody tuned them to.

Presets were chosen on the homes and films of one seed, and on two hours of recorded sets. Here are
the same contests on the homes and films of other seeds, on single hours of the recordings, and on
single runs of real appliances, each as often told as is worked out.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from simulations.choose import bill
from simulations.compare.equal import success
from simulations.home.policies import MINUTE, all_presets, preset
from simulations.home.readers import recorded
from simulations.home.yardstick import SMALL, Appliances, Arena, AtHome, trials
from simulations.kit.command import Run
from simulations.kit.traces import DAY
from simulations.kit.yardstick import Verdict, up
from simulations.tv.contest import Contents, named_among
from simulations.tv.noise import EVENING_BEGIN, REST
from simulations.tv.plugs import INTERVAL, recordings, stretches
from simulations.tv.yardstick import KNOWS, TvContent
from simulations.uses.settings import Setting
from simulations.uses.settings import bill as month_of_bill
from simulations.uses.told import by_energy

SEEDS = 4
HOURS = 3600
REAL = {"watts_up_kettle": "a real kettle, boiled once"}
"""What is small enough for the preset `appliances` to hide."""


def fresh(run: Run) -> list[dict[str, Any]]:
    """Every verdict: of the worst of the seeds, and of each recording."""
    found: dict[tuple[str, str], list[Verdict]] = {}
    for seed in run.each(range(1, 2 if run.quick else SEEDS + 1), "other seeds"):
        other = replace(run, seed=run.seed + seed, traces=None)
        for name, verdicts in _attacked(other).items():
            for verdict in verdicts:
                found.setdefault((name, verdict.contest), []).append(verdict)
    rows = [_row(name, verdicts) for (name, _), verdicts in found.items()]
    return rows + (_recorded(run.traces) if run.traces else [])


def _attacked(run: Run) -> dict[str, list[Verdict]]:
    """By preset."""
    policies, arena = all_presets(interval="1m"), Arena(run)
    return {
        "tv-content": TvContent(run).attack(policies["tv-content"]),
        "appliances": Appliances(arena).attack(policies["appliances"]),
        "presence": AtHome(arena).attack(policies["presence"]),
        "bill": [*_used(arena), bill.attack(preset("bill"), run)[-1]],
    }


def _used(arena: Arena) -> list[Verdict]:
    """Single uses of what `bill` hides, in one answer of the shortest month."""
    days, month = all_presets(interval="1m")["appliances"], Setting("bill", month_of_bill())
    told = {name: by_energy(arena.uses(name, days), month) for name in ("kettle", "fridge")}
    return [
        Verdict(f"one use of {SMALL[name]}", KNOWS, "", share, share, 0.5, trials(arena.run))
        for name, share in told.items()
    ]


def _row(name: str, verdicts: list[Verdict]) -> dict[str, Any]:
    worst = max(verdicts, key=lambda one: one.success)
    return {
        "preset": name,
        "contest": worst.contest,
        "of": f"{len(verdicts)} other seeds",
        "worst": up(worst.success),
        "mean": up(float(np.mean([one.success for one in verdicts]))),
        "chance": round(worst.chance, 6),
        "limit": round(worst.limit, 6),
        "kept": worst.kept,
    }


def _recorded(folder: Path) -> list[dict[str, Any]]:
    """The folder, and those beside it, hold recordings of sets and of appliances."""
    policies = all_presets(interval="1m")
    rows = [_hour_of_sets(folder)]
    for one in recorded(folder.parent, 1000):
        watts = float(np.nansum(one.total.watts)) * 1000 / DAY
        if one.total.name in REAL:
            told = success(policies["appliances"], watts)
            verdict = Verdict(REAL[one.total.name], KNOWS, "", told, told, 0.5, 1)
            rows.append(_row("appliances", [verdict]) | {"of": "one recording"})
    return rows


def _hour_of_sets(folder: Path) -> dict[str, Any]:
    found = stretches(recordings(folder), HOURS)
    numbers = {name: number for number, name in enumerate(sorted(set(found.sets)))}
    sets = np.array([numbers[name] for name in found.sets])
    contents = Contents(EVENING_BEGIN, INTERVAL, found.watts, sets)
    policy = replace(all_presets(interval="1m")["tv-content"], interval=MINUTE)
    told = named_among(contents, policy, REST).success
    words = f"one hour of real sets, of {len(sets)}"
    verdict = Verdict(words, KNOWS, "", told, told, contents.chance, len(sets))
    return _row("tv-content", [verdict]) | {"of": "recordings of television sets"}
