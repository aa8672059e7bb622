from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.privacy.domain import Domain
from meteragent.privacy.mechanism import MOST_REACHED, TruncatedGeometric
from meteragent.privacy.refinement import Refinement
from tests.twins import noise
from tests.twins import tiers as twin
from tests.twins.noise import GivenWords

SCALE = 2**320


class Setting(NamedTuple):
    step: str
    above: int
    """In nano-units per watt ..."""
    loss: int


SETTINGS = [
    Setting("1", 1_000_000_000, 100_000_000),
    Setting("10", 10_000_000, 1_000_000),
    Setting("10", 10_000_000, 9_999_999),  # the next smaller loss there is: noise is rare
    Setting("0.1", 6_931_471_805, 50_000_000),
    Setting("10", 6_000_000_000, 300_000),  # from next to no noise to nearly as much as there is
]
QUICK = SETTINGS[:1] + SETTINGS[3:4]


def decays(setting: Setting) -> tuple[Fraction, Fraction]:
    step = Fraction(setting.step)
    return noise.alpha(setting.above, step), noise.alpha(setting.loss, step)


@cache
def built(setting: Setting) -> Refinement:
    domain = Domain(0, 7 * Decimal(setting.step), setting.step)
    return Refinement(domain, setting.above, setting.loss)


def exact(setting: Setting) -> list[int]:
    return [*built(setting)._thresholds.exact]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_what_is_added_has_its_law_to_the_318th_bit(setting: Setting) -> None:
    """Every threshold is the chance that at most so much is added, but for two in 2**320."""
    alpha, beta = decays(setting)
    thresholds = exact(setting)
    reach = len(thresholds) // 2
    tail = (1 - twin.stays(alpha, beta)) * beta / (1 + beta)
    for far in range(min(reach, 400)):
        assert abs(thresholds[reach - 1 - far] - tail * SCALE) <= 2
        assert thresholds[reach + far] == SCALE - thresholds[reach - 1 - far]
        tail = noise._rounded(tail * beta)
    assert reach < MOST_REACHED
    assert thresholds[0] == 1
    left = (1 - twin.stays(alpha, beta)) * float(beta) ** (reach + 1)
    assert left < 4 / SCALE


@given(st.data(), st.sampled_from(QUICK))
def test_what_is_added_is_bit_for_bit_that_of_the_slow_twin(
    data: st.DataObject, setting: Setting
) -> None:
    near = st.tuples(st.sampled_from(exact(setting)), st.integers(-2, 1)).map(sum)
    rows = data.draw(st.lists(st.integers(0, SCALE - 1) | near, min_size=1, max_size=20))
    words = [[(row >> 64 * (4 - d)) % 2**64 for d in range(5)] for row in rows]
    drawn = built(setting).added(GivenWords(np.array([words], dtype=np.uint64)))
    assert drawn.tolist() == [[noise.noise(exact(setting), row) for row in words]]


def test_a_table_that_is_not_clamped_gives_the_same_release() -> None:
    """Whatever words there are: what is beyond the ends is told to nobody who has the first."""
    domain = Domain(0, 70, 10)
    clamped = TruncatedGeometric(domain, "0.03")
    whole = TruncatedGeometric(domain, "0.03", unclamped=True)
    assert whole.reach > clamped.reach == domain.top
    beyond = whole.reach - clamped.reach
    assert whole.thresholds.exact[beyond:-beyond] == clamped.thresholds.exact
    near = {min(max(t + by, 0), SCALE - 1) for t in whole.thresholds.exact for by in (-1, 0, 1)}
    rows = np.array(
        [[[(row >> 64 * (4 - d)) % 2**64 for d in range(5)] for row in sorted(near)]], np.uint64
    )
    for level in range(domain.top + 1):
        levels = np.full((1, len(near)), level)
        assert (
            whole.sample(levels, GivenWords(rows)) == clamped.sample(levels, GivenWords(rows))
        ).all()
