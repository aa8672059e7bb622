"""Small worlds that nobody thought of: settings, logs, times and readings are drawn."""

from __future__ import annotations

import itertools
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from tests.laws.said import Rule, losses
from tests.laws.small_stories import Scenario, known, scenario
from tests.laws.whole_records import Message, Moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.laws.whole_records import Watts, World

QUERIES = ("avg", "avg", "min", "median", "max", "p29", "p95", "reading")
MOST_WORLDS = 16
MOST_SECRETS = 4


def drawn(seed: str) -> Scenario:
    """Worlds that are far apart come first."""
    draw = Random(seed)
    rules = _rules(draw)
    log = _log(draw, private=any(rule.private for rule in rules))
    secrets = sum(len(message.at) for message in log)
    document: dict[str, Any] = {}
    if len(rules) > 1:
        amount = sum(rule.budget for rule in rules)
        document["budget"] = {
            "radius": f"{rules[0].step}W",
            "amount": losses(amount),
            "horizon": f"{rules[0].horizon}s",
        }
    worlds = _worlds(draw, rules, secrets)
    return scenario(rules, log, _moments(draw, log[-1].written), worlds, **document)


def _rules(draw: Random) -> list[Rule]:
    """One policy, or two of one account.

    Two private ones ask of windows of their own: those that ask alike have a story of their own.
    """
    step, top = draw.choice((1, 1, 2, 10)), draw.choice((1, 1, 2))
    minimum, horizon = draw.choice((0, 0, -top * step, -step)), 30 + draw.choice((0, 5, 10, 20))
    grid = Rule(step=step, top=top, minimum=minimum, horizon=horizon)
    first = _rule(draw, grid, "first")
    if draw.random() < 0.7:
        return [first]
    second = _rule(draw, grid, "second")
    if first.private and second.private and first.slots == second.slots:
        return [first]
    return [first, second]


def _rule(draw: Random, grid: Rule, name: str) -> Rule:
    slots, private = draw.choice((1, 1, 2, 2, 3)), draw.random() < 0.3
    asked = draw.sample(QUERIES, draw.choice((1, 1, 2)))
    asks = {query: draw.choice((1, 1, 2)) for query in asked}
    cost = sum(n * (slots if query == "reading" else 1) for query, n in asks.items())
    return replace(
        grid,
        asks=asks,
        slots=slots,
        hop=draw.choice((None, 10)),
        budget=cost * draw.choice((1, 2, 3)) + draw.choice((0, 0, 1)),
        name=name,
        private=private,
        settings={
            "grace": f"{draw.choice((0, 0, 5, 15))}s",
            "idle": f"{draw.choice((0, 5, 15))}s",
            "on_exhausted": draw.choice(("suppress", "partial")),
            "min_coverage": "0" if private else draw.choice(("0", "0", "0.5", "1")),
            "output": f"meter.{name}",
        },
    )


def _log(draw: Random, *, private: bool) -> list[Message]:
    """Readings and blocks: in disorder, late, twice in a slot, and some that are bad.

    Where presence is private the home is known from the start, since nothing is promised before;
    and nothing is rejected, because a reject tells how many records came before it.
    """
    log = [known(0, 0)] if private else []
    time = secrets = 0
    for _ in range(draw.randint(2, 6)):
        time += draw.choice((0, 3, 5, 8, 10, 12))
        spacing, count = draw.choice((5, 10, 20)), draw.choice((1, 1, 1, 2, 3))
        at = tuple(range(time, time + count * spacing, spacing))
        written = at[-1] + draw.choice((0, 1, 1, 2, 15, 25))
        chance = draw.random()
        if chance < 0.1:
            log.append(known(written, time, 1, "other"))
        elif chance < 0.15 and not private:
            log.append(Message(written, known=b'{"meter_id":"home"}'))
        elif chance < 0.35 or secrets + count > MOST_SECRETS:
            log.append(known(written, time, 1))
        else:
            secrets += count
            log.append(Message(written, at, in_kilowatts=draw.random() < 0.1))
    return sorted(log, key=lambda message: message.written)


def _moments(draw: Random, end: int) -> list[Moment]:
    moments = [
        Moment(at, caught_up=draw.random() < 0.3, aborted=draw.random() < 0.2)
        for at in sorted(draw.randrange(end + 1) for _ in range(draw.randrange(3)))
    ]
    return [*moments, Moment(end), Moment(end + draw.choice((5, 20, 40)), caught_up=True)]


def _worlds(draw: Random, rules: Sequence[Rule], secrets: int) -> list[World]:
    """On levels, between them and beyond both ends; of two patterns, or where private of any."""
    low, high, step = rules[0].minimum, rules[0].maximum, rules[0].step
    watts: list[Watts] = [low, high, low + step, low + step / 2, low + 0.499 * step]
    watts += [low - step, high + 3 * step]
    ends: list[World] = [(low,) * secrets, (high,) * secrets]
    absent = [draw.random() < 0.3 for _ in range(secrets)]
    if all(rule.private for rule in rules):
        watts += [None, None]
    worlds = dict.fromkeys(ends)
    for _ in range(10 * MOST_WORLDS):
        base, moved = draw.choice(ends), draw.random()
        world = tuple(draw.choice(watts) if draw.random() < moved else w for w in base)
        if draw.random() < 0.3:
            world = tuple(None if a else w for a, w in zip(absent, world, strict=True))
        worlds[world] = None
    return list(itertools.islice(worlds, MOST_WORLDS))
