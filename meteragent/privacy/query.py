"""Windows -> levels: the questions a policy may ask of a window.

Every query obeys three laws on integer tuples, and the whole guarantee rests on them
(`mechanism.md`, claim 1): it is monotone, shift-equivariant, and maps all zeros to zero. Only of
the layers of groups something else holds (claim 15).
A query is added by registering it here; the suite draws windows for every registered one.
All arithmetic is on integers: floats would break the laws at ties.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from meteragent.errors import InvalidSetting
from meteragent.privacy.domain import ABSENT, Levels
from meteragent.privacy.registers import Register, register
from meteragent.privacy.units import duration, format_duration, format_watts, watts

Answers = NDArray[np.int64]
"""answers[window, output]"""
HUNDRED = Fraction(100)


@dataclass(frozen=True, slots=True)
class Sums:
    """What is kept of windows whose slots are not: enough for some queries."""

    present: NDArray[np.int64]
    """How many slots of each window hold a reading."""
    total: NDArray[np.int64]
    """The sum of their levels."""
    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]
    """Of a window that holds nothing, both are of no meaning."""

    def where(self, windows: NDArray[np.int64] | NDArray[np.bool_]) -> "Sums":
        """Those of some windows."""
        columns = (self.present, self.total, self.lowest, self.highest)
        return Sums(*(column[windows] for column in columns))


class About(NamedTuple):
    """What of a window a query asks for: its readings, unless something else is said."""

    part: int = 0
    """The averages of its parts of this length, in milliseconds."""
    register: Register | None = None
    """What lies in these hours alone."""
    width: Decimal = Decimal(0)
    """The layers of homes, of so many watts each, added up over a group: see `layers`."""


READINGS = About()


class Contents:
    """`levels[window, slot]` and what several queries need of it, each computed once."""

    def __init__(self, levels: Levels, rest: int = 0) -> None:
        """`rest` is the level of what is absent, where something has to be said of it."""
        self.levels = levels
        self.rest = rest

    @cached_property
    def present(self) -> NDArray[np.int64]:
        """How many slots of each window hold a reading."""
        present: NDArray[np.int64] = np.count_nonzero(self.levels != ABSENT, axis=1)
        return present

    @cached_property
    def total(self) -> NDArray[np.int64]:
        """The sum of each window's levels (an absent slot, held as -1, adds nothing)."""
        absent = self.levels.shape[1] - self.present
        total: NDArray[np.int64] = self.levels.sum(axis=1, dtype=np.int64) + absent
        return total

    @property
    def lowest(self) -> NDArray[np.int64]:
        """The least level of each window."""
        return self.ranked(np.zeros_like(self.present))[:, 0]

    @property
    def highest(self) -> NDArray[np.int64]:
        """The greatest."""
        return self.ranked(self.present - 1)[:, 0]

    @cached_property
    def ordered(self) -> Levels:
        """Each window's levels in ascending order; absent slots, held as -1, come first."""
        return np.sort(self.levels, axis=1)

    def ranked(self, rank: NDArray[np.int64]) -> Answers:
        """The level of 0-based `rank` among each window's present ones, 0 if there is none."""
        slots = self.levels.shape[1]
        column = np.minimum(slots - self.present + rank, slots - 1)
        picked = self.ordered[np.arange(len(column)), column]
        found: Answers = np.maximum(picked, 0).astype(np.int64)[:, np.newaxis]
        return found


def _by_all_of_it(_covered: int, _held: int, levels: int) -> int:
    """Claim 1 alone: no lawful answer moves farther than the reading that moves farthest."""
    return levels


