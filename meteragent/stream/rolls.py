"""Who is in which group, window by window: memberships as columns."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from meteragent.privacy.arrays import Integers
from meteragent.privacy.entropy import tag
from meteragent.privacy.members import Membership


class Roll(NamedTuple):
    """The members of all groups, for the windows that begin at one time."""

    homes: Integers
    groups: Integers
    """Member `n` is this home, of this group."""
    counts: Integers
    """How many members each group has."""


class Rolls:
    """Members of some groups; homes and groups are known by their places here."""

    def __init__(self, members: Iterable[Membership], homes: Mapping[str, int]) -> None:
        """`homes` says where each home stands."""
        members = [*members]
        self.homes = homes
        self.groups = {group: at for at, group in enumerate(sorted({m.group for m in members}))}
        self.tags = [tag(group) for group in self.groups]
        """Of each group."""
        columns = [
            (homes[one.home], self.groups[one.group], one.since, one.until) for one in members
        ]
        self._home, self._group, self._since, self._until = (
            np.array(columns, dtype=np.int64).reshape(-1, 4).T
        )
        self.at = lru_cache(maxsize=4)(self._at)
        """Who is a member for the windows that begin at this time."""

    def _at(self, start: int) -> Roll:
        now = np.flatnonzero((self._since <= start) & (start < self._until))
        groups = self._group[now]
        return Roll(self._home[now], groups, np.bincount(groups, minlength=len(self.groups)))

    def counts(self, groups: Integers, starts: Integers) -> Integers:
        """How many members each of these groups has for the window that begins then."""
        found = np.zeros(len(groups), dtype=np.int64)
        for start in np.unique(starts).tolist():
            now = starts == start
            found[now] = self.at(start).counts[groups[now]]
        return found
