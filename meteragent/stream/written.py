"""What is written down of one policy's meters besides their accounts, and taken over again.

That is open windows, last registers, open panes of meters that fell silent, and what was lost.
"""

from collections.abc import Callable

import numpy as np

from meteragent.privacy.arrays import Integers, Mask
from meteragent.privacy.ledger import NEVER
from meteragent.stream.counters import HELD, Counters
from meteragent.stream.fast_panes import store_of
from meteragent.stream.fold_record import Folded, FoldShape
from meteragent.stream.folds import Folds
from meteragent.stream.lodging import Lodging
from meteragent.stream.losses import since_in
from meteragent.stream.meters import Assigned
from meteragent.stream.open_slots import OpenSlots
from meteragent.stream.order import NEVER as NOT_KNOWN
from meteragent.stream.panes import UNKNOWN
from meteragent.stream.pieces import as_bytes, as_numbers
from meteragent.stream.shown import shown_of

_TIME = np.dtype(np.int64).itemsize


class WrittenDown:
    """The open panes and windows of one policy's meters."""

    def __init__(self, assigned: Assigned, by_name: Callable[[Integers], Integers]) -> None:
        """`by_name` puts rows in the order of what their meters are called."""
        self.policy = assigned.policy
        self.share = assigned.share
        self._counters = Counters(self.policy) if assigned.counts else None
        self.store = store_of(self.policy, by_name, self._counters)
        self.lodging = Lodging()
        self.folds = Folds(self.policy)
        *_, self._of_open, self._of_lost = shapes(assigned)
        self._of_last = _of_last(assigned)

    @property
    def shape(self) -> object:
        """Of its panes: those of the same may be kept in one store. None: of no others."""
        policy = self.policy
        if policy.presence == "private" or self._counters is not None:
            return None
        return policy.panes, policy.grace, policy.idle, policy.domain

    def kept(self, rows: Integers) -> Folded:
        """What goes into the ledger records of these rows, of windows that are not over."""
        digest, count = self.folds.shape
        shape = FoldShape(self.share.mark, digest, count)
        return Folded(shape, self.folds.until(rows), self.folds.state(rows))

    def unfold(
        self, rows: Integers, kept: list[Folded], known: Mask, alone: Mask, clock: int
    ) -> None:
        """Go on with the open windows of rows whose records hold this; what is lost, say so.

        `known` are those records that would hold it, and `alone` meters that have but one. A row
        may have several records.
        """
        if not self.folds.several:
            return
        mine = next((one for one in kept if one.shape.mark == self.share.mark), None)
        until = np.where(known, clock, NEVER) if mine is None else mine.until
        same = mine is not None and (mine.shape.digest, mine.shape.bytes) == self.folds.shape
        told = until != NEVER
        if mine is not None and same:
            whole = told & alone
            self.folds.take_over(rows[whole], until[whole], mine.state[whole])
            self._resume(rows[whole], self.policy.panes.newest(until[whole]))
            told &= ~alone
        if told.any():
            lost, until = rows[told], until[told]
            held = np.full(len(lost), NOT_KNOWN) if mine is None else until - 1
            self.folds.losses.lose(lost, held, until)
            self._resume(lost, self.policy.panes.newest(until))

    def noted(self, rows: Integers) -> list[Folded]:
        """What goes there too, where readings are registers: the last one of each row."""
        if self._counters is None:
            return []
        return [Folded(self._of_last, self._counters.until(rows), self._counters.state(rows))]

    def recall(self, rows: Integers, kept: list[Folded], alone: Mask) -> None:
        """Go on counting from last registers that were noted; without one, there is a gap."""
        mine = next((one for one in kept if one.shape == self._of_last), None)
        if self._counters is None or mine is None:
            return
        known = alone & (mine.until != NEVER)
        some = rows[known]
        after = self._counters.take_over(some, mine.until[known], mine.state[known])
        self._resume(some, after)

    def carried(self, rows: Integers) -> Folded:
        """What goes there too, of rows with open panes that are not to be read again."""
        there, slots, panes = self.lodging.of(rows), self.store.open_slots, self.policy.panes
        first = self.store.next[there]
        levels = slots.straight(there, first)
        since, until = slots.held(there, first)
        times = np.stack([panes.start(since), panes.start(first)], axis=1)
        state = np.concatenate([as_bytes(times), as_bytes(levels)], axis=1)
        return Folded(self._of_open, panes.start(until), state)

    def reopen(self, rows: Integers, kept: list[Folded], alone: Mask) -> None:
        """Go on with open panes that were carried; what is lost of them, say so."""
        mine = next((one for one in kept if one.shape.mark == self.share.mark_of_open), None)
        if mine is None:
            return
        since = since_in(mine.state)
        lost = np.ones(len(rows), dtype=np.bool_)
        if mine.shape == self._of_open and alone.any():
            some, state = rows[alone], mine.state[alone]
            first = self.policy.panes.newest(since_in(state[:, _TIME:]))
            levels = as_numbers(state[:, 2 * _TIME :], self.store.shown.dtype)
            self._resume(some, first)
            self.store.open_slots.take_over(self.lodging.of(some), first, levels)
            lost = ~alone
        if lost.any():
            self._lose(rows[lost], since[lost], mine.until[lost])

    def lose(self, rows: Integers, kept: list[Folded]) -> None:
        """What was lost of rows whose records hold this stays lost."""
        mine = next((one for one in kept if one.shape.mark == self.share.mark_of_lost), None)
        if mine is not None:
            self._lose(rows, since_in(mine.state), mine.until)

    def _lose(self, rows: Integers, since: Integers, until: Integers) -> None:
        self.folds.losses.lose(rows, since, until)
        held = since != NOT_KNOWN
        self._resume(rows[held], self.policy.panes.newest(since[held]))

    def _resume(self, rows: Integers, panes: Integers) -> None:
        """All panes of these rows, some several times, before these have closed."""
        self.store.go_on(self.lodging.of(rows), panes)

    def are_carried(self, rows: Integers) -> Mask:
        """Which of these rows hold anything in open panes that would not be read again."""
        return self.store.open_slots.carried(self.lodging.of(rows))

    def open_panes(self) -> int:
        """How many panes of all rows are open."""
        return self.store.open_slots.open_panes(self.lodging.everyone)

    def settle_losses(self, rows: Integers, clock: int) -> None:
        """Now all is known that was lost: see that somebody is told of it.

        Where presence is private, what is withheld must not tell who was heard: what is lost of one
        meter is lost of all.
        """
        if self.policy.presence == "public":
            self.store.awaited[self.lodging.of(rows)] = self.folds.awaited(rows)
        elif self.folds.losses.any():
            none = np.full(len(rows), NOT_KNOWN)
            self.folds.losses.lose(rows, none, np.full(len(rows), clock))

    def are_lost(self, rows: Integers) -> Mask:
        """Which of these rows have lost anything of windows that are not over."""
        if not self.folds.losses.any():
            return np.zeros(len(rows), dtype=np.bool_)
        following = self.store.next[self.lodging.of(rows)]
        first, known = following.copy(), following != UNKNOWN
        begin = self.policy.panes.start(following[known])
        first[known] = self.policy.windows.first_open(begin)
        return self.folds.losses.open(rows, first)

    def lost(self, rows: Integers) -> Folded:
        """What goes into the ledger records of such rows."""
        losses = self.folds.losses
        return Folded(self._of_lost, losses.until(rows), losses.state(rows))


def shapes(assigned: Assigned) -> list[FoldShape]:
    """What may stand behind the account of a meter, in this order.

    Open windows, if panes make them; the last register, if readings are such; open panes; what was
    lost.
    """
    policy, share, folds = assigned.policy, assigned.share, Folds(assigned.policy)
    digest, count = folds.shape
    kind = HELD if assigned.counts else shown_of(policy).dtype
    levels = OpenSlots(policy).length * kind.itemsize
    of_open = FoldShape(share.mark_of_open, digest, 2 * _TIME + levels)
    of_lost = FoldShape(share.mark_of_lost, 0, _TIME)
    of_windows = [FoldShape(share.mark, digest, count)] if folds.several else []
    of_last = [_of_last(assigned)] if assigned.counts else []
    return [*of_windows, *of_last, of_open, of_lost]


def _of_last(assigned: Assigned) -> FoldShape:
    """What stands there of a last register: whatever else of the policy may change."""
    return FoldShape(assigned.share.mark_of_last, assigned.policy.interval, HELD.itemsize)
