"""Lower bounds on error, beside the least error that any private mechanism can have.

Both bounds speak of worlds that are pairwise at distance one, so that no event may be more
than `exp(epsilon)` times as likely in one of them as in another, but for a chance of `delta`.

*Two worlds whose answers lie `diam` apart.* No output is within `diam / 2` of both answers; so in
one world the answer misses by `diam / 2` with a chance of at least `(1 - delta) / (1 +
exp(epsilon))`, and its expected error is at least `diam / 2` times that.

*`m + 1` worlds whose answers lie at least `kappa` apart.* In one of them the answer is wrong with
a chance of at least `(1 - delta) m / (m + exp(epsilon))`.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_array, block_diag, coo_array, eye_array, kron

from simulations.papers.capacities import Floats, PrivacyType, discrete, promises


def least_worst_loss(of: PrivacyType, epsilon: float, loss: Floats, failing: float = 0.0) -> float:
    """The smallest loss that a mechanism can have in its worst world, `loss[world, output]`.

    Two kinds of unknowns more than the mechanism's entries: by how much an output breaks the
    odds of two worlds, which may add up to `failing` over outputs, and the worst loss itself,
    which is made as small as it can be.
    """
    worlds, outputs = loss.shape
    private = promises(of, epsilon, outputs)
    pairs, entries = private.shape[0] // outputs, worlds * outputs
    expected = block_diag([row[np.newaxis] for row in loss])
    found = linprog(
        np.append(np.zeros(entries + pairs * outputs), 1.0),
        A_ub=block_array(
            [
                [private, -eye_array(pairs * outputs), None],
                [None, kron(eye_array(pairs), np.ones((1, outputs))), None],
                [expected, None, -np.ones((worlds, 1))],
            ]
        ),
        b_ub=np.concatenate([np.zeros(pairs * outputs), np.full(pairs, failing), np.zeros(worlds)]),
        A_eq=block_array(
            [
                [
                    kron(eye_array(worlds), np.ones((1, outputs))),
                    coo_array((worlds, pairs * outputs + 1)),
                ]
            ]
        ),
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

    @property
    def slack(self) -> float:
        """How many times what is possible is of what is printed."""
        return self.possible / self.printed


def by_diameter(epsilon: float, diameter: int = 10, failing: float = 0.0) -> tuple[Bound, Bound]:
    """The expected error, and the chance to miss by half the diameter."""
    answers, outputs = np.array([[0.0], [diameter]]), np.arange(diameter + 1.0)
    error = np.abs(answers - outputs)
    two, printed = discrete(2), (1 - failing) / (1 + math.exp(epsilon))
    missed = (error >= diameter / 2).astype(np.float64)
    return (
        Bound(
            f"expected error, diam {diameter}",
            epsilon,
            diameter / 2 * printed,
            least_worst_loss(two, epsilon, error, failing),
        ),
        Bound(
            "chance to miss by diam / 2",
            epsilon,
            printed,
            least_worst_loss(two, epsilon, missed, failing),
        ),
    )


def by_number(epsilon: float, others: int, failing: float = 0.0) -> Bound:
    """The chance of a wrong answer among `others + 1`."""
    return Bound(
        f"chance of a wrong answer, m = {others}",
        epsilon,
        (1 - failing) * others / (others + math.exp(epsilon)),
        least_worst_loss(discrete(others + 1), epsilon, 1 - np.eye(others + 1), failing),
    )
