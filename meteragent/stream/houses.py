"""Where the open panes of cohorts are: in stores of their own, or in those of a house they share.

What a batch costs does not grow with the number of policies then, but with what closes of each.
Cohorts share a house if their policies cut and keep panes alike, whatever is asked of these. Each
has rows of its own there, as its meters moved in. Where presence is private none is shared: by
name and by policy these meters' panes are closed, whoever was heard.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from meteragent.privacy.arrays import Integers, lengthen, parted, roomy, run_starts
from meteragent.stream.closed import Closed, nobody
from meteragent.stream.cohort import Cohort
from meteragent.stream.housing import Closing, Housing
from meteragent.stream.lodging import Lodging
from meteragent.stream.readings import Readings
from meteragent.stream.records import Records
from meteragent.stream.strips import Panes


class House:
    """Cohorts, and the stores that they share."""

    def __init__(self, cohorts: Sequence[Housing[Any]]) -> None:
        """Precondition: no meter has moved in, and several cohorts are of one shape."""
        self.cohorts = cohorts
        occupancy = Occupancy()
        self.quarters = [
            Quarters([(cohort, cohort.branches[nth]) for cohort in cohorts], occupancy)
            for nth, _ in enumerate(cohorts[0].branches)
        ]
        if len(cohorts) > 1:
            stores = [quarters.store for quarters in self.quarters]
            for cohort in cohorts:
                assert isinstance(cohort, Cohort)  # noqa: S101 - others have no shape
                cohort.lodge(Tenancy(occupancy), stores)


class Occupancy:
    """Whose the rows of a house are."""

    def __init__(self) -> None:
        self.tenancies: list[Tenancy] = []
        self.rows = 0
        self.cohort_of = np.empty(0, dtype=np.int64)
        """cohort_of[row]: which of the cohorts ..."""
        self.row_of = np.empty(0, dtype=np.int64)
        """... and which row of it."""

    def enter(self, number: int, rows: Integers) -> int:
        """Let these rows of a cohort have rows here; answer with the first."""
        first = self.rows
        self.rows += len(rows)
        if self.rows > len(self.row_of):
            room = roomy(len(self.row_of), self.rows)
            lengthen(self, "cohort_of", room, 0)
            lengthen(self, "row_of", room, 0)
        self.cohort_of[first : self.rows] = number
        self.row_of[first : self.rows] = rows
        return first

    def parted(self, rows: Integers) -> Iterator[tuple[int, Integers]]:
        """Which of these rows are each cohort's, in their order; cohorts ascend."""
        whose = self.cohort_of[rows]
        order = np.argsort(whose, kind="stable")
        first = run_starts(whose[order])
        parts = np.split(order, first[1:])
        yield from zip(whose[order[first]].tolist(), parts, strict=True)


class Tenancy(Lodging):
    """The rows of a cohort in a house that it shares."""

    def __init__(self, occupancy: Occupancy) -> None:
        super().__init__()
        self._occupancy = occupancy
        self._number = len(occupancy.tenancies)
        occupancy.tenancies.append(self)
        self._there = np.empty(0, dtype=np.int64)

    def take(self, count: int) -> int:
        """Let so many more move in; answer with the first row that they have there."""
        had = super().take(count)
        rows = np.arange(had, had + count)
        first = self._occupancy.enter(self._number, rows)
        if had + count > len(self._there):
            lengthen(self, "_there", roomy(len(self._there), had + count), 0)
        self._there[rows] = first + rows - had
        return first

    def of(self, rows: Integers) -> Integers:
        """Where they are there."""
        there: Integers = self._there[rows]
        return there

    @property
    def everyone(self) -> Integers:
        """Where all of them are."""
        return self._there[: self.rows]


class Quarters:
    """A store of a house, and for whom it is: a policy of each of its cohorts."""

    def __init__(
        self, tenants: Sequence[tuple[Housing[Any], Closing]], occupancy: Occupancy
    ) -> None:
        _, first = tenants[0]
        self.store = first.store
        self._tenants = tenants
        self._occupancy = occupancy

    def of_rows(self, rows: Integers) -> Iterator[tuple[Housing[Any], Closing, Integers]]:
        """Whose these rows are, and which they are there."""
        if len(self._tenants) == 1:
            yield *self._tenants[0], rows
        elif len(rows):
            its = self._occupancy.row_of[rows]
            for number, some in self._occupancy.parted(rows):
                yield *self._tenants[number], its[some]

    def parted(self, closed: Closed) -> Iterator[tuple[Housing[Any], Closing, Closed]]:
        """Whose it is that has closed."""
        if len(self._tenants) == 1:
            yield *self._tenants[0], closed
        elif len(closed.rows):
            yield from self._parted(closed)

    def _parted(self, closed: Closed) -> Iterator[tuple[Housing[Any], Closing, Closed]]:
        panes, occupancy = closed.panes, self._occupancy
        rows, rows_of_panes = occupancy.row_of[closed.rows], occupancy.row_of[panes.rows]
        of_panes = dict(occupancy.parted(panes.rows)) if len(panes.rows) else {}
        for number, some in occupancy.parted(closed.rows):
            its = of_panes.get(number, nobody())
            mine = Panes(rows_of_panes[its], panes.panes[its], panes.levels[its])
            part = replace(
                closed,
                panes=mine,
                rows=rows[some],
                begin=closed.begin[some],
                reached=closed.reached[some],
                timing=replace(closed.timing, there=occupancy.tenancies[number].of),
            )
            yield *self._tenants[number], part


ItsRecords = tuple[Quarters, Records]
"""The records of meters whose panes a store holds."""


def by_store(
    houses: Sequence[House], readings: Readings, homes: Integers, before: Integers
) -> Iterator[ItsRecords]:
    """The records of each house, for each of its stores. Precondition: all were admitted.

    `homes` are rows times houses, and the number of the house; `before` is the clock before each.
    """
    rows, house_of = np.divmod(homes, len(houses)) if len(houses) > 1 else (homes, homes[:0])
    known = rows, readings.offsets, before, readings.starts, readings.intervals
    for number, its, counts, watts in parted(house_of, known, readings.counts, readings.watts):
        row, offset, clock, start, every = its
        firsts = np.cumsum(counts) - counts
        for quarters in houses[number].quarters:
            held = quarters.store.shown.held(watts)
            records = Records(row, offset, clock, start, every, counts, firsts, held, row)
            yield quarters, records.telling()


def houses(cohorts: Sequence[Housing[Any]]) -> list[House]:
    """Cohorts in houses, as few as there may be."""
    by_shape: dict[object, list[Housing[Any]]] = {}
    for number, cohort in enumerate(cohorts):
        shape = cohort.shape if isinstance(cohort, Cohort) else None
        by_shape.setdefault(shape or number, []).append(cohort)
    return [House(its) for its in by_shape.values()]
