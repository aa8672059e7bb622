from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent import Domain, Entropy
from meteragent.privacy.domain import ABSENT
from meteragent.privacy.order import Order, is_ordered, never_above
from meteragent.privacy.query import answer, query
from meteragent.privacy.question import question
from meteragent.privacy.release import Releaser
from tests.given import KEY, policy
from tests.twins.isotonic import half_up, nearest

if TYPE_CHECKING:
    from meteragent.privacy.policy import Policy


CHAIN = ("min", "p25", "median", "max")
BETWEEN = ("max", "avg", "p10", "p95", "min")
TWICE = ("p50", "max", "median")
ASKED = (CHAIN, BETWEEN, TWICE, ("avg", "max"), ("min", "avg"), ("avg", "min", "max"))
LOSSES = [(1, 1, 1, 1, 1), (4, 2, 1, 4, 3), (10**9, 1, 10**7, 5, 10**9)]


def order(names: tuple[str, ...], losses: tuple[int, ...] = LOSSES[0]) -> Order:
    return Order([query(name) for name in names], losses[: len(names)])


RANKS = {"min": (0, 0), "avg": (0, 100), "max": (100, 100), "median": (50, 50)}


def pairs(names: tuple[str, ...]) -> list[tuple[int, int]]:
    """Which place is never above which: that of a percentile is its rank, twice."""
    ranks = [RANKS.get(name) or (int(name[1:]), int(name[1:])) for name in names]
    return [(i, j) for i, j in permutations(range(len(names)), 2) if ranks[i][1] <= ranks[j][0]]


