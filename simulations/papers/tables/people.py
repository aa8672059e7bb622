"""Rows of the first paper, continued: optimal noise, values of people, dates, television."""

from fractions import Fraction
from typing import Any

import numpy as np

from simulations.papers import dates, manhattan
from simulations.papers.refinement import impossible
from simulations.papers.row import Row, Verdict, claim, number, unknown

HERE = "simulations/papers/"
EPSILON = 0.3


def optimality(draw: np.random.Generator) -> list[Row]:
    """For which queries there is a best mechanism."""
    gap = manhattan.optimality_gap(7, EPSILON, 20, draw)
    names, asks = impossible()
    return [
        claim(
            "Theorem 8; Theorem 10",
            "geometric noise is universally optimal for uniformly sensitive queries",
            "7 levels, 20 drawn priors: linear programmes over all mechanisms find nothing "
            f"better by more than {max(gap, 1e-9):.0e}",
            HERE + "manhattan.py; tests/laws/test_optimality.py",
            true=gap < 1e-6,
        ),
        claim(
            "Theorem 9",
            "(Brenner, Nissim) no optimum for queries that are not counts",
            "databases of two bits: the best kernels for two consumers have none in common",
            HERE + "refinement.py",
            true=not names & asks,
        ),
    ]


def values(draw: np.random.Generator) -> list[Row]:
    """Sums, averages and percentiles under the two Manhattan metrics."""
    lives, names = HERE + "manhattan.py", ", ".join(manhattan.QUERIES)
    found = {
        metric: [manhattan.found(asked, metric) for asked in manhattan.QUERIES.values()]
        for metric in ("normalised", "manhattan", "hamming")
    }
    loose = manhattan.found(manhattan.average, "manhattan")
    fixed = manhattan.found(manhattan.average, "manhattan", absent=False)
    gap = manhattan.optimality_gap(2 * manhattan.TOP + 1, EPSILON / manhattan.TOP, 10, draw)
    return [
        claim(
            "Proposition 2; Proposition 3; Proposition 4; Proposition 5",
            "normalised Manhattan: sum, average and percentiles are uniformly qk-sensitive (which "
            "proposition is which is not at hand)",
            f"{names}: sensitivity k = {manhattan.TOP} steps, uniform; under Hamming the same "
            "sensitivity, none uniform (all pairs of 64 databases, people may be absent)",
            lives,
            true={*found["normalised"]} == {manhattan.Found(Fraction(manhattan.TOP), uniform=True)}
            and {*found["hamming"]} == {manhattan.Found(Fraction(manhattan.TOP), uniform=False)},
            printed="qk",
        ),
        claim(
            "Theorem 11",
            "hence geometric noise of ε / qk per unit is optimal for them",
            f"a sum over two homes, 10 drawn priors: within {max(gap, 1e-9):.0e} of the best",
            lives,
            true=gap < 1e-6,
        ),
        claim(
            "Theorem 12",
            "Manhattan: the same queries are uniformly 1-sensitive",
            f"{names}: sensitivity 1, uniform. On the grid: an unrounded average is not uniform "
            f"({loose.sensitivity}), and is {fixed.sensitivity}-sensitive where nobody may be "
            "absent",
            lives,
            true={*found["manhattan"]} == {manhattan.Found(Fraction(1), uniform=True)}
            and not loose.uniform
            and fixed.sensitivity == Fraction(1, manhattan.PEOPLE),
            printed="1",
        ),
    ]


def groups() -> Row:
    """The same over homes, each with a window of readings."""
    made = [manhattan.group(asked) for asked in manhattan.GROUP_QUERIES]
    return claim(
        "Theorem 12",
        "over groups: homes are people, windows their values, d∞ home by home, summed",
        f"{', '.join(manhattan.GROUP_QUERIES)} of the sum of 2 homes: sensitivity 1, uniform "
        "(all pairs of 81 states)",
        HERE + "manhattan.py",
        true={*made} == {manhattan.Found(Fraction(1), uniform=True)},
    )


def earliest() -> list[Row]:
    """Registration dates."""
    lives, days = HERE + "dates.py", 4
    any_date, near = dates.settings(1.0)
    standard, by_metric = dates.sensitivities(days=days)
    far, close = any_date.within(0.95), near.within(0.95)
    return [
        number(
            "Example 1",
            "the earliest of dates within 5,000 days: sensitivity under d_h",
            "5,000",
            float(standard) / days * dates.DAYS,
            lives,
        ),
        number("Example 1", "and under d₁", "1", float(by_metric), lives),
        unknown(
            "Figure 3",
            "usefulness of the two promises, curves",
            f"at ε = 1, 19 of 20 answers are off by at most {far:,.0f} days, which is longer than "
            f"the whole range, and by {close:.1f} days: a factor of {far / close:,.0f}; drawn "
            "below",
            lives,
        ),
    ]


def television(measured: dict[str, Any]) -> Row:
    """The noisy signature: what is measured against what is said of it."""
    half, tenth = measured["measured"][:2]
    told = ", ".join(
        f"{one['by_correlation']['share']:.0%} by correlation and "
        f"{one['by_likelihood']['share']:.0%} by likelihood at ε = {one['epsilon_per_watt']}"
        for one in (half, tenth)
    )
    less = half["by_correlation"]["low"] > tenth["by_correlation"]["high"]
    return Row(
        ("Example 2",),
        "the noisy signature of a film",
        measured["printed"],
        f"ε = .5 is less noise than ε = .1, and attackers name it more often: {told} (of "
        f"{measured['contents']} stretches of five minutes)",
        Verdict.DIFFERS if less else Verdict.FAILED,
        HERE + "signature.py",
    )
