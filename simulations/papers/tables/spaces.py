"""Rows of the second paper: sanitisation in metric spaces, with a chance of failing."""

from fractions import Fraction

from simulations.papers import bounds, sanitisation
from simulations.papers.exact import delta
from simulations.papers.row import Row, claim, outside, unknown

HERE = "simulations/papers/"
ODDS = Fraction(2)
FAILING = Fraction(1, 10)
EPSILONS = (0.1, 0.6931471805599453, 1.0, 2.0)
FAILINGS = (0.0, 0.1, 0.3)


def rows() -> list[Row]:
    """In the paper's order."""
    return [
        *_sanitisation(),
        *_examples(),
        *_bounds(),
        outside("Example 4", "functional data", "what is released is finite"),
        unknown(
            "Theorem 1; Theorem 2; Lemma 1; Lemma 2; Example 1; Example 2; Example 3",
            "wording not noted",
            "nothing to compute from",
        ),
    ]


def _sanitisation() -> list[Row]:
    lives = HERE + "sanitisation.py"
    one, other = [Fraction(1, 4)] * 4, [Fraction(1, 16)] * 3 + [Fraction(13, 16)]
    single = sanitisation.by_outputs(one, other, ODDS)
    events = sanitisation.by_events(one, other, ODDS)
    laws = [sanitisation.categories(others, ODDS, FAILING) for others in (1, 2, 3)]
    asked = [sanitisation.worst_query(law, ODDS) for law in laws]
    small = sanitisation.categories(2, ODDS, FAILING)
    factor = sanitisation.least_delta(small, ODDS)
    products = [sanitisation.delta_of_neighbours(small, count, ODDS) for count in (1, 2, 3)]
    exact = sanitisation.categories(2, ODDS)
    both = sanitisation.delta_of_neighbours(exact, 2, ODDS, apart=2)
    squared = sanitisation.delta_of_neighbours(exact, 2, ODDS**2, apart=2)
    return [
        claim(
            "Theorem 3",
            "sufficient sets: an algebra of events decides; with δ > 0 single outputs do not",
            f"two laws on 4 outputs: δ = {single} by outputs, {events} by events",
            lives,
            true=single < events == delta(one, other, ODDS),
        ),
        claim(
            "Theorem 4; Corollary 1",
            "identity query: what is asked of a sanitised database is as private as the database",
            f"every query with two answers on 2, 3 and 4 categories: δ at most {max(asked)}, that "
            "of the sanitisation",
            lives,
            true=set(asked) == {FAILING},
        ),
        claim(
            "Lemma 3; Theorem 5",
            "product sanitisation keeps the promise of its factor, and no better",
            f"1, 2 and 3 rows: δ = {', '.join(map(str, products))} at the factor's ε; where both "
            f"of two rows differ, δ = {both} at ε and {squared} at 2 ε",
            lives,
            true={factor, *products} == {FAILING} and both > 0 == squared,
        ),
    ]


def _examples() -> list[Row]:
    lives = HERE + "sanitisation.py"
    epsilon, failing = 1.0, 0.1
    scale = sanitisation.laplace_scale(1, epsilon, failing)
    least = sanitisation.least_laplace_scale(1, epsilon, failing)
    needed = sanitisation.laplace_delta(1, epsilon, scale)
    reached = sanitisation.laplace_delta(1, epsilon, least)
    made = [
        (others, failing, sanitisation.categories(others, ODDS, failing))
        for others in (1, 2, 4)
        for failing in (Fraction(), FAILING)
    ]
    tight = all(
        sanitisation.least_delta(law, ODDS) == failing
        and sanitisation.least_delta(law, ODDS * Fraction(99, 100)) > failing
        for _, failing, law in made
    )
    errors = all(
        1 - law[0][0] == (1 - failing) * others / (others + ODDS) for others, failing, law in made
    )
    return [
        claim(
            "Example 5",
            "Laplace noise of this scale is (ε, δ)-private",
            f"diam 1, ε = 1, δ = .1: {scale:.4f} asks for δ = {needed:.4f} only; the least scale "
            f"is diam / (ε - 2 ln(1-δ)) = {least:.4f}. Releases of meters keep δ = 0",
            lives,
            true=needed <= failing and abs(reached - failing) < 1e-12,
            printed="diam / (ε - ln(1-δ))",
        ),
        claim(
            "Example 6; Example 7",
            "m + 1 categories: chance of each wrong one, and of any; no smaller one is private",
            "m = 1, 2, 4, exp(ε) = 2, δ = 0 and .1: exactly these, and tight",
            lives,
            true=tight and errors,
            printed="(1-δ) / (m+exp ε), (1-δ) m / (m+exp ε)",
        ),
    ]


def _bounds() -> list[Row]:
    lives, grid = HERE + "bounds.py", [(e, f) for e in EPSILONS for f in FAILINGS]
    diameters = [bounds.by_diameter(epsilon, failing=failing) for epsilon, failing in grid]
    wrong = [
        bounds.by_number(epsilon, others, failing)
        for epsilon, failing in grid
        for others in (1, 2, 4)
    ]
    error = [pair[0].slack for pair in diameters]
    missed = [pair[1].slack for pair in diameters]
    number = [one.slack for one in wrong]
    at = f"ε = .1, ln 2, 1, 2; δ = {', '.join(f'{f:g}' for f in FAILINGS)}; linear programmes"
    return [
        claim(
            "Lemma 4",
            "the chance to miss by half the diameter in some world",
            f"{at}: reached",
            lives,
            true=_all_near(missed, 1),
            printed="(1-δ) / (1+exp ε)",
        ),
        claim(
            "Theorem 6",
            "the expected error in some world",
            f"{at}: holds, and so does twice as much",
            lives,
            true=_all_near(error, 2),
            printed="(1-δ) diam / (2 (1+exp ε))",
        ),
        claim(
            "Theorem 7",
            "the expected error among m + 1 worlds κ apart",
            f"{at}; m = 1, 2, 4: reached",
            lives,
            true=_all_near(number, 1),
            printed="(1-δ) κ m / (m+exp ε)",
        ),
    ]


def _all_near(values: list[float], target: float) -> bool:
    return all(abs(value - target) < 1e-6 for value in values)
