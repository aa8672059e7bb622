"""No two homes are told apart by more than is said, by anything that leaves: small worlds, whole.

Public presence: all of a record is compared, also what stays on the trusted side (ledger, position,
events), for nothing in it may depend on a reading's value. Private presence: what is outside is
compared, which is outputs and rejects, with their times and their order; the trusted side knows who
was heard.
"""

from __future__ import annotations

import itertools
from functools import cache, partial
from typing import TYPE_CHECKING

import pytest

from meteragent.errors import ConfigRefused
from meteragent.privacy import entropy
from meteragent.privacy.query import NAMED
from tests.laws import planted, small_stories
from tests.laws.drawn_stories import drawn
from tests.laws.said import apart, judged, noise_of
from tests.laws.whole_records import law_of, runs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from tests.laws.said import Breach, Judged
    from tests.laws.small_stories import Scenario
    from tests.laws.whole_records import Law, Record, World

    Seen = Callable[[Record], Hashable]


def everything(record: Record) -> Hashable:
    return record


def outside(record: Record) -> Hashable:
    """What is on the untrusted side."""
    return tuple(
        (carried.committed, tuple(t for t in carried.topics if t[0] != "meter.ledger"))
        for carried in record.transactions
    )


def documents(record: Record) -> Hashable:
    """What is said there, whenever and in whatever order."""
    return tuple(
        sorted(
            (topic, kept.key, kept.value)
            for carried in record.transactions
            for topic, records in carried.topics
            for kept in records
            if topic != "meter.ledger"
        )
    )


def laws_of(its: Scenario, most_runs: int = 10_000) -> dict[World, Law]:
    """The law of each world, or of as many as take no more runs."""
    function = noise_of(its.rules, its.story.config)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entropy, "blake2b", function)
        worlds = its.worlds[: most_runs // runs_of(its.story, its.worlds[0], function)]
        return {world: law_of(its.story, world, function) for world in worlds}


def judge(its: Scenario, seen: Seen = everything) -> Judged:
    return judged(its.rules, its.story, laws_of(its), seen)


PUBLIC: dict[str, Callable[[], Scenario]] = {
    **{query: partial(small_stories.each_query, query) for query in (*NAMED, "p29", "p95")},
    "reading": partial(small_stories.each_query, "reading", slots=2),
    **{
        story.__name__: story
        for story in (
            small_stories.some_hours,
            small_stories.two_losses,
            small_stories.ordered,
            small_stories.partly_ordered,
            small_stories.exhausted,
            small_stories.partly_exhausted,
            small_stories.gaps,
            small_stories.disorder,
            small_stories.blocks,
            small_stories.clipped,
            small_stories.export,
            small_stories.hopping,
            small_stories.two_policies,
            small_stories.quick_and_final,
            small_stories.two_homes,
            small_stories.seen_and_aborted,
        )
    },
}


@pytest.mark.parametrize("name", PUBLIC)
def test_whole_records_keep_to_what_is_said_and_some_reach_it(name: str) -> None:
    its = PUBLIC[name]()
    assert judge(its) == (None, its.reaches)


def test_how_many_digits_a_reading_has_is_not_told_by_the_order() -> None:
    """Outside; how many records came at once is the brokers' doing, and the events count them."""
    its = small_stories.fetched_by_bytes()
    assert judge(its, outside).breach is None


PRIVATE: dict[str, Callable[[], Scenario]] = {
    story.__name__: story
    for story in (
        small_stories.heard_or_not,
        small_stories.silent_for_a_window,
        small_stories.heard_beside_another,
        small_stories.private_and_exhausted,
        small_stories.private_export,
    )
}


@cache
def private_laws(name: str) -> tuple[Scenario, dict[World, Law]]:
    its = PRIVATE[name]()
    return its, laws_of(its)


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        *((name, seen) for name in PRIVATE for seen in (documents, outside)),
    ],
)
def test_where_presence_is_private_nothing_outside_tells_more_than_is_said(
    name: str, seen: Seen
) -> None:
    its, laws = private_laws(name)
    assert judged(its.rules, its.story, laws, seen) == (None, its.reaches)


