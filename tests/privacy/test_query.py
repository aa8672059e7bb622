from __future__ import annotations

from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.errors import InvalidSetting
from meteragent.privacy.domain import ABSENT
from meteragent.privacy.query import NAMED, Query, Sums, answer, query
from tests.laws.lawful import pairs_of_windows, percent_of, percentiles
from tests.twins import queries as twin

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from meteragent.privacy.domain import Levels


def slow(name: str) -> Callable[[Sequence[int]], int]:
    named: dict[str, Callable[[Sequence[int]], int]] = {"avg": twin.average, "max": max}
    percent = percent_of(name)
    return named[name] if percent is None else twin.percentile(percent)


@given(
    pairs_of_windows(),
    st.sampled_from(["avg", "min", "median", "max"]) | percentiles(),
    st.integers(0, 50),
)
def test_answers_are_those_of_the_slow_twin(
    pair: tuple[Levels, Levels, int], name: str, rest: int
) -> None:
    levels = pair[0]
    expected = []
    for window in levels.tolist():
        present = [level for level in window if level != ABSENT]
        expected.append([slow(name)(present) if present else rest])
    assert answer((query(name),), levels, rest).tolist() == expected


def added_up(parts: list[Levels]) -> Sums:
    """What is kept of windows, from parts of them."""
    held = [[level for level in row if level != ABSENT] for part in parts for row in part.tolist()]
    windows = [[*chain(*held[first :: len(parts[0])])] for first in range(len(parts[0]))]
    columns = [(len(w), sum(w), min(w, default=0), max(w, default=0)) for w in windows]
    return Sums(*np.array(columns, dtype=np.int64).reshape(-1, 4).T)


@given(pairs_of_windows(), st.integers(0, 8), st.integers(0, 50))
def test_parts_of_a_window_answer_like_the_whole(
    pair: tuple[Levels, Levels, int], cut: int, rest: int
) -> None:
    levels = pair[0]
    asked = tuple(one for one in NAMED.values() if not one.needs_slots)
    assert {one.name for one in asked} == {"avg", "min", "max"}
    sums = added_up([levels[:, :cut], levels[:, cut:]])
    assert answer(asked, sums, rest).tolist() == answer(asked, levels, rest).tolist()


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("avg", [2, 5, 0, 1]),
        ("min", [0, 5, 0, 0]),
        ("median", [2, 5, 0, 1]),
        ("max", [4, 5, 0, 1]),
        ("p0", [0, 5, 0, 0]),
        ("p25", [1, 5, 0, 0]),
        ("p50", [2, 5, 0, 1]),
        ("p74.999999", [2, 5, 0, 1]),
        ("p75", [4, 5, 0, 1]),
        ("p99.9", [4, 5, 0, 1]),
    ],
)
def test_what_queries_answer(name: str, answers: list[int]) -> None:
    levels = np.array([[2, 4, 0, 1], [-1, 5, -1, -1], [-1] * 4, [1, -1, 0, -1]], dtype=np.int8)
    assert answer((query(name),), levels)[:, 0].tolist() == answers


def test_readings_are_answered_slot_by_slot_and_absent_ones_at_rest() -> None:
    levels = np.array([[3, -1, 0], [-1, -1, 7], [-1, -1, -1]], dtype=np.int16)
    assert answer((query("reading"),), levels).tolist() == [[3, 0, 0], [0, 0, 7], [0, 0, 0]]
    assert answer((query("reading"),), levels, 5).tolist() == [[3, 5, 0], [5, 5, 7], [5, 5, 5]]
    assert levels[2].tolist() == [ABSENT] * 3


def test_answers_stand_side_by_side_in_the_order_of_the_queries() -> None:
    levels = np.array([[1, 2, 6], [0, -1, 5]], dtype=np.int8)
    asked = tuple(map(query, ("max", "reading", "avg", "min")))
    assert sum(q.outputs(3) for q in asked) == 6
    answers = answer(asked, levels)
    assert answers.tolist() == [[6, 1, 2, 6, 3, 1], [5, 0, 0, 5, 3, 0]]
    assert answers.dtype == np.int64


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32])
def test_sums_of_full_windows_do_not_overflow(dtype: type[np.signedinteger]) -> None:
    highest = min(int(np.iinfo(dtype).max), 100_000)
    levels = np.full((1, 8640), highest, dtype=dtype)
    levels[0, ::3] = ABSENT
    assert answer((query("avg"), query("p99.999999")), levels).tolist() == [[highest, highest]]


def test_a_batch_of_no_windows_has_no_answers() -> None:
    levels = np.empty((0, 4), dtype=np.int16)
    assert answer((query("avg"), query("reading")), levels).shape == (0, 5)


def test_only_the_reading_query_answers_each_slot() -> None:
    assert {name: q.outputs(90) for name, q in NAMED.items() if q.outputs(90) != 1} == {
        "reading": 90
    }
    assert query("p12.5").outputs(90) == 1


@pytest.mark.parametrize("name", [*NAMED, "p0", "p9", "p99", "p99.9", "p0.000001"])
def test_a_query_bears_the_name_it_was_asked_for(name: str) -> None:
    assert query(name).name == name


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "p",
            "p100",
            "p100.0",
            "p-1",
            "p05",
            "p1.",
            "p.5",
            "p1.0000001",
            "p1e1",
            "p٣",
            "p5\n",
        ),
        *("P50", "avg ", "mean", "x" * 1000),
    ],
)
def test_a_query_that_is_not_one_is_refused(name: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        query(name)
    assert refused.value.field == "query"
    assert "for example p95" in refused.value.instead
    assert all(known in refused.value.instead for known in NAMED)
    assert len(str(refused.value)) < 200


def test_percentile_ranks_are_exact() -> None:
    """0.29 * 100 is 28.999… in floats: the twin and the product both say rank 30 of 100."""
    levels = np.arange(100, dtype=np.int8)[np.newaxis]
    assert answer((query("p29"),), levels).item() == 29
    assert twin.percentile(Fraction(29))(range(100)) == 29


def test_a_query_of_ones_own_is_asked_like_any_other() -> None:
    spread = Query("second", lambda windows: windows.ranked(np.minimum(windows.present - 1, 1)))
    assert answer((spread,), np.array([[4, 2, 9], [-1, -1, 3]])).tolist() == [[4], [3]]
