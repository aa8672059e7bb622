"""Which open panes hold a position back: those that a record before it has opened."""

from __future__ import annotations

import pytest

from meteragent.privacy.domain import Domain
from meteragent.stream.averaged import OpenSums
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


def test_what_panes_add_up_to_takes_a_fifth_of_what_their_slots_do() -> None:
    """Of a home that is read every ten seconds; and nothing of it is ever carried."""
    home = policy(
        domain=Domain(0, 24_000, 10), size=15 * MINUTE, idle=5 * MINUTE, presence="private"
    )
    slots, sums = OpenSlots(home), OpenSums(home)
    assert sums.bytes_per_row * 5 < slots.bytes_per_row
    assert sums.opened_before(10**9).tolist() == []
