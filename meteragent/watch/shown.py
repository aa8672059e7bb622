"""What the page shows of groups: which there are, how far each is, and what holds them up.

Nothing of it is a function of what homes draw: who is in a group is public, and that a window of it
is over, or withheld, follows from members, budget and clocks.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import chain, groupby
from operator import itemgetter
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


def of_several(parts: Sequence[Document]) -> Document:
    """What several processes tell of groups, each of those that it decides."""
    listed = sorted(_chained(parts, "listed"), key=_behind)
    policies = sorted(_chained(parts, "policies"), key=itemgetter("name"))
    return {
        **parts[0],
        "members": next(filter(None, map(itemgetter("members"), parts)), None),
        "policies": [_policy([*its]) for _, its in groupby(policies, itemgetter("name"))],
        "refused": dict(sum((Counter(one["refused"]) for one in parts), Counter[str]())),
        "listed": listed[:MOST_GROUPS],
        "more": sum(map(itemgetter("more"), parts)) + max(0, len(listed) - MOST_GROUPS),
    }


def of_ended(document: Document) -> Document:
    """What still holds of a process that has ended: what it refused."""
    return document | {"policies": [], "listed": [], "more": 0}


def _policy(parts: Sequence[Document]) -> Document:
    decided = [*filter(None, map(itemgetter("decided_until"), parts))]
    return {
        "name": parts[0]["name"],
        "known": sum(map(itemgetter("known"), parts)),
        "decided_until": max(decided, default=None),
        "panes_waiting": max(map(itemgetter("panes_waiting"), parts)),
        "waits_for": sorted({*_chained(parts, "waits_for")}),
    }


def _chained(parts: Sequence[Document], name: str) -> list[Any]:
    return [*chain.from_iterable(map(itemgetter(name), parts))]


def _behind(group: Document) -> tuple[float, str]:
    """Who is farthest behind comes first."""
    return group["decided_until"] or 0.0, group["group"]


def _moment(milliseconds: int) -> float | None:
    """In seconds."""
    return None if milliseconds == NEVER else milliseconds / 1000
