"""Windows that are folded pane by pane answer like whole ones that are kept in memory."""

from __future__ import annotations

from datetime import date
from functools import partial
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from meteragent.config.zones import zone
from meteragent.privacy.calendar import UNITS, Calendar
from meteragent.privacy.domain import Domain
from meteragent.privacy.query import READINGS, Sums, answer
from meteragent.privacy.question import question
from meteragent.privacy.units import format_duration
from meteragent.stream.closed import Closed, Tally
from meteragent.stream.completed import completed
from meteragent.stream.folds import Folds
from meteragent.stream.order import Course
from meteragent.stream.panes import Store
from tests.given import DAY, HOUR, MINUTE, SECOND, policy
from tests.laws.test_panes import columns_of, come_to, cut, timelines
from tests.twins.panes import Pane, Panes
from tests.twins.whole_windows import WholeWindows

if TYPE_CHECKING:
    from meteragent.privacy.policy import Policy
    from meteragent.stream.folds import Decided
    from tests.laws.test_panes import Sent
    from tests.twins.whole_windows import Answer

ROWS = np.arange(4)


ABOUT_HOURS = st.sampled_from([["avg"], ["min", "avg"], ["max", "min"]])
MINUTES = ["thu 00:00-00:20", "00:17-00:18 00:20-12:00", "not thu 00:16-00:30", "fri", "not fri"]
"""Around the times from which readings are drawn."""
HOURS = [
    *("07:00-23:00", "weekday 17:00-20:00", "weekend", "not sat-sun 22:00-06:00", "02:00-03:00"),
    *("sun 01:00-04:00, fri 23:00-01:00", "thu-tue 00:00-24:00"),
]


