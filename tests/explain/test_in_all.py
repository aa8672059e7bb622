"""What a home has lost in all is what a naive ledger adds up, and is never over its budget.

The naive ledger knows of no rings, horizons or shelves: it writes down every window that anybody
paid for, what it cost, and whether the home was in it.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meteragent.explain.accounts import Shelf
from meteragent.explain.guarantee import Guarantee
from meteragent.explain.in_all import Allowance, Loss, Shelved, in_all
from meteragent.privacy.ledger import NEVER, Ledger
from meteragent.privacy.members import ALWAYS, FOR_EVER, Membership, Reserve
from meteragent.privacy.question import question
from tests import given as kit
from tests.given import HOUR, MINUTE, written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from meteragent.privacy.policy import Policy

QUARTER = 15 * MINUTE
HOME, OTHER = "m-1", "m-2"
GROUPS = ("f-1", "f-2", "s-1")
LAST = 24
"""Quarters of an hour that a story lasts."""


def policy(nano: int, budget: int, size: int = QUARTER, horizon: int = HOUR) -> Policy:
    return kit.policy(
        questions=(question("avg", Decimal(nano) / 10**7, 100),),
        size=size,
        interval=5 * MINUTE,
        horizon=horizon,
        budget=budget,
    )


def shelf(prefix: str, its: Policy) -> Shelf:
    return Shelf(prefix, Guarantee(f"of {prefix}", its, Decimal(100)))


OWN = [shelf("m-", policy(3, 6)), shelf("", policy(1, 9))]
"""The second is for no home of ours: a longer prefix is."""
OF_GROUPS = [shelf("f-", policy(2, 4)), shelf("s-", policy(5, 5, 2 * QUARTER))]
BUDGETS = {"f-1": 4, "f-2": 4, "s-1": 5}


class Paid(NamedTuple):
    """A window that somebody paid for."""

    group: str | None
    start: int
    end: int
    nano: int


def account(group: str | None, its: Policy, quarters: Sequence[int]) -> tuple[bytes, list[Paid]]:
    """One that was asked to pay for the windows of these quarters, and what it paid for."""
    ledger, one = Ledger(its.terms, 1), np.zeros(1, dtype=np.int64)
    paid, cost = [], sum(its.terms.costs)
    for start in sorted({quarter * QUARTER // its.size * its.size for quarter in quarters}):
        if ledger.charge(one, np.array([start]))[0]:
            paid.append(Paid(group, start, start + its.size, cost))
        ledger.settle(one, np.array([start + its.size]))
    return written(ledger, name=f"of {'m-' if group is None else group[:2]}")[0], paid


@st.composite
def memberships(draw: st.DrawFn) -> list[Membership]:
    """Some stretches of two homes in each group, none of which overlap."""
    found = []
    for home in (HOME, OTHER):
        for group in GROUPS:
            bounds = sorted(draw(st.sets(st.integers(-2, LAST), max_size=4)))
            stretches = list(zip(bounds[::2], bounds[1::2], strict=False))
            if len(bounds) % 2:
                stretches.append((bounds[-1], FOR_EVER // QUARTER))
            found += [Membership(home, group, a * QUARTER, b * QUARTER) for a, b in stretches]
    return found


ASKED = st.lists(st.integers(0, LAST), max_size=LAST)


@given(said=memberships(), asked=st.tuples(ASKED, ASKED, ASKED, ASKED), nano=st.integers(4, 13))
@settings(max_examples=150, deadline=None)
def test_the_total_is_what_a_naive_ledger_adds_up(
    said: list[Membership], asked: tuple[list[int], ...], nano: int
) -> None:
    reserve = Reserve(nano, HOUR, BUDGETS.__getitem__, 2 * QUARTER)
    members = reserve.plan(said).members
    own, paid = account(None, OWN[0].policy, asked[0])
    records = {}
    for group, quarters in zip(GROUPS, asked[1:], strict=True):
        place = 0 if group.startswith("f-") else 1
        records[group], more = account(group, OF_GROUPS[place].policy, quarters)
        paid += more
    found = in_all(
        HOME, Shelved(OWN, {HOME: own, OTHER: own}), Shelved(OF_GROUPS, records), members, nano
    )

    mine = [m for m in members if m.home == HOME]
    counted = [
        one
        for one in paid
        if one.group is None
        or any(m.group == one.group and m.since <= one.start < m.until for m in mine)
    ]
    decided = [asked[0], *(q for g, q in zip(GROUPS, asked[1:], strict=True) if g in of(mine))]
    if not any(decided):
        assert (found.until, found.spent) == (NEVER, 0)
        return
    touching = [one for one in counted if found.until - HOUR < one.end and one.start < found.until]
    assert found.spent == sum(one.nano for one in touching)
    for loss in found.losses:
        assert loss.nano == sum(one.nano for one in touching if one.group == loss.group)
    assert found.spent <= found.most == 6 + nano
    # and at no other moment was it over its budget either, with what was decided by then
    for end in range(0, (LAST + 8) * QUARTER, QUARTER):
        lost = sum(one.nano for one in counted if end - HOUR < one.end <= end)
        assert lost <= found.most


def of(members: Sequence[Membership]) -> set[str]:
    return {one.group for one in members}


@given(quarters=st.lists(st.integers(0, 3000), min_size=1, max_size=40), since=st.integers(0, 3000))
@settings(max_examples=40, deadline=None)
def test_where_windows_share_buckets_nothing_is_left_out(quarters: list[int], since: int) -> None:
    coarse = policy(2, 2 * 10**6, horizon=1000 * QUARTER)
    assert coarse.terms.bucket_windows > 1
    record, paid = account("f-1", coarse, quarters)
    member = Membership(HOME, "f-1", since * QUARTER)
    found = in_all(
        HOME, Shelved([], {}), Shelved([shelf("f-", coarse)], {"f-1": record}), [member], 9
    )
    begin = found.until - found.horizon
    counted = [p.nano for p in paid if p.start >= member.since and begin < p.end]
    assert sum(counted) <= found.spent <= sum(p.nano for p in paid)


def test_a_home_that_moved_is_told_of_both_groups_for_as_long_as_both_count() -> None:
    moved = [Membership(HOME, "f-1", ALWAYS, QUARTER), Membership(HOME, "f-2", QUARTER)]
    for last, both in ((3, True), (9, False)):
        other, _ = account("f-2", OF_GROUPS[0].policy, [last])
        early, _ = account("f-1", OF_GROUPS[0].policy, [0, 1])
        records = {"f-1": early, "f-2": other}
        found = in_all(HOME, Shelved(OWN, {}), Shelved(OF_GROUPS, records), moved, 8)
        assert found.losses == (Loss("of f-", "f-1", 2 if both else 0), Loss("of f-", "f-2", 2))


def test_of_a_home_in_no_group_nothing_but_its_own_is_told() -> None:
    record, _ = account(None, OWN[0].policy, [1, 2])
    found = in_all(HOME, Shelved(OWN, {HOME: record}), Shelved(OF_GROUPS, {}), [], 9)
    assert (found.losses, found.most) == ((Loss("of m-", None, 6),), 15)
    nobody = in_all("x", Shelved(OWN[:1], {}), Shelved(OF_GROUPS, {}), [Membership("x", "f-1")], 9)
    assert (nobody.until, nobody.losses, nobody.spent, nobody.most) == (NEVER, (), 0, 9)


def test_accounts_that_no_policy_is_for_are_told_nothing_of() -> None:
    record, _ = account(None, OWN[0].policy, [1])
    members = [Membership("y", "x-1")]
    found = in_all(
        "y", Shelved(OWN[:1], {"y": record}), Shelved(OF_GROUPS, {"x-1": record}), members, 1
    )
    assert found.losses == ()


SAID: list[tuple[dict[str, Any], str]] = [
    ({"home": HOME}, "Whichever groups it is in: odds change by at most x2.72 in 1 h, by all"),
    ({"home": HOME}, "Its own releases, by of m-: odds change by at most x1.01 in 1 h."),
    ({"home": HOME, "members": []}, "It is in no group."),
    ({"home": HOME, "members": [Membership(HOME, "f-1")]}, "It is in f-1: odds change by at most"),
]


@pytest.mark.parametrize(("arguments", "told"), SAID)
def test_what_may_be_lost_is_said(arguments: dict[str, Any], told: str) -> None:
    found = Allowance(OWN[:1], 10**7, HOUR, Decimal(100), "W").of(**arguments)
    assert any(one.startswith(told) for one in found.sentences), found.sentences
    assert found.sentences[-1].startswith("In all, of two versions of the home that are 100 W")


def test_what_may_be_lost_is_told_exactly() -> None:
    members = [Membership(HOME, "s-1", 5), Membership(HOME, "f-1", ALWAYS, 7), Membership("z", "f")]
    found = Allowance(OWN, 9, HOUR, Decimal(100), "W").of(HOME, members)
    assert found.groups is not None
    assert [(g.group_id, g.since, g.until) for g in found.groups] == [
        ("f-1", None, 7),
        ("s-1", 5, None),
    ]
    assert (found.own_per_watt, found.groups_per_watt, found.together_per_watt) == (
        "0.000000006",
        "0.000000009",
        "0.000000015",
    )
    nobody = Allowance(OWN[:1], 0, HOUR, Decimal(100), "W").of("x")
    assert nobody.sentences[0] == "It has no releases of its own."
    assert (len(nobody.sentences), nobody.together.log_odds) == (2, 0)


def test_what_may_be_lost_of_any_home_is_that_of_the_one_with_most() -> None:
    shelves = [shelf("a", policy(1, 10**7)), shelf("b", policy(1, 1)), shelf("b", policy(1, 2))]
    said = Allowance(shelves, 10**7, HOUR, Decimal(100), "W").of_any()
    assert "it is in: odds change by at most x7.39 in 1 h that start or end" in said
    assert "at most x2.72" in Allowance([], 10**7, HOUR, Decimal(100), "W").of_any()


def test_how_far_versions_are_apart_is_said_in_what_is_measured() -> None:
    of_water = Allowance(OWN[:1], 10**7, HOUR, Decimal(100), "l/h")
    assert "that are 100 l/h apart in every reading" in of_water.of_any()
    assert "that are 100 l/h apart in every reading" in of_water.of("m-1").sentences[-1]
