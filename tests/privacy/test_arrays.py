"""What numpy has no word for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from meteragent.privacy.arrays import counted, lengthen, put_first, roomy


@given(st.lists(st.integers(0, 9)))
def test_counting_begins_anew_with_each_count(counts: list[int]) -> None:
    expected = [nth for many in counts for nth in range(many)]
    assert counted(np.array(counts, dtype=np.int64)).tolist() == expected


class Owner:
    def __init__(self) -> None:
        self.rows = np.array([[1, 2], [3, 4]])


def test_what_grows_keeps_what_it_holds_and_begins_anew_behind_it() -> None:
    owner = Owner()
    lengthen(owner, "rows", 4, -1)
    assert owner.rows.tolist() == [[1, 2], [3, 4], [-1, -1], [-1, -1]]


def test_what_somebody_else_looks_at_grows_somewhere_else() -> None:
    owner = Owner()
    seen = owner.rows[:1]
    lengthen(owner, "rows", 3, 7)
    owner.rows[0] = 0
    assert owner.rows.tolist() == [[0, 0], [3, 4], [7, 7]]
    assert seen.tolist() == [[1, 2]]


def test_room_is_made_for_a_few_more() -> None:
    assert [roomy(0, 3), roomy(160, 161), roomy(160, 200)] == [3, 170, 200]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 99))))
def test_of_several_values_for_one_cell_the_first_stays(given: list[tuple[int, int]]) -> None:
    flat = np.full(6, -1)
    cells, values = np.array(given, dtype=np.int64).reshape(-1, 2).T
    put_first(flat, cells, values)
    first = dict(reversed(given))
    assert flat.tolist() == [first.get(cell, -1) for cell in range(6)]
