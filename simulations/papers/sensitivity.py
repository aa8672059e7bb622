"""Sensitivity, and the uniform kind under which a mechanism on answers is as private as it can be.

A query is D-sensitive if its answer moves by at most D times what the secret moves by. A
mechanism that is private on answers is then D times as private on secrets (Fact 5); but one may
well be private on secrets and not on answers, where no secrets are close enough to show it
(Figure 1). If the query is *uniformly* D-sensitive the two are the same (Theorem 6): any two
answers are joined by a chain whose steps the secrets follow exactly, and which leads straight
from the one to the other.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations

from simulations.papers.exact import Matrix, drawn, geometric

Number = Fraction | int
Metric = Callable[[int, int], Number]
"""How far apart two secrets are, by their places in a list."""


def sensitivity(answers: Sequence[Number], apart: Metric) -> Fraction:
    """By how much an answer moves per unit of the secret, at most."""
    exact = [Fraction(answer) for answer in answers]
    moved: dict[Number, Fraction] = {}
    for x, y in combinations(range(len(exact)), 2):
        far = apart(x, y)
        moved[far] = max(moved.get(far, Fraction()), abs(exact[x] - exact[y]))
    return max(answer / Fraction(far) for far, answer in moved.items() if answer)


def uniformly(answers: Sequence[Number], apart: Metric) -> bool:
    """Whether, at its sensitivity, a tight and expansive chain joins any two answers."""
    factor = sensitivity(answers, apart)
    values = sorted(set(answers))
    holders = {v: [x for x, answer in enumerate(answers) if answer == v] for v in values}
    expansive = {
        (low, high): any(
            factor * apart(x, y) == high - low for x in holders[low] for y in holders[high]
        )
        for low, high in combinations(values, 2)
    }
    for start, low in enumerate(values):
        reached = {low}
        for high in values[start + 1 :]:
            if not any(expansive[middle, high] for middle in reached):
                return False
            reached.add(high)
    return True


def keeps(channel: Matrix, apart: Metric, ratio: Fraction) -> bool:
    """Whether every output is likelier by `ratio**-d` at most. Precondition: `d` is whole."""
    return all(
        p * ratio ** int(apart(x, y)) <= q
        for x, y in permutations(range(len(channel)), 2)
        for p, q in zip(channel[x], channel[y], strict=True)
    )


@dataclass(frozen=True)
class Gap:
    """A mechanism on answers, and whether it is private there and on secrets."""

    on_answers: bool
    on_secrets: bool


def figure_one() -> Gap:
    """Two secrets two levels apart whose answers are one apart, odds of two to one per level.

    An answer is released rightly with 3/4: 3/4 > 2 * 1/4 is no promise on answers, but
    3/4 <= 4 * 1/4 is one on secrets.
    """
    law = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    half = Fraction(1, 2)
    return Gap(keeps(law, lambda x, y: abs(x - y), half), keeps(law, lambda _x, _y: 2, half))


def same_promise(answers: Sequence[int], apart: Metric, ratio: Fraction, seed: int = 1) -> bool:
    """Whether mechanisms, private or nearly so, are private on answers iff on secrets.

    Precondition: answers are 0..top. The mechanisms are the geometric one and what is left of
    it when some of every row is given to another drawn law: so some keep and some do not.
    """
    draw, levels = random.Random(seed), max(answers) + 1
    fair = geometric(levels, ratio)
    kept = []
    for _ in range(100):
        share = Fraction(draw.randint(0, 8), 40)
        law = [
            [(1 - share) * p + share * q for p, q in zip(row, drawn(levels, draw), strict=True)]
            for row in fair
        ]
        on_answers = keeps(law, lambda a, b: abs(a - b), ratio)
        if on_answers != keeps([law[a] for a in answers], apart, ratio):
            return False
        kept.append(on_answers)
    return any(kept) and not all(kept)
