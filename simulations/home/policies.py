"""The policies that homes are looked at under: plain averages, and the product's presets."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from meteragent.config.policy import PolicySettings
from meteragent.config.presets import presets
from meteragent.privacy.domain import Domain
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import query
from meteragent.privacy.question import Question, question
from simulations.kit import product
from simulations.kit.product import Released, release
from simulations.kit.traces import DAY, Trace

MINUTE = 60_000
HOUR = 60 * MINUTE

CLEAN = "1"
"""A loss per watt at which averages on a grid of 10 W keep their level in 9999 of 10,000 cases."""


def plain(
    window: int, epsilon: str, *, interval: int = MINUTE, minimum: int = 0, name: str = "avg"
) -> Policy:
    """One answer a window, at so much loss per watt."""
    domain = Domain(minimum, 24_000, 10)
    asked = Question(query(name), question("avg", Decimal(epsilon), 1).nano)
    return product.policy(domain, [asked], window=window, interval=interval, horizon=window)


def preset(name: str, **settings: object) -> Policy:
    """A preset as the product reads it, for meters whose traces may lie years apart."""
    told = {"name": name, "preset": name, **settings}
    policy = PolicySettings.model_validate(told).policy
    return replace(policy, grace=0, idle=product.FOR_EVER)


def all_presets(**settings: object) -> dict[str, Policy]:
    """Every preset whose windows have a length, and are no calendar's, by name."""
    every = {name: preset(name, **settings) for name in presets()}
    return {name: policy for name, policy in every.items() if policy.calendar is None}


def by_days(traces: Sequence[Trace], policy: Policy, key: NoiseKey) -> list[Released]:
    """The releases of traces, each day of which goes through the product as a meter of its own.

    Precondition: whole days, windows of no more than a day, and a budget that suffices. Why:
    windows of many meters are released at once, those of one only one by one.
    """
    pieces = [piece for trace in traces for piece in _days(trace)]
    released = release(pieces, policy, key)
    whole, first = [], 0
    for trace in traces:
        own = released[first : first + len(trace.watts) * trace.interval // DAY]
        values = np.concatenate([one.values for one in own])
        unbiased = np.concatenate([one.unbiased for one in own])
        whole.append(Released(own[0].begin, values, unbiased))
        first += len(own)
    return whole


def _days(trace: Trace) -> list[Trace]:
    per_day = DAY // trace.interval
    return [
        Trace(f"{trace.name}-{low}", trace.begin + low * trace.interval, trace.interval, day)
        for low in range(0, len(trace.watts), per_day)
        if len(day := trace.watts[low : low + per_day])
    ]


def window_text(milliseconds: int) -> str:
    """`10 s`, `15 min`, `24 h`, `7 d`."""
    for unit, length in (("d", 24 * HOUR), ("h", HOUR), ("min", MINUTE)):
        if milliseconds % length == 0 and milliseconds > length:
            return f"{milliseconds // length} {unit}"
    if milliseconds in (HOUR, MINUTE):
        return "1 h" if milliseconds == HOUR else "1 min"
    if milliseconds == 24 * HOUR:
        return "24 h"
    return f"{milliseconds // 1000} s"
