"""Releases follow the law, and the same verdict condemns noise that is slightly wrong.

What is wrong on purpose is drawn from seeded generators or fixed keys, so these verdicts
come out the same every time. Their margins, in standard deviations of the most telling
event at 400 000 draws, where a verdict takes 6.4 of them:

    alpha 0.9 +- 1 %       P(noise <= -10) is 0.1835 +- 0.0175: 28
    rounded Laplace        P(noise < 0) is 0.3536 for 0.3333 at alpha 1/2: 27
    sign bit 1 with 0.51   P(noise < 0) is 0.3267 for 0.3333 at alpha 1/2: 8.9
"""

from __future__ import annotations

import numpy as np
import pytest

from meteragent import TruncatedGeometric
from tests.statistical.draws import DOMAIN, TOP, count, counted, law, mechanism
from tests.statistical.judge import contradict
from tests.twins.noise import GivenWords

DRAWS = 400_000
LONG = 8_000_000
LEVELS = [0, 1, TOP // 2, TOP]
MIDDLE = TOP // 2


@pytest.mark.parametrize("alpha", [0.5, 0.9])
@pytest.mark.parametrize("level", LEVELS)
def test_releases_follow_the_law(alpha: float, level: int) -> None:
    assert not contradict(count(mechanism(alpha), level, DRAWS), law(alpha)[level])


@pytest.mark.parametrize("off", [0.99, 1.01])
@pytest.mark.parametrize("level", LEVELS)
def test_alpha_off_by_one_percent_is_noticed(off: float, level: int) -> None:
    assert contradict(count(mechanism(0.9 * off), level, DRAWS), law(0.9)[level])


def test_rounded_laplace_noise_is_noticed() -> None:
    random = np.random.default_rng(1)
    rounded = np.rint(random.laplace(scale=1 / np.log(2), size=DRAWS)).astype(np.int64)
    released = np.clip(MIDDLE + rounded, 0, TOP)
    assert contradict(counted(released), law(0.5)[MIDDLE])


def test_a_biased_sign_bit_is_noticed() -> None:
    random = np.random.default_rng(2)
    words = random.integers(0, 2**64 - 1, (DRAWS, 1, 5), dtype=np.uint64, endpoint=True)
    level = np.full((DRAWS, 1), MIDDLE)
    fair = mechanism(0.5).sample(level, GivenWords(words.copy()))
    assert not contradict(counted(fair), law(0.5)[MIDDLE])
    words[random.random(DRAWS) < 0.02, 0, 0] |= np.uint64(1 << 63)
    biased = mechanism(0.5).sample(level, GivenWords(words))
    assert contradict(counted(biased), law(0.5)[MIDDLE])


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_releases_follow_the_law_over_millions_of_draws(level: int) -> None:
    assert not contradict(count(mechanism(0.9), level, LONG), law(0.9)[level])


@pytest.mark.slow
@pytest.mark.parametrize("off", [0.99, 1.01])
@pytest.mark.parametrize("level", LEVELS)
def test_epsilon_off_by_one_percent_is_noticed_over_millions_of_draws(
    off: float, level: int
) -> None:
    """A tenth of alpha being off by one: P(noise <= -9) moves by 0.0018, 13 deviations."""
    right = mechanism(0.9)
    wrong = TruncatedGeometric(DOMAIN, f"{float(right.epsilon) * off:.9f}")
    assert contradict(count(wrong, level, LONG), law(0.9)[level])
