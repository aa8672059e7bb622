"""The privacy inequality, checked on every pair of windows and every output, in fractions.

It knows windows, a metric and a law of outputs; nothing of how the product makes them.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Window = tuple[int | None, ...]
"""A level per slot, or None where it is absent."""


class Breach(NamedTuple):
    one: Window
    other: Window
    output: int


def all_windows(slots: int, top: int) -> list[Window]:
    return list(itertools.product((None, *range(top + 1)), repeat=slots))


def public(one: Window, other: Window) -> int | None:
    """The largest move of a reading; other slots absent is another world altogether."""
    moves = [0]
    for a, b in zip(one, other, strict=True):
        if (a is None) != (b is None):
            return None
        if a is not None and b is not None:
            moves.append(abs(a - b))
    return max(moves)


def private(top: int) -> Callable[[Window, Window], int]:
    """The same, but other slots absent is as far as the whole range and no farther."""

    def distance(one: Window, other: Window) -> int:
        near = public(one, other)
        return top if near is None else near

    return distance


def together(rows: Iterable[Sequence[Fraction]]) -> list[Fraction]:
    """The joint law of independent draws, one row of chances each."""
    return [math.prod(chances, start=Fraction(1)) for chances in itertools.product(*rows)]


def breach(
    law: Mapping[Window, Sequence[Fraction]],
    distance: Callable[[Window, Window], int | None],
    alpha: Fraction,
    draws: Fraction | int = 1,
) -> Breach | None:
    """Some `P(z | x) > alpha**-(draws * d(x, x')) * P(z | x')`, if there is one.

    Both sides are raised to the denominator of `draws`, so that every comparison is exact.
    """
    draws = Fraction(draws)
    for (one, row), (other, other_row) in itertools.permutations(law.items(), 2):
        far = distance(one, other)
        if far is None:
            continue
        factor = alpha ** (draws.numerator * far)
        for output, (p, q) in enumerate(zip(row, other_row, strict=True)):
            if p**draws.denominator * factor > q**draws.denominator:
                return Breach(one, other, output)
    return None
