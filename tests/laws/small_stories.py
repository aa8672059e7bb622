"""Small worlds in which something happens: what is asked, what is sent when, which readings vary.

Seconds after midnight; slots of 10 s, unless it says otherwise. `known` readings are public.
"""

from __future__ import annotations

import itertools
import json
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.laws.said import Rule, config_of, losses
from tests.laws.whole_records import BEGIN, Message, Moment, Story

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.laws.said import Stretch
    from tests.laws.whole_records import Watts, World


class Scenario(NamedTuple):
    rules: tuple[Rule, ...]
    story: Story
    worlds: list[World]
    reaches: frozenset[Stretch]
    """In which stretches some pair is as far apart as is said."""


def scenario(
    rules: Rule | Sequence[Rule],
    log: Sequence[Message],
    moments: Sequence[Moment],
    worlds: Iterable[World],
    *reaches: Stretch,
    fetched: int = 2**20,
    **document: Any,  # noqa: ANN401 - as in a file
) -> Scenario:
    rules = (rules,) if isinstance(rules, Rule) else tuple(rules)
    story = Story(config_of(rules, **document), tuple(log), tuple(moments), fetched)
    return Scenario(rules, story, list(worlds), frozenset(reaches))


def known(written: int, at: int, watts: float = 1, meter: str = "home") -> Message:
    said = {"meter_id": meter, "ts": BEGIN + 1000 * at, "value": watts}
    return Message(written, known=json.dumps(said).encode())


def every(slots: int, watts: Sequence[Watts] = (0, 1, 2)) -> list[World]:
    return list(itertools.product(watts, repeat=slots))


def some(worlds: Sequence[World], most: int) -> list[World]:
    """The first and the last of them, and others that are drawn."""
    others = worlds[1:-1]
    return [worlds[0], *Random(1).sample(others, min(most - 2, len(others))), worlds[-1]]


def account(amount: int, horizon: int) -> dict[str, Any]:
    return {"radius": "1W", "amount": losses(amount), "horizon": f"{horizon}s"}


def each_query(query: str, slots: int = 3) -> Scenario:
    rule = Rule(asks={query: 1}, slots=slots)
    log = [Message(slots * 10, tuple(range(0, slots * 10, 10))), known(70, 61)]
    return scenario(rule, log, [Moment(80)], every(slots), "window")


def some_hours() -> Scenario:
    """The first window ends after their minute, and the second one is not asked about it.

    readings     x   x    x   x        x             x
    windows    [------------------][------------------][------------------]
    the hours  [-----------]
    pays for             two                 one             what is left: nothing
    """
    rule = Rule(
        {"max[00:00-00:01]": 1, "avg": 1}, slots=4, top=1, interval=20, horizon=240, budget=3
    )
    log = [Message(80, (5, 25, 45, 65)), Message(160, (85,)), Message(240, (165,)), known(330, 321)]
    return scenario(rule, log, [Moment(340)], some(every(6, (0, 1)), 8), "window", "horizon")


def two_losses() -> Scenario:
    """Each answer has noise of its own, and a loss of its own."""
    rule = Rule(asks={"avg": 1, "max": 2})
    log = [Message(20, (0, 10)), known(70, 61)]
    return scenario(rule, log, [Moment(80)], every(2), "window")


def ordered() -> Scenario:
    """What is released is put in its order: a function of what was drawn."""
    rule = Rule(asks={"max": 1, "avg": 1, "min": 1}, horizon=60)
    log = [Message(20, (0, 10)), known(70, 61)]
    return scenario(rule, log, [Moment(80)], every(2), "window")


def exhausted() -> Scenario:
    """Two of three windows are paid for; a stretch that begins elsewhere touches a fourth.

    readings        x    x      x       x
    windows     [------][------][------][------]
    released       yes    yes     no      yes
    """
    rule = Rule(top=1, slots=1, horizon=30, budget=2)
    log = [Message(t, (t,)) for t in (5, 12, 22, 34)]
    moments = [Moment(20), Moment(40, caught_up=True)]
    return scenario(rule, log, moments, every(4, (0, 1)), "window", "horizon", "any_horizon")


def partly_exhausted(first: str = "avg", last: str = "max") -> Scenario:
    """The second window's last query is not paid for, of the third one nothing is."""
    partial = {"on_exhausted": "partial"}
    rule = Rule(asks={first: 1, last: 1}, top=1, horizon=60, budget=3, settings=partial)
    log = [Message(20, (0, 10)), Message(35, (25,)), Message(50, (45,)), known(70, 61)]
    worlds = some(every(4, (0, 1)), 8)
    return scenario(rule, log, [Moment(80)], worlds, "window", "horizon")


