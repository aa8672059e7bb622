"""What was too long for a transaction goes in smaller ones, and in larger ones again later."""

from __future__ import annotations

import pytest

from meteragent.kafka.portions import MOST_AT_ONCE, Portion


def test_what_took_too_long_is_halved_until_it_does_not() -> None:
    portion = Portion()
    assert portion.size == MOST_AT_ONCE
    said = portion.failed(3, 20_000)
    assert portion.size == said.portion == 10_000
    assert "20000 records of partition 3 were not committed in time" in str(said)
    portion.failed(3, 12_000)  # of one moment, and so more than it was to be
    assert portion.size == 5_000
    for _ in range(20):
        portion.failed(3, 1)
    assert portion.size == 1


@pytest.mark.parametrize(("seconds", "size"), [(1.0, 200), (7.4, 200), (7.5, 100), (59.0, 100)])
def test_it_grows_again_where_there_is_time(seconds: float, size: int) -> None:
    portion = Portion()
    portion.failed(0, 200)
    portion.ended(seconds, 60.0)
    assert portion.size == size
    for _ in range(20):
        portion.ended(0.1, 60.0)
    assert portion.size == MOST_AT_ONCE
