"""How many times as fast the agent is to be: beside the limit, its older self, and others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from simulations.drain import Drained, ratio
from simulations.peers import contenders as them


@dataclass(frozen=True)
class Target:
    """How many times as fast the first is to be as the second, by the processor."""

    what: str
    first: str
    second: str
    least: float
    by_clock: bool = False
    """Whether by the clock as well."""


_OLDER, _OLDER_BLOCKS = them.OLDER, f"blocks, {them.OLDER}"

TARGETS = (
    Target("readings, of the bare limit", "meteragent", "bare, pydantic", 0.6),
    Target("readings, of a bare limit with our decoder", "meteragent", "bare, our decoder", 0.6),
    Target("blocks, of the bare limit", "blocks", "bare blocks", 0.5),
    Target("blocks, of a bare limit with our decoder", "blocks", "bare blocks, our decoder", 0.5),
    Target("of an older one", "meteragent", _OLDER, 5, by_clock=True),
    Target("of an older one, in Python alone", them.IN_PYTHON.name, _OLDER, 1.3, by_clock=True),
    Target("blocks, of an older one", "blocks", _OLDER_BLOCKS, 2, by_clock=True),
    *(
        Target(f"of {one.name}", "meteragent", one.name, one.target, one.by_clock)
        for one in them.PEERS
    ),
    Target("noise and ledger, of exact answers", "meteragent", "exact answers", 0.85),
    Target("three private answers, of one exact mean", "meteragent", "exact means alone", 0.85),
    Target("exactly once, of at least once", "meteragent", "at least once", 0.9),
)


def judge(rates: Mapping[str, Sequence[Drained]]) -> bool:
    """Print each ratio beside its target; answer whether all that was measured is met."""
    met = True
    for target in TARGETS:
        first, second = rates.get(target.first, []), rates.get(target.second, [])
        if not first or len(first) != len(second):
            print(f"{target.what:<45} not measured in every round")
            continue
        found = ratio(first, second)
        clock = median(a.per_second / b.per_second for a, b in zip(first, second, strict=True))
        good = min(found, clock if target.by_clock else found) >= target.least
        met &= good
        missed = "" if good else "MISSED"
        least = f">= {target.least:<5}"
        said = f"{found:>8.2f}  {least} by the clock {clock:>6.2f}"
        print(f"{target.what:<45}{said}  {least if target.by_clock else '':<8}  {missed}".rstrip())
    return met
