"""The columnar windows do what one reading after the other does, whatever the batches."""

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from meteragent.domain import ABSENT, Domain
from meteragent.policy import Policy, question
from meteragent.ring import Arrivals
from meteragent.window import Store, Tally
from tests.twins.windows import Windows

SECOND = 1000


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    interval = draw(st.sampled_from([1, 2, 10])) * SECOND
    hop_slots = draw(st.integers(1, 4))
    slots = draw(st.integers(hop_slots, 9))
    return Policy(
        domain=Domain(0, 100, 1),
        questions=(question("avg", 1, 10),),
        size=slots * interval,
        interval=interval,
        hop=hop_slots * interval,
        grace=draw(st.integers(0, 25)) * SECOND,
        idle=draw(st.integers(0, 40)) * SECOND,
        budget=10**12,
        horizon=10**9,
        presence=draw(st.sampled_from(["public", "private"])),
    )


@dataclass(frozen=True)
class Reading:
    row: int
    time: int
    level: int | None
    record: int


@st.composite
def timelines(draw: st.DrawFn) -> list[Reading]:
    """Readings of a few meters: steady, jittered, late, repeated, silent, leaping ahead."""
    count = draw(st.integers(1, 60))
    readings: list[Reading] = []
    time = 10**6
    record = draw(st.integers(0, 5))
    for _ in range(count):
        time += draw(st.sampled_from([0, 0, 1, 1, 2, 3, 10, 60, 700])) * SECOND
        jitter = draw(st.sampled_from([0, 0, 0, -1, -3, -20, -50, 5])) * SECOND
        level = draw(st.one_of(st.integers(0, 100), st.integers(0, 100), st.none()))
        row = draw(st.integers(0, 3))
        readings.append(Reading(row, time + jitter + draw(st.integers(0, 999)), level, record))
        record += draw(st.integers(0, 2))
    return readings


def arrivals(readings: list[Reading], clock: int) -> Arrivals:
    times = np.array([r.time for r in readings], dtype=np.int64)
    running = np.maximum.accumulate(np.maximum(times, clock))
    before, last, seen = [], -1, clock
    for reading, now in zip(readings, running.tolist(), strict=True):
        if reading.record != last:
            start, last = seen, reading.record
        before.append(start)
        seen = now
    return Arrivals(
        rows=np.array([r.row for r in readings], dtype=np.int64),
        times=times,
        levels=np.array([ABSENT if r.level is None else r.level for r in readings], np.int8),
        offsets=np.array([r.record for r in readings], dtype=np.int64),
        before=np.array(before, dtype=np.int64),
        clock=running,
    )


def batches(readings: list[Reading], cuts: list[int]) -> list[list[Reading]]:
    """Cut between records only: a record is never split over batches."""
    edges = [0, *sorted(cuts), len(readings)]
    whole: list[list[Reading]] = []
    for low, high in pairwise(edges):
        part = readings[low:high]
        if whole and part and whole[-1] and whole[-1][-1].record == part[0].record:
            whole[-1] += part
        elif part:
            whole.append(part)
    return whole


@given(policies(), timelines(), st.lists(st.integers(0, 60), max_size=6), st.data())
def test_columns_do_what_one_reading_after_the_other_does(
    policy: Policy, readings: list[Reading], cuts: list[int], data: st.DataObject
) -> None:
    twin, store, tally = Windows(policy), Store(policy), Tally()
    clock = -(2**62)
    expected: dict[int, list[object]] = defaultdict(list)
    closed: dict[int, list[object]] = defaultdict(list)
    for batch in batches(readings, cuts):
        columns = arrivals(batch, clock)
        for reading, before in zip(batch, columns.before.tolist(), strict=True):
            args = (reading.row, reading.time, reading.level, reading.record, before)
            for row, window, levels in twin.add(*args):
                expected[row].append((window, levels))
        store.grow(4)
        chunks = list(store.add(columns, tally))
        clock = int(columns.clock[-1])
        if data.draw(st.integers(0, 3)) == 0:
            clock += data.draw(st.integers(0, 200)) * SECOND
            for row, window, levels in twin.advance(clock):
                expected[row].append((window, levels))
        chunks += store.advance(clock)
        for chunk in chunks:
            for row, window, found in zip(
                chunk.rows.tolist(), chunk.windows.tolist(), chunk.levels.tolist(), strict=True
            ):
                seen = tuple(None if level == ABSENT else level for level in found)
                closed[row].append((window, seen))
        assert closed == expected
        assert (tally.accepted, tally.late, tally.duplicate) == (
            twin.accepted,
            twin.late,
            twin.duplicate,
        )
        assert store.ring.oldest() == twin.oldest()
