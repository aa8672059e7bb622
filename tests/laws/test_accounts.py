"""No order of charges, restarts, leaps of the clock or changes of terms overdraws a horizon."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from meteragent.config.zones import zone
from meteragent.privacy.calendar import UNITS, CalendarWindows
from meteragent.privacy.ledger import NEVER, Ledger
from meteragent.privacy.terms import REACH_BACK, Terms
from meteragent.privacy.windows import Windows
from tests.given import HOUR
from tests.given import read as load
from tests.given import read_together as load_together
from tests.given import written as everyone
from tests.twins.accounts import Account

BEGIN = 10**6  # in windows: far from the epoch, near enough to read
THEN = 1_700_000_000_000
"""In 2023, where clocks change."""
ZONES = ("Europe/Paris", "America/Sao_Paulo", "Europe/London", "UTC")
OFFSETS = [0, 0, 0, 0, 1, 1, 2, 5, 20, -1, -1, -2, -3, -8, -15, -16, -17, -30]
LEAPS = [1, 1, 1, 2, 3, 10, 16, 17, 111, 127, 128, 129, 1000, -1, -20, -1000]


@st.composite
def all_terms(draw: st.DrawFn, longest: int = 40) -> Terms:
    """Tumbling and hopping, dividing and not; `longest` in hops."""
    hop = draw(st.integers(1, 7))
    size = draw(st.one_of(st.just(hop), st.integers(hop, 4 * hop)))
    horizon = draw(st.integers(size, max(size, longest * hop)))
    costs = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    unit = draw(st.sampled_from([1, 1, 2**12, 2**27, 2**31]))
    crumb = draw(st.integers(0, 1))  # without it, two bytes count any number of large units
    windows = draw(st.sampled_from([1, 1, 2, 3, 6]))  # few, so that most charges meet the end
    return Terms(
        budget=unit * (sum(costs) * windows + draw(st.integers(0, 5))),
        horizon=horizon,
        windows=Windows(size, hop, 1),
        costs=tuple(unit * cost + crumb * (unit > 1) for cost in costs),
        partial=draw(st.booleans()),
    )


@st.composite
def calendar_terms(draw: st.DrawFn, longest: int = 40) -> Terms:
    """Days, weeks and months; `longest` in windows."""
    unit = draw(st.sampled_from(UNITS))
    windows = CalendarWindows(unit, zone(draw(st.sampled_from(ZONES))), HOUR)
    least, most = windows.lasting(1), windows.lasting(longest)
    costs = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    some = draw(st.sampled_from([1, 1, 2, 3, 6]))
    return Terms(
        budget=sum(costs) * some + draw(st.integers(0, 5)),
        horizon=draw(st.integers(least, most) | st.sampled_from([least, 2 * least, most])),
        windows=windows,
        costs=tuple(costs),
        partial=draw(st.booleans()),
    )


exact_terms = all_terms()
coarse_terms = all_terms(300).filter(lambda terms: terms.bucket_windows > 1)


few_days = calendar_terms(6)
many_days = calendar_terms(150).filter(lambda terms: terms.bucket_windows > 1)
daily_terms = all_terms(6).map(
    lambda terms: replace(
        terms, horizon=terms.horizon * HOUR, windows=Windows(*(n * HOUR for n in sizes(terms)))
    )
)


def sizes(terms: Terms) -> tuple[int, int, int]:
    assert isinstance(terms.windows, Windows)
    return terms.windows.size, terms.windows.hop, terms.windows.interval


def bucket_of(terms: Terms, start: int) -> int:
    return terms.windows.newest(start) // terms.bucket_windows


def spent(ledger: Ledger) -> list[int]:
    return [int(amount) for amount in ledger.spent]


def merged(one: Ledger, other: Ledger) -> Ledger:
    """`one` after it took over `other`, whose accounts are its first."""
    both = np.arange(min(len(one), len(other)))
    one.merge(both, other, both)
    return one


class Accounts(RuleBasedStateMachine):
    """A ledger, and for each of its accounts a twin that forgets nothing."""

    @initialize(
        terms=st.one_of(exact_terms, exact_terms, exact_terms, coarse_terms),
        terms_may_change=st.booleans(),
    )
    def open(self, terms: Terms, terms_may_change: bool) -> None:  # noqa: FBT001 - drawn
        self.terms, self.terms_may_change = terms, terms_may_change
        self.exact = terms.bucket_windows == 1
        self.ledger = Ledger(terms, 2)
        self.twins = [Account(terms), Account(terms)]
        self.newest = [NEVER, NEVER]
        self.until = [NEVER, NEVER]
        self.snapshot = everyone(self.ledger)
        self.now = BEGIN
        self.paid: list[tuple[int, int]] = []

    @rule(offsets=st.dictionaries(st.integers(0, 4), st.sampled_from(OFFSETS), min_size=1))
    def charge(self, offsets: dict[int, int]) -> None:
        windows = {a: self.now + offset for a, offset in offsets.items() if a < len(self.twins)}
        starts = [self.terms.windows.start(window) for window in windows.values()]
        granted = self.ledger.charge(
            np.array(list(windows), dtype=np.int64), np.array(starts, dtype=np.int64)
        ).tolist()
        for account, start, queries in zip(windows, starts, granted, strict=True):
            self.expect(account, start, queries)
            if queries:
                self.paid.append((account, start))

    def expect(self, account: int, start: int, granted: int) -> None:
        bucket, twin = bucket_of(self.terms, start), self.twins[account]
        if bucket < self.newest[account] - REACH_BACK:
            assert granted == 0
        elif self.exact:
            assert granted == twin.charge(start)
        else:
            twin.pay(start, granted)
        self.newest[account] = max(bucket, self.newest[account])

    @rule(leap=st.sampled_from(LEAPS))
    def leap(self, leap: int) -> None:
        self.now += leap

    @rule()
    def restart(self) -> None:
        before = self.ledger
        self.ledger = load(self.terms, everyone(before))
        assert everyone(self.ledger) == everyone(before)
        assert spent(self.ledger) == spent(before)

    @rule()
    def take_snapshot(self) -> None:
        self.snapshot = everyone(self.ledger)

    @rule()
    def merge_with_an_older_state(self) -> None:
        now = everyone(self.ledger)
        other_way = load(self.terms, self.snapshot)
        other_way.grow(len(self.ledger))
        merged(other_way, load(self.terms, now))
        merged(self.ledger, load(self.terms, self.snapshot))
        both = everyone(self.ledger)
        assert everyone(other_way) == both
        assert spent(other_way) == spent(self.ledger)
        assert everyone(merged(other_way, load(self.terms, self.snapshot))) == both
        assert both == now or not self.exact

    @precondition(lambda self: len(self.twins) < 5)
    @rule()
    def grow(self) -> None:
        self.ledger.grow(len(self.twins) + 1)
        self.twins.append(Account(self.terms))
        self.newest.append(NEVER)
        self.until.append(NEVER)
        assert len(self.ledger) == len(self.twins)

    @rule(account=st.integers(0, 1), offset=st.sampled_from(OFFSETS))
    def settle(self, account: int, offset: int) -> None:
        until = self.terms.windows.start(self.now + offset)
        self.until[account] = max(until, self.until[account])
        self.ledger.settle(np.array([account]), np.array([until]))

    @rule(offset=st.sampled_from(OFFSETS))
    def look(self, offset: int) -> None:
        before, start = everyone(self.ledger), self.terms.windows.start(self.now + offset)
        left = self.ledger.left(np.arange(len(self.twins)), start).tolist()
        assert everyone(self.ledger) == before
        for account, amount in enumerate(left):
            too_old = bucket_of(self.terms, start) < self.newest[account] - REACH_BACK
            expected = 0 if too_old else self.twins[account].left(start)
            assert amount == expected if self.exact else amount <= expected

    @precondition(lambda self: self.terms_may_change)
    @rule(terms=st.one_of(exact_terms, coarse_terms))
    def change_terms(self, terms: Terms) -> None:
        self.now = terms.windows.newest(self.terms.windows.start(self.now))
        self.terms, self.exact = terms, False
        self.ledger = load(terms, everyone(self.ledger))
        self.newest = [NEVER] * len(self.twins)
        for twin in self.twins:
            twin.terms = terms

    @invariant()
    def no_horizon_is_overdrawn(self) -> None:
        for account, start in self.paid:
            assert self.twins[account].fullest(start) <= self.terms.budget
        self.paid.clear()

    @invariant()
    def what_was_decided_stays_decided(self) -> None:
        assert self.ledger.released_until.tolist() == self.until


class CalendarAccounts(Accounts):
    """The same under days, weeks and months; or under windows of one length, by turns.

    A run of buckets covers as many windows as any horizon touches: where one touches fewer, less
    is granted than an account would that knows every release. More never is.
    """

    @initialize(terms=st.one_of(few_days, few_days, many_days), terms_may_change=st.booleans())
    def open(self, terms: Terms, terms_may_change: bool) -> None:  # noqa: FBT001 - drawn
        Accounts.open(self, terms, terms_may_change)
        self.exact = False
        self.now = terms.windows.newest(THEN)

    @precondition(lambda self: self.terms_may_change)
    @rule(terms=st.one_of(few_days, many_days, daily_terms))
    def change_terms(self, terms: Terms) -> None:
        Accounts.change_terms(self, terms)


TestCalendarAccounts = CalendarAccounts.TestCase
TestCalendarAccounts.settings = settings(max_examples=60, deadline=None)
TestAccounts = Accounts.TestCase
TestAccounts.settings = settings(max_examples=max(60, settings().max_examples - 40))


@st.composite
def sequences(draw: st.DrawFn) -> list[int]:
    """Windows in any order, none further back than any ledger can reach."""
    steps = draw(st.lists(st.sampled_from([0, 1, 1, 2, 3, 9, 40]), min_size=1, max_size=60))
    newest, windows = BEGIN, []
    for step in steps:
        newest += step
        windows.append(newest - draw(st.sampled_from([0, 0, 0, 1, 2, REACH_BACK])))
    return windows


@given(terms=coarse_terms, windows=sequences())
def test_a_coarse_ledger_grants_what_an_exact_one_with_its_slack_would(
    terms: Terms, windows: list[int]
) -> None:
    terms = replace(terms, partial=False)
    ledger, patient = Ledger(terms, 1), Account(terms, longer=terms.windows.ahead(terms.slack))
    for window in windows:
        start = terms.windows.start(window)
        if patient.charge(start):
            granted = ledger.charge(np.array([0]), np.array([start]))
            assert granted.tolist() == [len(terms.costs)]


def test_what_was_spent_on_other_days_is_billed_anew() -> None:
    """Days of London are numbered as those of UTC, and no summer's begins when they do."""
    london, utc = (
        Terms(2, 3 * 25 * HOUR, CalendarWindows("day", zone(name), HOUR), costs=(1,))
        for name in ("Europe/London", "UTC")
    )
    assert (london.bucket, london.reach) == (utc.bucket, utc.reach)
    ledger = Ledger(london, 1)
    today = london.windows.newest(THEN)
    assert ledger.charge(np.array([0]), np.array([london.windows.start(today)])).tolist() == [1]
    same, other = load(london, everyone(ledger)), load(utc, everyone(ledger))
    assert (same.head[0], other.head[0]) == (today, today + REACH_BACK)
    assert spent(load(utc, everyone(other))) == spent(other)


