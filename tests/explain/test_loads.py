"""Everyday loads are what people are told they are."""

from __future__ import annotations

import re

import pytest

from meteragent.explain.leakage import Load
from meteragent.explain.loads import EVERYDAY, TV

BY_NAME = {load.name: load for load in EVERYDAY}
SAID = re.compile(r"([\d.]+) (k?W) for (\d+) (min|h)")
SECONDS = {"min": 60, "h": 3600}
WATTS = {"W": 1, "kW": 1000}


def said(meaning: str) -> list[Load]:
    """The loads that a text tells of."""
    return [
        Load(float(watts) * WATTS[unit], int(time) * SECONDS[measure])
        for watts, unit, time, measure in SAID.findall(meaning)
    ]


@pytest.mark.parametrize(
    "name", ["fridge cycle", "kettle", "washing machine", "oven", "heat pump", "EV charge"]
)
def test_a_load_is_what_its_meaning_says(name: str) -> None:
    everyday = BY_NAME[name]
    assert everyday.parts == tuple((1, load) for load in said(everyday.meaning))


def test_a_programme_is_an_hour_of_15_watts() -> None:
    assert TV.meaning == "an hour of one programme or of another, 15 W apart on average"
    assert TV.parts == ((1, Load(15, 3600)),)


def test_an_empty_house_lacks_what_it_says() -> None:
    empty = BY_NAME["empty house"]
    assert "without 200 W all day" in empty.meaning
    assert "200 W of light and screens for 6 h" in empty.meaning
    assert "the oven once and the kettle four times" in empty.meaning
    [(_, oven)], [(_, kettle)] = BY_NAME["oven"].parts, BY_NAME["kettle"].parts
    all_day, evening = Load(200, 24 * 3600), Load(200, 6 * 3600)
    assert empty.parts == ((1, all_day), (1, evening), (1, oven), (4, kettle))
