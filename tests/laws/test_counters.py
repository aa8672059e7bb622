"""Registers become the power of slots: exactly, in order of time, and never what cannot be.

register   1.0   1.2   (gap)  1.9   2.0   0.1   0.2
power          0.2   .      .     0.1    .    0.1      two gaps: over several slots, and back
"""

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from meteragent.formats.quantity import Quantity
from meteragent.privacy.domain import ABSENT, Domain
from meteragent.privacy.ledger_record import behind
from meteragent.privacy.policy import Policy
from meteragent.privacy.question import question
from meteragent.stream.counters import Counters
from meteragent.stream.fold_record import longest
from meteragent.stream.order import Course
from meteragent.stream.pipeline import Assigned, Pipeline
from meteragent.stream.releases import Step, Withheld
from meteragent.stream.strips import Panes
from meteragent.stream.written import shapes
from tests.given import HOUR, KEY, MINUTE, SECOND, Record, policy, readings
from tests.laws.test_carried import FATES, LATE, LONGER, carried_after
from tests.laws.test_panes import MANY, Side, columns_of, cut, kinds, policies, timelines
from tests.laws.test_pipeline import HOME, PEAKS, SUMS, Published, at_once
from tests.twins.counters import differences, level_of, power
from tests.twins.panes import Pane
from tests.twins.panes import Panes as Twin

ALL = (
    Assigned("", "all", replace(HOME, **LATE), counts=True),
    Assigned("", "sums", replace(SUMS, **LATE), counts=True),
    Assigned("q-", "q-", replace(PEAKS, **LATE), counts=True),
    Assigned("p-", "p-", replace(HOME, presence="private"), counts=True, pseudonyms=True),
    Assigned("k-", "k-", replace(SUMS, questions=(question("median", 1, 100),)), counts=True),
)
METERS = ("a", "b", "q-1", "p-1", "p-2", "p-3", "k-1")
SHOWN = st.sampled_from([0, 1, 2, 5, 5, 100, 10**6, -3])
"""By how many milliwatt-hours a register moves on: it may leap, or go back."""


def of_any(panes: list[Pane]) -> set[int]:
    """The rows of panes that hold anything."""
    return {row for row, _, shown in panes if set(shown) != {None}}


@MANY
@given(policies(), st.lists(st.integers(0, 60), max_size=6), st.data())
def test_columns_do_what_one_register_after_the_other_does(
    of_power: Policy, cuts: list[int], data: st.DataObject
) -> None:
    """The readings of all other laws of panes, taken as registers: they go back half the time."""
    rules = replace(of_power, domain=Domain(0, 100, 1))
    twin, raw = Twin(rules), []
    sides = [Side(kind(rules, shown=Counters(rules))) for kind in kinds()]
    clock, offset = -(2**62), 0
    for batch in cut(data.draw(timelines(rules.interval)), cuts):
        columns, after = columns_of(batch, clock)
        milli = np.where(columns.levels == ABSENT, np.nan, columns.levels.astype(np.float64))
        columns = replace(columns, levels=Counters(rules).held(milli / 1000))
        for record, before in zip(batch, columns.before.tolist(), strict=True):
            for time, level in zip(record.times, record.levels, strict=True):
                own, idle = twin.add(record.row, time, level, record.offset, before)
                raw += [*own, *idle]
        course = Course.of_tick(clock, offset)
        course = course.moved(np.array([clock, *columns.before[1:], after]), columns.offsets)
        clock, offset = after, batch[-1].offset + 1
        for side in sides:
            side.take(columns, course, clock)
    expected, without = differences(rules, raw)
    by_row = sorted(expected, key=lambda pane: pane[:2])
    for side in sides:
        assert sorted(side.closed, key=lambda pane: pane[:2]) == by_row
        assert (side.unpaired, side.noted) == (without, of_any(raw))
        assert (side.tally.accepted, side.tally.late) == (twin.accepted, twin.late)


GRIDS = st.sampled_from(
    [
        Domain(0, 24_000, 10),
        Domain(-5000, 24_000, 10),
        Domain(Decimal("0.5"), Decimal("1000.5"), Decimal("0.5"), Decimal("0.1")),
        Domain(Decimal("-1.25"), 5, Decimal("0.125")),
    ]
)
INTERVALS = st.sampled_from([SECOND, 7 * SECOND, 10 * SECOND, 15 * MINUTE, HOUR, 24 * HOUR])


