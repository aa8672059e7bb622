"""What slots of open panes hold, where answers are on a finer grid than readings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.privacy.domain import Domain
from meteragent.privacy.question import question
from meteragent.stream.shown import Shown, ShownInSteps, shown_of
from meteragent.stream.strips import Panes
from tests.given import policy

COARSE = {"questions": (question("avg", 1, 2),)}
FINE = policy(domain=Domain(-1000, 24000, 1, "0.1"), **COARSE)


@given(st.lists(st.one_of(st.floats(-2000, 26000), st.just(float("nan"))), min_size=1))
def test_steps_become_the_levels_that_readings_have(watts: list[float]) -> None:
    readings, steps = np.array(watts), ShownInSteps(FINE)
    held = steps.held(readings)
    assert held.dtype.itemsize < FINE.domain.dtype.itemsize
    none = np.zeros(1, dtype=np.int64)
    panes = steps.powers(Panes(none, none, held[np.newaxis])).panes
    assert panes.levels.dtype == FINE.domain.dtype
    assert panes.levels[0].tolist() == FINE.domain.levels(readings).tolist()


@pytest.mark.parametrize(("resolution", "kind"), [("0.1", ShownInSteps), (None, Shown)])
def test_slots_hold_steps_only_where_answers_are_finer(
    resolution: str | None, kind: type[Shown]
) -> None:
    assert type(shown_of(policy(domain=Domain(0, 24000, 1, resolution), **COARSE))) is kind
