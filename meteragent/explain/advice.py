"""Settings that somebody should think about again, and what to write instead."""

from collections.abc import Iterator
from math import log

from meteragent.explain.document import Answer, Guarantee, Seen, Spending
from meteragent.explain.loads import TV
from meteragent.explain.words import at_most, listed, protects, time_text, watts_text
from meteragent.privacy.policy import Policy

DOUBTFUL = 10.0
"""Odds by which a film is as good as named, where that is what should be hidden."""
HOUR = 3_600_000


def of_odds(guarantee: Guarantee, loads: tuple[Seen, ...]) -> Iterator[str]:
    """Where people are easier to see through than they may think."""
    tv = next(seen.together for seen in loads if seen.load == TV.name)
    if tv.log_odds > log(DOUBTFUL):
        yield (
            "A TV programme of an hour is hidden badly: its odds change "
            f"{at_most(tv.log_odds)}. Take a smaller epsilon or longer windows if films are to be "
            "hidden."
        )
    shown = [seen.load for seen in loads if not protects(seen.together.log_odds)]
    if shown:
        yield f"Not hidden to speak of: {listed(shown)}."
    if not protects(guarantee.one_release.log_odds):
        yield "One release alone leaves no bound that protects. Take a smaller epsilon."
    elif not protects(guarantee.one_horizon.log_odds):
        yield (
            f"Over {time_text(guarantee.horizon_ms)} the releases add up to no bound "
            "that protects from someone who compares two whole histories. Take a smaller budget, "
            "or a smaller epsilon with it."
        )


def of_noise(policy: Policy, answers: tuple[Answer, ...]) -> Iterator[str]:
    """Where noise drowns an answer, or does nothing."""
    width = float(policy.domain.maximum - policy.domain.minimum)
    step = float(policy.domain.step)
    for answer in answers:
        if answer.noise_scale >= width:
            yield (
                f"The noise on {answer.query} is wider than the range of {watts_text(width)}: it "
                "says next to nothing. Take a larger epsilon or drop the query."
            )
        if answer.error_90.middle < step:
            yield (
                f"Nine of ten answers to {answer.query} are exact: the noise is finer than the "
                f"step of {watts_text(step)}. Take a smaller epsilon."
            )


def of_spending(spending: Spending, policy: Policy) -> Iterator[str]:
    """Where the budget does not last."""
    if spending.lasts_ms is None:
        return
    if spending.lasts_ms <= HOUR:
        yield (
            f"The budget of {time_text(policy.horizon)} is spent within "
            f"{time_text(spending.lasts_ms)}. Take a larger budget, a smaller "
            "epsilon or longer windows."
        )
    else:
        yield f"{spending.windows - spending.released:,} of {spending.windows:,} windows miss out."