def test_two_private_answers_that_could_be_equal_are_refused() -> None:
    """That they are, or are not, would tell whether anything came late."""
    with pytest.raises(ConfigRefused, match="asks what policy"):
        small_stories.private_quick_and_final()


def drawn_breach(seed: int, most_runs: int) -> Breach | None:
    """Of the first story of a seed that is not too long, and in which something is told at all."""
    for turn in itertools.count():
        its = drawn(f"{seed}.{turn}")
        laws = laws_of(its, most_runs)
        if any(one != other for one, other in itertools.pairwise(laws.values())):
            seen = documents if any(rule.private for rule in its.rules) else everything
            return judged(its.rules, its.story, laws, seen).breach
    raise AssertionError


@pytest.mark.parametrize("seed", range(3))
def test_drawn_records_keep_to_what_is_said(seed: int) -> None:
    assert drawn_breach(seed, most_runs=120) is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 212))
def test_many_drawn_records_keep_to_what_is_said(seed: int) -> None:
    assert drawn_breach(seed, most_runs=600) is None


def test_of_a_home_alone_in_its_partition_it_is_told_when_it_was_heard() -> None:
    """Why SECURITY asks for others beside it: nothing is promised of such worlds."""
    its = drawn("182.0")
    heard, silent = (0, 0, 0, 0), (None, 0, None, 0)
    (before, *rest), (less, *others) = its.story.clocks(heard), its.story.clocks(silent)
    assert before > less
    assert rest == others
    assert apart(its.rules, its.story, heard, silent) is None
    laws = laws_of(its, most_runs=600)
    first = [{record.transactions[0].topics for record in laws[w]} for w in (heard, silent)]
    assert not first[0] & first[1]  # what was read before it was aborted tells them apart


LATE_READING = ((0, 0, 0), (0, 0, 2))
ONE_READING, ALL_READINGS = ((0, 0, 0), (1, 0, 0)), ((0, 0, 0), (1, 1, 1))


@pytest.mark.parametrize(
    ("mistake", "name", "pair", "seen"),
    [
        (planted.rounds_half_to_even, "export", ((-4, -2), (-2, 0)), outside),
        (planted.halves_the_noise, "avg", ALL_READINGS, outside),
        (planted.gives_all_answers_one_word, "two_losses", ((0, 0), (1, 1)), outside),
        (
            planted.orders_what_is_not_granted,
            "partly_ordered",
            ((0, 0, 0, 0), (1, 1, 1, 1)),
            outside,
        ),
        (planted.noise_without("heard", "answers"), "quick_and_final", LATE_READING, outside),
        (planted.noise_without("heard"), "quick_and_final", LATE_READING, outside),
        (planted.noise_without("starts"), "two_homes", ONE_READING, outside),
        (planted.noise_without("tags"), "two_homes", ONE_READING, outside),
        (planted.draws_anew, "seen_and_aborted", ((0, 0, 0), (1, 1, 0)), outside),
        (planted.grants_everything, "exhausted", ((0, 0, 0, 0), (1, 1, 1, 1)), outside),
        (planted.rejects_what_is_beyond_the_range, "clipped", ((2, 2), (2.5, 2)), outside),
        (planted.takes_zero_for_absent, "gaps", ((1, 1, 1), (0, 0, 1)), outside),
        (planted.sorts_by_content, "two_homes", ONE_READING, outside),
        (planted.stamps_by_content, "avg", ALL_READINGS, outside),
        (planted.tells_content_by("position"), "avg", ALL_READINGS, everything),
        (planted.tells_content_by("ledger"), "avg", ALL_READINGS, everything),
        (planted.tells_content_by("events"), "avg", ALL_READINGS, everything),
        (planted.counts_readings, "heard_or_not", ((None, 0), (0, 0)), documents),
        (planted.forgets_the_window_more, "exhausted", ((0, 0, 0, 0), (1, 1, 1, 1)), outside),
        (planted.forgets_the_grid, "clipped", ((0.49, 0.49), (0.5, 0.5)), outside),
    ],
)
def test_a_planted_mistake_is_found(
    mistake: planted.Plant,
    name: str,
    pair: tuple[World, World],
    seen: Seen,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mistake(monkeypatch)
    its = {**PUBLIC, **PRIVATE}[name]()._replace(worlds=list(pair))
    assert judge(its, seen).breach is not None
