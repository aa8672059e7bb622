"""Answers about some hours alone, in small worlds: every pair of windows and every output."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from meteragent import Domain
from meteragent.privacy.domain import ABSENT
from meteragent.privacy.ledger import NEVER
from meteragent.privacy.query import answer
from meteragent.privacy.question import question
from meteragent.stream.closed import Closed
from meteragent.stream.completed import completed
from meteragent.stream.folds import Folds
from meteragent.stream.order import Course, Timing
from meteragent.stream.strips import Panes
from tests.given import HOUR, MINUTE, policy
from tests.laws.lawful import of_hours
from tests.laws.private import all_windows, breach, private, public
from tests.laws.test_small_worlds import ALMOST, ALPHA, answers, law_of

QUARTER = 15 * MINUTE
HOURS = ["00:15-00:45", "00:00-00:15 00:30-12:00", "not 00:30-00:45"]
"""Of a window of four quarters of an hour, at midnight."""


@pytest.mark.parametrize(
    ("slots", "top"), [(3, 2), (4, 1), pytest.param(4, 2, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("text", HOURS)
@pytest.mark.parametrize("name", ["avg", "min", "median", "max", "p29", "max(15m)", "p29(15m)"])
def test_an_answer_about_some_hours_is_private_at_the_cost_of_one_and_at_nothing_less(
    name: str, text: str, slots: int, top: int
) -> None:
    law = law_of((of_hours(name, text, 0),), slots, top)
    assert breach(law, public, ALPHA, 1) is None
    assert breach(law, public, ALPHA, ALMOST) is not None
    assert breach(law, private(top), ALPHA, 1) is None
    assert breach(law, private(top), ALPHA, ALMOST) is not None


def test_answers_about_hours_and_their_rest_add_up_though_no_reading_is_in_both() -> None:
    """Under the distance of the largest move all readings move at once."""
    both = (of_hours("avg", "00:15-00:45", 0), of_hours("avg", "not 00:15-00:45", 0))
    law = law_of(both, 3, 1)
    assert breach(law, public, ALPHA, 2) is None
    assert breach(law, public, ALPHA, 2 * ALMOST) is not None


@pytest.mark.parametrize("text", HOURS)
@pytest.mark.parametrize("cuts", [*itertools.product([False, True], repeat=3)])
@pytest.mark.parametrize("presence", ["public", "private"])
def test_hours_that_are_folded_cut_and_restored_are_those_of_the_whole_window(
    presence: str, cuts: tuple[bool, ...], text: str
) -> None:
    """Every window of a small world is a meter; so the inequality above holds of folds, too."""
    names = ["avg", "min", "max", "max(15m)"]
    names = [f"{name}[{text}]" for name in names]
    rules = policy(
        domain=Domain(0, 2, 1),
        questions=tuple(question(name, 1, 100) for name in names),
        size=HOUR,
        interval=QUARTER,
        presence=presence,
    )
    windows = all_windows(4, 2)
    if presence == "public":
        windows = [window for window in windows if set(window) != {None}]
    rows, folds = np.arange(len(windows)), Folds(rules)
    folds.grow(len(rows))
    held = np.array([[ABSENT if x is None else x for x in window] for window in windows], np.int8)
    for pane, is_cut in enumerate([*cuts, False]):
        told = rows if presence == "private" else np.flatnonzero(held[:, pane] != ABSENT)
        told_panes = Panes(told, np.full(len(told), pane), held[told, pane : pane + 1])
        timing = Timing(rules, Course.of_tick(0, 1))
        decided = folds.take(Closed(told_panes, rows, 0 * rows, 0 * rows + pane + 1, timing))
        if is_cut:
            until, state = folds.until(rows), folds.state(rows)
            known, folds = until != NEVER, Folds(rules)
            folds.grow(len(rows))
            folds.take_over(rows[known], until[known], state[known])
    assert decided.rows.tolist() == rows.tolist()
    found = answer(
        tuple(asked.query for asked in rules.questions),
        completed(rules, decided.contents, 0 * rows),
    )
    whole = tuple(of_hours(name.partition("[")[0], text, 0) for name in names)
    assert found.tolist() == answers(whole, windows)
