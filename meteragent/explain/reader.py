"""What a reader makes of a release for free: what was drawn, how likely it was, and the best guess.

A reader knows the policy, which is public, and what was released: nothing here sees a reading, the
key, or an account, and whatever is worked out here tells no more than the release did. `bills` is
about many releases of one meter.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meteragent.errors import InvalidSetting
from meteragent.privacy.arrays import Integers
from meteragent.privacy.domain import Watts
from meteragent.privacy.exact import NANO
from meteragent.privacy.joint import JointGeometric
from meteragent.privacy.mechanism import Mechanism, TruncatedGeometric
from meteragent.privacy.order import Order
from meteragent.privacy.policy import Policy
from meteragent.privacy.question import Question
from meteragent.privacy.terms import JOINT

Floats = NDArray[np.float64]

# What was drawn.


def drawn(unbiased: Watts, policy: Policy) -> Floats:
    """The whole levels that were drawn, from what `unbiased` says of them; NaN stays.

    Independent noise is cut off at the ends of the range, and `unbiased` lies beyond an end where
    it was; joint noise is not.
    """
    levels: Floats = np.rint(
        (unbiased - float(policy.domain.minimum)) / float(policy.domain.resolution)
    )
    return levels if policy.noise == JOINT else np.clip(levels, 0, policy.domain.top)


def agreed(levels: Floats, policy: Policy) -> Integers:
    """What `values` say of levels that were drawn: within the range, and in their order.

    Precondition: `levels[window, output]` of all queries. So who kept `unbiased` alone has them.
    """
    within = np.clip(levels, 0, policy.domain.top).astype(np.int64)
    order = Order([asked.query for asked in policy.questions], [q.nano for q in policy.questions])
    if len(order.columns):
        outputs = [asked.query.outputs(policy.slots) for asked in policy.questions]
        columns = np.cumsum([0, *outputs])[order.columns]
        within[:, columns] = order.agreed(within[:, columns])
    return within


# How likely that was.


def rates(policy: Policy) -> Floats:
    """`-ln alpha` of each output of a release: of joint noise, that of all of them together."""
    step = float(policy.domain.resolution)
    nano = [q.nano for q in policy.questions for _ in range(q.query.outputs(policy.slots))]
    return np.array(nano) * step / NANO


def log_likelihood(levels: Floats, truth: Floats | Integers, policy: Policy) -> Floats:
    """How likely it was to draw `levels[window, output]` of the truth, as logarithms by window.

    Up to a constant of what was drawn: so it is for comparing truths, and no reader who compares
    anything else is right more often (Neyman and Pearson).
    """
    apart = rates(policy) * np.abs(levels - truth)
    likely: Floats = -(apart.max(axis=-1) if policy.noise == JOINT else apart.sum(axis=-1))
    return likely


def interval(unbiased: Watts, policy: Policy, asked: Question, share: float) -> tuple[Watts, Watts]:
    """Where the true answers lie with this share of certainty at least, for who knows nothing else.

    From `unbiased`, and within the range.
    """
    off = policy.mechanism(asked).error_quantile(share)
    ends = float(policy.domain.minimum), float(policy.domain.maximum)
    middle = unbiased if policy.noise == JOINT else np.clip(unbiased, *ends)
    return np.clip(middle - off, *ends), np.clip(middle + off, *ends)


# The best guess, for somebody who believed something before.


@dataclass(frozen=True, slots=True)
class Reader:
    """The best that a consumer can make of each released level, given what it believed."""

    first: int
    """The released level that the first entry of each column is for."""
    guess: NDArray[np.int64]
    """guess[released]: the level that minimises the expected loss"""
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    """low[released]..high[released] holds the true level with at least the asked-for share"""
    expected_loss: float


Loss = Callable[[NDArray[np.int64], NDArray[np.int64]], Floats]
"""loss(guess, truth), elementwise on levels"""


def absolute(guess: NDArray[np.int64], truth: NDArray[np.int64]) -> Floats:
    """How far off a guess is."""
    off: Floats = np.abs(guess - truth).astype(np.float64)
    return off


def squared(guess: NDArray[np.int64], truth: NDArray[np.int64]) -> Floats:
    """How far off, squared."""
    return absolute(guess, truth) ** 2


def zero_one(guess: NDArray[np.int64], truth: NDArray[np.int64]) -> Floats:
    """Whether a guess is off at all."""
    wrong: Floats = (guess != truth).astype(np.float64)
    return wrong


def remap(mechanism: Mechanism, prior: Floats, loss: Loss, *, share: float = 0.9) -> Reader:
    """The Bayesian reading of one answer's levels, for a consumer with this prior and loss.

    Universal optimality (claim 4) is about this reader of independent noise: whatever its prior,
    and whatever its loss as long as it grows with the distance, no other mechanism with the same
    promise that sees no more of the window than this one answer would serve it better. Of joint
    noise it reads what was drawn, and leaves the other answers out.
    """
    refuse_crooked(mechanism, prior, share)
    levels = np.arange(mechanism.domain.top + 1)
    first, belief, weight = _beliefs(mechanism, prior)
    losses = loss(levels[:, np.newaxis], levels) @ belief  # losses[guess, released]
    cumulative = np.cumsum(belief, axis=0)
    tail = (1 - share) / 2
    return Reader(
        first=first,
        guess=losses.argmin(axis=0),
        low=(cumulative <= tail * cumulative[-1]).sum(axis=0),
        high=(cumulative < (1 - tail) * cumulative[-1]).sum(axis=0),
        expected_loss=float(losses.min(axis=0) @ weight),
    )


def refuse_crooked(mechanism: Mechanism, prior: Floats, share: float) -> None:
    """Refuse a prior that is no distribution over the levels, or a share that is none."""
    levels = mechanism.domain.top + 1
    if prior.shape != (levels,) or not np.isclose(prior.sum(), 1) or (prior < 0).any():
        raise InvalidSetting(
            "prior", "is not a distribution over the levels", f"give {levels} shares of 1"
        )
    if not 0 < share < 1:
        raise InvalidSetting("share", "must be in (0, 1)", 'write for example "0.9"')


def _beliefs(mechanism: Mechanism, prior: Floats) -> tuple[int, Floats, Floats]:
    """`belief[level, released] * weight[released]` is the chance of both, from `first` on.

    Why apart, and by logarithms: no belief vanishes, however unlikely the release was.
    """
    if isinstance(mechanism, JointGeometric):
        return _joint_beliefs(mechanism, prior)
    assert isinstance(mechanism, TruncatedGeometric)  # noqa: S101 - there is no other
    levels, alpha = np.arange(len(prior)), float(mechanism.alpha)
    rate = float(mechanism.epsilon * mechanism.domain.resolution)
    belief, weight = _by_largest(prior, -rate * np.abs(levels[:, np.newaxis] - levels))
    ends = [0, -1]
    weight[1:-1] *= float(1 - mechanism.alpha) / (1 + alpha)
    weight[ends] /= 1 + alpha
    return 0, belief, weight


def _joint_beliefs(mechanism: JointGeometric, prior: Floats) -> tuple[int, Floats, Floats]:
    reach = len(mechanism.marginal) // 2
    released = np.arange(-reach, len(prior) + reach)
    apart = np.abs(np.arange(len(prior))[:, np.newaxis] - released)
    return -reach, *_by_largest(prior, _log_chances(mechanism, apart))


def _log_chances(mechanism: TruncatedGeometric | JointGeometric, apart: Integers) -> Floats:
    """How likely it is to draw so many levels beside the truth, as logarithms.

    Up to a constant of what was drawn, such as that of a level at an end of the range.
    """
    rate = float(-mechanism.alpha.ln())
    if not isinstance(mechanism, JointGeometric):
        return -rate * apart.astype(np.float64)
    law = mechanism.marginal
    law = np.log(law[: len(law) // 2 + 1])  # what is behind lacks the radii that are left out
    beyond = np.maximum(apart - len(law) + 1, 0)  # where it falls like alpha
    likely: Floats = law[apart - beyond] - rate * beyond
    return likely


def posterior(mechanism: Mechanism, prior: Floats, released: Integers) -> Floats:
    """belief[level, released] of somebody with this prior, in each of these levels that were drawn.

    Precondition: `prior` is a distribution over the levels. It is what `remap` reckons with, for
    who needs it of a few levels only.
    """
    assert isinstance(mechanism, TruncatedGeometric | JointGeometric)  # noqa: S101 - no other
    apart = np.abs(np.arange(len(prior))[:, np.newaxis] - released)
    belief, _ = _by_largest(prior, _log_chances(mechanism, apart))
    shares: Floats = belief / belief.sum(axis=0)
    return shares


def _by_largest(prior: Floats, likelihood: Floats) -> tuple[Floats, Floats]:
    with np.errstate(divide="ignore"):
        both = np.log(prior)[:, np.newaxis] + likelihood
    largest = both.max(axis=0)
    return np.exp(both - largest), np.exp(largest)
