"""A policy of groups that is changed under way: nothing is released on a part of its data.

A partition of the input that had told of panes under another policy does not read them again. So
each window of the new policy is released as if there had never been another one, or is withheld
as lost, and said to be.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meteragent.privacy.question import question
from meteragent.stream.group_pipeline import GroupPipeline
from meteragent.stream.meters import AssignedGroups
from meteragent.stream.partial_homes import PartialHomes
from meteragent.stream.totals import PaneTotals
from tests.given import HOUR, KEY, MINUTE, Record, readings
from tests.laws.test_groups import CERTAIN, HOURS, QUARTERS, Published, end_of, memberships
from tests.laws.test_partials import ALL, CALM, DOINGS, PARTITIONS, World, calm_logs

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from meteragent.privacy.group import GroupPolicy
    from meteragent.privacy.members import Membership
    from meteragent.stream.totals import Arrived
    from tests.laws.test_partials import Policies, Release

OTHERS = {
    "questions": replace(HOURS, questions=(CERTAIN, question("min", 50, 10))),
    "patience": replace(HOURS, idle=50 * MINUTE),
    "windows": replace(HOURS, size=HOUR // 2, hop=HOUR // 2),
    "panes": QUARTERS,
}


def of(policy: GroupPolicy) -> Policies:
    return (AssignedGroups("", "groups", policy),)


BEFORE = of(HOURS)
MORE = (*BEFORE, AssignedGroups("f-", "more", OTHERS["questions"]))
CHANGES = [*map(of, OTHERS.values()), MORE]


def as_if_always(members: list[Membership], log: list[Record], policies: Policies) -> set[Release]:
    """What one pipeline makes of it that had these policies from the start."""
    published, pipeline = Published(), GroupPipeline(policies, KEY, members, max_skew=0)
    published.commit(pipeline, pipeline.feed(readings(log)))
    published.commit(pipeline, pipeline.tick(end_of(log)))
    return set(published.releases)


def changed(world: World, before: list[tuple[int, int, int]], policies: Policies) -> list[Release]:
    """What is released under other policies, once these things were done."""
    world.do(before)
    said = len(world.releases)
    known = [*world.releases]
    world.change(policies)
    world.go([])
    assert len(world.releases) == len(set(world.releases)) >= said
    return [one for one in world.releases if one not in known]


def is_lost(release: Release) -> bool:
    return b", 'lost', " in release[2]


@given(memberships(), calm_logs(), PARTITIONS, DOINGS, st.sampled_from(CHANGES))
@settings(max_examples=20, deadline=None)
def test_a_window_is_released_on_all_of_its_data_or_withheld(
    members: list[Membership],
    log: list[Record],
    partitions: tuple[int, int],
    doings: list[tuple[int, int, int]],
    policies: Policies,
) -> None:
    released = changed(World(members, log, *partitions, BEFORE), doings, policies)
    whole = as_if_always(members, log, policies) | as_if_always(members, log, BEFORE)
    assert [one for one in released if one not in whole and not is_lost(one)] == []


def forgotten_at_the_source() -> AbstractContextManager[object]:
    """Nobody is told that something was told under another policy."""
    return patch.object(PartialHomes, "relive", lambda self, _: self._following.clear())


def unheeded_at_the_sums() -> AbstractContextManager[object]:
    """It is told, and not heeded."""
    real = PaneTotals.take

    def take(self: PaneTotals, arrived: Arrived) -> object:
        return real(self, arrived._replace(partial=replace(arrived.partial, follows=False)))

    return patch.object(PaneTotals, "take", take)


@pytest.mark.parametrize("planted", [None, forgotten_at_the_source, unheeded_at_the_sums])
def test_what_went_on_before_is_noticed_to_be_lost_and_what_comes_later_is_released(
    planted: Callable[[], AbstractContextManager[object]] | None,
) -> None:
    policies = of(OTHERS["questions"])
    with planted() if planted else nullcontext():
        world = World(ALL, CALM, 2, 2, BEFORE)
        released = changed(world, [(0, 0, 60), (0, 1, 60), (1, 0, 99), (1, 1, 99)], policies)
    whole = as_if_always(ALL, CALM, policies) | as_if_always(ALL, CALM, BEFORE)
    partly = [one for one in released if one not in whole and not is_lost(one)]
    assert bool(partly) == (planted is not None)
    assert any(map(is_lost, released)) or planted
    assert any(not is_lost(one) for one in released)