def registers(of: list[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(of), max_size=2, unique=True)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Windows of several panes, of which sums are kept, or all slots."""
    interval = draw(st.sampled_from([1, 2, 10])) * SECOND
    pane, many = draw(st.sampled_from([1, 1, 2, 3])), draw(st.integers(2, 6))
    hop = draw(st.integers(1, many))
    filled = draw(st.sampled_from([0, 0, 1, 3, 100]))
    names = ["avg", "min", "max", *(["median"] if draw(st.booleans()) else [])]
    hours = [] if filled else draw(registers(MINUTES))
    names += [f"{name}[{its}]" for its in hours for name in draw(ABOUT_HOURS)]
    parts = [1, pane, *(n * pane for n in range(2, many) if many % n == hop % n == 0)]
    for part in () if filled else draw(st.lists(st.sampled_from(parts), max_size=2, unique=True)):
        asked = draw(st.sampled_from([["max"], ["median"], ["min", "median"]]))
        of_parts = [f"{name}({format_duration(part * interval)})" for name in asked]
        names += of_parts
        if MINUTE % (part * interval) == 0:
            names += [f"{name}[{its}]" for its in hours for name in of_parts]
    made = partial(
        policy,
        domain=Domain(0, 100, 1),
        questions=tuple(question(name, 1, 100) for name in names),
        size=many * pane * interval,
        interval=interval,
        hop=hop * pane * interval,
        grace=draw(st.integers(0, 25)) * SECOND,
        idle=draw(st.integers(0, 40)) * SECOND,
        presence=draw(st.sampled_from(["public", "private"])),
        fill_limit=filled * interval,
    )
    with patch("meteragent.privacy.windows.LEAST_PANE", pane * interval):
        rules = made()
        assume(rules.panes.size == pane * interval)
    return rules


BEGINS = [
    *(date(2024, 2, 26), date(2024, 3, 26), date(2024, 4, 4), date(2024, 9, 26)),
    *(date(2024, 10, 23), date(2018, 2, 10), date(2011, 12, 25)),
]
"""Shortly before clocks change somewhere, a leap day, or a day that was left out."""
ZONES = {
    **dict.fromkeys(["Europe/Paris", "America/Sao_Paulo", "UTC", "Pacific/Apia"], (15, 30, 60)),
    "Australia/Lord_Howe": (15, 30),
    **dict.fromkeys(["Asia/Kathmandu", "Pacific/Chatham"], (15,)),
}
"""Whose clocks are ahead by whole, half and quarter hours, and intervals that fit them."""


@st.composite
def calendar_policies(draw: st.DrawFn) -> Policy:
    """Days, weeks and months."""
    name = draw(st.sampled_from([*ZONES]))
    interval = draw(st.sampled_from(ZONES[name])) * MINUTE
    unit = draw(st.sampled_from(UNITS if name != "Pacific/Apia" else UNITS[1:]))
    offset = draw(st.sampled_from([0, 0, 6 * HOUR]))
    slots = unit != "month" or interval == HOUR
    names = ["avg", "min", "max", *(["median"] if slots and draw(st.booleans()) else [])]
    filled = draw(st.sampled_from([0, 0, 1, 3, 100]))
    if not filled and draw(st.booleans()):
        longer = format_duration(max(ZONES[name]) * MINUTE)
        asked = ["avg", "max", "min", f"max({format_duration(interval)})", f"min({longer})"]
        asked += ["median", f"median({longer})"] if "median" in names else []
        names += [name for name in asked if "(" in name]
        for its in draw(registers(HOURS)):
            some = draw(st.lists(st.sampled_from(asked), min_size=1, max_size=3, unique=True))
            names += [f"{one}[{its}]" for one in some]
    lengths = Calendar(unit, zone(name)).lengths(interval, offset)
    return policy(
        domain=Domain(0, 100, 1),
        questions=tuple(question(name, 1, 100) for name in names),
        interval=interval,
        grace=draw(st.integers(0, 25)) * HOUR,
        idle=draw(st.integers(0, 40)) * HOUR,
        presence=draw(st.sampled_from(["public", "private"])),
        fill_limit=filled * interval,
        horizon=400 * DAY,
        **lengths,
    )


def answers(rules: Policy, decided: Decided) -> list[Answer]:
    """What is answered, as the twin says it."""
    asked = tuple(q.query for q in rules.questions)
    starts = rules.windows.start(decided.windows)
    contents = completed(rules, decided.contents, starts)
    slots = contents[READINGS]
    held = slots.present if isinstance(slots, Sums) else np.count_nonzero(slots >= 0, axis=1)
    levels = answer(asked, contents)
    columns = (decided.rows, decided.windows, decided.heard, held)
    return [
        (*numbers, tuple(found) if numbers[-1] else ())
        for *numbers, found in zip(*(c.tolist() for c in columns), levels.tolist(), strict=True)
    ]


class Both:
    """Panes that close, folded, and kept whole."""

    def __init__(self, rules: Policy) -> None:
        self.rules = rules
        self.store, self.folds = Store(rules), self.folds_anew()
        self.store.grow(len(ROWS))
        self.twin, self.whole = Panes(rules), WholeWindows(rules)
        self.clock, self.offset = -(2**62), 0
        self.found: list[Answer] = []
        self.expected: list[Answer] = []

    def folds_anew(self) -> Folds:
        folds = Folds(self.rules)
        folds.grow(len(ROWS))
        return folds

    def take(self, batch: list[Sent]) -> None:
        columns, after = columns_of(batch, self.clock)
        for record, before in zip(batch, columns.before.tolist(), strict=True):
            for time, level in zip(record.times, record.levels, strict=True):
                known = {row: meter.next for row, meter in self.twin.meters.items()}
                own, idle = self.twin.add(record.row, time, level, record.offset, before)
                self.expect(known, [*own, *idle])
        course = Course.of_tick(self.clock, self.offset)
        clocks = np.array([self.clock, *columns.before[1:], after])
        course = course.moved(clocks, columns.offsets)
        for closed in self.store.add(columns, course, Tally()):
            self.fold(closed)
        self.clock, self.offset = after, batch[-1].offset + 1
        self.advance(self.clock, course)

    def expect(self, known: dict[int, int], panes: list[Pane]) -> None:
        for pane in panes:
            self.whole.take(*pane)
        for row, meter in self.twin.meters.items():
            if (first := known.get(row)) is not None:
                self.expected += self.whole.reach(row, first, meter.next)

    def advance(self, clock: int, course: Course) -> None:
        for closed in come_to(self.store, clock, course):
            self.fold(closed)

    def tick(self, clock: int) -> None:
        self.clock = clock
        known = {row: meter.next for row, meter in self.twin.meters.items()}
        self.expect(known, self.twin.advance(clock))
        self.advance(clock, Course.of_tick(clock, self.offset))

    def fold(self, closed: Closed) -> None:
        decided = self.folds.take(closed)
        if self.rules.presence == "public":
            self.store.awaited[closed.rows] = self.folds.awaited(closed.rows)
        self.found += answers(self.rules, decided)

    def restart(self) -> None:
        """Only what is written down goes on."""
        until, state = self.folds.until(ROWS), self.folds.state(ROWS)
        known = until != -(2**62)
        self.folds = self.folds_anew()
        self.folds.take_over(ROWS[known], until[known], state[known])


@settings(max_examples=max(60, settings().max_examples - 40))
@given(policies(), st.lists(st.integers(0, 60), max_size=6), st.data())
def test_folds_answer_like_whole_windows(
    rules: Policy, cuts: list[int], data: st.DataObject
) -> None:
    keep_step(Both(rules), cut(data.draw(timelines(rules.interval)), cuts), data, SECOND)


@settings(max_examples=max(30, settings().max_examples // 4))
@given(st.lists(st.integers(0, 60), max_size=6), st.data())
def test_so_do_parts_of_several_panes_where_presence_is_private(
    cuts: list[int], data: st.DataObject
) -> None:
    with patch("meteragent.privacy.windows.LEAST_PANE", 2 * SECOND):
        rules = policy(
            domain=Domain(0, 100, 1),
            questions=tuple(question(name, 1, 100) for name in ("avg", "max(4s)")),
            size=8 * SECOND,
            interval=SECOND,
            grace=3 * SECOND,
            idle=5 * SECOND,
            presence="private",
        )
        assert rules.panes.size == 2 * SECOND
    keep_step(Both(rules), cut(data.draw(timelines(rules.interval)), cuts), data, SECOND)


@settings(max_examples=max(40, settings().max_examples - 60))
@given(
    calendar_policies(),
    st.lists(st.integers(0, 60), max_size=6),
    st.sampled_from(BEGINS),
    st.data(),
)
def test_so_they_do_where_clocks_change(
    rules: Policy, cuts: list[int], begin: date, data: st.DataObject
) -> None:
    since = (begin - date(1970, 1, 1)).days * DAY + 13 * MINUTE
    unit = data.draw(st.sampled_from([15 * MINUTE, HOUR]))
    drawn = data.draw(timelines(rules.interval, unit, since))
    keep_step(Both(rules), cut(drawn, cuts), data, unit)


def keep_step(both: Both, batches: list[list[Sent]], data: st.DataObject, unit: int) -> None:
    """Give the same to folds and to the twin, and cut and restore anywhere."""
    for batch in batches:
        both.take(batch)
        if data.draw(st.integers(0, 3)) == 0:
            both.tick(both.clock + data.draw(st.integers(0, 200)) * unit)
        if data.draw(st.booleans()):
            both.restart()
        assert sorted(both.found) == sorted(both.expected)
