"""The columnar panes do what one reading after the other does, whatever the batches."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from meteragent.privacy import native
from meteragent.privacy.domain import ABSENT, Domain
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import averages
from meteragent.stream.averaged import averaging_store_of
from meteragent.stream.closed import Closed, Tally
from meteragent.stream.fast_panes import FastStore
from meteragent.stream.order import Course
from meteragent.stream.panes import PANES_AT_ONCE, SLOTS_AT_ONCE, STRIDE_SLOTS, Store
from meteragent.stream.pipeline import DAWN
from meteragent.stream.records import Records
from tests.given import SECOND, policy
from tests.twins.panes import Panes

MANY = settings(max_examples=max(25, 2 * settings().max_examples - 200))
"""Timelines: twenty-five in every run, and nearly four thousand in the slow one."""
LEAP = 700 if settings().max_examples > 100 else 160
"""Longer than anything is waited for; each pane of it closes by itself, which takes time."""
FINER = st.sampled_from([None, "0.5"])
"""Answers on the grid of readings; or on a finer one, for which slots hold steps."""
STRIDES = st.sampled_from([1, 50, STRIDE_SLOTS])
"""A pane at a stride, a few, or as many as there are."""
PORTIONS = st.sampled_from([(1, 1), (10_000, 3), (SLOTS_AT_ONCE, PANES_AT_ONCE)])
"""Each meter by itself, a few, or all together: slots and panes at once."""


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    interval = draw(st.sampled_from([1, 2, 10])) * SECOND
    hop_slots = draw(st.integers(1, 4))
    slots = draw(st.integers(hop_slots, 9))
    return policy(
        domain=Domain(0, 100, 1),
        size=slots * interval,
        interval=interval,
        hop=hop_slots * interval,
        grace=draw(st.integers(0, 25)) * SECOND,
        idle=draw(st.integers(0, 40)) * SECOND,
        presence=draw(st.sampled_from(["public", "private"])),
    )


@dataclass(frozen=True)
class Sent:
    """A record: readings of one meter, equally far apart."""

    row: int
    start: int
    spacing: int
    levels: tuple[int | None, ...]
    offset: int

    @property
    def times(self) -> list[int]:
        return [self.start + nth * self.spacing for nth in range(len(self.levels))]


def levels_of(drawn: bytes) -> tuple[int | None, ...]:
    """A byte for each, which is drawn faster; a third hold no value."""
    return tuple(None if byte % 3 == 2 else byte % 101 for byte in drawn)


@st.composite
def timelines(draw: st.DrawFn, interval: int, unit: int = SECOND, begin: int = 10**6) -> list[Sent]:
    """Records of a few meters: steady, jittered, late, repeated, silent, leaping ahead.

    So many of a `unit`; the first is near the `begin`.
    """
    lengths = draw(st.sampled_from([1, 1, 6, 30]))
    records: list[Sent] = []
    time = begin
    offset = draw(st.integers(0, 5))
    for _ in range(draw(st.integers(1, 60))):
        time += draw(st.sampled_from([0, 0, 1, 1, 2, 3, 10, 60, LEAP])) * unit
        jitter = draw(st.sampled_from([0, 0, 0, -1, -3, -20, -50, 5])) * unit
        spacing = draw(st.sampled_from([interval, interval, interval, 700, 7 * interval]))
        levels = draw(st.binary(min_size=1, max_size=lengths))
        start = time + jitter + draw(st.integers(0, 999))
        records.append(Sent(draw(st.integers(0, 3)), start, spacing, levels_of(levels), offset))
        if lengths > 1 and draw(st.booleans()):
            time += len(levels) * spacing
        offset += draw(st.integers(1, 2))
    return records


@st.composite
def rounds(draw: st.DrawFn, interval: int) -> list[Sent]:
    """Records of a meter or two that go forward: a batch closes many panes.

    Some come later than those after them, a few come twice.
    """
    spacing = draw(st.sampled_from([interval, interval, 2 * interval]))
    count = draw(st.integers(1, 5))
    meters = draw(st.integers(1, 3))
    start = 10**6 + draw(st.integers(0, 999))
    times = [start + nth * count * spacing for nth in range(draw(st.integers(20, 60)))]
    for _ in range(draw(st.integers(0, 3))):
        late = draw(st.integers(2, len(times) - 1))
        again = times[late] if draw(st.booleans()) else times.pop(late)
        times.insert(min(len(times), late + draw(st.integers(0, 6))), again)
    behind = draw(st.integers(0, 9)) * interval
    return [
        Sent(row, time - row * behind, spacing, (level,) * count, nth * meters + row)
        for nth, time in enumerate(times)
        for row in range(meters)
        for level in [draw(st.integers(0, 100))]
    ]


def columns_of(batch: list[Sent], clock: int) -> tuple[Records, int]:
    """The records as columns, and the partition's clock after them."""
    after = np.maximum.accumulate([max(record.times[-1], clock) for record in batch])
    numbers = [(r.row, r.offset, r.start, r.spacing, len(r.levels)) for r in batch]
    rows, offsets, starts, intervals, counts = np.array(numbers, dtype=np.int64).T
    levels = [ABSENT if level is None else level for r in batch for level in r.levels]
    records = Records(
        rows=rows,
        offsets=offsets,
        before=np.concatenate([[clock], after[:-1]]),
        starts=starts,
        intervals=intervals,
        counts=counts,
        firsts=np.cumsum(counts) - counts,
        levels=np.array(levels, dtype=np.int8),
        open_to=np.zeros_like(rows),
    )
    return records, int(after[-1])


