"""The first paper: hiding functions, the informed adversary, values of people, dates.

Everything in fractions. The bounds are suprema over all priors; here Bayes' rule itself is run on
priors that are drawn, and on those that lean as far as they can.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from meteragent.privacy.domain import ABSENT
from meteragent.privacy.query import Query, answer, query
from simulations.papers import adversaries, dates, manhattan, sensitivity
from simulations.papers.adversaries import (
    RATIO,
    World,
    by_hiding,
    by_release,
    carried,
    databases,
    diameter,
    hidden,
    neighbourhoods,
    one_person,
    posterior,
    windows,
    worst_hiding,
)
from simulations.papers.exact import drawn
from simulations.papers.manhattan import Found
from tests.laws.test_queries import mean_half_even

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulations.papers.exact import Vector

QUERIES = ["avg", "median", "max", "p29"]
ODDS = 1 / RATIO
HALF_EVEN = Query("half-even", mean_half_even)


def apart(one: Vector, other: Vector) -> Fraction:
    """The largest quotient of two beliefs in one secret, either way."""
    return max(max(p / q, q / p) for p, q in zip(one, other, strict=True))


def leaning(size: int, towards: int) -> Vector:
    """Nearly certain of one secret."""
    rest = Fraction(1, 10**6)
    return [1 - (size - 1) * rest if secret == towards else rest for secret in range(size)]


def known(belief: Vector, neighbourhood: Sequence[int]) -> Vector:
    total = sum(belief[secret] for secret in neighbourhood)
    return [belief[secret] / total for secret in neighbourhood]


@pytest.mark.parametrize("asked", QUERIES)
def test_hiding_a_secret_changes_no_belief_by_more_than_twice_how_far_it_is_carried(
    asked: str,
) -> None:
    """Theorem 3, by Bayes' rule, over every hiding function of a world of four windows."""
    world, draw = windows(asked, 2, 1), random.Random(3)
    priors = [drawn(world.size, draw) for _ in range(5)]
    priors += [leaning(world.size, secret) for secret in range(world.size)]
    for hide in product(range(world.size), repeat=world.size):
        bound = ODDS ** (2 * carried(world, hide))
        without = hidden(world, hide)
        for prior, released in product(priors, range(2)):
            seen, unseen = posterior(world, prior, released), posterior(without, prior, released)
            assert apart(seen, unseen) <= by_hiding(world, hide) <= bound


@pytest.mark.parametrize("asked", QUERIES)
def test_twice_the_distance_is_reached_by_some_hiding_function(asked: str) -> None:
    assert worst_hiding(windows(asked, 2, 2)) == 1


def test_a_prior_that_leans_comes_as_near_to_the_bound_as_one_likes() -> None:
    world = windows("avg", 1, 2)
    hide = [2, 1, 0]
    prior = leaning(3, 0)
    seen = posterior(world, prior, 2)
    unseen = posterior(hidden(world, hide), prior, 2)
    assert 0.9999 * float(ODDS**4) < apart(seen, unseen) < ODDS**4


@pytest.mark.parametrize("asked", QUERIES)
def test_who_knows_a_neighbourhood_learns_no_more_than_its_diameter(asked: str) -> None:
    """Theorem 4, by Bayes' rule, over every neighbourhood of nine windows."""
    world, draw = windows(asked, 2, 2), random.Random(4)
    prior = drawn(world.size, draw)
    after = [posterior(world, prior, released) for released in range(3)]
    for neighbourhood in neighbourhoods(world):
        before, bound = known(prior, neighbourhood), ODDS ** diameter(world, neighbourhood)
        assert by_release(world, neighbourhood) <= bound
        for belief in after:
            assert apart(known(belief, neighbourhood), before) <= by_release(world, neighbourhood)


def test_a_mechanism_that_breaks_the_promise_breaks_both_theorems() -> None:
    """Half to even moves by two levels where the readings move by one."""
    world = windows(HALF_EVEN, 2, 2)
    assert worst_hiding(world) == ODDS**2
    assert (
        max(by_release(world, n) / ODDS ** diameter(world, n) for n in neighbourhoods(world)) == 2
    )
    for asked in QUERIES:
        assert worst_hiding(windows(asked, 2, 2), Fraction(3, 5)) > 1


def test_standard_privacy_is_the_case_of_one_person() -> None:
    """Theorems 1 and 2: hiding what one person says, and knowing what all others say."""
    world = databases(3)
    for hide in one_person(3):
        assert carried(world, hide) == 1
        assert by_hiding(world, hide) == ODDS**2
    pairs = [pair for pair in combinations(range(8), 2) if diameter(world, pair) == 1]
    assert {by_release(world, pair) for pair in pairs} == {ODDS}


def test_worst_hiding_is_the_worst_of_all_hiding_functions() -> None:
    world = windows("max", 2, 1)
    every = product(range(world.size), repeat=world.size)
    moving = [hide for hide in every if carried(world, hide)]
    assert worst_hiding(world) == max(
        by_hiding(world, hide) * RATIO ** (2 * carried(world, hide)) for hide in moving
    )


