"""What a scrape of a million accounts costs, however long ago they last paid.

    python -m simulations.fleet.scrape [--meters N] [--check]

In processor time; the ratio is to reading the same accounts' memory once and doing nothing else.
Target: a tenth of a second for a million meters, whatever the clock says.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import cast

import numpy as np

from meteragent.config.load import from_document
from meteragent.privacy.ledger import Ledger
from meteragent.stream.pipeline import Holding, Pipeline, Position
from meteragent.watch.metrics import Monitor
from meteragent.watch.watched import Clocks

MOST_SECONDS = 0.1
BEHIND = (0, 1, 7, 24, 48, 72, 95)
REPEATS = 5


CONFIG = from_document(
    {
        "policy": [
            {
                "name": "household",
                "window": "15m",
                "interval": "10s",
                "maximum": "24kW",
                "queries": ["avg", "median", "p95"],
                "epsilon": "1",
                "budget": "288",
            }
        ]
    },
    Path(),
    {},
)
[POLICY] = CONFIG.policies


@dataclass(frozen=True)
class Partition:
    """Accounts, a clock, and nothing to do."""

    ledger: Ledger
    clock: int

    def holdings(self) -> list[Holding]:
        """All accounts."""
        return [Holding(POLICY, len(self.ledger), self.ledger, 0, 0)]

    def position(self) -> Position:
        """At its end."""
        return Position(0, self.clock, 0)


@dataclass(frozen=True)
class Silent:
    """An agent with one partition."""

    partition: Partition
    ready = alive = True
    stood_still = 0.0
    fingerprint = ""
    clocks = Clocks()

    def pipelines(self) -> dict[int, Pipeline]:
        """What is asked of a pipeline, its one partition answers."""
        return {0: cast("Pipeline", self.partition)}

    def lags(self) -> dict[int, int]:
        """None are known."""
        return {}

    def awaited(self) -> dict[int, float]:
        """Nothing is."""
        return {}

    def blocked(self) -> dict[int, tuple[int, float]]:
        """None is."""
        return {}


def paid(meters: int) -> Ledger:
    """Accounts that have paid for every window of a day."""
    terms = POLICY.terms
    one = Ledger(terms, 1)
    for window in range(terms.per_horizon):
        one.charge(np.array([0]), np.array([terms.windows.start(window)]))
    all_of_them = Ledger(terms, meters)
    all_of_them.merge(np.arange(meters), one, np.zeros(meters, dtype=np.int64))
    return all_of_them


def seconds(work: Callable[[], object]) -> float:
    """The least processor time of some attempts."""
    taken = []
    for _ in range(REPEATS):
        begun = time.thread_time()
        work()
        taken.append(time.thread_time() - begun)
    return min(taken)


def scrapes(ledger: Ledger, behind: int) -> float:
    """Of a fleet that was silent for so many windows."""
    clock = (POLICY.terms.per_horizon - 1 + behind) * POLICY.hop
    seconds_of_wall = count(0, 2)
    monitor = Monitor(CONFIG, wall=lambda: float(next(seconds_of_wall)))
    monitor.watch(Silent(Partition(ledger, clock)))

    def scrape() -> None:
        monitor.fleet.changed(0)
        monitor.series.expose()

    return seconds(scrape)


def main() -> int:
    """Measure, print, and say whether the target is met."""
    parser = argparse.ArgumentParser(prog="python -m simulations.fleet.scrape")
    parser.add_argument("--meters", type=int, default=1_000_000)
    parser.add_argument("--check", action="store_true", help="end with 1 if the target is missed")
    given = parser.parse_args()
    ledger = paid(given.meters)
    bare = seconds(lambda: ledger.buckets.view(np.uint8).max())
    print(f"{given.meters:,} accounts; reading them once takes {1000 * bare:.0f} ms")
    worst = 0.0
    for behind in BEHIND:
        took = scrapes(ledger, behind)
        worst = max(worst, took)
        print(f"{behind:3} windows behind: {1000 * took:4.0f} ms, {took / bare:.1f} times that")
    met = worst <= MOST_SECONDS * given.meters / 1_000_000
    print(f"at most {1000 * worst:.0f} ms: {'target met' if met else 'target missed'}")
    return 0 if met or not given.check else 1


if __name__ == "__main__":
    sys.exit(main())
