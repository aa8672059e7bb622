"""What groups and their homes do at the edges; that they do right at all is in `tests/laws`."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from meteragent.errors import InvalidSetting, LedgerDamaged
from meteragent.privacy.domain import Domain
from meteragent.privacy.group import GroupPolicy, PerHome
from meteragent.privacy.members import ALWAYS, Membership
from meteragent.privacy.published import policy_of
from meteragent.privacy.question import question
from meteragent.stream.group_pipeline import GroupPipeline
from meteragent.stream.meters import AssignedGroups
from tests.given import HOUR, KEY, MINUTE, Record, policy, readings

if TYPE_CHECKING:
    from meteragent.stream.releases import Step

BEGIN = 10**6 * HOUR
FEEDERS = GroupPolicy(
    domain=Domain(0, 5000, 10),
    questions=(question("avg", 1, 100),),
    size=HOUR,
    interval=15 * MINUTE,
    hop=HOUR,
    grace=0,
    idle=0,
    budget=10**12,
    horizon=24 * HOUR,
    presence="private",
    homes=PerHome(Decimal(0), Decimal(1000), 5 * MINUTE),
)
MEMBERS = [Membership("a", "f-1"), Membership("b", "f-1"), Membership("b", "other")]


def pipeline(**more: Any) -> GroupPipeline:  # noqa: ANN401 - as the pipeline has them
    assigned = [AssignedGroups("f-", "feeders", FEEDERS)]
    return GroupPipeline(assigned, KEY, MEMBERS, max_skew=0, **more)


def read(meter: str, minute: int, watts: float = 500) -> Record:
    time = BEGIN + minute * MINUTE
    return Record(meter, time, time, (watts,), 5 * MINUTE)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"presence": "public"}, "presence"),
        ({"fill_limit": 15 * MINUTE}, "fill"),
        ({"hop": 15 * MINUTE}, "hop"),
        ({"homes": replace(FEEDERS.homes, least=0)}, "min_homes"),
        ({"homes": replace(FEEDERS.homes, maximum=Decimal(0))}, "home_minimum"),
        ({"homes": replace(FEEDERS.homes, maximum=Decimal(15))}, "step"),
    ],
)
def test_what_no_group_can_be_is_refused(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidSetting) as error:
        replace(FEEDERS, **change)
    assert error.value.field == field


def test_documents_of_meters_and_of_groups_are_read_alike() -> None:
    for one in (policy(), FEEDERS):
        assert policy_of(one.document()) == one


def test_what_is_held_is_that_of_groups() -> None:
    one = pipeline()
    open_at = [one.holds_open]
    assert one.frontier == ALWAYS
    assert list(one.feed(readings([read("a", 0)]))) == []
    open_at.append(one.holds_open)
    steps = list(one.tick(BEGIN + 30 * MINUTE))
    assert [len(step.releases.meters) for step in steps] == [0, 0]
    assert [*open_at, one.holds_open] == [False, True, False]
    [held] = one.holdings()
    assert (held.policy, held.meters) == (FEEDERS, 1)
    assert one.frontier == BEGIN + 1


def test_a_group_of_which_no_home_was_heard_is_not_known() -> None:
    one = pipeline()
    assert list(one.feed(readings([read("b", 0, float("nan"))]))) == []
    assert list(one.tick(BEGIN + 5 * HOUR)) == []


def test_a_record_of_a_home_that_is_cut_short_is_damaged() -> None:
    with pytest.raises(LedgerDamaged):
        pipeline().restore({"a": b"123"})


def test_windows_that_are_panes_leave_nothing_to_be_kept_of_homes() -> None:
    quarters = replace(FEEDERS, size=15 * MINUTE, hop=15 * MINUTE)
    one = GroupPipeline([AssignedGroups("", "quarters", quarters)], KEY, MEMBERS, max_skew=0)
    one.restore({})
    steps: list[Step] = [*one.feed(readings([read("a", 0)])), *one.tick(BEGIN + HOUR)]
    assert [step.homes for step in steps] == [{}] * 4


def test_of_several_spellings_what_was_heard_last_is_kept() -> None:
    first, second = pipeline(normalise_ids=True), pipeline(normalise_ids=True)
    early = [*first.feed(readings([read("a", 0, 300)])), *first.tick(BEGIN + 15 * MINUTE)]
    late = [*first.feed(readings([read("a", 16, 700)], 1)), *first.tick(BEGIN + 30 * MINUTE)]
    [records] = zip(*([s.homes["a"] for s in steps] for steps in (early, late)), strict=True)
    homes = second._homes
    homes.restore(["a"], [[records[1], records[0]]], 0)
    [panes] = homes.branches
    [kept] = panes.kept(np.array([homes.places["a"]]))
    assert kept["level"].tolist() == [70]


def test_a_second_input_of_older_readings_is_late() -> None:
    first = pipeline()
    steps = [*first.feed(readings([read("a", 0)])), *first.tick(BEGIN + 2 * HOUR)]
    groups = dict(pair for step in steps for pair in step.accounts)
    second = pipeline()
    second.restore({}, groups)
    assert list(second.feed(readings([read("b", 0), read("b", 119)]))) == []
    assert second.counted().tally.late == 2
