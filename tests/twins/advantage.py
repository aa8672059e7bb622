"""What the best attacker reaches, by fractions: every output of every draw, one by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from meteragent.privacy.mechanism import matrix
from tests.twins.joint import chance

if TYPE_CHECKING:
    from collections.abc import Sequence


def success(stories: Sequence[tuple[int, ...]], top: int, alphas: Sequence[Fraction]) -> Fraction:
    """How often the likeliest story is the right one, all being as likely before.

    `stories[story][output]`, each output with clamped noise of its own, of its own alpha.
    """
    laws = [matrix(top, alpha) for alpha in alphas]
    outputs = product(range(top + 1), repeat=len(alphas))
    best = (
        max(
            prod(law[y][z] for law, y, z in zip(laws, story, released, strict=True))
            for story in stories
        )
        for released in outputs
    )
    return sum(best, Fraction(0)) / Fraction(len(stories))


def joint_success(moves: Sequence[int], alpha: Fraction, reach: int) -> tuple[Fraction, Fraction]:
    """The same of two stories in one joint draw: between these, for how far it looks."""
    seen = Fraction(0)
    here = there = Fraction(0)
    for noise in product(range(-reach, reach + 1), repeat=len(moves)):
        one = chance(alpha, noise)
        other = chance(alpha, [z - move for z, move in zip(noise, moves, strict=True)])
        seen += max(one, other)
        here, there = here + one, there + other
    return seen / 2, (seen + (1 - here) + (1 - there)) / 2