def test_figure_one_is_private_on_secrets_alone() -> None:
    gap = sensitivity.figure_one()
    assert gap.on_secrets
    assert not gap.on_answers


def test_uniform_sensitivity_needs_a_chain_for_every_pair_of_answers() -> None:
    def line(x: int, y: int) -> int:
        return abs(x - y)

    assert sensitivity.uniformly([0, 1, 2, 3], line)
    assert sensitivity.uniformly([0, 0, 2, 2], line)
    assert not sensitivity.uniformly([0, 0, 1, 3], line)
    assert not sensitivity.same_promise([0, 0, 1, 1], lambda x, y: 2 * abs(x - y), RATIO)


def test_uniformly_sensitive_queries_keep_on_answers_what_they_keep_on_secrets() -> None:
    world = windows("avg", 2, 2)

    def far(x: int, y: int) -> int:
        return world.distance[x][y]

    assert sensitivity.uniformly(world.answers, far)
    assert sensitivity.same_promise(world.answers, far, RATIO)
    even: World = windows(HALF_EVEN, 2, 2)
    assert sensitivity.sensitivity(even.answers, far) == 2


@pytest.mark.parametrize("asked", manhattan.QUERIES)
def test_queries_over_people_are_uniformly_sensitive_under_both_manhattan_metrics(
    asked: str,
) -> None:
    """Propositions 2 to 5, and Theorem 12; standard privacy has the sensitivity, not the chain."""
    query, top = manhattan.QUERIES[asked], Fraction(manhattan.TOP)
    assert manhattan.found(query, "manhattan") == Found(Fraction(1), uniform=True)
    assert manhattan.found(query, "normalised") == Found(top, uniform=True)
    assert manhattan.found(query, "hamming") == Found(top, uniform=False)


def test_an_average_is_uniform_on_the_grid_alone() -> None:
    assert manhattan.found(manhattan.average, "manhattan") == Found(Fraction(1), uniform=False)
    fixed = manhattan.found(manhattan.average, "manhattan", absent=False)
    assert fixed.sensitivity == Fraction(1, manhattan.PEOPLE)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("average", "avg"),
        ("minimum", "min"),
        ("25th percentile", "p25"),
        ("median", "median"),
        ("maximum", "max"),
    ],
)
def test_queries_over_people_are_the_products_over_readings(ours: str, theirs: str) -> None:
    rows = [row for row in manhattan.databases(people=4, top=3) if any(v is not None for v in row)]
    levels = np.array([[ABSENT if v is None else v for v in row] for row in rows], dtype=np.int8)
    answers = answer((query(theirs),), levels)[:, 0]
    assert [manhattan.QUERIES[ours](row) for row in rows] == answers.tolist()


def test_metrics_are_in_order() -> None:
    """Proposition 1."""
    assert manhattan.metrics_in_order()


@pytest.mark.parametrize("asked", manhattan.GROUP_QUERIES)
def test_a_group_is_a_database_of_homes(asked: str) -> None:
    """Theorem 12 with windows for values: every pair of states of two homes."""
    assert manhattan.group(asked) == Found(Fraction(1), uniform=True)


def test_a_group_of_three_homes_too() -> None:
    assert manhattan.group("avg", homes=3, slots=2, top=1) == Found(Fraction(1), uniform=True)


@pytest.mark.parametrize("levels", [2, 5])
def test_geometric_noise_is_optimal_for_answers_of_a_group(levels: int) -> None:
    """Theorems 8, 10, 11: no linear programme finds anything better."""
    assert manhattan.optimality_gap(levels, 0.7, 5, np.random.default_rng(1)) < 1e-6


def test_the_earliest_date_moves_as_far_as_one_date_does() -> None:
    """Example 1: any date for any other moves it by the whole range, days by days."""
    assert [*dates.sensitivities(members=2, days=5)] == [5, 1]
    any_date, days = dates.settings(0.5)
    assert (any_date.scale, days.scale) == (10_000, 10)


def test_usefulness_is_that_of_laplace_noise() -> None:
    any_date, days = dates.settings(1.0)
    assert days.within(0.95) == pytest.approx(5 * math.log(20))
    assert any_date.within(0.95) == pytest.approx(14_979, abs=0.5)
    assert any_date.useful(np.array([any_date.within(0.3)]))[0] == pytest.approx(0.3)
    drawn_days = dates.measured(days, np.random.default_rng(1))
    assert drawn_days == pytest.approx(days.within(0.95), rel=0.05)  # 6 standard errors


def test_what_a_world_is_does_not_depend_on_how_it_is_listed() -> None:
    """The answers are the product's; only the metric is ours."""
    world = adversaries.windows("avg", 2, 2)
    assert world.answers[1:4] == [1, 1, 1]
    assert world.distance[0][-1] == 2
