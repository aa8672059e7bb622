from __future__ import annotations

import math
from bisect import bisect_right
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from meteragent import Domain, TruncatedGeometric
from meteragent.errors import InvalidSetting
from meteragent.privacy import joint
from meteragent.privacy.entropy import tag
from meteragent.privacy.joint import JointGeometric
from meteragent.privacy.published import policy_of
from meteragent.privacy.question import question
from meteragent.privacy.release import Releaser
from meteragent.privacy.thresholds import BELOW_FIRST
from tests.given import KEY, policy
from tests.twins import joint as twin
from tests.twins import keyed
from tests.twins.isotonic import half_up, nearest
from tests.twins.noise import GivenWords, alpha

GRID = Domain(0, 1000, 10)
WIDE = Domain(0, 24_000, 10)
HALF = Fraction(1, 2)


def built(rate: str, answers: int, domain: Domain = GRID) -> JointGeometric:
    """At so much of a loss for each level."""
    return JointGeometric(domain, Decimal(rate) / domain.step, answers)


def exact_alpha(mechanism: JointGeometric) -> Fraction:
    return alpha(mechanism.nano, Fraction(mechanism.domain.step))


# The sampler.


def planted(mechanism: JointGeometric, windows: int, draw: np.random.Generator) -> GivenWords:
    """Random words, of which some tie: `tied` with thresholds, others with a carry."""
    rows = draw.integers(0, 2**64, (windows, mechanism.answers + 1, 5), dtype=np.uint64)
    thresholds = mechanism.radii.exact
    for window in range(0, windows, 4):
        whole = thresholds[int(draw.integers(len(thresholds)))] + int(draw.integers(-1, 2))
        depth = int(draw.integers(1, 6))
        for nth in range(depth):
            rows[window, 0, nth] = whole >> (BELOW_FIRST - 64 * nth) & (2**64 - 1)
    for window in range(2, windows, 4):
        row = [[int(word) for word in row] for row in rows[window]]
        bound = 2 * bisect_right(thresholds, _whole(row[0])) + 1
        edge = -(-(int(draw.integers(1, bound + 1)) << 320) // bound) + int(draw.integers(-1, 1))
        for nth in range(int(draw.integers(1, 6))):
            rows[window, 1, nth] = min(edge, 2**320 - 1) >> (BELOW_FIRST - 64 * nth) & (2**64 - 1)
    return GivenWords(rows)


def _whole(row: list[int]) -> int:
    return sum(word << 64 * (4 - nth) for nth, word in enumerate(row))


@pytest.mark.parametrize(
    ("rate", "answers", "windows"),
    [("1", 1, 2000), ("0.2", 2, 4000), ("0.1", 3, 4000), ("0.02", 3, 1000), ("0.5", 8, 1000)],
)
def test_noise_is_bit_for_bit_that_of_the_slow_twin(rate: str, answers: int, windows: int) -> None:
    """12,000 windows in all, of which 3,000 or more are decided by what follows a planted tie."""
    mechanism = built(rate, answers)
    words = planted(mechanism, windows, np.random.default_rng([answers, windows]))
    noise = mechanism.noise(words)
    assert words.asked >= windows  # a tie reads four words on
    for row, said in zip(words.rows.tolist(), noise.tolist(), strict=True):
        assert said == twin.drawn(mechanism.radii.exact, row)


@pytest.mark.parametrize(("rate", "answers"), [("2", 1), ("0.3", 2), ("0.05", 3), ("0.04", 8)])
def test_noise_has_its_law_to_the_300th_bit(rate: str, answers: int) -> None:
    """Radii by their thresholds; a uniform integer out of n from 320 bits is off by n / 2**320."""
    mechanism = built(rate, answers)
    thresholds = mechanism.radii.exact
    exact = twin.radii(exact_alpha(mechanism), answers)
    scale = twin.FINE >> 320
    off = before = said_before = 0
    for radius, end in enumerate([*thresholds, 2**320]):
        below = next(exact)
        said = (end - said_before) * scale
        off += abs(said - (below - before)) + (said * answers * (2 * radius + 1) >> 320)
        before, said_before = below, end
    assert list(thresholds) == sorted(thresholds)
    assert off + (twin.FINE - before) < twin.FINE >> 300


def test_a_tie_is_decided_by_the_words_that_follow() -> None:
    mechanism = built("0.1", 2)
    threshold = mechanism.radii.exact[20]
    words = [
        [whole >> 64 * (4 - n) & (2**64 - 1) for n in range(5)]
        for whole in (threshold - 1, threshold)
    ]
    middle = [2**63, 0, 0, 0, 0]
    rows = np.array([[first, middle, middle] for first in words], dtype=np.uint64)
    radius = mechanism.radii.count(rows[:, :1, 0], GivenWords(rows))
    assert radius.tolist() == [[20], [21]]


# What is released.


def test_values_are_clamped_and_unbiased_is_what_was_drawn() -> None:
    mechanism = built("0.1", 3)
    rows = np.random.default_rng(3).integers(0, 2**64, (500, 4, 5), dtype=np.uint64)
    levels = np.tile([0, 50, 100], (500, 1))
    released, unbiased = mechanism.release(levels, GivenWords(rows))
    drawn = levels + mechanism.noise(GivenWords(rows))
    assert drawn.min() < 0
    assert drawn.max() > GRID.top
    np.testing.assert_array_equal(released, np.clip(drawn, 0, GRID.top))
    np.testing.assert_array_equal(unbiased, drawn * 10.0)


@pytest.mark.parametrize("answers", [1, 2, 3])
def test_what_is_drawn_is_right_on_average(answers: int) -> None:
    """Noise and its opposite are equally likely, so that the mean is the truth itself."""
    for noise in product(range(-3, 4), repeat=answers):
        opposite = [-z for z in noise]
        assert twin.chance(HALF, noise) == twin.chance(HALF, opposite)


def test_a_release_is_made_of_the_words_of_its_wire_form() -> None:
    """The first row of words is the radius, and the others are those of the answers in turn."""
    of = policy(**asking("min", "avg", "max"))
    levels = np.array([[3, 90, 40, 41, 0, 7]], dtype=np.int8)
    tags = np.frombuffer(tag("m-17"), dtype=np.uint8)[np.newaxis]
    values, unbiased = Releaser(of, KEY).release(
        tags, np.array([60_000]), np.array([levels.shape[1]]), levels, np.array([3])
    )
    stream = keyed.words(KEY.secret, of.digest, "m-17", 60_000, levels.shape[1], [0, 30, 90])
    mechanism = of.mechanism(of.questions[0])
    assert isinstance(mechanism, JointGeometric)
    noise = twin.drawn(mechanism.radii.exact, keyed.rows_of_words(stream, 4, 5))
    drawn = [truth + z for truth, z in zip((0, 30, 90), noise, strict=True)]
    assert unbiased.tolist() == [[10.0 * level for level in drawn]]
    exact = nearest([min(max(level, 0), 100) for level in drawn], [1] * 3, [(0, 1), (1, 2), (0, 2)])
    assert values.tolist() == [[10.0 * half_up(level) for level in exact]]


# What is said of it.


@pytest.mark.parametrize(
    ("answers", "mean", "error_90"),
    [(1, 1, 1), (2, 0.75, 0.71), (3, 0.667, 0.61), (4, 0.625, 0.56), (8, 0.5625, 0.48)],
)
def test_errors_are_those_of_the_table(answers: int, mean: float, error_90: float) -> None:
    """Beside as many independent draws that cost as much: of each, a share of the loss."""
    one = built("0.02", answers, WIDE)
    alone = TruncatedGeometric(WIDE, Decimal("0.002"))
    off = one.expected_error() / (answers * alone.expected_error())
    assert off == pytest.approx(mean, rel=0.001)
    tail = one.error_quantile(0.9) / (answers * alone.error_quantile(0.9))
    assert tail == pytest.approx(error_90, rel=0.02)
    assert one.expected_error() == pytest.approx(500 * (answers + 1) / 2, rel=0.001)


def test_one_answer_has_the_errors_of_independent_noise() -> None:
    one, alone = built("0.1", 1), TruncatedGeometric(GRID, "0.01")
    for level in (None, 0, 1, 40, GRID.top):
        assert one.expected_error(level) == pytest.approx(alone.expected_error(level))
        for share in (0.0, 0.5, 0.9, 0.999):
            assert one.error_quantile(share, level) == alone.error_quantile(share, level)


@pytest.mark.parametrize("answers", [1, 2, 3])
def test_errors_and_capacities_are_sums_of_the_law(answers: int) -> None:
    """At half the odds per level, on levels 0..3, by all noise that is not next to impossible."""
    domain = Domain(0, 3, 1)
    mechanism = JointGeometric(domain, f"{math.log(2):.9f}", answers)
    reach = 70
    marginal = {
        z: float(twin.within(HALF, [(z, z), *[(None, None)] * (answers - 1)]))
        for z in range(-reach, reach + 1)
    }
    for level in (0, 1, 3):
        off = {z: abs(min(max(level + z, 0), 3) - level) for z in marginal}
        mean = sum(p * off[z] for z, p in marginal.items())
        assert mechanism.expected_error(level) == pytest.approx(mean)
        for share in (0.3, 0.6, 0.9):
            within = next(e for e in range(4) if _share(marginal, off, e) >= share)
            assert mechanism.error_quantile(share, level) == within
    levels = range(4)
    most = sum(max(marginal.get(z - y, 0) for y in levels) for z in range(-60, 64))
    least = sum(min(marginal.get(z - y, 0) for y in levels) for z in range(-60, 64))
    assert mechanism.multiplicative_capacity == pytest.approx(most)
    assert mechanism.additive_capacity == pytest.approx(1 - least)


def _share(marginal: dict[int, float], off: dict[int, int], error: int) -> float:
    return sum(p for z, p in marginal.items() if off[z] <= error)


def test_what_all_answers_tell_is_a_sum_of_the_law() -> None:
    """Of two answers on levels 0..3; the largest entry of a column is of the nearest levels."""
    mechanism = JointGeometric(Domain(0, 3, 1), f"{math.log(2):.9f}", 2)
    most = least = Fraction(0)
    for one, other in product(range(-45, 49), repeat=2):
        near = [max(-z, z - 3, 0) for z in (one, other)]
        far = [max(abs(z), abs(z - 3)) for z in (one, other)]
        most += twin.chance(HALF, near)
        least += twin.chance(HALF, far)
    assert mechanism.times_together == pytest.approx(float(most))
    assert mechanism.plus_together == pytest.approx(float(1 - least))


# Policies.


def asking(*names: str, **changes: object) -> dict[str, object]:
    asked = tuple(question(name, 1, 100) for name in names)
    return {"questions": asked, "domain": GRID, "noise": "joint", **changes}


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        (asking("avg", "reading"), "queries", "every reading"),
        (
            asking(questions=(question("avg", 1, 100), question("max", 2, 100))),
            "queries",
            "one for all",
        ),
        (asking(*(f"p{n}" for n in range(17))), "queries", "more than 16"),
        (asking("avg", domain=Domain(0, 10, "0.1")), "step", "less than 0.002"),
    ],
)
def test_what_no_joint_noise_is_for_is_refused(
    changes: dict[str, object], field: str, words: str
) -> None:
    with pytest.raises(InvalidSetting, match=words) as refused:
        policy(**changes)
    assert refused.value.field == field


def test_a_policy_with_joint_noise_pays_once() -> None:
    one = policy(**asking("min", "avg", "max"))
    assert one.terms.costs == (10_000_000,)
    assert one.answered(np.array([0, 1, 1])).tolist() == [0, 3, 3]
    mechanism = one.mechanism(one.questions[0])
    assert mechanism is one.mechanism(one.questions[2])
    assert isinstance(mechanism, JointGeometric)
    assert mechanism.answers == 3


def test_a_policy_with_joint_noise_says_so() -> None:
    one = policy(**asking("min", "avg", "max"))
    document = one.document()
    assert (document["noise"], document["queries"]) == ("joint", ["min", "avg", "max"])
    assert document["epsilon_per_watt"] == [["joint", "0.01"]]
    assert policy_of(document) == one
    assert one.digest != policy(**asking("min", "avg", "max", noise="independent")).digest


def test_tables_are_shared() -> None:
    assert joint.shared(GRID, "0.01", 2) is joint.shared(GRID, "0.01", 2)
