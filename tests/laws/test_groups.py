"""A pipeline of groups says what its obvious twin says, whatever batches, crashes and rebuilds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from meteragent.privacy.domain import Domain
from meteragent.privacy.group import GroupPolicy, PerHome
from meteragent.privacy.members import ALWAYS, FOR_EVER, Membership
from meteragent.privacy.question import question
from meteragent.stream.group_pipeline import GroupPipeline
from meteragent.stream.homes import Homes
from meteragent.stream.meters import AssignedGroups
from meteragent.stream.position import START, Position
from meteragent.stream.readings import Reason
from meteragent.stream.releases import Document, Releases, Step, stages
from tests.given import HOUR, KEY, MINUTE, Record, readings
from tests.laws.test_pipeline import at_once
from tests.twins import groups as twin

if TYPE_CHECKING:
    from collections.abc import Iterable

CERTAIN = question("avg", 50, 10)
"""Its noise is nothing, but once in e^50 cases."""
HOURS = GroupPolicy(
    domain=Domain(-500, 2000, 10),
    questions=(question("max", 50, 10), CERTAIN, question("min", 50, 10)),
    size=HOUR,
    interval=15 * MINUTE,
    hop=HOUR,
    grace=5 * MINUTE,
    idle=10 * MINUTE,
    budget=2**47,
    horizon=24 * HOUR,
    presence="private",
    homes=PerHome(Decimal(-200), Decimal(800), 5 * MINUTE),
)
QUARTERS = replace(HOURS, size=15 * MINUTE, hop=15 * MINUTE, idle=0)
LAYERS = replace(
    QUARTERS, questions=(question("layers(250W)", 50, 10), CERTAIN, question("layers(1kW)", 50, 10))
)
SORTED = replace(
    HOURS,
    questions=(question("median", 50, 10), question("max", 50, 10)),
    homes=replace(HOURS.homes, least=2),
)
POLICIES = (
    AssignedGroups("", "hours", HOURS),
    AssignedGroups("", "quarters", QUARTERS),
    AssignedGroups("", "layers", LAYERS),
    AssignedGroups("s-", "sorted", SORTED),
)
HOMES = ("a", "b", "c", "d")
GROUPS = ("f-1", "f-2", "s-1")
BEGIN = 10**6 * HOUR


@st.composite
def memberships(draw: st.DrawFn) -> list[Membership]:
    found = [Membership("a", "f-1"), Membership("a", "s-1")]
    times = st.integers(-1, 6).map(lambda n: BEGIN + n * HOUR // 2)
    for home in HOMES[1:]:
        for group in GROUPS:
            if draw(st.booleans()):
                since, until = sorted([draw(times), draw(times)])
                always = draw(st.booleans())
                found.append(
                    Membership(
                        home, group, ALWAYS if always else since, FOR_EVER if always else until
                    )
                )
    return found


@st.composite
def logs(draw: st.DrawFn) -> list[Record]:
    time, log = BEGIN, []
    for _ in range(draw(st.integers(1, 30))):
        time += draw(st.sampled_from([0, 0, 5, 5, 10, 20, 60])) * MINUTE
        start = time + draw(st.sampled_from([0, 0, 0, -5, -40])) * MINUTE
        watts = st.one_of(st.integers(-300, 1000).map(float), st.just(float("nan")))
        log.append(
            Record(
                meter=draw(st.sampled_from((*HOMES, "stranger"))),
                written=time + HOUR,
                start=start,
                watts=tuple(draw(watts) for _ in range(draw(st.sampled_from([1, 1, 2, 4])))),
                spacing=5 * MINUTE,
            )
        )
    return log


def everything(r: Releases) -> list[bytes]:
    """All that is released of each window."""
    assert r.homes is not None
    rows = zip(r.starts, r.homes, r.granted, r.withheld, r.values, r.unbiased, strict=True)
    return [
        repr((int(start), int(homes), int(granted), str(why), v.tolist(), u.tolist())).encode()
        for start, homes, granted, why, v, u in rows
    ]


@dataclass
class Published:
    """What a ledger and an output hold: together, or not at all."""

    releases: list[tuple[str, str, bytes]] = field(default_factory=list)
    groups: dict[str, bytes] = field(default_factory=dict)
    homes: dict[str, bytes] = field(default_factory=dict)
    position: Position = START
    strangers: int = 0

    def commit(self, pipeline: GroupPipeline, steps: Iterable[Step]) -> None:
        for stage in stages(steps):
            documents: list[Document] = []
            for step in stage:
                documents += step.written(everything)
                self.groups.update(step.accounts)
                self.homes.update(step.homes)
            self.releases += [(d.policy, d.meter, d.text) for d in sorted(documents)]
        rejects = pipeline.counted().rejects
        assert {reject.reason for reject in rejects} <= {Reason.NO_GROUP}
        self.strangers += len(rejects)
        self.position = pipeline.position()


def pipeline(members: list[Membership], published: Published) -> GroupPipeline:
    built = GroupPipeline(POLICIES, KEY, members, max_skew=0, start=published.position)
    built.restore(published.homes, published.groups)
    return built


def end_of(log: list[Record]) -> int:
    return max(record.start for record in log) + 5 * HOUR


def straight(members: list[Membership], log: list[Record]) -> Published:
    published = Published()
    one = pipeline(members, published)
    for nth, record in enumerate(log):
        published.commit(one, one.feed(readings([record], nth)))
    published.commit(one, one.tick(end_of(log)))
    return published


def answers(policy: GroupPolicy, decided: twin.Decided) -> list[float]:
    """In watts, by hand."""
    panes = decided.panes
    if policy is LAYERS:
        [avg] = panes
        widths = ((250, 4), (1000, 1))
        low, high = ([twin.layer(decided.homes_in, w, n) for n in range(c)] for w, c in widths)
        return [*low, float(policy.domain.minimum + 10 * avg), *high]
    by_name = {
        "max": max(panes),
        "min": min(panes),
        "avg": twin.half_up(sum(panes), len(panes)),
        "median": sorted(panes)[len(panes) // 2],
    }
    levels = (by_name[asked.query.name] for asked in policy.questions)
    return [float(policy.domain.minimum + 10 * level) for level in levels]


def said_by_hand(
    members: list[Membership], log: list[Record], parts: int = 1
) -> set[tuple[str, str, bytes]]:
    """Where so many partitions hold the log, each by its own clock."""
    found = set()
    for assigned in POLICIES:
        policy, prefixed = assigned.policy, assigned.prefix == "s-"
        its = [member for member in members if member.group.startswith("s-") == prefixed]
        ours = [record for record in log if record.meter in {m.home for m in members}]
        homes = Homes("murmur2", parts)
        heard: dict[tuple[str, int], int] = {}
        for part in range(parts):
            here = [record for record in ours if homes.of(record.meter) == part]
            heard |= twin.averages(policy, here)
        for one in twin.decided_of(policy, its, heard, end_of(log)):
            enough = one.homes >= policy.homes.least
            watts = answers(policy, one)
            asked = len(policy.questions)
            row = (one.start, one.homes, asked if enough else 0, "" if enough else "homes")
            values = str(watts if enough else [float("nan")] * len(watts))
            found.add((assigned.name, one.group, f"{str(row)[:-1]}, {values}".encode()))
    return found


def without_unbiased(releases: list[tuple[str, str, bytes]]) -> set[tuple[str, str, bytes]]:
    return {(p, g, text.rpartition(b", [")[0]) for p, g, text in releases}


@given(memberships(), logs())
@settings(max_examples=max(30, settings().max_examples // 5))
def test_releases_are_those_of_the_twin(members: list[Membership], log: list[Record]) -> None:
    published = straight(members, log)
    assert without_unbiased(published.releases) == said_by_hand(members, log)
    assert len(published.releases) == len(set(published.releases))
    known = {member.home for member in members}
    assert published.strangers == sum(record.meter not in known for record in log)


CUTS = st.lists(st.integers(0, 30), max_size=4)


@given(memberships(), logs(), CUTS, st.sampled_from([1, 3, 2**14]))
@settings(max_examples=max(20, settings().max_examples // 5))
def test_any_batching_gives_the_same_releases_in_the_same_order(
    members: list[Membership], log: list[Record], cuts: list[int], much: int
) -> None:
    expected, published = straight(members, log), Published()
    with at_once(much):
        one = pipeline(members, published)
        for low, high in pairwise(sorted({0, *(c % len(log) for c in cuts), len(log)})):
            published.commit(one, one.feed(readings(log[low:high], low)))
        published.commit(one, one.tick(end_of(log)))
    assert published.releases == expected.releases


@given(memberships(), logs(), CUTS)
@settings(max_examples=max(20, settings().max_examples // 5))
def test_whoever_goes_on_from_the_ledger_releases_the_same(
    members: list[Membership], log: list[Record], cuts: list[int]
) -> None:
    expected, published = straight(members, log), Published()
    for end in [*sorted(c % len(log) for c in cuts), len(log)]:
        one = pipeline(members, published)
        first = published.position.offset
        published.commit(one, one.feed(readings(log[first:end], first)))
        assert one.frontier <= end_of(log)
    published.commit(one, one.tick(end_of(log)))
    assert published.releases == expected.releases
    assert published.strangers == expected.strangers
