"""One policy of a cohort: its windows, its ring of every account, and its releases."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from meteragent.privacy.arrays import Integers, Mask, counted, roomy, run_starts
from meteragent.privacy.domain import ABSENT, Levels, Watts
from meteragent.privacy.entropy import METER, NoiseKey, Tags
from meteragent.privacy.ledger import NEVER, Ledger
from meteragent.privacy.query import READINGS, Sums
from meteragent.privacy.release import Releaser
from meteragent.stream.closed import Closed
from meteragent.stream.completed import completed
from meteragent.stream.folds import Contents, Decided, some_of
from meteragent.stream.meters import Assigned
from meteragent.stream.releases import Releases, Withheld
from meteragent.stream.written import WrittenDown

_COLUMNS = 4  # of a meter besides its slots and buckets: head, spent, released_until, next


class Branch(WrittenDown):
    """Closes windows of its meters, pays for them, and releases what is paid for."""

    kind = METER
    thin = Withheld.COVERAGE
    """Why a window is withheld that is not covered."""

    def __init__(self, assigned: Assigned, key: NoiseKey, name_of: Callable[[int], str]) -> None:
        """`name_of` a row is its meter's."""
        self._name_of = name_of
        self._called = assigned.called(key)
        super().__init__(assigned, self._by_name)
        self.name = assigned.name
        self._room = 0
        self.ledger = Ledger(self.policy.terms)
        self._tiers = assigned.tiers
        self._releaser = Releaser(self.policy, key, self.kind, assigned.tiers)

    def _by_name(self, rows: Integers) -> Integers:
        """Rows in the order of what their meters are called."""
        names = {row: self._called[0](self._name_of(row)) for row in rows.tolist()}
        return np.array(sorted(names, key=names.__getitem__), dtype=np.int64)

    def grow(self, rows: int, there: int) -> None:
        """Make room for at least this many meters, and for rows in the store."""
        self.store.grow(there)
        if rows > self._room:
            self._room = roomy(self._room, rows)
            self.folds.grow(self._room)
        self.ledger.grow(rows)

    def go_on(self, rows: Integers) -> None:
        """Leave decided what the ledger says is; what is still open is read again."""
        until = self.ledger.released_until[rows]
        known = until != NEVER
        windows = self.policy.windows
        first = windows.start(windows.first_open(until[known]))
        self._resume(rows[known], self.policy.panes.newest(first))

    @property
    def holds_open(self) -> bool:
        """Whether any window that is not over holds a reading."""
        return bool(self.open_panes() or self.folds.open_windows())

    @property
    def bytes_per_meter(self) -> int:
        """In arrays."""
        ledger = self.ledger
        account = ledger.buckets_kept * ledger.buckets.itemsize + ledger.head.itemsize * _COLUMNS
        open_panes = self.store.open_slots.bytes_per_row + self.store.shown.bytes_per_row
        return open_panes + self.folds.bytes_per_row + account

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
            self.store.awaited[self.lodging.of(closed.rows)] = self.folds.awaited(closed.rows)
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
        found = self._release(decided, contents, tags, starts, granted)
        why = withheld.tolist()
        whole, *copies = (
            Releases(policy, [*map(called, meters)], starts, granted, why, held, present, *watts)
            for policy, called, watts in zip(
                (self.policy, *self._tiers), self._called, found, strict=True
            )
        )
        return replace(whole, tiers=tuple(copies)) if copies else whole

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
    ) -> list[tuple[Watts, Watts]]:
        """What is released of each window that has paid, and what each tier is told of it."""
        nothing = np.full((len(starts), self._releaser.outputs), np.nan)
        found = [(nothing.copy(), nothing.copy()) for _ in (self.policy, *self._tiers)]
        paid = np.flatnonzero(granted)
        if len(paid):
            released = self._releaser.release_all(
                tags[decided.rows[paid]],
                starts[paid],
                decided.heard[paid],
                some_of(contents, paid),
                granted[paid],
            )
            for whole, some in zip(found, released, strict=True):
                for watts, its in zip(whole, some, strict=True):
                    watts[paid] = its
        return found


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
    first = run_starts(rows)
    if len(first) == len(rows):
        return np.zeros_like(rows)
    return counted(np.diff(first, append=len(rows)))
