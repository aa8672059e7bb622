"""What is stated of presets, on traces that nobody tuned them to.

Presets were chosen on the homes and films of one seed, and on two hours of recorded sets. Here are
the same contests on the homes and films of other seeds, on single hours of the recordings, and on
single runs of real appliances, each as often told as is worked out.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from meteragent.privacy.group import GroupPolicy
from simulations.choose import bill
from simulations.claims.feeders import Feeder, feeders, shown
from simulations.claims.tried import FEBRUARY, placed
from simulations.compare.equal import success
from simulations.home.likelihood import Pair, answers
from simulations.home.policies import MINUTE, all_presets, preset
from simulations.home.readers import recorded
from simulations.home.yardstick import SMALL, Appliances, Arena, AtHome
from simulations.kit.command import Run
from simulations.kit.exact import named_of, told_apart
from simulations.kit.traces import DAY, Trace
from simulations.kit.yardstick import Verdict, up
from simulations.tv.contest import Contents, named_among
from simulations.tv.noise import EVENING_BEGIN, REST
from simulations.tv.plugs import INTERVAL, recordings, stretches
from simulations.tv.yardstick import KNOWS, TvContent

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
        "bill": [*_in_a_bill(arena), bill.attack(preset("bill"), run)[-1]],
        **{name: _in_a_feeder(policy, arena) for name, policy in feeders("1m").items()},
    }


def _in_a_bill(arena: Arena) -> list[Verdict]:
    """Single uses of what `bill` hides, in the shortest month."""
    days, month = preset("appliances", interval="1m"), preset("bill", interval="1m")

    def told(pair: Pair) -> float:
        whole = placed(pair, month, FEBRUARY)
        return told_apart(answers(whole.having, month), answers(whole.lacking, month), month)

    return [_uses(name, arena.uses(name, days), told) for name in ("kettle", "fridge")]


def _in_a_feeder(policy: GroupPolicy, arena: Arena) -> list[Verdict]:
    """Single uses of what presets of groups hide, and films; all other homes are known."""
    days = preset("appliances", interval="1m")

    def told(pair: Pair) -> float:
        versions = np.array([pair.having.watts, pair.lacking.watts])
        one, other = Feeder(policy, versions[:0]).answers(versions)
        return told_apart(one[:, np.newaxis], other[:, np.newaxis], policy)

    uses = [_uses(name, arena.uses(name, days), told) for name in ("kettle", "fridge", "tv")]
    films = [
        _film(contest, contents, policy) for contest, _, contents in TvContent(arena.run).contests
    ]
    return [*uses, *films]


def _uses(name: str, pairs: Sequence[Pair], told: Callable[[Pair], float]) -> Verdict:
    each = [told(pair) for pair in pairs]
    words = f"one use of {SMALL[name]}"
    return Verdict(words, KNOWS, "", float(np.mean(each)), max(each), 0.5, len(each))


def _film(contest: str, contents: Contents, policy: GroupPolicy) -> Verdict:
    _, homes = shown(contents, policy)
    answered = Feeder(policy, homes[:0]).answers(homes)
    found = named_of([row[:, np.newaxis] for row in answered], policy)
    share, cases = found.success, len(homes)
    return Verdict(contest, KNOWS, "", share, share, contents.chance, cases, exact=found.exact)


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
    policy = preset("appliances", interval="1m")
    rows = [_hour_of_sets(folder)]
    for one in recorded(folder.parent, 1000):
        if words := REAL.get(one.total.name):
            watts = float(np.nansum(one.total.watts)) * 1000 / DAY
            told = {"appliances": success(policy, watts)} | _recorded_in_a_feeder(one.total)
            for name, share in told.items():
                verdict = Verdict(words, KNOWS, "", share, share, 0.5, 1)
                rows.append(_row(name, [verdict]) | {"of": "one recording"})
    return rows


def _recorded_in_a_feeder(used: Trace) -> dict[str, float]:
    """By preset: begun at whatever minute of a window tells most."""
    load = np.nan_to_num(used.watts)
    minutes = np.pad(load, (0, -len(load) % 60)).reshape(-1, 60).mean(axis=1)
    most = {}
    for name, policy in feeders("1m").items():
        window, without = policy.size // MINUTE, np.full((1, 4 * policy.size // MINUTE), REST)
        alone = Feeder(policy, without[:0])
        having = np.repeat(without, window, axis=0)
        for begin, row in enumerate(having):
            row[begin : begin + len(minutes)] += minutes
        [lacking] = alone.answers(without)
        most[name] = max(
            told_apart(one[:, np.newaxis], lacking[:, np.newaxis], policy)
            for one in alone.answers(having)
        )
    return most


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
