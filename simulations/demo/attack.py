"""The strongest attacker there is: who knows a whole home exactly, all but the film.

What remains is to compare likelihoods, and those are known exactly too: nobody can do better.
"""

import numpy as np
from numpy.typing import NDArray

from meteragent.privacy.policy import Policy
from meteragent.privacy.query import answer
from simulations.demo.street import FILM_BEGINS, FILM_SLOTS, FILMS, Street

Belief = NDArray[np.float64]
"""belief[film], summing to one."""


def from_readings(street: Street, home: int) -> Belief:
    """What the meter's own readings give away."""
    fits = [np.array_equal(street.with_film(home, f), street.watts[home]) for f in range(FILMS)]
    return np.array(fits) / sum(fits)


def from_releases(street: Street, home: int, released: NDArray[np.float64], of: Policy) -> Belief:
    """What `released[window]` gives away, in watts, NaN where nothing was published.

    Precondition: the policy releases the average first, of windows that divide a day. Why it
    is exact: the constant before the exponential depends on what was released alone, so that
    it is the same for all films.
    """
    first, end = FILM_BEGINS // of.slots, -(-(FILM_BEGINS + FILM_SLOTS) // of.slots)
    evening = slice(first * of.slots, end * of.slots)
    could_be = np.array([street.with_film(home, film)[evening] for film in range(FILMS)])
    levels = of.domain.levels(could_be.astype(np.float64)).reshape(-1, of.slots)
    average = of.questions[0]
    true = of.domain.watts(answer((average.query,), levels)[:, 0]).reshape(FILMS, -1)
    apart = np.nansum(np.abs(true - released[first:end]), axis=1)
    scores = -average.nano / 1e9 * apart
    chances = np.exp(scores - scores.max())
    belief: Belief = chances / chances.sum()
    return belief
