from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.errors import InvalidSetting
from meteragent.privacy.domain import Domain
from meteragent.privacy.entropy import tag
from meteragent.privacy.exact import NANO
from meteragent.privacy.published import policy_of
from meteragent.privacy.question import question
from meteragent.privacy.refinement import Refinement
from meteragent.privacy.release import Releaser
from meteragent.privacy.tiers import tier_of
from tests.given import KEY, policy
from tests.laws.test_small_groups import Size
from tests.laws.test_small_groups import policy as group
from tests.twins import keyed, noise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from meteragent.privacy.policy import Policy

MILLI = NANO // 1000
START = 1_763_424_000_000


def first(**changes: Any) -> Policy:  # noqa: ANN401 - whatever a policy has
    asked = (question("min", "0.04", 1), question("avg", "0.1", 1), question("max", "0.02", 1))
    return policy(**{"domain": Domain(0, 200, 10), "questions": asked, "size": 40_000} | changes)


def tiers(above: Policy, *losses: int) -> tuple[Policy, ...]:
    made: list[Policy] = []
    for nth, loss in enumerate(losses):
        made.append(tier_of(made[-1] if made else above, f"tier-{nth}", loss * MILLI))
    return tuple(made)


@cache
def drawn_by(decay: Fraction) -> list[int]:
    """Of the twin's: without an end, as far as there is anything."""
    whole = noise.whole_thresholds(4000, decay)
    ones = whole.index(next(t for t in whole if t > 1)) - 1
    return whole[ones : len(whole) - ones]


@cache
def added_by(domain: Domain, before: int, now: int) -> Sequence[int]:
    """What makes a draw a noisier one."""
    return Refinement(domain, before, now)._thresholds.exact


def released(
    its: Policy, copies: tuple[Policy, ...], rows: list[list[int]], granted: int = 3
) -> list[tuple[list[list[float]], list[list[float]]]]:
    """(values, unbiased) of each audience, for windows that hold the same throughout."""
    levels = np.array(rows, dtype=np.int16)
    many = len(rows)
    tags = np.tile(np.frombuffer(tag("m-17"), dtype=np.uint8), (many, 1))
    starts, heard = START + 40_000 * np.arange(many), np.full(many, 4)
    found = Releaser(its, KEY, tiers=copies).release_all(
        tags, starts, heard, levels, np.full(many, granted)
    )
    return [(values.tolist(), unbiased.tolist()) for values, unbiased in found]


WINDOWS = st.lists(st.lists(st.integers(0, 20), min_size=4, max_size=4), min_size=1, max_size=5)


@given(WINDOWS, st.sampled_from([(), (15,), (15, 4), (15, 14, 13)]), st.integers(1, 3))
def test_nothing_of_the_first_release_depends_on_who_else_is_told(
    rows: list[list[int]], losses: tuple[int, ...], granted: int
) -> None:
    its = first()
    alone, *_ = released(its, (), rows, granted)
    together, *copies = released(its, tiers(its, *losses), rows, granted)
    assert together == alone
    assert len(copies) == len(losses)
    shorter = released(its, tiers(its, *losses[:1]), rows, granted)
    assert shorter[1:] == copies[:1]  # nor does a tier on those behind it


