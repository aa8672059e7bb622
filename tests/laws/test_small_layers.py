"""All readings of all homes of small groups, and what their layers tell: every pair and output.

The product's way from readings to the levels of layers: averages, fills, layers, sums, clipping.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from meteragent.privacy.domain import ABSENT
from meteragent.privacy.group import added_up, without_gaps
from meteragent.privacy.query import averages
from meteragent.privacy.question import question
from tests.given import MINUTE
from tests.laws.test_small_groups import ALMOST, Size, World, apart, keeps, law_of, policy

if TYPE_CHECKING:
    from meteragent.privacy.group import GroupPolicy

ONE_PANE = 15 * MINUTE
SIZES = [Size(2, 1, 1, 4), Size(1, 1, 2, 4), Size(2, 1, 2, 2), Size(3, 1, 1, 2)]


def layered(size: Size, width: int, top: int, low: int = 0, own_low: int = 0) -> GroupPolicy:
    """Levels of one watt, and layers of so many."""
    asked = (question(f"layers({width}W)", "0.5", 1),)
    return replace(policy(size, top, low, own_low), questions=asked)


def layers(world: World, its: GroupPolicy, slots: int) -> list[int]:
    """The level of each layer, by the functions of the product."""
    held = [[ABSENT if level is None else level for level in home] for home in world]
    [pane] = averages(np.array(held, dtype=np.int16), slots).T
    filled = without_gaps(pane, np.full(len(world), ABSENT, dtype=np.int16), its.rest)
    homes, one = np.arange(len(world)), np.zeros(len(world), dtype=np.int64)
    sums = np.stack([added_up(c, homes, one, 1) for c in its.columns(filled)], axis=1)
    found: list[int] = its.levels_of(sums, np.array([len(world)]))[0, 1:].tolist()
    return found


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_all_layers_together_are_private_at_the_loss_of_one_and_at_nothing_less(
    size: Size, width: int
) -> None:
    its = layered(size, width, size.homes * size.top)
    top = size.homes * width
    law = law_of(size, top, lambda world: layers(world, its, size.slots))
    assert keeps(law, apart(size.top))
    assert not keeps(law, apart(size.top), ALMOST)


@pytest.mark.parametrize(("top", "low", "own_low"), [(1, 0, 0), (3, -1, -1), (2, -2, 0)])
def test_clipped_layers_and_those_of_homes_that_export_are_as_private(
    top: int, low: int, own_low: int
) -> None:
    size = Size(2, 1, 1, 2)
    its = layered(size, 1, top, low, own_low)
    law = law_of(size, top, lambda world: layers(world, its, 1))
    assert keeps(law, apart(size.top))
    assert not keeps(law, apart(size.top), ALMOST)


def test_layers_add_up_to_the_level_and_all_of_them_move_one_way() -> None:
    [its] = layered(Size(1, 1, 1, 12), 3, 12).layers
    levels = np.arange(13)
    found = np.stack([*its.of(levels)], axis=1)
    assert found.shape == (13, 4)
    assert (found.sum(axis=1) == levels).all()
    assert (np.diff(found, axis=0) >= 0).all()
    assert (np.diff(found, axis=1) <= 0).all()


def test_rounded_averages_of_the_layers_of_readings_would_break_the_promise() -> None:
    """From (0, 2) to (1, 3) both layers of two jump: the lower from 1 to 3/2, the upper to 1/2."""
    size = Size(1, 1, 2, 4)
    [its] = layered(size, 2, size.top).layers

    def rounded(world: World) -> list[int]:
        there = np.array([level for level in world[0] if level is not None] or [0])
        return [(2 * int(one.sum()) + len(there)) // (2 * len(there)) for one in its.of(there)]

    law = law_of(size, its.width, rounded)
    assert not keeps(law, apart(size.top))


def test_counts_of_homes_above_thresholds_would_cost_as_much_as_there_are_thresholds() -> None:
    size = Size(1, 1, 1, 4)

    def above(world: World) -> list[int]:
        level = world[0][0] or 0
        return [2 * int(level > 2 * nth) for nth in range(2)]

    law = law_of(size, 2, above)
    assert not keeps(law, apart(size.top))


def test_gaps_hold_the_level_nearest_to_0_watts() -> None:
    size = Size(2, 1, 1, 4)
    its = layered(size, 2, 8, low=-2, own_low=-4)
    found = {world: layers(world, its, 1) for world in size.worlds()}
    for (one, other), level in itertools.product(itertools.product(range(5), repeat=2), [2]):
        assert found[(one,), (other,)] == [
            4 + min(one, 2) + min(other, 2),
            4 + max(one - 2, 0) + max(other - 2, 0),
        ]
        assert found[(None,), (other,)] == found[(level,), (other,)]