def _by_its_share(covered: int, held: int, levels: int) -> int:
    """A load's share of a window's readings, of its levels, up to a whole one.

    That share is largest where as few readings as may be are there, and the load's among them.
    """
    return -(-levels * min(covered, held) // held)


def _each_of_them(covered: int, _held: int, levels: int) -> int:
    return covered * levels


@dataclass(frozen=True, slots=True)
class Query:
    """A named question; `per_slot` ones answer each slot by itself and cost as often."""

    name: str
    answer: Callable[..., Answers] = field(compare=False)
    """Of `Contents`; or of `Sums`, if it needs no slots."""
    moved: Callable[[int, int, int], int] = field(default=_by_all_of_it, compare=False)
    """moved(covered, held, levels): how far its answers for one window can move, added up.

    Something moves `covered` of the readings, each by up to so many levels; of a window that is
    released `held` readings are there at least.
    """
    per_slot: bool = False
    about: About = READINGS
    needs_slots: bool = True
    """Whether it is not enough to know the number of readings, their sum and their extremes."""
    ranks: tuple[Fraction, Fraction] | None = None
    """Whatever the window, its answer is no less than the percentile of the first of these, and no
    more than that of the second, where 100 is the maximum: so `order` knows what it is ordered
    with."""
    layers: int = 0
    """How many layers it answers, which only a policy of groups can say."""

    def outputs(self, slots: int) -> int:
        """How many levels it answers for a window of `slots` readings."""
        return self.layers or self.draws(slots)

    def draws(self, slots: int) -> int:
        """How many times the loss of one answer they cost together."""
        return slots if self.per_slot else 1


def _average(contents: Contents | Sums) -> Answers:
    """Precondition: none. Postcondition: the mean of the present levels, rounded half up.

    Why half up in integers: half-to-even moves by two when every reading moves by one.
    """
    return rounded(contents.total, contents.present)[:, np.newaxis]


def rounded(totals: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The mean of each sum, half up; of nothing it is 0."""
    counts = np.maximum(counts, 1)
    mean: NDArray[np.int64] = (2 * totals + counts) // (2 * counts)
    return mean


def _percentile(percent: Fraction) -> Callable[[Contents], Answers]:
    """Rank `floor(percent/100 * m + 1)` of the m present readings, in exact integers."""
    share = percent / 100

    def answer(contents: Contents) -> Answers:
        return contents.ranked(contents.present * share.numerator // share.denominator)

    return answer


def _minimum(contents: Contents | Sums) -> Answers:
    return contents.lowest[:, np.newaxis]


def _maximum(contents: Contents | Sums) -> Answers:
    return contents.highest[:, np.newaxis]


def _reading(contents: Contents) -> Answers:
    """Each slot by itself: the product of one mechanism per slot, an absent one at rest."""
    return np.where(contents.levels == ABSENT, contents.rest, contents.levels).astype(np.int64)


NAMED: dict[str, Query] = {
    query.name: query
    for query in (
        Query("avg", _average, _by_its_share, needs_slots=False, ranks=(Fraction(0), HUNDRED)),
        Query("min", _minimum, needs_slots=False, ranks=(Fraction(0), Fraction(0))),
        Query("median", _percentile(Fraction(50)), ranks=(Fraction(50), Fraction(50))),
        Query("max", _maximum, needs_slots=False, ranks=(HUNDRED, HUNDRED)),
        Query("reading", _reading, _each_of_them, per_slot=True),
    )
}
"""The queries with a name of their own; `p<P>` is the percentile of any decimal 0 <= P < 100."""

_OF_PARTS = re.compile(r"(?P<whole>[^()]+)\((?P<part>[^()]+)\)")
_OF_LAYERS = re.compile(r"layers\((?P<width>[^()]+)\)")
_OF_HOURS = re.compile(r"(?P<whole>[^\[\]]+)\[(?P<hours>[^\[\]]*)\]")
_PERCENTILE = re.compile(r"p(0|[1-9]\d?)(\.\d{1,6})?", re.ASCII)


def query(name: str) -> Query:
    """The query that `name` asks for: a key of `NAMED`, or a percentile such as `p99.9`.

    Or one of the averages of parts: `max(15m)` is the greatest of those of quarter hours. Any of
    these may be about some hours alone: `avg[weekday 17:00-20:00]`. Of groups `layers(500W)` too.
    """
    if name in NAMED:
        return NAMED[name]
    if _PERCENTILE.fullmatch(name):
        percent = Fraction(name[1:])
        return Query(name, _percentile(percent), ranks=(percent, percent))
    if found := _OF_LAYERS.fullmatch(name):
        return _of_layers(name, watts("query", found["width"]))
    if found := _OF_PARTS.fullmatch(name):
        return _of_parts(name, query(found["whole"]), duration("query", found["part"]))
    if found := _OF_HOURS.fullmatch(name):
        return _of_hours(name, query(found["whole"]), register(found["hours"]))
    raise InvalidSetting(
        "query",
        f"{name[:20]!r} is not one",
        f"write one of {', '.join(NAMED)}, p<P> with 0 <= P < 100, for example p95, max(15m), or "
        "avg[07:00-23:00]",
    )


def _of_parts(name: str, whole: Query, part: int) -> Query:
    """The same query about the averages of parts."""
    if whole.name in ("avg", "reading") or whole.about != READINGS:
        problem = f"{name[:20]!r} is not one: {whole.name} is of readings"
        raise InvalidSetting("query", problem, "write min, median, max or p<P> of parts")
    said = f"{whole.name}({format_duration(part)})"
    if said != name or not part:
        raise InvalidSetting("query", f"{name[:20]!r} is not one", f"write {said}")
    return replace(whole, name=name, about=About(part), ranks=(Fraction(0), HUNDRED))


def _of_layers(name: str, width: Decimal) -> Query:
    """Layers of homes; they are in no order with other answers."""
    said = f"layers({format_watts(width)})"
    if said != name or width <= 0:
        instead = f"write {said}" if width > 0 else "write for example layers(500W)"
        raise InvalidSetting("query", f"{name[:20]!r} is not one", instead)
    return Query(name, _reading, about=About(width=width))


def _of_hours(name: str, whole: Query, hours: Register) -> Query:
    """The same query about some hours alone. It is in no order with others.

    Why not: hours without a reading are answered as if a home were at rest.
    """
    if whole.per_slot or whole.about.width:
        problem = f"{name[:20]!r} is not one: {whole.name} is of every slot"
        raise InvalidSetting("query", problem, "write avg, min, median, max or p<P> of some hours")
    return replace(whole, name=name, about=whole.about._replace(register=hours), ranks=None)


def answer(
    queries: tuple[Query, ...],
    contents: Levels | Sums | Mapping[About, Levels | Sums],
    rest: int = 0,
) -> Answers:
    """All answers side by side: `answers[window, output]`, in the order of `queries`.

    Contents are the readings of windows, or all that queries are about. Precondition: `rest` is a
    level; no query needs slots that were not kept. Postcondition: of what holds no reading answers
    are as if every slot held `rest`, so all are `rest`, whatever its meter did before. Why here:
    no query needs to know of empty contents.
    """
    parted = contents if isinstance(contents, Mapping) else {READINGS: contents}
    seen = {about: _with_rest(held, rest) for about, held in parted.items()}
    return np.concatenate([q.answer(seen[q.about]) for q in queries], axis=1)


def _with_rest(held: Levels | Sums, rest: int) -> Contents | Sums:
    """Windows that hold nothing hold `rest`."""
    if isinstance(held, Sums):
        empty = held.present == 0
        if not empty.any():
            return held
        columns = (held.total, held.lowest, held.highest)
        return Sums(np.maximum(held.present, 1), *(np.where(empty, rest, c) for c in columns))
    contents = Contents(held, rest)
    empty = contents.present == 0
    if not empty.any():
        return contents
    at_rest = np.asarray(rest, dtype=held.dtype)
    return Contents(np.where(empty[:, np.newaxis], at_rest, held), rest)


def averages(levels: Levels, slots: int) -> Levels:
    """averages[window, part] of parts of so many slots, each rounded like a window's."""
    parts = levels.reshape(-1, slots)
    held = parts != ABSENT
    counts = np.count_nonzero(held, axis=1)
    found = rounded(np.where(held, parts, 0).sum(axis=1, dtype=np.int64), counts)
    found[counts == 0] = ABSENT
    return found.astype(levels.dtype).reshape(len(levels), levels.shape[1] // slots)
