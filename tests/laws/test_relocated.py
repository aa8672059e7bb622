"""Homes and groups that go to other partitions are released as if they had always been there."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from meteragent.stream.group_pipeline import GroupPipeline
from meteragent.stream.homes import Homes
from meteragent.stream.partial import way_of
from meteragent.stream.partial_homes import PASSED, written_passed
from meteragent.stream.position import START
from meteragent.stream.relocated import Come
from meteragent.stream.total_pipeline import settled_in
from meteragent.stream.totals import Settled
from tests.given import HOUR, KEY, MINUTE, readings
from tests.laws.test_groups import POLICIES, Published, end_of, memberships
from tests.laws.test_lost_ledgers import GAPS, windows
from tests.laws.test_partials import ALL, DOINGS, PARTITIONS, World, by_group, calm_logs

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from meteragent.privacy.members import Membership
    from meteragent.privacy.policy import Policy
    from tests.given import Record
    from tests.laws.test_partials import Release

UNKNOWN = Settled().done
SHORT = calm_logs().map(lambda log: log[:10])


def over(log: list[Record]) -> int:
    """When all panes have closed that anything was read of."""
    return log[-1].start + HOUR


def later(log: list[Record], by: int) -> list[Record]:
    return [one._replace(written=one.written + by, start=one.start + by) for one in log]


def brought_to_rest(world: World, now: int) -> None:
    for source in world.sources:
        source.feed(len(source.log))
        source.tick(now)
    for sink in world.sinks:
        sink.feed(len(sink.topic))


def moved(before: World, log: list[Record], inputs: int, outputs: int) -> World:
    """What comes next, over other partitions: as `kafka.migrate_groups` writes it down."""
    after = World(before.members, log, inputs, outputs, before.policies)
    come = Come.of([one.ledger.get(PASSED) for one in before.sources])
    kept = [one.ledger.get(PASSED) for one in before.sinks]
    policies = {way_of(one).hex(): one.policy for one in before.policies}
    drained = all(sink.position.offset == sink.position.processed for sink in before.sinks)
    told, settled = come.of_homes(), come.of_groups(policies, kept, inputs, drained=drained)
    clock = max(one.position.clock for one in before.sources)
    where, homes = Homes("murmur2", outputs), Homes("murmur2", inputs)
    for source in after.sources:
        mine = {h: its for one in before.sources for h, its in one.ledger.items() if h != PASSED}
        source.ledger = {h: its for h, its in mine.items() if homes.of(h) == source.partition}
        source.ledger |= {} if told is None else {PASSED: told}
        source.position = replace(START, clock=clock)
        source.crash()
    for sink in after.sinks:
        known = {g: its for one in before.sinks for g, its in one.ledger.items() if g != PASSED}
        sink.ledger = {g: its for g, its in known.items() if where.of(g) == sink.partition}
        sink.ledger[PASSED] = settled
        sink.crash()
    return after


def as_if_never(members: list[Membership], one: list[Record], two: list[Record]) -> list[Release]:
    """What one pipeline makes of both."""
    published, pipeline = Published(), GroupPipeline(POLICIES, KEY, members, max_skew=0)
    published.commit(pipeline, pipeline.feed(readings(one)))
    published.commit(pipeline, pipeline.tick(over(one)))
    published.commit(pipeline, pipeline.feed(readings(two, len(one))))
    published.commit(pipeline, pipeline.tick(end_of(two)))
    return published.releases


@given(memberships(), SHORT, PARTITIONS, PARTITIONS, SHORT, DOINGS)
@settings(max_examples=5, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_sums_that_are_open_go_on_in_other_partitions(
    members: list[Membership],
    one: list[Record],
    few: tuple[int, int],
    many: tuple[int, int],
    two: list[Record],
    doings: list[tuple[int, int, int]],
) -> None:
    two = later(two, over(one) - two[0].start)
    before = World(members, one, *few)
    brought_to_rest(before, over(one))
    after = moved(before, two, *many)
    after.go(doings)
    released = [*before.releases, *after.releases]
    assert by_group(released) == by_group(as_if_never(members, one, two))
    assert [sink.rejected for sink in after.sinks] == [[]] * after.outputs


def partly(world: World, after: World, one: list[Record], two: list[Record]) -> bool:
    """Whether anything was released twice, or on a part of it."""
    whole = {*as_if_never(world.members, one, two)}
    released = [*world.releases, *after.releases]
    wrong = [it for it in released if it not in whole and b"'lost'" not in it[2]]
    decided = windows(released)
    return bool(wrong) or len(decided) > len(set(decided))


APART = st.lists(st.integers(0, 7).map(lambda n: n * 10 * MINUTE), min_size=4, max_size=4)


def apart(world: World, one: list[Record], by: list[int]) -> None:
    """All that was read is told of, by partitions whose clocks are apart."""
    for source, more in zip(world.sources, by, strict=False):
        source.feed(len(source.log))
        source.tick(over(one) + more)


@given(memberships(), SHORT, PARTITIONS, PARTITIONS, DOINGS, APART, st.booleans())
@settings(max_examples=5, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_where_some_have_come_further_what_is_open_is_lost_and_never_released_on_a_part(
    members: list[Membership],
    one: list[Record],
    few: tuple[int, int],
    many: tuple[int, int],
    doings: list[tuple[int, int, int]],
    by: list[int],
    told: bool,  # noqa: FBT001 - drawn
) -> None:
    two = later(one, over(one) + 2 * HOUR - one[0].start)
    before = World(members, one, *few)
    before.do(doings)
    apart(before, one, by)
    for sink in before.sinks if told else before.sinks[:1]:
        sink.feed(len(sink.topic))
    after = moved(before, two, *many)
    after.go([])
    assert not partly(before, after, one, two)


def with_nobody_told() -> AbstractContextManager[object]:
    """Partitions begin as if they had never told of anything."""
    return patch.object(Come, "of_homes", lambda _: None)


def with_open_windows_released() -> AbstractContextManager[object]:
    """It is noted how far panes are decided, and not that what is open is lost."""
    real = Settled.anew

    def anew(policy: Policy, since: int, sources: int) -> Settled:
        return real(policy, since, sources)._replace(lost=UNKNOWN)

    return patch.object(Settled, "anew", anew)


@pytest.mark.parametrize(
    ("decided", "planted"),
    [
        ("all", None),
        ("all", with_nobody_told),
        ("some", None),
        ("some", with_open_windows_released),
    ],
)
def test_mistakes_are_noticed(
    decided: str, planted: Callable[[], AbstractContextManager[object]] | None
) -> None:
    one = [it for it in GAPS if it.start < GAPS[0].start + 70 * MINUTE]
    two = later(GAPS, over(one) + HOUR - GAPS[0].start)
    with planted() if planted else nullcontext():
        before = World(ALL, one, 2, 2)
        apart(before, one, [0, 0])
        for sink in before.sinks:
            sink.feed(len(sink.topic) if decided == "all" else len(sink.topic) // 2)
        after = moved(before, two, 3, 1)
        after.go([])
    if decided == "all":
        same = by_group([*before.releases, *after.releases])
        assert (same == by_group(as_if_never(ALL, one, two))) == (planted is None)
    else:
        assert partly(before, after, one, two) == (planted is not None)
        assert any(b"'lost'" in text for _, _, text in after.releases) or planted


def test_who_never_told_of_anything_begins_as_ever() -> None:
    way, policy = way_of(POLICIES[0]).hex(), POLICIES[0].policy
    assert Come.of([None, written_passed({way: UNKNOWN})]).of_homes() is None
    come = Come.of([None, None])
    assert come.of_homes() is None
    assert settled_in(come.of_groups({way: policy}, [None], 3, drained=True)) == {}


def test_what_groups_have_decided_of_which_homes_tell_nothing_is_lost() -> None:
    """As after the ledger of homes was lost."""
    way, policy = way_of(POLICIES[0]).hex(), POLICIES[0].policy
    world = World(ALL, GAPS, 1, 1)
    world.go([])
    [sink] = world.sinks
    settled = Come.of([b'{"lost":0}']).of_groups(
        {way: policy}, [sink.ledger[PASSED]], 2, drained=True
    )
    done = settled_in(sink.ledger[PASSED])[way].done
    assert settled_in(settled)[way] == Settled(done, done - 1, {0: done, 1: done})
