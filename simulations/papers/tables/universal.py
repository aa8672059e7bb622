"""Rows of the fifth paper: what its tables are about, refinement, and what is impossible."""

from dataclasses import astuple
from fractions import Fraction
from itertools import product

import numpy as np

from meteragent import Domain, TruncatedGeometric
from simulations.papers import capacities, kernels, refinement, vertices
from simulations.papers.capacities import Capacities, Floats, PrivacyType
from simulations.papers.exact import geometric
from simulations.papers.row import Row, claim, elsewhere, unknown
from simulations.papers.tables import counted
from simulations.papers.tables.counted import DISTANCES, HERE, LN2, TYPES

HALF = Fraction(1, 2)
ROUNDED = f"{LN2:.9f}"
"""As an epsilon is written in a policy."""


def rows(draw: np.random.Generator, *, quick: bool) -> list[Row]:
    """Tables first, then theorems; quick leaves the largest types out."""
    return [
        *counted.rows(quick=quick),
        *_vertices(draw),
        *_capacity_theorems(),
        *_optimality(),
        *_unknown(),
    ]


def _vertices(draw: np.random.Generator) -> list[Row]:
    types: list[tuple[PrivacyType, str, int]] = [
        (TYPES[table](size), table, size)
        for table, size in (("Table 4a", 4), ("Table 5a", 4), ("Table 7a", 2), ("Table 7a", 3))
    ]
    left = 0.0
    for of, table, size in types:
        columns = kernels.powers(vertices.vertices(DISTANCES[table](size)))
        left = max(
            left,
            *(refinement.left_over(capacities.drawn(of, LN2, draw), columns) for _ in range(20)),
        )
    lines = [len(vertices.vertices(DISTANCES["Table 4a"](n))) == 2 ** (n - 1) for n in range(2, 7)]
    even = [len(vertices.vertices(DISTANCES["Table 5a"](n))) == 2**n - 2 for n in range(2, 6)]
    return [
        claim(
            "Definition 4; Definition 5; Theorem 3",
            "vertex and kernel mechanisms; every mechanism of a type is made of vertices",
            f"80 drawn mechanisms of four types: nothing left over beyond {max(left, 1e-9):.0e}",
            HERE + "kernels.py; " + HERE + "refinement.py",
            true=left < 1e-9,
        ),
        unknown(
            "Lemma 19; Lemma 21",
            "around vertices and kernels; wording not noted",
            "vertices of the line: 2^(n-1), a step up or down each; of the discrete metric: "
            "2^n - 2, high or low each",
            HERE + "vertices.py",
            true=all(lines) and all(even),
        ),
    ]


def _closed_forms_agree() -> bool:
    """With linear programmes, over lines, discrete metrics and cubes."""
    closed = [
        *((capacities.line(n), capacities.of_line(n, HALF)) for n in range(2, 9)),
        *((capacities.discrete(n), capacities.of_discrete(n, HALF)) for n in range(2, 8)),
        *((capacities.cube(n), capacities.of_cube(n, HALF)) for n in range(1, 4)),
    ]
    return all(
        _near(capacities.capacities(of, LN2), Capacities(float(most), float(gained)))
        for of, (most, gained) in closed
    )


def _lattices_attained() -> bool:
    """By the product's own law, coordinate by coordinate."""
    return all(
        _near(capacities.capacities(of, LN2), capacities.of_channel(_side_by_side(sides)))
        for of, sides in (
            (capacities.grid(2, 3), [2, 3]),
            (capacities.grid(3, 3), [3, 3]),
            (capacities.cube(3), [2, 2, 2]),
        )
    )


def _near(one: Capacities, other: Capacities) -> bool:
    return np.allclose(astuple(one), astuple(other), rtol=0, atol=1e-6)


