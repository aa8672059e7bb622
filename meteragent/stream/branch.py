"""One policy of a cohort: its windows, its ring of every account, and its releases."""

from collections.abc import Callable

import numpy as np

from meteragent.privacy.arrays import Integers, Mask, counted, run_starts
from meteragent.privacy.domain import ABSENT, Levels, Watts
from meteragent.privacy.entropy import METER, NoiseKey, Tags
from meteragent.privacy.ledger import NEVER, Ledger
from meteragent.privacy.query import READINGS, Sums
from meteragent.privacy.release import Releaser
from meteragent.stream.closed import Closed
from meteragent.stream.completed import completed
from meteragent.stream.fast_panes import store_of
from meteragent.stream.fold_record import Folded, FoldShape
from meteragent.stream.folds import Contents, Decided, Folds, some_of
from meteragent.stream.losses import since_in
from meteragent.stream.meters import Assigned
from meteragent.stream.open_slots import OpenSlots
from meteragent.stream.order import NEVER as NOT_KNOWN
from meteragent.stream.pieces import as_bytes, as_numbers
from meteragent.stream.releases import Releases, Withheld

_INT64 = np.dtype(np.int64)
_TIME = _INT64.itemsize
_COLUMNS = 4  # of a meter besides its slots and buckets: head, spent, released_until, next


class Branch:
    """Closes windows of its meters, pays for them, and releases what is paid for."""

    kind = METER
    thin = Withheld.COVERAGE
    """Why a window is withheld that is not covered."""

    def __init__(
        self, assigned: Assigned, key: NoiseKey, by_name: Callable[[Integers], Integers]
    ) -> None:
        """`by_name` puts rows in the order of their meters' names."""
        self.name = assigned.name
        self.policy = assigned.policy
        self.share = assigned.share
        self.store = store_of(self.policy, by_name)
        self.folds = Folds(self.policy)
        self.ledger = Ledger(self.policy.terms)
        self._releaser = Releaser(self.policy, key, self.kind)
        *_, self._of_open, self._of_lost = shapes(assigned)

    def grow(self, rows: int) -> None:
        """Make room for at least this many meters."""
        self.store.grow(rows)
        self.folds.grow(len(self.store.next))
        self.ledger.grow(rows)

    def go_on(self, rows: Integers) -> None:
        """Leave decided what the ledger says is; what is still open is read again."""
        until = self.ledger.released_until[rows]
        known = until != NEVER
        windows = self.policy.windows
        first = windows.start(windows.first_open(until[known]))
        self.store.go_on(rows[known], self.policy.panes.newest(first))

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
            self.store.go_on(rows[whole], self.policy.panes.newest(until[whole]))
            told &= ~alone
        if told.any():
            lost, until = rows[told], until[told]
            held = np.full(len(lost), NOT_KNOWN) if mine is None else until - 1
            self.folds.losses.lose(lost, held, until)
            self.store.go_on(lost, self.policy.panes.newest(until))

    def carried(self, rows: Integers) -> Folded:
        """What goes there too, of rows with open panes that are not to be read again."""
        first, slots = self.store.next[rows], self.store.open_slots
        levels = slots.straight(rows, first)
        panes = self.policy.panes
        state = [as_bytes(panes.start(first)[:, np.newaxis]), as_bytes(levels)]
        until = panes.start(slots.held_until(rows, first))
        return Folded(self._of_open, until, np.concatenate(state, axis=1))

    def reopen(self, rows: Integers, kept: list[Folded], alone: Mask) -> None:
        """Go on with open panes that were carried; what is lost of them, say so."""
        mine = next((one for one in kept if one.shape.mark == self.share.mark_of_open), None)
        if mine is None:
            return
        since = since_in(mine.state)
        lost = np.ones(len(rows), dtype=np.bool_)
        if mine.shape == self._of_open:
            some, first = rows[alone], self.policy.panes.newest(since[alone])
            levels = as_numbers(mine.state[alone, _TIME:], self.policy.domain.dtype)
            self.store.go_on(some, first)
            self.store.open_slots.take_over(some, first, levels)
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
        self.store.go_on(rows[held], self.policy.panes.newest(since[held]))

    def settle_losses(self, rows: Integers, clock: int) -> None:
        """Now all is known that was lost: see that somebody is told of it.

        Where presence is private, what is withheld must not tell who was heard: what is lost of one
        meter is lost of all.
        """
        if self.policy.presence == "public":
            self.store.awaited[rows] = self.folds.awaited(rows)
        elif self.folds.losses.any():
            none = np.full(len(rows), NOT_KNOWN)
            self.folds.losses.lose(rows, none, np.full(len(rows), clock))

    def are_lost(self, rows: Integers) -> Mask:
        """Which of these rows have lost anything of windows that are not over."""
        following = self.policy.panes.start(self.store.next[rows])
        return self.folds.losses.open(rows, self.policy.windows.first_open(following))

    def lost(self, rows: Integers) -> Folded:
        """What goes into the ledger records of such rows."""
        losses = self.folds.losses
        return Folded(self._of_lost, losses.until(rows), losses.state(rows))

    @property
    def holds_open(self) -> bool:
        """Whether any window that is not over holds a reading."""
        return bool(self.store.open_slots.open_panes() or self.folds.open_windows())

    @property
    def bytes_per_meter(self) -> int:
        """In arrays."""
        ledger = self.ledger
        account = ledger.buckets_kept * ledger.buckets.itemsize + ledger.head.itemsize * _COLUMNS
        return self.store.open_slots.bytes_per_row + self.folds.bytes_per_row + account

    @property
    def nothing(self) -> Releases:
        """No window at all."""
        none, values = np.empty(0, dtype=np.int64), np.empty((0, self._releaser.outputs))
        present = np.empty((0, 0), dtype=np.bool_)
        return Releases(self.policy, [], none, none, [], none, present, values, values)

    def fold(self, closed: Closed) -> Decided:
        """Fold panes that have closed into their windows; answer which of these are over."""
        decided = self.folds.take(closed)
        until = self.ledger.released_until[decided.rows]
        decided = decided.where(self.policy.windows.end(decided.windows) > until)
        decided = self._asked(decided)
        if self.policy.presence == "public":
            self.store.awaited[closed.rows] = self.folds.awaited(closed.rows)
        return decided

    def _asked(self, decided: Decided) -> Decided:
        """Without windows of which nothing is asked: these are settled, and that is all."""
        if not self.policy.asking.of_hours:
            return decided
        windows, starts = self.policy.windows, self.policy.windows.start(decided.windows)
        asked: Mask = np.logical_or.reduce(self.policy.asking.of(starts), axis=1)
        self.ledger.settle(decided.rows[~asked], windows.end(decided.windows[~asked]))
        return decided.where(asked)

    def decide(self, decided: Decided, meters: list[str], tags: Tags) -> Releases:
        """Charge windows that are over, and release what is paid for; `meters` are theirs.

        `tags` are those of all rows.
        """
        starts = self.policy.windows.start(decided.windows)
        contents = completed(self.policy, decided.contents, starts)
        readings = contents[READINGS]
        present = _present(readings)
        held = _held(readings) if self.policy.carried else decided.heard
        granted, withheld = self._pay(decided, starts, held, contents)
        values, unbiased = self._release(decided, contents, tags, starts, granted)
        return Releases(
            self.policy,
            meters,
            starts,
            granted,
            withheld.tolist(),
            held,
            present,
            values,
            unbiased,
        )

    def _pay(
        self, decided: Decided, starts: Integers, held: Integers, contents: Contents
    ) -> tuple[Integers, Integers]:
        """How many queries of each window are paid for, and why not all of them.

        Who pays is decided by the clock, by past spending and, where presence is public, by
        which readings are there: never by what a reading says.
        """
        rows = decided.rows
        covered = self.are_covered(rows, starts, held, contents)
        granted = self._charge(rows, starts, covered & decided.whole)
        self.ledger.settle(rows, self.policy.windows.end_of(starts))
        short = granted < len(self.policy.questions)
        withheld = np.where(short, Withheld.BUDGET, Withheld.NOTHING)
        withheld = np.where(covered, withheld, self.thin)
        return granted, np.where(decided.whole, withheld, Withheld.LOST)

    def are_covered(
        self, rows: Integers, starts: Integers, held: Integers, contents: Contents
    ) -> Mask:
        """Which windows hold as much as is asked for: all, where presence is private."""
        del rows
        if self.policy.presence == "private":
            return np.ones(len(starts), dtype=np.bool_)
        covered: Mask = held >= self.policy.needed_of(starts)
        for about in self.policy.asking.of_hours:
            covered &= _held(contents[about]) >= self.policy.needed_of(starts, about)
        return covered

    def _charge(self, rows: Integers, starts: Integers, covered: Mask) -> Integers:
        """A meter's windows in their order, one of each meter at a time."""
        granted = np.zeros(len(rows), dtype=np.int64)
        nth = _nth_of_row(rows)
        for turn in range(int(nth.max(initial=-1)) + 1):
            now = np.flatnonzero((nth == turn) & covered)
            granted[now] = self.ledger.charge(rows[now], starts[now])
        return self.policy.answered(granted)

    def _release(
        self,
        decided: Decided,
        contents: Contents,
        tags: Tags,
        starts: Integers,
        granted: Integers,
    ) -> tuple[Watts, Watts]:
        """What is released of each window that has paid."""
        values = np.full((len(starts), self._releaser.outputs), np.nan)
        unbiased = values.copy()
        paid = np.flatnonzero(granted)
        if len(paid):
            values[paid], unbiased[paid] = self._releaser.release(
                tags[decided.rows[paid]],
                starts[paid],
                decided.heard[paid],
                some_of(contents, paid),
                granted[paid],
            )
        return values, unbiased


