"""Numbers as Grafana would write them."""

from __future__ import annotations

import math

import pytest

from deploy.grafana.shown import shown


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0512, "percentunit", "5.12 %"),
        (0.25, "s", "250 ms"),
        (0, "s", "0 s"),
        (90, "s", "1.5 min"),
        (math.inf, "dtdurations", "never"),
        (3 * 2**20, "bytes", "3 MiB"),
        (1234, "short", "1,234"),
        (2_500_000, "short", "2.5 M"),
        (12.5, "rps", "12.5 /s"),
        (1.5, "none", "1.5"),
    ],
)
def test_a_number_has_its_unit(value: float, unit: str, text: str) -> None:
    assert shown(value, unit) == text


def test_decimals_are_as_many_as_asked_for() -> None:
    assert shown(1 / 3, "percentunit", 1) == "33.3 %"
    assert shown(7, "none", 2) == "7.00"
