from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent import Domain, TruncatedGeometric
from meteragent.errors import InvalidSetting, NotExact
from meteragent.privacy.mechanism import MOST_REACHED, matrix, refuse
from tests.twins import noise as twin

UNIFORM_BITS = 320
DIGITS = 2**64 - 1


class Setting(NamedTuple):
    top: int
    step: str
    epsilon: str


SETTINGS = [
    Setting(1, "1", "1"),
    Setting(2, "10", "0.0693147181"),
    Setting(7, "0.1", "0.3"),
    Setting(40, "1", "0.105360516"),
    Setting(127, "10", "2"),
    Setting(300, "10", "22"),  # all but no noise: most thresholds are within 64 bits of an end
    Setting(300, "0.01", "0.000000001"),  # all but nothing else
    Setting(2400, "10", "0.01"),
]
EXACTLY_CHECKED = SETTINGS[:4]


@cache
def built(setting: Setting) -> TruncatedGeometric:
    top, step, epsilon = setting
    return TruncatedGeometric(Domain(0, top * Decimal(step), step), epsilon)


@cache
def alpha(setting: Setting) -> Fraction:
    return twin.alpha(built(setting).nano, Fraction(setting.step))


@cache
def thresholds(setting: Setting) -> list[int]:
    return twin.thresholds(setting.top, alpha(setting))


@cache
def law(setting: Setting) -> list[list[Fraction]]:
    return twin.law(setting.top, alpha(setting))


def words_of(*uniforms: int) -> twin.GivenWords:
    """One window, an output per number, whose words are the number's 320 bits."""
    digits = [[u >> 64 * (4 - depth) & DIGITS for depth in range(5)] for u in uniforms]
    return twin.GivenWords(np.array([digits], dtype=np.uint64))


def slow_noise(setting: Setting, words: twin.GivenWords) -> list[list[int]]:
    return [[twin.noise(thresholds(setting), row) for row in rows] for rows in words.rows.tolist()]


def near_a_threshold(setting: Setting) -> st.SearchStrategy[int]:
    """A threshold, or a number that agrees with one in its first one to four words."""
    nudges = st.sampled_from(
        [0, *(s * 2**bits for bits in (0, 64, 128, 192, 256) for s in (1, -1))]
    )
    near = st.builds(lambda t, by: t + by, st.sampled_from(thresholds(setting)), nudges)
    return near.filter(lambda u: 0 <= u < 2**UNIFORM_BITS)


