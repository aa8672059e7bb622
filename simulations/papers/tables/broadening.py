"""Rows of the first paper: metrics, adversaries, uniform sensitivity; the rest is in `people`."""

from itertools import combinations
from typing import Any

import numpy as np

from simulations.papers import adversaries, manhattan, sensitivity
from simulations.papers.row import Row, claim, elsewhere, outside, shown, unknown
from simulations.papers.tables import people

HERE = "simulations/papers/"
LAWS = "tests/laws/"
ASKED = ("avg", "median", "max")


def rows(draw: np.random.Generator, signature: dict[str, Any]) -> list[Row]:
    """In the paper's order; `signature` is what was measured of Example 2."""
    return [
        elsewhere(
            "Definition 1",
            "d-privacy: odds of any output within exp(d)",
            LAWS
            + "test_small_worlds.py::test_a_release_is_private_at_its_cost_and_at_nothing_less",
        ),
        claim(
            "Proposition 1",
            "a smaller metric is a stronger promise; changing a value against taking one out and "
            "putting one in; normalised Manhattan below both",
            "on all pairs of 64 databases",
            HERE + "manhattan.py",
            true=manhattan.metrics_in_order(),
            printed="½ d_r ≤ d_h ≤ d_r",
        ),
        _standard(),
        *_adversaries(),
        *_sensitivity(),
        *people.optimality(draw),
        *people.values(draw),
        people.groups(),
        *people.earliest(),
        people.television(signature),
        elsewhere(
            "Theorem 13",
            "under d∞ average and percentiles are uniformly sensitive, geometric noise is optimal",
            LAWS + "test_optimality.py::test_no_private_mechanism_serves_a_reader_better",
        ),
        outside("Section 6.2", "places on a map, planar noise", "a meter does not move"),
        unknown(
            "Definition 2; Definition 3; Definition 4; Proposition 6; Proposition 7; "
            "Proposition 8; Proposition 9",
            "wording not noted",
            "nothing to compute from",
        ),
    ]


def _standard() -> Row:
    counted = adversaries.databases(3)
    two = max(adversaries.by_hiding(counted, hide) for hide in adversaries.one_person(3))
    pairs = [*combinations(range(counted.size), 2)]
    others = [pair for pair in pairs if adversaries.diameter(counted, pair) == 1]
    one = max(adversaries.by_release(counted, pair) for pair in others)
    return claim(
        "Theorem 1; Theorem 2",
        "standard privacy: beliefs with and without a person within exp(2 ε); who knows all "
        "others learns at most exp(ε)",
        f"a count over 3 people, exp(ε) = 2, all priors: {two} and {one}, both reached",
        HERE + "adversaries.py",
        true=two == 4 and one == 2,
        printed="2 ε and ε",
    )


def _adversaries() -> list[Row]:
    lives = HERE + "adversaries.py"
    worlds = {name: adversaries.windows(name, 2, 2) for name in ASKED}
    hiding = max(adversaries.worst_hiding(world) for world in worlds.values())
    informed = max(
        adversaries.by_release(world, known)
        * adversaries.RATIO ** adversaries.diameter(world, known)
        for world in worlds.values()
        for known in adversaries.neighbourhoods(world)
    )
    reached = all(
        adversaries.by_release(world, pair) == 2 ** adversaries.diameter(world, pair)
        for world in worlds.values()
        for pair in combinations(range(world.size), 2)
        if abs(world.answers[pair[0]] - world.answers[pair[1]]) == adversaries.diameter(world, pair)
    )
    return [
        claim(
            "Theorem 3",
            "hiding functions: beliefs within exp(2 d(hide))",
            f"all 9⁹ functions, all priors, windows of 2 slots, {', '.join(ASKED)}: at most "
            f"{hiding} of it",
            lives + "; tests/simulations/test_papers_adversaries.py",
            true=hiding == 1,
            printed="2 d(φ)",
        ),
        claim(
            "Theorem 4",
            "informed adversary: belief within exp(diameter) of what was known",
            f"all 502 neighbourhoods, all priors, the same windows: at most {informed} of it",
            lives + "; tests/simulations/test_papers_adversaries.py",
            true=informed == 1,
            printed="d(N)",
        ),
        unknown(
            "Proposition 10",
            "families of hiding functions and neighbourhoods under d∞ are maximally tight",
            "as we read it: two windows whose answers are as far apart as they are, are a "
            "neighbourhood that reaches the bound; so for all such",
            lives,
            true=reached,
        ),
    ]


def _sensitivity() -> list[Row]:
    gap = sensitivity.figure_one()
    same = []
    for name in ASKED:
        world = adversaries.windows(name, 2, 2)

        def apart(x: int, y: int, far: list[list[int]] = world.distance) -> int:
            return far[x][y]

        same.append(sensitivity.uniformly(world.answers, apart))
        same.append(sensitivity.same_promise(world.answers, apart, adversaries.RATIO))
    lives = HERE + "sensitivity.py"
    return [
        claim(
            "Fact 5; Definition 5; Theorem 6",
            "uniformly sensitive: private on answers if and only if on secrets",
            f"{', '.join(ASKED)} of windows: uniform; 100 drawn mechanisms each, some private, "
            "some not: the same on both",
            lives,
            true=all(same),
        ),
        shown(
            "Figure 1",
            "not uniformly sensitive: private on secrets, not on answers",
            "3/4 > 2 · 1/4",
            "3/4 > 2/4 on answers, 3/4 ≤ 4/4 on secrets",
            lives,
            true=gap.on_secrets and not gap.on_answers,
        ),
        outside(
            "Definition 6; Fact 7",
            "Laplace mechanisms on any metric",
            "continuous noise cannot be drawn exactly; a rival in simulations/compare",
        ),
        elsewhere(
            "Figure 2",
            "(iv) truncated geometric noise; (i) to (iii) are continuous or planar",
            "tests/privacy/test_mechanism.py::test_the_matrix_is_noise_clamped_to_the_domain",
        ),
    ]
