"""Windows of a day beside those of a quarter of an hour: how fast, and what the ledger is written.

    python -m simulations.fleet days            a day of readings, in a minute or two
    python -m simulations.fleet days --check    end with 1 if a target is missed

The same bytes are decoded, taken in and released by both in turn, in one process and without Kafka:
what is compared is the processor's time for a reading, with its share of the windows, the
accounts and the open windows that go into the ledger. Three rounds; the ratio is their median.
"""

import argparse
import sys
import time
from dataclasses import dataclass, replace
from statistics import median

from meteragent.formats.decoder import Decoder
from meteragent.formats.encoder import Encoder
from meteragent.privacy.policy import Policy
from meteragent.privacy.question import question
from meteragent.stream.pipeline import Assigned, Pipeline
from simulations.fleet.scale import KEY, household_policy
from simulations.fleet.stages import Batch, batches
from simulations.fleet.traffic import Fleet, Trouble

HOUR = 3_600_000
DAY = 24 * HOUR
BEGIN = 1_763_424_000_000 // DAY * DAY
LEAST = 0.95
"""Of the throughput with windows of a quarter of an hour."""


@dataclass(frozen=True)
class Told:
    """What one round came to."""

    nanoseconds: float
    """Of the processor, per reading."""
    written: int
    """Bytes of ledger records, keys among them."""
    kept: int
    """Those of the latest of each meter."""
    releases: int


def policies() -> dict[str, Policy]:
    """The same questions of both, an hour's grace, a budget that lasts."""
    quarter = replace(
        household_policy(),
        grace=HOUR,
        questions=tuple(question(name, 1, 100) for name in ("avg", "max")),
    )
    day = replace(quarter, size=DAY, hop=DAY, horizon=7 * DAY)
    return {"quarter of an hour": quarter, "day": day}


def measure(policy: Policy, given: list[Batch], meters: int) -> Told:
    """Decode, take in, release, and write accounts down."""
    decoder, encoder = Decoder(), Encoder()
    one = Pipeline([Assigned("", "all", policy)], KEY, max_skew=10_000, max_meters=meters)
    accounts: dict[str, int] = {}
    readings = releases = written = 0
    begun = time.thread_time()
    for values, offsets, stamps in given:
        columns = decoder.decode(values, offsets, stamps)
        readings += len(columns.watts)
        for step in one.feed(columns):
            releases += len(encoder.encode(step.releases))
            for meter, account in step.accounts:
                accounts[meter] = len(meter) + len(account)
                written += accounts[meter]
        one.position()
    seconds = time.thread_time() - begun
    return Told(seconds / readings * 1e9, written, sum(accounts.values()), releases)


def main(arguments: list[str]) -> int:
    """Print a row for each kind of record and window, and the ratio."""
    parser = argparse.ArgumentParser(prog="python -m simulations.fleet days", description=__doc__)
    parser.add_argument("--meters", type=int, default=200, help="who send readings; of blocks, 5 x")
    parser.add_argument("--hours", type=int, default=26)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check", action="store_true", help="end with 1 if a target is missed")
    given = parser.parse_args(arguments)
    print(f"{'':<42}{'ns a reading':>14}{'ledger a meter and day':>24}{'kept':>8}{'releases':>10}")
    ratios = []
    for block, meters in ((1, given.meters), (30, 5 * given.meters)):
        steps = given.hours * 360
        fleet = Fleet(meters, steps, BEGIN, block=block, trouble=Trouble(bad=0))
        prepared = list(batches(fleet))
        rounds = [
            {name: measure(policy, prepared, meters) for name, policy in policies().items()}
            for _ in range(given.rounds)
        ]
        kind = "readings" if block == 1 else f"blocks of {block}"
        for name in policies():
            last = rounds[-1][name]
            took = median(one[name].nanoseconds for one in rounds)
            written = last.written / meters / given.hours * 24
            row = f"{kind}, {meters:,} meters, windows of a {name}"
            print(f"{row:<58}{took:>6.0f}{written:>16,.0f} B{last.kept / meters:>10,.0f} B", end="")
            print(f"{last.releases:>10,}", flush=True)
        quarter, day = policies()
        ratio = median(one[quarter].nanoseconds / one[day].nanoseconds for one in rounds)
        print(f"{kind}: {ratio:.2f} times the throughput (target {LEAST})", flush=True)
        ratios.append(ratio)
    met = min(ratios) >= LEAST
    print("all targets met" if met else "a target is missed")
    return 0 if met or not given.check else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
