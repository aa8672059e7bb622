"""What a reader makes of releases for free: bills, sums, ranges, best guesses.

A reader knows the plan, which is public, and what was released: nothing here sees a reading, the
key or an account. All functions take what `protect` answered, of any kind of frame, and answer
with the same kind.

    bills       the energy of each meter or group, and between what it lies
    sums        all homes added up, window by window, and between what their sum lies
    spread      how many homes of a group draw more than how much, from its layers
    ranges      between what the true answer of each window lies
    guesses     the best single guess of each answer, for somebody who believed something before
    prior_of    such a belief, from examples
    smoothed    a smoother course, to look at and never to add up

Bills and sums are of `…_unbiased`, which is right on average; the other columns are not.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from narwhals.typing import IntoDataFrame
from numpy.typing import ArrayLike, NDArray

from meteragent.errors import InvalidSetting
from meteragent.explain import bills as exact
from meteragent.explain import reader as best
from meteragent.explain.bills import SMOOTHING
from meteragent.explain.reader import Floats
from meteragent.explain.spread import spread as read_layers
from meteragent.formats.release_columns import CellKind
from meteragent.library.answers import Made, alike, asking, beside, milliseconds, parts, whose
from meteragent.library.frames import opened
from meteragent.library.plan import PolicyPlan
from meteragent.privacy.group import GroupPolicy

Frame = TypeVar("Frame", bound=IntoDataFrame)


class SmoothedWarning(UserWarning):
    """Smoothed values must never be added up."""


def bills(
    released: Frame, plan: PolicyPlan, *, by: str | Sequence[str] = "", share: float = 0.95
) -> Frame:
    """The energy of each meter in kilowatt hours, and between what it lies with this certainty.

    Of groups, that of each group. `by`: the columns whose values are billed apart; name one of
    months beside that of meters to have bills of months.
    `windows` were added up, `missing` ones were withheld: their energy is in no bill.

    >>> import meteragent as ma, polars as pl
    >>> hours = pl.DataFrame({"ts": range(0, 30 * 86400, 3600), "value": 250.0})
    >>> plan = ma.policy("tv-content", interval="1h")
    >>> month = ma.protect(
    ...     hours, plan, key=ma.NoiseKey(bytes(range(32))), ledger=None, meter_id="home-1",
    ...     time_format="unix",
    ... )
    >>> bill = ma.reader.bills(month, plan).row(0, named=True)
    >>> bill["low"] < 250 * 24 * 30 / 1000 < bill["high"], bill["windows"]
    (True, 30)
    """
    given, made = opened(released), Made(_BILLS)
    keys = [by or whose(given)] if isinstance(by, str) else [*by]
    for part in parts(given, plan, "avg"):
        if part.policy.windows.overlap > 1:
            problem = "has windows that overlap, which would be billed twice"
            raise InvalidSetting("plan", problem, "release windows that do not: leave out hop")
        starts = milliseconds(given["window_start"])[part.rows]
        for mine in alike(given, keys, part.rows):
            its = exact.bill(part.unbiased[mine], part.policy, part.asked, share, starts[mine])
            missing = len(mine) - its.windows
            made.add(
                part.rows[mine[0]], its.kilowatt_hours, its.low, its.high, its.windows, missing
            )
    return made.frame(given, [*keys, "policy"])  # type: ignore[no-any-return]


_BILLS: dict[str, CellKind] = {
    "kwh": "number",
    "low": "number",
    "high": "number",
    "windows": "whole",
    "missing": "whole",
}


def sums(released: Frame, plan: PolicyPlan, *, query: str = "avg", share: float = 0.95) -> Frame:
    """All homes added up, window by window: watts, and between what the sum lies.

    `homes` were added up, `missing` ones were withheld. A home with no row in a window is in
    neither. Of groups, all groups are added up, and there are `groups` in place of `homes`: a home
    that is in two of them counts twice.
    """
    given = opened(released)
    many = "homes" if whose(given) == "meter_id" else "groups"
    made = Made({**_SUMS, many: "whole", "missing": "whole"})
    keys = ["window_start", "window_end"]
    for part in parts(given, plan, query):
        for mine in alike(given, keys, part.rows):
            there = part.unbiased[mine][np.isfinite(part.unbiased[mine])]
            total, homes = float(there.sum()), len(there)
            off = exact.sum_quantile(part.policy, part.asked, homes, share)
            missing = len(mine) - homes
            made.add(part.rows[mine[0]], total, total - off, total + off, homes, missing)
    return made.frame(given, [*keys, "policy"])  # type: ignore[no-any-return]


_SUMS: dict[str, CellKind] = {
    "watts": "number",
    "low": "number",
    "high": "number",
}


def spread(
    released: Frame, plan: PolicyPlan, *, query: str | None = None, share: float = 0.9
) -> Frame:
    """How many homes of each group draw more than each threshold, from the group's layers.

    A row for each threshold of each window that was released, in watts: at least `low` homes draw
    more, at most `high`, about `homes`. All of a window's bounds hold together with this certainty
    at least, over the noise. `query` names the layers, where the plan asks for several.
    """
    given, made = opened(released), Made(_SPREAD)
    for policy, asked, rows in asking(given, plan, query or _layered(plan)):
        assert isinstance(policy, GroupPolicy)  # noqa: S101 - none else has layers
        values, homes = given[asked.query.name].to_list(), given["homes"].to_list()
        for row in rows.tolist():
            if values[row] is not None:
                its = read_layers(values[row], policy, asked, homes[row], share)
                for cells in zip(its.thresholds, its.low, its.guess, its.high, strict=True):
                    made.add(row, *cells)
    return made.frame(given, ["group_id", "window_start", "window_end", "policy"])  # type: ignore[no-any-return]


def _layered(plan: PolicyPlan) -> str:
    """The first layers that a plan asks for."""
    asked = (one.query for policy in plan.policies for one in policy.questions)
    layers = next((query.name for query in asked if query.layers), None)
    if layers is None:
        problem, instead = "asks for no layers", 'ask a group for example for "layers(500W)"'
        raise InvalidSetting("plan", problem, instead)
    return layers


_SPREAD: dict[str, CellKind] = {
    "threshold": "number",
    "low": "number",
    "homes": "number",
    "high": "number",
}


def ranges(released: Frame, plan: PolicyPlan, *, query: str = "avg", share: float = 0.9) -> Frame:
    """The same frame with `…_low` and `…_high`: between what the true answer lies.

    With this certainty at least, for a reader who knows nothing else.
    """
    given = opened(released)
    low, high = (np.full(len(given), np.nan) for _ in range(2))
    for part in parts(given, plan, query):
        ends = best.interval(part.unbiased, part.policy, part.asked, share)
        low[part.rows], high[part.rows] = ends
    return beside(given, {f"{query}_low": low, f"{query}_high": high})  # type: ignore[no-any-return]


def guesses(
    released: Frame,
    plan: PolicyPlan,
    prior: ArrayLike,
    *,
    query: str = "avg",
    loss: str = "absolute",
    share: float = 0.9,
) -> Frame:
    """The same frame with `…_guess`, `…_low` and `…_high`: the best guess, and a credible range.

    `prior` is what the reader believed before: a share of 1 for each level, as `prior_of` makes
    it. `loss` is what it tries to keep small: `absolute`, `squared` or `zero_one`. Guesses lean
    towards the prior: never add them up.
    """
    if loss not in _BEST:
        raise InvalidSetting("loss", "is none", f"write one of {', '.join(_BEST)}")
    given, believed = opened(released), np.asarray(prior, dtype=np.float64)
    found = {f"{query}_{name}": np.full(len(given), np.nan) for name in ("guess", "low", "high")}
    for part in parts(given, plan, query):
        mechanism, domain = part.policy.mechanism(part.asked), part.policy.domain
        best.refuse_crooked(mechanism, believed, share)
        there = np.isfinite(part.unbiased)
        drawn = best.drawn(part.unbiased[there], part.policy).astype(np.int64)
        different, which = np.unique(drawn, return_inverse=True)
        levels = [np.empty((3, 0))]
        for first in range(0, len(different), TOGETHER):
            belief = best.posterior(mechanism, believed, different[first : first + TOGETHER])
            levels.append(_read(belief, _BEST[loss], share))
        of_each = domain.watts(np.concatenate(levels, axis=1)[:, which])
        for column, watts in zip(found.values(), of_each, strict=True):
            column[part.rows[there]] = watts
    return beside(given, found)  # type: ignore[no-any-return]


TOGETHER = 256
"""Levels whose beliefs are worked out together."""


def _read(belief: Floats, best_of: Callable[[Floats], Floats], share: float) -> Floats:
    """The best level, the lowest and the highest credible one, for each belief[level, …]."""
    up_to, tail = np.cumsum(belief, axis=0), (1 - share) / 2
    low, high = (up_to <= tail).sum(axis=0), (up_to < 1 - tail).sum(axis=0)
    return np.stack([best_of(belief), low, high]).astype(np.float64)


_BEST: dict[str, Callable[[Floats], Floats]] = {
    "absolute": lambda belief: (np.cumsum(belief, axis=0) < 1 / 2).sum(axis=0),
    "squared": lambda belief: np.rint(np.arange(len(belief)) @ belief),
    "zero_one": lambda belief: belief.argmax(axis=0),
}
"""What keeps a loss small: a median, a mean, the likeliest level."""


def prior_of(watts: ArrayLike, plan: PolicyPlan) -> NDArray[np.float64]:
    """A belief from examples: how often each level stood among these values.

    Every level is given one example more, as none is impossible. The plan must be of one policy.

    >>> import meteragent as ma
    >>> plan = ma.policy("tv-content", interval="1m", maximum="3kW", step="1W", resolution="1W")
    >>> prior = ma.reader.prior_of([100.2, 100.4, 2900.0], plan)
    >>> int(prior.argmax())
    100
    """
    [policy] = plan.policies
    domain, examples = policy.domain, np.asarray(watts, dtype=np.float64).ravel()
    above = examples[np.isfinite(examples)] - float(domain.minimum)
    levels = np.clip(np.rint(above / float(domain.resolution)), 0, domain.top).astype(np.int64)
    counts = np.bincount(levels, minlength=domain.top + 1) + 1.0
    shares: NDArray[np.float64] = counts / counts.sum()
    return shares


def smoothed(released: Frame, plan: PolicyPlan, *, query: str = "avg") -> Frame:
    """The same frame with `…_smoothed`: the course of each, with what neighbours say of it.

    SmoothedWarning is always warned of: look at it, and never add it up.
    """
    warnings.warn(SMOOTHING, SmoothedWarning, stacklevel=2)
    given = opened(released)
    course = np.full(len(given), np.nan)
    starts = milliseconds(given["window_start"])
    for part in parts(given, plan, query):
        for mine in alike(given, [whose(given)], part.rows):
            by_time = mine[np.argsort(starts[part.rows[mine]], kind="stable")]
            its = exact.smoothed(part.unbiased[by_time], part.policy, part.asked)
            course[part.rows[by_time]] = its.watts
    return beside(given, {f"{query}_smoothed": course})  # type: ignore[no-any-return]
