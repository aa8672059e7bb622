"""Lower bounds on error, beside the least error that any private mechanism can have.

Both bounds speak of worlds that are pairwise at distance one, so that no output may be more
than `exp(epsilon)` times as likely in one of them as in another.

*Two worlds whose answers lie `diam` apart.* No output is within `diam / 2` of both answers; so in
one world the answer misses by `diam / 2` with probability at least `1 / (1 + exp(epsilon))`, and
its expected error is at least `diam / (2 (1 + exp(epsilon)))`.

*`m + 1` worlds with different answers.* In one of them the answer is wrong with probability at
least `m / (m + exp(epsilon))`.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_array, block_diag, coo_array

from simulations.papers.capacities import Floats, PrivacyType, discrete, promises


def least_worst_loss(of: PrivacyType, epsilon: float, loss: Floats) -> float:
    """The smallest loss that a mechanism can have in its worst world, `loss[world, output]`.

    One more unknown, the worst loss itself, is made as small as it can be.
    """
    worlds, outputs = loss.shape
    private = promises(of, epsilon, outputs)
    expected = block_diag([row[np.newaxis] for row in loss])
    nothing = coo_array((private.shape[0], 1))
    found = linprog(
        np.append(np.zeros(worlds * outputs), 1.0),
        A_ub=block_array([[private, nothing], [expected, -np.ones((worlds, 1))]]),
        b_ub=np.zeros(private.shape[0] + worlds),
        A_eq=np.pad(np.kron(np.eye(worlds), np.ones(outputs)), ((0, 0), (0, 1))),
        b_eq=np.ones(worlds),
        method="highs",
    )
    if found.status:
        raise ArithmeticError(found.message)
    return float(found.fun)


@dataclass(frozen=True)
class Bound:
    """A printed bound, and what is possible."""

    what: str
    epsilon: float
    printed: float
    possible: float

    @property
    def holds(self) -> bool:
        """Whether no mechanism does better than the bound allows."""
        return self.possible >= self.printed - 1e-9


def by_diameter(epsilon: float, diameter: int = 10) -> list[Bound]:
    """The expected error, and the chance to miss by half the diameter."""
    answers, outputs = np.array([[0.0], [diameter]]), np.arange(diameter + 1.0)
    error = np.abs(answers - outputs)
    two, printed = discrete(2), 1 / (1 + math.exp(epsilon))
    missed = (error >= diameter / 2).astype(np.float64)
    return [
        Bound(
            f"expected error, diam {diameter}",
            epsilon,
            diameter / 2 * printed,
            least_worst_loss(two, epsilon, error),
        ),
        Bound(
            "chance to miss by diam / 2", epsilon, printed, least_worst_loss(two, epsilon, missed)
        ),
    ]


def by_number(epsilon: float, others: int) -> Bound:
    """The chance of a wrong answer among `others + 1`."""
    return Bound(
        f"chance of a wrong answer, m = {others}",
        epsilon,
        others / (others + math.exp(epsilon)),
        least_worst_loss(discrete(others + 1), epsilon, 1 - np.eye(others + 1)),
    )
