"""The strongest attacker there is: who knows all homes exactly, but for the film in one of them.

What remains is to compare likelihoods, and those are known exactly too: nobody can do better.
"""

import numpy as np
from numpy.typing import NDArray

from meteragent.privacy.group import GroupPolicy
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import answer
from simulations.demo.street import FILM_BEGINS, FILM_SLOTS, FILMS, INTERVAL, Street

Watts = NDArray[np.float64]
Belief = NDArray[np.float64]
"""belief[film], summing to one."""


def from_readings(street: Street, home: int) -> Belief:
    """What the meter's own readings give away."""
    fits = [np.array_equal(street.with_film(home, f), street.watts[home]) for f in range(FILMS)]
    return np.array(fits) / sum(fits)


def from_releases(street: Street, home: int, released: Watts, of: Policy) -> Belief:
    """What `released[window]` gives away, in watts, NaN where nothing was published.

    Precondition: the policy releases the average first, of windows that divide a day.
    """
    evening = _evening(of)
    could_be = np.array([street.with_film(home, film)[evening] for film in range(FILMS)])
    return _belief(could_be, of, released[_windows(of)])


class Neighbours:
    """What the sum of all homes gives away of one, to somebody who knows all others exactly."""

    def __init__(self, street: Street, of: GroupPolicy) -> None:
        self._street, self._of = street, of
        every = np.array([self._panes(home, film) for home, film in enumerate(street.shown)])
        self._all = every.sum(axis=0)

    def belief(self, home: int, together: Watts) -> Belief:
        """As above, of `together[window]`: one draw for the sum."""
        others = self._all - self._panes(home, self._street.shown[home])
        could_be = np.array([others + self._panes(home, film) for film in range(FILMS)])
        return _belief(could_be, self._of, together[_windows(self._of)])

    def _panes(self, home: int, film: int) -> Watts:
        """What the home adds to each pane of the evening if that film had been on."""
        each = self._of.home
        readings = self._street.with_film(home, film)[_evening(self._of)]
        levels = each.domain.levels(readings.astype(np.float64)).reshape(-1, each.slots)
        watts: Watts = each.domain.watts(answer((each.questions[0].query,), levels)[:, 0])
        return watts


def _evening(of: Policy) -> slice:
    """The slots of those windows."""
    windows, slots = _windows(of), of.size // INTERVAL
    return slice(windows.start * slots, windows.stop * slots)


def together(*beliefs: Belief) -> Belief:
    """What independent releases give away, all of them."""
    product = np.prod(beliefs, axis=0)
    belief: Belief = product / product.sum()
    return belief


def _windows(of: Policy) -> slice:
    """Those that the film touches."""
    slots = of.size // INTERVAL
    return slice(FILM_BEGINS // slots, -(-(FILM_BEGINS + FILM_SLOTS) // slots))


def _belief(could_be: Watts, of: Policy, released: Watts) -> Belief:
    """Which of `could_be[film]` it was, by exact likelihoods.

    Why it is exact: the constant before the exponential depends on what was released alone, so that
    it is the same for all films.
    """
    levels = of.domain.levels(could_be.astype(np.float64)).reshape(-1, of.slots)
    average = of.questions[0]
    true = of.domain.watts(answer((average.query,), levels)[:, 0]).reshape(FILMS, -1)
    apart = np.nansum(np.abs(true - released), axis=1)
    scores = -average.nano / 1e9 * apart
    chances = np.exp(scores - scores.max())
    belief: Belief = chances / chances.sum()
    return belief
