"""What open windows hold of the panes that have closed, and which of them are over.

Where windows are panes nothing is folded, and nothing kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from meteragent.privacy.arrays import Integers, Mask
from meteragent.privacy.domain import ABSENT, Levels
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import About, Sums
from meteragent.stream.closed import Closed, nobody
from meteragent.stream.fold import Fold, Over
from meteragent.stream.grain import Grain
from meteragent.stream.losses import Losses, with_those
from meteragent.stream.order import NEVER
from meteragent.stream.part_fold import PartFold
from meteragent.stream.pieces import Bytes

NOBODY = nobody(), nobody()
"""To be told of no window."""
Contents = Mapping[About, Levels | Sums]
"""What queries are about -> what windows hold of it."""


def some_of(contents: Contents, windows: Integers | Mask) -> Contents:
    """Those of some windows."""
    return {
        about: held.where(windows) if isinstance(held, Sums) else held[windows]
        for about, held in contents.items()
    }


@dataclass(frozen=True, slots=True)
class Decided:
    """Windows that are over, by row and then by time."""

    rows: Integers
    windows: Integers
    contents: Contents
    """Of their readings, of each part that is asked for, and of registers that are folded."""
    heard: Integers
    """For how many slots of each a reading came."""
    moments: Integers
    """When each has closed, as `order` counts it ..."""
    dues: Integers
    """... and when that was due, if it was not a record of its meter's that closed it."""
    whole: Mask
    """Of which nothing was lost."""

    def where(self, windows: Mask) -> "Decided":
        """Some of them."""
        if windows.all():
            return self
        return Decided(
            self.rows[windows],
            self.windows[windows],
            some_of(self.contents, windows),
            self.heard[windows],
            self.moments[windows],
            self.dues[windows],
            self.whole[windows],
        )


class Folds:
    """The open windows of one policy's meters, a row per meter."""

    def __init__(self, policy: Policy) -> None:
        self._windows, self._panes = policy.windows, policy.panes
        self._digest = int.from_bytes(policy.digest[:8], "little")
        self.several = policy.panes.size < policy.windows.lasting(1)
        """Whether windows have several panes."""
        self._readings = Fold(Grain.of_readings(policy))
        self._parts = {part: PartFold(policy, part) for part in policy.asking.parts}
        self.losses = Losses(self._windows)

    def grow(self, rows: int) -> None:
        """Make room for so many rows."""
        self.losses.grow(rows)
        for fold in self._all:
            fold.grow(rows)

    @property
    def _all(self) -> list[Fold | PartFold]:
        return [self._readings, *self._parts.values()] if self.several else []

    @property
    def bytes_per_row(self) -> int:
        """What a meter takes here."""
        return sum(fold.bytes_per_row for fold in self._all)

    def open_windows(self) -> int:
        """How many windows of all rows hold a reading of a pane that has closed."""
        return self._readings.open_windows()

    @property
    def shape(self) -> tuple[int, int]:
        """Of which digest it is, as a number, and how many bytes are written down of a row."""
        return self._digest, sum(fold.bytes_of_state for fold in self._all)

    def until(self, rows: Integers) -> Integers:
        """Up to when panes are folded, in milliseconds, or NEVER."""
        return self._readings.until(rows)

    def state(self, rows: Integers) -> Bytes:
        """What is kept of these rows: of windows that hold something, and nothing else."""
        return np.concatenate([fold.state(rows) for fold in self._all], axis=1)

    def take_over(self, rows: Integers, until: Integers, state: Bytes) -> None:
        """Go on with what was kept of these rows."""
        lengths = [fold.bytes_of_state for fold in self._all]
        own, *others = np.split(state, np.cumsum(lengths)[:-1], axis=1)
        self._readings.take_over(rows, until, own)
        for fold, its in zip(self._parts.values(), others, strict=True):
            fold.take_over(rows, its)

    def take(self, closed: Closed) -> Decided:
        """Fold panes into their windows; answer those that are over now."""
        owed = NOBODY
        if self.losses.any():
            after = self._windows.first_open(self._panes.start(closed.reached))
            owed = self.losses.told(closed.rows, after)
        if not self.several:
            panes = with_those(closed, *owed)
            heard = np.count_nonzero(panes.levels != ABSENT, axis=1)
            over = Over(panes.rows, panes.panes, heard, panes.levels, {})
            return self._decided(over, {0: over}, closed)
        closed = replace(closed, panes=closed.panes.without_empty())
        over = self._readings.take(closed, owed)
        of_parts = {part: fold.take(closed, owed) for part, fold in self._parts.items()}
        return self._decided(over, {0: over, **of_parts}, closed)

    def _decided(self, over: Over, found: Mapping[int, Over], closed: Closed) -> Decided:
        last = self._panes.newest(self._windows.end(over.windows)) - 1
        whole = self.losses.whole(over.rows, over.windows)
        timing = closed.timing.of(over.rows, last)
        contents: dict[About, Levels | Sums] = {}
        for part, its in found.items():
            contents[About(part)] = its.contents
            contents |= {About(part, one): sums for one, sums in its.of_hours.items()}
        return Decided(over.rows, over.windows, contents, over.heard, *timing, whole)

    def awaited(self, rows: Integers) -> Integers:
        """By which pane's end somebody is to be told of each row's next window, or NEVER.

        For it holds something, or did.
        """
        awaited = np.full(len(rows), NEVER)
        if self.losses.any():
            owed = self.losses.awaited(rows)
            some = np.flatnonzero(owed != NEVER)
            awaited[some] = self._panes.newest(self._windows.end(owed[some]) - 1)
        return np.minimum(awaited, self._readings.awaited(rows)) if self.several else awaited
