"""Panes of homes, folded into those of their groups: the sums of what homes draw.

A pane of a group is summed when the partition's clock has closed it of every home, and by nothing
else: no home's silence changes when. A home that was not heard in it counts with its own last pane
of the same window, or else with the level nearest 0 W.

Where homes show registers, panes hold power as soon as they close (`counters`), and the last
register of each home is written down with the last of the panes that close together: so whoever
goes on from what is written down finds it as it was before the first pane that is not summed.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from meteragent.privacy.arrays import Integers, Mask
from meteragent.privacy.domain import ABSENT
from meteragent.privacy.group import added_up, heard, without_gaps
from meteragent.privacy.ledger import NEVER
from meteragent.privacy.query import averages
from meteragent.stream.averaged import averaging_store_of
from meteragent.stream.closed import Closed
from meteragent.stream.counters import Counters
from meteragent.stream.fast_panes import store_of
from meteragent.stream.meters import AssignedGroups
from meteragent.stream.panes import UNKNOWN
from meteragent.stream.pieces import as_bytes
from meteragent.stream.rolls import Roll, Rolls

Kept = NDArray[np.void]
"""kept[home]: the last pane that a home was heard in, and its level there, as `KEPT`."""
KEPT = np.dtype([("digest", "<u8"), ("pane", "<i8"), ("level", "<i8")])
"""Of a last register it is the slot, and what is held of it."""


_OF_REGISTERS = 0x7265676973746572
"""What makes another digest of a policy's, for its last registers."""


class PaneSum(NamedTuple):
    """What the homes of all groups draw in one pane."""

    pane: int
    first: int
    """The pane with which its window begins."""
    sums: Integers
    """sums[group, column]: of the levels of its members, and of each layer that is asked for."""
    heard: Mask
    """Of which groups a member was heard."""
    so_far: Mask
    """The same of all panes of the window up to this one."""
    roll: Roll
    homes: Integers
    """Who was heard, or is to be written down for another reason."""


