"""What is said of a policy is what the core does: matrices, draws, accounts and windows."""

from __future__ import annotations

import math
import re
from dataclasses import astuple
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from meteragent import Domain, Entropy, TruncatedGeometric
from meteragent.explain.document import Bound, Part
from meteragent.explain.explain import explain
from meteragent.explain.guarantee import Guarantee, most_spent
from meteragent.explain.habits import told
from meteragent.explain.leakage import Load
from meteragent.explain.loads import EVERYDAY, Everyday, traces
from meteragent.explain.words import (
    at_most,
    factor,
    listed,
    share_text,
    significant,
    time_text,
)
from meteragent.privacy.entropy import tag
from meteragent.privacy.exact import NANO
from meteragent.privacy.ledger import Ledger
from meteragent.privacy.query import answer
from meteragent.privacy.question import question
from tests import given as kit
from tests.given import HOUR, KEY, MINUTE, SECOND
from tests.statistical.judge import FALSE_POSITIVE, margin_of_mean

if TYPE_CHECKING:
    from meteragent.explain.document import Explanation
    from meteragent.privacy.policy import Policy

RADIUS = Decimal(100)


def policy(**changes: Any) -> Policy:  # noqa: ANN401
    """Two queries of quarters of an hour, on a grid that a matrix fits."""
    settings: dict[str, Any] = {
        "domain": Domain(0, 400, 10),
        "questions": (question("avg", 1, 100), question("p95", "0.5", 100)),
        "size": 15 * MINUTE,
        "interval": MINUTE,
        "budget": 144 * NANO // 100,
        "horizon": 24 * HOUR,
    } | changes
    return kit.policy(**settings)


def explained(**changes: Any) -> Explanation:  # noqa: ANN401
    return said_of(policy(**changes))


def said_of(asked: Policy, radius: Decimal = RADIUS) -> Explanation:
    return explain(Guarantee("test", asked, radius))


# One answer, against the exact matrix and against draws.


def mechanisms(of: Policy) -> list[TruncatedGeometric]:
    return [TruncatedGeometric(of.domain, asked.epsilon) for asked in of.questions]


