"""What many policies cost: a partition whose meters have one policy, ten, or a hundred.

    python -m simulations.fleet policies            print the table
    python -m simulations.fleet policies --check    end with 1 if a target is missed

Columns in, releases out, in one process: 15-minute windows of 10 s readings, as many meters in each
row, batches as Kafka gives them. Each policy has meters of its own, told by how their ids begin.
Times are of the processor, medians of the rounds. Target: a reading costs at most one and a half
times as much under a hundred policies as under one.
"""

import argparse
import time
from statistics import median
from unittest.mock import patch

from meteragent.privacy import native
from meteragent.stream.pipeline import Assigned, Pipeline
from meteragent.stream.readings import Readings
from simulations.fleet.scale import KEY, household_policy, rounds

MOST_TIMES = 1.5
COUNTS = (1, 10, 100)
BEGIN = 1_763_424_000_000


def renamed(readings: Readings, policies: int) -> Readings:
    """The same readings, of meters whose ids tell their policies."""
    names = [f"{int(meter[-7:]) % policies:03d}-{meter}" for meter in readings.meters]
    return Readings(
        names,
        readings.offsets,
        readings.timestamps,
        readings.counts,
        readings.starts,
        readings.intervals,
        readings.watts,
        readings.rejects,
        readings.next_offset,
    )


def nanoseconds(policies: int, meters: int, steps: int) -> float:
    """Of the processor, for each reading."""
    policy = household_policy()
    assigned = [Assigned(f"{nth:03d}-", f"p{nth}", policy) for nth in range(policies)]
    one = Pipeline(assigned, KEY, max_skew=10_000, max_meters=meters)
    given = [renamed(one, policies) for one in rounds(meters, BEGIN, steps, seed=1)]
    begun = time.process_time()
    for batch in given:
        for _ in one.feed(batch):
            pass
        one.position()
    return (time.process_time() - begun) / (meters * steps) * 1e9


def main(arguments: list[str]) -> int:
    """Print a row per way and number of policies."""
    parser = argparse.ArgumentParser(prog="python -m simulations.fleet policies")
    parser.add_argument("--meters", type=int, default=5_000)
    parser.add_argument("--steps", type=int, default=180, help="readings of each meter")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check", action="store_true", help="end with 1 if a target is missed")
    given = parser.parse_args(arguments)
    missed = False
    print(f"{'':<14}{'policies':>9}{'ns a reading':>14}{'times':>7}")
    for way, wheel in (("Python", None), ("the wheel", native.wheel)):
        if wheel is None and way != "Python":
            continue
        with patch.object(native, "wheel", wheel):
            found = {
                count: median(
                    nanoseconds(count, given.meters, given.steps) for _ in range(given.rounds)
                )
                for count in COUNTS
            }
        for count, nano in found.items():
            times = nano / found[1]
            print(f"{way:<14}{count:>9}{nano:>14.0f}{times:>7.2f}", flush=True)
        missed |= found[max(COUNTS)] > MOST_TIMES * found[1]
    return int(given.check and missed)
