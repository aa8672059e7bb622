"""All readings of all homes of small groups, every pair and every output, in fractions.

A world is what every home reads, in panes of some slots. What is judged is the product's way from
there to a group's answer: averages, fills, sums, clipping, queries.
"""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import pytest
from scipy.optimize import linprog

from meteragent import Domain
from meteragent.explain.reader import absolute
from meteragent.privacy.domain import ABSENT
from meteragent.privacy.group import GroupPolicy, PerHome, added_up, without_gaps
from meteragent.privacy.mechanism import matrix
from meteragent.privacy.query import NAMED, answer, averages, query
from meteragent.privacy.question import question
from tests.given import HOUR, MINUTE
from tests.laws.private import breach, private, together

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.laws.private import Window

ALPHA = Fraction(3, 5)
ALMOST = Fraction(99, 100)
World = tuple["Window", ...]
"""The readings of each home."""


class Size(NamedTuple):
    homes: int
    panes: int
    slots: int
    """Of a pane."""
    top: int
    """Of a home's levels."""

    def worlds(self) -> list[World]:
        home = itertools.product((None, *range(self.top + 1)), repeat=self.panes * self.slots)
        return list(itertools.product(list(home), repeat=self.homes))


SIZES = [Size(2, 1, 2, 1), Size(2, 1, 1, 3), Size(3, 1, 1, 1), Size(2, 2, 1, 1), Size(1, 3, 1, 2)]
QUERIES = [NAMED["avg"], NAMED["max"], NAMED["min"], NAMED["median"], query("p29")]


def policy(size: Size, top: int, low: int = 0, own_low: int = 0) -> GroupPolicy:
    """Levels of one watt: of homes from `low` on, of sums from `own_low` on."""
    return GroupPolicy(
        domain=Domain(own_low, own_low + top, 1),
        questions=(question("avg", "0.5", 1),),
        size=size.panes * 15 * MINUTE,
        interval=15 * MINUTE,
        hop=size.panes * 15 * MINUTE,
        grace=0,
        idle=0,
        budget=10**12,
        horizon=24 * HOUR,
        presence="private",
        homes=PerHome(Decimal(low), Decimal(low + size.top), MINUTE),
    )


def sums(world: World, its: GroupPolicy, slots: int, members: Sequence[int]) -> list[int]:
    """The group's level in each pane, by the functions of the product."""
    held = [[ABSENT if level is None else level for level in home] for home in world]
    panes = averages(np.array(held, dtype=np.int16), slots)
    last, found = np.full(len(world), ABSENT, dtype=np.int16), []
    homes, one = np.array(members), np.zeros(len(members), dtype=np.int64)
    for pane in panes.T:
        total = added_up(without_gaps(pane, last, its.rest), homes, one, 1)
        found += its.levels(total, np.array([len(members)])).tolist()
        last = np.where(pane == ABSENT, last, pane)
    return found


def apart(top: int, weights: Sequence[int] | None = None) -> Callable[[World, World], int]:
    """The sum over homes of how far each is from its other version."""
    of_home = private(top)

    def distance(one: World, other: World) -> int:
        each = (of_home(a, b) for a, b in zip(one, other, strict=True))
        return sum(w * far for w, far in zip(weights or [1] * len(one), each, strict=True))

    return distance


def law_of(
    size: Size, top: int, answers: Callable[[World], Sequence[int]]
) -> dict[World, list[Fraction]]:
    chances = matrix(top, ALPHA)
    return {world: together([chances[y] for y in answers(world)]) for world in size.worlds()}


def keeps(law: dict[World, list[Fraction]], distance: Any, draws: Fraction | int = 1) -> bool:  # noqa: ANN401 - of worlds, in place of windows
    return breach(cast("Any", law), distance, ALPHA, draws) is None


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("asked", QUERIES, ids=lambda q: q.name)
def test_one_draw_for_a_group_is_private_for_each_home_and_at_nothing_less(
    asked: Any,  # noqa: ANN401 - a query
    size: Size,
) -> None:
    top = size.homes * size.top
    its = policy(size, top)

    def answers(world: World) -> list[int]:
        levels = np.array([sums(world, its, size.slots, range(size.homes))], dtype=np.int16)
        row: list[int] = answer((asked,), levels)[0].tolist()
        return row

    law = law_of(size, top, answers)
    assert keeps(law, apart(size.top))
    assert not keeps(law, apart(size.top), ALMOST)


@pytest.mark.parametrize(("top", "low", "own_low"), [(1, 0, 0), (2, -1, -1), (1, -1, 0)])
def test_clipped_sums_and_homes_that_export_are_as_private(
    top: int, low: int, own_low: int
) -> None:
    size = Size(2, 2, 1, 2)
    its = policy(size, top, low, own_low)
    law = law_of(size, top, lambda world: sums(world, its, 1, (0, 1))[-1:])
    assert keeps(law, apart(size.top))
    assert not keeps(law, apart(size.top), ALMOST)


