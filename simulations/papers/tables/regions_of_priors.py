"""Rows of the third paper: regular priors, tight constraints, an example and a case study."""

import math
import random
from fractions import Fraction

import numpy as np

from simulations.papers import regions, tight
from simulations.papers.capacities import capacities, cube, discrete, of_discrete, solve
from simulations.papers.capacities import line as levels
from simulations.papers.exact import determinant, drawn, geometric, side_by_side
from simulations.papers.row import Row, claim, number, shown, unknown

HERE = "simulations/papers/"
HALF = Fraction(1, 2)


def rows(*, quick: bool) -> list[Row]:
    """In the paper's order; quick leaves the case study's large matrices out."""
    return [
        *_constraints(),
        *_utility(),
        *_leakage(),
        *_tight(),
        *([] if quick else _study()),
        claim(
            "Appendix B",
            "phi need not have an inverse: the cube whose opposite corners are one step apart",
            f"determinant {determinant(tight.constraints(tight.augmented_cube(), Fraction(1, 3)))} "
            "at exp(ε) = 3, not 0 at 7",
            HERE + "tight.py",
            true=determinant(tight.constraints(tight.augmented_cube(), Fraction(1, 3))) == 0
            and determinant(tight.constraints(tight.augmented_cube(), Fraction(1, 7))) != 0,
        ),
        unknown(
            "Definition 1; Definition 2; Definition 3; Proposition 2; Proposition 3; "
            "Proposition 5; Proposition 6; Lemma 2; Lemma 4; Corollary 1; Corollary 2; Figure 1; "
            "Example 1; Example 2",
            "around regular priors, the bound and the mechanism; wording not noted",
            "what is known of them is in the rows above",
        ),
    ]


def _constraints() -> list[Row]:
    lives = HERE + "tight.py"
    _, summed = tight.induced(3, 3, sum)
    _, counted = tight.induced(
        3, 4, lambda row: (sum(value & 1 for value in row), sum(value >> 1 for value in row))
    )
    corner = [
        tight.corners(tight.constraints(tight.two_counts(1), Fraction(1, q)))[0] for q in (2, 5)
    ]
    told = ["(" + ", ".join(f"{float(p):g}" for p in row) + ")" for row in corner]
    inside, by_hand = _mixtures()
    return [
        claim(
            "Lemma 1; Proposition 1",
            "the promise between answers is the number of people between them",
            "walking over databases: sums move by v - 1 per person, two counts in the maximum norm",
            lives,
            true=summed == tight.line(7, 2) and counted == tight.two_counts(3),
        ),
        claim(
            "Definition 4; Definition 5; Definition 6; Proposition 4",
            "privacy constraints matrix, regular priors, corners: the region is their convex hull",
            f"{inside} of 200 drawn priors on four answers lie in it, by weights and by mixing "
            "corners",
            lives,
            true=by_hand and 0 < inside < 200,
        ),
        shown(
            "Figure 3",
            "corners of the region of two counts over one person",
            "(.4, .2, .2, .2), (.6, .1, .1, .1)",
            f"{told[0]}, {told[1]} at exp(ε) = 2 and 5",
            lives,
            true=[[f"{float(p):.1f}" for p in row] for row in corner]
            == [["0.4", "0.2", "0.2", "0.2"], ["0.6", "0.1", "0.1", "0.1"]],
        ),
        unknown("Figure 2", "the region for three answers", "drawn below", lives),
    ]


def _mixtures() -> tuple[int, bool]:
    """Drawn priors in the region, and whether weights and corners agree on every one."""
    draw = random.Random(4)
    phi = tight.constraints(tight.two_counts(1), HALF)
    ends = tight.corners(phi)
    inside, agree = 0, True
    for _ in range(200):
        prior = drawn(4, draw)
        mixture = [w * sum(row) for w, row in zip(tight.weights(prior, phi), phi, strict=True)]
        rebuilt = [
            sum(m * corner[i] for m, corner in zip(mixture, ends, strict=True)) for i in range(4)
        ]
        held = tight.regular(prior, phi)
        agree &= rebuilt == prior and sum(mixture) == 1 and held == (min(mixture) >= 0)
        inside += held
    return inside, agree


