"""What makes a query lawful, judged by asking it and by nothing else.

The laws of `mechanism.md`, claim 1, on levels in which some slots are absent; and for a
percentile what the word means: more than P % of the readings are at or below it, and no
more than P % are below it.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from meteragent.privacy.domain import ABSENT
from meteragent.privacy.hours import Hours
from meteragent.privacy.query import Contents, Query, averages, query
from meteragent.privacy.registers import register
from meteragent.privacy.units import format_duration
from meteragent.privacy.zone import UTC

if TYPE_CHECKING:
    from meteragent.privacy.arrays import Mask
    from meteragent.privacy.domain import Levels
    from meteragent.privacy.query import Answers

GRIDS = [(np.int8, 1), (np.int8, 9), (np.int8, 127), (np.int16, 2400), (np.int32, 100_000)]
SLOTS = [1, 2, 3, 4, 5, 7, 12, 90, 100]


@st.composite
def pairs_of_windows(draw: st.DrawFn) -> tuple[Levels, Levels, int]:
    """Two batches of windows with the same absent slots, and a shift that both have room for."""
    dtype, top = draw(st.sampled_from(GRIDS))
    shape = (draw(st.integers(1, 3)), draw(st.sampled_from(SLOTS)))
    shift = draw(st.integers(0, top))
    absent = draw(arrays(bool, shape))
    levels = arrays(dtype, shape, elements=st.integers(0, top - shift))
    a, b = (np.where(absent, ABSENT, draw(levels)).astype(dtype) for _ in range(2))
    return a, b, shift


@st.composite
def percentiles(draw: st.DrawFn) -> str:
    places = draw(st.integers(0, 6))
    percent = draw(st.integers(0, 100 * 10**places - 1))
    whole, part = divmod(percent, 10**places)
    return f"p{whole}.{part:0{places}d}" if places else f"p{whole}"


def of_parts(name: str, slots: int) -> Query:
    """The query of this name about the averages of parts of so many slots, asked of readings."""
    about = query(f"{name}({format_duration(1000 * slots)})")

    def answer(contents: Contents) -> Answers:
        return about.answer(Contents(averages(contents.levels, slots)))

    return Query(about.name, answer)


def of_hours(name: str, text: str, start: int, interval: int = 900_000) -> Query:
    """The query of this name about these hours in UTC, asked of readings since a time."""
    about = query(f"{name}[{text}]")
    part = about.about.part
    hours = Hours(register(text), UTC, part or interval)

    def answer(contents: Contents) -> Answers:
        levels = contents.levels
        if part:
            levels = averages(levels, part // interval)
        return about.answer(Contents(hours.masked(levels, np.full(len(levels), start))))

    return Query(about.name, answer)


def ask(query: Query, levels: Levels) -> Answers:
    return query.answer(Contents(levels))


def broken_laws(
    query: Query, a: Levels, b: Levels, shift: int, asked: Mask | None = None
) -> set[str]:
    """Which laws a query breaks on two batches of windows with the same absent slots.

    It is about the slots that are `asked`, or about all.
    """
    laws = {
        "monotone": _is_monotone(query, a, b),
        "shift-equivariant": _is_shift_equivariant(query, a, shift, asked),
        "zero": not ask(query, np.where(a == ABSENT, a, 0)).any(),
    }
    if not {*"(["} & {*query.name}:  # of parts and hours it matters where a slot is absent
        laws |= {"absence": _minds_only_the_present(query, a), "rank": _is_the_percentile(query, a)}
    return {law for law, holds in laws.items() if not holds}


def _is_monotone(query: Query, a: Levels, b: Levels) -> bool:
    lower, upper = ask(query, np.minimum(a, b)), ask(query, np.maximum(a, b))
    return bool((lower <= upper).all())


def _is_shift_equivariant(
    query: Query, levels: Levels, shift: int, asked: Mask | None = None
) -> bool:
    """All present levels go up by the shift, and so does the answer to those that are asked."""
    present = levels != ABSENT
    shifted = np.where(present, levels + shift, ABSENT).astype(levels.dtype)
    heard = present if asked is None else present & asked
    moves = present if query.per_slot else heard.any(axis=1, keepdims=True)
    return np.array_equal(ask(query, shifted), ask(query, levels) + shift * moves)


def _minds_only_the_present(query: Query, levels: Levels) -> bool:
    """A window answers as its present slots alone do, in each slot or as a whole."""
    answers = ask(query, levels)
    for window, given in zip(levels, answers, strict=True):
        present = window[window != ABSENT]
        if present.size == 0:
            expected = np.zeros_like(given)
        elif query.per_slot:
            expected = np.zeros_like(given)
            expected[window != ABSENT] = ask(query, present[np.newaxis])[0]
        else:
            expected = ask(query, present[np.newaxis])[0]
        if not np.array_equal(given, expected):
            return False
    return True


def percent_of(name: str) -> Fraction | None:
    named = {"min": "0", "median": "50"}.get(name, name.removeprefix("p"))
    return Fraction(named) if re.fullmatch(r"[0-9.]+", named) else None


def _is_the_percentile(query: Query, levels: Levels) -> bool:
    percent = percent_of(query.name)
    if percent is None:
        return True
    for window, (answer,) in zip(levels, ask(query, levels).tolist(), strict=True):
        present = window[window != ABSENT]
        below, through = int((present < answer).sum()), int((present <= answer).sum())
        share = percent / 100 * present.size
        if present.size and not below <= share < through:
            return False
    return True
