"""Where the fleet's budgets stand: sums over the accounts of all meters, never one of them.

Looked at when somebody asks, at most once a second; of a partition where nothing has been
decided since, what was counted last time still holds.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from meteragent.privacy.ledger import NEVER
from meteragent.stream.pipeline import Holding, Pipeline

SECONDS = 1.0
PERCENT = 100
LOW = 10
"""Percent of its budget at or below which a meter is about to run out."""
AT_ONCE = 30_000
"""Accounts looked at together: few enough for the processor's caches, and for their sum."""

PerCent = NDArray[np.int64]

_Key = tuple[int, int, int]
"""Changes so far, meters, next window: what a count depends on."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The accounts of one policy, in all partitions."""

    percent: PerCent
    """percent[p]: how many meters have more than p - 1 and at most p percent left."""
    exhausted: int = 0
    """How many cannot pay for their next window."""
    left: int = 0
    """The sum of what is left, in nano-units."""
    open_windows: int = 0
    bytes_per_meter: int = 0

    @property
    def meters(self) -> int:
        """How many are known."""
        return int(self.percent.sum())

    @property
    def low(self) -> int:
        """How many have little left."""
        return int(self.percent[: LOW + 1].sum())

    def poorest_tenth(self) -> float:
        """The share of the budget that nine of ten meters have left, rounded up to a percent."""
        percent = int(np.searchsorted(np.cumsum(self.percent), self.meters / 10, side="right"))
        return min(percent, PERCENT) / PERCENT

    def and_(self, other: "Standing") -> "Standing":
        """Both together."""
        return Standing(
            self.percent + other.percent,
            self.exhausted + other.exhausted,
            self.left + other.left,
            self.open_windows + other.open_windows,
            max(self.bytes_per_meter, other.bytes_per_meter),
        )


NOBODY = Standing(np.zeros(PERCENT + 1, dtype=np.int64))


class Balances:
    """PerCent accounts, as seldom as it can."""

    def __init__(
        self,
        pipelines: Callable[[], Mapping[int, Pipeline]],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._pipelines = pipelines
        self._clock = clock
        self._known: dict[tuple[int, int], tuple[_Key, Standing]] = {}
        self._changes: dict[int, int] = {}
        self._looked: float | None = None
        self._standings: dict[str, Standing] = {}

    def changed(self, partition: int) -> None:
        """Accounts of this partition are not what they were."""
        self._changes[partition] = self._changes.get(partition, 0) + 1

    def standings(self) -> dict[str, Standing]:
        """Policy id -> where its accounts stand."""
        now = self._clock()
        if self._looked is None or not 0 <= now - self._looked < SECONDS:
            self._looked, self._standings = now, self._count()
        return self._standings

    def _count(self) -> dict[str, Standing]:
        known: dict[tuple[int, int], tuple[_Key, Standing]] = {}
        total: dict[str, Standing] = {}
        for partition, pipeline in self._pipelines().items():
            for number, holding in enumerate(pipeline.holdings()):
                now = _next_window(holding, pipeline.clock)
                key = (self._changes.get(partition, 0), holding.meters, now)
                before = self._known.get((partition, number))
                accounts = before[1] if before and before[0] == key else _counted(holding, now)
                known[partition, number] = key, accounts
                standing = replace(
                    accounts,
                    open_windows=holding.open_windows,
                    bytes_per_meter=holding.bytes_per_meter,
                )
                policy = holding.policy.id
                total[policy] = total.get(policy, NOBODY).and_(standing)
        self._known = known
        return total


def _next_window(holding: Holding, clock: int) -> int:
    """The start of the window that is to be paid for next.

    Where presence is private that is the first one that is not due: the newest one would tell
    when somebody was heard.
    """
    policy = holding.policy
    head = int(holding.ledger.head[: holding.meters].max(initial=NEVER))
    windows = policy.windows
    newest = windows.newest(clock)
    if policy.presence == "private":
        newest = windows.first_open(clock - policy.grace - policy.idle)
    return max(0, windows.start(newest), policy.terms.start_of(head))


def _counted(holding: Holding, now: int) -> Standing:
    policy = holding.policy
    percent, exhausted, total = np.zeros(PERCENT + 1, dtype=np.int64), 0, 0
    for first in range(0, holding.meters, AT_ONCE):
        accounts = np.arange(first, min(first + AT_ONCE, holding.meters))
        left = holding.ledger.left(accounts, now)
        percent += np.bincount(-(-left * PERCENT // policy.budget), minlength=PERCENT + 1)
        exhausted += int(np.count_nonzero(left < policy.terms.least))
        total += int(left.sum())
    return Standing(percent, exhausted, total)
