"""One home of a feeder, all others of which the attacker knows: worked out, and tried.

Trials go through the program of groups. Every trial has a feeder of its own, so that its noise is
its own; the homes beside the one in question are the same for all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from meteragent.config.group import GroupSettings
from meteragent.config.presets import presets
from meteragent.explain.reader import drawn
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.group import GroupPolicy
from meteragent.privacy.query import answer
from simulations.claims.agreement import Tried
from simulations.claims.contests import QUARTER, Contests
from simulations.feeder.releases import of_groups
from simulations.home.likelihood import Judged, Pair
from simulations.home.policies import MINUTE
from simulations.kit.command import Run
from simulations.kit.exact import Levels, named_of, told_apart
from simulations.kit.product import ENOUGH
from simulations.kit.traces import Trace, Watts
from simulations.kit.windows import answered, whole
from simulations.tv.contest import EPOCH, Contents, outcome
from simulations.tv.likelihood import known_home, rates
from simulations.tv.noise import REST

TRIALS, REPEATS = 40, 60
"""Of each pair, and of each film."""


def feeders(interval: str = "15m") -> dict[str, GroupPolicy]:
    """Every preset of groups, that waits for nobody and never runs dry."""
    asked = {
        name: {"name": name, "preset": name, "interval": interval} for name in presets("groups")
    }
    every = {name: GroupSettings.model_validate(its).policy for name, its in asked.items()}
    return {n: replace(one, grace=0, idle=0, budget=ENOUGH) for n, one in every.items()}


@dataclass(frozen=True, slots=True)
class Feeder:
    """A group in which one home is in question."""

    policy: GroupPolicy
    others: Watts
    """others[home, slot]: what is known, if there are any others."""

    def answers(self, homes: Watts) -> Levels:
        """levels[case, window] of `homes[case, slot]`, each with the others beside it.

        Precondition: they fill whole windows, and so do the others.
        """
        sums = self._panes(homes) + self._panes(self.others).sum(axis=0)
        count = np.full(sums.shape[1], 1 + len(self.others))
        levels = np.array([self.policy.levels(row, count) for row in sums])
        queries = tuple(asked.query for asked in self.policy.questions)
        windows = answer(queries, levels.reshape(-1, self.policy.slots))
        return windows.reshape(len(homes), -1)

    def _panes(self, homes: Watts) -> Levels:
        """The level of each pane of each home."""
        own = self.policy.home
        _, ends = whole(0, homes.shape[1] * own.interval, own)
        return answered(homes, ends, own)[:, :, 0]

    def released(self, homes: Watts, begin: int, key: NoiseKey) -> Levels:
        """levels[case, window] that the program drew, each case in a feeder of its own."""
        interval = self.policy.homes.interval
        known = [Trace(f"other-{n}", begin, interval, watts) for n, watts in enumerate(self.others)]
        cases = [Trace(f"home-{n}", begin, interval, watts) for n, watts in enumerate(homes)]
        groups = {f"feeder-{n}": [case, *known] for n, case in enumerate(cases)}
        unbiased = of_groups([*cases, *known], groups, self.policy, key)
        levels: Levels = drawn(unbiased, self.policy).astype(np.int64)
        return levels


def tried_in_feeder(
    name: str, policy: GroupPolicy, every: Contests, run: Run, place: int
) -> Iterator[Tried]:
    """All contests about one home of a feeder."""
    for number, (contest, pairs) in enumerate(every.pairs.items()):
        yield _apart(name, contest, pairs, policy, every.neighbours, run, 100 * place + number)
    for number, (contest, contents) in enumerate(every.films.items()):
        yield _named(name, contest, contents, every.neighbours, run, 10 * place + number)


def _apart(
    name: str,
    contest: str,
    pairs: Sequence[Pair],
    policy: GroupPolicy,
    neighbours: Watts,
    run: Run,
    place: int,
) -> Tried:
    draw, trials = run.draw(8, place), 4 if run.quick else TRIALS
    versions = _as_long(pairs)
    feeder = Feeder(policy, neighbours[:, : versions.shape[2]])
    having, lacking = (feeder.answers(versions[:, n]) for n in range(2))
    told = [
        told_apart(one[:, np.newaxis], other[:, np.newaxis], feeder.policy)
        for one, other in zip(having, lacking, strict=True)
    ]
    which = np.tile(np.arange(len(pairs)), trials)
    truths = draw.random(len(which)) < 0.5
    homes = versions[which, np.where(truths, 0, 1)]
    seen = feeder.released(homes, EPOCH, NoiseKey(draw.bytes(32)))
    scores = (np.abs(seen - lacking[which]) - np.abs(seen - having[which])).sum(axis=1)
    share = Judged(scores.astype(np.float64), truths, draw.random(len(which)) < 0.5).share()
    return Tried(name, contest, float(np.mean(told)), exact=True, hits=share.hits, trials=share.of)


def _as_long(pairs: Sequence[Pair]) -> Watts:
    """versions[pair, having or lacking, slot]: what is shorter goes on as usual."""
    longest = max(len(pair.having.watts) for pair in pairs)
    versions = np.full((len(pairs), 2, longest), REST)
    for rows, pair in zip(versions, pairs, strict=True):
        for row, one in zip(rows, (pair.having, pair.lacking), strict=True):
            row[: len(one.watts)] = one.watts
    return versions


def _named(
    name: str, contest: str, contents: Contents, neighbours: Watts, run: Run, place: int
) -> Tried:
    """In readings of a minute."""
    draw, repeats = run.draw(9, place), 3 if run.quick else REPEATS
    policy = feeders("1m")[name]
    begin, homes = shown(contents, policy)
    known = np.repeat(neighbours, QUARTER // MINUTE, axis=1)[:, : homes.shape[1]]
    feeder = Feeder(policy, known)
    answers = feeder.answers(homes)
    told = named_of([row[:, np.newaxis] for row in answers], policy)
    seen = feeder.released(np.tile(homes, (repeats, 1)), begin, NoiseKey(draw.bytes(32)))
    drawn_of, true = seen.astype(np.float64), answers.astype(np.float64)
    scores = known_home(drawn_of, true, rates(policy, answers.shape[1]))
    share = outcome(scores, contents, draw).first
    return Tried(name, contest, told.success, told.exact, share.hits, share.of)


def shown(contents: Contents, policy: GroupPolicy) -> tuple[int, Watts]:
    """When the first window begins that contents touch; homes[content, slot] in whole windows."""
    end = contents.begin + contents.watts.shape[1] * contents.interval
    begin, ends = whole(contents.begin, end, policy)
    slots = ends[-1] * policy.interval // contents.interval
    homes = np.full((len(contents.watts), slots), REST)
    first = (contents.begin - begin) // contents.interval
    homes[:, first : first + contents.watts.shape[1]] += contents.watts
    return begin, homes
