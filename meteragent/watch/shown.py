"""What the page shows of groups: which there are, how far each is, and what holds them up.

Nothing of it is a function of what homes draw: who is in a group is public, and that a window of it
is over, or withheld, follows from members, budget and clocks.
"""

from typing import Any

from meteragent.privacy.ledger import NEVER
from meteragent.watch.metrics import Monitor

Document = dict[str, Any]

MOST_GROUPS = 50
"""How many are listed: those that are farthest behind first."""


def shown_of(monitor: Monitor) -> Document:
    """Of whom is told of groups."""
    sums, groups = monitor.sums.standing(), monitor.sums.groups()
    known = monitor.members
    return {
        "members": None if known is None else known.counts,
        "policies": [
            {
                "name": name,
                "known": its.groups,
                "decided_until": _moment(its.until),
                "panes_waiting": its.behind,
                "waits_for": sorted(its.waits_for),
            }
            for name, its in sorted(sums.items())
        ],
        "refused": monitor.series.rejected(),
        "listed": [
            {
                "group": one.group,
                "policy": one.policy,
                "homes": one.homes,
                "decided_until": _moment(one.until),
                "withheld": one.withheld,
            }
            for one in groups[:MOST_GROUPS]
        ],
        "more": max(0, len(groups) - MOST_GROUPS),
    }


def _moment(milliseconds: int) -> float | None:
    """In seconds."""
    return None if milliseconds == NEVER else milliseconds / 1000