def cut(records: list[Sent], at: list[int]) -> list[list[Sent]]:
    edges = [0, *sorted(at), len(records)]
    return [records[low:high] for low, high in pairwise(edges) if records[low:high]]


@MANY
@given(policies(), FINER, STRIDES, PORTIONS, st.lists(st.integers(0, 60), max_size=6), st.data())
def test_columns_do_what_one_reading_after_the_other_does(
    policy: Policy,
    resolution: str | None,
    stride: int,
    portion: tuple[int, int],
    cuts: list[int],
    data: st.DataObject,
) -> None:
    policy = replace(policy, domain=Domain(0, 100, 1, resolution))
    with laid_out(stride, portion):
        keep_step(policy, cut(data.draw(timelines(policy.interval)), cuts), data)


@MANY
@given(policies(), STRIDES, PORTIONS, st.sampled_from([0, 100]), st.data())
def test_columns_do_so_where_a_batch_holds_many_panes_of_known_meters(
    policy: Policy, stride: int, portion: tuple[int, int], longer: int, data: st.DataObject
) -> None:
    policy = replace(policy, idle=policy.idle + longer * SECOND)  # if so, none closes another's
    with laid_out(stride, portion):
        keep_step(policy, cut(data.draw(rounds(policy.interval)), [3]), data)


@contextmanager
def laid_out(stride: int, portion: tuple[int, int]) -> Iterator[None]:
    module, (slots, panes) = "meteragent.stream.panes", portion
    with patch.multiple(module, STRIDE_SLOTS=stride, SLOTS_AT_ONCE=slots, PANES_AT_ONCE=panes):
        yield


def come_to(store: Store, clock: int, course: Course) -> Iterator[Closed]:
    """As a partition does it: in stages."""
    stage = DAWN
    while stage < clock:
        stage = store.at_once(clock, stage)
        yield from store.advance(stage, course)


Told = tuple[int, int, tuple[float | None, ...]]
"""Of a pane that has closed: its row, its number, what its slots hold."""


def in_order(chunks: Iterable[Closed], finer: int) -> list[Told]:
    """What has closed, (row, pane, levels), in the order in which it is to be told.

    Of levels that are `finer`, as many are a step.
    """
    found = []
    for chunk in chunks:
        panes = chunk.panes
        moments, dues = chunk.timing.of(panes.rows, panes.panes)
        for moment, due, pane, row, levels in zip(
            *(column.tolist() for column in (moments, dues, panes.panes, panes.rows)),
            panes.levels.tolist(),
            strict=True,
        ):
            held = tuple(None if level == ABSENT else level / finer for level in levels)
            found.append((moment, due, pane, row, held))
    return [(row, pane, levels) for _, _, pane, row, levels in sorted(found)]


@dataclass
class Side:
    """One of our ways, and what it has told so far."""

    store: Store
    tally: Tally = field(default_factory=Tally)
    closed: list[Told] = field(default_factory=list)
    unpaired: int = 0
    noted: set[int] = field(default_factory=set)

    def take(self, records: Records, course: Course, clock: int) -> None:
        self.store.grow(4)
        chunks = [*self.store.add(records, course, self.tally), *come_to(self.store, clock, course)]
        self.note(chunks)

    def note(self, chunks: Iterable[Closed]) -> None:
        chunks = [*chunks]
        self.closed += in_order(chunks, self.store.policy.domain.finer)
        self.unpaired += sum(chunk.unpaired for chunk in chunks)
        self.noted.update(row for chunk in chunks for row in chunk.noted.tolist())