@given(st.data(), st.sampled_from(SETTINGS))
def test_noise_is_bit_for_bit_that_of_the_slow_twin(data: st.DataObject, setting: Setting) -> None:
    anywhere = st.integers(0, 2**UNIFORM_BITS - 1)
    uniforms = data.draw(st.lists(anywhere | near_a_threshold(setting), min_size=1))
    words = words_of(*uniforms)
    assert built(setting).noise(words).tolist() == slow_noise(setting, words)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_a_batch_of_random_words_is_that_of_the_slow_twin(setting: Setting) -> None:
    random = np.random.default_rng(setting.top)
    words = twin.GivenWords(random.integers(0, DIGITS, (60, 3, 5), dtype=np.uint64, endpoint=True))
    # Half of the rows start with the first word of a threshold, so that they tie at random.
    first = [t >> 256 for t in thresholds(setting)]
    words.rows[::2, :, 0] = random.choice(np.array(first, dtype=np.uint64), (30, 3))
    assert built(setting).noise(words).tolist() == slow_noise(setting, words)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_every_threshold_is_exact_to_its_last_bit(setting: Setting) -> None:
    """The smallest noise `j` with `u < P(noise <= j)`: `u` at a threshold is beyond it."""
    ends = thresholds(setting)
    top = built(setting).reach
    distinct = [(j, t) for j, t in enumerate(ends, start=-top) if t not in (0, 2**UNIFORM_BITS)]
    steps = [0, *(i for i, (a, b) in enumerate(pairwise(ends), start=1) if a < b)]
    chosen = {0, len(ends) - 1, *steps[:20], *steps[-20:], *steps[:: 1 + len(steps) // 100]}
    picked = [distinct[i] for i in sorted(chosen)]
    below = built(setting).noise(words_of(*(t - 1 for _, t in picked)))[0].tolist()
    at = built(setting).noise(words_of(*(t for _, t in picked)))[0].tolist()
    assert below == [ends.index(t) - top for _, t in picked]
    assert at == [sum(e <= t for e in ends) - top for _, t in picked]
    assert all(b < a for b, a in zip(below, at, strict=True))


@pytest.mark.parametrize("setting", [s for s in SETTINGS if s.epsilon != "22"], ids=str)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_a_tie_of_so_many_words_is_decided_by_the_next(setting: Setting, depth: int) -> None:
    """The words agree with a threshold in `depth` words and miss it by one in the next."""
    unit = 2 ** (64 * (4 - depth))
    ties = [t for t in thresholds(setting) if 0 < t // unit & DIGITS < DIGITS]
    ties = ties[:: 1 + len(ties) // 50]
    for by in (unit, -unit):
        words = words_of(*(t + by for t in ties))
        assert built(setting).noise(words).tolist() == slow_noise(setting, words)
        assert words.asked == 4 * len(ties)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_words_of_all_zeros_and_all_ones_are_the_farthest_noise(setting: Setting) -> None:
    words = words_of(0, 2**UNIFORM_BITS - 1)
    reach = len(thresholds(setting)) // 2
    assert built(setting).noise(words).tolist() == [[-reach, reach]]
    assert reach == built(setting).reach <= setting.top


SHORTENED = [setting for setting in SETTINGS if len(thresholds(setting)) < 2 * setting.top]


@given(st.data(), st.sampled_from(SHORTENED))
def test_noise_is_what_it_was_when_tables_went_on_to_the_ends_of_the_range(
    data: st.DataObject, setting: Setting
) -> None:
    """But for words of all zeros or all ones, which are two in 2**320."""
    whole = twin.whole_thresholds(setting.top, alpha(setting))
    anywhere = st.integers(1, 2**UNIFORM_BITS - 2)
    near = near_a_threshold(setting).filter(lambda u: 0 < u < 2**UNIFORM_BITS - 1)
    words = words_of(*data.draw(st.lists(anywhere | near, min_size=1)))
    before = [twin.noise(whole, row) for row in words.rows[0].tolist()]
    assert built(setting).noise(words).tolist() == [before]


@pytest.mark.parametrize("setting", SHORTENED, ids=str)
def test_the_end_of_a_table_moves_the_law_by_next_to_nothing(setting: Setting) -> None:
    """Of 2**320 uniform numbers one on either side gives other noise than a whole table did."""
    whole = twin.whole_thresholds(setting.top, alpha(setting))
    short, beyond = built(setting).thresholds.exact, setting.top - built(setting).reach
    assert beyond > 0
    assert whole[:beyond] == [1] * beyond
    assert whole[beyond:-beyond] == short
    assert short[0] == 1


@pytest.mark.parametrize("setting", [*SETTINGS[:5], SETTINGS[-1]], ids=str)
def test_what_lies_beyond_a_table_is_next_to_nothing(setting: Setting) -> None:
    """In all, of the true noise: less than 4 in 2**320, on both sides together."""
    reach, odds = built(setting).reach, alpha(setting)
    beyond = 2 * odds ** (reach + 1) / (1 + odds)
    assert reach == setting.top or beyond < Fraction(4, 2**UNIFORM_BITS)
    inner = 2 * odds ** max(1, reach - 1) / (1 + odds)
    assert reach == 1 or inner >= Fraction(4, 2**UNIFORM_BITS)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_further_words_are_read_only_on_a_tie(setting: Setting) -> None:
    firsts = {t >> 256 for t in thresholds(setting)}
    beside = {f + by for f in firsts for by in (1, -1) if 0 <= f + by <= DIGITS} - firsts
    words = words_of(*(word << 256 for word in beside))
    built(setting).noise(words)
    assert words.asked == 0
    words = words_of(*(first << 256 for first in firsts))
    built(setting).noise(words)
    assert words.asked == 4 * len(firsts)


@given(st.data(), st.sampled_from(SETTINGS))
def test_a_release_is_the_level_and_its_noise_held_within_the_domain(
    data: st.DataObject, setting: Setting
) -> None:
    uniform = data.draw(st.integers(0, 2**UNIFORM_BITS - 1))
    level = data.draw(st.integers(0, setting.top))
    words = words_of(uniform)
    noisy = level + slow_noise(setting, words)[0][0]
    released = built(setting).sample(np.array([[level]]), words)
    assert released.tolist() == [[min(max(noisy, 0), setting.top)]]
    assert released.dtype == np.int64


def test_a_batch_of_no_windows_releases_nothing() -> None:
    none = np.empty((0, 2), dtype=np.int64)
    words = twin.GivenWords(np.empty((0, 2, 5), dtype=np.uint64))
    assert built(SETTINGS[0]).sample(none, words).shape == (0, 2)


@pytest.mark.parametrize("setting", EXACTLY_CHECKED, ids=str)
def test_releases_have_the_law_of_the_matrix_to_the_250th_bit(setting: Setting) -> None:
    """Counting all 2**320 numbers: those between neighbouring thresholds give one noise."""
    top, scale = setting.top, 2**UNIFORM_BITS
    ends = [0, *built(setting).thresholds.exact, scale]
    of_noise = {j: Fraction(b - a, scale) for j, (a, b) in enumerate(pairwise(ends), start=-top)}
    for level, true_law in enumerate(law(setting)):
        sampled = [Fraction(0)] * (top + 1)
        for noise, chance in of_noise.items():
            sampled[min(max(level + noise, 0), top)] += chance
        apart = [abs(p - q) for p, q in zip(sampled, true_law, strict=True)]
        assert sum(apart, start=Fraction(0)) / 2 < Fraction(1, 2**250)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_thresholds_are_those_of_sums_of_single_chances(setting: Setting) -> None:
    assert built(setting).thresholds.exact == thresholds(setting)


@pytest.mark.slow
def test_thresholds_of_the_widest_noise_are_those_of_sums_of_single_chances() -> None:
    widest = Setting(100_000, "1", "0.001")
    assert built(widest).reach == MOST_REACHED
    assert built(widest).thresholds.exact == thresholds(widest)


@pytest.mark.parametrize(("epsilon", "reach"), [("10", 221), ("1", 2205), ("0.1", 22043)])
def test_a_table_is_as_long_as_its_noise_goes_and_not_as_its_range(
    epsilon: str, reach: int
) -> None:
    """Some 222 times the noise, for any range: at 0.1 W of 24 kW, 240,000 levels are far more."""
    month = TruncatedGeometric(Domain(0, 24_000, 1, "0.1"), epsilon)
    assert month.domain.top == 240_000
    assert month.reach == reach
    assert len(month.thresholds.exact) == 2 * reach


@pytest.mark.parametrize(
    ("domain", "name"),
    [(Domain(0, 24_000, 1, "0.1"), "resolution"), (Domain(0, 24_000, "0.1"), "step")],
)
def test_noise_that_goes_farther_than_any_table_is_refused(domain: Domain, name: str) -> None:
    refuse(domain, 22_042_191)
    with pytest.raises(InvalidSetting, match=rf"^{name}: lets noise go .* write a larger {name},"):
        refuse(domain, 22_042_190)
    refuse(Domain(0, 100_000, 1), 1)  # where no table is longer


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_alpha_is_the_exponential_of_the_billed_loss(setting: Setting) -> None:
    true = alpha(setting)
    assert abs(Fraction(built(setting).alpha) - true) < true / 10**135


@pytest.mark.parametrize("top", [1, 2, 3, 10])
@pytest.mark.parametrize("odds", [Fraction(1, 2), Fraction(3, 5), Fraction(99, 100)])
def test_the_matrix_is_noise_clamped_to_the_domain(top: int, odds: Fraction) -> None:
    assert matrix(top, odds) == twin.law(top, odds)
    assert {sum(row) for row in matrix(top, odds)} == {1}


@pytest.mark.parametrize("setting", EXACTLY_CHECKED, ids=str)
def test_the_matrix_for_inspection_is_the_law_in_floats(setting: Setting) -> None:
    true_law = np.array(law(setting), dtype=np.float64)
    np.testing.assert_allclose(built(setting).matrix(), true_law, rtol=1e-15)


LEVELS = [0, 1, 20, 40]
FORTY = SETTINGS[3]


def corrected(top: int, odds: Fraction) -> list[Fraction]:
    """The definition in claim 5, in levels."""
    overshoot = odds / (1 - odds)
    return [-overshoot, *map(Fraction, range(1, top)), top + overshoot]


@pytest.mark.parametrize("top", [1, 2, 3, 10, 40])
@pytest.mark.parametrize("odds", [Fraction(1, 2), Fraction(3, 5), Fraction(99, 100)])
def test_the_corrected_value_has_exactly_the_true_level_as_its_mean(
    top: int, odds: Fraction
) -> None:
    for level, chances in enumerate(matrix(top, odds)):
        means = (p * u for p, u in zip(chances, corrected(top, odds), strict=True))
        assert sum(means) == level


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_unbiased_is_the_corrected_value_in_watts(setting: Setting) -> None:
    exact = corrected(setting.top, alpha(setting))
    watts = [float(u * Fraction(setting.step)) for u in exact]
    ours = built(setting).unbiased(np.arange(setting.top + 1))
    np.testing.assert_allclose(ours, watts, rtol=1e-14)


@pytest.mark.parametrize("level", LEVELS)
def test_the_mean_of_the_value_itself_is_off_everywhere_but_in_the_middle(level: int) -> None:
    mean = sum((p * z for z, p in enumerate(law(FORTY)[level])), start=Fraction(0))
    assert (abs(mean - level) < Fraction(1, 10**9)) == (level == 20)


def test_corrected_values_are_watts_of_a_domain_that_need_not_start_at_zero() -> None:
    mechanism = TruncatedGeometric(Domain(-50, 50, 10), "0.0693147181")
    assert mechanism.unbiased(np.array([[0, 5, 10]])) == pytest.approx(
        np.array([[-60, 0, 60]]), rel=1e-8
    )


@pytest.mark.parametrize("setting", EXACTLY_CHECKED, ids=str)
def test_expected_error_is_that_of_the_matrix(setting: Setting) -> None:
    for level, chances in enumerate(law(setting)):
        mean = sum(p * abs(z - level) for z, p in enumerate(chances)) * Fraction(setting.step)
        assert built(setting).expected_error(level) == pytest.approx(float(mean), rel=1e-12)


def test_expected_error_far_from_the_ends_is_that_of_unclamped_noise() -> None:
    far = twin.chances(3000, alpha(FORTY))
    mean = float(sum(2 * d * p for d, p in enumerate(far)))
    assert built(FORTY).expected_error() == pytest.approx(mean, rel=1e-12)


def test_expected_error_holds_where_noise_is_wider_than_any_domain() -> None:
    wide = SETTINGS[6]
    below = twin.at_most(wide.top, alpha(wide))
    for level in (0, 1, 150):
        sides = (level, wide.top - level)
        tails = sum(below[wide.top + 1 - d] for side in sides for d in range(1, side + 1))
        mean = float(tails * Fraction(wide.step))
        assert built(wide).expected_error(level) == pytest.approx(mean, rel=1e-12)


SHARES = [0.0, 0.1, 0.5, 0.9, 0.99, 0.999999]


@pytest.mark.parametrize("setting", EXACTLY_CHECKED, ids=str)
@pytest.mark.parametrize("share", SHARES)
def test_error_quantiles_are_those_of_the_matrix(setting: Setting, share: float) -> None:
    errors = np.abs(np.subtract.outer(np.arange(setting.top + 1), np.arange(setting.top + 1)))
    for level, chances in enumerate(np.array(law(setting), dtype=np.float64)):
        within = [chances[errors[level] <= error].sum() for error in range(setting.top + 1)]
        smallest = next(error for error, chance in enumerate(within) if chance >= share)
        watts = float(smallest * Decimal(setting.step))
        assert built(setting).error_quantile(share, level) == pytest.approx(watts, rel=1e-12)


@pytest.mark.parametrize("share", SHARES)
def test_error_quantiles_far_from_the_ends_are_those_of_unclamped_noise(share: float) -> None:
    far = twin.chances(300, alpha(FORTY))
    within = [far[0]]
    for p in far[1:]:
        within.append(within[-1] + 2 * p)
    smallest = next(error for error, chance in enumerate(within) if chance >= share)
    assert built(FORTY).error_quantile(share) == smallest


@pytest.mark.parametrize("share", [-0.1, 1.0, 1.5, math.nan])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(InvalidSetting, match=r"^share: must be in \[0, 1\); write"):
        built(FORTY).error_quantile(share)


def test_losses_are_billed_in_whole_nano_units_of_what_the_noise_uses() -> None:
    mechanism = TruncatedGeometric(Domain(0, 100, 10), "0.0123456789")
    assert mechanism.nano == 12_345_678
    assert mechanism.epsilon == Decimal("0.012345678")
    assert mechanism.alpha == TruncatedGeometric(mechanism.domain, "0.012345678").alpha
    assert (mechanism.cost(), mechanism.cost(90)) == (12_345_678, 90 * 12_345_678)


@pytest.mark.parametrize("epsilon", ["0", "-0.01", "NaN", "inf", "0.0000000001", "a tenth", "1e15"])
def test_a_loss_that_makes_no_sense_is_refused(epsilon: str) -> None:
    with pytest.raises(
        InvalidSetting, match=r'^epsilon: .*; write for example "0\.01"$'
    ) as refused:
        TruncatedGeometric(Domain(0, 100, 10), epsilon)
    assert refused.value.field == "epsilon"


@pytest.mark.parametrize("epsilon", ["22.2", "1000000"])
def test_a_loss_that_leaves_no_noise_is_refused(epsilon: str) -> None:
    with pytest.raises(InvalidSetting, match=r"^epsilon: .*no noise is left; write a smaller one$"):
        TruncatedGeometric(Domain(0, 100, 10), epsilon)


def test_a_loss_in_floats_is_refused() -> None:
    with pytest.raises(NotExact, match=r"^epsilon: float .* write it as a string"):
        TruncatedGeometric(Domain(0, 100, 10), 0.01)  # type: ignore[arg-type]


@pytest.mark.parametrize("level", [-1, 11])
def test_an_error_off_the_grid_is_refused(level: int) -> None:
    mechanism = TruncatedGeometric(Domain(0, 10, 1), "0.1")
    with pytest.raises(InvalidSetting, match=r"give one in 0\.\.10"):
        mechanism.expected_error(level)
    with pytest.raises(InvalidSetting, match=r"give one in 0\.\.10"):
        mechanism.error_quantile(0.9, level)
