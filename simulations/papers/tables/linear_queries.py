"""Rows of the fourth paper: linear queries on load histograms, its experiments on points."""

import math

import numpy as np

from simulations.papers import histograms, linear
from simulations.papers.linear import Floats, Strategy
from simulations.papers.row import Row, claim, elsewhere, outside, shown, unknown

HERE = "simulations/papers/"
LIVES = HERE + "linear.py"
SECTIONS = "Sections 4.1 to 4.4"
"""Which of them prints which number was not noted."""
SETS, KINDS, COUNTS = 20, ("real", "binary"), (2, 5, 10)
BETA = 0.05


def rows(draw: np.random.Generator) -> list[Row]:
    """In the paper's order."""
    return [
        elsewhere(
            "Definition 2; Fact 1",
            "d_X-privacy; post-processing, composition",
            "tests/laws/test_small_worlds.py::test_the_losses_of_two_queries_on_a_window_add_up_exactly",
        ),
        *_laplace(draw),
        *_exponential(),
        _weights(draw),
        *_experiments(draw),
        _blowfish(draw),
        outside("Appendix C", "statistical queries of learners", "nobody learns inside the agent"),
        unknown("Definition 1", "wording not noted", "nothing to compute from"),
    ]


def _laplace(draw: np.random.Generator) -> list[Row]:
    homes = linear.loads()
    layers = linear.layers(homes, 500)
    sets = [layers, *(linear.drawn_queries("real", count, 25, draw) for count in COUNTS)]
    used = [
        linear.spent(queries, strategy(queries, homes.distances), homes.distances)
        for queries in sets
        for strategy in linear.STRATEGIES
    ]
    exact = max(
        linear.improvement(one, homes.distances, linear.one_scale)
        for one in (linear.drawn_queries("real", 1, 25, draw) for _ in range(50))
    )
    watts = homes.points[:, 0]
    named = {
        "mean load": watts[np.newaxis] / 1000,
        "homes above 3 kW": (watts >= 3000).astype(np.float64)[np.newaxis],
        "the same, rising over 500 W": np.clip((watts - 2500) / 500, 0, 1)[np.newaxis],
        "twelve layers of 500 W together": layers,
    }
    told = ", ".join(
        f"{name} ×{linear.improvement(queries, homes.distances, linear.one_scale):.0f}"
        for name, queries in named.items()
    )
    return [
        claim(
            "Definition 3; Theorem 1",
            "generalised sensitivity: with every query divided by its scale d_X-Laplace is private",
            f"load histograms and {len(sets) * len(linear.STRATEGIES)} choices of scales: at most "
            f"{max(used):.6f} of any pair's budget. Less noise than standard, ε = 1 per 500 W: "
            f"{told}",
            LIVES,
            true=max(used) <= 1 + 1e-9 and exact >= 1,
            printed="Σ |q(x)-q(x')| / c ≤ d_X",
        ),
        claim(
            "Theorem 2",
            "no answer is off by more than this, but with a chance of β",
            f"exactly 1 - (1 - β/K)^K: {linear.tail(12, BETA):.4f} for K = 12, β = {BETA}",
            LIVES,
            true=all(linear.tail(count, BETA) <= BETA for count in range(1, 100)),
            printed="max c ln(K/β)",
        ),
    ]


def _exponential() -> list[Row]:
    lives = HERE + "histograms.py"
    homes = linear.loads(1000, 250, 500)
    queries = linear.layers(homes, 250)
    small, rows = histograms.small_database(homes, queries, 3, 2)
    used = histograms.spent(small.law, rows, 3, homes.distances)
    sharp, _ = histograms.small_database(homes, queries, 40, 2)
    missed = max(sharp.missed(beta) / beta for beta in (0.05, 0.5, 0.9))
    where = f"{small.law.shape[0]} databases of 3 homes, {small.law.shape[1]} candidates"
    return [
        claim(
            "Theorem 3; Algorithm 1; Theorem 5",
            "exponential mechanism, and small database as a case of it, are d_X-private",
            f"{where}, all neighbours: log-odds use {used:.2f} of the budget at most",
            lives,
            true=0.4 < used <= 1,
            printed="exp(score / 2c)",
        ),
        claim(
            "Theorem 4; Theorem 6",
            "short of the best by more than this with a chance of β at most",
            f"databases of 40 homes, law by law: at most {missed:.3f} of β",
            lives,
            true=missed <= 1,
            printed="2c (ln R + ln 1/β)",
        ),
    ]


