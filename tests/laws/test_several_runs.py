"""A record may hold readings of several meters: it is taken in whole, however batches are cut."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.given import SECOND, Record, readings
from tests.laws.test_pipeline import MUCH, Published, at_once, logs, pipeline

if TYPE_CHECKING:
    from meteragent.stream.readings import Readings

SOME = settings(max_examples=max(40, settings().max_examples - 60))
SHARED = st.lists(st.booleans(), min_size=50, max_size=50)
"""Whether each run stands in the record of the one before it."""


def numbered(log: list[Record], shared: list[bool]) -> list[int]:
    """The offset of each run's record."""
    return [*accumulate((not one for one in shared[1 : len(log)]), initial=0)]


def together(log: list[Record], offsets: list[int], low: int, high: int) -> Readings:
    """The records from one offset up to another."""
    mine = [at for at, offset in enumerate(offsets) if low <= offset < high]
    runs = [log[at]._replace(bad=False) for at in mine]
    made = readings(runs)
    return replace(made, offsets=np.array([offsets[at] for at in mine], np.int64), next_offset=high)


def in_batches(log: list[Record], offsets: list[int], cuts: list[int]) -> Published:
    published = Published()
    one, end = pipeline(published), offsets[-1] + 1
    for low, high in pairwise([0, *sorted({min(cut, end) for cut in cuts}), end]):
        if high > low:
            published.commit(one, one.feed(together(log, offsets, low, high)))
    return published


@SOME
@given(logs(), SHARED, st.lists(st.integers(1, 50), max_size=5), MUCH)
def test_any_batching_of_records_of_several_runs_gives_the_same_releases(
    log: list[Record], shared: list[bool], cuts: list[int], much: int
) -> None:
    offsets = numbered(log, shared)
    expected = in_batches(log, offsets, list(range(50)))
    with at_once(much):
        published = in_batches(log, offsets, cuts)
    assert published.by_meter() == expected.by_meter()
    assert sorted(published.rejects) == sorted(expected.rejects)
    assert published.accounts == expected.accounts
    assert published.position == expected.position


@SOME
@given(logs(), SHARED, MUCH)
def test_runs_of_one_record_are_released_as_runs_of_several(
    log: list[Record], shared: list[bool], much: int
) -> None:
    apart = in_batches(log, list(range(len(log))), [])
    with at_once(much):
        published = in_batches(log, numbered(log, shared), [])
    assert published.by_meter() == apart.by_meter()
    assert published.accounts == apart.accounts


def test_halves_of_one_record_are_two_and_in_order() -> None:
    log = [Record(f"m-{n}", 0, n * SECOND, (1.0,)) for n in range(5)]
    before, after = together(log, [0] * 5, 0, 1).halves()
    assert [*before.meters, *after.meters] == [f"m-{n}" for n in range(5)]
    assert (before.next_offset, after.next_offset) == (0, 1)
    before, after = together(log, [0, 0, 0, 0, 1], 0, 2).halves()
    assert (len(before.meters), len(after.meters)) == (4, 1)
