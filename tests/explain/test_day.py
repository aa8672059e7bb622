"""The made-up day: the same for everybody, and its energy whatever the interval."""

from __future__ import annotations

import numpy as np
import pytest

from meteragent.explain import day

KWH = 8.1437


def test_the_day_is_a_home_with_people_in_it() -> None:
    watts = day.minutes()
    assert len(watts) == 1440
    assert watts.min() >= 90
    assert 2000 < watts.max() < 3000
    assert 5_000 < watts.sum() / 60 < 12_000  # watt hours
    assert (day.minutes() == watts).all()


@pytest.mark.parametrize("seconds", [1, 10, 30, 60, 900, 3600])
def test_every_interval_has_the_energy_of_the_minutes_it_holds(seconds: int) -> None:
    slots = 86_400 // seconds
    watts = day.readings(seconds * 1000, slots)
    assert np.isclose(watts.sum() * seconds / 60, day.minutes().sum())
    apart = np.repeat(watts, seconds).reshape(1440, 60).mean(axis=1) if seconds < 60 else None
    assert apart is None or np.allclose(apart, day.minutes())


def test_one_day_is_as_the_other() -> None:
    first, second = np.split(day.readings(900_000, 192), 2)
    assert np.allclose(first, second)


def test_an_interval_that_does_not_divide_the_day_runs_on_into_the_next() -> None:
    watts = day.readings(7 * 60_000, 1440)
    assert np.isclose(watts.mean(), day.minutes().mean())


def test_the_day_is_the_one_that_pages_describe() -> None:
    """Whoever changes it changes pictures and what is said of them."""
    assert day.minutes().sum() / 60_000 == pytest.approx(KWH, abs=1e-9)