def weights(losses: tuple[int, ...]) -> list[int]:
    """Of 64 parts of the largest loss, at least one; squared."""
    return [max(1, loss * 64 // max(losses)) ** 2 for loss in losses]


@pytest.mark.parametrize("losses", LOSSES)
@pytest.mark.parametrize("names", ASKED)
@given(data=st.data())
def test_what_agrees_is_the_nearest_that_does(
    names: tuple[str, ...], losses: tuple[int, ...], data: st.DataObject
) -> None:
    some, few = losses[: len(names)], st.integers(0, data.draw(st.sampled_from((3, 20, 100_000))))
    row = st.lists(few, min_size=len(names), max_size=len(names))
    drawn = data.draw(st.lists(row, min_size=1, max_size=5))
    agreed = order(names, some).agreed(np.array(drawn))
    for numbers, said in zip(drawn, agreed.tolist(), strict=True):
        exact = nearest(numbers, weights(some), pairs(names))
        assert said == [half_up(number) for number in exact]


@given(st.data())
def test_before_rounding_nothing_is_farther_from_any_truth(data: st.DataObject) -> None:
    names = data.draw(st.sampled_from(ASKED))
    losses = data.draw(st.sampled_from(LOSSES))[: len(names)]
    window = np.array([data.draw(st.lists(st.integers(0, 40), min_size=3, max_size=9))])
    [truth] = answer(tuple(map(query, names)), window).tolist()
    drawn = data.draw(st.lists(st.integers(0, 40), min_size=len(names), max_size=len(names)))
    weight = weights(losses)
    exact = nearest(drawn, weight, pairs(names))

    def off(numbers: list[int] | list[Fraction]) -> Fraction:
        return sum(
            (w * Fraction(n - t) ** 2 for w, n, t in zip(weight, numbers, truth, strict=True)),
            Fraction(0),
        )

    assert off(exact) <= off(drawn)
    [said] = order(names, losses).agreed(np.array([drawn])).tolist()
    assert all(abs(a - b) <= Fraction(1, 2) for a, b in zip(said, exact, strict=True))


def test_rounding_can_add_half_a_step_and_no_more() -> None:
    """Two answers of 0, drawn as 1 and 0, are 1/2 each: 1 once they are rounded."""
    assert order(("min", "max")).agreed(np.array([[1, 0]])).tolist() == [[1, 1]]


@given(st.lists(st.lists(st.integers(0, 9), min_size=5, max_size=5), min_size=1))
def test_what_agrees_stays_and_keeps_its_bounds(drawn: list[list[int]]) -> None:
    once = order(BETWEEN).agreed(np.array(drawn))
    np.testing.assert_array_equal(order(BETWEEN).agreed(once), once)
    assert (once.min(axis=1) >= np.min(drawn, axis=1)).all()
    assert (once.max(axis=1) <= np.max(drawn, axis=1)).all()
    most, mean, low, high, least = once.T
    assert ((least <= low) & (low <= high) & (high <= most)).all()
    assert ((least <= mean) & (mean <= most)).all()


SLOTS, TOP = 4, 3
QUERIES = tuple(map(query, ("avg", "min", "p0", "p30", "median", "p50", "p70", "max", "reading")))


def test_queries_are_ordered_where_no_window_says_otherwise() -> None:
    """All windows of up to four slots, some of them absent; a reading may be absent alone."""
    windows = np.array(list(product((ABSENT, *range(TOP + 1)), repeat=SLOTS)), dtype=np.int8)
    for one, other in permutations(QUERIES, 2):
        never = (answer((one,), windows) <= answer((other,), windows)).all()
        if not (one.per_slot or other.per_slot):
            assert never_above(one, other) == never, (one.name, other.name)
    assert not is_ordered([query("avg"), query("p95"), query("reading")])
    assert is_ordered([query("reading"), query("max"), query("min")])


def test_queries_without_an_order_are_left_alone() -> None:
    assert order(("avg", "p95")).columns.tolist() == []
    assert order(("avg", "p95", "p5")).columns.tolist() == [1, 2]


# What is released.


ASKING = policy(
    domain=Domain(0, 1000, 10),
    questions=tuple(question(name, 1, 100) for name in ("reading", "max", "avg", "min")),
)
TAGS, STARTS = np.zeros((300, 16), np.uint8), np.arange(300) * 60_000
LEVELS = np.tile(np.arange(6, dtype=ASKING.domain.dtype), (300, 1))
HEARD = np.count_nonzero(LEVELS != ABSENT, axis=1)


def draws(of: Policy) -> tuple[np.ndarray, np.ndarray]:
    """drawn[window, output] as the mechanism draws them, and as `unbiased` says them."""
    queries = tuple(asked.query for asked in of.questions)
    truth = answer(queries, LEVELS)
    words = Entropy(KEY, of.digest).words(TAGS, STARTS, HEARD, truth, truth.shape[1])
    return of.mechanism(of.questions[0]).release(truth, words)


@pytest.mark.parametrize("granted", [1, 2, 3, 4])
def test_what_is_released_agrees_as_far_as_it_is_granted(granted: int) -> None:
    """The answers that are not granted have no part in it; `unbiased` says what was drawn."""
    drawn, unbiased = draws(ASKING)
    values, told = Releaser(ASKING, KEY).release(TAGS, STARTS, HEARD, LEVELS, np.full(300, granted))
    np.testing.assert_array_equal(told, unbiased)
    names = ("max", "avg", "min")[: granted - 1]
    expected = drawn.copy()
    if len(names) > 1:
        some = slice(6, 6 + len(names))
        expected[:, some] = order(names).agreed(drawn[:, some])
        assert (expected != drawn).any()
    np.testing.assert_array_equal(values, ASKING.domain.watts(expected))


def test_windows_of_several_grants_are_each_put_in_the_order_of_its_own() -> None:
    granted = np.arange(300) % 4 + 1
    releaser = Releaser(ASKING, KEY)
    values, _ = releaser.release(TAGS, STARTS, HEARD, LEVELS, granted)
    for count in range(1, 5):
        alone, _ = releaser.release(TAGS, STARTS, HEARD, LEVELS, np.full(300, count))
        np.testing.assert_array_equal(values[granted == count], alone[granted == count])


def test_a_policy_says_that_its_answers_are_ordered() -> None:
    """In its document and so in its id, but not in what noise is made of: no new draw."""
    assert ASKING.document()["order"] == "least squares"
    apart = policy(questions=(question("avg", 1, 100), question("p95", 1, 100)))
    assert "order" not in apart.document()
