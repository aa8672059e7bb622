"""Ledgers of homes and of groups that were lost: nothing is decided twice, or on a part of it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meteragent.stream.meters import AssignedGroups
from meteragent.stream.partial import way_of
from meteragent.stream.partial_homes import ANEW, PASSED
from meteragent.stream.position import DAWN
from meteragent.stream.total_pipeline import written
from meteragent.stream.totals import PaneTotals, Settled
from tests.given import HOUR, MINUTE
from tests.laws.test_changed_groups import BEFORE, as_if_always, is_lost
from tests.laws.test_groups import BEGIN, HOURS, memberships
from tests.laws.test_partials import (
    ALL,
    CALM,
    DOINGS,
    PARTITIONS,
    Sink,
    Source,
    World,
    calm_logs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from meteragent.privacy.members import Membership
    from tests.given import Record
    from tests.laws.test_partials import Release


def lose_homes(source: Source) -> None:
    """Its ledger is lost, and that is accepted: as `kafka.loss` writes it down."""
    source.ledger = {PASSED: ANEW}
    source.crash()


def lose_groups(sink: Sink, sources: int) -> None:
    """The same, of groups."""
    since, ways = sink.position.clock, sink.policies
    anew = {way_of(one).hex(): Settled.anew(one.policy, since, sources) for one in ways}
    sink.ledger = {} if since == DAWN else {PASSED: written(anew)}
    sink.crash()


def windows(releases: Iterable[Release]) -> list[tuple[str, str, bytes]]:
    """Which window of which group each is of."""
    return [(policy, group, text.split(b",")[0]) for policy, group, text in releases]


def is_right(world: World, members: list[Membership], log: list[Record]) -> bool:
    """Whether each window was decided once, on all of its data, or is said to be lost."""
    whole = as_if_always(members, log, world.policies)
    decided = windows(world.releases)
    partly = [one for one in world.releases if one not in whole and not is_lost(one)]
    return not partly and len(decided) == len(set(decided))


LOST = st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=3)


@given(memberships(), calm_logs(), PARTITIONS, DOINGS, LOST, DOINGS)
@settings(max_examples=30, deadline=None)
def test_a_window_is_decided_once_on_all_of_its_data_or_withheld(
    members: list[Membership],
    log: list[Record],
    partitions: tuple[int, int],
    before: list[tuple[int, int, int]],
    lost: list[tuple[bool, int]],
    after: list[tuple[int, int, int]],
) -> None:
    world = World(members, log, *partitions, BEFORE)
    world.do(before)
    for of_homes, which in lost:
        if of_homes:
            lose_homes(world.sources[which % world.inputs])
        else:
            lose_groups(world.sinks[which % world.outputs], world.inputs)
    world.go(after)
    assert is_right(world, members, log)


def with_nothing_said_at_the_source() -> AbstractContextManager[object]:
    """Who has homes begins as if it had never told of any pane."""
    return patch(f"{__name__}.ANEW", b"{}")


def with_the_past_forgotten() -> AbstractContextManager[object]:
    """Panes are decided again, on what is still read."""
    return patch.object(Settled, "anew", lambda *_: Settled())


def with_open_windows_released() -> AbstractContextManager[object]:
    """It is noted how far panes are decided, and not that those are lost."""
    real = PaneTotals.go_on

    def go_on(self: PaneTotals, kept: Settled) -> None:
        real(self, kept._replace(lost=Settled().lost))

    return patch.object(PaneTotals, "go_on", go_on)


GAPS = [one for one in CALM if one.meter != "b" or (one.start - BEGIN) % HOUR < 15 * MINUTE]


@pytest.mark.parametrize(
    ("lost", "planted"),
    [
        ("homes", None),
        ("homes", with_nothing_said_at_the_source),
        ("groups", None),
        ("groups", with_the_past_forgotten),
        ("groups", with_open_windows_released),
    ],
)
def test_mistakes_are_noticed(
    lost: str, planted: Callable[[], AbstractContextManager[object]] | None
) -> None:
    with planted() if planted else nullcontext():
        world = World(ALL, GAPS, 2, 2, BEFORE)
        world.do([(0, 0, 60), (0, 1, 60), (1, 0, 99), (1, 1, 99)])
        for at in range(2):
            if lost == "homes":
                lose_homes(world.sources[at])
            else:
                lose_groups(world.sinks[at], world.inputs)
        world.go([])
    assert is_right(world, ALL, GAPS) == (planted is None)
    assert any(map(is_lost, world.releases)) or planted
    assert not all(map(is_lost, world.releases[-3:]))


def test_what_follows_one_way_still_follows_after_another_was_told_of() -> None:
    """Who takes over in between lets it follow too: nobody else knows that panes lack."""
    late = replace(HOURS, idle=6 * HOURS.idle)
    both = (AssignedGroups("", "early", HOURS), AssignedGroups("", "late", late))
    world = World(ALL, CALM, 1, 1, BEFORE)
    [source] = world.sources
    source.feed(60)
    world.change(both)
    while source.fed < len(CALM):
        told = len(source.topics[0])
        source.feed(1)
        if len(source.topics[0]) > told:
            source.crash()
    world.go([])
    whole = as_if_always(ALL, CALM, both)
    assert [one for one in world.releases if one not in whole and not is_lost(one)] == []
    assert any(map(is_lost, world.releases))
