"""No private mechanism serves a reader better: linear programmes of `qif` look for one.

A programme chooses every entry of a mechanism on `n` levels, bound by the promise alone, to
make the expected loss of one reader as small as it can be. Its optimum must be what that
reader gets from `TruncatedGeometric` read through `remap`, a mechanism that knows nothing
of the reader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from qif import mechanism as mechanisms
from qif import utility

from meteragent import Domain, TruncatedGeometric
from meteragent.explain.reader import absolute, remap, squared, zero_one
from meteragent.privacy.query import answer, query

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from meteragent.explain.reader import Floats, Loss

EPSILON = 0.3
SOLVED = 1e-6  # the tolerance of the solver


def patient(guess: NDArray[np.int64], truth: NDArray[np.int64]) -> Floats:
    """Two levels off are as good as none, more cost one."""
    loss: Floats = (np.abs(guess - truth) > 2).astype(np.float64)
    return loss


def by_the_truth(guess: NDArray[np.int64], truth: NDArray[np.int64]) -> Floats:
    """High levels matter more."""
    loss: Floats = (1.0 + truth) * np.sqrt(np.abs(guess - truth))
    return loss


LOSSES = [absolute, squared, zero_one, patient, by_the_truth]
PRIORS: dict[str, Callable[[int], Floats]] = {
    "uniform": lambda n: np.full(n, 1 / n),
    "a house at rest": lambda n: 0.5 ** np.arange(n) / (0.5 ** np.arange(n)).sum(),
    "on or off": lambda n: np.where(np.isin(np.arange(n), (0, n - 1)), 0.5, 0.0),
    "drawn": lambda n: np.random.default_rng(n).dirichlet(np.ones(n)),
}


def best_loss(prior: Floats, loss: Loss, epsilon: float) -> float:
    """The least expected loss of any mechanism that is private at `epsilon` per level."""
    cost = loss(*np.indices((prior.size, prior.size)))  # cost[guess, truth]
    return solved(prior, cost.T, lambda x, y: epsilon * abs(x - y))


def solved(prior: Floats, cost: Floats, promise: Callable[[int, int], float]) -> float:
    """The optimum of a programme, `cost[secret, guess]`."""

    def of(secret: int, guess: int) -> float:
        return float(cost[secret, guess])

    best = mechanisms.d_privacy.min_loss_given_d(prior, cost.shape[1], promise, of)
    return float(utility.expected_distance(of, prior, best))


def our_loss(prior: Floats, loss: Loss, epsilon: float = EPSILON) -> float:
    mechanism = TruncatedGeometric(Domain(0, prior.size - 1, 1), f"{epsilon:.9f}")
    return remap(mechanism, prior, loss).expected_loss


@pytest.mark.parametrize("levels", [2, 3, 6, 11])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
@pytest.mark.parametrize("prior", PRIORS)
def test_no_private_mechanism_serves_a_reader_better(levels: int, loss: Loss, prior: str) -> None:
    shares = PRIORS[prior](levels)
    assert our_loss(shares, loss) == pytest.approx(best_loss(shares, loss, EPSILON), abs=SOLVED)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
@pytest.mark.parametrize("prior", PRIORS)
def test_no_private_mechanism_on_21_levels_serves_a_reader_better(loss: Loss, prior: str) -> None:
    shares = PRIORS[prior](21)
    assert our_loss(shares, loss) == pytest.approx(best_loss(shares, loss, EPSILON), abs=SOLVED)


def test_the_programmes_would_find_something_better_if_there_were() -> None:
    uniform = PRIORS["uniform"](11)
    ours = our_loss(uniform, absolute)
    assert best_loss(uniform, absolute, 1.01 * EPSILON) < ours - 100 * SOLVED
    unread = TruncatedGeometric(Domain(0, 10, 1), f"{EPSILON}").matrix()
    as_released = utility.expected_distance(lambda x, y: float(abs(x - y)), uniform, unread)
    assert ours < as_released - 100 * SOLVED


@pytest.mark.parametrize("finer", [2, 4])
def test_on_a_finer_grid_some_mechanism_is_better(finer: int) -> None:
    """It sees the answer alone too, and keeps the promise for windows, which are whole steps apart.

    Averages `z` levels apart come of windows that are `ceil(z / finer)` steps apart, or more.
    """
    steps = 3
    windows = np.array(list(np.ndindex(*[steps + 1] * finer)), dtype=np.int8) * finer
    averages = answer((query("avg"),), windows)[:, 0]
    shares = np.bincount(averages) / len(averages)
    apart = np.abs(windows[:, np.newaxis] - windows).max(axis=2)
    nearest = np.full((shares.size, shares.size), apart.max())
    np.minimum.at(nearest, (averages[:, np.newaxis], averages), apart)
    levels = np.arange(shares.size)
    gaps = -(-np.abs(levels[:, np.newaxis] - levels) // finer) * finer
    np.testing.assert_array_equal(nearest, gaps)
    cost = absolute(levels[:, np.newaxis], levels)
    better = solved(shares, cost, lambda x, y: EPSILON * float(nearest[x, y]))
    assert better < our_loss(shares, absolute) - 100 * SOLVED


def test_a_mechanism_that_sees_the_window_is_another_matter() -> None:
    """The claim is about mechanisms that see the answer alone, and only those.

    A reader who knows that the averages 0, 2 and 4 come from these very windows, 4 apart
    from one another, would be served better by one that tells the windows apart.
    """
    windows = np.array([(0, 0), (0, 4), (4, 4)], dtype=np.int8)
    averages = answer((query("avg"),), windows)[:, 0]
    cost = np.abs(averages[:, np.newaxis] - np.arange(5)).astype(np.float64)
    apart = np.abs(windows[:, np.newaxis] - windows).max(axis=2)
    seeing = solved(np.full(3, 1 / 3), cost, lambda x, y: EPSILON * float(apart[x, y]))
    prior = np.bincount(averages) / 3
    assert our_loss(prior, absolute) == pytest.approx(best_loss(prior, absolute, EPSILON))
    assert seeing < our_loss(prior, absolute) - 0.2
