"""What a promise means to an adversary: hiding functions, and knowing almost everything.

*Hiding.* A person who could have had the secret replaced by `hide(secret)` before it was
looked at asks what the adversary would then have believed. Under a d-private mechanism the two
beliefs differ by a factor of at most `exp(2 d(hide))`, `d(hide)` the farthest that the function
carries a secret; whatever the adversary believed before.

*Informed.* An adversary who knows that the secret is in a neighbourhood learns little: what is
believed afterwards differs from what was believed before by at most `exp(d(N))`, `d(N)` the
neighbourhood's diameter.

Both are suprema over all priors. The quotient of beliefs is a product of two weighted means,
and a mean is largest where all its weight lies on its largest term: so the suprema are maxima
over pairs of secrets, and exact.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from meteragent.privacy.query import Query, answer, query
from simulations.papers.exact import Matrix, Vector, geometric

RATIO = Fraction(1, 2)
"""exp(-epsilon) per level: epsilon = ln 2, at which the papers print their tables."""


@dataclass(frozen=True)
class World:
    """Secrets, how far apart they are, and what a mechanism makes of them."""

    distance: list[list[int]]
    """distance[secret][secret], in levels"""
    answers: list[int]
    """answers[secret]"""
    channel: Matrix
    """channel[secret][released]"""

    @property
    def size(self) -> int:
        """How many secrets there are."""
        return len(self.answers)


def windows(asked: str | Query, slots: int, top: int, ratio: Fraction = RATIO) -> World:
    """All windows of a few slots, as far apart as their readings, seen through the product."""
    levels = np.array([*product(range(top + 1), repeat=slots)], dtype=np.int8)
    asked = query(asked) if isinstance(asked, str) else asked
    answers = [int(level) for level in answer((asked,), levels)[:, 0]]
    law = geometric(top + 1, ratio)
    apart = np.abs(levels[:, np.newaxis] - levels).max(axis=2)
    return World(apart.tolist(), answers, [law[level] for level in answers])


def databases(people: int, ratio: Fraction = RATIO) -> World:
    """People of whom each says yes or no, counted; databases differ by people who differ."""
    rows = [*product(range(2), repeat=people)]
    apart = [[sum(a != b for a, b in zip(x, y, strict=True)) for y in rows] for x in rows]
    law = geometric(people + 1, ratio)
    return World(apart, [sum(row) for row in rows], [law[sum(row)] for row in rows])


def posterior(world: World, prior: Vector, released: int) -> Vector:
    """What is believed of each secret after one release."""
    joint = [p * row[released] for p, row in zip(prior, world.channel, strict=True)]
    return [p / sum(joint) for p in joint]


def hidden(world: World, hide: Sequence[int]) -> World:
    """The world in which every secret is replaced before the mechanism sees it."""
    return World(world.distance, world.answers, [world.channel[h] for h in hide])


def carried(world: World, hide: Sequence[int]) -> int:
    """How far the function carries a secret at most."""
    return max(world.distance[x][h] for x, h in enumerate(hide))


def worst_hiding(world: World, ratio: Fraction = RATIO) -> Fraction:
    """The most that beliefs differ by, over `exp(2 d(hide))`; over every hiding function.

    Two secrets and where they are carried decide it: one that a release makes likelier, and
    one that it makes less likely. All other secrets may stay where they are.
    """
    moves = [(x, h) for x in range(world.size) for h in range(world.size)]
    return max(
        (world.channel[x][z] / world.channel[h][z])
        * (world.channel[k][z] / world.channel[y][z])
        * ratio ** (2 * max(world.distance[x][h], world.distance[y][k]))
        for z in range(len(world.channel[0]))
        for (x, h), (y, k) in product(moves, repeat=2)
        if x != y
    )


def one_person(people: int) -> Iterator[list[int]]:
    """Hiding one person: whatever they said is replaced by one answer, the same for all."""
    rows = [*product(range(2), repeat=people)]
    for person, said in product(range(people), range(2)):
        yield [rows.index((*row[:person], said, *row[person + 1 :])) for row in rows]


def by_hiding(world: World, hide: Sequence[int]) -> Fraction:
    """The most by which hiding changes a belief, over all priors and releases."""
    quotients = [
        [world.channel[x][z] / world.channel[h][z] for x, h in enumerate(hide)]
        for z in range(len(world.channel[0]))
    ]
    return max(max(row) * max(1 / quotient for quotient in row) for row in quotients)


def by_release(world: World, known: Sequence[int]) -> Fraction:
    """The most by which a release changes a belief of somebody who knows the neighbourhood."""
    columns = [[world.channel[x][z] for x in known] for z in range(len(world.channel[0]))]
    return max(max(column) / min(column) for column in columns)


def neighbourhoods(world: World) -> Iterator[tuple[int, ...]]:
    """Every set of two secrets and more."""
    for size in range(2, world.size + 1):
        yield from combinations(range(world.size), size)


def diameter(world: World, known: Sequence[int]) -> int:
    """How far apart two secrets of a neighbourhood can be."""
    return max(world.distance[x][y] for x, y in combinations(known, 2))