def _weights(draw: np.random.Generator) -> Row:
    homes, rounds = 1000, 50
    found = histograms.served(draw, homes, rounds, runs=20)
    return claim(
        "Algorithm 2; Theorem 7; Theorem 8",
        "multiplicative weights: the error of the query served worst",
        f"{homes:,} homes, 12 layers, {rounds} rounds, ε = 1 per 500 W: off by "
        f"{found.by_metric:.1%} ({found.standard:.1%} under standard privacy, {found.flat:.1%} "
        f"unasked; bound {found.bound:.0%}); d_X-Laplace on the layers {found.layers:.2%}",
        HERE + "histograms.py",
        true=found.layers < found.by_metric < min(found.bound, found.flat),
        printed="2 √(ln X / T) + 10 T c ln Q / n",
    )


def _experiments(draw: np.random.Generator) -> list[Row]:
    single, aligned, several = _improvements(draw)
    table = "; ".join(
        f"{kind}, K = {count}: " + ", ".join(f"{value:.2f}" for value in several[kind, count])
        for kind in KINDS
        for count in COUNTS
    )
    mean, most = float(np.mean(single)), max(single)
    best = all(found[2] > max(found[:2]) for (_, count), found in several.items() if count > 2)
    weak = max(several["binary", count][0] for count in COUNTS)
    return [
        shown(
            SECTIONS,
            "single linear queries: improvement factor, mean and largest",
            "2 to 3, some above 7.5",
            f"mean {mean:.2f}, most {most:.1f}: {SETS} sets of 50 drawn points, 100 queries each",
            LIVES,
            true=2 <= mean <= 3 and most > 7.5,
        ),
        shown(
            f"{SECTIONS}; Algorithm 3",
            "several queries, three ways to split the budget",
            "the first below 1.5, the third the best",
            f"sets of values: so; drawn weights: the third is best from K = 5 on. {table}",
            LIVES,
            true=best and weak < 1.5,
        ),
        unknown(
            SECTIONS,
            "a query that follows the metric: elevation of cities in the United States",
            f"their data is not at hand; a coordinate of drawn points: {aligned:.0f} on average",
            LIVES,
            printed="202",
        ),
    ]


def _improvements(
    draw: np.random.Generator,
) -> tuple[list[float], float, dict[tuple[str, int], list[float]]]:
    single, aligned = [], []
    logs: dict[tuple[str, int], list[list[float]]] = {
        (kind, count): [] for kind in KINDS for count in COUNTS
    }
    for _ in range(SETS):
        cells = draw.choice(101 * 101, 50, replace=False)
        places = linear.universe("points", np.column_stack(np.divmod(cells, 101)).astype(float))

        def improved(queries: Floats, by: Strategy, apart: Floats = places.distances) -> float:
            return linear.improvement(queries, apart, by)

        single += [
            improved(linear.drawn_queries("real", 1, 50, draw), linear.one_scale)
            for _ in range(100)
        ]
        aligned.append(improved(places.points[:, :1].T, linear.one_scale))
        for (kind, count), found in logs.items():
            queries = linear.drawn_queries(kind, count, 50, draw)
            found.append([math.log(improved(queries, by)) for by in linear.STRATEGIES])
    means = {key: [float(m) for m in np.exp(np.mean(rows, axis=0))] for key, rows in logs.items()}
    return single, float(np.mean(aligned)), means


def _blowfish(draw: np.random.Generator) -> Row:
    homes = linear.loads()
    watts, epsilon = homes.points[:, 0], 1.0
    edges = np.abs(watts[:, np.newaxis] - watts) == 250
    metric = linear.along(edges, epsilon)
    sets = [linear.drawn_queries("real", count, len(watts), draw) for count in (1, 2, 5)]
    same = all(
        math.isclose(
            linear.blowfish(queries, edges, epsilon)[0], linear.one_scale(queries, metric)[0]
        )
        for queries in sets
    )
    told = ", ".join(
        f"×{linear.vanilla(queries, metric)[0] / linear.blowfish(queries, edges, epsilon)[0]:.2f}"
        for queries in sets
    )
    return unknown(
        SECTIONS,
        "against Blowfish: numbers not noted",
        "a Blowfish graph stands for the metric along its edges: the same scale as the second way, "
        f"for drawn queries over 25 loads. Less noise than standard: {told} for K = 1, 2, 5",
        LIVES,
        true=same,
    )
