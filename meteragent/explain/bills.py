"""What a reader makes of many releases of one meter for free: sums, and a smoother course.

Sums are of `unbiased`, which is right on average. What was smoothed is not: it leans towards what
is usual, by so much in every window, and that adds up. Never smooth what is to be added up.
"""

from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from meteragent.errors import InvalidSetting
from meteragent.privacy.arrays import Integers
from meteragent.privacy.domain import Watts
from meteragent.privacy.exact import NANO
from meteragent.privacy.joint import marginal, radii
from meteragent.privacy.policy import Policy
from meteragent.privacy.question import Question
from meteragent.privacy.terms import JOINT

Floats = NDArray[np.float64]

FINE = 1 / 64
"""Noise of a smaller loss per level is added up on a coarser grid: of so much for each."""
MANY = 10_000
"""So many windows add up to normal noise, as far as three digits tell."""
DEVIATIONS = 14
"""By how many a sum is never off, as far as a float can tell."""
HOURS = 3_600_000
SMOOTHING = (
    "Smoothed values lean towards what is usual: look at them, and never add them up. Sums and "
    "averages are right from `unbiased` alone."
)


# Sums.


class Bill(NamedTuple):
    """The energy of some windows, and between what it lies; negative where more was exported."""

    kilowatt_hours: float
    low: float
    high: float
    windows: int
    """How many were added up."""


def bill(
    unbiased: Watts,
    policy: Policy,
    asked: Question,
    share: float = 0.95,
    starts: Integers | None = None,
) -> Bill:
    """Add up one query's answers, `unbiased[window]`; what is not there, as NaN, is left out.

    Precondition: the windows do not overlap, and the query is the average. Postcondition: the
    energy lies between the ends with this share of certainty, over the noise; what rounding to the
    grid adds, half a step a window at most, is not in it. Of a calendar's windows, and of averages
    of some hours, say when they start: they are not all as long as the longest, for which the ends
    are.
    """
    finite = np.isfinite(unbiased)
    there, longest = unbiased[finite], policy.windows.lasting(1) / HOURS
    about = asked.query.about
    if starts is not None:
        slots = np.broadcast_to(policy.asking.slots_of(about, starts[finite]), there.shape)
        hours = slots * policy.interval / HOURS
        energy = float((there * hours).sum()) / 1000
        longest = float(hours.max(initial=0)) if about.register else longest
    elif policy.fewest_slots == policy.slots and not about.register:
        energy = float(there.sum()) * longest / 1000
    else:
        raise InvalidSetting("starts", "are missing of windows of different lengths", "pass them")
    off = sum_quantile(policy, asked, len(there), share) * longest / 1000
    return Bill(energy, energy - off, energy + off, len(there))


def sum_quantile(policy: Policy, asked: Question, windows: int, share: float) -> float:
    """The watts that a sum over so many windows is off by at most, with this share of certainty."""
    if not windows:
        return 0.0
    law, step = _noise(policy, asked)
    reach = np.arange(len(law))
    deviation = float(np.sqrt(2 * windows * (law @ reach**2)))
    if windows > MANY:
        return NormalDist().inv_cdf((1 + share) / 2) * deviation * step
    length = 1 << int(2 * (DEVIATIONS * deviation + len(law))).bit_length()
    circle = np.zeros(length)
    circle[: len(law)] = law
    circle[-len(law) + 1 :] += law[:0:-1]
    both = np.fft.irfft(np.fft.rfft(circle).real ** windows, length)
    within = both[0] + 2 * np.cumsum(both[1 : length // 2])
    return (1 + int(np.searchsorted(within, share))) * step if both[0] < share else 0.0


def _noise(policy: Policy, asked: Question) -> tuple[Floats, float]:
    """chances[v] of v steps up, or as many down, of one answer; and the watts of such a step."""
    step = float(policy.domain.resolution)
    rate = asked.nano * step / NANO
    coarser = max(1, int(FINE / rate))
    answers = len(policy.questions) if policy.noise == JOINT else 1
    return marginal(radii(rate * coarser, answers)), step * coarser


# A smoother course.


@dataclass(frozen=True, slots=True)
class Smoothed:
    """What is likely to have been, to look at."""

    watts: Watts
    warning: str = SMOOTHING


def smoothed(unbiased: Watts, policy: Policy, asked: Question) -> Smoothed:
    """One query's answers window by window, each with what its neighbours say of it.

    `unbiased[window]` in their order, NaN where nothing was released. The level is taken to come
    back to its mean by a share each window; mean, share and spread are those of the releases
    themselves, less what the noise adds, which is known. (Kalman's filter, and back again.)
    """
    law, step = _noise(policy, asked)
    noise = 2 * float(law @ np.arange(len(law)) ** 2) * step**2
    there = np.isfinite(unbiased)
    if not there.any():
        return Smoothed(unbiased.copy())
    mean = float(unbiased[there].mean())
    off = np.where(there, unbiased - mean, 0.0)
    spread = max(float((off[there] ** 2).mean()) - noise, noise / len(off))
    pairs = there[1:] & there[:-1]
    together = float((off[1:] * off[:-1])[pairs].mean()) if pairs.any() else 0.0
    stays = min(max(together / spread, 0.0), LONGEST_MEMORY)
    return Smoothed(mean + _forth_and_back(off, there, spread, stays, noise))


LONGEST_MEMORY = 0.999
"""Of the share that a level keeps from one window to the next."""


def _forth_and_back(
    off: Floats, there: NDArray[np.bool_], spread: float, stays: float, noise: float
) -> Floats:
    """What of each window is left of its distance from the mean."""
    fresh = spread * (1 - stays**2)
    guesses, variances = np.zeros(len(off)), np.zeros(len(off))
    guess, variance = 0.0, spread
    for window, seen in enumerate(off.tolist()):
        if window:
            guess, variance = stays * guess, stays**2 * variance + fresh
        gain = variance / (variance + noise) if there[window] else 0.0
        guess, variance = guess + gain * (seen - guess), (1 - gain) * variance
        guesses[window], variances[window] = guess, variance
    for window in range(len(off) - 2, -1, -1):
        ahead = stays**2 * variances[window] + fresh
        back = stays * variances[window] / ahead
        guesses[window] += back * (guesses[window + 1] - stays * guesses[window])
    return guesses