def shapes(assigned: Assigned) -> list[FoldShape]:
    """What may stand behind the account of a meter, in this order.

    Open windows, if panes make them; open panes; what was lost.
    """
    policy, share, folds = assigned.policy, assigned.share, Folds(assigned.policy)
    digest, count = folds.shape
    levels = OpenSlots(policy).length * policy.domain.dtype.itemsize
    of_open = FoldShape(share.mark_of_open, digest, _TIME + levels)
    of_lost = FoldShape(share.mark_of_lost, 0, _TIME)
    return [*([FoldShape(share.mark, digest, count)] if folds.several else []), of_open, of_lost]


def _held(contents: Levels | Sums) -> Integers:
    """How many slots of each window hold a reading, or are filled."""
    if isinstance(contents, Sums):
        return contents.present
    held: Integers = np.count_nonzero(contents != ABSENT, axis=1)
    return held


def _present(contents: Levels | Sums) -> Mask:
    """Which do, where that is known."""
    if isinstance(contents, Sums):
        return np.empty((len(contents.present), 0), dtype=np.bool_)
    present: Mask = contents != ABSENT
    return present


def _nth_of_row(rows: Integers) -> Integers:
    """0 for the first window of each row, 1 for its second, …; rows come in runs."""
    return counted(np.diff(run_starts(rows), append=len(rows)))
