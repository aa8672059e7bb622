"""One's own traces released again and again: how far off, and what an attacker makes of it.

Nothing here is a release: keys are drawn from a seed, so that anybody can draw them again, and no
account is kept. Show nobody what it makes of traces that are not public; its numbers tell of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import numpy as np

from meteragent.errors import InvalidSetting
from meteragent.explain.reader import Floats, drawn, log_likelihood
from meteragent.library.frames import Where, opened
from meteragent.library.plan import PolicyPlan
from meteragent.library.rows import Cells, Ids, Tallied, batches
from meteragent.privacy.domain import Watts
from meteragent.privacy.entropy import KEY_BYTES, NoiseKey
from meteragent.privacy.exact import NANO
from meteragent.privacy.policy import Policy
from meteragent.privacy.units import WATT
from meteragent.stream.meters import Assigned
from meteragent.stream.pipeline import Pipeline

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

QUIET = 80
"""Loss per level at which noise is never seen: once in exp(80) answers."""
CERTAINTY = 0.95
Guess = Literal["meter", "window"]
_Answers = dict[tuple[str, int], Watts]
"""outputs, for each meter and start of a window."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something happened, and between what its chance lies with 95 % certainty."""

    successes: int
    attempts: int

    @property
    def share(self) -> float:
        """Of the attempts."""
        return self.successes / self.attempts

    @property
    def between(self) -> tuple[float, float]:
        """Wilson's interval."""
        z, n = NormalDist().inv_cdf((1 + CERTAINTY) / 2), self.attempts
        middle = (self.successes + z * z / 2) / (n + z * z)
        off = z * sqrt(self.share * (1 - self.share) / n + z * z / (4 * n * n)) * n / (n + z * z)
        return max(0.0, middle - off), min(1.0, middle + off)


