"""The second and third paper: sanitisation, bounds with delta, regular priors, tight noise."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from simulations.papers import bounds, regions, sanitisation, tight
from simulations.papers.capacities import discrete, solve
from simulations.papers.exact import delta, determinant, drawn, geometric, inverse, times

HALF, TWO = Fraction(1, 2), Fraction(2)


@pytest.mark.parametrize("others", [1, 2, 3, 6])
@pytest.mark.parametrize("failing", [Fraction(), Fraction(1, 10), Fraction(1, 3)])
def test_categories_are_as_private_as_promised_and_no_more(others: int, failing: Fraction) -> None:
    law = sanitisation.categories(others, TWO, failing)
    assert all(sum(row) == 1 for row in law)
    assert sanitisation.least_delta(law, TWO) == failing
    assert sanitisation.least_delta(law, TWO * Fraction(99, 100)) > failing
    assert 1 - law[0][0] == (1 - failing) * others / (others + TWO)


@pytest.mark.parametrize("seed", range(3))
def test_a_sanitisation_protects_every_query_and_a_product_its_rows(seed: int) -> None:
    draw = random.Random(seed)
    law = [drawn(3, draw) for _ in range(3)]
    least = sanitisation.least_delta(law, TWO)
    assert sanitisation.worst_query(law, TWO, answers=3) == least
    assert sanitisation.worst_query(law, TWO, answers=2) == least  # an event is a query
    assert {sanitisation.delta_of_neighbours(law, rows, TWO) for rows in (1, 2)} == {least}


def test_a_product_does_not_protect_rows_that_differ_together() -> None:
    law = sanitisation.categories(1, TWO)
    assert sanitisation.delta_of_neighbours(law, 2, TWO, apart=2) > 0
    assert sanitisation.delta_of_neighbours(law, 2, TWO**2, apart=2) == 0


def test_events_ask_for_more_than_single_outputs() -> None:
    draw = random.Random(5)
    for _ in range(20):
        one, other = drawn(4, draw), drawn(4, draw)
        assert sanitisation.by_events(one, other, TWO) == delta(one, other, TWO)
        assert sanitisation.by_outputs(one, other, TWO) <= delta(one, other, TWO)
        private = sanitisation.by_outputs(one, other, TWO) == 0
        assert private == (delta(one, other, TWO) == 0)  # without delta, outputs suffice


@pytest.mark.parametrize(("epsilon", "failing"), [(1.0, 0.1), (0.1, 0.5), (3.0, 0.01)])
def test_laplace_noise_of_example_5_keeps_its_promise_with_room_to_spare(
    epsilon: float, failing: float
) -> None:
    """Against the integral of what one law exceeds the other by, in a million steps."""
    scale = sanitisation.laplace_scale(2.0, epsilon, failing)
    z = np.linspace(-60, 60, 1_000_001)
    one, other = (np.exp(-np.abs(z - at) / scale) / (2 * scale) for at in (0.0, 2.0))
    over = np.trapezoid(np.maximum(one - math.exp(epsilon) * other, 0), z)
    assert sanitisation.laplace_delta(2.0, epsilon, scale) == pytest.approx(over, abs=1e-4)
    assert over < failing
    least = sanitisation.least_laplace_scale(2.0, epsilon, failing)
    assert sanitisation.laplace_delta(2.0, epsilon, least) == pytest.approx(failing)
    assert sanitisation.laplace_delta(2.0, epsilon, 0.99 * least) > failing


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 3.0])
@pytest.mark.parametrize("failing", [0.0, 0.2])
def test_bounds_hold_and_the_chances_are_reached(epsilon: float, failing: float) -> None:
    error, missed = bounds.by_diameter(epsilon, 6, failing)
    assert error.possible == pytest.approx(2 * error.printed)
    assert missed.possible == pytest.approx(missed.printed)
    for others in (1, 3):
        wrong = bounds.by_number(epsilon, others, failing)
        assert wrong.possible == pytest.approx(wrong.printed)
        assert wrong.holds


def test_a_bound_above_what_is_possible_is_noticed() -> None:
    assert not bounds.Bound("", 1.0, printed=0.5, possible=0.49).holds


@pytest.mark.parametrize("size", [2, 3, 7])
@pytest.mark.parametrize("ratio", [HALF, Fraction(1, 10), Fraction(9, 10)])
def test_on_a_line_the_tight_mechanism_is_the_products_own(size: int, ratio: Fraction) -> None:
    assert tight.tight(tight.constraints(tight.line(size), ratio)) == geometric(size, ratio)


def test_a_tight_mechanism_meets_every_constraint_with_equality() -> None:
    distances = tight.two_counts(1)
    made = tight.tight(tight.constraints(distances, HALF))
    assert all(sum(row) == 1 for row in made)
    for x, z in permutations(range(4), 2):
        assert made[z][z] * HALF ** distances[x][z] == made[x][z]


@pytest.mark.parametrize("seed", range(4))
def test_no_mechanism_beats_the_bound_for_a_regular_prior(seed: int) -> None:
    phi = tight.constraints([[int(x != y) for y in range(4)] for x in range(4)], HALF)
    prior = tight.mixed(drawn(4, random.Random(seed)), phi)
    assert tight.regular(prior, phi)
    bound = tight.utility_bound(prior, phi)
    best = -solve(discrete(4), math.log(2), -np.diag(np.array(prior, dtype=np.float64)))
    assert best == pytest.approx(float(bound))
    assert tight.named_rightly(prior, tight.tight(phi)) == bound


def test_a_corner_is_regular_and_what_lies_beyond_it_is_not() -> None:
    phi = tight.constraints(tight.line(3), HALF)
    corner = tight.corners(phi)[0]
    assert tight.weights(corner, phi)[1:] == [0, 0]
    assert tight.regular(corner, phi)
    beyond = [corner[0] + Fraction(1, 100), corner[1] - Fraction(1, 100), corner[2]]
    assert not tight.regular(beyond, phi)


def test_answers_are_as_far_apart_as_the_people_between_them() -> None:
    answers, distances = tight.induced(4, 3, sum)
    assert answers == list(range(9))
    assert distances == tight.line(9, 2)
    _, either = tight.induced(2, 2, max)
    assert either == [[0, 1], [1, 0]]


def test_a_cube_with_opposite_corners_joined_has_no_inverse_at_one_third() -> None:
    phi = tight.constraints(tight.augmented_cube(), Fraction(1, 3))
    assert determinant(phi) == 0
    assert determinant(tight.constraints(tight.cube(3), Fraction(1, 3))) != 0


def test_two_counts_of_two_people_have_a_tight_mechanism_from_where_we_say() -> None:
    """At exp(-epsilon) = sqrt(5) - 2 = 0.23606.., by hand: a fraction on either side."""
    for ratio, exists in ((Fraction(23606, 100_000), True), (Fraction(23607, 100_000), False)):
        assert (min(tight.diagonal(tight.constraints(tight.two_counts(2), ratio))) >= 0) is exists
    found = regions.exists_from(tight.two_counts(2), 1.0, 2.0)
    assert found == pytest.approx(-math.log(math.sqrt(5) - 2), abs=1e-3)


def test_the_prior_of_example_3_is_regular_from_where_we_say() -> None:
    distances = [[int(x != y) for y in range(4)] for x in range(4)]
    for ratio, regular in ((HALF, True), (Fraction(501, 1000), False)):
        phi = tight.constraints(distances, ratio)
        assert tight.regular(list(regions.PRIOR), phi) is regular
    assert regions.regular_from(regions.PRIOR) == pytest.approx(math.log(2))
    assert not regions.leak(0.5).bounded
    assert regions.leak(0.7).bounded


def test_a_small_case_study_is_as_large_ones_are() -> None:
    """The sum's least epsilon hardly depends on how many people there are."""
    small = regions.total(people=20)
    assert f"{small.least_epsilon():.2f}" == "0.78"
    assert math.isnan(small.utility(0.7))
    assert small.utility(1.0) > small.geometric(1.0)


def test_an_inverse_is_one() -> None:
    phi = tight.constraints(tight.two_counts(1), Fraction(2, 7))
    unit = [[Fraction(x == y) for y in range(4)] for x in range(4)]
    assert times(phi, inverse(phi)) == unit
    turned = [[Fraction(x == (y + 1) % 4) for y in range(4)] for x in range(4)]
    assert determinant(turned) == -1  # three exchanges of rows, each of them needed
    assert times(inverse(turned), turned) == unit
