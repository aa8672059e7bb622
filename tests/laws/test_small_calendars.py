"""Days and months of a time zone in small worlds, whole: what is said is kept, and is tight.

Where clocks change, and wherever the agent is ended and restored within such a window.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from meteragent.stream import trail
from tests.laws import calendar_stories, planted
from tests.laws.calendar_stories import FATES, cut, within_a_day
from tests.laws.said import judged
from tests.laws.test_whole_records import documents, everything, judge, laws_of, outside

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from tests.laws.calendar_stories import Fate
    from tests.laws.said import Judged
    from tests.laws.small_stories import Scenario
    from tests.laws.test_whole_records import Seen
    from tests.laws.whole_records import Law


PUBLIC: dict[str, Callable[[], Scenario]] = {
    story.__name__: story
    for story in (
        calendar_stories.short_day,
        calendar_stories.exhausted_days,
        calendar_stories.long_day,
        calendar_stories.hour_left_out,
        calendar_stories.hour_shown_twice,
        calendar_stories.midnight_left_out,
        calendar_stories.months,
    )
}


@pytest.mark.parametrize("name", PUBLIC)
def test_whole_days_and_months_keep_to_what_is_said_and_some_reach_it(name: str) -> None:
    its = PUBLIC[name]()
    assert judge(its) == (None, its.reaches)


@pytest.mark.parametrize("seen", [documents, outside])
def test_where_presence_is_private_no_day_tells_whether_anything_was_heard(seen: Seen) -> None:
    its = calendar_stories.days_heard_or_not()
    assert judge(its, seen) == (None, its.reaches)


# Cut and restored.

EVERYWHERE = list(itertools.product(FATES, repeat=4))
ALIKE_OR_ONE = [(fate,) * 4 for fate in FATES] + [
    ("goes on",) * at + (fate,) + ("goes on",) * (3 - at)
    for at, fate in itertools.product(range(4), FATES[1:])
]


def lasting(law: Law) -> dict[Hashable, Fraction]:
    """How likely is what is said outside for good."""
    view: dict[Hashable, Fraction] = defaultdict(Fraction)
    for record, chance in law.items():
        said = tuple(one for one in record.transactions if one.committed)
        view[documents(record._replace(transactions=said))] += chance
    return view


def judged_when_cut(fates: Sequence[Fate], longer: int) -> Judged:
    """At last the release is read, and taken back: whoever decides anew must decide the same.

    Panes are carried that are open for so much longer than expected.
    """
    its = within_a_day()
    with patch.multiple(trail, LONGER=longer, MILE=1):
        whole, laws = laws_of(its), laws_of(cut(its, [*fates, "reads again"]))
    assert {world: lasting(law) for world, law in laws.items()} == {
        world: lasting(law) for world, law in whole.items()
    }
    return judged(its.rules, its.story, laws, everything)


@pytest.mark.parametrize("fates", ALIKE_OR_ONE, ids="-".join)
def test_a_day_that_is_cut_anywhere_keeps_to_what_is_said_and_reaches_it(
    fates: tuple[Fate, ...],
) -> None:
    assert judged_when_cut(fates, longer=0) == (None, frozenset({"window"}))


@pytest.mark.slow
@pytest.mark.parametrize("longer", [0, 10**12])
@pytest.mark.parametrize("fates", EVERYWHERE, ids="-".join)
def test_a_day_that_is_cut_wherever_it_can_be_does_so_too(
    fates: tuple[Fate, ...], longer: int
) -> None:
    assert judged_when_cut(fates, longer) == (None, frozenset({"window"}))


@pytest.mark.parametrize(("longer", "position"), [(0, 1), (10**12, 0)])
def test_a_pane_that_is_carried_does_not_hold_the_position_back(longer: int, position: int) -> None:
    """So the day is indeed cut where slots of an open pane stand in the ledger."""
    its = cut(within_a_day(), ["commits", "commits"])
    with patch.multiple(trail, LONGER=longer, MILE=1):
        laws = laws_of(its)
    assert {record.transactions[1].offset for law in laws.values() for record in law} == {position}


# Mistakes.


def folded_once_committed() -> Scenario:
    return cut(within_a_day(), ["commits", "commits", "commits", "commits", "reads again"])


@pytest.mark.parametrize(
    ("mistake", "story", "seen"),
    [
        (planted.counts_days_of_24_hours, calendar_stories.short_day, outside),
        (planted.forgets_the_winter, calendar_stories.long_day, outside),
        (planted.forgets_what_was_folded, folded_once_committed, outside),
        (planted.forgets_the_window_more, calendar_stories.months, outside),
        (planted.grants_everything, calendar_stories.exhausted_days, outside),
        (planted.counts_readings, calendar_stories.days_heard_or_not, documents),
    ],
)
def test_a_planted_mistake_is_found(
    mistake: planted.Plant,
    story: Callable[[], Scenario],
    seen: Seen,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mistake(monkeypatch)
    its = story()
    ends = [its.worlds[0], its.worlds[-1]]
    assert judge(its._replace(worlds=ends), seen).breach is not None
