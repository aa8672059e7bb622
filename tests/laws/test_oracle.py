"""The library `qif`, which we did not write, comes to the same numbers."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from qif import channel, measure
from qif import mechanism as mechanisms

from meteragent import Domain, TruncatedGeometric
from meteragent.privacy.query import NAMED, Query, answer, query
from tests.laws.test_queries import mean_half_even

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Metric = Callable[[int, int], float]

SLOTS, TOP, STEP = 4, 2, 10  # an even number of slots has ties to round
WINDOWS = np.array(list(product(range(TOP + 1), repeat=SLOTS)), dtype=np.int8)
MECHANISM = TruncatedGeometric(Domain(0, TOP * STEP, STEP), "0.03")
EPSILON = float(MECHANISM.epsilon)
ONE_ANSWER = [q for q in (*NAMED.values(), query("p29"), query("p95")) if not q.per_slot]


def watts_apart(scale: float = 1.0) -> Metric:
    """d∞ between the windows of two rows."""
    return lambda x, y: scale * STEP * float(np.abs(WINDOWS[x] - WINDOWS[y]).max())


def channel_of(asked: Query) -> Floats:
    """channel[window, released]"""
    rows: Floats = MECHANISM.matrix()[answer((asked,), WINDOWS)[:, 0]]
    return rows


@pytest.mark.parametrize("top", [1, 2, 3, 20, 240])
@pytest.mark.parametrize("epsilon", ["0.001", "0.0693147181", "0.5"])
def test_the_matrix_is_the_geometric_mechanism_of_qif(top: int, epsilon: str) -> None:
    mechanism = TruncatedGeometric(Domain(0, top * STEP, STEP), epsilon)
    theirs = mechanisms.d_privacy.geometric(top + 1, float(mechanism.epsilon * STEP))
    np.testing.assert_allclose(mechanism.matrix(), theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("asked", ONE_ANSWER, ids=lambda q: q.name)
def test_qif_finds_a_release_private_at_epsilon_and_at_nothing_less(asked: Query) -> None:
    release = channel_of(asked)
    assert measure.d_privacy.is_private(release, watts_apart(EPSILON))
    assert not measure.d_privacy.is_private(release, watts_apart(0.99 * EPSILON))
    smallest = measure.d_privacy.smallest_epsilon(release, watts_apart())
    assert smallest == pytest.approx(EPSILON, rel=1e-9)


def test_qif_finds_that_two_queries_cost_twice() -> None:
    both = channel.compose.parallel(channel_of(query("avg")), channel_of(query("max")))
    smallest = measure.d_privacy.smallest_epsilon(both, watts_apart())
    assert smallest == pytest.approx(2 * EPSILON, rel=1e-9)


def test_qif_finds_that_a_release_reading_by_reading_costs_once_per_slot() -> None:
    whole = np.ones((len(WINDOWS), 1))
    for level in answer((NAMED["reading"],), WINDOWS).T:
        whole = channel.compose.parallel(whole, MECHANISM.matrix()[level])
    smallest = measure.d_privacy.smallest_epsilon(whole, watts_apart())
    assert smallest == pytest.approx(SLOTS * EPSILON, rel=1e-9)


def test_qif_rejects_the_half_even_average() -> None:
    release = channel_of(Query("half-even", mean_half_even))
    assert not measure.d_privacy.is_private(release, watts_apart(EPSILON))
    smallest = measure.d_privacy.smallest_epsilon(release, watts_apart())
    assert smallest == pytest.approx(2 * EPSILON, rel=1e-9)


@pytest.mark.parametrize(
    ("levels", "capacity"), [(2, 4 / 3), (3, 5 / 3), (4, 2), (5, 7 / 3), (6, 8 / 3)]
)
def test_capacities_at_half_the_odds_per_level(levels: int, capacity: float) -> None:
    """At `epsilon * step = ln 2`: 1.33, 1.67, 2, 2.33 and 2.67."""
    mechanism = TruncatedGeometric(Domain(0, levels - 1, 1), f"{math.log(2):.9f}")
    theirs = measure.bayes_vuln.mult_capacity(mechanism.matrix())
    assert theirs == pytest.approx(capacity, rel=1e-8)
    assert mechanism.multiplicative_capacity == pytest.approx(theirs, rel=1e-12)