def partly_ordered() -> Scenario:
    """The same, where the answer that is not paid for is never above the one that is."""
    return partly_exhausted("max", "avg")


def gaps() -> Scenario:
    """A window needs two readings of three; which are absent is public."""
    rule = Rule(slots=3, settings={"min_coverage": "0.5"})
    log = [Message(5, (0,)), Message(29, (10, 20)), known(70, 61)]
    return scenario(rule, log, [Moment(80)], every(3, (None, 0, 1, 2)), "window")


def disorder() -> Scenario:
    """Out of order, twice for one slot, in a record that others reject, and too late."""
    rule = Rule(settings={"grace": "5s"}, horizon=60)
    log = [
        Message(21, (11,)),
        Message(22, known=b'{"meter_id":"home","ts":'),
        Message(22, (12,)),
        known(22, 300),
        Message(23, (1,)),
        known(24, 0, meter=""),
        known(26, 26),
        Message(30, (3,)),
        Message(31, (33,)),
    ]
    moments = [Moment(22), Moment(30), Moment(60, caught_up=True)]
    return scenario(rule, log, moments, some(every(5), 10), "window")


def blocks() -> Scenario:
    """Finer than slots, and coarser; one of them reaches into the next window."""
    rule = Rule(slots=2, horizon=40)
    log = [Message(20, (2, 7, 12)), Message(50, (15, 35)), known(70, 61)]
    return scenario(rule, log, [Moment(80)], some(every(5), 12), "window", "horizon")


def clipped() -> Scenario:
    """Beyond both ends, between levels, in kW."""
    rule = Rule(slots=2)
    log = [Message(20, (0,)), Message(20, (10,), in_kilowatts=True), known(70, 61)]
    watts = (-7, -0.5, 0, 0.49, 0.5, 1.499, 1.5, 2, 2.5, 1e6)
    return scenario(rule, log, [Moment(80)], every(2, watts), "window")


def export() -> Scenario:
    rule = Rule(top=3, minimum=-4, step=2, slots=2)
    log = [Message(20, (0,)), Message(20, (10,)), known(70, 61)]
    return scenario(rule, log, [Moment(80)], every(2, (-4, -3.5, -2, 0, 2)), "window")


def hopping() -> Scenario:
    """Each reading is in two windows."""
    rule = Rule(top=1, slots=2, hop=10, horizon=20, budget=3)
    log = [Message(t, (t,)) for t in (5, 15, 24)]
    moments = [Moment(16), Moment(70, caught_up=True)]
    worlds = [(0, 0, 0), (1, 1, 0), (0, 1, 1), (1, 1, 1)]
    return scenario(rule, log, moments, worlds, "horizon", "any_horizon")


def two_policies() -> Scenario:
    """Quarters and halves, each with its share and its topic."""
    rules = (
        Rule(name="quick", top=1, slots=1, horizon=20, budget=2),
        Rule(
            {"max": 2}, name="long", top=1, horizon=20, budget=2, settings={"output": "meter.long"}
        ),
    )
    log = [Message(9, (0,)), Message(19, (10,)), known(70, 61, 0)]
    moments = [Moment(15), Moment(80)]
    return scenario(rules, log, moments, every(2, (0, 1)), "horizon", budget=account(4, 20))


def quick_and_final() -> Scenario:
    """The same answer twice, the second time with what came late: other content, other noise."""
    need = {"min_coverage": "0.6"}
    slow = {"grace": "60s", "output": "meter.final"}
    rules = (
        Rule(name="quick", slots=3, horizon=30, budget=1, settings=need),
        Rule(name="final", slots=3, horizon=30, budget=1, settings=need | slow),
    )
    log = [Message(19, (5, 15)), known(31, 31), Message(40, (25,)), known(99, 91)]
    moments = [Moment(35), Moment(100)]
    worlds = some(every(3), 8)
    return scenario(rules, log, moments, worlds, "horizon", budget=account(2, 30))


def two_homes() -> Scenario:
    """Nothing of the one shows in what is released of the other, also where they agree."""
    rule = Rule(top=1, slots=1, settings={"grace": "5s"})
    log = [Message(9, (0,), "a"), Message(9, (0,), "b"), Message(12, (10,), "a")]
    moments = [Moment(15), Moment(50, caught_up=True)]
    return scenario(rule, log, moments, every(3, (0, 1)), "window")