@given(WINDOWS)
def test_copies_are_those_of_the_slow_twin(rows: list[list[int]]) -> None:
    """Each audience's noise by plain hashlib and fractions, from the draw of the one before."""
    its = first(questions=(question("avg", "0.1", 1), question("p29", "0.04", 1)))
    copies = tiers(its, 15, 4)
    found = released(its, copies, rows, 2)
    for nth, row in enumerate(rows):
        answers = [(2 * sum(row) + 4) // 8, sorted(row)[1]]
        named = ("m-17", START + 40_000 * nth, 4, answers)
        words = keyed.words(KEY.secret, its.digest, *named)
        drawn = [
            level + noise.noise(drawn_by(noise.alpha(asked.nano, Fraction(10))), its_words)
            for level, asked, its_words in zip(
                answers, its.questions, keyed.rows_of_words(words, 2, 5), strict=True
            )
        ]
        assert found[0][0][nth] == [10 * min(max(level, 0), 20) for level in drawn]
        losses = [asked.nano for asked in its.questions]
        for copy, (values, _) in zip(copies, found[1:], strict=True):
            words = keyed.words(KEY.secret, copy.digest, *named, kind=b"t")
            now = copy.questions[0].nano
            for output, its_words in enumerate(keyed.rows_of_words(words, 2, 5)):
                more = added_by(its.domain, losses[output], now)
                drawn[output] += noise.noise(more, its_words)
            losses = [now, now]
            assert values[nth] == [10 * min(max(level, 0), 20) for level in drawn]


def test_a_golden_copy() -> None:
    """So that another implementation can make the same."""
    its = first()
    rows = [[3, 4, 5, 9], [0, 0, 0, 0], [20, 20, 19, 20]]
    assert [values for values, _ in released(its, tiers(its, 15, 4), rows)] == GOLDEN


GOLDEN = [
    [[10.0, 40.0, 60.0], [0.0, 0.0, 0.0], [180.0, 190.0, 200.0]],
    [[10.0, 30.0, 30.0], [20.0, 20.0, 20.0], [160.0, 180.0, 200.0]],
    [[0.0, 50.0, 50.0], [60.0, 60.0, 140.0], [0.0, 200.0, 200.0]],
]


def test_copies_are_right_on_average_and_in_order() -> None:
    its = first()
    copies = tiers(its, 15)
    values, unbiased = (np.array(one) for one in released(its, copies, [[2, 6, 7, 9]] * 4000)[1])
    assert (np.diff(values, axis=1) >= 0).all()
    low = -1 / (np.exp(0.15) - 1) * 10
    assert unbiased.min() == pytest.approx(low)
    error = unbiased.std(axis=0) / np.sqrt(len(values))
    assert (np.abs(unbiased.mean(axis=0) - [20, 60, 90]) < 6 * error).all()


@pytest.mark.parametrize(
    ("changes", "loss", "says"),
    [
        ({}, 20 * MILLI, "epsilon: is no smaller than that of every answer"),
        ({}, 21 * MILLI, "epsilon: is no smaller than that of every answer"),
        ({}, 200_000, "epsilon: lets noise go farther than 100000 levels"),
        (
            {"noise": "joint", "questions": (question("min", 1, 1), question("max", 1, 1))},
            MILLI,
            "noise: is joint",
        ),
    ],
)
def test_what_is_no_copy_is_refused(changes: dict[str, Any], loss: int, says: str) -> None:
    with pytest.raises(InvalidSetting, match=f"^{says}"):
        tier_of(first(**changes), "research", loss)


def test_a_copy_that_loses_next_to_nothing_less_is_one() -> None:
    its = first()
    [copy] = (tier_of(its, "research", 20 * MILLI - 1),)
    assert len(released(its, (copy,), [[1, 2, 3, 4]])) == 2


def test_a_tier_is_a_policy_that_says_what_it_is_a_copy_of() -> None:
    its = first()
    above, below = tiers(its, 15, 4)
    said = below.document()["tier"]
    assert said == {"name": "tier-1", "above": [["0.04", "0.1", "0.02"], ["0.015"] * 3]}
    assert len({its.id, above.id, below.id}) == len({its.digest, above.digest, below.digest}) == 3
    assert [asked.nano for asked in below.questions] == [4 * MILLI] * 3
    assert its.document() == replace(its, tier=None).document()
    for one in (above, below):
        assert policy_of(one.document()) == one


def test_the_name_of_a_tier_does_not_enter_its_noise_and_what_is_above_does() -> None:
    its = first()
    one, other = (tier_of(its, name, 4 * MILLI) for name in ("a", "b"))
    assert one.digest == other.digest
    assert one.id != other.id
    assert tiers(its, 15, 4)[1].digest != one.digest


def test_a_tier_of_a_group_is_a_policy_of_groups() -> None:
    its = group(Size(2, 1, 1, 1), 1000)
    copy = tier_of(its, "research", 100 * MILLI)
    assert type(copy) is type(its)
    assert policy_of(copy.document()) == copy


@given(st.integers(1, 10**4), st.integers(1, 19), st.integers(0, 60))
def test_copies_of_all_that_is_paid_for_lose_no_more_than_is_said(
    budget: int, loss: int, windows: int
) -> None:
    its = first(budget=budget * MILLI)
    copy = tier_of(its, "research", loss * MILLI)
    paid = min(windows, its.budget // its.terms.price) * its.terms.price
    least = min(asked.nano for asked in its.questions)
    assert paid // its.terms.price * copy.terms.price <= copy.budget
    assert copy.budget <= Decimal(its.budget) * loss * MILLI / least + 1
