"""When a replay plays, so that an agent takes every reading of it.

What is played faster than it happens lies in the past, and the brokers' clock, which is that of
today, would close its windows at once. So each policy has to wait longer for silent meters than
the replay is old (`delay`), and windows close by what meters send alone. What closes the last ones
is an end mark: a reading of each meter, when nothing that was played waits for it any longer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from meteragent.config import Config
from meteragent.privacy.policy import Policy
from meteragent.stream.meters import longest_prefix
from simulations.kit.traces import DAY, Trace

SPARE = DAY
"""Milliseconds by which an agent has to wait longer than the replay is old."""


@dataclass(frozen=True, slots=True)
class Playing:
    """Traces at the time that they are played for, and the last word of each meter."""

    traces: list[Trace]
    marks: dict[str, int]
    """Meter -> when its end mark is."""


def playing(traces: Sequence[Trace], config: Config, now: int, speed: float) -> Playing:
    """The traces, whole days nearer to now. SystemExit: the agent would not take all of them."""
    policies = {trace.name: _policies(trace.name, config) for trace in traces}
    every = [policy for some in policies.values() for policy in some]
    last = max(trace.begin + len(trace.watts) * trace.interval for trace in traces)
    waits = max(policy.size + policy.patience + policy.interval for policy in every)
    nearer = (now - waits - last) // DAY * DAY
    moved = [replace(trace, begin=trace.begin + nearer) for trace in traces]
    first = min(trace.begin for trace in moved)
    takes = (last + nearer - first) / speed if speed else 0
    _refuse(config, now - first + round(takes))
    return Playing(moved, {one.name: _mark(one, policies[one.name]) for one in moved})


def _policies(meter: str, config: Config) -> list[Policy]:
    prefixes = list(dict.fromkeys(one.prefix for one in config.assigned))
    of = longest_prefix(prefixes, meter)
    if of is None:
        message = f'no [[policy]] is for {meter}: write one with match = "" or a part of its name'
        raise SystemExit(message)
    return [one.policy for one in config.assigned if one.prefix == prefixes[of]]


def _refuse(config: Config, age: int) -> None:
    days = -(-(age + SPARE) // DAY)
    for settings in config.policy:
        if settings.presence == "private":
            message = (
                "its windows close by the clock of today: play to one whose presence is public"
            )
            raise SystemExit(f"policy {settings.name}: presence: {message}")
        if settings.policy.idle < age + SPARE:
            message = f'would close windows before they are played; write delay = "{days}d"'
            raise SystemExit(f"policy {settings.name}: delay: {message}")


def _mark(trace: Trace, policies: Sequence[Policy]) -> int:
    """The first slot after all that a meter's last reading has to wait for."""
    last = trace.begin + (len(trace.watts) - 1) * trace.interval
    over = max(p.windows.end(p.windows.newest(last)) + p.patience for p in policies)
    return -(-over // trace.interval) * trace.interval
