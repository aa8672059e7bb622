"""The best that any private mechanism could do for two answers, by a linear programme.

Two answers on `k + 1` levels each, every pair as likely as any other, private at epsilon per level
in the larger of their moves. A reader loses how far off their guesses are, added up. A mechanism
that is made for this reader chooses their guesses itself, so its columns are guesses.
"""

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array

from meteragent.explain.reader import absolute, remap
from meteragent.privacy.domain import Domain
from meteragent.privacy.mechanism import TruncatedGeometric

Floats = NDArray[np.float64]
REACH = 60
"""Levels beyond which noise is left out of sums."""


def compared(top: int, epsilon: float) -> dict[str, float]:
    """What this reader loses with each of them."""
    pairs = np.array(list(product(range(top + 1), repeat=2)))
    joint = _joint(pairs, top, epsilon)
    return {
        "optimum": round(optimum(pairs, epsilon), 4),
        "joint": round(_read(joint, pairs), 4),
        "joint_clamped": round(_read(_clamped(joint, top), pairs), 4),
        "independent": round(2 * _independent(top, epsilon / 2), 4),
    }


def optimum(pairs: NDArray[np.int64], epsilon: float) -> float:
    """The programme: rows of chances, of which neighbours' differ by no more than is promised."""
    count = len(pairs)
    cost = np.abs(pairs[:, np.newaxis] - pairs).sum(axis=2) / count
    far = np.abs(pairs[:, np.newaxis] - pairs).max(axis=2)
    one, other = np.nonzero(far == 1)
    rows = np.arange(len(one) * count)
    guess = np.tile(np.arange(count), len(one))
    left, right = (np.repeat(each, count) * count + guess for each in (one, other))
    promise = coo_array(
        (
            np.concatenate([np.ones(len(rows)), np.full(len(rows), -np.exp(epsilon))]),
            (np.tile(rows, 2), np.concatenate([left, right])),
        ),
        shape=(len(rows), count * count),
    )
    whole = coo_array(
        (np.ones(count * count), (np.repeat(np.arange(count), count), np.arange(count * count)))
    )
    best: Any = linprog(
        cost.ravel(),
        A_ub=promise.tocsr(),
        b_ub=np.zeros(len(rows)),
        A_eq=whole.tocsr(),
        b_eq=np.ones(count),
        method="highs",
    )
    return float(best.fun)


def _joint(pairs: NDArray[np.int64], top: int, epsilon: float) -> Floats:
    """chances[pair, one, other] of what is drawn, from `-REACH` on."""
    released = np.arange(-REACH, top + REACH + 1)
    one, other = (np.abs(released - pairs[:, [answer]]) for answer in range(2))
    chances = np.exp(-epsilon * np.maximum(one[:, :, np.newaxis], other[:, np.newaxis]))
    law: Floats = chances / chances.sum(axis=(1, 2), keepdims=True)
    return law


def _clamped(law: Floats, top: int) -> Floats:
    """The same, cut off at the ends of the range, along both answers."""
    for axis in (1, 2):
        law = np.moveaxis(law, axis, 0)
        within = law[REACH : REACH + top + 1].copy()
        within[0] += law[:REACH].sum(axis=0)
        within[-1] += law[REACH + top + 1 :].sum(axis=0)
        law = np.moveaxis(within, 0, axis)
    return law


def _read(law: Floats, pairs: NDArray[np.int64]) -> float:
    """What is lost with the best guess of each answer, given all that was released."""
    flat, levels = law.reshape(len(pairs), -1) / len(pairs), np.arange(pairs.max() + 1)
    lost = 0.0
    for answer in range(2):
        off = np.abs(levels[:, np.newaxis] - pairs[:, answer])
        lost += float((off @ flat).min(axis=0).sum())
    return lost


def _independent(top: int, epsilon: float) -> float:
    mechanism = TruncatedGeometric(Domain(0, top, 1), f"{epsilon:.9f}")
    return remap(mechanism, np.full(top + 1, 1 / (top + 1)), absolute).expected_loss
