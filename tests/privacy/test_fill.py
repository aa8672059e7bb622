"""What a slot holds that no reading came for, and that nobody is told apart more easily for it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.errors import InvalidSetting
from meteragent.privacy.domain import ABSENT
from meteragent.privacy.fill import carried
from meteragent.privacy.mechanism import matrix
from meteragent.privacy.published import policy_of
from meteragent.privacy.query import NAMED, Query, answer, query
from tests.given import SECOND, policy
from tests.laws.lawful import broken_laws, pairs_of_windows
from tests.laws.private import Window, all_windows, breach, private, public, together

ALPHA = Fraction(3, 5)
QUERIES = [*NAMED.values(), query("p29")]


def filled(window: Window, most: int) -> Window:
    """The twin: slot by slot."""
    found: list[int | None] = []
    for slot, level in enumerate(window):
        before = [at for at in range(slot + 1) if window[at] is not None and slot - at <= most]
        found.append(window[before[-1]] if before else level)
    return tuple(found)


@given(
    st.lists(st.lists(st.none() | st.integers(0, 9), min_size=7, max_size=7), min_size=1),
    st.integers(0, 8),
)
def test_slots_are_filled_as_the_twin_does(drawn: list[list[int | None]], most: int) -> None:
    windows = [tuple(window) for window in drawn]
    levels = np.array([[ABSENT if x is None else x for x in window] for window in windows], "i1")
    expected = [[ABSENT if x is None else x for x in filled(window, most)] for window in windows]
    found = carried(levels, most)
    assert found.dtype == levels.dtype
    assert found.tolist() == expected


@given(pairs_of_windows(), st.integers(1, 100), st.sampled_from(QUERIES))
def test_filled_windows_are_no_farther_apart_and_queries_stay_lawful(
    pair: tuple[np.ndarray, np.ndarray, int], most: int, asked: Query
) -> None:
    one, other, shift = pair
    a, b = carried(one, most), carried(other, most)
    assert ((a == ABSENT) == (b == ABSENT)).all()
    apart, filled_apart = (
        np.abs(x.astype(np.int64) - y).max(axis=1) for x, y in ((one, other), (a, b))
    )
    assert (filled_apart <= apart).all()
    assert broken_laws(asked, a, b, shift) == set()


@pytest.mark.parametrize("asked", QUERIES, ids=lambda asked: asked.name)
@pytest.mark.parametrize("most", [1, 2])
def test_a_release_of_filled_windows_is_private_at_its_cost(asked: Query, most: int) -> None:
    """All windows, all pairs: by presence public, and by presence private."""
    slots, top = 3, 2
    chances, cost = matrix(top, ALPHA), asked.outputs(slots)
    law = {}
    for window in all_windows(slots, top):
        levels = np.array([[ABSENT if x is None else x for x in window]], dtype=np.int8)
        answers = answer((asked,), carried(levels, most))[0]
        law[window] = together([chances[level] for level in answers.tolist()])
    assert breach(law, public, ALPHA, cost) is None
    assert breach(law, private(top), ALPHA, cost) is None
    assert breach(law, public, ALPHA, cost * Fraction(9, 10)) is not None


def test_only_a_policy_that_fills_has_another_id_and_other_noise() -> None:
    plain = policy()
    filling = replace(plain, fill_limit=30 * SECOND)
    longer = replace(plain, fill_limit=40 * SECOND)
    assert len({plain.digest, filling.digest, longer.digest}) == 3
    assert len({plain.id, filling.id, longer.id}) == 3
    assert not {"fill", "fill_limit_ms", "readings"} & plain.document().keys()
    for one in (plain, filling, replace(plain, readings="none")):
        assert policy_of(one.document()) == one


@pytest.mark.parametrize("limit", [-1, 9 * SECOND])
def test_a_limit_that_fills_nothing_is_refused(limit: int) -> None:
    with pytest.raises(InvalidSetting, match="fill_limit"):
        policy(fill_limit=limit)
