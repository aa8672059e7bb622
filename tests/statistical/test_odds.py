"""What an eavesdropper sees of two windows stays within the promised odds, end to end.

Two windows whose every reading differs by one level of 10 W, at `exp(epsilon * 10) = 2`.
Their exact averages lie half-way between levels, where rounding matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.statistical.draws import TOP, counted, mechanism, releases
from tests.statistical.judge import break_promise

if TYPE_CHECKING:
    from tests.statistical.judge import Counts

DRAWS = 400_000
HALVING = mechanism(0.5)
ONE = (0.0, 10.0)
OTHER = (10.0, 20.0)


def averages(watts: tuple[float, ...]) -> Counts:
    """Releases of `avg`, the first of the eight."""
    return counted(np.concatenate([r[:, 0] for r in releases(HALVING, watts, 8 * DRAWS // 4)]))


def half_even_averages(watts: tuple[float, ...]) -> Counts:
    """The same noise on averages that were rounded half to even."""
    mean = int(np.rint(HALVING.domain.levels(np.array(watts)).mean()))
    constant = (float(HALVING.domain.watts(np.array([mean]))[0]),) * len(watts)
    return averages(constant)


def test_released_averages_keep_the_promise() -> None:
    assert not break_promise(averages(ONE), averages(OTHER), 2.0)


def test_half_even_averages_are_noticed() -> None:
    one, other = half_even_averages(ONE), half_even_averages(OTHER)
    assert break_promise(one, other, 2.0)
    assert not break_promise(one, other, 4.0)


def test_a_promise_of_nine_tenths_of_the_loss_is_noticed_to_be_broken() -> None:
    assert break_promise(averages(ONE), averages(OTHER), 2.0**0.9)


def test_a_verdict_needs_more_than_a_handful_of_draws() -> None:
    """One release each, far apart, breaks no promise: the bounds know how little was seen."""
    far = np.eye(TOP + 1, dtype=np.int64)
    assert not break_promise(far[0], far[TOP], 2.0)
