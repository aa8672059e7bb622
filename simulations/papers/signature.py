"""The noisy TV signature: how it looks, and who still recognises it.

The paper's Example 2 draws a television's power, what a meter samples of it every ten seconds,
and noisy samples at two epsilons, and says that the signature cannot be recognised "especially
for ε = .5". By its own definition .5 is the *smaller* noise. So attackers decide.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meteragent.privacy.domain import Domain
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from meteragent.privacy.question import question
from simulations.kit.command import Run
from simulations.kit.product import policy, release
from simulations.kit.statistics import Share
from simulations.kit.traces import Trace
from simulations.tv.attacks import correlation
from simulations.tv.contest import EPOCH, Contents, alone, outcome
from simulations.tv.displays import CRT, LCD
from simulations.tv.library import library, metered
from simulations.tv.plugs import INTERVAL, recordings, stretches

Watts = NDArray[np.float64]

SECONDS = 300
SAMPLED = 10
EPSILONS = ("0.5", "0.1", "0.05", "0.01")
DRAWN = ("0.5", "0.1")
"""Those that the paper draws: loss per watt of every released reading."""
MOVING = 5.0
"""Standard deviation in watts above which a recording shows content at all."""


def chunks(run: Run) -> Contents:
    """Five minutes of many contents at ten seconds: simulated, or recorded by real plugs."""
    if run.traces:
        recorded = stretches(recordings(run.traces), SECONDS, moving=MOVING).watts
        ratio = SAMPLED * 1000 // INTERVAL
        watts = recorded.reshape(len(recorded), -1, ratio).mean(axis=2)
    else:
        draw = run.draw(1)
        shown = library(draw, 60 if run.quick else 300).chunks(draw, SECONDS)
        watts = metered(shown, LCD, SAMPLED, draw)
    return Contents(EPOCH, SAMPLED * 1000, watts)


def every_sample(epsilon: str) -> Policy:
    """Every ten seconds one answer, with this loss per watt."""
    return policy(
        Domain(0, 1000, 1),
        [question("reading", epsilon, "1")],
        window=SECONDS * 1000,
        interval=SAMPLED * 1000,
    )


def key(run: Run) -> NoiseKey:
    """The noise of this seed."""
    return NoiseKey(run.draw(2).bytes(32))


@dataclass(frozen=True)
class Recognised:
    """How often five minutes of content were named rightly among all."""

    epsilon: str
    by_correlation: Share
    by_likelihood: Share
    chance: float


def recognised(run: Run, contents: Contents, epsilon: str) -> Recognised:
    """By the attack of the literature, and by one that knows the mechanism."""
    asked, draw = every_sample(epsilon), run.draw(3)
    seen = alone(contents, asked, key(run), 1, 0.0)
    alike = correlation(seen.released, seen.answers)
    return Recognised(
        epsilon,
        outcome(alike, contents, draw).first,
        outcome(seen.scores(), contents, draw).first,
        contents.chance,
    )


@dataclass(frozen=True)
class Drawn:
    """One signature as the paper draws it."""

    true: Watts
    """Every second, or every two of a recording."""
    sampled: Watts
    released: dict[str, Watts]


def drawn(run: Run) -> Drawn:
    """Five minutes of a film, seen by a set of our own, released by the product itself."""
    draw = run.draw(4)
    luminance = library(draw, 1).chunks(draw, SECONDS)
    true = metered(luminance, CRT, 1, draw)[0]
    sampled = true.reshape(-1, SAMPLED).mean(axis=1)
    trace = Trace("film", EPOCH, SAMPLED * 1000, sampled)
    released = {
        epsilon: release([trace], every_sample(epsilon), key(run))[0].values.ravel()
        for epsilon in DRAWN
    }
    return Drawn(true, sampled, released)
