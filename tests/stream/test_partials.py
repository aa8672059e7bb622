"""What is told of sums and what is made of that, at the edges; that it is right is in `laws`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np
import pytest

from meteragent.errors import LedgerDamaged
from meteragent.privacy.entropy import tag
from meteragent.privacy.members import Membership
from meteragent.stream.home_pipeline import HomePipeline
from meteragent.stream.homes import Homes
from meteragent.stream.meters import AssignedGroups
from meteragent.stream.partial import Partial, load, way_of
from meteragent.stream.partial_homes import PASSED
from meteragent.stream.position import DAWN, START, Position
from meteragent.stream.readings import Reason
from meteragent.stream.releases import Withheld
from meteragent.stream.roster import Roster
from meteragent.stream.total_pipeline import Partials, TotalPipeline
from tests.given import HOUR, KEY, MINUTE, readings
from tests.stream.test_group_pipeline import BEGIN, FEEDERS, read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from meteragent.stream.releases import Step

QUARTERS = replace(FEEDERS, size=15 * MINUTE, hop=15 * MINUTE)
HOURS = AssignedGroups("", "hours", FEEDERS)
QUARTER = AssignedGroups("", "quarters", QUARTERS)
MEMBERS = [Membership("a", "f"), Membership("b", "f"), Membership("c", "f"), Membership("d", "g")]
INPUTS = Homes("fnv1a", 2)
"""Where `a` and `c` are in the first partition, `b` and `d` in the second."""
PANE = BEGIN // (15 * MINUTE)


def rosters(members: Sequence[Membership] = MEMBERS) -> dict[str, Roster]:
    return {"": Roster(members, INPUTS, Homes("murmur2", 1))}


def totals(assigned: AssignedGroups = QUARTER, start: Position = START) -> TotalPipeline:
    return TotalPipeline([assigned], KEY, rosters(), 0, start=start)


def homes(
    partition: int, assigned: AssignedGroups = QUARTER, start: Position = START
) -> HomePipeline:
    known = {member.home for member in MEMBERS}
    return HomePipeline(
        [assigned], KEY, rosters(), partition, max_skew=0, is_member=known.__contains__, start=start
    )


def partial(source: int, pane: int, watts: int | None = None, **more: object) -> bytes:
    """What is told of the group `f`, or of none."""
    assigned = more.pop("assigned", QUARTER)
    assert isinstance(assigned, AssignedGroups)
    sums = np.array([[] if watts is None else [watts // 10]], dtype=np.int64).reshape(-1, 1)
    start = assigned.policy.windows.start(assigned.policy.windows.newest(pane * 15 * MINUTE))
    told = Partial(
        way_of(assigned),
        rosters()[""].digest(int(start)),
        pane,
        source,
        b"" if watts is None else tag("f"),
        sums,
    )
    return replace(told, **more).dump()  # type: ignore[arg-type]


def fed(pipeline: TotalPipeline, *records: bytes | None, first: int = 0) -> list[Step]:
    offsets = [*range(first, first + len(records))]
    return [*pipeline.feed(Partials(offsets, [*records]))]


def said(steps: list[Step]) -> list[tuple[str, int, str]]:
    """Which window of which group says why."""
    return [
        (group, int(start - BEGIN) // MINUTE, str(why))
        for step in steps
        for group, start, why in zip(
            step.releases.meters, step.releases.starts, step.releases.withheld, strict=True
        )
    ]


def test_homes_are_where_this_file_says() -> None:
    assert [INPUTS.of(home) for home in "abcd"] == [0, 1, 0, 1]


# What a partition of the input tells.


@pytest.mark.parametrize("parts", [1, 3])
def test_a_partial_is_read_as_it_was_written(parts: int) -> None:
    sums = np.array([[1, -2], [2**40, 0], [-(2**40), 7]])
    told = Partial(b"w" * 16, b"m" * 16, -5, 9, tag("x") + tag("y") + tag("z"), sums)
    with patch("meteragent.stream.partial.MOST_BYTES", 100 if parts == 1 else 1):
        found = [one for record in told.records() if (one := load(record)) is not None]
    assert len(found) == parts
    assert [one.is_last for one in found] == [False] * (parts - 1) + [True]
    assert [name for one in found for name in one.groups] == told.groups
    assert np.concatenate([one.sums for one in found]).tolist() == sums.tolist()
    assert {(one.way, one.members, one.pane, one.source) for one in found} == {
        (b"w" * 16, b"m" * 16, -5, 9)
    }


GOOD = Partial(b"w" * 16, b"m" * 16, 1, 0, tag("x"), np.array([[3]]))


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"mpt1",
        b"x" + GOOD.dump()[1:],
        GOOD.dump() + b"1",
        GOOD.dump()[:-1],
        replace(GOOD, part=1).dump(),
        replace(GOOD, sums=np.empty((1, 0), dtype=np.int64)).dump(),
    ],
)
def test_what_is_no_partial_is_not_read(record: bytes) -> None:
    assert load(record) is None


def test_policies_of_one_digest_are_told_apart() -> None:
    ways = {
        way_of(one)
        for one in (QUARTER, replace(QUARTER, name="q"), replace(QUARTER, prefix="f"), HOURS)
    }
    assert len(ways) == 4


def test_a_partition_that_hears_nobody_says_how_far_it_has_come() -> None:
    one = homes(0)
    assert one.announce(BEGIN + HOUR)
    [step] = one.keep(one.position())
    [(to, record)] = step.told
    told = load(record)
    assert told is not None
    assert (to, told.pane, told.source, told.tags) == (0, PANE + 3, 0, b"")
    assert not one.announce(BEGIN + HOUR)
    assert dict(step.accounts).keys() == {PASSED}


def test_a_partition_without_members_says_nothing() -> None:
    one = HomePipeline([QUARTER], KEY, rosters(MEMBERS[:1]), 1, max_skew=0, is_member="a".__eq__)
    assert not one.announce(BEGIN)
    assert list(one.feed(readings([read("a", 0), read("b", 600)]))) == []
    reasons = [reject.reason for reject in one.counted().rejects]
    assert reasons == [Reason.WRONG_PARTITION, Reason.NO_GROUP]


def test_what_was_told_is_not_told_again() -> None:
    first = homes(0)
    steps = [*first.feed(readings([read("a", 0), read("a", 31)]))]
    assert [len(step.told) for step in steps] == [1, 1]
    ledger = {**dict(steps[-1].accounts), **steps[-1].homes}
    again = homes(0)
    again.restore(ledger)
    assert list(again.feed(readings([read("a", 0), read("a", 31)]))) == []
    assert [len(step.told) for step in again.tick(BEGIN + 45 * MINUTE)] == [1]


@pytest.mark.parametrize("record", [b"{", b"[]", b'{"a": null}', b'{"a": {}}'])
def test_a_damaged_record_of_how_far_a_partition_has_come_is_refused(record: bytes) -> None:
    with pytest.raises(LedgerDamaged):
        homes(0).restore({PASSED: record})
    with pytest.raises(LedgerDamaged):
        totals().restore({PASSED: record})


# What is made of it.


def test_a_pane_is_decided_when_all_with_members_have_passed_it_and_not_before() -> None:
    one = totals()
    assert fed(one, partial(0, PANE, 500), partial(0, PANE + 1, 600)) == []
    assert (one.totals[0].behind, one.totals[0].holds_back()) == (2, [1])
    assert one.position().offset == 0
    steps = fed(one, partial(1, PANE), first=2)
    assert said(steps) == [("f", 0, "")]
    assert one.position() == Position(1, BEGIN + 15 * MINUTE, 3)
    assert said(fed(one, partial(1, PANE + 1, 900), first=3)) == [("f", 15, "")]
    assert (one.totals[0].behind, one.totals[0].holds_back()) == (0, [])
    assert one.position().offset == 4


def test_no_clock_decides_a_pane() -> None:
    one = totals()
    fed(one, partial(0, PANE, 500))
    assert not one.announce(BEGIN + 10**9 * HOUR)
    assert not one.announced
    assert list(one.keep(one.position())) == []
    assert one.clock == DAWN


def test_who_waits_for_whom_is_known_before_anything_is_decided() -> None:
    one = totals()
    assert (one.totals[0].behind, one.totals[0].holds_back()) == (0, [])
    fed(one, partial(1, PANE))
    assert one.totals[0].holds_back() == [0]


def sums_of(steps: list[Step]) -> list[float]:
    return [value for step in steps for value in step.releases.unbiased[:, 0].tolist()]


def test_what_is_told_twice_counts_once() -> None:
    once, twice = totals(), totals()
    expected = fed(once, partial(0, PANE, 500), partial(1, PANE, 700))
    found = fed(twice, partial(0, PANE, 500), partial(0, PANE, 500), partial(1, PANE, 700))
    assert sums_of(found) == sums_of(expected) != []
    assert [reject.reason for reject in twice.counted().rejects] == [Reason.REPEATED_PARTIAL]


def test_what_is_told_of_a_pane_that_was_decided_is_late() -> None:
    one = totals()
    fed(one, partial(0, PANE, 500), partial(1, PANE, 700))
    assert fed(one, partial(1, PANE, 900), first=2) == []
    assert [reject.reason for reject in one.counted().rejects] == [Reason.LATE_PARTIAL]


def test_what_others_take_for_members_is_refused_and_its_windows_withheld_and_said() -> None:
    one = totals()
    steps = fed(one, partial(0, PANE, 500), partial(1, PANE, 700, members=b"other" + b"\0" * 11))
    assert said(steps) == [("f", 0, str(Withheld.LOST))]
    [reject] = one.counted().rejects
    assert (reject.offset, reject.reason) == (1, Reason.OTHER_MEMBERS)
    more = fed(one, partial(0, PANE + 1, 500), partial(1, PANE + 1, 700), first=2)
    assert said(more) == [("f", 15, "")]


@pytest.mark.parametrize(
    "odd", [{"sums": np.array([[1, 2]])}, {"tags": tag("nobody's")}], ids=["columns", "group"]
)
def test_what_cannot_be_of_these_members_is_refused_too(odd: dict[str, object]) -> None:
    one = totals()
    assert said(fed(one, partial(0, PANE, 500), partial(1, PANE, 700, **odd))) == [
        ("f", 0, str(Withheld.LOST))
    ]


def test_what_is_lost_stays_so_for_whoever_goes_on_and_for_groups_that_come_later() -> None:
    first = totals(HOURS)
    lost = partial(1, PANE, assigned=HOURS, members=b"\0" * 16)
    steps = fed(first, partial(0, PANE, 500, assigned=HOURS), lost)
    second = totals(HOURS, first.position())
    second.restore(dict(pair for step in steps for pair in step.accounts))
    later = [
        partial(source, PANE + nth, 500, assigned=HOURS, tags=tag(group))
        for nth in range(1, 8)
        for source, group in ((0, "f"), (1, "g"))
    ]
    found = said(fed(second, *later, first=2))
    assert found == [
        ("f", 0, "lost"),
        ("g", 0, "lost"),
        ("f", 60, ""),
        ("g", 60, ""),
    ]


def test_a_partial_that_is_missing_is_noticed() -> None:
    one = totals()
    fed(one, partial(0, PANE, 500), partial(1, PANE))
    steps = fed(one, partial(0, PANE + 2, 500), partial(1, PANE + 1), partial(1, PANE + 2))
    assert said(steps) == [("f", 15, "lost"), ("f", 30, "")]


def test_a_part_that_is_missing_is_noticed() -> None:
    one = totals()
    steps = fed(one, partial(0, PANE, 500, part=1, parts=2), partial(1, PANE))
    assert said(steps) == [("f", 0, "lost")]


def test_a_partition_has_passed_a_pane_with_the_last_of_its_parts() -> None:
    one = totals()
    both = partial(0, PANE, 500, parts=2), partial(0, PANE, part=1, parts=2)
    assert fed(one, partial(1, PANE), both[0]) == []
    assert said(fed(one, both[1], first=2)) == [("f", 0, "")]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (None, Reason.WRONG_SHAPE),
        (b"junk", Reason.WRONG_SHAPE),
        (partial(0, PANE, 1, assigned=HOURS), Reason.NO_POLICY),
    ],
)
def test_what_is_no_partial_of_ours_is_rejected_by_its_coordinates(
    record: bytes | None, reason: Reason
) -> None:
    one = totals()
    assert fed(one, record) == []
    [reject] = one.counted().rejects
    assert (reject.offset, reject.reason) == (0, reason)


def test_what_is_read_again_is_not_counted_again() -> None:
    one = totals(start=Position(0, DAWN, 2))
    fed(one, b"junk", partial(0, PANE, 500), partial(1, PANE, 500))
    assert one.counted().rejects == []


def test_what_is_held_is_that_of_groups() -> None:
    one = totals(HOURS)
    told = [partial(source, PANE, 500, assigned=HOURS) for source in (0, 1)]
    assert not one.holds_open
    fed(one, *told)
    [held] = one.holdings()
    assert (held.meters, held.open_windows, one.lookalikes()) == (1, 1, 0)
    assert one.holds_open
