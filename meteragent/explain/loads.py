"""Everyday loads, and how well all releases together can tell that one of them ran.

The sizes are typical ones, rounded up. A load is a sum of parts, and its bound is the sum of
theirs: the home with it is reached from the home without it by switching on one part at a time.
"""

from dataclasses import dataclass
from functools import lru_cache

from meteragent.explain.guarantee import most_spent
from meteragent.explain.leakage import Load, Within
from meteragent.privacy.exact import epsilon_at
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import About
from meteragent.privacy.terms import JOINT
from meteragent.privacy.units import LITRE_AN_HOUR, WATT

MINUTE, HOUR, DAY = 60, 3600, 86_400


@dataclass(frozen=True, slots=True)
class Everyday:
    """Something that people do at home; `parts` are (how often, what)."""

    name: str
    meaning: str
    parts: tuple[tuple[int, Load], ...]


_KETTLE, _OVEN = Load(2000, 3 * MINUTE), Load(2500, 45 * MINUTE)

TV = Everyday(
    "TV programme",
    "an hour of one programme or of another, 15 W apart on average",
    ((1, Load(15, HOUR)),),
)
"""In public plug recordings of six sets, nineteen of twenty pairs of hours on one set are at most
16 W apart on average; only a set that dims its light with the picture goes further, up to 64 W."""
EVERYDAY = (
    TV,
    Everyday("fridge cycle", "100 W for 20 min", ((1, Load(100, 20 * MINUTE)),)),
    Everyday("kettle", "2 kW for 3 min", ((1, _KETTLE),)),
    Everyday(
        "washing machine",
        "300 W for 90 min, and its heater of 2 kW for 20 min",
        ((1, Load(300, 90 * MINUTE)), (1, Load(2000, 20 * MINUTE))),
    ),
    Everyday("oven", "2.5 kW for 45 min", ((1, _OVEN),)),
    Everyday("heat pump", "2 kW for 3 h", ((1, Load(2000, 3 * HOUR)),)),
    Everyday("EV charge", "7.4 kW for 4 h", ((1, Load(7400, 4 * HOUR)),)),
    Everyday(
        "empty house",
        "for a day: without 200 W all day, 200 W of light and screens for 6 h, the oven once "
        "and the kettle four times",
        ((1, Load(200, DAY)), (1, Load(200, 6 * HOUR)), (1, _OVEN), (4, _KETTLE)),
    ),
)

OF_FLOWS = (
    Everyday("toilet flush", "6 l in a minute", ((1, Load(360, MINUTE)),)),
    Everyday("shower", "9 l/min for 8 min", ((1, Load(540, 8 * MINUTE)),)),
    Everyday("bath", "12 l/min for 12 min", ((1, Load(720, 12 * MINUTE)),)),
    Everyday("garden hose", "15 l/min for half an hour", ((1, Load(900, 30 * MINUTE)),)),
    Everyday("gas hob", "150 l/h of gas for half an hour", ((1, Load(150, 30 * MINUTE)),)),
    Everyday("gas boiler", "2 m3/h of gas for 3 h", ((1, Load(2000, 3 * HOUR)),)),
)
"""Of water and of gas."""


def everyday(policy: Policy) -> tuple[Everyday, ...]:
    """What can be told from what a policy is about; of reactive power none is known."""
    return {WATT: EVERYDAY, LITRE_AN_HOUR: OF_FLOWS}.get(policy.domain.unit, ())


@dataclass(frozen=True, slots=True)
class Traces:
    """What a load leaves in the releases: log-odds, each an upper bound."""

    by_query: dict[str, float]
    together: float
    capped: bool
    """Whether the budget is what bounds them together."""


def traces(load: Everyday, policy: Policy, held: int, *, days: int = 1, carried: int = 0) -> Traces:
    """How well the releases of a policy can tell whether a load ran, once a day.

    Precondition: what is released holds `held` readings or more, each perhaps `carried` on for so
    many slots. Postcondition: upper bounds
    over every home, and every time of day. Why the cap: whatever a load moves, it moves no
    reading by more than its watts, so no release tells more of it than the release cost, and
    the ledger bounds what releases cost.
    """
    by_query = dict.fromkeys((asked.query.name for asked in policy.questions), 0.0)
    together, capped = 0.0, False
    for often, part in load.parts:
        cap = _cap(part, policy, days)
        for name, exponent in _alone(part, policy, held, carried).items():
            by_query[name] += often * min(days * exponent, cap)
        told = days * _together(part, policy, held, carried)
        together += often * min(told, cap)
        capped = capped or cap < told
    return Traces(by_query, together, capped)


@lru_cache(maxsize=1024)
def _alone(part: Load, policy: Policy, held: int, carried: int) -> dict[str, float]:
    """What the releases of each query tell, seen alone."""
    frame = (policy.domain, policy.windows, held, carried, _within(policy, held))
    return {
        asked.query.name: part.exponent((asked.query,), asked.nano, *frame)
        for asked in policy.questions
    }


def _together(part: Load, policy: Policy, held: int, carried: int) -> float:
    """What all of them tell: their sum, or where they share a draw as much as is moved most."""
    if policy.noise != JOINT:
        return sum(_alone(part, policy, held, carried).values())
    queries = tuple(asked.query for asked in policy.questions)
    nano = policy.questions[0].nano
    frame = (policy.domain, policy.windows, held, carried, _within(policy, held))
    return part.exponent(queries, nano, *frame)


def _within(policy: Policy, held: int) -> dict[About, Within]:
    """The hours that it asks for readings of, and how many of these windows hold at least."""
    needed = policy.needed_among if held < policy.fewest_slots else int
    extremes, of_hours = policy.asking.extremes_of, policy.asking.of_hours.items()
    return {
        about: Within(hours, needed(extremes[about][0]))
        for about, hours in of_hours
        if not about.part
    }


def told_better(policy: Policy) -> list[str]:
    """Loads that joint noise hides worse than independent noise with the same mean error would.

    Noise of its own on each of `m` answers has that error at a loss of `2 / (m + 1)` of the joint
    draw's for each. Precondition: the policy's noise is joint.
    """
    share, held = 2 / (len(policy.questions) + 1), policy.fewest_slots
    return [
        load.name
        for load in everyday(policy)
        if sum(often * _together(part, policy, held, 0) for often, part in load.parts)
        > share
        * sum(often * sum(_alone(part, policy, held, 0).values()) for often, part in load.parts)
    ]


def _cap(load: Load, policy: Policy, days: int) -> float:
    """What all releases of the windows cost that the load can touch, at its watts."""
    domain, windows = policy.domain, policy.windows
    seconds = (days - 1) * DAY + load.seconds
    touched = windows.holding(windows.readings(seconds * 1000))
    apart = domain.levels_apart(load.watts) * domain.resolution
    return float(epsilon_at(most_spent(policy, touched), apart))
