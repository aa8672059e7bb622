"""What is said of an account is what the ledger holds, to the last digit."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent import Domain
from meteragent.errors import InvalidSetting
from meteragent.explain.accounts import Shelf, Statement, accounts, dearest, statements, totals
from meteragent.explain.guarantee import Guarantee
from meteragent.privacy.exact import NANO
from meteragent.privacy.ledger import NEVER, Ledger
from meteragent.privacy.published import policy_of
from meteragent.privacy.question import question
from tests import given as kit
from tests.given import HOUR, MINUTE, written

if TYPE_CHECKING:
    from meteragent.privacy.policy import Policy


def statement(shelves: list[Shelf], meter: str, record: bytes) -> Statement:
    """Of a meter that has one policy."""
    [found] = statements(shelves, meter, record)
    return found


def policy(**changes: Any) -> Policy:  # noqa: ANN401
    settings: dict[str, Any] = {
        "domain": Domain(-400, 400, "2.5"),
        "questions": (question("avg", 1, 100), question("p99.9", "0.5", 100)),
        "size": 15 * MINUTE,
        "interval": MINUTE,
        "grace": 3,
        "budget": 6 * NANO // 100,
        "horizon": HOUR,
    } | changes
    return kit.policy(**settings)


def shelf(prefix: str = "", **changes: Any) -> Shelf:  # noqa: ANN401
    return Shelf(prefix, Guarantee(f"of {prefix}", policy(**changes), Decimal(100)))


def record(of: Policy, starts: list[int]) -> bytes:
    """An account that has paid for these windows."""
    ledger, account = Ledger(of.terms, 1), np.zeros(1, dtype=np.int64)
    for start in starts:
        ledger.charge(account, np.array([start]))
        ledger.settle(account, np.array([start + of.size]))
    return written(ledger)[0]


def test_a_new_account_has_everything_left() -> None:
    said = statement([shelf()], "m", record(policy(), []))
    assert (said.account.spent, said.account.remaining) == (0, 60_000_000)
    assert (said.refresh, said.history) == (None, ())
    assert said.account.until == NEVER


def test_what_was_spent_comes_back_a_horizon_later() -> None:
    """Windows of 15 min, a horizon of an hour, 1.5 a window:

    0:00   0:15   0:30   0:45   1:00
    spent         spent         comes back
    """
    said = statement([shelf()], "m", record(policy(), [0, 30 * MINUTE]))
    assert said.account.spent == 30_000_000
    assert said.account.remaining == 30_000_000
    assert said.account.until == 45 * MINUTE
    assert said.refresh == (HOUR, 15_000_000)
    assert said.history == ((0, 15_000_000), (30 * MINUTE, 15_000_000))


@st.composite
def lives(draw: st.DrawFn) -> tuple[Policy, list[int]]:
    """A policy, and windows of it in some order, near each other."""
    slots = draw(st.integers(1, 4))
    hop = draw(st.integers(1, slots)) * MINUTE
    size, horizon = slots * MINUTE, draw(st.integers(slots, 300)) * MINUTE
    asked = policy(
        size=size, hop=hop, horizon=horizon, budget=draw(st.integers(2, 40)) * NANO // 100
    )
    numbers = draw(st.lists(st.integers(0, 400), max_size=30))
    return asked, [number * hop for number in sorted(numbers)]


@given(life=lives())
def test_the_refresh_is_when_more_is_left_first(life: tuple[Policy, list[int]]) -> None:
    asked, starts = life
    ledger, one = Ledger(asked.terms, 1), np.zeros(1, dtype=np.int64)
    for start in starts:
        ledger.charge(one, np.array([start]))
    said = statement([Shelf("", Guarantee("x", asked, Decimal(1)))], "m", written(ledger)[0])
    remaining, bucket = said.account.remaining, asked.terms.bucket
    assert said.account.spent + remaining == asked.budget
    now = int(ledger.head[0]) * bucket if starts else 0
    later = [(t, int(ledger.left(one, t)[0])) for t in range(now, now + 400 * bucket, bucket)]
    assert later[0] == (now, remaining)
    more = [(t, left - remaining) for t, left in later if left > remaining]
    assert said.refresh == (more[0] if more else None)


def test_a_smaller_budget_leaves_nothing_and_never_less() -> None:
    shrunk = shelf(budget=20_000_000)
    said = statement([shrunk], "m", record(policy(), [0, 15 * MINUTE]))
    assert said.account.spent >= 30_000_000
    assert said.account.remaining == 0
    assert said.account.exhausted


@pytest.mark.parametrize(("on_exhausted", "exhausted"), [("suppress", True), ("partial", False)])
def test_an_account_is_exhausted_when_the_least_release_is_not_covered(
    on_exhausted: str,
    exhausted: bool,  # noqa: FBT001
) -> None:
    asked = policy(budget=25_000_000, on_exhausted=on_exhausted)
    [account] = accounts([Shelf("", Guarantee("x", asked, Decimal(1)))], {"m": record(asked, [0])})
    assert account.remaining == 10_000_000
    assert account.exhausted == exhausted


def test_a_meter_is_kept_under_the_longest_prefix_that_fits() -> None:
    shelves = [shelf("home-"), shelf("home-1"), shelf("plug-")]
    empty = record(policy(), [])
    found = accounts(shelves, dict.fromkeys(("home-2", "home-17", "plug-1", "barn"), empty))
    assert {a.meter: a.shelf.prefix for a in found} == {
        "home-2": "home-",
        "home-17": "home-1",
        "plug-1": "plug-",
    }
    with pytest.raises(InvalidSetting, match="METER: is a meter that no policy is for"):
        statement(shelves, "barn", empty)


def test_the_dearest_have_spent_the_largest_share_of_their_budgets() -> None:
    rich = shelf("rich", budget=15 * NANO // 100)
    once, twice = (record(policy(), [0, HOUR // 4][:n]) for n in (1, 2))
    records = {"b": once, "a": once, "c": twice, "rich": record(rich.policy, [0, HOUR // 4])}
    found = accounts([shelf(), rich], records)
    assert [account.meter for account in dearest(found, 9)] == ["c", "a", "b", "rich"]
    assert [account.meter for account in dearest(found, 2)] == ["c", "a"]


def test_totals_are_sums_and_a_policy_without_meters_has_none() -> None:
    shelves = [shelf(), shelf("none-")]
    full = record(policy(), [n * HOUR // 4 for n in range(4)])
    found = accounts(shelves, {"a": full, "b": record(policy(), [0])})
    all_of_them, none = totals(shelves, found)
    assert (all_of_them.meters, all_of_them.exhausted) == (2, 1)
    assert (all_of_them.spent, all_of_them.remaining) == (75_000_000, 45_000_000)
    assert (none.meters, none.exhausted, none.spent, none.remaining) == (0, 0, 0, 0)


@given(nano=st.integers(0, 2**62), radius=st.decimals("1e-12", "1e15", places=12))
def test_epsilon_is_told_to_the_last_digit(nano: int, radius: Decimal) -> None:
    """That of worlds as far apart as readings can be on the grid that are `radius` apart."""
    told = Shelf("", Guarantee("x", policy(), radius)).epsilon(nano)
    steps = min(math.ceil(Fraction(radius) / Fraction(5, 2)), 320)
    assert Fraction(told) == steps * Fraction(5, 2) * nano / NANO
    assert "E" not in told


def test_epsilon_at_a_radius_that_does_not_divide_shows_what_was_rounded_off() -> None:
    asked = question("avg", 1, 30)
    assert Shelf("", Guarantee("x", policy(), Decimal(30))).epsilon(asked.nano) == "0.99999999"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"presence": "private", "on_exhausted": "partial", "hop": 5 * MINUTE},
        {"min_coverage": Decimal("0.85"), "budget": 10**14 + 1},
        {"domain": Domain(0, "0.5", "0.001"), "questions": (question("reading", 3, 7),)},
    ],
)
def test_a_published_policy_is_read_back(changes: dict[str, Any]) -> None:
    said = policy(**changes)
    again = policy_of(said.document())
    assert again == said
    assert again.id == said.id
