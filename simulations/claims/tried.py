"""Every contest under every preset: worked out, and tried through the program.

Trials are independent, and each is right with a chance of its own. By Chernoff's bound (Hoeffding,
1963, theorem 1) their share is as far from its mean as a divergence of `d` with a chance of at most
`2 exp(-n d)`, whatever these chances are; all contests together are wrongly rejected once in a
thousand times at most.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from simulations.home.contests import Street, days_away, single_uses
from simulations.home.likelihood import Pair, answers, tell_apart
from simulations.home.policies import MINUTE, all_presets, preset
from simulations.home.yardstick import OWNED, SMALL
from simulations.kit.command import Run
from simulations.kit.exact import told_apart
from simulations.kit.traces import Trace
from simulations.tv.contest import Contents, alone, named_among, outcome
from simulations.tv.displays import OLED
from simulations.tv.library import library, metered
from simulations.tv.noise import CHUNK_BEGIN, EVENING_BEGIN, REST
from simulations.uses.settings import MONTH, bill

TOGETHER = 1e-3
"""The chance of any false alarm among all contests."""
QUARTER = 15 * MINUTE
BEGIN = 700 * MONTH
"""When windows of any length begin."""
DAYS = 23
CASES, KEYS = 60, 40
SETS, REPEATS = 60, 60


@dataclass(frozen=True, slots=True)
class Tried:
    """One contest under one preset."""

    preset: str
    contest: str
    told: float
    """How often the best attacker is right, worked out."""
    exact: bool
    hits: int
    trials: int

    def agrees(self, contests: int) -> bool:
        """Whether so many hits may be by luck, where so many contests are looked at."""
        seen = self.hits / self.trials
        if not self.exact and seen <= self.told:
            return True
        return self.trials * divergence(seen, self.told) <= math.log(2 * contests / TOGETHER)

    def document(self, contests: int) -> dict[str, Any]:
        """For JSON."""
        return {
            "preset": self.preset,
            "contest": self.contest,
            "told": round(self.told, 6),
            "exact": self.exact,
            "hits": self.hits,
            "trials": self.trials,
            "seen": round(self.hits / self.trials, 6),
            "agrees": self.agrees(contests),
        }


def divergence(seen: float, told: float) -> float:
    """Of two coins (Kullback and Leibler); infinite, if what never happens was seen."""
    parts = [(one, other) for one, other in ((seen, told), (1 - seen, 1 - told)) if one > 0]
    return sum(one * math.log(one / other) if other > 0 else math.inf for one, other in parts)


def policies() -> dict[str, Policy]:
    """Every preset of homes, with readings of a quarter of an hour."""
    return {**all_presets(interval="15m"), "bill": replace(bill(), interval=QUARTER)}


def tried(run: Run) -> list[Tried]:
    """All contests under all presets."""
    street = Street(run.seed + 1, 4, DAYS, QUARTER, having=OWNED)
    pairs = dict(_pairs(street, run))
    found = []
    for place, (name, policy) in enumerate(run.each([*policies().items()], "trials")):
        for number, (contest, some) in enumerate(pairs.items()):
            found.append(_apart(name, contest, some, policy, run, 100 * place + number))
        found += _films(name, policy, run, place)
    return found


def _pairs(street: Street, run: Run) -> Iterator[tuple[str, list[Pair]]]:
    """In windows of a day."""
    day, cases = preset("appliances", interval="15m").size, 12 if run.quick else CASES
    for place, (name, words) in enumerate(SMALL.items()):
        yield f"one use of {words}", single_uses(street, name, day, cases, run.draw(1, place))
    for days in (1, 7):
        words = "one day away" if days == 1 else "seven days away"
        yield words, days_away(street, day, days, cases, run.draw(2, days))


def _placed(pair: Pair, policy: Policy) -> Pair:
    """From the begin of a window, in whole windows: the rest of the last one is as usual."""
    slots = -(-len(pair.having.watts) // policy.slots) * policy.slots

    def long(trace: Trace, name: str) -> Trace:
        watts = np.full(slots, REST)
        watts[: len(trace.watts)] = trace.watts
        return Trace(name, BEGIN, QUARTER, watts)

    return Pair(long(pair.having, "having"), long(pair.lacking, "lacking"))


def _apart(
    name: str, contest: str, pairs: Sequence[Pair], policy: Policy, run: Run, place: int
) -> Tried:
    whole = [_placed(pair, policy) for pair in pairs]
    told = [
        told_apart(answers(pair.having, policy), answers(pair.lacking, policy), policy)
        for pair in whole
    ]
    keys = 4 if run.quick else KEYS
    shares = [
        tell_apart(whole, policy, NoiseKey(draw.bytes(32)), draw).share()
        for draw in (run.draw(3, place, n) for n in range(keys))
    ]
    hits, trials = (sum(getattr(share, key) for share in shares) for key in ("hits", "of"))
    return Tried(name, contest, float(np.mean(told)), exact=True, hits=hits, trials=trials)


def _films(name: str, policy: Policy, run: Run, place: int) -> Iterator[Tried]:
    """Five minutes and whole evenings, among so many films and channels."""
    many, repeats = (12, 3) if run.quick else (SETS, REPEATS)
    films = library(run.draw(4), many)
    policy = replace(policy, interval=min(policy.interval, 5 * MINUTE))
    if policy.size == MONTH:
        return
    shown = {
        "five minutes of a film": Contents(
            CHUNK_BEGIN, MINUTE, metered(films.chunks(run.draw(5)), OLED, 60)
        ),
        "a whole evening": Contents(
            EVENING_BEGIN, MINUTE, metered(films.evenings(run.draw(6), many), OLED, 60)
        ),
    }
    for number, (contest, contents) in enumerate(shown.items()):
        told = named_among(contents, policy, REST)
        draw = run.draw(7, place, number)
        seen = alone(contents, policy, NoiseKey(draw.bytes(32)), repeats, REST)
        share = outcome(seen.scores(), contents, draw).first
        yield Tried(name, contest, told.success, told.exact, share.hits, share.of)
