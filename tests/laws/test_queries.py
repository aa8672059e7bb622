"""Every registered query is lawful, and the checker knows one that is not.

Of the counter-examples, half-even rounding breaks the promise of privacy (see
`test_small_worlds`), a rank in floats only the meaning of the word percentile.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.privacy.query import NAMED, Query, query
from tests.laws.lawful import (
    ask,
    broken_laws,
    of_hours,
    of_parts,
    pairs_of_windows,
    percentiles,
)
from tests.twins.hours import is_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from meteragent.privacy.domain import Levels
    from meteragent.privacy.query import Answers, Contents

QUARTER = 900_000
PERCENTILES = ["p0", "p5", "p29", "p50", "p95", "p99.9", "p99.999999"]


def unlawful(queries: Iterable[Query], pair: tuple[Levels, Levels, int]) -> dict[str, set[str]]:
    verdicts = {q.name: broken_laws(q, *pair) for q in queries}
    return {name: broken for name, broken in verdicts.items() if broken}


@given(pairs_of_windows())
def test_every_registered_query_is_lawful(pair: tuple[Levels, Levels, int]) -> None:
    assert unlawful(NAMED.values(), pair) == {}


@given(pairs_of_windows(), st.sampled_from(PERCENTILES) | percentiles())
def test_every_percentile_is_lawful(pair: tuple[Levels, Levels, int], name: str) -> None:
    assert unlawful([query(name)], pair) == {}


@given(pairs_of_windows(), st.sampled_from(["min", "median", "max"]) | percentiles(), st.data())
def test_every_composition_is_lawful(
    pair: tuple[Levels, Levels, int], name: str, data: st.DataObject
) -> None:
    slots = pair[0].shape[1]
    divisors = [many for many in range(1, slots + 1) if slots % many == 0]
    assert unlawful([of_parts(name, data.draw(st.sampled_from(divisors)))], pair) == {}


@given(
    pairs_of_windows(),
    st.sampled_from(["avg", "min", "median", "max"]) | percentiles(),
    st.sampled_from(["06:00-22:00", "weekday 17:00-20:00", "not sat, sun 00:15-00:30"]),
    st.data(),
)
def test_every_query_about_some_hours_is_lawful(
    pair: tuple[Levels, Levels, int], name: str, text: str, data: st.DataObject
) -> None:
    start, slots = data.draw(st.integers(0, 671)) * QUARTER, pair[0].shape[1]
    parts = [many for many in (1, 2) if slots % many == start // QUARTER % many == 0]
    if name != "avg" and data.draw(st.booleans()):
        many = data.draw(st.sampled_from([many for many in parts if "15" not in text or many == 1]))
        name = f"{name}({many * 15}m)"
    asked = [is_of(text, "UTC", start + slot * QUARTER) for slot in range(slots)]
    found = broken_laws(of_hours(name, text, start), *pair, np.array(asked))
    assert found == set()


def test_what_lies_without_the_hours_has_no_part_in_the_answer() -> None:
    levels = np.random.default_rng(1).integers(-1, 99, (50, 96)).astype(np.int16)
    asked = [is_of("weekday 07:00-09:00", "UTC", slot * QUARTER) for slot in range(96)]
    others = np.where(asked, levels, 7)
    for name in ("avg", "min", "max", "p95", "max(30m)"):
        about = of_hours(name, "weekday 07:00-09:00", 0)
        assert (ask(about, levels) == ask(about, others)).all()


def mean_half_even(contents: Contents) -> Answers:
    present = np.maximum(contents.present, 1)
    mean: Answers = np.rint(contents.total / present).astype(np.int64)
    return mean[:, np.newaxis]


def percentile_of_floats(percent: float) -> Query:
    def answer(contents: Contents) -> Answers:
        ranks = [math.floor(percent / 100 * int(m) + 1) - 1 for m in contents.present]
        return contents.ranked(np.array(ranks))

    return Query(f"p{percent:g}", answer)


def interpolated(contents: Contents) -> Answers:
    middle: Answers = np.rint(np.median(contents.levels, axis=1)).astype(np.int64)
    return middle[:, np.newaxis]


def blind_to_absence(contents: Contents) -> Answers:
    slots = contents.levels.shape[1]
    mean: Answers = (2 * contents.total + slots) // (2 * slots)
    return mean[:, np.newaxis]


def inverted(contents: Contents) -> Answers:
    largest: Answers = contents.levels.max(axis=1).astype(np.int64)
    return -largest[:, np.newaxis]


def window(*levels: int) -> Levels:
    return np.array([levels], dtype=np.int16)


HUNDRED = window(*range(100))


@pytest.mark.parametrize(
    ("planted", "levels", "law"),
    [
        (Query("half-even", mean_half_even), window(0, 1), "shift-equivariant"),
        (percentile_of_floats(29), HUNDRED, "rank"),
        (Query("interpolated", interpolated), window(0, 1), "shift-equivariant"),
        (Query("blind", blind_to_absence), window(7, -1), "absence"),
        (Query("inverted", inverted), window(3, 5), "monotone"),
        (Query("off", lambda w: NAMED["avg"].answer(w) + 1), window(0, 0), "zero"),
    ],
    ids=lambda value: value.name if isinstance(value, Query) else "",
)
def test_a_query_that_breaks_a_law_cannot_be_registered_unnoticed(
    planted: Query, levels: Levels, law: str
) -> None:
    registered = {**NAMED, planted.name: planted}
    broken = unlawful(registered.values(), (levels, np.maximum(levels - 1, -1), 1))
    assert broken.keys() == {planted.name}
    assert law in broken[planted.name]


def test_one_float_rank_moves_the_percentile_by_a_whole_reading() -> None:
    assert broken_laws(percentile_of_floats(29), HUNDRED, HUNDRED, 1) == {"rank"}
    assert broken_laws(query("p29"), HUNDRED, HUNDRED, 1) == set()


def test_a_slot_by_slot_query_that_looks_elsewhere_is_unlawful() -> None:
    sorting = replace(NAMED["reading"], answer=lambda w: np.maximum(w.ordered, 0).astype(np.int64))
    assert "absence" in broken_laws(sorting, window(3, -1), window(3, -1), 1)
