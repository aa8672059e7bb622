"""A policy, explained: numbers that follow from it, and sentences that say what they mean.

Everything is computed from the configuration alone; it may be published. Numbers are exact
in the document, and rounded in sentences: bounds up, so that what is said always holds.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cache, partial
from math import log2

from meteragent.explain import advice
from meteragent.explain.bills import sum_quantile
from meteragent.explain.document import (
    Answer,
    At,
    Bound,
    Choice,
    Explanation,
    Part,
    Seen,
    Spending,
    Success,
    Together,
)
from meteragent.explain.guarantee import Guarantee
from meteragent.explain.habits import told
from meteragent.explain.leakage import bits
from meteragent.explain.loads import Everyday, everyday, traces
from meteragent.explain.one_home import of_one_home
from meteragent.explain.words import listed, span_text, time_text
from meteragent.privacy.exact import NANO, per_watt_text
from meteragent.privacy.group import GroupPolicy
from meteragent.privacy.joint import JointGeometric
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import NAMED
from meteragent.privacy.question import Question
from meteragent.privacy.terms import JOINT

WEEK, HABIT = 7, 30
"""Days of a habit whose traces are added up."""
MONTH = 30 * 86_400_000


def explain(guarantee: Guarantee, *, match: str = "", choice: Choice | None = None) -> Explanation:
    """What a policy promises, costs and gives."""
    policy, promised = guarantee.policy, guarantee.promised()
    loads = tuple(_seen(load, policy) for load in everyday(policy))
    once = {seen.load: seen.right.once for seen in loads}
    return Explanation(
        guarantee.name,
        match,
        "groups" if isinstance(policy, GroupPolicy) else "meters",
        policy.id,
        choice,
        promised,
        answers(policy),
        together(policy),
        _spending(policy),
        loads,
        tuple(_doubts(guarantee, once)),
        policy.domain.unit,
    )


def doubts(guarantee: Guarantee, *, of_loads: bool = True) -> tuple[str, ...]:
    """What `explain` warns of; worked out without habits, which take longer.

    `of_loads`: also what is not hidden, which is no fault where something else is to be.
    """
    home = of_one_home(guarantee.policy)
    once = {load.name: told(load, home) for load in everyday(guarantee.policy)}
    return tuple(_doubts(guarantee, once, of_loads=of_loads))


def _doubts(
    guarantee: Guarantee, once: Mapping[str, float], *, of_loads: bool = True
) -> Iterator[str]:
    policy = guarantee.policy
    yield from advice.of_grid(guarantee)
    yield from advice.of_films(once)
    if of_loads:
        yield from advice.of_loads(once)
    yield from advice.of_bounds(guarantee)
    yield from advice.of_noise(policy, answers(policy))
    yield from advice.of_joint(policy)
    yield from advice.of_spending(_spending(policy), policy)


# What a reader of the releases gets.


@cache
def answers(policy: Policy) -> tuple[Answer, ...]:
    """What each of its queries is worth."""
    return tuple(_answer(policy, question) for question in policy.questions)


def _answer(policy: Policy, question: Question) -> Answer:
    mechanism = policy.mechanism(question)
    top = policy.domain.top
    return Answer(
        question.query.name,
        question.epsilon,
        question.query.outputs(policy.slots),
        NANO / question.nano,
        At.of(mechanism.expected_error, top),
        At.of(partial(mechanism.error_quantile, 0.9), top),
        bits(mechanism),
        mechanism.multiplicative_capacity,
        mechanism.additive_capacity,
        _month(policy, question),
    )


def _month(policy: Policy, asked: Question) -> float | None:
    """How far off the mean of a month of averages is at most, in 95 of 100 months."""
    if asked.query != NAMED["avg"] or policy.windows.overlap > 1:
        return None
    windows = max(1, round(MONTH / policy.windows.ahead(1)))
    return sum_quantile(policy, asked, windows, 0.95) / windows


@cache
def together(policy: Policy) -> Together | None:
    """What its answers tell together, where one draw is for all of them."""
    mechanism = policy.mechanism(policy.questions[0])
    if not isinstance(mechanism, JointGeometric):
        return None
    times = mechanism.times_together
    return Together(log2(times), times, mechanism.plus_together)


def bits_told(policy: Policy) -> dict[str, float]:
    """The most that the release of one window tells, in bits, by what it is charged for."""
    whole = together(policy)
    if whole:
        return {JOINT: whole.bits}
    return {answer.query: answer.bits * answer.outputs for answer in answers(policy)}


# Where the budget goes.


def _spending(policy: Policy) -> Spending:
    terms = policy.terms
    windows = terms.per_horizon + terms.slack
    released = bisect_right(range(1, windows + 1), policy.budget, key=terms.dearest)
    left = policy.budget - terms.dearest(released)
    partly = tuple(_partly(policy, left, windows - released)) if terms.partial else ()
    lasts = None if released == windows else policy.windows.ahead(released)
    return Spending(
        per_watt_text(policy.budget),
        windows,
        released,
        partly,
        lasts,
        _spent_in_words(policy, windows, released, partly),
    )


def _partly(policy: Policy, left: int, windows: int) -> Iterator[Part]:
    """What the rest of a budget still buys: always as many leading queries as it covers."""
    costs = policy.terms.costs
    for queries in range(len(costs) - 1, 0, -1):
        price = sum(costs[:queries])
        some = min(left // price, windows)
        if some:
            yield Part(queries, some)
        left, windows = left - some * price, windows - some


def _spent_in_words(policy: Policy, windows: int, released: int, partly: tuple[Part, ...]) -> str:
    span = time_text(policy.horizon)
    if released == windows:
        return f"The budget of {span} covers every window: none is ever withheld for it."
    names = [question.query.name for question in policy.questions]
    parts = "".join(
        f", then for {listed(names[: part.queries])} of {part.windows:,} more" for part in partly
    )
    rest = windows - released - sum(part.windows for part in partly)
    ending = (
        f"; the other {rest:,} are suppressed: they are announced, without a value" if rest else ""
    )
    least = "at least " if policy.terms.timetable else ""
    lasts, back = (span_text(policy.windows, n) for n in (released, windows))
    return (
        f"The budget of {span} pays for {least}{released:,} whole releases of the {windows:,} "
        f"windows that count against it{parts}{ending}. A full budget lasts {lasts}; what was "
        f"spent comes back within {back}."
    )


# What everyday life looks like.


def _seen(load: Everyday, policy: Policy) -> Seen:
    left = traces(load, policy, policy.needed, carried=policy.carried)
    home = of_one_home(policy)
    whole, habit = (traces(load, home, home.fewest_slots, days=days) for days in (1, HABIT))
    return Seen(
        load.name,
        load.meaning,
        {name: Bound.of(exponent) for name, exponent in left.by_query.items()},
        Bound.of(left.together),
        left.capped,
        Bound.of(whole.together),
        Bound.of(habit.together),
        Success(*(told(load, home, days) for days in (1, WEEK, HABIT))),
    )
