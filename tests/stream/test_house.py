"""Rows of a house that several cohorts share: whose each of them is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from meteragent.stream.houses import Occupancy, Quarters, Tenancy

NONE: Any = SimpleNamespace(rows=np.empty(0, dtype=np.int64))
ROOM: Any = SimpleNamespace(store=None)


def test_rows_are_theirs_who_moved_in() -> None:
    """One after the other, whether there is room or it has to be made."""
    occupancy = Occupancy()
    one, other = Tenancy(occupancy), Tenancy(occupancy)
    assert [one.take(2), other.take(1), one.take(1), one.take(5000)] == [0, 2, 3, 4]
    assert [one.take(1) for _ in range(300)] == [*range(5004, 5304)]
    assert (one.everyone[:4].tolist(), other.everyone.tolist()) == ([0, 1, 3, 4], [2])
    assert one.of(np.array([2, 0])).tolist() == [3, 0]
    parted = occupancy.parted(np.array([3, 2, 0]))
    assert [(number, some.tolist()) for number, some in parted] == [(0, [0, 2]), (1, [1])]


def test_what_is_nobodys_is_told_to_nobody() -> None:
    quarters = Quarters([(ROOM, ROOM)] * 2, Occupancy())
    assert [*quarters.parted(NONE), *quarters.of_rows(NONE.rows)] == []
