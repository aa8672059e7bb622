"""A home is never in more groups than its reserve covers, whatever is said of it and when.

The naive ledger knows nothing of plans: it writes down every window of every group with those who
were in it, what its group spent there at most, and adds up over each stretch of time.
"""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from meteragent.privacy.members import ALWAYS, FOR_EVER, MemberPlan, Membership, Reserve

GROUPS = ("a", "b", "c", "d")
HOMES = ("m-1", "m-2")
SIZE, HORIZON, LAST = 2, 6, 24
BUDGETS = st.fixed_dictionaries({group: st.integers(1, 4) for group in GROUPS})


def reserve_of(nano: int, budgets: dict[str, int], size: int = SIZE) -> Reserve:
    return Reserve(nano, HORIZON, budgets.__getitem__, size)


@st.composite
def wanted(draw: st.DrawFn, homes: tuple[str, ...] = HOMES) -> list[Membership]:
    """Some stretches for each home in each group, none of which overlap."""
    found = []
    for home in homes:
        for group in GROUPS:
            bounds = sorted(draw(st.sets(st.integers(-2, LAST), max_size=4)))
            stretches = list(zip(bounds[::2], bounds[1::2], strict=False))
            if len(bounds) % 2:
                stretches.append((bounds[-1], FOR_EVER))
            found += [Membership(home, group, *one) for one in stretches]
    return draw(st.permutations(found))


def are_in(plan: MemberPlan, group: str, start: int) -> set[str]:
    """Who is in a group for the window that begins then."""
    return {m.home for m in plan.members if m.group == group and m.since <= start < m.until}


class Window(NamedTuple):
    group: str
    start: int
    end: int
    homes: frozenset[str]
    budget: int


def most_lost(home: str, windows: list[Window]) -> int:
    """The most that a home may lose over any stretch of a horizon: each group spends its budget."""
    worst = 0
    for begin in range(-HORIZON, LAST + HORIZON):
        spent: dict[str, int] = {}
        for one in windows:
            if home in one.homes and one.start < begin + HORIZON and begin < one.end:
                spent[one.group] = max(spent.get(one.group, 0), one.budget)
        worst = max(worst, sum(spent.values()))
    return worst


class Members(RuleBasedStateMachine):
    """Time goes on, members and budgets are said anew, and every window is written down."""

    @initialize(budgets=BUDGETS, nano=st.integers(4, 8), first=wanted())
    def begin(self, budgets: dict[str, int], nano: int, first: list[Membership]) -> None:
        self.now, self.size, self.nano = 0, SIZE, nano
        self.budgets, self.said = budgets, first
        self.windows: list[Window] = []
        self.reserve = reserve_of(nano, budgets)
        self.plan = self.reserve.plan(first)

    @rule(windows=st.integers(1, 4))
    def time_goes_on(self, windows: int) -> None:
        for _ in range(windows):
            if self.now < LAST:
                for group in GROUPS:
                    homes = frozenset(are_in(self.plan, group, self.now))
                    end = self.now + self.size
                    one = Window(group, self.now, end, homes, self.budgets[group])
                    self.windows.append(one)
                self.now += self.size

    @rule(said=wanted())
    def members_are_said_anew(self, said: list[Membership]) -> None:
        self.said = said
        self.plan = self.reserve.plan(said, self.plan.members, self.now)

    @rule()
    def everything_begins_anew(self) -> None:
        again = self.reserve.plan(self.said, self.plan.members, self.now)
        for group in GROUPS:
            for start in range(self.now, LAST, SIZE):
                assert are_in(again, group, start) == are_in(self.plan, group, start)
        self.plan = again

    @rule(budgets=BUDGETS, size=st.sampled_from([1, 2, 4]))
    def budgets_change(self, budgets: dict[str, int], size: int) -> None:
        self.budgets, self.size = budgets, size
        self.reserve = reserve_of(self.nano, budgets, size)
        self.plan = self.reserve.plan(self.said, self.plan.members, self.now)

    @invariant()
    def no_home_loses_more_than_its_reserve(self) -> None:
        if hasattr(self, "windows"):
            for home in HOMES:
                assert most_lost(home, self.windows) <= self.nano


TestMemberships = Members.TestCase
TestMemberships.settings = settings(max_examples=100, stateful_step_count=8, deadline=None)


@given(said=wanted(), budgets=BUDGETS)
@settings(max_examples=60, deadline=None)
def test_what_fits_takes_effect_as_it_is_said(
    said: list[Membership], budgets: dict[str, int]
) -> None:
    plan = reserve_of(sum(budgets.values()), budgets).plan(said)
    assert (plan.later, plan.refused) == (0, 0)
    kept = {(m.home, m.group, m.since, m.until) for m in plan.members}
    assert kept == {(m.home, m.group, m.since, m.until) for m in said}


def test_a_home_that_moves_begins_when_the_group_it_left_no_longer_counts() -> None:
    reserve = reserve_of(4, {"a": 3, "b": 3})
    said = [Membership("m", "a", ALWAYS, 10), Membership("m", "b", 10)]
    plan = reserve.plan(said)
    assert [(m.group, m.since, m.until) for m in plan.members] == [
        ("a", ALWAYS, 10),
        ("b", 10 + SIZE + HORIZON, FOR_EVER),
    ]
    assert (plan.later, plan.refused) == (1, 0)


def test_a_membership_that_never_fits_is_refused() -> None:
    reserve = reserve_of(4, {"a": 3, "b": 3})
    plan = reserve.plan([Membership("m", "a"), Membership("m", "b", 10, 99)])
    assert [m.group for m in plan.members] == ["a"]
    assert (plan.later, plan.refused) == (0, 1)


def test_what_has_begun_stays_and_what_is_behind_us_cannot_be_joined() -> None:
    reserve = reserve_of(4, {"a": 1, "b": 1})
    had = reserve.plan([Membership("m", "a", 0)]).members
    said = [Membership("m", "b", 0), Membership("m", "a", 0, 4), Membership("n", "a", 0, 9)]
    plan = reserve.plan(said, had, 10)
    assert [m[:4] for m in plan.members] == [("m", "a", 0, 10), ("m", "b", 10, FOR_EVER)]
    assert (plan.later, plan.refused) == (1, 0)


def test_what_was_spent_under_a_larger_budget_counts_as_that() -> None:
    had = reserve_of(4, {"a": 4, "b": 2}).plan([Membership("m", "a", 0)]).members
    plan = reserve_of(4, {"a": 2, "b": 2}).plan([Membership("m", "b", 10)], had, 10)
    assert [(m.group, m.since) for m in plan.members] == [("a", 0), ("b", 10 + SIZE + HORIZON)]
