"""Distances between readings are what somebody who goes through them one by one counts."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest

from meteragent.files.steps import MOST, Steps
from meteragent.stream.readings import Numbered, Readings

pytestmark = pytest.mark.fast
NAMES = ["a", "b", "c", "d"]


def drawn(draw: Random, names: list[str], *, numbered: bool) -> Readings:
    """Runs of some meters, some of which come twice, go back in time or are blocks."""
    runs = draw.randrange(9)
    numbers = [draw.randrange(len(names)) for _ in range(runs)]
    counts = [draw.choice((1, 1, 3)) for _ in range(runs)]

    def column(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array(values, dtype=np.int64)

    return Readings(
        Numbered(names, column(numbers)) if numbered else [names[number] for number in numbers],
        column([*range(runs)]),
        column([0] * runs),
        column(counts),
        column([draw.randrange(20) for _ in range(runs)]),
        column([draw.choice((1, 5)) for _ in range(runs)]),
        np.zeros(sum(counts)),
        [],
        runs,
    )


def one_by_one(parts: list[Readings]) -> Counter[int]:
    """The twin: how often which distance comes."""
    found: Counter[int] = Counter()
    last: dict[str, int] = {}
    for part in parts:
        columns = (part.starts, part.intervals, part.counts)
        runs = zip(part.meters, *(column.tolist() for column in columns), strict=True)
        for meter, start, interval, count in runs:
            found.update([interval] * (count - 1))
            if start > last.get(meter, start):
                found[start - last[meter]] += 1
            last[meter] = start + interval * (count - 1)
    return found


@pytest.mark.parametrize("numbered", [True, False])
def test_distances_are_those_of_the_twin(numbered: bool) -> None:  # noqa: FBT001
    draw = Random(5)
    for _ in range(200):
        names = draw.sample(NAMES, draw.randrange(1, 5))  # numbers are forgotten now and then
        parts = [
            drawn(draw, draw.choice((names, names, NAMES)), numbered=numbered)
            for _ in range(draw.randrange(6))
        ]
        steps = Steps()
        for part in parts:
            steps.look(part)
        found = one_by_one(parts)
        every = sorted(found.elements())
        assert steps.median == (every[(len(every) - 1) // 2] if every else None)


def test_only_the_first_readings_are_looked_at() -> None:
    steps, times = Steps(), np.arange(MOST, dtype=np.int64)
    ones, none = np.ones_like(times), np.zeros_like(times)
    for apart in (1, 7, 7, 7):
        starts = times * apart
        some = Readings(["m"] * MOST, times, none, ones, starts, ones, np.zeros(MOST), [], MOST)
        steps.look(some)
    assert steps.median == 1
