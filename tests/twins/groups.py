"""Groups of homes, one reading after the other, in plain Python: the obvious twin."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from meteragent.privacy.group import GroupPolicy
    from meteragent.privacy.members import Membership
    from tests.given import Record


class Decided(NamedTuple):
    group: str
    start: int
    homes: int
    panes: tuple[int, ...]
    """The level of each of its panes."""
    homes_in: tuple[int, ...] = ()
    """Watts above the least that each home draws in its last pane."""


def layer(homes: tuple[int, ...], width: int, nth: int) -> float:
    """What of each home lies in a layer, added up."""
    return float(sum(min(max(watts - nth * width, 0), width) for watts in homes))


def half_up(total: int, count: int) -> int:
    return (2 * total + count) // (2 * count)


def averages(policy: GroupPolicy, records: Sequence[Record]) -> dict[tuple[str, int], int]:
    """(home, pane) -> the level of its average, of every pane that holds a reading in time."""
    slots: dict[tuple[str, int], int] = {}
    open_from: dict[str, int] = {}  # the first pane of a home: a grace before it was first heard
    clock, wait = -(2**60), policy.grace + policy.idle
    for record in records:
        for nth, watts in enumerate(record.watts):
            time = record.start + nth * record.spacing
            pane = time // policy.interval
            if (pane + 1) * policy.interval + wait <= clock or isnan(watts):
                continue
            first = open_from.setdefault(record.meter, (time - policy.grace) // policy.interval)
            if pane >= first:
                low, high = policy.homes.minimum, policy.homes.maximum
                clipped = min(max(int(watts), int(low)), int(high))
                level = half_up(clipped - int(low), int(policy.domain.resolution))
                slots.setdefault((record.meter, time // policy.homes.interval), level)
        clock = max(clock, record.start + (len(record.watts) - 1) * record.spacing)
    of_pane: dict[tuple[str, int], list[int]] = {}
    for (home, slot), level in slots.items():
        pane = slot * policy.homes.interval // policy.interval
        of_pane.setdefault((home, pane), []).append(level)
    return {key: half_up(sum(levels), len(levels)) for key, levels in of_pane.items()}


def decided(
    policy: GroupPolicy, members: Sequence[Membership], records: Sequence[Record], until: int
) -> list[Decided]:
    """Every window of a known group that is over by then, by group and time."""
    return decided_of(policy, members, averages(policy, records), until)


def decided_of(
    policy: GroupPolicy,
    members: Sequence[Membership],
    heard: dict[tuple[str, int], int],
    until: int,
) -> list[Decided]:
    """The same, of what was heard in time, in one partition or in several."""
    found = []
    for group in sorted({member.group for member in members}):
        begin = min(
            (
                policy.windows.newest(pane * policy.interval)
                for home, pane in heard
                if home in _members(members, group, policy, pane)
            ),
            default=until,
        )
        last = policy.windows.first_open(until - policy.grace - policy.idle)
        for window in range(begin, last):
            start = policy.windows.start(window)
            first = start // policy.interval
            homes = [m.home for m in members if m.group == group and m.since <= start < m.until]
            panes = range(first, first + policy.slots)
            sums = (_level(policy, heard, homes, first, pane) for pane in panes)
            if homes:
                last_pane = first + policy.slots - 1
                fine = int(policy.domain.resolution)
                own = (fine * _filled(policy, heard, home, first, last_pane) for home in homes)
                found.append(Decided(group, start, len(homes), tuple(sums), tuple(own)))
    return found


def _members(
    members: Sequence[Membership], group: str, policy: GroupPolicy, pane: int
) -> list[str]:
    start = policy.windows.start(policy.windows.newest(pane * policy.interval))
    return [m.home for m in members if m.group == group and m.since <= start < m.until]


def _filled(
    policy: GroupPolicy, heard: dict[tuple[str, int], int], home: str, first: int, pane: int
) -> int:
    """The level of a home in a pane, or its last one of the window, or that nearest 0 W."""
    fine = int(policy.domain.resolution)
    rest = half_up(max(0, min(0, int(policy.homes.maximum)) - int(policy.homes.minimum)), fine)
    its = [heard[home, at] for at in range(pane, first - 1, -1) if (home, at) in heard]
    return its[0] if its else rest


def _level(
    policy: GroupPolicy, heard: dict[tuple[str, int], int], homes: list[str], first: int, pane: int
) -> int:
    total = sum(_filled(policy, heard, home, first, pane) for home in homes)
    fine = int(policy.domain.resolution)
    watts = len(homes) * int(policy.homes.minimum) + total * fine
    low, high = int(policy.domain.minimum), int(policy.domain.maximum)
    return (min(max(watts, low), high) - low) // fine
