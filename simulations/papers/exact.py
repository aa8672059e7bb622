"""Whole numbers and fractions: matrices small enough to need no rounding anywhere."""

import random
from collections.abc import Iterable, Sequence
from fractions import Fraction

from meteragent.privacy.mechanism import matrix

Vector = list[Fraction]
Matrix = list[Vector]


def geometric(levels: int, ratio: Fraction) -> Matrix:
    """The product's own law on so many levels: `ratio` is exp(-epsilon) per level."""
    return matrix(levels - 1, ratio)


def times(one: Matrix, other: Matrix) -> Matrix:
    """The product of two matrices; of channels, one after the other."""
    columns = list(zip(*other, strict=True))
    return [
        [sum((a * b for a, b in zip(row, column, strict=True)), Fraction()) for column in columns]
        for row in one
    ]


def side_by_side(one: Matrix, other: Matrix) -> Matrix:
    """Independent draws on two secrets: the Kronecker product."""
    return [[a * b for a in row for b in more] for row in one for more in other]


def determinant(of: Matrix) -> Fraction:
    """By elimination."""
    rows, value = [list(row) for row in of], Fraction(1)
    for column in range(len(rows)):
        pivot = next((r for r in range(column, len(rows)) if rows[r][column]), None)
        if pivot is None:
            return Fraction()
        if pivot != column:
            rows[column], rows[pivot] = rows[pivot], rows[column]
            value = -value
        value *= rows[column][column]
        _clear(rows, column, range(column + 1, len(rows)))
    return value


def solved(of: Matrix, right: Sequence[Fraction]) -> Vector:
    """`x` with `of x = right`. Precondition: `of` is square and has an inverse."""
    return [row[0] for row in _eliminated(of, [[value] for value in right])]


def inverse(of: Matrix) -> Matrix:
    """Precondition: it has one."""
    size = range(len(of))
    return _eliminated(of, [[Fraction(row == column) for column in size] for row in size])


def _eliminated(of: Matrix, right: Matrix) -> Matrix:
    size = len(of)
    rows = [[*row, *more] for row, more in zip(of, right, strict=True)]
    for column in range(size):
        pivot = next(r for r in range(column, size) if rows[r][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        _clear(rows, column, (r for r in range(size) if r != column))
    return [row[size:] for row in rows]


def _clear(rows: Matrix, column: int, others: Iterable[int]) -> None:
    """Take the pivot's row, `column`, off the others until they have nothing in its column."""
    pivot = rows[column]
    for other in others:
        if factor := rows[other][column] / pivot[column]:
            rows[other] = [
                value - factor * taken for value, taken in zip(rows[other], pivot, strict=True)
            ]


def drawn(size: int, draw: random.Random) -> Vector:
    """A distribution on so many secrets, none of which is excluded."""
    parts = [draw.randint(1, 50) for _ in range(size)]
    return [Fraction(part, sum(parts)) for part in parts]


def delta(one: Vector, other: Vector, odds: Fraction) -> Fraction:
    """The most by which an event is likelier than `odds` times what it is under the other law."""
    return sum((max(Fraction(), p - odds * q) for p, q in zip(one, other, strict=True)), Fraction())
