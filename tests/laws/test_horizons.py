"""What a stretch of time touches and loses, counted window by window over every place to begin.

stretch      |-------|              starts with a window: 3 windows touch it
stretch         |-------|           starts elsewhere: 4 do
windows      [--][--][--][--]
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent import Domain
from meteragent.config.zones import zone
from meteragent.explain.guarantee import Guarantee, most_spent
from meteragent.privacy.calendar import UNITS, Calendar, CalendarWindows
from meteragent.privacy.ledger import Ledger
from meteragent.privacy.query import query
from meteragent.privacy.question import Question
from meteragent.privacy.terms import Terms
from meteragent.privacy.windows import Windows
from tests.given import DAY, HOUR, policy

if TYPE_CHECKING:
    from meteragent.privacy.policy import Policy


ZONES = ("Europe/Paris", "America/Sao_Paulo", "Australia/Lord_Howe", "UTC")
KEPT = ("avg", "max", "min")
NAMES = ("avg", "max", "p95")


@st.composite
def all_terms(draw: st.DrawFn) -> Terms:
    """Tumbling and hopping, dividing and not, in a few milliseconds."""
    hop = draw(st.integers(1, 6))
    size = draw(st.one_of(st.just(hop), st.integers(hop, 4 * hop)))
    costs = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    return Terms(
        budget=draw(st.integers(costs[0], 40)),
        horizon=draw(st.integers(size, 40)),
        windows=Windows(size, hop, 1),
        costs=tuple(costs),
        partial=draw(st.booleans()),
    )


def plain(terms: Terms) -> Windows:
    """Windows of one length."""
    assert isinstance(terms.windows, Windows)
    return terms.windows


def policy_of(terms: Terms) -> Policy:
    """A policy of these terms."""
    return policy(
        domain=Domain(0, 10, 1),
        questions=tuple(
            Question(query(name), cost) for name, cost in zip(NAMES, terms.costs, strict=False)
        ),
        size=plain(terms).size,
        interval=1,
        hop=plain(terms).hop,
        budget=terms.budget,
        horizon=terms.horizon,
        on_exhausted="partial" if terms.partial else "suppress",
    )


def touching(terms: Terms, begin: int, length: int) -> list[int]:
    """The starts of the windows that hold a millisecond of a stretch."""
    first = (begin - plain(terms).size) // plain(terms).hop * plain(terms).hop
    return [
        start
        for start in range(first, begin + length, plain(terms).hop)
        if start < begin + length and start + plain(terms).size > begin
    ]


@given(terms=all_terms(), length=st.integers(1, 60))
def test_a_stretch_touches_as_many_windows_as_is_said_and_some_stretch_does(
    terms: Terms, length: int
) -> None:
    counts = [len(touching(terms, begin, length)) for begin in range(plain(terms).hop)]
    assert max(counts) == terms.windows.touching(length)


@given(terms=all_terms())
def test_a_horizon_that_begins_elsewhere_touches_one_window_more_at_most(terms: Terms) -> None:
    horizon = terms.horizon
    starting = touching(terms, 0, horizon)
    ending = touching(terms, plain(terms).size - horizon, horizon)
    assert len(starting) == len(ending) == terms.per_horizon
    assert terms.windows.touching(horizon) - terms.per_horizon in {0, 1}
    divides = horizon % plain(terms).hop == plain(terms).size % plain(terms).hop == 0
    if divides and plain(terms).hop > 1:
        assert terms.windows.touching(horizon) == terms.per_horizon + 1


def spent_by_start(terms: Terms, asked: list[bool]) -> dict[int, int]:
    """What a ledger charges for these windows in turn, of those that ask."""
    ledger, account = Ledger(terms, 1), np.zeros(1, dtype=np.int64)
    prices = np.cumsum([0, *terms.costs])
    starts = [number * plain(terms).hop for number, asks in enumerate(asked) if asks]
    return {start: int(prices[ledger.charge(account, np.array([start]))[0]]) for start in starts}


@given(terms=all_terms(), data=st.data())
def test_no_stretch_loses_more_than_is_said(terms: Terms, data: st.DataObject) -> None:
    """Whichever windows ask for budget, over every stretch as long as the horizon."""
    asked = data.draw(st.lists(st.booleans(), min_size=30, max_size=30) | st.just([True] * 30))
    spent = spent_by_start(terms, asked)
    guarantee = Guarantee("x", policy_of(terms), Domain(0, 10, 1).maximum)
    for begin in range(30 * plain(terms).hop):
        told = sum(spent.get(start, 0) for start in touching(terms, begin, terms.horizon))
        assert told <= guarantee.any_horizon
        if (
            begin % plain(terms).hop == 0
            or (begin + terms.horizon - plain(terms).size) % plain(terms).hop == 0
        ):
            assert told <= guarantee.horizon
    assert max(spent.values(), default=0) <= guarantee.window


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_some_stretch_loses_as_much_as_is_said(hops: int) -> None:
    """One release in its first window, and as soon as that is out of the horizon another one."""
    terms = Terms(budget=7, horizon=20, windows=Windows(5 * hops, 5, 1), costs=(7,))
    asked = [number in {0, terms.per_horizon} for number in range(30)]
    spent = spent_by_start(terms, asked)
    told = [
        sum(spent.get(start, 0) for start in touching(terms, begin, terms.horizon))
        for begin in range(100)
    ]
    guarantee = Guarantee("x", policy_of(terms), Domain(0, 10, 1).maximum)
    assert max(told) == guarantee.any_horizon == 2 * guarantee.horizon == 14
    assert most_spent(guarantee.policy, 1) == guarantee.window == 7


# Windows of a calendar


@st.composite
def calendar_terms(draw: st.DrawFn) -> Terms:
    """Days, weeks and months, under horizons of a few of them."""
    unit = draw(st.sampled_from(UNITS))
    windows = CalendarWindows(unit, zone(draw(st.sampled_from(ZONES))), HOUR // 4)
    least = windows.lasting(1)
    costs = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    return Terms(
        budget=draw(st.integers(costs[0], 40)),
        horizon=least + draw(st.sampled_from([0, 1, HOUR, DAY - HOUR, least, 3 * least])),
        windows=windows,
        costs=tuple(costs),
        partial=draw(st.booleans()),
    )


@given(terms=calendar_terms(), year=st.sampled_from([1985, 2023, 2024, 2099]), data=st.data())
def test_no_stretch_loses_more_than_is_said_of_a_calendar(
    terms: Terms, year: int, data: st.DataObject
) -> None:
    """What a stretch touches changes only where it begins or ends with a window."""
    windows, horizon = terms.windows, terms.horizon
    asked = data.draw(st.lists(st.booleans(), min_size=30, max_size=30) | st.just([True] * 30))
    month = data.draw(st.integers(0, 11))
    since = windows.newest(((year - 1970) * 365 + month * 30) * DAY)
    starts = windows.start(np.arange(since, since + 31))
    ledger, account = Ledger(terms, 1), np.zeros(1, dtype=np.int64)
    prices = np.cumsum([0, *terms.costs])
    spent = np.array(
        [
            prices[ledger.charge(account, start[np.newaxis])[0]] if asks else 0
            for start, asks in zip(starts, [*asked, False], strict=True)
        ]
    )
    costs = tuple(Question(query(n), c) for n, c in zip(KEPT, terms.costs, strict=False))
    assert isinstance(windows, CalendarWindows)
    said = Guarantee("x", by_calendar(terms, windows, costs), Domain(0, 10, 1).maximum)
    in_line = [*starts.tolist(), *(starts - horizon).tolist()]
    for begin in {*in_line, *(start + 1 for start in in_line), *(start - 1 for start in in_line)}:
        touched = (starts < begin + horizon) & (windows.end_of(starts) > begin)
        assert spent[touched].sum() <= said.any_horizon
        if begin in in_line:
            assert touched.sum() <= terms.per_horizon
            assert spent[touched].sum() <= said.horizon <= terms.budget
    assert spent.max() <= said.window


def by_calendar(terms: Terms, windows: CalendarWindows, questions: tuple[Question, ...]) -> Policy:
    """A policy of these terms."""
    calendar = Calendar(windows.unit, windows.zone)
    return policy(
        domain=Domain(0, 10, 1),
        questions=questions,
        interval=windows.interval,
        budget=terms.budget,
        horizon=terms.horizon,
        on_exhausted="partial" if terms.partial else "suppress",
        **calendar.lengths(windows.interval, windows.offset),
    )


def grid(watts: list[float], domain: Domain) -> list[int]:
    levels: list[int] = domain.levels(np.array(watts)).tolist()
    return levels


@given(
    step=st.sampled_from(["1", "2", "2.5", "10"]),
    radius=st.decimals("0.1", "50", places=1),
    minimum=st.sampled_from(["0", "-20"]),
)
def test_readings_within_a_radius_are_as_many_steps_apart_as_is_said(
    step: str, radius: object, minimum: str
) -> None:
    domain = Domain(minimum, "40", step)
    lows = [float(domain.minimum) + hundredths / 100 for hundredths in range(6000)]
    highs = [low + float(str(radius)) for low in lows]
    moved = [b - a for a, b in zip(grid(lows, domain), grid(highs, domain), strict=True)]
    assert max(moved) == domain.levels_apart(float(str(radius)))
    assert domain.levels_apart(float(str(radius))) <= math.ceil(float(str(radius)) / float(step))
