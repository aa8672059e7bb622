"""Joint draws follow their law, and the same verdicts condemn noise that is slightly wrong.

Three answers at alpha 0.9, judged by one answer, by the largest of the three and by the difference
of two. What is wrong on purpose comes from seeded generators, so these verdicts come out the same
every time. Their margins, in standard deviations of the most telling event at 400 000 draws, where
a verdict takes 6.4 of them:

    alpha 0.9 +- 1 %             P(largest <= 27) is 0.554 +- 0.061: 78
    draws of their own           P(largest <= 20) is 0.249 for 0.367: 155
    one uniform for two answers  their difference is always 0
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from meteragent import Domain, Entropy
from meteragent.privacy.entropy import tag
from meteragent.privacy.joint import JointGeometric, marginal, radii
from tests.given import KEY
from tests.statistical.judge import contradict, margin_of_mean
from tests.twins.noise import GivenWords

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Noise = NDArray[np.int64]

DRAWS, ANSWERS, RATE = 400_000, 3, -math.log(0.9)
DOMAIN = Domain(0, 400, 10)
REACH = 400


def mechanism(rate: float) -> JointGeometric:
    return JointGeometric(DOMAIN, f"{rate / 10:.9f}", ANSWERS)


def keyed(rate: float = RATE) -> Noise:
    """noise[window, answer] from the words of as many windows."""
    tags = np.tile(np.frombuffer(tag("m-17"), dtype=np.uint8), (DRAWS, 1))
    answers = np.zeros((DRAWS, ANSWERS), dtype=np.int64)
    starts, heard = np.arange(DRAWS) * 900_000, np.zeros(DRAWS, dtype=np.int64)
    words = Entropy(KEY, bytes(16)).words(tags, starts, heard, answers, ANSWERS + 1)
    return mechanism(rate).noise(words)


def seen(noise: Noise) -> list[Noise]:
    """Counts of one answer, of the largest entry and of a difference, with their ends cut off."""
    views = (noise[:, 1], np.abs(noise).max(axis=1), noise[:, 0] - noise[:, 2])
    return [
        np.bincount(np.clip(view, -REACH, REACH) + REACH, minlength=2 * REACH + 1) for view in views
    ]


def laws() -> list[NDArray[np.float64]]:
    """Of the same, by the definition: `P(z) ~ alpha**max(|z|)`."""
    size = np.arange(3000)
    cubes = (2.0 * size + 1) ** ANSWERS
    largest = 0.9**size * np.diff(cubes, prepend=0.0)
    largest /= largest.sum()
    one = np.zeros(2 * 3000 - 1)
    difference = np.zeros(4 * 3000 - 3)
    for s, chance in enumerate(_mixture()):
        one[3000 - 1 - s : 3000 + s] += chance / (2 * s + 1)
        triangle = 2 * s + 1 - np.abs(np.arange(-2 * s, 2 * s + 1))
        ways = triangle / (2 * s + 1) ** 2
        difference[2 * 3000 - 2 - 2 * s : 2 * 3000 - 1 + 2 * s] += chance * ways
    mirrored = np.concatenate([np.zeros(2999), largest])
    return [_cut(one), _cut(mirrored), _cut(difference)]


def _mixture() -> NDArray[np.float64]:
    s = np.arange(1500)
    weights = 0.9**s * (2.0 * s + 1) ** ANSWERS
    law: NDArray[np.float64] = weights / weights.sum()
    return law


def _cut(law: NDArray[np.float64]) -> NDArray[np.float64]:
    middle = len(law) // 2
    cut = law[middle - REACH : middle + REACH + 1].copy()
    cut[0] += law[: middle - REACH].sum()
    cut[-1] += law[middle + REACH + 1 :].sum()
    whole: NDArray[np.float64] = cut / cut.sum()
    return whole


def verdicts(noise: Noise) -> list[bool]:
    return [contradict(c, law) for c, law in zip(seen(noise), laws(), strict=True)]


def test_joint_draws_follow_their_law() -> None:
    assert verdicts(keyed()) == [False, False, False]


@pytest.mark.parametrize("off", [0.99, 1.01])
def test_alpha_off_by_one_percent_is_noticed(off: float) -> None:
    assert any(verdicts(keyed(-math.log(0.9 * off))))


def test_draws_of_their_own_are_noticed_by_their_largest() -> None:
    """Each answer has the right law, but not all of them together."""
    law = marginal(radii(RATE, ANSWERS))
    both = np.concatenate([law[:0:-1], law])
    draw = np.random.default_rng(5)
    own = draw.choice(len(both), size=(DRAWS, ANSWERS), p=both / both.sum()) - len(law) + 1
    assert verdicts(own)[:2] == [False, True]


def test_one_uniform_for_two_answers_is_noticed_by_their_difference() -> None:
    rows = np.random.default_rng(6).integers(0, 2**64, (DRAWS, ANSWERS + 1, 5), dtype=np.uint64)
    rows[:, 3] = rows[:, 1]
    assert verdicts(mechanism(RATE).noise(GivenWords(rows)))[2]


def test_the_mean_of_many_draws_is_the_truth() -> None:
    law = laws()[0]
    margin = margin_of_mean(np.arange(-REACH, REACH + 1.0), law, DRAWS)
    assert margin < 0.3  # levels
    assert (np.abs(keyed().mean(axis=0)) < margin).all()
