"""Who is in which group, as a compacted topic tells it: one record of each home, all of its groups.

    home -> {"groups": [{"group_id": "f-1", "from": 1763424000000, "until": null}, ...]}

`from` and `until` are milliseconds since the epoch, or null: from ever, or for ever. A record holds
the home's whole list, with what is over as long as it matters; for of several records of a home
Kafka keeps the last, and whoever reads later must find the same. So a record may change nothing of
windows that begin before it was written, nor within the *lead* after that, by when everybody has
read it. One that does is refused, as far as what was said before is still there to be seen;
somebody who reads later cannot know, takes others for members, and is told so by the digests that
go with sums: then windows are withheld, and nothing is released of members that are in doubt.
"""

import json
import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from meteragent.formats.json_one import CONTROL
from meteragent.privacy.members import ALWAYS, FOR_EVER, Membership

_ID = re.compile(rf"[^{CONTROL}]{{1,128}}")


class NotTaken(StrEnum):
    """Why a record changes nothing."""

    DAMAGED = "damaged"
    """It is no list of groups, or says two things of one time."""
    TOO_SOON = "too_soon"
    """It changes what has begun, or begins within the lead."""


class MemberRecords:
    """The latest list of each home."""

    def __init__(self, lead: int) -> None:
        """`lead`: milliseconds between a record and the first window that it may change."""
        self._lead = lead
        self._of: dict[str, list[Membership]] = {}

    def take(self, key: bytes | None, value: bytes | None, written: int) -> NotTaken | None:
        """Take in a record; answer why it changes nothing, if so."""
        home = _home(key)
        found = None if home is None else _parsed(home, value)
        if home is None or found is None:
            return NotTaken.DAMAGED
        frontier = written + self._lead
        before = self._of.get(home)
        if before is not None and _begun(before, frontier) != _begun(found, frontier):
            return NotTaken.TOO_SOON
        self._of[home] = found
        return None

    @property
    def homes(self) -> int:
        """Of how many homes anything was said."""
        return len(self._of)

    def members(self) -> list[Membership]:
        """All of all homes, by home."""
        return [one for home in sorted(self._of) for one in self._of[home]]


def record(memberships: Iterable[Membership]) -> bytes:
    """What is written of one home."""
    groups = [
        {
            "group_id": one.group,
            "from": None if one.since == ALWAYS else one.since,
            "until": None if one.until == FOR_EVER else one.until,
        }
        for one in memberships
    ]
    return json.dumps({"groups": groups}, separators=(",", ":")).encode()


def following(
    had: list[Membership], wanted: Iterable[Membership], frontier: int
) -> dict[str, list[Membership]]:
    """Home -> what is to be written, so that from the frontier on all is as wanted.

    Of homes of which that is nothing new, nothing. Postcondition: whoever knows what was had takes
    it, if it is written a lead before the frontier.
    """
    before, asked = _by_home(had), _by_home(wanted)
    found = {}
    for home in sorted({*before, *asked}):
        past = [one._replace(until=min(one.until, frontier)) for one in before.get(home, ())]
        soon = [one._replace(since=max(one.since, frontier)) for one in asked.get(home, ())]
        lasting = [one for one in (*past, *soon) if one.since < one.until]
        if _joined(sorted(lasting)) != _joined(sorted(before.get(home, ()))):
            found[home] = _joined(sorted(lasting))
    return found


def _by_home(members: Iterable[Membership]) -> dict[str, list[Membership]]:
    found: dict[str, list[Membership]] = {}
    for one in members:
        found.setdefault(one.home, []).append(one)
    return found


def _home(key: bytes | None) -> str | None:
    try:
        home = (key or b"").decode()
    except UnicodeDecodeError:
        return None
    return home if _ID.fullmatch(home) else None


def _parsed(home: str, value: bytes | None) -> list[Membership] | None:
    """What a record says of a home; nothing if that is no list of groups."""
    try:
        said = json.loads(value or b"")["groups"]
        found = sorted(_membership(home, one) for one in said)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    overlap = any(
        one.group == other.group and other.since < one.until
        for nth, one in enumerate(found)
        for other in found[nth + 1 : nth + 2]
    )
    return None if overlap else found


def _membership(home: str, said: dict[str, Any]) -> Membership:
    """ValueError, KeyError, TypeError: it is none."""
    group, since, until = said["group_id"], said.get("from"), said.get("until")
    since, until = (ALWAYS if since is None else since), (FOR_EVER if until is None else until)
    times = type(since) is int and type(until) is int and ALWAYS <= since < until <= FOR_EVER
    if not (isinstance(group, str) and _ID.fullmatch(group) and times):
        raise ValueError
    return Membership(home, group, since, until)


def _begun(members: list[Membership], frontier: int) -> set[tuple[str, int, int]]:
    """What these say of the time before the frontier."""
    return {
        (group, since, min(until, frontier))
        for _, group, since, until, *_ in _joined(members)
        if since < frontier
    }


def _joined(members: list[Membership]) -> list[Membership]:
    """The same, with those that go on without a gap as one."""
    found: list[Membership] = []
    for one in members:
        last = found[-1] if found else None
        if last is not None and (last.group, last.until) == (one.group, one.since):
            found[-1] = last._replace(until=one.until)
        else:
            found.append(one)
    return found
