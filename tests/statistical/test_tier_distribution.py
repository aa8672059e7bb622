"""Copies follow the law of draws of their own, beside the first draws, and wrong ones are noticed.

Noise of alpha 0.8 is made noise of beta 0.9, by the words that the agent would read. What is judged
is the copy, and what was added to the first. With 400 000 draws a verdict takes 6.4 standard
deviations; margins of what is wrong on purpose, at the most telling event:

    beta always added            P(copy <= 8) is 0.759 for 0.796: 58
    nothing ever added           P(copy <= -9) is 0.075 for 0.204: 203
    the words of the first       P(copy = 0) is 0.112 for 0.053: 167
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meteragent import Domain, Entropy, TruncatedGeometric
from meteragent.privacy.entropy import METER, TIER, tag
from meteragent.privacy.refinement import Refinement
from tests.given import KEY
from tests.statistical.judge import contradict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meteragent.privacy.entropy import WindowWords

    Noise = NDArray[np.int64]

DRAWS = 400_000
DOMAIN = Domain(0, 400, 10)
ABOVE, LOSS = 22_314_355, 10_536_051  # nano-units per watt: ln(1/0.8) and ln(1/0.9) a level
REACH = 150


def keyed(kind: bytes) -> WindowWords:
    tags = np.tile(np.frombuffer(tag("m-17"), dtype=np.uint8), (DRAWS, 1))
    answers = np.zeros((DRAWS, 1), dtype=np.int64)
    starts, heard = np.arange(DRAWS) * 900_000, np.zeros(DRAWS, dtype=np.int64)
    return Entropy(KEY, bytes(16), kind).words(tags, starts, heard, answers, 1)


def first() -> Noise:
    mechanism = TruncatedGeometric(DOMAIN, f"{ABOVE / 10**9:.9f}", unclamped=True)
    return mechanism.noise(keyed(METER))[:, 0]


def added(kind: bytes = TIER) -> Noise:
    return Refinement(DOMAIN, ABOVE, LOSS).added(keyed(kind))[:, 0]


def differs(noise: Noise, law: NDArray[np.float64]) -> bool:
    counts = np.bincount(np.clip(noise, -REACH, REACH) + REACH, minlength=2 * REACH + 1)
    return contradict(counts, law)


def geometric(decay: float) -> NDArray[np.float64]:
    law = (1 - decay) / (1 + decay) * decay ** np.abs(np.arange(-REACH, REACH + 1.0))
    law[[0, -1]] /= 1 - decay
    whole: NDArray[np.float64] = law / law.sum()
    return whole


def test_a_copy_has_the_law_of_a_draw_of_its_own() -> None:
    assert not differs(first(), geometric(0.8))
    assert not differs(first() + added(), geometric(0.9))


def test_what_is_added_does_not_depend_on_what_was_drawn() -> None:
    """Where the first draw is above its level, and where it is not, the same is added."""
    drawn, more = first(), added()
    still = 0.8 / 0.9 * (0.1 / 0.2) ** 2
    law = (1 - still) * geometric(0.9)
    law[REACH] += still
    assert not differs(more[drawn > 0], law)
    assert not differs(more[drawn <= 0], law)


def test_noise_that_is_always_added_is_noticed() -> None:
    draw = np.random.default_rng(1)
    more = draw.geometric(0.1, DRAWS) - draw.geometric(0.1, DRAWS)
    assert differs(first() + more, geometric(0.9))


def test_a_copy_without_more_noise_is_noticed() -> None:
    assert differs(first(), geometric(0.9))


def test_words_that_two_audiences_share_are_noticed() -> None:
    assert differs(first() + added(METER), geometric(0.9))