def powers(rules: Policy, registers: Iterable[int | None]) -> list[int]:
    """The levels of slots whose registers, in milliwatt-hours, are these, one after the other."""
    counters = Counters(rules)
    counters.grow(1)
    shown = np.array([np.nan if r is None else r / 1000 for r in registers])
    panes = Panes(np.zeros(1, dtype=int), np.zeros(1, dtype=int), counters.held(shown)[np.newaxis])
    levels: list[int] = counters.powers(panes).panes.levels[0].tolist()
    return levels


@given(GRIDS, INTERVALS, st.lists(st.one_of(st.none(), st.integers(-(10**9), 10**9)), min_size=1))
@example(Domain(0, 24_000, 10), SECOND, [0, 10**15, -(10**15), 2**60, 3])
def test_whatever_registers_say_no_power_leaves_the_domain(
    domain: Domain, interval: int, registers: list[int | None]
) -> None:
    rules = policy(domain=domain, interval=interval, size=interval)
    levels = powers(rules, registers)
    assert all(level == ABSENT or 0 <= level <= domain.top for level in levels)
    if all(register is None or abs(register) < 2**49 for register in registers):
        pairs = pairwise([None, *registers])
        expected = [
            None if one is None or other is None else power(rules, one, other)
            for one, other in pairs
        ]
        assert levels == [ABSENT if level is None else level for level in expected]


@given(GRIDS, INTERVALS, st.lists(st.integers(0, 10**7), min_size=1, max_size=20), st.data())
def test_only_what_is_used_counts_and_not_what_was_before(
    domain: Domain, interval: int, used: list[int], data: st.DataObject
) -> None:
    """A constant beside all registers changes nothing; and each slot's power is its own."""
    rules = policy(domain=domain, interval=interval, size=interval)
    begin = data.draw(st.integers(-(10**11), 10**11))
    registers = np.cumsum([begin, *used]).tolist()
    levels = powers(rules, registers)
    assert levels == powers(rules, [register - begin for register in registers])
    wide = Fraction(domain.maximum) - Fraction(domain.minimum)
    for level, milli in zip(levels[1:], used, strict=True):
        watts = Fraction(milli, 1000) * Fraction(HOUR, interval)
        assert level == (level_of(domain, watts) if watts <= 10 * wide else ABSENT)


