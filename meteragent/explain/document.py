"""What is said of a policy: the document behind `meteragent explain`.

Its numbers are exact; powers are in watts, times in milliseconds, what is per watt an exact
decimal. `meteragent schema explanation` prints its JSON Schema.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Literal

from pydantic import ConfigDict, TypeAdapter

from meteragent.explain.leakage import odds
from meteragent.formats.schema import Schema, named, object_of
from meteragent.privacy.exact import NANO

EXPLANATION_SCHEMA = "meteragent.explanation/1"


@dataclass(frozen=True, slots=True)
class Bound:
    """By how much odds can change at most: exactly, and as a factor if a float can hold it."""

    log_odds: float
    odds: float | None

    @classmethod
    def of(cls, log_odds: float) -> "Bound":
        """The bound with this exponent."""
        factor = odds(NANO, log_odds)
        return cls(log_odds, None if factor == inf else factor)


@dataclass(frozen=True, slots=True)
class Promised:
    """What somebody learns who knows every reading to within `known_within` watts either way."""

    sentences: tuple[str, ...]
    """All of it in words; the rest is in numbers."""
    known_within: float
    apart: float
    """How far apart readings can be on the grid that are twice that apart: where it is no whole
    number of steps, that is more."""
    one_release: Bound
    one_horizon: Bound
    """All releases of a stretch of `horizon_ms` that starts or ends with a window."""
    any_horizon: Bound
    """All releases of any stretch of `horizon_ms`: it can touch one window more."""
    guess: float
    """By how much one release multiplies the chance to name the right one of any number of
    stories at most, whose readings lie within `apart` of one another."""
    horizon_ms: int
    window_per_watt: str
    """The loss of one window's release, exactly."""
    horizon_per_watt: str
    """The most that releases of `one_horizon` can lose, exactly."""
    any_horizon_per_watt: str
    """The most that releases of `any_horizon` can lose, exactly."""
    beside: tuple[str, ...]
    """Other policies that the same account pays for."""
    together_one_horizon: Bound
    """All releases of these meters, of a stretch as `one_horizon`, for each of the policies."""
    together_any_horizon: Bound
    """All releases of these meters, of any stretch."""


@dataclass(frozen=True, slots=True)
class At:
    """A measure in watts, which is smaller at the ends of the range, where noise is cut off."""

    middle: float
    """For a true level in the middle of the range."""
    minimum: float
    """For one at the minimum."""

    @classmethod
    def of(cls, measure: Callable[[int], float], top: int) -> "At":
        """What is measured at these levels of a grid that ends with `top`."""
        return cls(measure(top // 2), measure(0))


@dataclass(frozen=True, slots=True)
class Answer:
    """One query's answer about one window; of a query of several answers, one of them."""

    query: str
    epsilon_per_watt: str
    """What one output costs, exactly; where all answers share a draw, what they cost together."""
    outputs: int
    """How many levels answer the query: one, or one for each slot, or for each layer of homes."""
    noise_scale: float
    """The watts over which the chance of an error falls to 1/e; where all answers share a draw, of
    the largest of their errors, in the end."""
    expected_error: At
    error_90: At
    """Nine answers of ten are no further off."""
    bits: float
    """What one output can tell at most, as min-entropy leakage: the logarithm of `times`."""
    times: float
    """By how much an answer can multiply any chance to guess, at most (its capacity)."""
    plus: float
    """By how much it can add to one."""
    month: float | None
    """In 95 of 100 months the mean of 30 days of `unbiased` is no further off, in watts; none but
    for averages of windows that do not overlap."""


@dataclass(frozen=True, slots=True)
class Together:
    """What all answers of one window tell at most, where one draw is for all of them."""

    bits: float
    times: float
    """By how much they can multiply any chance to guess the levels."""
    plus: float
    """By how much they can add to one."""


@dataclass(frozen=True, slots=True)
class Part:
    """So many windows of which the first `queries` queries are released."""

    queries: int
    windows: int


@dataclass(frozen=True, slots=True)
class Spending:
    """How far the budget goes for a meter that reads without a gap."""

    budget_per_watt: str
    windows: int
    """How many windows in a row count against one budget."""
    released: int
    """How many of them are released whole."""
    partly: tuple[Part, ...]
    lasts_ms: int | None
    """How long a full budget lasts; none, if it always does."""
    sentence: str


@dataclass(frozen=True, slots=True)
class Success:
    """How often the best attacker is right at most who says whether a load ran; guessing: in half.

    Where no reading is missing, and all else in the home is known.
    """

    once: float
    week: float
    """If it ran on each of 7 days, or on none."""
    month: float
    """On each of 30 days, or on none."""


@dataclass(frozen=True, slots=True)
class Seen:
    """How well all releases together can tell whether a load ran."""

    load: str
    meaning: str
    by_query: dict[str, Bound]
    together: Bound
    """However many readings are missing: of a window that is released with but a few, an average
    moves farther."""
    capped: bool
    """Whether the budget is what bounds it."""
    without_gaps: Bound
    """The same where no reading is missing."""
    habit: Bound
    """The same where no reading is missing, if it runs every day, after 30 days."""
    right: Success


@dataclass(frozen=True, slots=True)
class Choice:
    """The preset that a policy was made from, and what speaks for its numbers."""

    preset: str
    hides: str
    why: str
    evidence: str
    changed: tuple[str, ...]
    """The settings that are not the preset's; its evidence does not speak for them."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One policy of the configuration."""

    name: str
    match: str
    of: Literal["meters", "groups"]
    policy: str
    choice: Choice | None
    guarantee: Promised
    answers: tuple[Answer, ...]
    together: Together | None
    """None where each answer has a draw of its own: then their losses and bits add up."""
    spending: Spending
    loads: tuple[Seen, ...]
    warnings: tuple[str, ...]
    unit: str
    """What is said to be in watts, or by the watt, is in this: `W`, or the base unit of what else
    the policy is about."""


@dataclass(frozen=True, slots=True)
class InGroup:
    """A group that a home is in, for the windows that begin in a stretch of time."""

    group_id: str
    since: int | None
    """In milliseconds since the epoch; None: from ever."""
    until: int | None
    """None: for ever."""


@dataclass(frozen=True, slots=True)
class OfHome:
    """All that may be lost of one home: by itself, and by all groups that it is in."""

    meter_id: str
    policies: tuple[str, ...]
    """Those that release the home itself."""
    groups: tuple[InGroup, ...] | None
    """None where nobody said which groups there are."""
    horizon_ms: int
    own_per_watt: str
    """What its own policies may lose in a horizon, exactly ..."""
    groups_per_watt: str
    """... what all groups together may, whichever it is in ..."""
    together_per_watt: str
    """... and both."""
    together: Bound
    """The same, of readings that are a radius apart."""
    sentences: tuple[str, ...]


def explanation_schema() -> Schema:
    """What `explain --json` says of a configuration."""
    described = ConfigDict(use_attribute_docstrings=True)
    policies = TypeAdapter(tuple[Explanation, ...], config=described).json_schema()
    homes = TypeAdapter(tuple[OfHome, ...], config=described).json_schema()
    definitions = policies.pop("$defs") | homes.pop("$defs")
    told = {"schema": {"const": EXPLANATION_SCHEMA}, "policies": policies, "home": homes["items"]}
    schema = object_of(told, {"home"})
    return named(EXPLANATION_SCHEMA, "What policies promise", {**schema, "$defs": definitions})
