"""Readings cut by their offsets, and put together again; and what is committed within records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from meteragent.privacy.members import Membership
from meteragent.stream.group_homes import without_members
from meteragent.stream.pipeline import Assigned, Pipeline
from meteragent.stream.position import START
from meteragent.stream.readings import Numbered, Readings, Reason, Reject, joined
from meteragent.stream.total_pipeline import TotalPipeline
from tests.given import KEY, MINUTE, Record, policy, readings
from tests.laws.test_groups import POLICIES, end_of
from tests.laws.test_partials import ALL, CALM, World, rosters

LOG = [
    Record("a", 0, 0, (1.0, 2.0)),
    Record("b", 0, 0, (3.0,)),
    Record("c", 0, 0, (), bad=True),
    Record("a", 0, MINUTE, (4.0,)),
]


def told(some: Readings) -> object:
    columns = some.offsets, some.timestamps, some.counts, some.starts, some.intervals, some.watts
    rejects = [reject.offset for reject in some.rejects]
    return [*some.meters], [column.tolist() for column in columns], rejects, some.next_offset


@pytest.mark.parametrize("cut", range(10, 15))
def test_what_is_cut_is_put_together_again(cut: int) -> None:
    whole = readings(LOG, 10)
    parts = [whole.between(10, cut), whole.between(cut, 14)]
    found = joined([part for part in parts if part is not None])
    assert found is not None
    assert told(found) == told(whole)
    assert whole.between(10, 14) is whole
    assert whole.between(14, 20) is None


def test_nothing_is_put_together_of_nothing() -> None:
    assert joined([]) is None


def test_ids_stay_numbered_where_all_are_by_one_list() -> None:
    names = ["a", "b"]
    one = readings(LOG[:2])
    numbered = replace(one, meters=Numbered(names, np.array([0, 1])))
    both = joined([numbered, numbered])
    assert both is not None
    assert isinstance(both.meters, Numbered)
    assert [*both.meters] == ["a", "b"] * 2
    for other in (one, replace(one, meters=Numbered(["a", "b"], np.array([0, 1])))):
        mixed = joined([numbered, other])
        assert mixed is not None
        assert mixed.meters == ["a", "b"] * 2


def test_rejects_alone_are_cut_too() -> None:
    none = readings(LOG[2:3], 7)
    assert none.rejects == [Reject(7, none.rejects[0].reason)]
    assert none.rejects[0].reason in Reason
    assert none.between(0, 7) is None
    assert none.between(7, 8) is none


def test_who_decides_groups_says_within_records_how_far_all_is_decided() -> None:
    """So it is known, though its ledger be lost, what a portion has decided; meters start over."""
    world = World(ALL, CALM, 1, 1)
    [source], [sink] = world.sources, world.sinks
    source.feed(len(source.log))
    source.tick(end_of(CALM))
    before = sink.position
    sink.feed(len(sink.topic))
    within = sink.pipeline.within(before)
    assert (within.offset, within.processed) == (before.offset, before.processed)
    assert within.clock == sink.pipeline.clock > before.clock
    meters = Pipeline([Assigned("", "all", policy())], KEY, max_skew=0, max_meters=1)
    assert meters.within(START) is START
    fresh = TotalPipeline(POLICIES, KEY, rosters(ALL, 1, 1), 0)
    assert fresh.within(START) == START


def test_policies_are_named_that_are_for_groups_of_nobody() -> None:
    assert without_members(POLICIES, []) == ["sorted", "hours", "quarters", "layers"]
    assert without_members(POLICIES, [Membership("h", "f-1")]) == ["sorted"]