@pytest.mark.parametrize("epsilon", ["0.05", "1", "9"])
@pytest.mark.parametrize("maximum", [10, 50, 400])
def test_an_answers_numbers_are_those_of_the_matrix(epsilon: str, maximum: int) -> None:
    asked = policy(domain=Domain(0, maximum, 10), questions=(question("avg", epsilon, 100),))
    [said] = said_of(asked).answers
    [law] = (mechanism.matrix() for mechanism in mechanisms(asked))
    errors = 10 * np.abs(np.subtract.outer(np.arange(len(law)), np.arange(len(law))))
    for level, mean, most in (
        ((len(law) - 1) // 2, said.expected_error.middle, said.error_90.middle),
        (0, said.expected_error.minimum, said.error_90.minimum),
    ):
        assert mean == pytest.approx(errors[level] @ law[level], rel=1e-9)
        assert law[level][errors[level] <= most].sum() >= 0.9 * (1 - 1e-12)
        assert law[level][errors[level] < most].sum() < 0.9
    assert said.times == pytest.approx(law.max(axis=0).sum(), rel=1e-9)
    assert said.plus == pytest.approx(1 - law.min(axis=0).sum(), rel=1e-9)
    assert said.bits == pytest.approx(math.log2(law.max(axis=0).sum()), rel=1e-9)


def test_the_noise_scale_is_where_errors_are_e_times_rarer() -> None:
    asked = policy(domain=Domain(0, 400, 10))
    for said, mechanism in zip(explained().answers, mechanisms(asked), strict=True):
        row = mechanism.matrix()[5]
        assert row[5] / row[5 + round(said.noise_scale / 10)] == pytest.approx(math.e)


DRAWS = 80_000


def errors_drawn(mechanism: TruncatedGeometric, level: int) -> np.ndarray[Any, Any]:
    entropy = Entropy(KEY, bytes(16))
    answers = np.full((DRAWS, 1), level)
    tags = np.tile(np.frombuffer(tag("m-17"), dtype=np.uint8), (DRAWS, 1))
    starts, heard = np.arange(DRAWS) * 900_000, np.ones(DRAWS, dtype=np.int64)
    words = entropy.words(tags, starts, heard, answers, 1)
    released = mechanism.sample(answers, words)
    return np.abs(released[:, 0] - level) * 10


def agree(mean: float, most: float, errors: np.ndarray[Any, Any], law: Any) -> bool:  # noqa: ANN401
    """Whether draws may have this mean and 90 % quantile; wrongly denied with chance < 3e-8.

    The mean by Bernstein's bound at 1e-8; each side of the quantile by one binomial tail at
    1e-8, both exact.
    """
    distances = 10.0 * np.abs(np.arange(len(law[0])) - law[1])
    near = abs(errors.mean() - mean) <= margin_of_mean(distances, law[0], len(errors))
    within = stats.binom.cdf((errors <= most).sum(), len(errors), 0.9) > FALSE_POSITIVE
    tight = stats.binom.sf((errors < most).sum() - 1, len(errors), 0.9) > FALSE_POSITIVE
    return bool(near and within and tight)


@pytest.mark.parametrize("place", ["middle", "minimum"])
@pytest.mark.parametrize("number", [0, 1])
def test_errors_are_those_of_drawn_releases(place: str, number: int) -> None:
    roomy = {"domain": Domain(0, 1000, 10)}
    said, mechanism = explained(**roomy).answers[number], mechanisms(policy(**roomy))[number]
    level = 50 if place == "middle" else 0
    mean, most = getattr(said.expected_error, place), getattr(said.error_90, place)
    law = (mechanism.matrix()[level], level)
    errors = errors_drawn(mechanism, level)
    assert agree(mean, most, errors, law)
    assert not agree(mean * 1.05, most, errors, law)
    assert not agree(mean, most - 40, errors, law)
    assert not agree(mean, most + 40, errors, law)


# The guarantee, against matrices.


def test_the_odds_of_one_release_are_those_of_its_matrices() -> None:
    """Two windows whose answers all differ by the radius; the likeliest release tells most."""
    told = 0.0
    for mechanism in mechanisms(policy()):
        logs = np.log(mechanism.matrix())
        told += np.abs(logs[5] - logs[15]).max()
    assert explained().guarantee.one_release.log_odds == pytest.approx(told)
    assert explained().guarantee.known_within == 50


def test_worlds_between_two_steps_are_told_as_the_wider_ones() -> None:
    said = said_of(policy(), Decimal(25)).guarantee
    assert said.one_release.log_odds == pytest.approx(30 * 0.015)
    assert said.known_within == 12.5


def test_worlds_beyond_the_range_are_as_far_apart_as_it_goes() -> None:
    said = said_of(policy(), Decimal(9999)).guarantee
    assert said.one_release.log_odds == pytest.approx(400 * 0.015)


def test_a_budget_bounds_a_horizon_and_so_does_what_there_is_to_spend() -> None:
    rich, poor = explained(budget=NANO * 100), explained(budget=NANO)
    assert rich.guarantee.one_horizon.log_odds == pytest.approx(96 * 1.5)
    assert rich.guarantee.horizon_per_watt == "1.44"
    assert poor.guarantee.one_horizon.log_odds == pytest.approx(100)
    assert poor.guarantee.window_per_watt == "0.015"


def test_the_guarantee_says_its_own_numbers() -> None:
    first, other, guess, _, general, presence = explained(budget=90_000_000).guarantee.sentences
    assert first == (
        "Someone who already knows every reading of a home to within 50 W either way improves "
        "the odds of any guess by at most x4.49 from one release (avg and p95 of 15 min), and by "
        "at most x8,110 from all releases of 24 h that start or end with a window."
    )
    assert other == (
        "All releases of any other 24 h, which touch one window more, improve the odds by at most "
        "x36,400."
    )
    assert guess == (
        "Of any number of stories whose readings lie within 100 W of one another, one release "
        "lets nobody name the right one more than 1.88 times as often as before."
    )
    assert general.endswith(
        "exp(0.015 x W) from one release, exp(0.09 x W) in 24 h that start or end with a window, "
        "and exp(0.105 x W) in any 24 h."
    )
    assert "can be seen" in presence
    filling = explained(fill_limit=15 * MINUTE).guarantee.sentences
    assert any("holds the last one of its window, for up to 15 min" in said for said in filling)
    assert explained(presence="private").guarantee.sentences[-1] == (
        "Which readings arrived is protected too, as far as a load of the whole range is: one "
        "release improves the odds of guessing which did by at most x404."
    )


# The budget, against the ledger.

FEW = st.integers(1, 40)


@st.composite
def thrifty(draw: st.DrawFn) -> Policy:
    slots = draw(st.integers(1, 5))
    costs = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    names = ("avg", "p95", "max")
    return policy(
        questions=tuple(question(n, c, 1) for n, c in zip(names, costs, strict=False)),
        size=slots * MINUTE,
        hop=draw(st.integers(1, slots)) * MINUTE,
        horizon=draw(st.integers(slots, 400)) * MINUTE,
        budget=draw(st.integers(costs[0], 300)) * NANO,
        on_exhausted=draw(st.sampled_from(["suppress", "partial"])),
    )


def granted_in_turn(asked: Policy, windows: int) -> list[int]:
    """How many queries of each window in turn an account pays for."""
    ledger, account = Ledger(asked.terms, 1), np.zeros(1, dtype=np.int64)
    starts = (np.array([number * asked.hop]) for number in range(windows))
    return [int(ledger.charge(account, start)[0]) for start in starts]


@given(asked=thrifty())
def test_spending_is_what_the_ledger_grants(asked: Policy) -> None:
    said = said_of(asked).spending
    once = granted_in_turn(asked, said.windows)
    whole = len(asked.questions)
    assert once.count(whole) == said.released
    assert [(p.queries, p.windows) for p in said.partly] == [
        (n, once.count(n)) for n in range(whole - 1, 0, -1) if n in once
    ]
    lasts = next((i for i, n in enumerate(once) if n < whole), None)
    assert said.lasts_ms == (None if lasts is None else lasts * asked.hop)


def test_windows_that_only_coarse_accounts_count_are_counted() -> None:
    """288 windows touch a day, but buckets of three make 291 of them wait for each other."""
    short = policy(size=5 * MINUTE, hop=5 * MINUTE, budget=288 * 15_000_000)
    said = said_of(short).spending
    assert (said.windows, said.released, said.lasts_ms) == (291, 288, 24 * HOUR)
    assert granted_in_turn(short, 291 * 2).count(2) == 288 * 2


def test_no_more_windows_are_released_in_part_than_there_are() -> None:
    dear = (question("avg", 1, 100), question("p95", 500, 100))
    said = explained(questions=dear, budget=2 * NANO, on_exhausted="partial").spending
    assert said.released == 0
    assert said.partly == (Part(1, 96),)


@given(asked=thrifty(), windows=FEW, first=FEW)
def test_windows_in_a_row_spend_no_more_than_is_said(
    asked: Policy, windows: int, first: int
) -> None:
    prices = np.cumsum([0, *asked.terms.costs])
    spent = [int(prices[n]) for n in granted_in_turn(asked, first + windows)]
    assert sum(spent[first:]) <= most_spent(asked, windows)
    assert sum(spent[:windows]) <= most_spent(asked, windows)


def test_spending_is_said_in_words() -> None:
    assert explained().spending.sentence == (
        "The budget of 24 h covers every window: none is ever withheld for it."
    )
    assert explained(budget=NANO * 24 // 100).spending.sentence == (
        "The budget of 24 h pays for 16 whole releases of the 96 windows that count against it; "
        "the other 80 are suppressed: they are announced, without a value. A full budget lasts "
        "4 h; what was spent comes back within 24 h."
    )
    partial = explained(budget=NANO * 25 // 100, on_exhausted="partial").spending
    assert "against it, then for avg of 1 more; the other 79 are" in partial.sentence
    covering = explained(budget=NANO * 143 // 100 + 5_000_000, on_exhausted="partial").spending
    assert covering.sentence.startswith(
        "The budget of 24 h pays for 95 whole releases of the 96 windows that count against it, "
        "then for avg of 1 more. A full budget lasts 23 h 45 min;"
    )


# Loads, against homes.


def told_apart(asked: Policy, load: Load, begin: int, base: int) -> float:
    """What the exact law of every window tells between a flat home and one with the load."""
    slots, hop = asked.slots, asked.hop // asked.interval
    running = math.ceil(load.seconds * 1000 / asked.interval) + 1
    without = np.full(begin + running + 2 * slots, base)
    with_it = without.copy()
    with_it[begin : begin + running] += round(load.watts / 10)
    starts = range(0, len(without) - slots + 1, hop)
    told = 0.0
    for one, mechanism in zip(asked.questions, mechanisms(asked), strict=True):
        logs = np.log(mechanism.matrix())
        homes = [
            answer((one.query,), np.array([home[s : s + slots] for s in starts]))[:, 0]
            for home in (without, with_it)
        ]
        told += np.abs(logs[homes[0]] - logs[homes[1]]).max(axis=1).sum()
    return told


@pytest.mark.parametrize("hop", [5, 15])
@pytest.mark.parametrize("minutes", [1, 14, 40])
def test_no_home_shows_more_of_a_load_than_is_said_and_one_as_much(hop: int, minutes: int) -> None:
    load = Load(100, minutes * 60)
    for name in ("avg", "max"):
        asked = policy(questions=(question(name, 1, 100),), hop=hop * MINUTE, budget=NANO * 100)
        said = traces(Everyday("x", "", ((1, load),)), asked, asked.slots)
        told = [told_apart(asked, load, begin, 5) for begin in range(15, 30)]
        assert max(told) <= said.together * (1 + 1e-9)
        assert said.together == said.by_query[name]
        if name == "max":
            assert max(told) == pytest.approx(said.together)


def test_queries_add_up_and_parts_too() -> None:
    kettle = (1, Load(100, 60))
    alone = traces(Everyday("x", "", (kettle,)), policy(), 15)
    assert alone.together == pytest.approx(sum(alone.by_query.values()))
    thrice = traces(Everyday("x", "", (kettle, (2, Load(100, 60)))), policy(), 15)
    assert thrice.together == pytest.approx(3 * alone.together)
    assert not thrice.capped


def test_no_load_shows_more_than_the_budget_pays_for() -> None:
    """Ten hours touch 42 windows, one horizon; the budget pays for two releases of 100 W."""
    poor = policy(budget=30_000_000)
    said = traces(Everyday("x", "", ((1, Load(100, 36_000)),)), poor, 15)
    assert said.capped
    assert said.together == pytest.approx(3)
    assert said.by_query == {"avg": pytest.approx(3), "p95": pytest.approx(3)}


def test_a_load_of_a_day_meets_the_budget_twice() -> None:
    """It can touch 97 windows: those of one horizon, and one more."""
    poor = policy(budget=45_000_000)
    said = traces(Everyday("x", "", ((1, Load(100, 86_400)),)), poor, 15)
    assert said.together == pytest.approx(4.5 + 1.5)


def test_every_load_is_told_by_query_and_together() -> None:
    said = explained()
    assert [seen.load for seen in said.loads] == [load.name for load in EVERYDAY]
    for seen, load in zip(said.loads, EVERYDAY, strict=True):
        left, whole = (traces(load, policy(), held) for held in (1, 15))
        habit = traces(load, policy(), 15, days=30)
        assert seen.together == Bound.of(left.together)
        assert (seen.without_gaps, seen.habit) == (
            Bound.of(whole.together),
            Bound.of(habit.together),
        )
        assert {n: b.log_odds for n, b in seen.by_query.items()} == left.by_query
        assert astuple(seen.right) == tuple(told(load, policy(), days) for days in (1, 7, 30))
        assert 0.5 <= seen.right.once <= seen.right.week <= seen.right.month <= 1


@pytest.mark.parametrize("noise", ["independent", "joint"])
def test_a_guess_among_stories_within_the_radius_gains_what_is_said(noise: str) -> None:
    """All levels of the radius are stories; of two answers both are as many."""
    asked = policy(questions=(question("avg", 1, 100), question("max", 1, 100)), noise=noise)
    said = said_of(asked, Decimal(20)).guarantee
    assert said.guess == pytest.approx(
        {"independent": (1 + 2 * math.tanh(0.05)) ** 2, "joint": 1.105}[noise], abs=2e-3
    )
    assert f"more than {significant(said.guess, ROUND_CEILING)} times" in " ".join(said.sentences)
    assert said.guess <= (said.one_release.odds or math.inf)


def test_a_window_with_gaps_tells_more_of_a_load() -> None:
    """The oven of `tv-content`: said to be x26.6, and x50.4 where a fifth of a day is missing."""
    asked = policy(
        domain=Domain(0, 24_000, 2),
        questions=(question("avg", 1, 25),),
        size=24 * HOUR,
        hop=24 * HOUR,
        interval=10 * SECOND,
        min_coverage=Decimal("0.8"),
        budget=2 * NANO,
    )
    [oven] = [seen for seen in said_of(asked).loads if seen.load == "oven"]
    assert factor(oven.without_gaps.log_odds) == "x26.6"
    readings, without = np.arange(6912), np.full(6912, 400.0)
    with_it = np.where(readings < 45 * 6, 2900.0, 400.0)
    levels = [asked.domain.levels(one)[np.newaxis] for one in (without, with_it)]
    moved = np.ptp([answer((asked.questions[0].query,), one)[0, 0] for one in levels])
    assert factor(moved * 0.08) == "x50.5"
    assert oven.together.log_odds >= moved * 0.08


def test_where_presence_is_private_one_reading_may_be_all_there_is() -> None:
    private = explained(presence="private", budget=NANO * 100)
    assert policy(presence="private").needed == 1
    [kettle] = [seen for seen in private.loads if seen.load == "kettle"]
    assert kettle.together.log_odds == pytest.approx(2 * 400 * 0.015)
    assert kettle.without_gaps.log_odds < kettle.together.log_odds


def test_a_habit_adds_up_until_the_budget_of_its_days_is_spent() -> None:
    """Ten hours a day touch 42 windows each; of 2,825 windows in a row 96 share a budget."""
    asked, load = (question("avg", "0.1", 100),), Everyday("x", "", ((1, Load(100, 36_000)),))
    for budget, together in ((NANO * 100, None), (1_500_000, 30 * 0.15)):
        of = policy(budget=budget, questions=asked)
        alone, habit = (traces(load, of, 15, days=days) for days in (1, 30))
        assert habit.capped == (together is not None)
        assert habit.together == pytest.approx(together or 30 * alone.together)


def test_odds_that_no_float_holds_are_none() -> None:
    assert Bound.of(1.0) == Bound(1.0, math.e)
    assert Bound.of(1000.0) == Bound(1000.0, None)


# Warnings.

WIDE = {"domain": Domain(0, 24_000, 10), "budget": NANO * 10}
BARE = {"questions": (question("avg", 5, 100),)}
CALM = {"domain": Domain(0, 24_000, 10), "questions": (question("avg", 1, 20_000),)}
CALM |= {"size": 24 * HOUR, "hop": 24 * HOUR}


def warned(**changes: Any) -> str:  # noqa: ANN401
    return "\n".join(explained(**changes).warnings)


def test_a_setting_that_protects_and_lasts_is_not_warned_of() -> None:
    assert warned(**CALM) == ""


def test_a_range_is_as_wide_where_it_begins_below_nothing() -> None:
    """A home that feeds in: 24 kW, not 0 W between -12 kW and 12 kW."""
    below = {**CALM, "domain": Domain(-12_000, 12_000, 10)}
    assert "wider than the range" not in warned(**below)
    drowned = {**below, "questions": (question("avg", "0.1", 100_000),)}
    assert "wider than the range of 24,000 W" in warned(**drowned)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (BARE, "An hour of television is poorly hidden: the best attacker is right in up to 8"),
        (WIDE, "Effectively not hidden: kettle, "),
        (WIDE, "Over 24 h the releases add up to no bound"),
        ({"questions": (question("avg", 20, 100),)}, "One release alone leaves no bound"),
        ({"questions": (question("p95", "0.1", 100),)}, "noise on p95 is wider than the range of"),
        ({"questions": (question("avg", 50, 100),)}, "Nine of ten answers to avg are exact"),
        (
            {"questions": (question("avg", 3, 100),)},
            (
                "The step of 10 W is coarser than a quarter of the noise on avg, which is 32.8 W "
                "on average: what moves an answer by less can show as a whole level. Write "
                'resolution = "5W" or finer.'
            ),
        ),
        (
            {"questions": (question("avg", 40, 100),), "domain": Domain(0, 400, 10, 5)},
            "The resolution of 5 W is coarser than a quarter of the noise on avg",
        ),
        ({"budget": 60_000_000}, "The budget of 24 h is spent within 1 h. Take"),
        ({"budget": 75_000_000}, "91 of 96 windows will be withheld."),
    ],
)
def test_what_protects_little_or_does_not_last_is_warned_of(
    changes: dict[str, Any], words: str
) -> None:
    assert words in warned(**changes)
    assert words not in warned(**CALM)


@pytest.mark.parametrize("noise", ["independent", "joint"])
@pytest.mark.parametrize("epsilon", ["2.4", "2.6", "5", "9", "15", "19", "25", "29"])
def test_a_grid_that_is_finer_as_is_advised_is_fine_enough(epsilon: str, noise: str) -> None:
    asked = {"questions": (question("avg", epsilon, 100),), "noise": noise}
    said = warned(**asked)
    advised = re.findall(r'Write resolution = "([.\d]+)W" or finer', said)
    assert len(advised) == (epsilon != "2.4")
    for resolution in advised:
        finer = Domain(0, 400, 10, resolution)
        assert "coarser" not in warned(**asked, domain=finer)


def test_a_finer_grid_is_not_said_to_be_optimal() -> None:
    said = explained(domain=Domain(0, 400, 10, "0.1")).guarantee.sentences
    [told] = set(said) - set(explained().guarantee.sentences)
    assert told.startswith("Answers lie on a grid of 0.1 W, finer than that of the readings: ")
    assert "another mechanism that keeps the same promise might serve a reader better" in told


# Numbers in words.


@given(st.floats(0, 13.8))
def test_a_bound_is_never_said_to_be_smaller_than_it_is(log_odds: float) -> None:
    said = float(factor(log_odds).removeprefix("x").replace(",", ""))
    assert math.exp(log_odds) <= said <= math.exp(log_odds) * 1.01 + 1e-9


@pytest.mark.parametrize(
    ("log_odds", "words"),
    [
        (0.5, "by at most x1.65"),
        (1.5, "by at most x4.49"),
        (9, "by at most x8,110"),
        (14, "without a bound that protects"),
        (10_000, "without a bound that protects"),
    ],
)
def test_a_bound_that_protects_nothing_is_called_none(log_odds: float, words: str) -> None:
    assert at_most(log_odds) == words


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0, "0"), (1.0, "1"), (99.83, "99.8"), (1234.5, "1,230"), (0.01234, "0.0123"), (1e-9, "0")],
)
def test_three_digits_are_enough_for_people(number: float, text: str) -> None:
    assert significant(number) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0.5, "50 %"), (0.52001, "52.1 %"), (0.9999, "100 %"), (1.0, "100 %")]
)
def test_a_share_is_never_said_to_be_smaller_than_it_is(share: float, text: str) -> None:
    assert share_text(share) == text


def test_lists_and_times_read_well() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert time_text(24 * HOUR) == "24 h"
    assert time_text(48 * HOUR + 90 * MINUTE) == "2 d 1 h 30 min"
