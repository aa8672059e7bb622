"""What an account grants, in cases small enough to do in the head."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent import Domain, TruncatedGeometric
from meteragent.errors import InvalidSetting, NotExact
from meteragent.privacy.exact import nano
from meteragent.privacy.ledger import NEVER, Ledger
from meteragent.privacy.terms import MOST_BUCKETS, MOST_BUDGET, REACH_BACK, Terms
from meteragent.privacy.windows import Windows
from tests.twins.accounts import Account

HOP = 10
FIRST = np.array([0])


def terms(**changes: Any) -> Terms:  # noqa: ANN401 - also what terms refuse
    """Ten tumbling windows that cost one each: as many as the budget holds."""
    shape = {name: changes.pop(name, HOP) for name in ("size", "hop")}
    settings = {"budget": 10, "horizon": 10 * HOP, "costs": (1,)}
    return Terms(**{"windows": Windows(**shape, interval=1), **settings, **changes})


def charge(ledger: Ledger, *windows: int) -> list[int]:
    """Charge the first account for these windows, one after the other."""
    starts = ledger.terms.windows.start(np.array(windows)[:, np.newaxis])
    return [int(ledger.charge(FIRST, start)[0]) for start in starts]


def left(ledger: Ledger, window: int) -> int:
    return int(ledger.left(FIRST, ledger.terms.windows.start(window))[0])


@pytest.mark.parametrize("field", ["budget", "horizon", "size", "hop", "costs"])
@pytest.mark.parametrize("value", [0.1, 10.0, np.float64(3), Decimal(3), Fraction(1, 2), True, "9"])
def test_only_whole_numbers_are_terms(field: str, value: object) -> None:
    with pytest.raises(NotExact) as refused:
        terms(**{field: (value,) if field == "costs" else value})
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("budget", 0),
        ("budget", -1),
        ("budget", MOST_BUDGET + 1),
        ("horizon", 0),
        ("horizon", HOP - 1),
        ("horizon", 2**51),
        ("size", -HOP),
        ("hop", 0),
        ("hop", HOP + 1),
        ("costs", ()),
        ("costs", (1, 0)),
        ("costs", (1, MOST_BUDGET)),
    ],
)
def test_terms_that_make_no_sense_are_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(InvalidSetting) as refused:
        terms(**{field: value})
    assert refused.value.field == field
    assert refused.value.instead


@pytest.mark.parametrize("values", [np.array([0.0]), np.array([True]), np.array([0], dtype="u8")])
def test_only_whole_numbers_are_charged(values: np.ndarray[Any, Any]) -> None:
    ledger = Ledger(terms(), 1)
    with pytest.raises(NotExact, match="accounts"):
        ledger.charge(values, FIRST)
    with pytest.raises(NotExact, match="starts"):
        ledger.charge(FIRST, values)
    with pytest.raises(NotExact, match="until"):
        ledger.settle(FIRST, values)
    with pytest.raises(NotExact, match="now"):
        ledger.left(FIRST, values[0])
    assert not ledger.buckets.any()


def test_an_account_that_comes_twice_is_refused_before_it_pays() -> None:
    ledger = Ledger(terms(), 3)
    with pytest.raises(ValueError, match="twice"):
        ledger.charge(np.array([2, 0, 2]), np.array([0, 0, 10]))
    assert not ledger.buckets.any()
    assert ledger.charge(np.array([2, 0, 1]), np.array([0, 0, 10])).tolist() == [1, 1, 1]


def test_ten_times_a_tenth_is_exactly_one() -> None:
    mechanism = TruncatedGeometric(Domain(0, 100, 1), "0.1")
    ledger = Ledger(terms(budget=nano("budget", "1"), costs=(mechanism.cost(),)), 1)
    assert sum([0.1] * 10) != 1
    assert charge(ledger, *range(9)) == [1] * 9
    assert left(ledger, 9) == mechanism.cost()
    assert charge(ledger, 9) == [1]
    assert left(ledger, 9) == 0
    assert charge(ledger, 9) == [0]


def test_a_window_that_leaves_the_horizon_makes_room_for_one() -> None:
    ledger = Ledger(terms(budget=3), 1)
    assert charge(ledger, 0, 1, 2, 3, 9) == [1, 1, 1, 0, 0]
    assert charge(ledger, 10, 10, 11, 12, 12) == [1, 0, 1, 1, 0]


def test_a_window_is_all_or_nothing() -> None:
    ledger = Ledger(terms(costs=(3, 4)), 1)
    assert charge(ledger, 0, 1, 2) == [2, 0, 0]
    assert left(ledger, 2) == 3


def test_partial_windows_lose_queries_from_the_last_one_up() -> None:
    ledger = Ledger(terms(budget=12, costs=(2, 3, 4), partial=True), 1)
    assert charge(ledger, 0, 1, 2) == [3, 1, 0]
    assert left(ledger, 2) == 1


@pytest.mark.parametrize(
    ("size", "horizon", "touching"),
    [(10, 10, 1), (10, 20, 2), (10, 25, 3), (20, 20, 3), (15, 30, 4), (14, 14, 3), (40, 100, 13)],
)
def test_windows_that_began_before_a_horizon_count(size: int, horizon: int, touching: int) -> None:
    counted = terms(size=size, horizon=horizon, budget=touching)
    account = Account(counted)
    for window in range(-50, 50):
        account.pay(window * HOP, 1)
    assert account.fullest(0) == touching == counted.per_horizon
    ledger = Ledger(counted, 1)
    assert charge(ledger, *range(touching), touching - 1) == [1] * touching + [0]
    assert charge(ledger, touching) == [1]


def test_a_late_window_pays_into_every_horizon_that_holds_it() -> None:
    ledger = Ledger(terms(horizon=3 * HOP, budget=2), 1)
    assert charge(ledger, 0, 2) == [1, 1]
    assert charge(ledger, 1) == [0]
    assert charge(ledger, 3, 5) == [1, 1]
    assert charge(ledger, 4) == [0]
    assert charge(ledger, -1, -1) == [1, 0]
    assert left(ledger, 6) == 1


def test_a_charge_reaches_back_so_far_and_no_further() -> None:
    ledger = Ledger(terms(), 1)
    assert charge(ledger, 100, 100 - REACH_BACK, 99 - REACH_BACK, 101) == [1, 1, 0, 1]
    assert left(ledger, 101 - REACH_BACK) == 9
    assert left(ledger, 100 - REACH_BACK) == 0


def test_an_early_window_does_not_touch_the_present() -> None:
    ledger = Ledger(terms(budget=2), 1)
    assert charge(ledger, 10, 0, 10, 10) == [1, 1, 1, 0]
    assert left(ledger, 20) == 2


@pytest.mark.parametrize("silence", [1, 9, 10, 25, 26, 27, 1000, 10**6])
def test_silence_lets_go_of_exactly_what_is_older_than_the_horizon(silence: int) -> None:
    ledger = Ledger(terms(), 1)
    charge(ledger, 0, 0, 0, -3)
    kept = 10 - 3 * (silence < 10) - (silence - -3 < 10)
    assert left(ledger, silence) == kept
    assert charge(ledger, *[silence] * 11) == [1] * kept + [0] * (11 - kept)


def test_looking_ahead_and_back_sees_what_a_charge_there_would() -> None:
    ledger = Ledger(terms(budget=5, horizon=3 * HOP), 1)
    charge(ledger, 0, 0, 1, 2)
    assert [left(ledger, w) for w in range(-3, 7)] == [5, 3, 2, 1, 1, 1, 3, 4, 5, 5]
    assert ledger.head.tolist() == [2]


def test_an_account_without_a_release_has_everything_left() -> None:
    ledger = Ledger(terms(), 2)
    assert ledger.left(np.arange(2), 0).tolist() == [10, 10]
    assert ledger.history(1) == {}


def test_history_tells_what_was_spent_and_when() -> None:
    ledger = Ledger(terms(budget=20), 2)
    charge(ledger, 3, 3, -2, 5)
    assert ledger.history(0) == {30: 2, -20: 1, 50: 1}
    assert ledger.history(1) == {}


def test_what_is_settled_never_opens_again() -> None:
    ledger = Ledger(terms(), 2)
    ledger.settle(np.array([0, 1]), np.array([50, 20]))
    ledger.settle(np.array([0, 1]), np.array([30, 70]))
    assert ledger.released_until.tolist() == [50, 70]


def test_recounting_adds_up_the_span_and_nothing_older() -> None:
    ledger = Ledger(terms(budget=100), 2)
    charge(ledger, *range(40))
    before = ledger.spent.copy()
    ledger.spent[:] = 77
    ledger.recount(np.arange(2))
    assert ledger.spent.tolist() == before.tolist() == [10, 0]
    ledger.buckets[1] = 1
    ledger.recount(np.array([1]))
    assert ledger.spent.tolist() == [10, 10]


def test_ledgers_under_other_terms_do_not_merge() -> None:
    with pytest.raises(InvalidSetting, match="terms"):
        Ledger(terms(), 1).merge(FIRST, Ledger(terms(budget=11), 1), FIRST)


def test_a_fleet_that_grows_meter_by_meter_seldom_moves() -> None:
    ledger, moves = Ledger(terms(), 1000), 0
    charge(ledger, 0)
    for accounts in range(1001, 10_001):
        before = len(ledger)
        ledger.grow(accounts)
        moves += len(ledger) != before
        assert accounts <= len(ledger) <= accounts * 17 // 16
    assert moves <= 40
    assert (ledger.spent[0], ledger.buckets.sum()) == (1, 1)
    assert set(ledger.head[1:]) == set(ledger.released_until) == {NEVER}


def test_a_fleet_is_charged_as_a_whole_however_large() -> None:
    many, rng = 20_000, np.random.default_rng(1)
    ledger, accounts = Ledger(terms(budget=1), many), rng.permutation(many)
    windows = rng.integers(0, 1000, many)
    assert ledger.charge(accounts, windows * HOP).all()
    np.testing.assert_array_equal(ledger.head[accounts], windows)
    later = windows + rng.integers(0, 20, many)
    granted = ledger.charge(accounts, later * HOP)
    np.testing.assert_array_equal(granted, (later - windows >= 10).astype(int))


def test_new_accounts_begin_with_nothing_spent() -> None:
    ledger = Ledger(terms())
    assert len(ledger) == 0
    ledger.grow(3)
    ledger.grow(2)
    assert len(ledger) == 3
    assert ledger.charge(np.arange(3), np.zeros(3, dtype=int)).tolist() == [1, 1, 1]


@given(
    hop=st.integers(1, 10**7),
    size=st.fractions(1, 50),
    horizon=st.one_of(st.fractions(1, 300), st.fractions(1, 10**5)),
)
def test_whatever_the_horizon_an_account_is_small(
    hop: int, size: Fraction, horizon: Fraction
) -> None:
    length = int(hop * size)
    ledger = Ledger(terms(hop=hop, size=length, horizon=length + int(hop * horizon)), 1)
    assert ledger.buckets_kept <= MOST_BUCKETS
    columns = (ledger.buckets, ledger.head, ledger.spent, ledger.released_until)
    assert sum(column.nbytes for column in columns) <= 280
    assert 0 <= ledger.terms.slack < ledger.terms.per_horizon


@pytest.mark.parametrize(
    ("budget", "costs", "kind"),
    [
        (2**15 - 2, (1,), np.int16),
        (2**15 - 1, (1,), np.int32),
        (2**31 - 2, (1,), np.int32),
        (2**31 - 1, (1,), np.int64),
        (10**9, (4_000_000, 3_000_000), np.int16),
        (10**9, (3_333_333, 2_500_000), np.int32),
    ],
)
def test_entries_are_as_small_as_the_costs_common_divisor_allows(
    budget: int, costs: tuple[int, ...], kind: type
) -> None:
    counted = terms(budget=budget, costs=costs, horizon=1000 * HOP)
    ledger, account = Ledger(counted, 1), Account(counted, longer=counted.slack * HOP)
    assert ledger.buckets.dtype == kind
    for window in range(4):
        assert charge(ledger, window) == [account.charge(window * HOP)]
    assert left(ledger, 4) == account.left(4 * HOP)


def test_coarse_buckets_lengthen_no_horizon_by_two_percent() -> None:
    """By less than 2/111, which long horizons of an unlucky length come close to."""
    by_windows = {w: terms(horizon=w * HOP) for w in range(1, 20_000)}
    waste = {w: Fraction(t.slack, w) for w, t in by_windows.items()}
    assert all(by_windows[w].per_horizon == w for w in by_windows)
    assert {w for w in waste if w <= 112 and waste[w]} == set()
    assert Fraction(2, 112) < max(waste.values()) < Fraction(2, 111)


@pytest.mark.parametrize("windows", [112, 113, 114, 224, 672])
def test_a_steady_stream_gets_nearly_the_whole_budget(windows: int) -> None:
    """Each window costs the hundredth part of the budget; an exact account grants them all."""
    account = terms(horizon=windows * HOP, budget=100 * windows, costs=(100,))
    ledger = Ledger(account, 1)
    periods = 4 * (windows + account.slack)
    granted = sum(charge(ledger, *range(periods)))
    assert granted == 4 * windows
    assert granted >= periods * Fraction(111, 113)
