"""Refinement, and where no mechanism is best for everybody.

A mechanism *refines* to another if the other can be made from it by forgetting: one more channel
after it, which knows nothing of the secret. Then nobody is served worse by the first.

A consumer is a table of gains, `gains[guess][secret]`, with a uniform prior (any other prior is
in the table). What a mechanism serves is linear in the mixture of posteriors it leaves, so the
best of all mechanisms of a type is one of its kernels; and a mechanism serves two consumers as
well as any could only if some kernel does. If the best kernels for the one and those for the
other have none in common, no mechanism is universally optimal. Kernels themselves never refine to
one another: their posteriors are extreme.
"""

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np
from scipy.optimize import nnls

from simulations.papers.capacities import Floats
from simulations.papers.exact import Matrix, geometric, inverse, times
from simulations.papers.kernels import Integers, kernels, mechanism, powers
from simulations.papers.vertices import Distances, lattice, manhattan, vertices

Gains = list[list[int]]


def remap(finer: Matrix, coarser: Matrix) -> Matrix:
    """The channel that makes the one from the other. Precondition: `finer` has an inverse."""
    return times(inverse(finer), coarser)


def refines(finer: Matrix, coarser: Matrix) -> bool:
    """Whether that channel is one: it has no negative entry. Its rows add up to one anyway."""
    return all(entry >= 0 for row in remap(finer, coarser) for entry in row)


def served(channel: Matrix, gains: Gains) -> Fraction:
    """What a consumer expects to gain, with a uniform prior and the best guess for each output."""
    expected = (
        max(sum((g * p for g, p in zip(guess, column, strict=True)), Fraction()) for guess in gains)
        for column in zip(*channel, strict=True)
    )
    return sum(expected, Fraction()) / len(channel)


def best(mechanisms: Sequence[Matrix], gains: Gains) -> set[int]:
    """The kernels that serve a consumer best, by number."""
    found = [served(channel, gains) for channel in mechanisms]
    return {number for number, value in enumerate(found) if value == max(found)}


def of_type(distances: Distances) -> list[Matrix]:
    """All kernels of a type at exp(epsilon) = 2."""
    columns = powers(vertices(distances))
    return [mechanism(columns, weights) for weights in kernels(columns)]


def naming(size: int) -> Gains:
    """To name the secret itself."""
    return [[int(guess == secret) for secret in range(size)] for guess in range(size)]


def telling(holds: Callable[[int], bool], size: int, found: int = 1) -> Gains:
    """To tell whether something holds of the secret; it may be worth more to find that it does."""
    return [
        [int(not holds(secret)) for secret in range(size)],
        [found * int(holds(secret)) for secret in range(size)],
    ]


def near(size: int, draw: random.Random) -> Gains:
    """To guess a level of a line: the farther off, the less; how much less, and for whom, drawn."""
    loss = sorted(draw.sample(range(1, 60), size - 1))
    weight = [draw.randint(1, 20) for _ in range(size)]
    return [
        [-w * [0, *loss][abs(guess - secret)] for secret, w in enumerate(weight)]
        for guess in range(size)
    ]


def on_a_line(size: int, consumers: int, seed: int = 1) -> tuple[int, bool]:
    """How many kernels a line has, and whether the geometric one is best for all who guess near."""
    made, draw = of_type(manhattan(lattice(size))), random.Random(seed)
    ours = geometric(size, Fraction(1, 2))
    drawn = [near(size, draw) for _ in range(consumers)]
    return len(made), all(
        served(ours, gains) == max(served(channel, gains) for channel in made) for gains in drawn
    )


def odd_one_out(size: int = 3) -> tuple[Fraction, Fraction]:
    """What geometric noise serves a consumer whom it does not serve best, and what the best does.

    The question is whether the level is the very middle.
    """
    made = of_type(manhattan(lattice(size)))
    gains = telling(lambda level: level == size // 2, size, found=size - 1)
    ours = served(geometric(size, Fraction(1, 2)), gains)
    return ours, max(served(channel, gains) for channel in made)


def impossible(bits: int = 2) -> tuple[set[int], set[int]]:
    """The best kernels of the cube for who names the database, and for who asks its parity."""
    made = of_type(manhattan(lattice(*[2] * bits)))
    size = len(made[0])
    parity = telling(lambda database: database.bit_count() % 2 == 1, size)
    return best(made, naming(size)), best(made, parity)


def left_over(channel: Floats, columns: Integers) -> float:
    """What mixtures of vertices cannot make up of a mechanism's posteriors: nothing, if private."""
    vertices_of = columns.astype(np.float64)
    return max(float(nnls(vertices_of, column)[1]) for column in channel.T)


def none_refines_to_another(distances: Distances) -> bool:
    """Whether kernels are each for themselves: each has a posterior that another lacks."""
    held = [
        {tuple(entry / sum(column) for entry in column) for column in zip(*made, strict=True)}
        for made in of_type(distances)
    ]
    return all(not one <= other for one, other in permutations(held, 2))
