"""What a reader makes of a release is the best that can be made of it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from meteragent import Domain, TruncatedGeometric
from meteragent.errors import InvalidSetting
from meteragent.explain import reader as readers
from meteragent.explain.reader import (
    Loss,
    absolute,
    posterior,
    remap,
    squared,
    zero_one,
)
from meteragent.privacy.domain import ABSENT
from meteragent.privacy.joint import JointGeometric
from meteragent.privacy.mechanism import matrix
from meteragent.privacy.query import answer
from meteragent.privacy.question import question
from meteragent.privacy.release import Releaser
from tests.given import KEY, policy
from tests.twins import joint as twin

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from meteragent.privacy.policy import Policy


def levels_of(count: int, epsilon: str) -> TruncatedGeometric:
    return TruncatedGeometric(Domain(0, count - 1, 1), epsilon)


# The best guess.


LOSSES: list[tuple[Loss, Callable[[int, int], int]]] = [
    (absolute, lambda guess, truth: abs(guess - truth)),
    (squared, lambda guess, truth: (guess - truth) ** 2),
    (zero_one, lambda guess, truth: guess != truth),
]
PRIORS = {
    "flat": [1, 1, 1, 1, 1, 1, 1],
    "low": [64, 32, 16, 8, 4, 2, 1],
    "two worlds": [5, 1, 0, 0, 0, 1, 6],
    "certain": [0, 0, 1, 0, 0, 0, 0],
    "odd": [3, 14, 15, 92, 65, 35, 89],
}


def shares(weights: list[int]) -> NDArray[np.float64]:
    return np.array(weights) / sum(weights)


def together(mechanism: TruncatedGeometric, weights: list[int]) -> list[list[Fraction]]:
    """together[released][level], exactly."""
    law = matrix(mechanism.domain.top, Fraction(mechanism.alpha))
    rows = [
        [Fraction(w, sum(weights)) * p for p in row] for w, row in zip(weights, law, strict=True)
    ]
    return [list(column) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("weights", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize(("loss", "plain"), LOSSES)
@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "2"])
def test_no_guess_serves_better_than_the_readers(
    weights: list[int], loss: Loss, plain: Callable[[int, int], int], epsilon: str
) -> None:
    mechanism = levels_of(7, epsilon)
    reader = remap(mechanism, shares(weights), loss)
    total = Fraction(0)
    for guess, chances in zip(reader.guess.tolist(), together(mechanism, weights), strict=True):
        by_guess = [sum(plain(g, x) * p for x, p in enumerate(chances)) for g in range(7)]
        assert by_guess[guess] <= min(by_guess) * (1 + Fraction(1, 10**12))
        total += min(by_guess)
    assert reader.expected_loss == pytest.approx(float(total), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("weights", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "2"])
@pytest.mark.parametrize("share", [0.01, 0.5, 0.9, 0.999])
def test_an_interval_holds_its_share_and_wastes_no_level(
    weights: list[int], epsilon: str, share: float
) -> None:
    mechanism, hair = levels_of(7, epsilon), Fraction(1, 10**12)
    reader = remap(mechanism, shares(weights), absolute, share=share)
    tail = (1 - Fraction(share)) / 2
    for z, chances in enumerate(together(mechanism, weights)):
        low, high = int(reader.low[z]), int(reader.high[z])
        total = sum(chances)
        assert sum(chances[low : high + 1]) >= (Fraction(share) - hair) * total
        for spared, first_more in (
            (chances[:low], chances[: low + 1]),
            (chances[high + 1 :], chances[high:]),
        ):
            assert sum(spared) <= (tail + hair) * total
            assert sum(first_more) >= (tail - hair) * total


def test_a_release_however_unlikely_is_read_by_what_was_believed() -> None:
    mechanism = TruncatedGeometric(Domain(0, 2000, 1), "0.9")
    believed = shares([3] * 10 + [0] * 1991)
    reader = remap(mechanism, believed, absolute)
    assert set(reader.guess[9:]) == {9}
    assert (set(reader.low[9:]), set(reader.high[9:])) == ({6}, {9})
    assert reader.high.max() == 9


def test_the_finest_household_grid_can_be_read() -> None:
    mechanism = TruncatedGeometric(Domain(0, 24_000, 10), "0.01")
    reader = remap(mechanism, np.full(2401, 1 / 2401), absolute)
    middle = slice(200, 2201)
    np.testing.assert_array_equal(reader.guess[middle], np.arange(2401)[middle])
    assert reader.expected_loss * 10 == pytest.approx(mechanism.expected_error(), rel=0.01)
    assert set((reader.high - reader.low)[middle] * 5) == {mechanism.error_quantile(0.9)}


@pytest.mark.parametrize(
    "prior",
    [[1.0], [0.5, 0.5, 0.5], [0.5, 0.6, -0.1], [math.nan, 0.5, 0.5], [0, 0, 0], [[1.0, 0, 0]]],
)
def test_a_prior_that_is_no_distribution_is_refused(prior: list[float]) -> None:
    with pytest.raises(InvalidSetting) as refused:
        remap(levels_of(3, "1"), np.array(prior), absolute)
    assert refused.value.field == "prior"


@pytest.mark.parametrize("share", [0, 1, -0.5, math.nan])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(InvalidSetting) as refused:
        remap(levels_of(3, "1"), shares([1, 1, 1]), absolute, share=share)
    assert refused.value.field == "share"


HALF = f"{math.log(2):.9f}"


@pytest.mark.parametrize("weights", [[1, 1, 1, 1], [8, 4, 2, 1], [1, 0, 0, 3]])
@pytest.mark.parametrize("answers", [1, 2, 3])
def test_joint_noise_is_read_by_the_law_of_one_answer(answers: int, weights: list[int]) -> None:
    mechanism = JointGeometric(Domain(0, 3, 1), HALF, answers)
    reader = remap(mechanism, shares(weights), absolute)
    others = [(None, None)] * (answers - 1)
    total = 0.0
    for z in range(-40, 44):
        chances = [
            w / sum(weights) * float(twin.within(Fraction(1, 2), [(z - y, z - y), *others]))
            for y, w in enumerate(weights)
        ]
        by_guess = [sum(abs(g - y) * p for y, p in enumerate(chances)) for g in range(4)]
        assert by_guess[reader.guess[z - reader.first]] == pytest.approx(min(by_guess))
        total += min(by_guess)
    assert reader.expected_loss == pytest.approx(total)


def test_one_joint_answer_is_read_as_one_of_independent_noise() -> None:
    """Whatever was drawn beyond an end of the range is read as the end itself."""
    own, joint = levels_of(12, "0.05"), JointGeometric(Domain(0, 11, 1), "0.05", 1)
    prior = shares([3, 14, 15, 92, 65, 35, 89, 79, 32, 38, 46, 26])
    one, other = (remap(mechanism, prior, absolute) for mechanism in (own, joint))
    assert other.expected_loss == pytest.approx(one.expected_loss)
    released = np.clip(np.arange(len(other.guess)) + other.first, 0, 11)
    np.testing.assert_array_equal(other.guess, one.guess[released])


def test_noise_far_narrower_than_the_range_is_read_too() -> None:
    mechanism = JointGeometric(Domain(0, 400, 1), "2", 2)
    reader = remap(mechanism, np.full(401, 1 / 401), absolute)
    middle = np.arange(401)
    np.testing.assert_array_equal(reader.guess[middle - reader.first], middle)


@pytest.mark.parametrize("weights", PRIORS.values(), ids=PRIORS)
def test_beliefs_in_a_few_levels_are_those_of_bayes(weights: list[int]) -> None:
    prior, half = shares(weights), Fraction(1, 2)
    own, released = levels_of(7, HALF), np.array([0, 3, 6, 3])
    chances = np.array(matrix(6, own.alpha), dtype=np.float64)[:, released] * prior[:, np.newaxis]
    beliefs = posterior(own, prior, released)
    np.testing.assert_allclose(beliefs, chances / chances.sum(axis=0), atol=1e-12)
    joint, drawn_at = JointGeometric(Domain(0, 6, 1), HALF, 2), [-30, -1, 2, 9]
    told = posterior(joint, prior, np.array(drawn_at))
    for column, z in enumerate(drawn_at):
        likely = [
            w * float(twin.within(half, [(z - y, z - y), (None, None)]))
            for y, w in enumerate(weights)
        ]
        np.testing.assert_allclose(told[:, column], np.array(likely) / sum(likely), atol=1e-9)


# What was drawn, and how likely that was.


TAGS, STARTS = np.zeros((400, 16), np.uint8), np.arange(400) * 60_000
LEVELS = np.tile(np.array([0, 0, 0, 1, 100, 100]), (400, 1)).astype(np.int8)
HEARD = np.count_nonzero(LEVELS != ABSENT, axis=1)


def asking(noise: str, *names: str) -> Policy:
    asked = tuple(question(name, 1, 100) for name in names)
    domain = Domain(-200, 800, 20, 10)  # answers in steps of 10 W
    changes: dict[str, Any] = {"noise": noise, "questions": asked, "domain": domain}
    return policy(**changes)


def released(of: Policy) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    granted = np.full(len(LEVELS), len(of.questions))
    return Releaser(of, KEY).release(TAGS, STARTS, HEARD, LEVELS, granted)


@pytest.mark.parametrize(
    ("noise", "names"),
    [
        ("independent", ("max", "reading", "avg", "min")),
        ("independent", ("avg", "p95")),
        ("joint", ("min", "avg", "max")),
    ],
)
def test_unbiased_answers_are_all_that_a_reader_needs(noise: str, names: tuple[str, ...]) -> None:
    of = asking(noise, *names)
    values, unbiased = released(of)
    levels = readers.drawn(unbiased, of)
    assert (levels.min() < 0) == (noise == "joint")
    np.testing.assert_array_equal(of.domain.watts(readers.agreed(levels, of)), values)


def test_what_was_not_released_stays_absent() -> None:
    of = asking("independent", "avg")
    assert np.isnan(readers.drawn(np.array([np.nan]), of)).all()


@pytest.mark.parametrize("noise", ["independent", "joint"])
def test_likelihoods_are_those_of_the_law_but_for_a_constant(noise: str) -> None:
    of = policy(
        domain=Domain(0, 2, 1),
        questions=(question("avg", HALF, 1), question("max", HALF, 1)),
        noise=noise,
    )
    truths = np.array(list(product(range(3), repeat=2)))
    law, half = matrix(2, Fraction(1, 2)), Fraction(1, 2)
    for seen in truths:
        likely = readers.log_likelihood(seen.astype(float), truths, of)
        if noise == "joint":
            exact = [float(twin.chance(half, (seen - truth).tolist())) for truth in truths]
        else:
            exact = [float(law[a][seen[0]] * law[b][seen[1]]) for a, b in truths]
        off = likely - np.log(exact)
        np.testing.assert_allclose(off, off[0], atol=1e-8)


@pytest.mark.parametrize("noise", ["independent", "joint"])
def test_intervals_hold_the_truth_as_often_as_they_say(noise: str) -> None:
    """Of 2400 answers; beyond six standard deviations is one run in 10**9."""
    of = asking(noise, "avg", "p95")
    _, unbiased = released(of)
    truth = answer(tuple(asked.query for asked in of.questions), LEVELS)
    for share in (0.5, 0.9):
        for column, asked in enumerate(of.questions):
            low, high = readers.interval(unbiased[:, column], of, asked, share)
            level = of.domain.watts(truth[:, column])
            held = ((low <= level) & (level <= high)).mean()
            assert held > share - 6 * math.sqrt(share * (1 - share) / len(LEVELS))
            assert (low >= -200).all()
            assert (high <= 800).all()
    low, high = readers.interval(unbiased[:, 0], of, of.questions[0], 0.5)
    level = of.domain.watts(truth[:, 0])
    assert ((low <= level) & (level <= high)).mean() < 0.75
