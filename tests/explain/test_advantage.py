"""The success of the best attacker is what the law of the noise says, output by output."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent import Domain
from meteragent.explain import advantage
from meteragent.explain.advantage import (
    Draw,
    apart,
    bound,
    filled,
    law,
    named,
    right,
    spread,
)
from meteragent.privacy.exact import NANO
from meteragent.privacy.mechanism import decay
from tests.twins.advantage import joint_success, success

LOSSES = (50_000_000, 400_000_000, 1_200_000_000)
TOP = 5

losses = st.sampled_from(LOSSES)
levels = st.integers(0, TOP)


def alpha(nano: int) -> Fraction:
    """To as many digits as floats have: with all of them fractions get long."""
    return Fraction(round(decay(Domain(0, TOP, 1), nano), 18))


def rate(nano: int) -> float:
    return nano / NANO


def moved(stories: list[tuple[int, ...]], nano: list[int]) -> dict[Draw, int]:
    """The draws in which two stories differ, equal ones counted."""
    one, other = stories
    draws = [Draw(loss, (abs(a - b),)) for a, b, loss in zip(one, other, nano, strict=True)]
    return {draw: draws.count(draw) for draw in draws}


# Two stories.


@given(one=levels, other=levels, nano=losses)
def test_two_stories_in_one_answer_are_told_apart_as_often_as_said(
    one: int, other: int, nano: int
) -> None:
    """Wherever they lie: also at the ends of the range, where noise is clamped."""
    told = float(success([(one,), (other,)], TOP, [alpha(nano)]))
    assert (1 + apart(rate(nano), abs(one - other))) / 2 == pytest.approx(told, abs=1e-12)
    assert right({Draw(nano, (abs(one - other),)): 1}, 1.0) == pytest.approx(told, abs=1e-12)


@given(data=st.data(), outputs=st.integers(1, 3), nano=losses)
def test_two_stories_in_several_answers_are_told_apart_as_often_as_said(
    data: st.DataObject, outputs: int, nano: int
) -> None:
    story = st.tuples(*[levels] * outputs)
    stories = [data.draw(story), data.draw(story)]
    told = float(success(stories, TOP, [alpha(nano)] * outputs))
    assert right(moved(stories, [nano] * outputs), 1.0) == pytest.approx(told, abs=1e-12)


@given(data=st.data(), nano=st.lists(losses, min_size=2, max_size=3))
def test_losses_of_a_common_measure_add_up_exactly(data: st.DataObject, nano: list[int]) -> None:
    story = st.tuples(*[levels] * len(nano))
    stories = [data.draw(story), data.draw(story)]
    told = float(success(stories, TOP, [alpha(loss) for loss in nano]))
    assert right(moved(stories, nano), 1.0) == pytest.approx(told, abs=1e-12)


def test_log_odds_of_no_common_measure_are_rounded_up_and_never_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nano = [333_333_333, 500_000_000, 500_000_000]
    exact = float(success([(0, 0, 0), (3, 2, 2)], TOP, [*map(alpha, nano)]))
    seen = []
    for cells in (2**19, 4000, 400, 40, 8):
        monkeypatch.setattr(advantage, "MOST_CELLS", cells)
        seen.append(right(moved([(0, 0, 0), (3, 2, 2)], nano), 1.0))
    assert exact <= seen[0] < exact + 1e-5
    assert all(exact < more <= 1 for more in seen)
    assert seen[-1] > exact + 0.01


def test_what_moves_nothing_is_told_by_nobody() -> None:
    assert right({}, 1.0) == right({Draw(LOSSES[0], (0,)): 30, Draw(LOSSES[0], (0, 0)): 1}, 1.0)
    assert right({}, 1.0) == 0.5


def test_many_releases_are_as_many_factors() -> None:
    """A year of days against sums of plain convolutions."""
    draw = Draw(80_000_000, (7,))
    odds, chances = law(draw, 1.0)
    whole = np.ones(1)
    for _ in range(365):
        whole = np.convolve(whole, chances)
    of = np.arange(len(whole)) * 2 - (len(whole) - 1)
    assert odds[-1] * 365 == of[-1]
    more = -np.expm1(-0.08 * of[of > 0]) @ whole[of > 0]
    assert right({draw: 365}, 1.0) == pytest.approx((1 + more) / 2, abs=1e-11)


def test_as_many_as_a_month_of_quarter_hours_are_worked_out_at_once() -> None:
    few = right({Draw(1_000_000, (40,)): 2880}, 1.0)
    assert 0.5 < few < right({Draw(1_000_000, (41,)): 2880}, 1.0) < 1


# One draw for several answers.


@pytest.mark.parametrize("moves", [(1, 1), (2, 0), (3, 1), (2, 2)])
@pytest.mark.parametrize("nano", [600_000_000, 1_200_000_000])
def test_two_stories_in_a_joint_draw_are_told_apart_as_often_as_said(
    moves: tuple[int, ...], nano: int
) -> None:
    low, high = joint_success(moves, alpha(nano), 24)
    told = right({Draw(nano, moves): 1}, 1.0)
    assert float(high - low) < 1e-3
    assert float(low) - 1e-9 <= told <= float(high) + 1e-9


def test_a_joint_draw_of_one_answer_is_a_draw_of_its_own() -> None:
    own, one, both = (Draw(300_000_000, moves) for moves in ((4,), (4, 0), (4, 4)))
    assert right({own: 1}, 1.0) > right({one: 1}, 1.0) + 0.01
    assert right({own: 1}, 1.0) == pytest.approx(right({both: 1}, 1.0), abs=1e-12)
    [(odds, chances)] = [advantage._joint_law((4,), 0.3)]
    assert dict(zip(odds.tolist(), chances.round(9).tolist(), strict=True)) == {
        **dict.fromkeys(range(-4, 5), 0.0),
        **dict(zip(*(part.round(9).tolist() for part in law(own, 1.0)), strict=True)),
    }


def test_a_joint_draw_that_is_too_wide_is_taken_for_one_that_tells_more() -> None:
    near, far = Draw(2_000_000, (300, 10)), Draw(2_000_000, (300,))
    assert right({near: 1}, 1.0) == right({far: 1}, 1.0)


# Chains: what every attacker is bound by.


@given(
    whole=st.integers(1, 12),
    parts=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    nano=st.integers(1_000_000, NANO),
)
def test_a_move_in_pieces_tells_no_more_than_in_one(
    whole: int, parts: list[int], nano: int
) -> None:
    apiece = moved([tuple(parts), (0,) * len(parts)], [nano] * len(parts))
    assert right(apiece, 1.0) <= right({Draw(nano, (sum(parts),)): 1}, 1.0) + 1e-12
    assert right({Draw(nano, (whole,)): 1}, 1.0) < right({Draw(nano, (whole + 1,)): 1}, 1.0)


@given(
    parts=st.lists(st.tuples(st.integers(0, 4), losses), min_size=1, max_size=4),
)
def test_no_draws_tell_more_than_their_losses_allow(parts: list[tuple[int, int]]) -> None:
    draws = [Draw(nano, (move,)) for move, nano in parts]
    loss = sum(draw.reach for draw in draws) / NANO
    step = max(rate(nano) for _, nano in parts)
    counted = {draw: draws.count(draw) for draw in draws}
    assert right(counted, 1.0) <= bound(loss, step) + 1e-12


@given(steps=st.lists(st.floats(0.001, 2), min_size=1, max_size=8), at=st.floats(0, 1))
def test_a_chain_of_any_steps_is_within_the_bound(steps: list[float], at: float) -> None:
    """Each step turns the chance `p` of a verdict into `min(exp(s) p, 1 - exp(-s) (1 - p))`."""
    *_, after = accumulate(
        steps, lambda p, s: min(math.exp(s) * p, 1 - math.exp(-s) * (1 - p)), initial=at
    )
    assert (1 + after - at) / 2 <= bound(sum(steps), max(steps)) + 1e-12


def test_the_bound_is_reached_by_one_answer_an_odd_number_of_levels_apart() -> None:
    for count in (1, 3, 7):
        said = bound(0.3 * count, 0.3)
        assert right({Draw(300_000_000, (count,)): 1}, 1.0) == pytest.approx(said, abs=1e-12)
    assert bound(0, 0.3) >= 0.5
    assert bound(2000, 0.3) == 1


def test_a_guarantee_of_odds_alone_would_say_more() -> None:
    """At the radius of a preset odds of e say 73 %, and nobody is right in more than 70 %."""
    assert math.e / (1 + math.e) == pytest.approx(0.731, abs=1e-3)
    assert bound(1, 0.08) == pytest.approx(0.697, abs=1e-3)


# Many stories.


@given(data=st.data(), nano=losses)
def test_the_right_one_of_many_is_named_as_often_as_said(data: st.DataObject, nano: int) -> None:
    stories = data.draw(st.lists(st.tuples(levels), min_size=1, max_size=6))
    said = named(np.array(stories), [nano], 1.0)
    assert said.exact
    told = float(success(stories, TOP, [alpha(nano)]))
    assert said.success == pytest.approx(told, abs=1e-12)
    assert len(stories) * said.success == pytest.approx(
        spread(np.array(stories)[:, 0], rate(nano)), abs=1e-9
    )


@given(data=st.data(), outputs=st.integers(2, 3), same=losses, mixed=st.booleans())
def test_of_several_answers_no_more_is_named_than_said(
    data: st.DataObject, outputs: int, same: int, *, mixed: bool
) -> None:
    stories = data.draw(st.lists(st.tuples(*[levels] * outputs), min_size=2, max_size=4))
    nano = [same, *(data.draw(losses) if mixed else same for _ in range(outputs - 1))]
    said = named(np.array(stories), nano, 1.0)
    told = float(success(stories, TOP, [alpha(loss) for loss in nano]))
    assert told <= said.success + 1e-12
    assert said.success <= 1


def test_many_windows_are_bound_together_and_not_one_by_one() -> None:
    """Sixteen quarter hours of 200 evenings: single windows, multiplied, say far more."""
    evenings = np.random.default_rng(5).integers(0, 4, (200, 16))
    said = named(evenings, [10_000_000] * 16, 1.0).success * 200
    product_of_all = math.prod(spread(evenings[:, window], 0.01) for window in range(16))
    assert 1.1 < said < 1.17
    assert product_of_all > 1.26


def test_where_moments_would_be_long_single_answers_are_the_bound() -> None:
    far = np.array([[0, 0], [5000, 5000]])
    assert named(far, [1_000_000] * 2, 1.0).success == min(1, spread(far[:, 0], 0.001) ** 2 / 2)


@given(data=st.data(), span=st.integers(0, TOP), nano=losses)
def test_stories_within_a_span_gain_no_more_than_one_that_fill_it(
    data: st.DataObject, span: int, nano: int
) -> None:
    some = data.draw(st.lists(st.integers(0, span), min_size=1, max_size=5))
    all_of_them = np.arange(span + 1)
    assert spread(np.array(some), rate(nano)) <= filled(span, rate(nano)) + 1e-12
    assert spread(all_of_them, rate(nano)) == pytest.approx(filled(span, rate(nano)))
    assert filled(span, rate(nano)) <= 1 + rate(nano) * span / 2


# Trials, as a check of all this.


def test_as_many_trials_are_right_as_said() -> None:
    """Noise by numpy, four contests: a false alarm of any has a chance below 1e-6 (Hoeffding).

    The same trials with the noise of another loss are caught.
    """
    trials, draw = 200_000, np.random.default_rng(18)
    margin = math.sqrt(math.log(2 * 4 / 1e-6) / 2 / trials)
    wrong = 0
    for moves, loss in product([(3, 2), (1, 1, 1, 1)], [0.1, 0.5]):
        story = np.array(moves)
        for true in (loss, loss * 1.3):
            alive = draw.random(trials) < 0.5
            noise = draw.geometric(-math.expm1(-true), (2, trials, len(moves))).astype(np.int64) - 1
            seen = noise[0] - noise[1] + alive[:, np.newaxis] * story
            score = (np.abs(seen) - np.abs(seen - story)).sum(axis=1)
            said = np.where(score == 0, draw.random(trials) < 0.5, score > 0)
            told = right(moved([moves, (0,) * len(moves)], [round(loss * NANO)] * len(moves)), 1.0)
            off = abs(float((said == alive).mean()) - told) > margin
            assert not (off and true == loss)
            wrong += off
    assert wrong == 4
