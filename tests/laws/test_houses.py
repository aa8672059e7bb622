"""Cohorts that share a house release what each would release alone: byte for byte.

What is shared is where open panes are, and nothing else: not the order in which anything leaves,
and not what is written down. When the panes of silent meters are written down may be another time,
as that is a few meters at a time of all who share; that changes no release.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING
from unittest.mock import PropertyMock, patch

from hypothesis import given, settings
from hypothesis import strategies as st

from meteragent.privacy import native
from meteragent.privacy.domain import Domain
from meteragent.privacy.question import per_watt, question
from meteragent.stream.cohort import Cohort
from meteragent.stream.pipeline import Assigned, Pipeline
from tests.given import KEY, SECOND, Record, readings
from tests.laws import test_carried as of_carried
from tests.laws.test_pipeline import HOME, PEAKS, SUMS, Published, at_once

if TYPE_CHECKING:
    from collections.abc import Iterator

    from meteragent.stream.releases import Step

PEAK = replace(SUMS, questions=(question("median", "0.5", 100),), fill_limit=0)
POLICIES = (
    Assigned("", "all", HOME),
    Assigned("", "sums", SUMS),
    Assigned("a-", "a", replace(HOME, questions=(question("max", 1, 100),), fill_limit=0)),
    Assigned("a-", "a-peak", PEAK),
    Assigned("b-", "b", replace(HOME, budget=per_watt("budget", 2, 100))),
    Assigned("c-", "c", replace(HOME, on_exhausted="partial", min_coverage=Decimal("0.5"))),
    Assigned("d-", "d", replace(HOME, grace=HOME.grace + 10 * SECOND)),
    Assigned("e-", "e", replace(HOME, idle=HOME.idle + 10 * SECOND)),
    Assigned("f-", "f", replace(HOME, domain=Domain(0, 500, 10))),
    Assigned("g-", "g", replace(HOME, size=40 * SECOND, hop=40 * SECOND)),
    Assigned("p-", "p", PEAKS),
    Assigned("q-", "q", PEAKS),
)
"""Two houses of two cohorts, and cohorts that are alone, each for another reason."""
METERS = ("m", "n", "a-1", "a-2", "b-1", "c-1", "c-2", "d-1", "e-1", "f-1", "g-1", "p-1", "q-1")


@st.composite
def logs(draw: st.DrawFn) -> list[Record]:
    """Of those laws, with other meters."""
    log = draw(of_carried.logs())
    return [record._replace(meter=draw(st.sampled_from(METERS))) for record in log]


@contextmanager
def alone() -> Iterator[None]:
    """Nobody shares anything."""
    with patch.object(Cohort, "shape", PropertyMock(return_value=None)):
        yield


def pipeline(published: Published) -> Pipeline:
    built = Pipeline(
        POLICIES, KEY, max_skew=60 * SECOND, max_meters=len(METERS), start=published.position
    )
    built.restore(published.accounts)
    return built


def run(log: list[Record], fates: list[tuple[int, str]]) -> Published:
    """Take all in, with crashes; what then waits is closed by the clock."""
    published = Published()
    waiting: list[Step] = []
    one, at = pipeline(published), 0
    for length, fate in [*fates, (len(log), "commit")]:
        upto = min(at + length, len(log))
        if upto > at:
            waiting += one.feed(readings(log[at:upto], at))
        at = upto
        if "commit" in fate:
            published.commit(one, waiting)
            waiting = []
        if "crash" in fate:
            one, waiting, at = pipeline(published), [], published.position.offset
    published.commit(one, one.tick(log[-1].written + 1000 * SECOND))
    return published


FATES = st.lists(st.tuples(st.integers(1, 12), of_carried.FATES), max_size=8)
MUCH = st.sampled_from([3, 2**14])
WAYS = st.sampled_from([native.wheel, None])


def test_some_of_them_share() -> None:
    one = pipeline(Published())
    assert sorted(len(house.cohorts) for house in one.houses) == [1, 1, 1, 1, 1, 1, 2, 2]


@settings(max_examples=max(30, settings().max_examples // 4))
@given(logs(), FATES, MUCH, WAYS)
def test_whoever_shares_releases_and_writes_down_what_it_would_alone(
    log: list[Record], fates: list[tuple[int, str]], much: int, way: object
) -> None:
    with patch.object(native, "wheel", way), at_once(much):
        shared = run(log, fates)
        with alone():
            assert run(log, fates) == shared


@settings(max_examples=max(20, settings().max_examples // 4))
@given(logs(), FATES, of_carried.LONGER, st.integers(1, 3))
def test_what_is_carried_of_them_changes_no_release(
    log: list[Record], fates: list[tuple[int, str]], longer: int, many: int
) -> None:
    with alone():
        expected = run(log, fates)
    with of_carried.carried_after(longer, many):
        assert run(log, fates).releases == expected.releases
