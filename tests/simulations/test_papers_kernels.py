"""The fifth paper: capacities, vertices and kernels, by two ways each; refinement."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from qif import measure
from qif import refinement as order
from scipy.spatial import HalfspaceIntersection

from simulations.papers import capacities, kernels, refinement, vertices
from simulations.papers.capacities import PrivacyType, cube, discrete, drawn, grid, line, of_channel
from simulations.papers.exact import geometric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from simulations.papers.kernels import Integers

LN2, HALF = math.log(2), Fraction(1, 2)
TYPES = [line(2), line(5), discrete(4), grid(2, 3), cube(3)]


@pytest.mark.parametrize("of", TYPES, ids=lambda of: of.name)
@pytest.mark.parametrize("epsilon", [0.2, LN2, 2.0])
def test_no_drawn_mechanism_of_the_type_exceeds_its_capacities(
    of: PrivacyType, epsilon: float
) -> None:
    most = capacities.capacities(of, epsilon)
    random = np.random.default_rng(1)
    for _ in range(50):
        channel = drawn(of, epsilon, random)
        assert measure.d_privacy.is_private(channel, lambda x, y: epsilon * of.distances[x, y])
        found = of_channel(channel)
        assert found.multiplicative == pytest.approx(measure.bayes_vuln.mult_capacity(channel))
        assert found.multiplicative <= most.multiplicative + 1e-9
        assert found.additive <= most.additive + 1e-9


def test_only_neighbours_bind() -> None:
    assert len(line(6).neighbours()) == 2 * 5
    assert len(discrete(5).neighbours()) == 5 * 4
    assert len(cube(4).neighbours()) == 16 * 4


def hull(distances: vertices.Distances) -> int:
    """Vertices counted by a convex hull in doubles, merged where they are one."""
    apart = np.array(distances, dtype=np.float64)
    size = len(apart)
    walls = []
    for x, y in PrivacyType("", apart).neighbours():
        row = np.zeros(size)
        row[x], row[y] = 1, -1
        walls.append([*row[1:], -apart[x, y]])
    found = HalfspaceIntersection(np.array(walls), np.zeros(size - 1)).intersections
    return len(np.unique(np.round(found, 6), axis=0))


@pytest.mark.parametrize(
    "distances",
    [
        vertices.manhattan(vertices.lattice(6)),
        vertices.manhattan(vertices.lattice(2, 2, 2)),
        vertices.manhattan(vertices.lattice(3, 3)),
        vertices.discrete(5),
    ],
)
def test_vertices_are_those_of_a_convex_hull(distances: vertices.Distances) -> None:
    assert len(vertices.vertices(distances)) == hull(distances)


def crow(*sides: int) -> vertices.Distances:
    return vertices.euclidean(vertices.lattice(*sides))


@pytest.mark.parametrize(("sides", "count"), [((2, 2), 18), ((2, 3), 162)])
def test_vertices_with_roots_are_those_of_a_convex_hull(sides: tuple[int, ...], count: int) -> None:
    exact = vertices.vertices(crow(*sides))
    assert len(exact) == count
    far = np.array(crow(*sides), dtype=np.float64) / vertices.UNIT
    assert hull(far.tolist()) == count


@pytest.mark.slow
def test_nine_points_have_4346_vertices() -> None:
    far = np.array(crow(3, 3), dtype=np.float64) / vertices.UNIT
    assert len(vertices.vertices(crow(3, 3))) == hull(far.tolist()) == 4346


@pytest.mark.parametrize("distances", [crow(2, 2), vertices.manhattan(vertices.lattice(2, 3))])
def test_vertices_keep_every_constraint_and_hold_together(distances: vertices.Distances) -> None:
    """As many constraints are met with equality as fix a point."""
    size = len(distances)
    for heights in vertices.vertices(distances):
        met = []
        for x, y in combinations(range(size), 2):
            assert abs(heights[x] - heights[y]) <= distances[x][y]
            if abs(heights[x] - heights[y]) == distances[x][y]:
                row = np.zeros(size)
                row[x], row[y] = 1, -1
                met.append(row)
        assert np.linalg.matrix_rank(np.array(met)) == size - 1


def by_trying(columns: Integers, largest: int) -> list[int]:
    """How many kernels have 1, 2, .. vertices: each set of vertices by itself, in doubles."""
    made = columns.astype(np.float64) / columns.astype(np.float64).sum(axis=0)
    return [
        sum(
            tried(made, sets)
            for sets in np.array_split(
                np.array([*combinations(range(made.shape[1]), size)]),
                math.comb(made.shape[1], size) // 100_000 + 1,
            )
        )
        for size in range(1, largest + 1)
    ]


def tried(columns: NDArray[np.float64], sets: NDArray[np.int64]) -> int:
    """Of these sets, those that are independent and have the uniform prior inside."""
    made = columns[:, sets].transpose(1, 0, 2)
    made = made[np.linalg.svd(made, compute_uv=False)[:, -1] > 1e-9]
    prior = np.full(len(columns), 1 / len(columns))
    weights = (np.linalg.pinv(made) @ prior)[..., np.newaxis]
    fits = np.abs((made @ weights)[..., 0] - prior).max(axis=1) < 1e-9
    return int((fits & (weights[..., 0] > 1e-9).all(axis=1)).sum())


def sizes(found: Integers, largest: int) -> list[int]:
    counted = np.bincount((found > 0).sum(axis=1), minlength=largest + 1)
    return [int(count) for count in counted[1 : largest + 1]]


@pytest.mark.parametrize(
    ("distances", "base"),
    [
        (vertices.manhattan(vertices.lattice(4)), 2),
        (vertices.manhattan(vertices.lattice(5)), 2),
        (vertices.manhattan(vertices.lattice(5)), 3),
        (vertices.discrete(4), 2),
        (vertices.manhattan(vertices.lattice(2, 2)), 2),
    ],
)
def test_kernels_are_those_found_by_trying_every_set(
    distances: vertices.Distances, base: int
) -> None:
    columns = kernels.powers(vertices.vertices(distances), base)
    found = kernels.kernels(columns)
    assert sizes(found, len(distances)) == by_trying(columns, len(distances))


def test_kernels_with_roots_are_those_found_by_trying_every_set() -> None:
    columns = kernels.powers_of_roots(vertices.vertices(crow(2, 2)))
    scaled = np.array([[float(Fraction(c, max(col))) for c in col] for col in columns.T]).T
    assert sizes(kernels.kernels(columns), 4) == by_trying(scaled, 4) == [0, 1, 16, 386]
    heights = np.array(vertices.vertices(crow(2, 2)), dtype=np.float64).T / vertices.UNIT
    np.testing.assert_allclose(scaled, 2**heights / (2**heights).max(axis=0), rtol=1e-12)


def test_what_cancels_depends_on_epsilon() -> None:
    """187 kernels on a line of five at exp(epsilon) = 2, as printed, and 195 at 3."""
    heights = vertices.vertices(vertices.manhattan(vertices.lattice(5)))
    assert [len(kernels.kernels(kernels.powers(heights, base))) for base in (2, 3)] == [187, 195]


@pytest.mark.slow
def test_the_cube_of_three_bits_has_29213_kernels() -> None:
    """Whatever the order of secrets and vertices; all of them kernels; up to five by trying."""
    columns = kernels.powers(vertices.vertices(vertices.manhattan(vertices.lattice(2, 2, 2))))
    found = kernels.kernels(columns)
    assert sizes(found, 8) == [0, 1, 26, 89, 450, 2716, 7388, 18543]
    assert sizes(found, 5) == by_trying(columns, 5)
    random = np.random.default_rng(2)
    shuffled = columns[random.permutation(8)][:, random.permutation(38)]
    assert sizes(kernels.kernels(shuffled), 8) == sizes(found, 8)
    assert len({tuple(np.flatnonzero(row)) for row in found}) == len(found) == 29213
    level = found @ columns.T
    assert (level == level[:, :1]).all()
    for row in found[::500]:
        used = columns[:, row > 0]
        assert np.linalg.matrix_rank(used) == used.shape[1]


def test_too_many_vertices_are_refused() -> None:
    with pytest.raises(ValueError, match="64 vertices, of 63"):
        kernels.kernels(np.ones((2, 64), dtype=np.int64))


@pytest.mark.parametrize(
    "distances", [vertices.discrete(3), vertices.manhattan(vertices.lattice(2, 2))]
)
def test_kernels_are_mechanisms_of_the_type_and_none_refines_to_another(
    distances: vertices.Distances,
) -> None:
    """The library `qif` agrees, pair by pair."""
    made = [np.array(channel, dtype=np.float64) for channel in refinement.of_type(distances)]
    for channel in made:
        np.testing.assert_allclose(channel.sum(axis=1), 1)
        assert measure.d_privacy.is_private(channel, lambda x, y: LN2 * distances[x][y])
    assert refinement.none_refines_to_another(distances)
    assert not any(
        order.refined_by(one, other) for one in made for other in made if one is not other
    )


@pytest.mark.parametrize("size", [3, 4])
def test_more_noise_is_less_noise_with_something_forgotten(size: int) -> None:
    finer, coarser = geometric(size, Fraction(1, 3)), geometric(size, HALF)
    assert refinement.refines(finer, coarser)
    assert not refinement.refines(coarser, finer)
    assert all(sum(row) == 1 for row in refinement.remap(finer, coarser))


def test_the_geometric_mechanism_is_a_kernel_and_best_for_who_guesses_near() -> None:
    made = refinement.of_type(vertices.manhattan(vertices.lattice(4)))
    ours = sorted(zip(*geometric(4, HALF), strict=True))
    assert sum(sorted(zip(*channel, strict=True)) == ours for channel in made) == 1
    assert refinement.on_a_line(4, consumers=15, seed=9) == (11, True)
    ours_serves, best = refinement.odd_one_out()
    assert (ours_serves, best) == (Fraction(7, 9), Fraction(8, 9))


def test_on_the_cube_two_consumers_want_different_kernels() -> None:
    """A programme over all mechanisms agrees: who is served best by one is not by the other."""
    names, asks = refinement.impossible(2)
    assert names
    assert asks
    assert not names & asks
    made = refinement.of_type(vertices.manhattan(vertices.lattice(2, 2)))
    best = max(refinement.served(channel, refinement.naming(4)) for channel in made)
    optimum = -capacities.solve(cube(2), LN2, -np.eye(4) / 4)
    assert float(best) == pytest.approx(optimum)


@pytest.mark.parametrize("of", [line(4), discrete(4), cube(2)], ids=lambda of: of.name)
def test_every_mechanism_is_made_of_vertices_and_others_are_not(of: PrivacyType) -> None:
    distances = [[round(far) for far in row] for row in of.distances]
    columns = kernels.powers(vertices.vertices(distances))
    random = np.random.default_rng(3)
    for _ in range(10):
        assert refinement.left_over(drawn(of, LN2, random), columns) < 1e-9
    assert refinement.left_over(drawn(of, 2 * LN2, random), columns) > 1e-3