def kinds() -> list[type[Store]]:
    """Every way there is."""
    return [Store, FastStore] if native.fits() else [Store]


def keep_step(policy: Policy, batches: list[list[Sent]], data: st.DataObject) -> None:
    """Give the same batches to all; compare all that can be seen."""
    twin, sides = Panes(policy), [Side(kind(policy)) for kind in kinds()]
    clock, offset = -(2**62), 0
    expected: list[Told] = []
    for batch in batches:
        columns, after = columns_of(batch, clock)
        for record, before in zip(batch, columns.before.tolist(), strict=True):
            by_own, by_clock = [], []
            for time, level in zip(record.times, record.levels, strict=True):
                own, idle = twin.add(record.row, time, level, record.offset, before)
                by_own += own
                by_clock += idle
            expected += [*by_own, *by_clock]
        course = Course.of_tick(clock, offset)
        course = course.moved(np.array([clock, *columns.before[1:], after]), columns.offsets)
        clock, offset = after, batch[-1].offset + 1
        for side in sides:
            side.take(columns, course, clock)
        if data.draw(st.integers(0, 3)) == 0:
            clock += data.draw(st.integers(0, 200)) * SECOND
            expected += twin.advance(clock)
            for side in sides:
                side.note(come_to(side.store, clock, Course.of_tick(clock, offset)))
        for side in sides:
            assert side.closed == expected
            assert (side.tally.accepted, side.tally.late, side.tally.duplicate) == (
                twin.accepted,
                twin.late,
                twin.duplicate,
            )
            assert side.store.open_slots.oldest() == twin.oldest()


@MANY
@given(
    policies(),
    FINER,
    st.lists(st.integers(0, 60), max_size=6),
    st.sampled_from([timelines, rounds]),
    st.data(),
)
def test_what_panes_add_up_to_is_what_their_slots_average_to(
    policy: Policy,
    resolution: str | None,
    cuts: list[int],
    logs: Callable[[int], st.SearchStrategy[list[Sent]]],
    data: st.DataObject,
) -> None:
    """And all else that is told of a store: also where several records stand at one offset."""
    policy = replace(policy, presence="private", domain=Domain(0, 100, 1, resolution))
    slots, sums = Side(Store(policy)), Side(averaging_store_of(policy))
    clock, offset = -(2**62), 0
    for drawn in cut(data.draw(logs(policy.interval)), cuts):
        batch = [
            replace(one, offset=offset + nth // 2, row=3 - one.row) for nth, one in enumerate(drawn)
        ]
        columns, after = columns_of(batch, clock)
        course = Course.of_tick(clock, offset)
        course = course.moved(np.array([clock, *columns.before[1:], after]), columns.offsets)
        clock, offset = after, batch[-1].offset + 1
        expected = [*taken(slots, columns, course, clock)]
        assert sorted(taken(sums, columns, course, clock)) == sorted(expected)
        if data.draw(st.integers(0, 3)) == 0:
            clock += data.draw(st.integers(0, 200)) * SECOND
            course = Course.of_tick(clock, offset)
            assert [side.store.due(clock) for side in (slots, sums)] in ([True] * 2, [False] * 2)
            expected = [*averaged(come_to(slots.store, clock, course))]
            assert sorted(averaged(come_to(sums.store, clock, course))) == sorted(expected)
        assert sums.tally == slots.tally
        assert sums.store.open_slots.oldest() == slots.store.open_slots.oldest()
        open_panes = [side.store.open_slots.open_panes() for side in (slots, sums)]
        assert min(open_panes) > 0 or max(open_panes) == 0
        assert (sums.store.next == slots.store.next).all()


def taken(side: Side, records: Records, course: Course, clock: int) -> Iterator[tuple[int, ...]]:
    """The average of each pane that a batch closes."""
    side.store.grow(4)
    chunks = side.store.add(records, course, side.tally), come_to(side.store, clock, course)
    for some in chunks:
        yield from averaged(some)


def averaged(chunks: Iterable[Closed]) -> Iterator[tuple[int, ...]]:
    """The row, the pane, and the level of the average of each pane that holds anything."""
    for chunk in chunks:
        panes = chunk.panes.without_empty()
        levels = averages(panes.levels, panes.levels.shape[1])[:, 0]
        yield from zip(panes.rows.tolist(), panes.panes.tolist(), levels.tolist(), strict=True)
