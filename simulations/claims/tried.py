"""Every contest under every preset: worked out, and tried through the program."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from meteragent.config.presets import presets
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from simulations.claims.agreement import Tried
from simulations.claims.contests import Contests, by_quarters, contests
from simulations.claims.feeders import feeders, tried_in_feeder
from simulations.home.likelihood import Pair, answers, tell_apart
from simulations.home.policies import MINUTE, preset
from simulations.kit.command import Run
from simulations.kit.exact import told_apart
from simulations.kit.product import ENOUGH
from simulations.kit.traces import Trace
from simulations.kit.windows import whole
from simulations.tv.contest import EPOCH, Contents, alone, named_among, outcome
from simulations.tv.noise import REST

FEBRUARY = EPOCH + 31 * 86_400_000
"""The shortest month, in which an evening weighs most."""
KEYS, REPEATS = 40, 60


def policies() -> dict[str, Policy]:
    """Every preset of homes, with readings of a quarter of an hour; months are the calendar's."""
    every = {name: preset(name, interval="15m") for name in presets()}
    return {name: replace(policy, budget=ENOUGH) for name, policy in every.items()}


def tried(run: Run) -> list[Tried]:
    """All contests under all presets, of homes and of groups."""
    every = contests(run)
    found: list[Tried] = []
    for place, (name, policy) in enumerate(run.each([*policies().items()], "homes")):
        found += tried_in_home(name, policy, every, run, place)
    for place, (name, policy) in enumerate(run.each([*feeders().items()], "feeders")):
        found += tried_in_feeder(name, policy, every, run, place)
    return found


def tried_in_home(
    name: str, policy: Policy, every: Contests, run: Run, place: int
) -> Iterator[Tried]:
    """All contests about one home."""
    for number, (contest, pairs) in enumerate(every.pairs.items()):
        yield _apart(name, contest, pairs, policy, run, 100 * place + number)
    yield from _films(name, policy, every, run, place)


def begun(policy: Policy, nth: int) -> int:
    """When the window of one case begins: of a calendar's months, one after the other of a year."""
    windows = policy.windows
    return windows.start(windows.newest(EPOCH) + (nth % 12 if policy.calendar else 0))


def placed(pair: Pair, policy: Policy, begin: int) -> Pair:
    """From the begin of a window, in whole windows: the rest of the last one is as usual."""
    interval = pair.having.interval
    _, ends = whole(begin, begin + len(pair.having.watts) * interval, policy)

    def long(trace: Trace, name: str) -> Trace:
        watts = np.full(ends[-1], REST)
        watts[: len(trace.watts)] = trace.watts
        return Trace(name, begin, interval, watts)

    return Pair(long(pair.having, "having"), long(pair.lacking, "lacking"))


def _apart(
    name: str, contest: str, pairs: Sequence[Pair], policy: Policy, run: Run, place: int
) -> Tried:
    in_windows = [placed(pair, policy, begun(policy, nth)) for nth, pair in enumerate(pairs)]
    told = [
        told_apart(answers(pair.having, policy), answers(pair.lacking, policy), policy)
        for pair in in_windows
    ]
    keys = 4 if run.quick else KEYS
    shares = [
        tell_apart(in_windows, policy, NoiseKey(draw.bytes(32)), draw).share()
        for draw in (run.draw(3, place, n) for n in range(keys))
    ]
    hits, trials = (sum(getattr(share, key) for share in shares) for key in ("hits", "of"))
    return Tried(name, contest, float(np.mean(told)), exact=True, hits=hits, trials=trials)


def _films(name: str, policy: Policy, every: Contests, run: Run, place: int) -> Iterator[Tried]:
    """Five minutes and whole evenings, among so many films and channels."""
    repeats = 3 if run.quick else REPEATS
    if not policy.calendar:
        policy = replace(policy, interval=min(policy.interval, 5 * MINUTE))
    for number, (contest, shown) in enumerate(every.films.items()):
        contents = _in_february(shown) if policy.calendar else shown
        told = named_among(contents, policy, REST)
        draw = run.draw(7, place, number)
        seen = alone(contents, policy, NoiseKey(draw.bytes(32)), repeats, REST)
        share = outcome(seen.scores(), contents, draw).first
        yield Tried(name, contest, told.success, told.exact, share.hits, share.of)


def _in_february(contents: Contents) -> Contents:
    quarters = by_quarters(contents)
    return replace(quarters, begin=FEBRUARY + quarters.begin - EPOCH)