class HomePanes:
    """The open panes of all homes under one policy of groups, and the last that have closed."""

    def __init__(self, assigned: AssignedGroups, rolls: Rolls) -> None:
        policy = assigned.policy
        self.policy = policy.home
        self._counters = Counters(self.policy) if assigned.of_registers else None
        self._rows = np.full(len(rolls.homes), UNKNOWN)
        """rows[home]: that of the store, where homes show registers."""
        self._noted = np.empty(0, dtype=np.int64)
        """The homes whose last register is to be written down."""
        counters = self._counters
        self.store = (
            store_of(self.policy, shown=counters)
            if counters is not None
            else averaging_store_of(self.policy)
        )
        self.done = UNKNOWN
        """The first pane that is not summed."""
        self._group, self._rolls = policy, rolls
        self._last = np.empty(len(rolls.homes), dtype=KEPT)
        self._last_digest = np.uint64(int.from_bytes(policy.digest[:8], "little"))
        self._last["digest"] = self._last_digest
        self._last["pane"], self._last["level"] = UNKNOWN, ABSENT
        self._waiting: list[Integers] = []
        """waiting[pane]: of which home it is, which pane, and the level of its average."""

    @property
    def holds_open(self) -> bool:
        """Whether any pane that has not closed holds a reading."""
        return bool(self.store.open_slots.open_panes())

    def take(self, closed: Closed, homes: Integers) -> None:
        """Note panes that have closed; row `n` of the store is the home at `homes[n]`.

        Those that are summed were so before: they are read again.
        """
        panes = closed.panes.without_empty()
        new = panes.panes >= self.done
        levels = averages(panes.levels[new], panes.levels.shape[1])[:, 0].astype(np.int64)
        columns = np.stack([homes[panes.rows[new]], panes.panes[new], levels], axis=1)
        self._waiting.append(columns)
        if len(closed.noted):
            noted = homes[closed.noted]
            self._rows[noted] = closed.noted
            self._noted = np.union1d(self._noted, noted)

    def sums(self, clock: int) -> Iterator[PaneSum]:
        """Sum what is closed of all homes, as the partition's clock has come so far.

        Precondition: so has the store.
        """
        reached = self.reached(clock)
        if reached <= self.done:
            return
        waiting = np.concatenate([np.empty((0, 3), dtype=np.int64), *self._waiting])
        waiting = waiting[np.argsort(waiting[:, 1], kind="stable")]
        if self.done == UNKNOWN and len(self._noted):
            self.begin(clock)
        if self.done == UNKNOWN and len(waiting):
            self.done = int(waiting[0, 1])
        begin = self.done if UNKNOWN < self.done < reached else reached
        cuts = np.searchsorted(waiting[:, 1], np.arange(begin, reached + 1))
        for nth in range(reached - begin):
            homes, _, levels = waiting[cuts[nth] : cuts[nth + 1]].T
            told = self._sum(begin + nth, homes, levels)
            if begin + nth + 1 == reached and len(self._noted):
                told = told._replace(homes=np.union1d(homes, self._noted))
                self._noted = self._noted[:0]
            yield told
            self.done = begin + nth + 1
        self._waiting = [waiting[cuts[-1] :]]

    def begin(self, clock: int) -> None:
        """Sum from the last pane on that such a clock has closed, if none was heard before it."""
        if self.done == UNKNOWN:
            heard = [int(its[:, 1].min()) for its in self._waiting if len(its)]
            self.done = min([self.reached(clock) - 1, *heard])

    def reached(self, clock: int) -> int:
        """The first pane that such a clock leaves open."""
        return int(self.policy.panes.first_open(clock - self.policy.grace - self.policy.idle))

    def _sum(self, pane: int, homes: Integers, levels: Integers) -> PaneSum:
        windows, panes = self._group.windows, self._group.panes
        start = int(windows.start(windows.newest(panes.start(pane))))
        first, roll = int(panes.newest(start)), self._rolls.at(start)
        now = np.full(len(self._last), ABSENT)
        now[homes] = levels
        last = np.where(self._last["pane"] >= first, self._last["level"], ABSENT)
        count = len(self._rolls.groups)
        own = np.where(now == ABSENT, last, now)
        there, so_far = (heard(one, roll.homes, roll.groups, count) for one in (now, own))
        filled = without_gaps(now, last, self._group.rest)
        columns = self._group.columns(filled)
        sums = np.stack([added_up(one, roll.homes, roll.groups, count) for one in columns], axis=1)
        self._last["pane"][homes], self._last["level"][homes] = pane, levels
        return PaneSum(pane, first, sums, there, so_far, roll, homes)

    @property
    def left_behind(self) -> int:
        """The clock that has closed all panes that are summed, and no others."""
        return UNKNOWN if self.done == UNKNOWN else self.policy.closes(self.done - 1)

    @property
    def newest_start(self) -> int:
        """When the newest window began of which a pane is summed. Precondition: there is one."""
        windows, panes = self._group.windows, self._group.panes
        return int(windows.start(windows.newest(panes.start(self.done - 1))))

    # What is written down.

    @property
    def keeps(self) -> bool:
        """Whether anything is written down of homes."""
        return self._fills or self.counts

    @property
    def counts(self) -> bool:
        """Whether homes show registers."""
        return self._counters is not None

    @property
    def _fills(self) -> bool:
        """Whether what a home drew last may fill a pane that is still to come."""
        return self._group.panes.size < self._group.windows.lasting(1)

    def kept(self, homes: Integers) -> Iterator[Kept]:
        """What is written down of these homes: what may fill panes to come, and last registers."""
        if self._fills:
            yield self._last[homes]
        if self._counters is not None:
            yield self._registers(self._counters, homes)

    def _registers(self, counters: Counters, homes: Integers) -> Kept:
        """The last register of each; none, where it showed none so far."""
        found = np.empty(len(homes), dtype=KEPT)
        rows = self._rows[homes]
        shown = rows != UNKNOWN
        found["digest"], found["pane"], found["level"] = self._of_registers, NEVER, 0
        found["pane"][shown], found["level"][shown] = counters.last(rows[shown])
        return found

    @property
    def _of_registers(self) -> int:
        """What tells last registers from last panes."""
        return int(self._last_digest) ^ _OF_REGISTERS

    def take_over(self, rows: Integers, homes: Integers, kept: Kept) -> None:
        """Go on with what was written down of these homes, if it is of the same policy."""
        order = np.argsort(kept["pane"], kind="stable")  # of several of one home the last stays
        rows, homes, kept = rows[order], homes[order], kept[order]
        mine = kept["digest"] == self._last_digest
        self._last[homes[mine]] = kept[mine]
        shown = (kept["digest"] == self._of_registers) & (kept["pane"] != NEVER)
        if self._counters is not None and shown.any():
            rows, kept = rows[shown], kept[shown]
            self._rows[homes[shown]] = rows
            until = kept["pane"] * self.policy.interval
            after = self._counters.take_over(rows, until, as_bytes(kept["level"][:, np.newaxis]))
            self.store.go_on(rows, after)
