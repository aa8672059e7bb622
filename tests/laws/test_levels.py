"""The wheel puts readings on the grid as its twin does, each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.privacy import native
from meteragent.privacy.domain import Domain

if TYPE_CHECKING:
    from meteragent.privacy.domain import Levels, Watts

pytestmark = pytest.mark.fast

DOMAINS = st.sampled_from(
    [
        Domain(0, 24_000, 10),
        Domain(0, 100, 1),
        Domain("-3.5", "8.25", "0.25"),
        Domain(-10_000, 10_000, 10, resolution="0.1"),
        Domain("0.1", "1000000.1", "2"),
    ]
)
QUARTERS = st.integers(-200_000, 200_000).map(lambda quarters: quarters / 4)
READINGS = st.one_of(QUARTERS, st.floats(width=64), st.just(float("nan")), st.just(-0.0))


def by_twin(domain: Domain, watts: Watts) -> Levels:
    with patch.object(native, "wheel", None):
        return domain.levels(watts)


@given(DOMAINS, st.lists(READINGS, max_size=40))
def test_levels_are_those_of_the_twin(domain: Domain, readings: list[float]) -> None:
    watts = np.array(readings, dtype=np.float64)
    levels = domain.levels(watts)
    assert levels.dtype == domain.dtype
    assert levels.tolist() == by_twin(domain, watts).tolist()


@pytest.mark.parametrize("step", ["10", "0.5", "0.3"])
def test_ties_go_up_as_the_twin_has_it(step: str) -> None:
    domain = Domain(0, 300, step)
    watts = np.arange(0, 300, float(step) / 2)
    assert domain.levels(watts).tolist() == by_twin(domain, watts).tolist()


def test_arrays_that_do_not_fit_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        native.wheel.levels(np.zeros(3), np.zeros(2, np.int16), (0.0, 1.0, 1.0), (1, 2, 1))