@given(GRIDS, INTERVALS, st.data())
def test_neighbouring_uses_are_neighbouring_windows_of_one_pattern(
    domain: Domain, interval: int, data: st.DataObject
) -> None:
    """What claim 1 needs of the grid, where slots are what registers leave between them."""
    rules = policy(domain=domain, interval=interval, size=interval)
    watt = Fraction(interval, 3600)  # in milliwatt-hours
    most = int(Fraction(domain.maximum) * watt)
    used = data.draw(st.lists(st.integers(0, most), min_size=1, max_size=8))
    apart = data.draw(st.integers(0, most))
    other = [
        data.draw(st.integers(max(0, milli - apart), min(most, milli + apart))) for milli in used
    ]
    one, two = (powers(rules, np.cumsum([0, *its]).tolist())[1:] for its in (used, other))
    assert ABSENT not in one + two
    steps = -(-Fraction(apart) / watt // Fraction(domain.step))
    assert max(abs(a - b) for a, b in zip(one, two, strict=True)) <= steps * domain.finer


@given(st.lists(st.integers(0, 10**7), min_size=2, max_size=9), st.data())
def test_one_register_is_in_two_slots_and_in_no_third(used: list[int], data: st.DataObject) -> None:
    rules = policy(domain=Domain(0, 24_000, 10), interval=10 * SECOND, size=10 * SECOND)
    registers = np.cumsum([0, *used]).tolist()
    at = data.draw(st.integers(0, len(used)))
    changed = [*registers]
    changed[at] += data.draw(st.integers(-(10**6), 10**6))
    levels = zip(powers(rules, registers), powers(rules, changed), strict=True)
    assert {nth for nth, (a, b) in enumerate(levels) if a != b} <= {at, at + 1}


@given(st.lists(st.one_of(st.none(), st.integers(0, 10**5)), min_size=2, max_size=12), st.data())
def test_more_registers_take_no_power_away(shown: list[int | None], data: st.DataObject) -> None:
    rules = policy(domain=Domain(0, 24_000, 10), interval=10 * SECOND, size=10 * SECOND)
    fewer = [None if data.draw(st.booleans()) else register for register in shown]
    for level, more in zip(powers(rules, fewer), powers(rules, shown), strict=True):
        assert level in {ABSENT, more}


# Registers in a pipeline.


@st.composite
def logs(draw: st.DrawFn) -> list[Record]:
    """Some meters send all the time, others once in a while; some late, some out of order."""
    time, log, shown = 10**6, [], dict.fromkeys(METERS, 10**6)
    for _ in range(draw(st.integers(1, 40))):
        time += draw(st.sampled_from([0, 1, 5, 10, 10, 10, 30, 100])) * SECOND
        meter = draw(st.sampled_from(METERS))
        behind = draw(st.sampled_from([0, 0, 0, 1, 10, 30, 200, 600])) * SECOND
        watts = []
        for _ in range(draw(st.sampled_from([1, 1, 2, 6]))):
            shown[meter] += draw(SHOWN)
            watts.append(draw(st.sampled_from([shown[meter] / 1000] * 5 + [float("nan")])))
        log.append(Record(meter, time, time - behind, tuple(watts)))
    return log


def pipeline(published: Published, assigned: tuple[Assigned, ...] = ALL) -> Pipeline:
    built = Pipeline(assigned, KEY, max_skew=60 * SECOND, max_meters=9, start=published.position)
    built.restore(published.accounts)
    return built


def straight(log: list[Record]) -> Published:
    published = Published()
    with carried_after(10**6 * HOUR):
        one = pipeline(published)
        for at, record in enumerate(log):
            published.commit(one, one.feed(readings([record], at)))
    return published


@settings(max_examples=max(25, settings().max_examples // 3))
@given(
    logs(),
    st.lists(st.tuples(st.integers(1, 12), FATES), max_size=8),
    LONGER,
    st.sampled_from([1, 3, 2**14]),
)
def test_a_restart_loses_no_difference_and_makes_none_up(
    log: list[Record], fates: list[tuple[int, str]], longer: int, much: int
) -> None:
    expected, published = straight(log), Published()
    with carried_after(longer), at_once(much):
        waiting: list[Step] = []
        one, at = pipeline(published), 0
        for length, fate in [*fates, (len(log), "commit and crash")]:
            upto = min(at + length, len(log))
            if upto > at:
                waiting += one.feed(readings(log[at:upto], at))
            at = upto
            if "commit" in fate:
                published.commit(one, waiting)
                waiting = []
            if "crash" in fate:
                one, waiting, at = pipeline(published), [], published.position.offset
        assert published.releases == expected.releases
        same = pipeline(expected)
        for built, begin in ((one, at), (same, expected.position.offset)):
            list(built.feed(readings(log[begin:], begin)))
        last = Published(), Published()
        over = log[-1].written + 1000 * SECOND
        last[0].commit(one, one.tick(over))
        last[1].commit(same, same.tick(over))
    assert last[0].releases == last[1].releases


@given(st.lists(st.integers(0, 2000), min_size=2, max_size=60), st.permutations(range(61)))
def test_registers_are_released_as_the_energy_between_them(
    used: list[int], order: list[int]
) -> None:
    """The same windows, noise and all; in whatever order registers come within the grace."""
    rules = policy(grace=20 * MINUTE)
    energy = Quantity("energy", "mWh", rules.interval)
    registers = np.cumsum([5000, *used]) / 1000
    start = HOUR - rules.interval
    of_registers = [
        Record("a", 2 * HOUR, start + nth * rules.interval, (shown,))
        for nth, shown in enumerate(registers.tolist())
    ]
    watts = energy.watts(np.array(used, dtype=np.float64)).tolist()
    of_power = [Record("a", 2 * HOUR, HOUR, tuple(watts))]
    of_registers = [of_registers[at] for at in order if at < len(of_registers)]
    found = []
    for log, counts in ((of_registers, True), (of_power, False)):
        published = Published()
        one = pipeline(published, (Assigned("", "all", rules, counts=counts),))
        published.commit(one, one.feed(readings(log)))
        published.commit(one, one.tick(10 * HOUR))
        found.append([(meter, end, text) for meter, end, text in published.releases])
    assert found[0] == found[1]
    assert found[0]


def test_a_register_is_noted_also_where_nothing_follows_from_it_yet() -> None:
    """
    |--x----|y------|       x alone makes no power, and its window is none; y's is x's neighbour
    """
    rules = policy(size=20 * SECOND, interval=20 * SECOND)
    assigned = (Assigned("", "all", rules, counts=True),)
    published = Published()
    one = pipeline(published, assigned)
    log = [Record("a", t * SECOND, t * SECOND, (w,)) for t, w in ((1000, 1.0), (1020, 2.0))]
    published.commit(one, one.feed(readings(log[:1])))
    published.commit(one, one.tick(1020 * SECOND))
    assert not published.releases
    assert published.position.offset == 1
    one = pipeline(published, assigned)
    published.commit(one, one.feed(readings(log[1:], 1)))
    published.commit(one, one.tick(1040 * SECOND))
    assert [end for _, end, _ in published.releases] == [1040 * SECOND]
    assert one.counted().tally.unpaired == 0


def test_the_last_register_outlives_other_settings_but_no_other_interval() -> None:
    rules = policy(size=20 * SECOND, interval=20 * SECOND)
    published = Published()
    one = pipeline(published, (Assigned("", "all", rules, counts=True),))
    published.commit(one, one.feed(readings([Record("a", 10**6, 10**6, (1.0,))])))
    published.commit(one, one.tick(1020 * SECOND))
    dearer = replace(rules, questions=(question("avg", 2, 100),))
    shorter = replace(rules, interval=10 * SECOND)
    log = [Record("a", 1020 * SECOND, 1020 * SECOND, (2.0,))]
    for after, count in ((rules, 1), (dearer, 1), (shorter, 0)):
        one = pipeline(published, (Assigned("", "all", after, counts=True),))
        steps = [*one.feed(readings(log, 1)), *one.tick(1040 * SECOND)]
        assert sum(len(step.releases.meters) for step in steps) == count


def test_what_was_kept_of_power_is_not_taken_for_registers() -> None:
    """Nor the other way round: what was open is withheld as lost."""
    day = policy(size=24 * HOUR, interval=HOUR, idle=36 * HOUR, grace=0)
    log = [
        Record(who, at * HOUR, at * HOUR, (1.0,)) for who, at in (("a", 24), ("b", 26), ("b", 28))
    ]
    for before, after in ((False, True), (True, False)):
        published = Published()
        one = pipeline(published, (Assigned("", "all", day, counts=before),))
        for at, record in enumerate(log):
            published.commit(one, one.feed(readings([record], at)))
        assert published.position.offset == 2
        other = pipeline(published, (Assigned("", "all", day, counts=after),))
        again = [Record("a", 28 * HOUR, at * HOUR, (2.0,)) for at in (27, 28)]
        steps = [*other.feed(readings([log[-1], *again], 2)), *other.tick(100 * HOUR)]
        whys = [
            why
            for s in steps
            for who, why in zip(s.releases.meters, s.releases.withheld, strict=True)
            if who == "a"
        ]
        assert whys == [Withheld.LOST]


def test_no_record_is_longer_than_is_expected() -> None:
    its = ALL[:2]
    every = [(one.share, shape) for one in its for shape in shapes(one)]
    longest_tail = longest([shape for share, shape in every if shape.mark != share.mark_of_lost])
    published = Published()
    sent = (("a", 999), ("b", 1020), ("b", 1500))
    log = [Record(meter, at * SECOND, at * SECOND, (1.0,)) for meter, at in sent]
    lengths = []
    with carried_after(0):
        one = pipeline(published, its)
        for at, record in enumerate(log):
            published.commit(one, one.feed(readings([record], at)))
            lengths += [len(tail) for tail in behind([*published.accounts.values()])]
    assert max(lengths) == longest_tail


def test_a_meter_takes_its_last_register_and_when_that_was() -> None:
    one = policy(interval=HOUR, size=HOUR)
    assert Counters(one).bytes_per_row == 16