def _capacity_theorems() -> list[Row]:
    return [
        elsewhere(
            "Theorem 4; Theorem 5",
            "miracle theorems: no gain function gains more than a mechanism's capacities",
            "tests/explain/test_leakage.py::test_no_adversary_gains_more_than_the_capacities",
        ),
        claim(
            "Definition 8; Corollary 17; Corollary 18",
            "the capacities of a type, by linear programmes",
            "the tables above; the product's law on each coordinate reaches those of Manhattan "
            "grids and of the cube",
            HERE + "capacities.py",
            true=_lattices_attained(),
        ),
        unknown(
            "Corollary 20; Corollary 22",
            "capacities in closed form; wording not noted",
            "ours, a = exp(-ε): line (2+(n-2)(1-a)) / (1+a), discrete n / (1+(n-1)a), bits by "
            "product: equal to the programmes for 2 to 8 levels, 2 to 7 secrets, 1 to 3 bits",
            HERE + "capacities.py",
            true=_closed_forms_agree(),
        ),
    ]


def _side_by_side(sides: list[int]) -> Floats:
    """channel[point, released]: the product's own law, coordinate by coordinate."""
    whole: Floats = np.ones((1, 1))
    for side in sides:
        one = TruncatedGeometric(Domain(0, side - 1, 1), ROUNDED).matrix()
        whole = np.kron(whole, one).astype(np.float64)
    return whole


def _optimality() -> list[Row]:
    lives, consumers = HERE + "refinement.py", 5
    lines = {size: refinement.on_a_line(size, consumers) for size in (3, 4, 5)}
    ours, best = refinement.odd_one_out()
    names, asks = refinement.impossible()
    ratios = [Fraction(1, 4), HALF, Fraction(3, 4)]
    ordered = all(
        refinement.refines(geometric(6, finer), geometric(6, coarser)) == (finer <= coarser)
        for finer, coarser in product(ratios, repeat=2)
    )
    alone = all(
        refinement.none_refines_to_another(DISTANCES[table](size))
        for table, size in (("Table 4a", 4), ("Table 5a", 3), ("Table 7a", 2))
    )
    return [
        claim(
            "Refinement",
            "more noise is less noise, something forgotten; kernels never refine to one another",
            "geometric noise at exp(ε) = 4, 2, 4/3: refines downwards only, exact remap; kernels "
            "of line 4, discrete 3 and the 2-bit cube: none does",
            lives,
            true=ordered and alone,
        ),
        claim(
            "Existence on the line",
            "for some utilities there is an optimal mechanism",
            f"lines of {', '.join(map(str, lines))} levels: geometric noise is the best of "
            f"{', '.join(str(count) for count, _ in lines.values())} kernels for {consumers} "
            "consumers each who lose more the farther off they guess; for one who asks whether the "
            f"level is the middle one it is not: {ours} against {best}",
            lives,
            true=all(held for _, held in lines.values()) and ours < best,
        ),
        claim(
            "Impossibility on the cube",
            "no mechanism is optimal for all",
            "two bits, four kernels, exactly: the best to name the database and the best to tell "
            "its parity have none in common, so no mechanism is best for both",
            lives,
            true=not names & asks,
        ),
    ]


def _unknown() -> list[Row]:
    return [
        unknown(
            "Theorem 6; Theorem 7; Theorem 8; Theorem 9; Theorem 10; Theorem 11; Theorem 12; "
            "Theorem 13",
            "utility sets, existence, impossibility; which theorem says which was not noted",
            "the last two rows are what they are about",
            HERE + "refinement.py",
        ),
        unknown(
            "Figure 8; Matrices K_A and K_B",
            "a kernel drawn, two mechanisms",
            "their entries are not at hand; every kernel of a type can be listed",
            HERE + "kernels.py",
        ),
        unknown(
            "Definition 1; Definition 2; Definition 3; Definition 6; Definition 7; Theorem 1; "
            "Theorem 2",
            "wording not noted",
            "nothing to compute from",
        ),
    ]
