"""What is told to two audiences of one draw: all windows of small worlds, in fractions.

`twins.tiers` is the law of a release and its copy, which `privacy/test_refinement.py` ties to what
is sampled; `private.breach` judges it from outside.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from qif import measure, refinement

from meteragent.privacy.domain import ABSENT
from meteragent.privacy.mechanism import matrix
from meteragent.privacy.query import answer, query
from meteragent.privacy.refinement import moved
from tests.laws.private import Window, all_windows, breach, private, public, together
from tests.laws.test_small_groups import Size, apart, keeps, sums
from tests.laws.test_small_groups import policy as group
from tests.laws.test_small_layers import layered, layers
from tests.twins import tiers as twin

if TYPE_CHECKING:
    from tests.laws.test_small_groups import World

ALPHA, BETA, GAMMA = Fraction(1, 3), Fraction(3, 5), Fraction(4, 5)
ALMOST = Fraction(99, 100)
TOP = 3
PAIRS = [(ALPHA, BETA), (BETA, GAMMA), (ALPHA, GAMMA), (Fraction(1, 100), Fraction(99, 100))]
ASKED = ("avg", "median", "max")


def both(top: int, alpha: Fraction = ALPHA, beta: Fraction = BETA) -> list[list[Fraction]]:
    """both[level]: the chance of each pair of what is released and what is copied."""
    pairs = [(z, copied) for z in range(top + 1) for copied in range(top + 1)]
    laws = [twin.clamped(alpha, beta, level, top) for level in range(top + 1)]
    return [[law[pair] for pair in pairs] for law in laws]


def law_of(asked: str, rows: list[list[Fraction]], slots: int = 2) -> dict[Window, list[Fraction]]:
    windows = all_windows(slots, TOP)
    held = [[ABSENT if level is None else level for level in window] for window in windows]
    levels = answer((query(asked),), np.array(held, dtype=np.int8))[:, 0].tolist()
    return {window: rows[level] for window, level in zip(windows, levels, strict=True)}


@pytest.mark.parametrize(("alpha", "beta"), PAIRS)
@pytest.mark.parametrize("top", [1, 2, 5])
def test_a_copy_has_the_law_of_a_release_of_its_own_and_so_has_the_first(
    top: int, alpha: Fraction, beta: Fraction
) -> None:
    for level, chances in enumerate(both(top, alpha, beta)):
        pairs = np.array(chances, dtype=np.object_).reshape(top + 1, top + 1)
        assert pairs.sum(axis=1).tolist() == matrix(top, alpha)[level]
        assert pairs.sum(axis=0).tolist() == matrix(top, beta)[level]


@pytest.mark.parametrize(("alpha", "beta"), PAIRS)
def test_how_often_noise_is_added_is_what_the_law_wants(alpha: Fraction, beta: Fraction) -> None:
    assert moved(alpha, beta) == 1 - twin.stays(alpha, beta)


@pytest.mark.parametrize("asked", ASKED)
def test_who_has_both_knows_no_more_than_who_has_the_first_and_no_less(asked: str) -> None:
    law = law_of(asked, both(TOP))
    assert all(sum(row) == 1 for row in law.values())
    assert breach(law, public, ALPHA) is None
    assert breach(law, private(TOP), ALPHA) is None
    assert breach(law, public, ALPHA, ALMOST) is not None


@pytest.mark.parametrize("asked", ASKED)
def test_who_has_the_copy_alone_knows_what_its_own_loss_says_and_no_less(asked: str) -> None:
    chances = [np.array(row, dtype=np.object_).reshape(TOP + 1, TOP + 1) for row in both(TOP)]
    law = law_of(asked, [pairs.sum(axis=0).tolist() for pairs in chances])
    assert breach(law, private(TOP), BETA) is None
    assert breach(law, public, BETA, ALMOST) is not None


def test_two_draws_would_cost_both_losses() -> None:
    rows = [
        together([one, other])
        for one, other in zip(matrix(TOP, ALPHA), matrix(TOP, BETA), strict=True)
    ]
    law = law_of("avg", rows)
    assert breach(law, public, ALPHA) is not None
    assert breach(law, public, ALPHA * BETA) is None
    assert breach(law, public, ALPHA * BETA, ALMOST) is not None


@pytest.mark.parametrize("top", [1, 2, 5])
def test_a_copy_can_be_made_of_what_was_released_without_the_level(top: int) -> None:
    """Given the first release, the law of the copy is the same whatever the level was."""
    rows = []
    for level, chances in enumerate(both(top)):
        first = matrix(top, ALPHA)[level]
        pairs = np.array(chances, dtype=np.object_).reshape(top + 1, top + 1)
        rows.append([[chance / p for chance in row] for p, row in zip(first, pairs, strict=True)])
    assert all(row == rows[0] for row in rows)


def test_noise_of_other_sizes_would_not_make_a_copy() -> None:
    """With `beta` added always, or as often as if noise had two sizes, the copy is no release."""
    alpha, beta, near = ALPHA, BETA, range(-80, 81)
    chance = sum(twin.geometric(alpha, -z) * twin.geometric(beta, z) for z in near)
    assert abs(chance - twin.geometric(beta, 0)) > Fraction(1, 20)


@pytest.mark.parametrize("top", [1, 3, 20])
@pytest.mark.parametrize(("alpha", "beta"), PAIRS[:3])
def test_qif_finds_a_copy_refined_by_the_first_and_not_the_other_way(
    top: int, alpha: Fraction, beta: Fraction
) -> None:
    first, copy = (np.array(matrix(top, decay), dtype=np.float64) for decay in (alpha, beta))
    assert refinement.refined_by(first, copy)
    assert not refinement.refined_by(copy, first)


def test_qif_finds_both_together_private_at_the_loss_of_the_first() -> None:
    release = np.array(both(TOP), dtype=np.float64)
    smallest = measure.d_privacy.smallest_epsilon(release, lambda x, y: float(abs(x - y)))
    assert smallest == pytest.approx(-np.log(float(ALPHA)), rel=1e-9)


NEAR = [*itertools.product(range(-2, TOP + 3), repeat=3)]
"""What may be drawn for three audiences, near the levels."""


def test_a_tier_of_a_tier_tells_nothing_that_the_one_above_does_not() -> None:
    """Unclamped, which tells more: of three draws, and of two without the first."""
    three: dict[Window, list[Fraction]] = {}
    two: dict[Window, list[Fraction]] = {}
    for level in range(TOP + 1):
        three[level,] = [
            twin.geometric(ALPHA, a - level)
            * twin.added(ALPHA, BETA, b - a)
            * twin.added(BETA, GAMMA, c - b)
            for a, b, c in NEAR
        ]
        two[level,] = [
            twin.geometric(BETA, b - level) * twin.added(BETA, GAMMA, c - b) for _, b, c in NEAR
        ]
    assert breach(three, public, ALPHA) is None
    assert breach(three, public, ALPHA, ALMOST) is not None
    assert breach(two, public, BETA) is None
    assert breach(two, public, BETA, ALMOST) is not None


def test_two_tiers_made_of_the_first_side_by_side_would_tell_more_together_than_either() -> None:
    """Where both say the same, next to nobody has added anything: it is the first's own draw."""

    def chance(level: int, one: int, other: int) -> Fraction:
        return sum(
            (
                twin.geometric(ALPHA, first - level)
                * twin.added(ALPHA, BETA, one - first)
                * twin.added(ALPHA, GAMMA, other - first)
                for first in range(-60, 61)
            ),
            Fraction(0),
        )

    beyond = ALPHA**59  # more than all draws that are left out
    assert chance(1, 1, 1) > (chance(0, 1, 1) + beyond) / BETA * Fraction(11, 10)


@pytest.mark.parametrize("size", [Size(2, 1, 2, 1), Size(2, 2, 1, 1)], ids=str)
def test_homes_of_a_group_lose_to_two_audiences_what_they_lose_to_the_first(size: Size) -> None:
    top = size.homes * size.top
    its, rows = group(size, top), both(top, Fraction(3, 5), Fraction(4, 5))

    def chances(world: World) -> list[Fraction]:
        levels = np.array([sums(world, its, size.slots, range(size.homes))], dtype=np.int16)
        return rows[int(answer((query("max"),), levels)[0, 0])]

    law = {world: chances(world) for world in size.worlds()}
    assert keeps(law, apart(size.top))
    assert not keeps(law, apart(size.top), ALMOST)


def test_layers_of_a_group_lose_to_two_audiences_what_they_lose_to_the_first() -> None:
    size = Size(2, 1, 1, 2)
    its, rows = layered(size, 1, 4), both(2, Fraction(3, 5), Fraction(4, 5))
    law = {
        world: together([rows[level] for level in layers(world, its, 1)]) for world in size.worlds()
    }
    assert keeps(law, apart(size.top))
    assert not keeps(law, apart(size.top), ALMOST)