def seen_and_aborted() -> Scenario:
    """Releases are read, then taken back; the same again, from other batches, is no second draw."""
    rule = Rule(top=1, horizon=40)
    log = [Message(9, (0,)), Message(22, (10,)), Message(29, (25,)), known(70, 61)]
    moments = [Moment(25), Moment(75, aborted=True), Moment(80)]
    return scenario(rule, log, moments, every(3, (0, 1)), "window", "horizon")


def fetched_by_bytes() -> Scenario:
    """Two homes' windows close in one batch if a reading is written with one digit less."""
    rule = Rule(step=6, slots=1)
    log = [known(5, 1, 0, "a"), known(5, 1, 0, "z"), Message(12, (11,), "z"), known(13, 12, 0, "a")]
    records = Story(config_of([rule]), tuple(log), ()).records((9,))
    fetched = sum(len(record.value or b"") for record in records)
    return scenario(rule, log, [Moment(20)], [(9,), (10,)], fetched=fetched)


# Presence is private: every pattern, as far apart as the range. What may be absent is not what
# moves the clock past the end of a window, which waits long enough.

SILENT = (None, 0, 1)


def heard_or_not() -> Scenario:
    """A home is silent for one reading, or two, across the end of a window.

    readings     known    x | x      known
    windows    [--------------][--------------]
    """
    rule = Rule(top=1, private=True, horizon=40, settings={"idle": "5s"})
    log = [known(5, 1, 0), Message(12, (11,)), Message(24, (21,)), known(36, 31, 0)]
    moments = [Moment(24), Moment(28, caught_up=True), Moment(40), Moment(46, caught_up=True)]
    return scenario(rule, log, moments, every(2, SILENT), "window", "horizon")


def silent_for_a_window() -> Scenario:
    """In blocks, of which a part says nothing."""
    rule = Rule({"median": 1}, top=1, private=True, horizon=20, settings={"idle": "25s"})
    log = [known(9, 5, 0), Message(45, (20, 30))]
    return scenario(rule, log, [Moment(67, caught_up=True)], every(2, SILENT), "window", "horizon")


def heard_beside_another() -> Scenario:
    """How far time has come is known from the other home."""
    rule = Rule(top=1, slots=1, private=True, horizon=20, settings={"idle": "5s"})
    log = [
        *(known(5, 1, 0, meter) for meter in ("home", "other")),
        Message(12, (11,)),
        known(14, 13, 0, "other"),
        known(27, 26, 0, "other"),
    ]
    return scenario(rule, log, [Moment(15), Moment(30)], every(1, SILENT), "window")


def private_and_exhausted() -> Scenario:
    """What is paid for depends on the clock alone."""
    patient = {"on_exhausted": "partial", "idle": "5s"}
    asks = {"avg": 1, "max": 1}
    rule = Rule(asks, top=1, private=True, horizon=60, budget=3, settings=patient)
    log = [known(5, 1, 0), Message(12, (11,)), Message(24, (21,)), known(42, 41, 0)]
    worlds = [*every(2, (None, 0)), *every(2, (1,))]
    return scenario(rule, log, [Moment(66, caught_up=True)], worlds, "horizon")


def private_export() -> Scenario:
    """A slot without a reading is a home at rest, in the midst of the range."""
    patient = {"idle": "5s"}
    rule = Rule({"reading": 1}, minimum=-1, slots=1, private=True, horizon=10, settings=patient)
    log = [known(9, 1, -1), Message(14, (12,))]
    worlds = every(1, (None, -1, 0, 1))
    moments = [Moment(12), Moment(26, caught_up=True)]
    return scenario(rule, log, moments, worlds, "window", "horizon")


def private_quick_and_final() -> Scenario:
    """Whether anything came late must not be told by two answers that are equal, or are not."""
    late = {"grace": "20s", "idle": "5s", "output": "meter.final"}
    rules = (
        Rule(name="quick", top=1, private=True, horizon=20, budget=1, settings={"idle": "5s"}),
        Rule(name="final", top=1, private=True, horizon=20, budget=1, settings=late),
    )
    log = [known(9, 5, 0), Message(31, (15,))]
    moments = [Moment(26, caught_up=True), Moment(46, caught_up=True)]
    worlds = every(1, SILENT)
    return scenario(rules, log, moments, worlds, budget=account(2, 20))
