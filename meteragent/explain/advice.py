"""Settings that somebody should think about again, and what to write instead."""

from collections import Counter
from collections.abc import Iterator, Mapping

from meteragent.explain.document import Answer, Spending
from meteragent.explain.guarantee import Guarantee
from meteragent.explain.loads import TV, told_better
from meteragent.explain.words import (
    listed,
    power_text,
    protects,
    share_text,
    time_text,
    watts_text,
)
from meteragent.privacy.policy import Policy
from meteragent.privacy.terms import JOINT
from meteragent.privacy.units import format_watts

TOLD = 0.75
"""Right in more cases is what nobody would call hidden: of four, three."""
HOUR = 3_600_000
FINER = (2, 4, 5, 10, 20, 25, 40)
"""Parts of a level that are written with few digits; noise of which one answer in ten is no longer
exact is more than a tenth of a level, on average."""
SPARSE, UNEVEN = 80, 2
"""Percent of its slots that the middle window holds; how much more some hold than others."""


def of_grid(guarantee: Guarantee) -> Iterator[str]:
    """Where a radius is no whole number of steps, so that more is lost at it than was set."""
    radius, apart, step = guarantee.radius, guarantee.apart, guarantee.policy.domain.step
    unit = guarantee.policy.domain.unit
    if radius >= apart:
        return
    wholes = (whole for whole in (apart - step, apart) if whole)
    instead = " or ".join(f'"{format_watts(whole, unit)}"' for whole in wholes)
    yield (
        f"A radius of {power_text(radius, unit)} is not a whole number of steps of "
        f"{power_text(step, unit)}: readings that far apart can be {power_text(apart, unit)} apart "
        "on the grid. What is said here holds for those, and is more than epsilon and budget say. "
        f"Write radius = {instead}."
    )


def of_films(once: Mapping[str, float]) -> Iterator[str]:
    """Where films are easier to tell than people may think, even if no reading is missing.

    `once`: how often the best attacker is right about each load that ran once.
    """
    if once.get(TV.name, 0) > TOLD:
        yield (
            "An hour of television is poorly hidden: the best attacker is right in up to "
            f"{share_text(once[TV.name])} of cases. Take a smaller epsilon or longer windows if "
            "films are to be hidden."
        )


def of_loads(once: Mapping[str, float]) -> Iterator[str]:
    """Loads that nobody would call hidden; of films more is said elsewhere."""
    shown = [load for load, right in once.items() if right > TOLD and load != TV.name]
    if shown:
        yield (
            f"Effectively not hidden: {listed(shown)}. Of a single one the best attacker is right "
            "in more than three cases of four."
        )


def of_bounds(guarantee: Guarantee) -> Iterator[str]:
    """Where all releases together promise nothing that people would recognise."""
    one_release, one_horizon = (
        float(guarantee.epsilon(nano)) for nano in (guarantee.window, guarantee.horizon)
    )
    if not protects(one_release):
        yield "One release alone leaves no bound that protects. Take a smaller epsilon."
    elif not protects(one_horizon):
        yield (
            f"Over {time_text(guarantee.policy.horizon)} the releases add up to no bound "
            "that protects from someone who compares two whole histories. Take a smaller budget, "
            "or a smaller epsilon with it."
        )


def of_noise(policy: Policy, answers: tuple[Answer, ...]) -> Iterator[str]:
    """Where noise drowns an answer, or does nothing, or the grid is nearly as coarse."""
    width = float(policy.domain.maximum - policy.domain.minimum)
    level, unit = policy.domain.resolution, policy.domain.unit
    for answer in answers:
        if answer.noise_scale >= width:
            yield (
                f"The noise on {answer.query} is wider than the range of "
                f"{watts_text(width, unit)}: it says next to nothing. Take a larger "
                "epsilon or drop the query."
            )
        error = answer.expected_error.middle
        if answer.error_90.middle < level:
            yield (
                f"Nine of ten answers to {answer.query} are exact: the noise is finer than the "
                f"{_level(policy)}. Take a smaller epsilon."
            )
        elif error < 4 * level:
            finer = next(level / parts for parts in FINER if error * parts >= 4 * level)
            yield (
                f"The {_level(policy)} is coarser than a quarter of the noise on {answer.query}, "
                f"which is {watts_text(error, unit)} on average: what moves an answer by less can "
                f'show as a whole level. Write resolution = "{format_watts(finer, unit)}" or finer.'
            )


def _level(policy: Policy) -> str:
    name = "resolution" if policy.domain.finer > 1 else "step"
    return f"{name} of {power_text(policy.domain.resolution, policy.domain.unit)}"


def of_joint(policy: Policy) -> Iterator[str]:
    """Where answers share a draw, which is not always for the better."""
    if policy.noise != JOINT:
        return
    if len(policy.questions) == 1:
        yield "Joint noise is for several queries: for one, it is no better than independent noise."
    elif loads := told_better(policy):
        yield (
            f"Joint noise reveals more about some loads ({listed(loads)}) than independent noise "
            "with the same mean error would: a load shorter than half a window moves an average "
            "only a little, but the answer that moves most counts. To hide these, write "
            'noise = "independent", or take shorter windows.'
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
        withheld = spending.windows - spending.released
        yield f"{withheld:,} of {spending.windows:,} windows will be withheld."


def of_unevenness(held: Counter[int]) -> Iterator[str]:
    """Where meters seem to report on change: `held` counts windows by the percent they hold.

    Most windows hold little, and of those some far more than others.
    """
    windows = sorted(held.elements()) or [0]
    few, middle, many = (windows[len(windows) * share // 10] for share in (1, 5, 9))
    if middle < SPARSE and many > few * UNEVEN:
        yield (
            f"meters report unevenly: a tenth of the windows holds at most {few} % of its slots, a "
            f"tenth at least {many} %; if they report on change, their timing tells what people "
            "do: set fill, and see whether presence should be private"
        )


def of_lateness(late: int, in_time: int) -> Iterator[str]:
    """Where most readings came when their windows had closed."""
    if late > in_time:
        yield (
            f"{late:,} of {late + in_time:,} readings came late, and are thrown away: where a "
            "head-end collects once a day or so, set delay, for example to 36h"
        )


def of_ids(lookalikes: int) -> Iterator[str]:
    """Where ids are told apart that are probably one meter's."""
    if lookalikes:
        yield (
            f"ids that differ from another one in case, width, normal form or spaces alone: "
            f"{lookalikes:,}; each has a budget of its own: if they are one meter, set "
            "normalise_ids"
        )
