"""Ten million meters over four instances: who has how many, and what that takes, as measured.

    python -m simulations.fleet placement                       print the table
    python -m simulations.fleet placement --check               end with 1 if a target is missed
    python -m simulations.fleet placement --meters 100000 --partitions 32 --instances 4

Every id goes to the partition that its sender's client chooses, and partitions are dealt out as an
agent's group deals them; then one instance dies, and what it had is dealt out to the others. What
an instance takes is reckoned from `deploy/capacity.json`, which an agent measured in Python alone:
bytes of a meter, readings per second of a processor, accounts restored per second. Targets, with
all instances and with those that are left: the fullest has at most a tenth more meters than the
mean, and a core is enough for it.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from meteragent.kafka.assignor import shares
from meteragent.stream.homes import Homes
from simulations.fleet.traffic import Fleet

MEASURED = Path(__file__).parents[2] / "deploy" / "capacity.json"
MOST_OVER_MEAN = 1.1
BASE_BYTES = 256 * 2**20
"""Of a process without meters, as the guide plans."""


class Measured(NamedTuple):
    """What an agent takes."""

    bytes_of_a_meter: float
    readings_per_second: float
    accounts_per_second: float

    @classmethod
    def kept(cls) -> "Measured":
        """As it was measured last."""
        found = json.loads(MEASURED.read_text("utf-8"))
        restored = found["restore"]["meters"] / found["restore"]["seconds"]
        per_second = found["rates"]["readings_per_cpu_second"]
        return cls(found["memory"]["bytes_per_meter"], per_second, restored)


class Load(NamedTuple):
    """What one instance has."""

    partitions: int
    meters: int

    def cores(self, measured: Measured, interval: float) -> float:
        """How many are busy with a reading of each meter every so many seconds."""
        return self.meters / interval / measured.readings_per_second

    def memory(self, measured: Measured) -> float:
        """Bytes."""
        return BASE_BYTES + self.meters * measured.bytes_of_a_meter

    def restore(self, measured: Measured) -> float:
        """Seconds until all its accounts are read, one partition after the other."""
        return self.meters / measured.accounts_per_second


def counted(fleet: Fleet, homes: Homes) -> Counter[int]:
    """How many meters are at home in each partition."""
    return Counter(homes.of(fleet.name(meter).decode()) for meter in range(fleet.meters))


def loads(dealt: Mapping[str, Iterable[int]], meters: Mapping[int, int]) -> dict[str, Load]:
    """What each instance has."""
    held = {member: [*some] for member, some in dealt.items()}
    return {m: Load(len(some), sum(meters[p] for p in some)) for m, some in held.items()}


def tell(title: str, some: Mapping[str, Load], measured: Measured, interval: float) -> bool:
    """A row for each instance; whether shares are fair, and none is too large."""
    print(f"{title:<24}{'partitions':>10}{'meters':>12}{'cores':>7}{'memory':>10}{'restore':>9}")
    for member, load in some.items():
        cores, memory = load.cores(measured, interval), load.memory(measured) / 2**30
        print(
            f"  {member:<22}{load.partitions:>10}{load.meters:>12,}{cores:>7.2f}"
            f"{memory:>6.2f} GiB{load.restore(measured):>7.0f} s"
        )
    most, mean = max(load.meters for load in some.values()), _mean(some)
    print(f"  the fullest has {most / mean:.3f} times the mean")
    return most <= MOST_OVER_MEAN * mean and all(
        load.cores(measured, interval) <= 1 for load in some.values()
    )


def _mean(some: Mapping[str, Load]) -> float:
    return sum(load.meters for load in some.values()) / len(some)


def main(arguments: list[str]) -> int:
    """Place them, let one instance die, and say what comes of it."""
    parser = argparse.ArgumentParser(prog="python -m simulations.fleet placement")
    parser.add_argument("--meters", type=int, default=10_000_000)
    parser.add_argument("--partitions", type=int, default=64)
    parser.add_argument("--instances", type=int, default=4)
    parser.add_argument("--partitioner", default="murmur2")
    parser.add_argument("--interval", type=float, default=10, help="seconds between readings")
    parser.add_argument("--check", action="store_true", help="end with 1 if a target is missed")
    given = parser.parse_args(arguments)

    measured = Measured.kept()
    meters = counted(Fleet(given.meters, 1, 0), Homes(given.partitioner, given.partitions))
    of_each = [meters[partition] for partition in range(given.partitions)]
    print(
        f"{given.meters:,} meters, {given.partitions} partitions by {given.partitioner}: ", end=""
    )
    print(f"{min(of_each):,} to {max(of_each):,} in each; a reading every {given.interval:g} s")
    members = [f"agent-{nth}" for nth in range(given.instances)]
    before = shares(members, meters)
    after = shares(members[1:], meters)
    moved = sum(len({*before[member]} - {*after[member]}) for member in members[1:])
    met = tell("all are there", loads(before, meters), measured, given.interval)
    met &= tell(f"{members[0]} has died", loads(after, meters), measured, given.interval)
    print(f"  besides its {len(before[members[0]])} partitions, {moved} have moved")
    print("all targets met" if met else "a target is missed")
    return int(given.check and not met)
