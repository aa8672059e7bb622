"""Windows that are not asked everything: what they pay, and what they say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from meteragent.config.zones import zone
from meteragent.privacy.calendar import UNITS, Calendar
from meteragent.privacy.hours import Timetable
from meteragent.privacy.ledger import Ledger
from meteragent.privacy.registers import register
from meteragent.privacy.terms import Terms
from meteragent.privacy.windows import Windows
from meteragent.privacy.zone import UTC
from tests.given import HOUR
from tests.privacy.test_registers import SINCE, asked_by_hand
from tests.twins.accounts import Account, Grant

if TYPE_CHECKING:
    from collections.abc import Sequence

HOURS = ["weekday 17:00-20:00", "weekend", "mon", "not mon-sat 00:00-12:00", "02:00-03:00"]


@st.composite
def all_terms(draw: st.DrawFn) -> Terms:
    """Days, weeks and months, and hours that hop; each charge of its own, or of several queries."""
    of = st.sampled_from([None, *map(register, HOURS)])
    together = draw(st.lists(st.lists(of, min_size=1, max_size=2), min_size=1, max_size=3))
    if draw(st.booleans()):
        hop = draw(st.sampled_from([1, 6, 24])) * HOUR
        windows, clocks = Windows(hop * draw(st.integers(1, 3)), hop, HOUR), UTC
    else:
        clocks = zone(draw(st.sampled_from(["Europe/Paris", "America/Sao_Paulo"])))
        windows = Calendar(draw(st.sampled_from(UNITS)), clocks).windows(HOUR, 0)  # type: ignore[assignment]
    costs = tuple(draw(st.lists(st.integers(1, 9), min_size=len(together), max_size=len(together))))
    some = draw(st.sampled_from([1, 1, 2, 3]))
    least = windows.lasting(1)
    return Terms(
        budget=sum(costs) * some + draw(st.integers(0, 5)),
        horizon=draw(st.sampled_from([least, 2 * least, windows.lasting(5)])),
        windows=windows,
        costs=costs,
        partial=draw(st.booleans()),
        timetable=Timetable(windows, clocks, tuple(map(tuple, together))),
    )


class Paying(Account):
    """The obvious twin: of each window it looks up by hand what is asked."""

    def charge(self, start: int) -> int:
        asked, costs = self.asked(start), self.terms.costs
        left, paid, granted = self.left(start), 0, 0
        for nth, cost in enumerate(costs):
            if paid + cost * asked[nth] > left:
                break
            paid, granted = paid + cost * asked[nth], nth + 1
        if not paid or (granted < len(costs) and not self.terms.partial):
            return 0
        self.grants.append(Grant(start, self.terms.windows.end_of(start), paid))
        return granted

    def asked(self, start: int) -> Sequence[bool]:
        assert self.terms.timetable is not None
        return asked_by_hand(self.terms.timetable, self.terms.windows.newest(start))


@settings(max_examples=max(60, settings().max_examples))
@given(all_terms(), st.sampled_from(SINCE), st.lists(st.integers(0, 3), max_size=25))
def test_a_window_pays_for_what_it_is_asked_and_no_horizon_loses_more_than_the_budget(
    terms: Terms, since: int, leaps: list[int]
) -> None:
    ledger, twin = Ledger(terms, 1), Paying(terms)
    window = terms.windows.newest(since)
    for leap in leaps:
        window += leap
        if twin.grants and twin.grants[-1].start == terms.windows.start(window):
            window += 1
        start = terms.windows.start(window)
        granted = int(ledger.charge(np.array([0]), np.array([start]))[0])
        assert granted == twin.charge(start)
        assert twin.fullest(start) <= terms.budget
        if not any(twin.asked(start)):
            assert granted == 0
        assert sum(g.nano for g in twin.grants if g.start == start) <= terms.price


@given(all_terms(), st.sampled_from(SINCE))
def test_what_is_asked_of_all_windows_alike_is_paid_as_ever(terms: Terms, since: int) -> None:
    assert terms.timetable is not None
    always = tuple((None,) for _ in terms.costs)
    same = replace(terms, timetable=replace(terms.timetable, together=always))
    never = replace(terms, timetable=None)
    first = terms.windows.newest(since)
    starts = terms.windows.start(np.arange(first, first + 12))
    accounts = np.zeros(1, dtype=np.int64)
    ledgers = [Ledger(one, 1) for one in (same, never)]
    for start in starts:
        one, other = (ledger.charge(accounts, start[np.newaxis]) for ledger in ledgers)
        assert one.tolist() == other.tolist()
    assert [one.dearest(7) for one in (same, never)] == [7 * sum(terms.costs)] * 2
