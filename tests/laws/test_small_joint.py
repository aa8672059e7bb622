"""Joint noise on all windows of small worlds, every pair and every output, in fractions.

`twins.joint` is its law, which `privacy/test_joint.py` ties to what is sampled; `private.breach`
judges it from outside.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from qif import measure

from meteragent.privacy.domain import ABSENT
from meteragent.privacy.mechanism import matrix
from meteragent.privacy.order import Order
from meteragent.privacy.query import Query, answer, query
from tests.laws.private import Window, all_windows, breach, private, public, together
from tests.twins import joint

ALPHA = Fraction(3, 5)
ALMOST = Fraction(99, 100)
ASKED = (("avg",), ("avg", "max"), ("min", "p29", "median"), ("min", "avg", "median", "max"))
TOPS = {1: 3, 2: 3, 3: 2, 4: 1}
"""Levels above zero, by how many answers there are: a law has an entry for every vector."""


@cache
def chances(top: int, levels: tuple[int, ...]) -> list[Fraction]:
    return joint.clamped(ALPHA, top, levels)


def asked(names: tuple[str, ...]) -> tuple[Query, ...]:
    return tuple(map(query, names))


def law_of(names: tuple[str, ...], slots: int, top: int) -> dict[Window, list[Fraction]]:
    """Of the clamped answers, for every window there is."""
    windows = all_windows(slots, top)
    held = [[ABSENT if level is None else level for level in window] for window in windows]
    levels = answer(asked(names), np.array(held, dtype=np.int8)).tolist()
    return {w: chances(top, tuple(row)) for w, row in zip(windows, levels, strict=True)}


@pytest.mark.parametrize("slots", [1, 2, 3])
@pytest.mark.parametrize("names", ASKED)
def test_a_joint_release_is_private_at_the_cost_of_one_answer_and_at_nothing_less(
    names: tuple[str, ...], slots: int
) -> None:
    law = law_of(names, slots, TOPS[len(names)])
    assert all(sum(row) == 1 for row in law.values())
    assert breach(law, public, ALPHA, 1) is None
    assert breach(law, public, ALPHA, ALMOST) is not None
    assert breach(law, private(TOPS[len(names)]), ALPHA, 1) is None


@pytest.mark.parametrize("names", ASKED[1:])
def test_draws_of_their_own_at_the_same_loss_break_that_promise(names: tuple[str, ...]) -> None:
    top = TOPS[len(names)]
    windows = [window for window in all_windows(2, top) if None not in window]
    levels = answer(asked(names), np.array(windows, dtype=np.int8)).tolist()
    single = matrix(top, ALPHA)
    law = {
        window: together([single[level] for level in row])
        for window, row in zip(windows, levels, strict=True)
    }
    assert breach(law, public, ALPHA, 1) is not None
    assert breach(law, public, ALPHA, len(names)) is None


@pytest.mark.parametrize("answers", [1, 2, 3, 4])
def test_what_is_drawn_is_private_in_the_max_norm_and_at_nothing_less(answers: int) -> None:
    """Unclamped, as `unbiased` tells it: all pairs of levels, all noise near them."""
    top = TOPS[answers]
    levels = list(product(range(top + 1), repeat=answers))
    near = list(product(range(-2, top + 3), repeat=answers))
    law: dict[Window, list[Fraction]] = {
        row: [joint.chance(ALPHA, np.subtract(z, row).tolist()) for z in near] for row in levels
    }
    assert breach(law, public, ALPHA, 1) is None
    assert breach(law, public, ALPHA, ALMOST) is not None


def test_the_losses_of_two_windows_add_up_exactly() -> None:
    one = law_of(("avg", "max"), 1, 1)
    trace = {
        first + second: together([one[first], one[second]])
        for first, second in product(one, repeat=2)
        if None not in first + second
    }
    assert breach(trace, public, ALPHA, 2) is None
    assert breach(trace, public, ALPHA, 2 * ALMOST) is not None


def test_answers_that_agree_with_their_order_are_as_private() -> None:
    names, top = ("min", "avg", "max"), 2
    order = Order(asked(names), [1, 1, 1])
    vectors = list(product(range(top + 1), repeat=len(names)))
    agreed = order.agreed(np.array(vectors)).tolist()
    places = sorted({tuple(row) for row in agreed})
    law = {
        window: [
            sum(
                (p for p, row in zip(chance, agreed, strict=True) if tuple(row) == place),
                Fraction(0),
            )
            for place in places
        ]
        for window, chance in law_of(names, 2, top).items()
    }
    assert len(places) < len(vectors)
    assert breach(law, public, ALPHA, 1) is None


@pytest.mark.parametrize("answers", [1, 2, 3, 4])
def test_qif_finds_joint_noise_private_at_epsilon_and_at_nothing_less(answers: int) -> None:
    top, epsilon = TOPS[answers], 0.5
    alpha = Fraction(np.exp(-epsilon)).limit_denominator(10**12)
    levels = np.array(list(product(range(top + 1), repeat=answers)))
    rows = np.array([joint.clamped(alpha, top, row.tolist()) for row in levels], dtype=np.float64)

    def apart(x: int, y: int) -> float:
        return float(np.abs(levels[x] - levels[y]).max())

    assert measure.d_privacy.smallest_epsilon(rows, apart) == pytest.approx(epsilon, abs=1e-7)


def test_the_mixture_of_cubes_is_the_law_of_the_largest_entry() -> None:
    """`P(z) ~ alpha**max(|z|)` is what radii and uniform integers come to, vector by vector."""
    for answers in (1, 2, 3):
        for noise in combinations(range(-2, 3), answers):
            assert joint.within(ALPHA, [(z, z) for z in noise]) == joint.chance(ALPHA, noise)
