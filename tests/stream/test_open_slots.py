"""Which open panes hold a position back: those that a record before it has opened."""

from __future__ import annotations

import pytest

from meteragent.stream.open_slots import CARRIED, NOT_OPEN, OpenSlots
from tests.given import MINUTE, policy


@pytest.mark.parametrize(
    ("opened", "before", "rows"),
    [
        ([[14, NOT_OPEN], [8, 14]], 7, [1]),  # who was opened by the record itself does not wait
        ([[14, NOT_OPEN], [8, 14]], 8, [1, 0]),
        ([[15, NOT_OPEN], [8, 14]], 8, [1, 0]),
        ([[CARRIED, NOT_OPEN], [NOT_OPEN, NOT_OPEN]], 10**9, []),
    ],
)
def test_who_needs_older_records_is_told_the_oldest_first(
    opened: list[list[int]], before: int, rows: list[int]
) -> None:
    slots = OpenSlots(policy(grace=MINUTE))
    slots.grow(2)
    slots.opened[:, :2] = opened
    assert slots.opened_before(before).tolist() == rows