def test_a_home_that_is_in_two_groups_loses_what_both_cost_and_no_other_home_does() -> None:
    size = Size(3, 1, 1, 1)
    its = policy(size, 2)
    law = law_of(
        size, 2, lambda world: [*sums(world, its, 1, (0, 1)), *sums(world, its, 1, (1, 2))]
    )
    assert keeps(law, apart(1, [1, 2, 1]))
    assert not keeps(law, apart(1, [1, 1, 1]))
    assert not keeps(law, apart(1, [1, 2, 1]), ALMOST)


def test_scaling_up_for_homes_that_are_missing_breaks_the_promise() -> None:
    size = Size(3, 1, 1, 2)

    def scaled(world: World) -> list[int]:
        there = [home[0] for home in world if home[0] is not None]
        return [(2 * sum(there) * 3 + len(there)) // (2 * len(there)) if there else 0]

    assert not keeps(law_of(size, 6, scaled), apart(size.top))


def test_filling_from_before_the_window_would_be_a_reading_of_two_windows() -> None:
    """Two windows of a pane: the second has no reading of its own, and copies the first."""
    size = Size(1, 2, 1, 2)
    its = policy(size, 2)
    law = law_of(size, 2, lambda world: sums(world, its, 1, (0,)))

    def in_the_first(one: World, other: World) -> int | None:
        same = one[0][1] == other[0][1] and None not in (one[0][0], other[0][0])
        return apart(size.top)(one, other) if same else None

    assert not keeps(law, in_the_first)
    assert keeps(law, in_the_first, 2)


def test_the_distance_of_the_largest_home_would_cost_as_many_draws_as_there_are_homes() -> None:
    size = Size(2, 1, 1, 2)
    its = policy(size, 4)
    law = law_of(size, 4, lambda world: sums(world, its, 1, (0, 1)))
    of_home = private(size.top)

    def largest(one: World, other: World) -> int:
        return max(of_home(a, b) or 0 for a, b in zip(one, other, strict=True))

    assert not keeps(law, largest)
    assert keeps(law, largest, 2)


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
@pytest.mark.parametrize("top", [2, 5])
def test_no_private_mechanism_that_sees_the_sum_serves_a_reader_better(
    top: int, epsilon: float
) -> None:
    """A linear programme, for 20 readers: a group of two homes with levels up to `top`."""
    levels = 2 * top
    ours = np.array(matrix(levels, math.exp(-epsilon)), dtype=np.float64)
    guess, truth = np.indices((levels + 1, levels + 1))
    loss = absolute(guess, truth).T  # loss[truth, guess]
    for seed in range(20):
        prior = np.random.default_rng(seed).dirichlet(np.ones(levels + 1))
        best = programme(prior, loss, epsilon)
        got = (loss.T @ (prior[:, None] * ours)).min(axis=0).sum()
        assert abs(got - best) < 1e-12


def programme(prior: Any, loss: Any, epsilon: float) -> float:  # noqa: ANN401 - arrays
    """The least expected loss of all mechanisms that are private between sums one level apart.

    Sums of any two levels are reached by homes as far apart (`uniformly sensitive`).
    """
    n, factor = len(prior), math.exp(epsilon)
    rows = []
    for y, z in itertools.product(range(n - 1), range(n)):
        for one, other in ((y, y + 1), (y + 1, y)):
            row = np.zeros((n, n))
            row[one, z], row[other, z] = 1, -factor
            rows.append(row.ravel())
    each = np.kron(np.eye(n), np.ones(n))
    solved = linprog(
        (prior[:, None] * loss).ravel(),
        A_ub=np.array(rows),
        b_ub=np.zeros(len(rows)),
        A_eq=each,
        b_eq=np.ones(n),
        method="highs",
    )
    return float(solved.fun)


@pytest.mark.parametrize("size", [Size(2, 1, 2, 1), Size(3, 1, 1, 1)], ids=str)
def test_sums_are_uniformly_sensitive(size: Size) -> None:
    """Any two levels of the sum are those of worlds that are just as far apart."""
    top = size.homes * size.top
    its, distance = policy(size, top), apart(size.top)
    level = {w: sums(w, its, size.slots, range(size.homes))[0] for w in size.worlds()}
    for one, other in itertools.product(range(top + 1), repeat=2):
        nearest = min(
            distance(a, b)
            for (a, y), (b, z) in itertools.product(level.items(), repeat=2)
            if (y, z) == (one, other)
        )
        assert nearest == abs(one - other)
