"""Capacities of privacy types: the most that *any* private mechanism could tell.

A privacy type is a set of secrets and a metric on it; its mechanisms are all channels whose
rows keep the odds of the metric. The multiplicative capacity is the largest sum of a channel's
column maxima, the additive one what the smallest sum of column minima lacks to 1. In both,
columns with their extreme in the same row can be added up to one column and nothing is lost;
so a channel with as many columns as rows suffices, with its extremes on the diagonal, and the
capacity is the optimum of a linear programme.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PrivacyType:
    """Secrets and the distances between them; the smallest positive ones decide the rest."""

    name: str
    distances: Floats
    """distances[secret, secret]"""

    @property
    def size(self) -> int:
        """How many secrets there are."""
        return len(self.distances)

    def neighbours(self) -> list[tuple[int, int]]:
        """Ordered pairs whose odds imply those of all others: no third secret lies between."""
        d = self.distances
        same = np.eye(self.size, dtype=bool)
        elsewhere = ~(same[:, np.newaxis] | same[np.newaxis])  # [x, y, z]: z is neither
        on_the_way = np.isclose(d[:, np.newaxis] + d[np.newaxis], d[..., np.newaxis])
        found = ~(same | (elsewhere & on_the_way).any(axis=2))
        return [(int(x), int(y)) for x, y in np.argwhere(found)]


def of_points(name: str, points: Floats) -> PrivacyType:
    """The Manhattan metric on points."""
    return PrivacyType(name, np.abs(points[:, np.newaxis] - points).sum(axis=2))


def line(size: int) -> PrivacyType:
    """So many levels in a row: what a single query answers."""
    return of_points(f"line of {size}", np.arange(size, dtype=float)[:, np.newaxis])


def euclidean(rows: int, columns: int) -> PrivacyType:
    """Points of a lattice as the crow flies."""
    points = np.array([*product(range(rows), range(columns))], dtype=float)
    apart = np.sqrt(((points[:, np.newaxis] - points) ** 2).sum(axis=2))
    return PrivacyType(f"Euclidean grid {rows} × {columns}", apart)


def discrete(size: int) -> PrivacyType:
    """So many secrets, all at distance one: standard and local differential privacy."""
    return PrivacyType(f"discrete, {size}", 1.0 - np.eye(size))


def grid(rows: int, columns: int) -> PrivacyType:
    """Points of a lattice under the Manhattan metric."""
    points = np.array([*product(range(rows), range(columns))], dtype=float)
    return of_points(f"grid {rows} × {columns}", points)


def cube(dimension: int) -> PrivacyType:
    """Databases of so many bits under the Hamming distance."""
    points = np.array([*product(range(2), repeat=dimension)], dtype=float)
    return of_points(f"Hamming cube of {dimension} bits", points)


@dataclass(frozen=True)
class Capacities:
    """Of one privacy type."""

    multiplicative: float
    additive: float


def capacities(of: PrivacyType, epsilon: float) -> Capacities:
    """Both, each by a linear programme over all channels of the type."""
    eye = np.eye(of.size)
    largest = -solve(of, epsilon, -eye)
    smallest = solve(of, epsilon, eye)
    return Capacities(largest, 1 - smallest)


def solve(of: PrivacyType, epsilon: float, cost: Floats) -> float:
    """The least `sum of cost * channel` over the channels of a type."""
    found = linprog(
        cost.ravel(),
        A_ub=promises(of, epsilon, cost.shape[1]),
        b_ub=np.zeros(len(of.neighbours()) * cost.shape[1]),
        A_eq=np.kron(np.eye(of.size), np.ones(cost.shape[1])),
        b_eq=np.ones(of.size),
        method="highs",
    )
    if found.status:
        raise ArithmeticError(found.message)
    return float(found.fun)


def promises(of: PrivacyType, epsilon: float, outputs: int) -> coo_array:
    """`channel[x, z] - exp(epsilon * d(x, y)) * channel[y, z] <= 0` for neighbours x, y."""
    pairs = np.array(of.neighbours())
    first, second = pairs[:, :1] * outputs, pairs[:, 1:] * outputs
    outputs_of = np.arange(outputs)
    rows = np.arange(len(pairs) * outputs)
    odds = np.exp(epsilon * of.distances[pairs[:, 0], pairs[:, 1]])
    entries = np.concatenate([np.ones(len(rows)), np.repeat(-odds, outputs)])
    columns = np.concatenate([(first + outputs_of).ravel(), (second + outputs_of).ravel()])
    shape = (len(rows), of.size * outputs)
    return coo_array((entries, (np.concatenate([rows, rows]), columns)), shape=shape)


def of_channel(channel: Floats) -> Capacities:
    """Of one mechanism, `channel[secret, output]`."""
    return Capacities(float(channel.max(axis=0).sum()), float(1 - channel.min(axis=0).sum()))


def of_line(levels: int, ratio: Fraction) -> tuple[Fraction, Fraction]:
    """Both, exactly: of levels in a row, `ratio` being exp(-epsilon)."""
    most = (2 + (levels - 2) * (1 - ratio)) / (1 + ratio)
    half, odd = divmod(levels, 2)
    least = ratio**half if odd else 2 * ratio**half / (1 + ratio)
    return most, 1 - least


def of_discrete(size: int, ratio: Fraction) -> tuple[Fraction, Fraction]:
    """Both, exactly: of secrets that are all at distance one.

    The one is that of a mechanism which raises a single secret in every output, the other of
    one that lowers a single secret.
    """
    return size / (1 + (size - 1) * ratio), 1 - size * ratio / (size - 1 + ratio)


def of_cube(bits: int, ratio: Fraction) -> tuple[Fraction, Fraction]:
    """Both, exactly: of so many bits, each released by itself."""
    most, gained = of_discrete(2, ratio)
    return most**bits, 1 - (1 - gained) ** bits


def drawn(of: PrivacyType, epsilon: float, random: np.random.Generator) -> Floats:
    """A private mechanism: columns that decay from a centre, some of them negated, then a rest."""
    columns = []
    for _ in range(2 * of.size):
        centre = random.integers(of.size)
        decay = np.exp(-epsilon * of.distances[centre])
        columns.append(random.random() * (decay if random.random() < 0.5 else 1 / decay))
    made = np.array(columns).T
    made /= 2 * made.sum(axis=1).max()
    rest = 1 - made.sum(axis=1, keepdims=True)
    return np.column_stack([made, rest])