@given(terms=st.one_of(few_days, many_days), steps=st.lists(st.integers(0, 9), max_size=40))
def test_a_calendar_grants_what_an_exact_account_with_a_longer_horizon_would(
    terms: Terms, steps: list[int]
) -> None:
    """One as long as the longest run of windows that it looks at."""
    terms, windows = replace(terms, partial=False), terms.windows
    longest = windows.lasting(terms.span * terms.bucket_windows)
    ledger, patient = Ledger(terms, 1), Account(terms, longer=longest - terms.horizon)
    window = windows.newest(THEN)
    for step in steps:
        window += step
        start = windows.start(window)
        if patient.charge(start):
            granted = ledger.charge(np.array([0]), np.array([start]))
            assert granted.tolist() == [len(terms.costs)]


@given(
    terms=st.one_of(exact_terms, exact_terms, coarse_terms),
    histories=st.lists(sequences(), min_size=1, max_size=3),
    after=sequences(),
)
def test_two_accounts_of_one_meter_spend_what_both_have_spent(
    terms: Terms, histories: list[list[int]], after: list[int]
) -> None:
    """Whatever was kept apart, no horizon that a new charge touches is overdrawn."""
    twin, records = Account(terms), []
    for windows in histories:
        ledger = Ledger(terms, 1)
        for window in windows:
            at = np.array([terms.windows.start(window)])
            twin.pay(int(at[0]), int(ledger.charge(np.array([0]), at)[0]))
            ledger.settle(np.array([0]), terms.windows.end_of(at))
        records += everyone(ledger)
    unknown = everyone(Ledger(terms, 1))
    ledger = load_together(terms, [unknown, records, unknown])
    newest = max(map(max, histories))
    assert ledger.released_until[1] == terms.windows.end(newest)
    assert ledger.spent.tolist() == [0, ledger.spent[1], 0]
    for window in after:
        start = terms.windows.start(window)
        granted = int(ledger.charge(np.array([1]), np.array([start]))[0])
        twin.pay(start, granted)
        assert not granted or twin.fullest(start) <= terms.budget


