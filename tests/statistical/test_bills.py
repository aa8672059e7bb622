"""Bills add up: the mean of `unbiased` is the truth, where that of `value` is not.

At alpha 0.9 and 400 000 draws the corrected value's margin is 0.13 levels (`margin_of_mean`);
the mean of the value itself is off by 4.7 levels at either end and by 4.2 next to it.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.statistical.draws import DOMAIN, TOP, count, law, mechanism
from tests.statistical.judge import margin_of_mean

DRAWS = 400_000
ALPHA = 0.9
MECHANISM = mechanism(ALPHA)
RELEASED = np.arange(TOP + 1)


@pytest.mark.parametrize("level", [0, 1, TOP // 2, TOP])
def test_the_mean_of_many_corrected_values_is_the_truth(level: int) -> None:
    counts, chances = count(MECHANISM, level, DRAWS), law(ALPHA)[level]
    corrected = MECHANISM.unbiased(RELEASED)
    truth = float(DOMAIN.watts(np.array([level]))[0])
    margin = margin_of_mean(corrected, chances, DRAWS)
    assert margin < 2.0  # watts, of a step of 10
    assert abs(counts @ corrected / DRAWS - truth) < margin


@pytest.mark.parametrize("level", [0, 1, TOP])
def test_the_mean_of_many_values_is_not(level: int) -> None:
    counts, chances = count(MECHANISM, level, DRAWS), law(ALPHA)[level]
    value = DOMAIN.watts(RELEASED)
    truth = float(DOMAIN.watts(np.array([level]))[0])
    margin = margin_of_mean(value, chances, DRAWS)
    assert abs(value @ chances - truth) > 20 * margin
    assert abs(counts @ value / DRAWS - truth) > 19 * margin
