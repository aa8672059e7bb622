"""The obvious twin of `counters.Counters`: one register after the other, as fractions."""

from collections.abc import Iterable
from fractions import Fraction

from meteragent.privacy.domain import Domain
from meteragent.privacy.policy import Policy
from tests.twins.panes import Pane

LEAP = 10


def level_of(domain: Domain, watts: Fraction) -> int:
    """The level of an exact power: clipped, and rounded half up to the readings' grid."""
    within = min(max(watts, Fraction(domain.minimum)), Fraction(domain.maximum))
    steps = (within - Fraction(domain.minimum)) / Fraction(domain.step)
    return int(steps + Fraction(1, 2)) * domain.finer


def power(policy: Policy, before: int, after: int) -> int | None:
    """The level of a slot from its two registers, in milliwatt-hours; None: it is a gap."""
    watts = Fraction(after - before, 1000) * Fraction(3_600_000, policy.interval)
    wide = Fraction(policy.domain.maximum) - Fraction(policy.domain.minimum)
    return level_of(policy.domain, watts) if 0 <= watts <= LEAP * wide else None


def differences(policy: Policy, panes: Iterable[Pane]) -> tuple[list[Pane], int]:
    """Panes of registers as panes of levels; and how many registers had none before them."""
    last: dict[int, tuple[int, int]] = {}
    found: list[Pane] = []
    unpaired = 0
    for row, pane, shown in panes:
        levels: list[int | None] = []
        for slot, register in enumerate(shown, pane * len(shown)):
            level = None
            if register is not None:
                then, before = last.get(row, (-1, 0))
                if then == slot - 1:
                    level = power(policy, before, register)
                elif row in last:
                    unpaired += 1
                last[row] = slot, register
            levels.append(level)
        if policy.presence == "private" or any(level is not None for level in levels):
            found.append((row, pane, tuple(levels)))
    return found, unpaired