@given(terms=st.one_of(exact_terms, coarse_terms), windows=sequences())
def test_an_account_and_an_empty_one_are_the_account(terms: Terms, windows: list[int]) -> None:
    ledger = Ledger(terms, 1)
    for window in windows:
        ledger.charge(np.array([0]), np.array([terms.windows.start(window)]))
    [record], [empty] = everyone(ledger), everyone(Ledger(terms, 1))
    for together in ([record, empty], [empty, record]):
        assert everyone(load_together(terms, [together])) == [record]


@given(terms=st.one_of(exact_terms, coarse_terms), data=st.data())
def test_many_accounts_at_once_are_charged_as_one_by_one(terms: Terms, data: st.DataObject) -> None:
    at_once, one_by_one = Ledger(terms, 6), Ledger(terms, 6)
    for _ in range(8):
        accounts = np.array(data.draw(st.permutations(range(6)))[: data.draw(st.integers(1, 6))])
        offsets = data.draw(st.lists(st.sampled_from([*OFFSETS, *LEAPS]), min_size=6, max_size=6))
        starts = terms.windows.start(BEGIN + np.array(offsets[: len(accounts)]))
        granted = [
            one_by_one.charge(accounts[i : i + 1], starts[i : i + 1])[0]
            for i in range(len(accounts))
        ]
        assert at_once.charge(accounts, starts).tolist() == granted
    assert everyone(at_once) == everyone(one_by_one)
