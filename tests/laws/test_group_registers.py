"""Registers of homes are released as the sums of the power that they tell of."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meteragent.privacy.ledger import NEVER
from meteragent.stream.counters import LEAP
from meteragent.stream.group_pipeline import GroupPipeline
from meteragent.stream.home_panes import KEPT, HomePanes
from tests.given import KEY, MINUTE, Record, readings
from tests.laws.test_changed_groups import as_if_always
from tests.laws.test_groups import BEGIN, HOMES, POLICIES, Published, end_of, memberships
from tests.laws.test_partials import ALL, DOINGS, PARTITIONS, World

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from meteragent.privacy.members import Membership
    from meteragent.stream.home_panes import Kept

SLOT = 5 * MINUTE
WATTS = 12.0
"""Of a watt-hour in five minutes."""
COUNTED = tuple(replace(one, of_registers=True) for one in POLICIES[:2])
POWER = POLICIES[:2]
USED = st.sampled_from([0, 5, 5, 20, 60, -30, 5000])
"""In watt-hours: some rolls over, or leaps."""


@st.composite
def registers(draw: st.DrawFn) -> list[Record]:
    """What homes show, in the order of time, with gaps."""
    log, shown = [], dict.fromkeys(HOMES, 1000)
    for slot in range(draw(st.integers(2, 24))):
        for home in HOMES[: draw(st.integers(0, len(HOMES)))]:
            shown[home] += draw(USED)
            start = BEGIN + slot * SLOT
            log.append(Record(home, start + SLOT, start, (float(shown[home]),), SLOT))
    return log


def power(log: list[Record]) -> list[Record]:
    """The same as readings of power, worked out one by one."""
    last: dict[str, tuple[int, float]] = {}
    found = []
    for one in log:
        start, shown = last.get(one.meter, (one.start, 0.0))
        watts = (one.watts[0] - shown) * WATTS
        told = start + SLOT == one.start and 0 <= watts <= LEAP * 1000
        found.append(one._replace(watts=(watts if told else float("nan"),)))
        last[one.meter] = one.start, one.watts[0]
    return found


@given(memberships(), registers())
@settings(max_examples=15, deadline=None)
def test_registers_are_released_as_the_power_between_them(
    members: list[Membership], log: list[Record]
) -> None:
    if log:
        assert as_if_always(members, log, COUNTED) == as_if_always(members, power(log), POWER)


@given(memberships(), registers(), st.integers(1, 9), st.integers(0, 4))
@settings(max_examples=15, deadline=None)
def test_whoever_takes_over_counts_on(
    members: list[Membership], log: list[Record], size: int, each: int
) -> None:
    if not log:
        return
    published = Published()

    def begun() -> GroupPipeline:
        built = GroupPipeline(COUNTED, KEY, members, max_skew=0, start=published.position)
        built.restore(published.homes, published.groups)
        return built

    pipeline, nth = begun(), 0
    fed = 0
    while fed < len(log):
        if nth % (each + 1) == each:
            pipeline = begun()
            fed = published.position.offset
        many = size + nth  # more than is read again
        published.commit(pipeline, pipeline.feed(readings(log[fed : fed + many], fed)))
        fed, nth = fed + many, nth + 1
    published.commit(pipeline, pipeline.tick(end_of(log)))
    assert {*published.releases} == as_if_always(members, log, COUNTED)


@given(memberships(), registers(), PARTITIONS, DOINGS)
@settings(max_examples=15, deadline=None)
def test_homes_in_many_partitions_are_released_as_of_one_file(
    members: list[Membership],
    log: list[Record],
    partitions: tuple[int, int],
    doings: list[tuple[int, int, int]],
) -> None:
    if log:
        world = World(members, log, *partitions, COUNTED)
        world.go(doings)
        assert {*world.releases} == as_if_always(members, log, COUNTED)
        assert len(world.releases) == len({*world.releases})


def without_last_registers() -> AbstractContextManager[object]:
    """Nobody writes down what was shown last."""

    def none(self: HomePanes, counters: object, homes: np.ndarray) -> Kept:
        del self, counters
        found = np.zeros(len(homes), dtype=KEPT)
        found["pane"] = NEVER
        return found

    return patch.object(HomePanes, "_registers", none)


@pytest.mark.parametrize("planted", [None, without_last_registers])
def test_mistakes_are_noticed(planted: Callable[[], AbstractContextManager[object]] | None) -> None:
    log = [
        Record(home, at + SLOT, at, (1000.0 + slot * slot,), SLOT)
        for slot in range(30)
        for home in HOMES
        for at in [BEGIN + slot * SLOT]
    ]
    with planted() if planted else nullcontext():
        world = World(ALL, log, 1, 1, COUNTED)
        world.go([(0, 0, 50), (2, 0, 0), (0, 0, 40), (2, 0, 0)])
    assert ({*world.releases} == as_if_always(ALL, log, COUNTED)) == (planted is None)
