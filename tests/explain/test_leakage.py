"""What is said to leak is what leaks: closed forms against sums, bounds against homes."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent import Domain, TruncatedGeometric
from meteragent.errors import InvalidSetting
from meteragent.explain.leakage import Load, bits, odds
from meteragent.privacy.exact import NANO
from meteragent.privacy.fill import carried
from meteragent.privacy.mechanism import matrix
from meteragent.privacy.query import NAMED, Query, answer, query
from meteragent.privacy.windows import Windows

if TYPE_CHECKING:
    from numpy.typing import NDArray

QUERIES = [*NAMED.values(), query("p29"), query("p95")]
HALF = "0.693147180"  # ln 2, so that alpha is a half


def levels_of(count: int, epsilon: str) -> TruncatedGeometric:
    return TruncatedGeometric(Domain(0, count - 1, 1), epsilon)


@pytest.mark.parametrize(
    ("levels", "times", "plus"),
    [(2, 1.33, 0.33), (3, 1.67, 0.5), (4, 2, 0.67), (5, 2.33, 0.75), (6, 2.67, 0.83)],
)
def test_capacities_at_alpha_one_half_are_the_published_ones(
    levels: int, times: float, plus: float
) -> None:
    mechanism = levels_of(levels, HALF)
    assert round(mechanism.multiplicative_capacity, 2) == times
    assert round(mechanism.additive_capacity, 2) == plus


@pytest.mark.parametrize("levels", [2, 3, 4, 5, 8, 21])
@pytest.mark.parametrize("epsilon", ["0.001", "0.1", HALF, "3"])
def test_capacities_are_sums_of_the_matrix(levels: int, epsilon: str) -> None:
    mechanism = levels_of(levels, epsilon)
    columns = list(zip(*matrix(levels - 1, Fraction(mechanism.alpha)), strict=True))
    most, least = (float(sum(map(extreme, columns))) for extreme in (max, min))
    assert mechanism.multiplicative_capacity == pytest.approx(most, rel=1e-12)
    assert mechanism.additive_capacity == pytest.approx(1 - least, rel=1e-12)
    assert bits(mechanism) == pytest.approx(math.log2(most), rel=1e-9)


@given(
    levels=st.integers(2, 7),
    epsilon=st.sampled_from(["0.05", "0.4", "2"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_no_adversary_gains_more_than_the_capacities(levels: int, epsilon: str, seed: int) -> None:
    """Drawn priors and gains of guesses; the best guess before a release and after it."""
    mechanism, rng = levels_of(levels, epsilon), np.random.default_rng(seed)
    prior, gain = rng.dirichlet(np.full(levels, 0.5)), rng.random((rng.integers(1, 9), levels))
    gain **= rng.choice([1, 20])
    before = (gain @ prior).max()
    after = (gain @ (prior[:, np.newaxis] * mechanism.matrix())).max(axis=0).sum()
    assert after <= before * mechanism.multiplicative_capacity * (1 + 1e-12)
    assert after <= before + mechanism.additive_capacity + 1e-12


def test_guessing_a_level_at_random_gains_the_whole_multiplicative_capacity() -> None:
    mechanism = levels_of(9, "0.4")
    after = (mechanism.matrix() / 9).max(axis=0).sum()
    assert after * 9 == pytest.approx(mechanism.multiplicative_capacity, rel=1e-12)


def test_odds_multiply_over_watts_and_releases() -> None:
    nano = 10_000_000
    assert odds(nano, 0) == 1
    assert odds(nano, 100) == pytest.approx(math.e)
    assert odds(2 * nano, 100) == odds(nano, 200) == pytest.approx(math.e**2)


def test_odds_beyond_all_floats_are_infinite() -> None:
    assert odds(NANO, 709.78) < math.inf
    assert odds(NANO, 709.79) == math.inf
    assert odds(NANO, 1e300) == math.inf


@pytest.mark.parametrize("field", ["watts", "seconds"])
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_a_load_that_is_none_is_refused(field: str, value: float) -> None:
    with pytest.raises(InvalidSetting) as refused:
        Load(**{"watts": 1, "seconds": 1, field: value})
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("field", "size", "hop", "interval"),
    [
        ("interval", 40, 20, 0),
        ("interval", 40, 20, -10),
        ("size", 0, 20, 10),
        ("interval", 25, 20, 10),
        ("hop", 40, 0, 10),
        ("hop", 40, 15, 10),
    ],
)
def test_crooked_windows_are_refused(field: str, size: int, hop: int, interval: int) -> None:
    with pytest.raises(InvalidSetting) as refused:
        Windows(size, hop, interval)
    assert refused.value.field == field


class Frame(NamedTuple):
    """What a load is seen in."""

    domain: Domain
    windows: Windows


@st.composite
def frames(draw: st.DrawFn) -> Frame:
    step = draw(st.sampled_from([1, 3, 10]))
    interval = draw(st.sampled_from([1000, 10_000]))
    slots = draw(st.integers(1, 8))
    hop = draw(st.integers(1, slots))
    maximum = step * draw(st.sampled_from([1, 7, 40]))
    domain = Domain(0, maximum, step, Decimal(step) / draw(st.sampled_from([1, 1, 4, 10])))
    return Frame(domain, Windows(slots * interval, hop * interval, interval))


SLOTS = 40


def homes(rng: np.random.Generator, domain: Domain) -> NDArray[np.float64]:
    """Noisy, flat, or leaping between extremes as percentiles like it least."""
    top = float(domain.maximum)
    return np.array(
        rng.choice(
            [
                rng.random(SLOTS) * top,
                np.full(SLOTS, rng.random() * top),
                rng.choice([0, top], SLOTS),
                rng.choice([0, 0.5 * float(domain.step), top], SLOTS),
            ]
        )
    )


def drawn(load: Load, begin: float, frame: Frame, *, mean: bool) -> NDArray[np.float64]:
    """What the load adds to each reading when it starts `begin` seconds in."""
    interval = frame.windows.interval / 1000
    start = np.arange(SLOTS) * interval
    if mean:
        end = np.minimum(start + interval, begin + load.seconds)
        share = np.clip(end - np.maximum(start, begin), 0, None) / interval
    else:
        share = ((begin <= start) & (start <= begin + load.seconds)).astype(np.float64)
    return np.asarray(load.watts * share, dtype=np.float64)


def released(
    asked: Query, frame: Frame, watts: NDArray[np.float64], most: int = 0
) -> NDArray[np.int64]:
    levels = frame.domain.levels(watts)
    slots, hop = frame.windows.slots, frame.windows.hop_slots
    windows = [levels[at : at + slots] for at in range(0, SLOTS - slots + 1, hop)]
    return answer((asked,), carried(np.array(windows), most))


@given(
    asked=st.sampled_from(QUERIES),
    frame=frames(),
    tenths=st.integers(1, 80),
    seconds=st.one_of(st.integers(1, 90), st.floats(0.1, 90)),
    begin=st.floats(0, 60),
    mean=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_no_home_moves_more_than_a_load_is_said_to(
    asked: Query,
    frame: Frame,
    tenths: int,
    seconds: float,
    begin: float,
    mean: bool,  # noqa: FBT001
    seed: int,
) -> None:
    load = Load(tenths * float(frame.domain.step) / 10, seconds)
    without = homes(np.random.default_rng(seed), frame.domain)
    with_it = without + drawn(load, begin, frame, mean=mean)
    moved = np.abs(released(asked, frame, with_it) - released(asked, frame, without)).sum()
    level = float(frame.domain.resolution)
    assert moved * level <= load.exponent((asked,), NANO, *frame, frame.windows.slots) + 1e-9


@given(
    asked=st.sampled_from(QUERIES),
    frame=frames(),
    needed=st.integers(1, 8),
    watts=st.integers(1, 80),
    seconds=st.integers(1, 90),
    begin=st.integers(0, 60),
    most=st.sampled_from([0, 0, 1, 3]),
    seed=st.integers(0, 2**32 - 1),
)
def test_no_home_whose_readings_are_missing_moves_more_either(
    asked: Query,
    frame: Frame,
    needed: int,
    watts: int,
    seconds: int,
    begin: int,
    most: int,
    seed: int,
) -> None:
    """Windows that hold fewer readings than a release needs are left out, as the agent does.

    Perhaps readings are carried on where others are missing.
    """
    load, rng = Load(watts * float(frame.domain.step) / 10, seconds), np.random.default_rng(seed)
    held = min(needed, frame.windows.slots)
    without = homes(rng, frame.domain)
    with_it = without + drawn(load, begin, frame, mean=False)
    gaps = rng.random(SLOTS) < rng.random()
    without[gaps] = with_it[gaps] = np.nan
    there = np.where(gaps, np.nan, float(frame.domain.maximum))
    present = released(query("reading"), frame, there, most)
    enough = (present > 0).sum(axis=1) >= held
    answers = [released(asked, frame, watts, most) for watts in (without, with_it)]
    moved = np.abs(answers[1] - answers[0])[enough]
    level = float(frame.domain.resolution)
    assert moved.sum() * level <= load.exponent((asked,), NANO, *frame, held, most) + 1e-9


@pytest.mark.parametrize(("held", "levels"), [(90, 44), (72, 54), (19, 201), (1, 400)])
def test_some_home_whose_readings_are_missing_moves_as_much(held: int, levels: int) -> None:
    """A kettle of three minutes, when all readings but `held` are missing, and it is there."""
    moved = 0
    for second_window in range(1, 19):
        watts = np.full(180, np.nan)
        kettle = np.arange(90 - 19 + second_window, 90 + second_window)
        for window in (range(90), range(90, 180)):
            inside = [slot for slot in window if slot in kettle]
            others = [slot for slot in window if slot not in kettle]
            watts[[*inside, *others][:held]] = 0
        with_it = watts.copy()
        with_it[kettle] += 2000
        domain = QUARTER.domain
        answers = [
            answer((query("avg"),), domain.levels(one).reshape(2, 90)) for one in (watts, with_it)
        ]
        moved = max(moved, int(np.abs(answers[1] - answers[0]).sum()))
    said = KETTLE.exponent((query("avg"),), NANO, *QUARTER, held) / 10
    assert moved <= said == levels
    assert said - moved <= 1  # each of the two windows is rounded up


def frame_of(size: int, hop: int, interval: int) -> Frame:
    return Frame(Domain(0, 24_000, 10), Windows(size * 1000, hop * 1000, interval * 1000))


QUARTER = frame_of(900, 900, 10)
KETTLE = Load(2000, 180)


@pytest.mark.parametrize(
    ("name", "frame", "watts"),
    [
        ("avg", QUARTER, 440),  # 19 readings of 90 carry 422 W; two windows round up
        ("avg", frame_of(900, 300, 10), 1300),  # each reading in three windows
        ("median", QUARTER, 4000),  # a window's end and the next one's start
        ("p95", frame_of(900, 300, 10), 8000),
        ("reading", QUARTER, 38_000),
        ("reading", frame_of(900, 600, 10), 76_000),
        ("avg", frame_of(10, 10, 10), 38_000),
    ],
)
def test_a_kettle_moves_each_query_by_what_it_can(name: str, frame: Frame, watts: float) -> None:
    for nano in (NANO, 2_000_000):
        told = KETTLE.exponent((query(name),), nano, *frame, frame.windows.slots)
        assert told == pytest.approx(watts * nano / NANO)


def test_on_a_finer_grid_an_average_is_said_to_move_by_little_more_than_its_energy() -> None:
    """Of a day, a kettle of 2 kW for 3 minutes is 4.17 W of the average, and a level at most."""
    day = Windows(86_400_000, 86_400_000, 60_000)
    told = [
        Load(2000, 180).exponent(
            (query("avg"),), NANO, Domain(0, 24_000, 10, resolution), day, day.slots
        )
        for resolution in (10, 1, "0.1")
    ]
    assert told == pytest.approx([20, 7, 5.6])  # four readings, in either of two windows


HOMES_THAT_SHOW_MOST = {
    "avg": (0, 10),
    "min": (5000, 5000),
    "p29": (5000, 5000),
    "median": (0, 5000),
}


@pytest.mark.parametrize("asked", QUERIES, ids=lambda asked: asked.name)
def test_some_home_does_move_as_much(asked: Query) -> None:
    """The load is on in the last reading of one window and the first of the next."""
    frame, load = frame_of(30, 30, 10), Load(2000, 10)
    others = HOMES_THAT_SHOW_MOST.get(asked.name, (0, 0))
    without = np.zeros(SLOTS)
    without[:6] = [*others, 0, 0, *reversed(others)]
    with_it = without + drawn(load, 20, frame, mean=False)
    moved = np.abs(released(asked, frame, with_it) - released(asked, frame, without)).sum() * 10
    assert moved == load.exponent((asked,), NANO, *frame, frame.windows.slots)


@given(
    levels=st.integers(1, 2400),
    readings=st.integers(1, 700),
    slots=st.sampled_from([1, 6, 90, 360]),
)
def test_an_average_moves_by_the_energy_up_to_rounding(
    levels: int, readings: int, slots: int
) -> None:
    """P * T / size, and one reading and one level per window more at most."""
    frame = frame_of(slots * 10, slots * 10, 10)
    load = Load(levels * 10, readings * 10)
    moved = load.exponent((query("avg"),), NANO, *frame, slots)
    energy, reading = (load.watts * seconds / (slots * 10) for seconds in (load.seconds, 10))
    touched = -(-readings // slots) + 1
    assert energy * (1 - 1e-12) <= moved <= (energy + reading + 10 * touched) * (1 + 1e-12)


def test_a_load_beyond_the_domain_moves_a_reading_from_end_to_end() -> None:
    assert Load(1e9, 1).exponent((query("max"),), NANO, *frame_of(10, 10, 10), 1) == 2 * 24_000
