"""All windows of small worlds, every pair and every output, in fractions: no rounding.

`mechanism.matrix` with a fraction for alpha is the law that `TruncatedGeometric` samples
(`tests/privacy/test_mechanism.py` ties the two); `private.breach` judges it from outside.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from meteragent import Domain, TruncatedGeometric
from meteragent.privacy.domain import ABSENT
from meteragent.privacy.mechanism import matrix
from meteragent.privacy.query import NAMED, Query, answer, query
from tests.laws.lawful import of_parts
from tests.laws.private import all_windows, breach, private, public, together
from tests.laws.test_queries import mean_half_even

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.laws.private import Window

ALPHA = Fraction(3, 5)
ALMOST = Fraction(99, 100)
WORLDS = [(1, 4), (2, 3), (3, 2), (4, 1)]
QUERIES = [*NAMED.values(), *map(query, ("p29", "p95"))]
MECHANISM = TruncatedGeometric(Domain(0, 4, 1), "0.5")

Law = dict["Window", list[Fraction]]


def answers(
    queries: tuple[Query, ...], windows: Sequence[Window], rest: int = 0
) -> list[list[int]]:
    held = [[ABSENT if level is None else level for level in window] for window in windows]
    asked: list[list[int]] = answer(queries, np.array(held, dtype=np.int8), rest).tolist()
    return asked


def law_of(queries: tuple[Query, ...], slots: int, top: int, rest: int = 0) -> Law:
    """The joint law of all outputs, for every window there is."""
    windows, chances = all_windows(slots, top), matrix(top, ALPHA)
    levels = answers(queries, windows, rest)
    return {
        window: together([chances[level] for level in row])
        for window, row in zip(windows, levels, strict=True)
    }


def draws(queries: tuple[Query, ...], slots: int) -> int:
    """What the product bills for these queries, in units of one draw."""
    bill = sum(MECHANISM.cost(q.outputs(slots)) for q in queries)
    return bill // MECHANISM.nano


@pytest.mark.parametrize(("slots", "top"), WORLDS)
@pytest.mark.parametrize("asked", QUERIES, ids=lambda q: q.name)
def test_a_release_is_private_at_its_cost_and_at_nothing_less(
    asked: Query, slots: int, top: int
) -> None:
    law, cost = law_of((asked,), slots, top), draws((asked,), slots)
    assert breach(law, public, ALPHA, cost) is None
    assert breach(law, public, ALPHA, cost * ALMOST) is not None


@pytest.mark.parametrize(("slots", "top", "part"), [(2, 3, 1), (2, 3, 2), (4, 1, 2), (4, 2, 2)])
@pytest.mark.parametrize("name", ["min", "median", "max", "p29"])
def test_an_answer_about_parts_is_private_at_the_cost_of_one_and_at_nothing_less(
    name: str, slots: int, top: int, part: int
) -> None:
    law = law_of((of_parts(name, part),), slots, top)
    assert breach(law, public, ALPHA, 1) is None
    assert breach(law, public, ALPHA, ALMOST) is not None


@pytest.mark.parametrize(("slots", "top"), WORLDS)
@pytest.mark.parametrize("asked", QUERIES, ids=lambda q: q.name)
def test_where_presence_is_private_no_two_windows_are_farther_than_the_range(
    asked: Query, slots: int, top: int
) -> None:
    """Whatever the level at which what is absent rests."""
    cost = draws((asked,), slots)
    for rest in {0, top // 2, top}:
        law = law_of((asked,), slots, top, rest)
        assert breach(law, private(top), ALPHA, cost) is None
        assert breach(law, private(top), ALPHA, cost * ALMOST) is not None


@pytest.mark.parametrize(
    "names", list(itertools.combinations(("avg", "min", "p29", "median", "max"), 2))
)
def test_the_losses_of_two_queries_on_a_window_add_up_exactly(names: tuple[str, str]) -> None:
    both = (query(names[0]), query(names[1]))
    law = law_of(both, 2, 2)
    assert draws(both, 2) == 2
    assert breach(law, public, ALPHA, 2) is None
    assert breach(law, public, ALPHA, 2 * ALMOST) is not None


@pytest.mark.parametrize("name", ["avg", "max"])
def test_the_losses_of_two_windows_of_a_trace_add_up_exactly(name: str) -> None:
    one = law_of((query(name),), 2, 2)
    trace = {
        first + second: together([one[first], one[second]])
        for first, second in itertools.product(one, repeat=2)
        if None not in first + second
    }
    assert breach(trace, public, ALPHA, 2) is None
    assert breach(trace, public, ALPHA, 2 * ALMOST) is not None


def test_a_half_even_average_breaks_the_promise_by_a_factor_of_two() -> None:
    law = law_of((Query("half-even", mean_half_even),), 2, 3)
    assert breach(law, public, ALPHA, 1) is not None
    assert breach(law, public, ALPHA, 2 * ALMOST) is not None
    assert breach(law, public, ALPHA, 2) is None


def test_telling_whether_a_window_is_empty_breaks_private_presence() -> None:
    law = law_of((query("avg"),), 2, 2)
    yes, no = Fraction(1), Fraction(0)
    telling = {
        window: [no, no, no, yes] if set(window) == {None} else [*row, no]
        for window, row in law.items()
    }
    assert breach(telling, public, ALPHA, 1) is None
    assert breach(telling, private(2), ALPHA, 1) is not None


@pytest.mark.parametrize("asked", QUERIES, ids=lambda q: q.name)
@pytest.mark.parametrize(("slots", "top"), WORLDS)
def test_no_answer_moves_farther_than_the_window_or_leaves_the_grid(
    asked: Query, slots: int, top: int
) -> None:
    windows = all_windows(slots, top)
    told = answers((asked,), windows)
    assert 0 <= min(map(min, told)) <= max(map(max, told)) <= top
    farthest = dict.fromkeys(range(top + 1), 0)
    for (x, fx), (y, fy) in itertools.combinations(zip(windows, told, strict=True), 2):
        distance = public(x, y)
        if distance is not None:
            moved = max(abs(a - b) for a, b in zip(fx, fy, strict=True))
            farthest[distance] = max(farthest[distance], moved)
    assert farthest == {distance: distance for distance in range(top + 1)}