@dataclass(frozen=True, slots=True)
class Off:
    """How far off the answers to a query were, in watts."""

    mean: float
    """Of `values`, whichever way."""
    nine_of_ten: float
    """Nine answers of ten were no further off."""
    bias: float
    """Of `unbiased`: up or down, on the whole."""
    bias_within: float
    """The bias of unbiased answers would be no larger in 95 of 100 simulations."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """What many releases of the same traces came to."""

    windows: int
    """That were decided in each of the releases."""
    withheld: int
    """Of them, whole or in part."""
    errors: dict[str, Off]
    """By query."""
    attack: Rate | None
    """How often the best attacker was right; None where there was but one candidate."""
    chance: float
    """The share that guessing would get."""
    unit: str = WATT
    """What errors are in."""

    def __str__(self) -> str:
        lines = [
            f"{name}: off by {its.mean:.3g} {self.unit} on average, by at most "
            f"{its.nine_of_ten:.3g} {self.unit} in nine of ten windows"
            for name, its in self.errors.items()
        ]
        if self.attack:
            low, high = self.attack.between
            lines.append(
                f"An attacker who knows every candidate's readings is right in "
                f"{self.attack.share:.1%} of {self.attack.attempts:,} cases "
                f"({low:.1%} to {high:.1%}); guessing: {self.chance:.1%}."
            )
        return "\n".join(lines)


def simulate(
    frame: "IntoDataFrame",
    plan: PolicyPlan,
    *,
    releases: int = 20,
    guess: Guess = "meter",
    seed: int = 0,
    meter: str = "meter_id",
    time: str = "ts",
    value: str = "value",
    meter_id: str | None = None,
    unit: str | None = None,
    time_format: str | None = None,
    timezone: str = "UTC",
) -> Simulated:
    """Release traces so many times, each time with a fresh key; compare with what is true.

    The attacker knows the readings of every candidate, sees a release, and names the candidate
    that it fits best; nobody is right more often. With `guess="meter"` candidates are the meters
    of the frame (homes, films, appliances) over all windows that they have in common; with
    `"window"` they are the windows of each meter: which day was it? Other arguments are those of
    `protect`. The plan must be of one policy.

    >>> import meteragent as ma, polars as pl
    >>> frame = pl.DataFrame(
    ...     {"at": [60 * n for n in range(60)] * 2, "home": ["a"] * 60 + ["b"] * 60, "watts": 90.0}
    ... )
    >>> plan = ma.policy(
    ...     window="1h", interval="1m", maximum="3kW", epsilon="0.1", budget="2.4"
    ... )
    >>> found = ma.simulate(
    ...     frame, plan, meter="home", time="at", value="watts", time_format="unix"
    ... )
    >>> found.attack.attempts, found.chance
    (40, 0.5)
    """
    meaning, given = plan.meaning("power", unit, "start"), opened(frame)
    where = Where(meter, time, value, meter_id, meaning, time_format, timezone)
    assigned = _only(plan)
    if guess not in {"meter", "window"}:
        raise InvalidSetting("guess", "is none", 'write "meter" or "window"')
    rows = where.cells(given)
    assigned, policy = replace(assigned, counts=False, pseudonyms=False), assigned.policy
    truth, _ = _released(rows, [replace(assigned, policy=_quiet(policy))], _key(seed, "truth"))
    seen = [_released(rows, [assigned], _key(seed, str(trial))) for trial in range(releases)]
    withheld = [len(_withheld(answers)) for answers, _ in seen]
    guessed = [right for _, unbiased in seen for right in _guessed(truth, unbiased, policy, guess)]
    return Simulated(
        windows=len(truth),
        withheld=sum(withheld) // max(1, releases),
        errors=_errors(truth, seen, policy),
        attack=Rate(sum(right for right, _ in guessed), len(guessed)) if guessed else None,
        chance=sum(1 / many for _, many in guessed) / max(1, len(guessed)),
        unit=policy.domain.unit,
    )


def _only(plan: PolicyPlan) -> Assigned:
    """The policy of a plan that has one."""
    if plan.config.group:
        problem = "is for groups, and traces are of meters"
        raise InvalidSetting(
            "plan", problem, "pass one made by `policy`; for groups, `explain` says it"
        )
    if len(plan.policies) > 1:
        raise InvalidSetting("plan", "has several policies", "simulate one after the other")
    [assigned] = plan.config.assigned
    return assigned


def _withheld(answers: _Answers) -> list[tuple[str, int]]:
    return [key for key, its in answers.items() if np.isnan(its).any()]


def _key(seed: int, name: str) -> NoiseKey:
    return NoiseKey(blake2b(f"{seed} {name}".encode(), digest_size=KEY_BYTES).digest())


def _quiet(policy: Policy) -> Policy:
    """The same, of which every answer is exact and paid for."""
    nano = int(QUIET * NANO / policy.domain.resolution)
    asked = tuple(replace(question, nano=nano) for question in policy.questions)
    price = nano * sum(question.query.outputs(policy.slots) for question in asked)
    windows = policy.terms.per_horizon + policy.terms.slack
    return replace(policy, questions=asked, budget=price * windows, noise="independent")


def _released(rows: Cells, assigned: list[Assigned], key: NoiseKey) -> tuple[_Answers, _Answers]:
    """`values` and `unbiased` of each window; NaN where nothing was released, or no reading was."""
    pipeline = Pipeline(assigned, key, max_skew=0, max_meters=len(rows.times) + 1)
    [policy] = (one.policy for one in assigned)
    values: _Answers = {}
    unbiased: _Answers = {}
    steps = [
        step
        for batch in batches(rows, Ids(), Tallied(), by_time=True)
        for step in pipeline.feed(batch.readings)
    ]
    if pipeline.holds_open:
        steps += pipeline.tick(policy.closes(policy.windows.newest(pipeline.clock)))
    columns = np.repeat(
        np.arange(len(policy.questions)),
        [question.query.outputs(policy.slots) for question in policy.questions],
    )
    for releases in (step.releases for step in steps):
        told = releases.released[:, columns]
        for into, answers in ((values, releases.values), (unbiased, releases.unbiased)):
            shown = np.where(told, answers, np.nan)
            keys = zip(releases.meters, releases.starts.tolist(), strict=True)
            into.update(zip(keys, shown, strict=True))
    return values, unbiased


def _errors(
    truth: _Answers, seen: list[tuple[_Answers, _Answers]], policy: Policy
) -> dict[str, Off]:
    found: dict[str, Off] = {}
    ends = np.cumsum([0, *(asked.query.outputs(policy.slots) for asked in policy.questions)])
    true = np.array([*truth.values()])
    if not len(true):
        return found
    values, unbiased = (
        np.array([[answers[key] for key in truth] for answers in every]) - true
        for every in zip(*seen, strict=True)
    )
    for asked, first, end in zip(policy.questions, ends[:-1], ends[1:], strict=True):
        off, signed = (
            its[..., first:end][np.isfinite(its[..., first:end])] for its in (values, unbiased)
        )
        if len(off):
            mean, ninth = float(np.abs(off).mean()), float(np.quantile(np.abs(off), 0.9))
            z = NormalDist().inv_cdf((1 + CERTAINTY) / 2)
            within = z * float(signed.std()) / sqrt(len(signed))
            found[asked.query.name] = Off(mean, ninth, float(signed.mean()), within)
    return found


def _guessed(
    truth: _Answers, unbiased: _Answers, policy: Policy, guess: Guess
) -> Iterator[tuple[bool, int]]:
    """For each release of a candidate: whether it was named, and among how many.

    Of several that fit as well the first is named: that is right as often as any other. Windows
    that never hold enough readings to be released are nobody's.
    """
    held = {key: its for key, its in truth.items() if np.isfinite(its).any()}
    for candidates in filter(all, _candidates(held, guess)):
        known = np.stack([_levels(truth, its, policy) for its in candidates])
        asked = np.isfinite(known)
        for place, its in enumerate(candidates):
            shown = _levels(unbiased, its, policy)
            told = np.isfinite(shown) & asked
            likely = log_likelihood(np.where(told, shown, 0), np.where(told, known, 0), policy)
            others = (asked != asked[place]).any(axis=(1, 2))  # other questions would be answered
            scores = np.where(others, -np.inf, likely.sum(axis=-1))
            yield int(scores.argmax()) == place, len(candidates)


def _candidates(truth: _Answers, guess: Guess) -> Iterator[list[list[tuple[str, int]]]]:
    """Among which traces an attacker chooses: the windows of each."""
    windows: dict[str, list[tuple[str, int]]] = {}
    for meter, start in sorted(truth):
        windows.setdefault(meter, []).append((meter, start))
    traces = [*windows.values()]
    if guess == "window":
        yield from ([[window] for window in its] for its in traces if len(its) > 1)
    elif len(traces) > 1:
        yield _in_common(traces)


def _in_common(traces: list[list[tuple[str, int]]]) -> list[list[tuple[str, int]]]:
    """The windows of each that start when one of each other does."""
    common = set.intersection(*({start for _, start in its} for its in traces))
    return [[window for window in its if window[1] in common] for its in traces]


def _levels(answers: _Answers, keys: list[tuple[str, int]], policy: Policy) -> Floats:
    """levels[window, output], NaN where nothing was told."""
    return drawn(np.stack([answers[key] for key in keys]), policy)
