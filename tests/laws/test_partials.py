"""However homes are spread over partitions, their groups are released as if all were in one."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meteragent.privacy.members import Membership
from meteragent.stream.group_homes import with_members
from meteragent.stream.home_pipeline import HomePipeline
from meteragent.stream.homes import Homes
from meteragent.stream.position import START, Position
from meteragent.stream.readings import Reason
from meteragent.stream.releases import Document, Step, stages
from meteragent.stream.roster import Roster
from meteragent.stream.total_pipeline import Partials, TotalPipeline
from meteragent.stream.totals import PaneTotals
from tests.given import KEY, MINUTE, Record, readings
from tests.laws.test_groups import (
    BEGIN,
    HOMES,
    POLICIES,
    end_of,
    everything,
    logs,
    memberships,
    said_by_hand,
    straight,
    without_unbiased,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from meteragent.stream.home_panes import PaneSum
    from meteragent.stream.meters import AssignedGroups
    from meteragent.stream.partial import Partial

Release = tuple[str, str, bytes]
Policies = tuple["AssignedGroups", ...]


def rosters(
    members: list[Membership], inputs: int, outputs: int, policies: Policies = POLICIES
) -> dict[str, Roster]:
    spread = Homes("murmur2", inputs), Homes("murmur2", outputs)
    return {its[0].prefix: Roster(who, *spread) for its, who in with_members(policies, members)}


@dataclass
class Source:
    """A partition of the input, and all that is committed with it."""

    members: list[Membership]
    rosters: dict[str, Roster]
    partition: int
    topics: list[list[bytes]]
    log: list[Record] = field(default_factory=list)
    ledger: dict[str, bytes] = field(default_factory=dict)
    position: Position = START
    rejected: list[Reason] = field(default_factory=list)
    late: int = 0
    policies: Policies = POLICIES

    def __post_init__(self) -> None:
        self.crash()

    def crash(self) -> None:
        """Go on from what is committed."""
        homes = {member.home for member in self.members}
        self.pipeline = HomePipeline(
            self.policies,
            KEY,
            self.rosters,
            self.partition,
            max_skew=0,
            is_member=homes.__contains__,
            start=self.position,
        )
        self.pipeline.restore(self.ledger)
        self.fed = self.position.offset

    def commit(self, steps: Iterable[Step]) -> None:
        for step in steps:
            self.ledger.update(step.accounts)
            self.ledger.update(step.homes)
            for output, record in step.told:
                self.topics[output].append(record)
        self.position = self.pipeline.position()
        counts = self.pipeline.counted()
        self.rejected += [reject.reason for reject in counts.rejects]
        self.late += counts.tally.late

    def feed(self, count: int) -> None:
        """So many records more of the log."""
        its = self.log[self.fed : self.fed + count]
        if its:
            self.commit(self.pipeline.feed(readings(its, self.fed)))
            self.fed += len(its)

    def tick(self, now: int) -> None:
        """Time passes, once all is read, as it was announced and committed."""
        if self.fed == len(self.log) and self.pipeline.announce(now):
            self.position = self.pipeline.position()
            self.commit(self.pipeline.keep(self.position))


@dataclass
class Sink:
    """A partition of sums, and all that is committed with it."""

    rosters: dict[str, Roster]
    partition: int
    topic: list[bytes]
    ledger: dict[str, bytes] = field(default_factory=dict)
    position: Position = START
    releases: list[Release] = field(default_factory=list)
    rejected: list[Reason] = field(default_factory=list)
    policies: Policies = POLICIES

    def __post_init__(self) -> None:
        self.crash()

    def crash(self) -> None:
        """Go on from what is committed."""
        self.pipeline = TotalPipeline(
            self.policies, KEY, self.rosters, self.partition, start=self.position
        )
        self.pipeline.restore(self.ledger)
        self.fed = self.position.offset

    def feed(self, count: int) -> None:
        """So many records more."""
        its = self.topic[self.fed : self.fed + count]
        if not its:
            return
        offsets = [*range(self.fed, self.fed + len(its))]
        partials = Partials(offsets, [*its])
        for stage in stages(self.pipeline.feed(partials)):
            documents: list[Document] = []
            for step in stage:
                documents += step.written(everything)
                self.ledger.update(step.accounts)
            self.releases += [(d.policy, d.meter, d.text) for d in sorted(documents)]
        self.fed = partials.next_offset
        self.position = self.pipeline.position()
        counts = self.pipeline.counted()
        self.rejected += [reject.reason for reject in counts.rejects]


@dataclass
class World:
    """Several partitions of the input, and of sums."""

    members: list[Membership]
    log: list[Record]
    inputs: int
    outputs: int
    policies: Policies = POLICIES

    def __post_init__(self) -> None:
        known = rosters(self.members, self.inputs, self.outputs, self.policies)
        self.topics: list[list[bytes]] = [[] for _ in range(self.outputs)]
        homes = Homes("murmur2", self.inputs)
        self.sources = [
            Source(
                self.members,
                known,
                at,
                self.topics,
                [record for record in self.log if homes.of(record.meter) == at],
                policies=self.policies,
            )
            for at in range(self.inputs)
        ]
        self.sinks = [
            Sink(known, at, self.topics[at], policies=self.policies) for at in range(self.outputs)
        ]

    def change(self, policies: Policies) -> None:
        """All go on from what is committed, under these."""
        self.policies = policies
        known = rosters(self.members, self.inputs, self.outputs, policies)
        every: list[Source | Sink] = [*self.sources, *self.sinks]
        for one in every:
            one.rosters, one.policies = known, policies
            one.crash()

    def do(self, doings: list[tuple[int, int, int]]) -> None:
        """Do these in this order."""
        for what, which, count in doings:
            source, sink = self.sources[which % self.inputs], self.sinks[which % self.outputs]
            acts: list[Callable[[], None]] = [
                partial(source.feed, count),
                partial(sink.feed, count),
                source.crash,
                sink.crash,
            ]
            acts[what]()

    def go(self, doings: list[tuple[int, int, int]]) -> None:
        """Do these in this order, and then all that is left to be done."""
        self.do(doings)
        for one in self.sources:
            one.feed(len(one.log))
            one.tick(end_of(self.log))
        for sink in self.sinks:
            sink.feed(len(sink.topic))

    @property
    def releases(self) -> list[Release]:
        return [one for sink in self.sinks for one in sink.releases]


DOINGS = st.lists(
    st.tuples(st.sampled_from([0, 0, 0, 1, 1, 2, 3]), st.integers(0, 5), st.integers(1, 12)),
    max_size=25,
)
PARTITIONS = st.tuples(st.integers(1, 4), st.integers(1, 2))


@given(memberships(), logs(), PARTITIONS, DOINGS)
@settings(max_examples=max(30, settings().max_examples // 5))
def test_releases_are_those_of_the_twin_whoever_reads_what_and_when(
    members: list[Membership],
    log: list[Record],
    partitions: tuple[int, int],
    doings: list[tuple[int, int, int]],
) -> None:
    world = World(members, log, *partitions)
    world.go(doings)
    assert without_unbiased(world.releases) == said_by_hand(members, log, world.inputs)
    assert len(world.releases) == len(set(world.releases))
    assert [sink.rejected for sink in world.sinks] == [[]] * world.outputs
    known = {member.home for member in members}
    strangers = sum(record.meter not in known for record in log)
    rejected = [reason for source in world.sources for reason in source.rejected]
    assert rejected == [Reason.NO_GROUP] * strangers


@st.composite
def calm_logs(draw: st.DrawFn) -> list[Record]:
    """Of readings that come in their order."""
    time, log = BEGIN, []
    for _ in range(draw(st.integers(1, 40))):
        time += draw(st.sampled_from([0, 0, 5, 5, 10, 20, 60])) * MINUTE
        home, watts = draw(st.sampled_from(HOMES)), float(draw(st.integers(-300, 1000)))
        log.append(Record(home, time, time, (watts,), 5 * MINUTE))
    return log


def by_group(releases: list[Release]) -> dict[tuple[str, str], list[bytes]]:
    found: dict[tuple[str, str], list[bytes]] = {}
    for policy, group, text in releases:
        found.setdefault((policy, group), []).append(text)
    return found


@given(memberships(), calm_logs(), PARTITIONS, DOINGS)
@settings(max_examples=max(20, settings().max_examples // 5))
def test_each_group_is_released_to_the_byte_and_in_order_as_of_a_file(
    members: list[Membership],
    log: list[Record],
    partitions: tuple[int, int],
    doings: list[tuple[int, int, int]],
) -> None:
    world = World(members, log, *partitions)
    world.go(doings)
    assert by_group(world.releases) == by_group(straight(members, log).releases)
    assert sum(source.late for source in world.sources) == 0


def counted_twice() -> AbstractContextManager[object]:
    """What a partition tells is added up twice."""
    real = PaneTotals._sum

    def added(self: PaneTotals, pane: int, told: list[Partial]) -> PaneSum:
        return real(self, pane, told * 2)

    return patch.object(PaneTotals, "_sum", added)


def decided_before_all_have_passed() -> AbstractContextManager[object]:
    """Nobody is waited for."""
    return patch.object(PaneTotals, "awaited", lambda *_: frozenset())


CALM = [
    Record(home, BEGIN + minute * MINUTE, BEGIN + minute * MINUTE, (500.0,), 5 * MINUTE)
    for minute in range(0, 180, 5)
    for home in HOMES
]
ALL = [Membership(home, group) for home in HOMES for group in ("f-1", "f-2", "s-1")]


@pytest.mark.parametrize("planted", [None, counted_twice, decided_before_all_have_passed])
def test_mistakes_are_noticed(planted: Callable[[], AbstractContextManager[object]] | None) -> None:
    with planted() if planted else nullcontext():
        world = World(ALL, CALM, 2, 2)
        world.go([(0, 0, 20), (1, 0, 9), (1, 1, 9), (0, 1, 30), (2, 0, 1), (3, 1, 1)])
    same = by_group(world.releases) == by_group(straight(ALL, CALM).releases)
    assert same == (planted is None)


def test_partials_of_which_a_portion_was_decided_are_not_late_when_they_are_read_again() -> None:
    """An instance dies between two portions of one batch: its position is from before both."""
    world = World(ALL, CALM, 2, 1)
    for source in world.sources:
        source.feed(len(source.log))
        source.tick(end_of(CALM))
    [sink] = world.sinks
    partials = Partials([*range(len(sink.topic))], [*sink.topic])
    steps = sink.pipeline.feed(partials)
    for _, step in zip(range(len(sink.topic) // 4), steps, strict=False):
        sink.ledger.update(step.accounts)
    sink.crash()
    sink.feed(len(sink.topic))
    assert sink.rejected == []
    sink.topic.append(sink.topic[0])
    sink.feed(1)
    assert sink.rejected == [Reason.LATE_PARTIAL]
