"""Ids that come by number find the same homes as ids that come by name."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np

from meteragent.formats.encoder import Encoder
from meteragent.stream.pipeline import Assigned, Pipeline
from meteragent.stream.readings import Numbered, Readings
from tests.given import KEY, MINUTE, policy

SPELLINGS = ("m-1", "M-1", "m-2", "m-3", "x-1", "m-4", "m-5")
"""Two of one meter, one that no policy is for, and one too many."""


def fed(seed: int, *, by_number: bool) -> list[object]:
    """All that comes of drawn readings; now and then, numbers are given anew."""
    draw, encode = Random(seed), Encoder().encode
    pipeline = Pipeline(
        [Assigned("m-", "all", policy())], KEY, max_skew=MINUTE, max_meters=5, normalise_ids=True
    )
    names: list[str] = []
    left: list[object] = []
    for step in range(60):
        if draw.random() < 0.1:
            names = []
        meters = draw.choices(SPELLINGS[: 1 + step // 5], k=4)
        names += [name for name in dict.fromkeys(meters) if name not in names]
        numbers = np.array([names.index(name) for name in meters])
        ahead = [draw.choice((0, 0, 0, 2 * MINUTE)) for _ in meters]
        times, ones = np.full(4, 10_000 * step), np.ones(4, dtype=np.int64)
        watts = np.full(4, 100, dtype=np.float64)
        offsets = np.arange(4 * step, 4 * step + 4)
        readings = Readings(
            meters, offsets, times, ones, times + np.array(ahead), ones, watts, [], 4 * step + 4
        )
        if by_number:
            readings = replace(readings, meters=Numbered(names, numbers))
            assert len(readings.meters) == 4
        for some in readings.split(4 * step + 2):
            left += [(sorted(s.written(encode)), sorted(s.accounts)) for s in pipeline.feed(some)]
        counts = pipeline.counted()
        left.append((counts.tally, counts.rejects, pipeline.position()))
    return left


def test_ids_by_number_are_met_as_ids_by_name() -> None:
    for seed in range(20):
        assert [*map(repr, fed(seed, by_number=True))] == [*map(repr, fed(seed, by_number=False))]
