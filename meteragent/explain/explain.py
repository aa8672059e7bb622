"""A policy, explained: numbers that follow from it, and sentences that say what they mean.

Everything is computed from the configuration alone; it may be published. Numbers are exact
in the document, and rounded in sentences: bounds up, so that what is said always holds.
"""

from collections.abc import Iterator
from decimal import Decimal
from math import ceil

from meteragent.explain import advice
from meteragent.explain.document import (
    Answer,
    At,
    Bound,
    Choice,
    Explanation,
    Guarantee,
    Part,
    Seen,
    Spending,
)
from meteragent.explain.leakage import additive_capacity, bits, multiplicative_capacity
from meteragent.explain.loads import EVERYDAY, Everyday, most_spent, traces
from meteragent.explain.words import at_most, listed, per_watt_text, power_text, time_text
from meteragent.privacy.exact import NANO
from meteragent.privacy.mechanism import shared
from meteragent.privacy.policy import Policy, Question


def explain(
    policy: Policy,
    radius: Decimal,
    *,
    name: str,
    match: str = "",
    choice: Choice | None = None,
) -> Explanation:
    """What `policy` promises, costs and gives, for worlds `radius` watts apart."""
    guarantee = _guarantee(policy, radius)
    answers = tuple(_answer(policy, question) for question in policy.questions)
    spending = _spending(policy)
    loads = tuple(_seen(load, policy) for load in EVERYDAY)
    warnings = (
        *advice.of_odds(guarantee, loads),
        *advice.of_noise(policy, answers),
        *advice.of_spending(spending, policy),
    )
    return Explanation(
        name, match, policy.id, choice, guarantee, answers, spending, loads, warnings
    )


# The guarantee.


def _guarantee(policy: Policy, radius: Decimal) -> Guarantee:
    release, horizon = (most_spent(policy, windows) for windows in (1, policy.terms.windows))
    levels = min(ceil(radius / policy.domain.step), policy.domain.top)
    apart = levels * float(policy.domain.step)  # on the grid, where all of it happens
    by_release, by_horizon = (Bound.of(apart * nano / NANO) for nano in (release, horizon))
    return Guarantee(
        float(radius / 2),
        by_release,
        by_horizon,
        policy.horizon,
        per_watt_text(release),
        per_watt_text(horizon),
        tuple(_promised_in_words(policy, radius, by_release, by_horizon)),
    )


def _promised_in_words(
    policy: Policy, radius: Decimal, release: Bound, horizon: Bound
) -> Iterator[str]:
    span, window = time_text(policy.horizon), time_text(policy.size)
    asked = listed(question.query.name for question in policy.questions)
    yield (
        f"Someone who already knows every reading of a home to within {power_text(radius / 2)} "
        f"either way improves the odds of any guess {at_most(release.log_odds)} from one release "
        f"({asked} of {window}), and {at_most(horizon.log_odds)} from all releases of {span}."
    )
    yield (
        "That holds whatever they know besides and however they reckon, unless they hold the "
        "noise key or see the readings themselves."
    )
    one, all_of_them = (per_watt_text(most_spent(policy, n)) for n in (1, policy.terms.windows))
    yield (
        "In general: if two versions of a home differ by at most W watts in every reading, W in "
        f"whole steps of {power_text(policy.domain.step)}, the odds between them change by at "
        f"most exp({one} x W) from one release and exp({all_of_them} x W) in {span}."
    )
    yield _PRESENCE[policy.presence]


_PRESENCE = {
    "public": "Which readings arrived is public: a gap in the readings can be seen.",
    "private": "Which readings arrived is protected too, as far as a load of the whole range is.",
}


# What a reader of the releases gets.


def _answer(policy: Policy, question: Question) -> Answer:
    mechanism = shared(policy.domain, question.epsilon)
    middle = policy.domain.top // 2
    return Answer(
        question.query.name,
        question.epsilon,
        question.query.outputs(policy.slots),
        NANO / question.nano,
        At(mechanism.expected_error(middle), mechanism.expected_error(0)),
        At(mechanism.error_quantile(0.9, middle), mechanism.error_quantile(0.9, 0)),
        bits(mechanism),
        multiplicative_capacity(mechanism),
        additive_capacity(mechanism),
    )


# Where the budget goes.


def _spending(policy: Policy) -> Spending:
    terms = policy.terms
    windows = terms.windows + terms.slack
    released, left = divmod(policy.budget, sum(terms.costs))
    released = min(released, windows)
    partly = tuple(_partly(policy, left, windows - released)) if terms.partial else ()
    lasts = None if released == windows else released * policy.hop
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
    lasts, back = (time_text(n * policy.hop) for n in (released, windows))
    return (
        f"The budget of {span} pays for {released:,} whole releases of the {windows:,} windows "
        f"that count against it{parts}{ending}. A full budget lasts {lasts}; what was spent comes "
        f"back within {back}."
    )


# What everyday life looks like.


def _seen(load: Everyday, policy: Policy) -> Seen:
    left = traces(load, policy)
    by_query = {name: Bound.of(exponent) for name, exponent in left.by_query.items()}
    return Seen(load.name, load.meaning, by_query, Bound.of(left.together), left.capped)