def _utility() -> list[Row]:
    draw, gaps, above = random.Random(5), [], 0
    phi, epsilon = tight.constraints(tight.line(5), HALF), math.log(2)
    priors = [drawn(5, draw) for _ in range(30)]
    for prior in (*priors, *(tight.mixed(prior, phi) for prior in priors)):
        bound = float(tight.utility_bound(prior, phi))
        weights = np.diag(np.array(prior, dtype=np.float64))
        gap = -solve(levels(5), epsilon, -weights) - bound
        if tight.regular(prior, phi):
            gaps.append(abs(gap))
        else:
            above += gap > 1e-9
    return [
        claim(
            "Theorem 1",
            "no mechanism names the answer more often than Σ y for a regular prior",
            f"five answers in a row, {len(gaps)} drawn regular priors: the best of all mechanisms "
            f"is at Σ y; for {above} of {60 - len(gaps)} others it is above",
            HERE + "tight.py",
            true=bool(gaps) and max(gaps) < 1e-6 and above > 0,
            printed="Σ y",
        )
    ]


def _leakage() -> list[Row]:
    lives, at = HERE + "regions.py", regions.leak(0.5)
    most = of_discrete(2, HALF)[0]
    by_programme = [
        (capacities(cube(bits), math.log(2)).multiplicative, float(most**bits))
        for bits in (1, 2, 3)
    ]
    by_programme.append(
        (capacities(discrete(4), 0.5).multiplicative, 2 ** regions.any_prior(0.5, 1, 4))
    )
    start = regions.regular_from(regions.PRIOR)
    why = (
        "regular iff exp(ε) ≥ 2, that is ε ≥ ln 2; below it Σ y is no bound: at ε = .5 five people "
        f"may leak {at.possible:.2f} bits"
    )
    return [
        claim(
            "Theorem 2",
            "bits leaked by u people of v values, over all priors",
            "equal to the optimum of linear programmes over all mechanisms (u ≤ 3 with v = 2, "
            "u = 1 with v = 4)",
            lives,
            true=all(abs(ours - formula) < 1e-6 for ours, formula in by_programme),
            printed="u log₂(v exp ε / (v-1+exp ε))",
        ),
        number(
            "Example 3",
            "five people, four values, ε = .5: over all priors, bits",
            "2.5",
            at.any_prior,
            lives,
        ),
        number(
            "Example 3",
            "for the prior .3, .27, .23, .2: bits by the formula",
            "1.2",
            at.bound,
            lives,
        ),
        number("Example 3", "that prior is regular from ε =", "0.48", start, lives, why),
        unknown(
            "Figure 4", "both bounds as curves of ε", "drawn below, with what is possible", lives
        ),
    ]


def _tight() -> list[Row]:
    lives = HERE + "tight.py"
    same = all(
        tight.tight(tight.constraints(tight.line(size), ratio)) == geometric(size, ratio)
        for size in (2, 3, 6)
        for ratio in (HALF, Fraction(9, 10))
    )
    pair = geometric(3, HALF)
    steps = [
        [abs(a - c) + abs(b - d) for c in range(3) for d in range(3)]
        for a in range(3)
        for b in range(3)
    ]
    product = tight.tight(tight.constraints(steps, HALF)) == side_by_side(pair, pair)
    draw, phi = random.Random(6), tight.constraints(tight.two_counts(1), HALF)
    reached = [
        tight.named_rightly(prior, tight.tight(phi)) == tight.utility_bound(prior, phi)
        for prior in (tight.mixed(drawn(4, draw), phi) for _ in range(40))
    ]
    return [
        claim(
            "Definition 7; Proposition 7; Lemma 3",
            "tight-constraints mechanism: phi z = 1; on a line it is the geometric one",
            "equal to the product's own law on 2, 3 and 6 levels, entry by entry; on a lattice it "
            "is that on each coordinate",
            lives,
            true=same and product,
        ),
        claim(
            "Theorem 3",
            "it reaches Σ y for every regular prior",
            f"two counts over one person: equal for {len(reached)} drawn regular priors",
            lives,
            true=bool(reached) and all(reached),
        ),
    ]


def _study() -> list[Row]:
    lives, total, counts = HERE + "regions.py", regions.total(), regions.counts()
    six = regions.total(values=6).least_epsilon()
    return [
        number(
            "Section 6",
            f"{total.name} (v = 5 values): least ε of the tight mechanism",
            "0.8",
            total.least_epsilon(),
            lives,
        ),
        number(
            "Section 6",
            f"{counts.name}: least ε",
            "0.9",
            counts.least_epsilon(),
            lives,
            "1.444 over two people (exp(-ε) = √5 - 2, by hand), 1.14 from five people on; with "
            "values 0 to 5 the sum would need "
            f"{six:.2f}. The reading of “two counts” is the one that Figure 3 shows",
        ),
        *(
            unknown(
                f"Figure {figure}",
                f"{study.name}: how often the answer is named rightly",
                f"at ε = {epsilon} tight {study.utility(epsilon):.3f}, geometric "
                f"{study.geometric(epsilon):.3f}; drawn below",
                lives,
            )
            for figure, study, epsilon in ((5, total, 1.0), (6, counts, 1.3))
        ),
    ]
