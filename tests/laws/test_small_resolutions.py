"""Answers on another grid than the readings': finer keeps the promise, coarser breaks it.

All windows of small worlds, every pair and every output, in fractions. Distances are in steps of
the readings, `ALPHA` is of one level of the answers: a step costs so many levels, and no more.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from meteragent.errors import InvalidSetting
from meteragent.privacy.domain import Domain
from meteragent.privacy.mechanism import matrix
from meteragent.privacy.query import NAMED, Query, answer, query
from tests.laws.private import Window, all_windows, breach, private, public, together
from tests.twins import joint
from tests.twins.isotonic import half_up

ALPHA = Fraction(4, 5)
ALMOST = Fraction(99, 100)
FINER = (2, 4, 5)
WORLDS = [(1, 3), (2, 2), (3, 1), (3, 2)]
QUERIES = [*NAMED.values(), *map(query, ("p29", "p95"))]
JOINT = ("avg", "max")

Law = dict[Window, list[Fraction]]


def answers(
    asked: tuple[Query, ...], windows: list[Window], top: int, finer: int, rest: int = 0
) -> list[list[int]]:
    """From watts: a step is `finer` of them, and a level one."""
    domain = Domain(0, top * finer, finer, 1)
    watts = [np.nan if at is None else float(finer * at) for window in windows for at in window]
    levels = domain.levels(np.array(watts)).reshape(len(windows), -1)
    told: list[list[int]] = answer(asked, levels, rest).tolist()
    return told


@cache
def chances(top: int, finer: int) -> list[list[Fraction]]:
    return matrix(top * finer, ALPHA)


def law_of(asked: Query, slots: int, top: int, finer: int, rest: int = 0) -> Law:
    """Of a query's outputs; those of a window are drawn one by one."""
    windows = all_windows(slots, top)
    rows = answers((asked,), windows, top, finer, rest)
    drawn = chances(top, finer)
    return {
        w: together([drawn[level] for level in row]) for w, row in zip(windows, rows, strict=True)
    }


@pytest.mark.parametrize("finer", FINER)
@pytest.mark.parametrize(("slots", "top"), WORLDS)
@pytest.mark.parametrize("asked", [q for q in QUERIES if not q.per_slot], ids=lambda q: q.name)
def test_a_finer_answer_is_private_at_its_cost_and_at_nothing_less(
    asked: Query, slots: int, top: int, finer: int
) -> None:
    law = law_of(asked, slots, top, finer)
    assert breach(law, public, ALPHA, finer) is None
    assert breach(law, public, ALPHA, finer * ALMOST) is not None
    for rest in {0, top * finer // 2, top * finer}:
        law = law_of(asked, slots, top, finer, rest)
        assert breach(law, private(top), ALPHA, finer) is None


def test_finer_readings_one_by_one_cost_once_for_each_slot() -> None:
    law = law_of(query("reading"), 2, 2, 2)
    assert breach(law, public, ALPHA, 2 * 2) is None
    assert breach(law, public, ALPHA, 2 * 2 * ALMOST) is not None


@pytest.mark.parametrize("finer", [2, 3])
def test_finer_answers_of_one_draw_cost_what_one_does(finer: int) -> None:
    windows, top = all_windows(2, 1), 1
    asked = tuple(map(query, JOINT))
    law = {
        window: joint.clamped(ALPHA, top * finer, tuple(row))
        for window, row in zip(windows, answers(asked, windows, top, finer), strict=True)
    }
    assert breach(law, public, ALPHA, finer) is None
    assert breach(law, public, ALPHA, finer * ALMOST) is not None


@pytest.mark.parametrize("finer", FINER)
@pytest.mark.parametrize(("slots", "top"), WORLDS)
def test_a_finer_average_is_the_mean_to_within_half_a_level(
    slots: int, top: int, finer: int
) -> None:
    windows = [window for window in all_windows(slots, top) if set(window) != {None}]
    told = answers((query("avg"),), windows, top, finer)
    for window, (level,) in zip(windows, told, strict=True):
        present = [reading for reading in window if reading is not None]
        assert level == half_up(Fraction(sum(present) * finer, len(present)))


def nearest(apart: int, slots: int, top: int, finer: int) -> int:
    """How many levels apart windows are at least whose averages are so many levels apart."""
    windows = [window for window in all_windows(slots, top) if None not in window]
    told = [level for (level,) in answers((query("avg"),), windows, top, finer)]
    far = [
        public(one, other)
        for one, a in zip(windows, told, strict=True)
        for other, b in zip(windows, told, strict=True)
        if abs(a - b) == apart
    ]
    return finer * min(move for move in far if move is not None)


def test_a_finer_average_is_not_uniformly_sensitive() -> None:
    """Why optimality is not claimed: averages a level apart come of windows farther apart alone."""
    assert [nearest(apart, 4, 3, 1) for apart in (1, 2, 3)] == [1, 2, 3]
    assert [nearest(apart, 4, 2, 2) for apart in (1, 2, 3, 4)] == [2, 2, 4, 4]
    assert [nearest(apart, 3, 2, 3) for apart in (1, 2, 3, 4)] == [3, 3, 3, 6]


# A coarser grid.


def coarser(window: Window, steps: Fraction) -> int:
    """The average on a grid of so many steps, rounded half up like any other."""
    present = [reading for reading in window if reading is not None]
    return half_up(Fraction(sum(present), max(1, len(present))) / steps)


@pytest.mark.parametrize("steps", [Fraction(3, 2), Fraction(2), Fraction(3)])
def test_a_coarser_answer_breaks_the_promise(steps: Fraction) -> None:
    """A window that moves by one step can move it by a whole level, which is `steps` of them."""
    slots, top = 2, 6
    drawn = matrix(int(top / steps), ALPHA)
    windows = [window for window in all_windows(slots, top) if None not in window]
    law = {window: drawn[coarser(window, steps)] for window in windows}
    of_a_step = 1 / steps  # a level costs what so many steps do
    assert breach(law, public, ALPHA, of_a_step) is not None
    assert breach(law, public, ALPHA, ALMOST) is not None
    assert breach(law, public, ALPHA, 1) is None


@pytest.mark.parametrize("resolution", ["1.5", "2", "3"])
def test_a_coarser_answer_is_refused(resolution: str) -> None:
    with pytest.raises(InvalidSetting, match="resolution: is coarser than the step of 1 W"):
        Domain(0, 6, 1, resolution)
