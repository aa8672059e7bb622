"""The fourth paper: every choice of scales is private, and every bound holds, law by law."""

from __future__ import annotations

import numpy as np
import pytest

from simulations.papers import histograms, linear

LOADS = linear.loads()
SMALL = linear.loads(1000, 250, 500)


@pytest.fixture
def draw() -> np.random.Generator:
    return np.random.default_rng(8)


@pytest.mark.parametrize("strategy", linear.STRATEGIES, ids=lambda strategy: strategy.__name__)
@pytest.mark.parametrize("kind", ["real", "binary"])
@pytest.mark.parametrize("count", [1, 3, 8])
def test_scales_spend_a_whole_budget_and_no_more(
    strategy: linear.Strategy, kind: str, count: int, draw: np.random.Generator
) -> None:
    places = linear.universe("points", draw.uniform(0, 100, (20, 2)))
    for of in (places, LOADS):
        queries = linear.drawn_queries(kind, count, len(of.points), draw)
        scales = strategy(queries, of.distances)
        assert linear.spent(queries, scales, of.distances) <= 1 + 1e-9
        if strategy is not linear.equal_shares:
            assert linear.spent(queries, scales, of.distances) == pytest.approx(1)
        assert linear.spent(queries, 0.99 * scales, of.distances) < 1.02


def test_standard_privacy_is_private_and_never_better_than_one_scale(
    draw: np.random.Generator,
) -> None:
    queries = linear.drawn_queries("real", 4, 25, draw)
    vanilla = linear.vanilla(queries, LOADS.distances)
    assert linear.spent(queries, vanilla, LOADS.distances) <= 1
    assert (linear.one_scale(queries, LOADS.distances) <= vanilla).all()


def test_a_query_along_the_metric_gains_the_whole_range() -> None:
    watts = LOADS.points[:, 0]
    assert linear.improvement(
        watts[np.newaxis], LOADS.distances, linear.one_scale
    ) == pytest.approx(len(watts) - 1)
    above = (watts >= 3000).astype(np.float64)[np.newaxis]
    assert linear.improvement(above, LOADS.distances, linear.one_scale) == pytest.approx(1)


def test_layers_cost_together_what_one_of_them_does() -> None:
    """Their moves add up to how far the load moves."""
    layers = linear.layers(LOADS, 500)
    assert linear.one_scale(layers, LOADS.distances) == pytest.approx(1)
    assert linear.one_scale(layers[:1], LOADS.distances) == pytest.approx(1)
    moved = linear.moved(layers).sum(axis=0)
    np.fill_diagonal(moved, np.inf)
    np.testing.assert_allclose(moved, LOADS.distances)


def test_blowfish_is_the_metric_along_its_graph(draw: np.random.Generator) -> None:
    edges = draw.random((12, 12)) < 0.2
    edges |= np.eye(12, k=1, dtype=bool)  # a path, so that everybody is joined
    edges |= edges.T
    np.fill_diagonal(edges, val=False)
    metric = linear.along(edges, 0.5)
    for count in (1, 3):
        queries = linear.drawn_queries("real", count, 12, draw)
        np.testing.assert_allclose(
            linear.blowfish(queries, edges, 0.5), linear.one_scale(queries, metric)
        )


def test_answers_are_within_what_is_stated_but_for_beta(draw: np.random.Generator) -> None:
    """Of 100,000 answers to twelve queries: 4.9 %, give or take six standard errors."""
    noise = np.abs(draw.laplace(size=(100_000, 12))).max(axis=1)
    missed = (noise > np.log(12 / 0.05)).mean()
    assert missed == pytest.approx(linear.tail(12, 0.05), abs=6 * (0.049 / 100_000) ** 0.5)
    assert linear.tail(12, 0.05) < 0.05


@pytest.mark.parametrize("few", [1, 2])
def test_a_small_database_is_private_and_short_of_the_best_by_no_more_than_stated(few: int) -> None:
    queries = linear.layers(SMALL, 250)
    made, rows = histograms.small_database(SMALL, queries, 3, few)
    assert histograms.spent(made.law, rows, 3, SMALL.distances) <= 1
    assert len(rows) == 35
    np.testing.assert_allclose(made.law.sum(axis=1), 1)
    sharp, _ = histograms.small_database(SMALL, queries, 30, few)
    assert all(sharp.missed(beta) <= beta for beta in (0.01, 0.2, 0.9))


def test_a_scale_that_is_too_small_breaks_the_promise() -> None:
    queries = linear.layers(SMALL, 250)
    made, rows = histograms.small_database(SMALL, queries, 3, 2)
    loud = histograms.exponential(-made.errors, made.scale / 4)
    assert histograms.spent(loud, rows, 3, SMALL.distances) > 1


def test_the_exponential_mechanism_on_a_sharp_score_is_tight() -> None:
    """One score falls by the whole scale, a thousand others rise: half of it is their sum's."""
    one = np.array([1.0, *np.zeros(1000)])
    law = histograms.exponential(np.array([one, 1 - one]), 1.0)
    used = np.log(law[0] / law[1]).max()
    assert 0.998 < used < 1


def test_weights_find_a_histogram_when_there_is_no_noise(draw: np.random.Generator) -> None:
    truth = histograms.homes_by_load(LOADS, 500, draw)
    queries = linear.layers(LOADS, 500)
    flat = np.abs(queries @ (truth - 1 / len(truth))).max()
    errors = [
        np.abs(
            queries
            @ (truth - histograms.multiplicative_weights(truth, queries, 1e-9, rounds, draw))
        ).max()
        for rounds in (5, 50)
    ]
    assert flat > errors[0] > errors[1]
    assert errors[1] < histograms.weights_bound(len(truth), len(queries), 1e-9, 50)


def test_layers_themselves_serve_a_street_better_than_weights(draw: np.random.Generator) -> None:
    found = histograms.served(draw, homes=500, rounds=20, runs=3)
    assert found.layers < 0.1 * found.by_metric
    assert found.by_metric < found.bound
