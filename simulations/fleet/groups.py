"""What groups cost: homes that are released by themselves and in groups, beside homes alone.

    python -m simulations.fleet groups            print the table
    python -m simulations.fleet groups --check    end with 1 if a target is missed

Batches in, releases and partials out, in one process and without Kafka: what a partition of the
input takes of the processor for meters alone; for meters and groups, with each batch decoded by
both; and decoded once, as an agent does. Groups have 200 homes each; what is told of them is added
up and released as well. Rounds of all ways take turns; the numbers are the least of each. Target:
at most 15 % more than without groups. What it does not hold is the second fetch, which is of bytes
alone. However many meters there are, readings come for so long that windows of groups are over, and
no more of them are held at a time than a stretch of the log, which all ways take in before the next
is made.

It also says how long after the record that closes a pane in the last partition the release of a
meter is there, and that of a group, p99 over all panes. Target: three times a meter's.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import islice

import numpy as np

from meteragent.formats.decoder import Decoder
from meteragent.formats.encoder import Encoder
from meteragent.kafka.unpack import Unpacker
from meteragent.kafka.walk import Fetched
from meteragent.privacy.domain import Domain
from meteragent.privacy.group import GroupPolicy, PerHome
from meteragent.privacy.members import Membership
from meteragent.privacy.question import per_watt, question
from meteragent.stream.home_pipeline import HomePipeline
from meteragent.stream.homes import Homes
from meteragent.stream.meters import AssignedGroups
from meteragent.stream.readings import Readings
from meteragent.stream.releases import Step
from meteragent.stream.roster import Roster
from meteragent.stream.total_pipeline import Partials, TotalPipeline
from simulations.fleet.scale import INTERVAL, KEY, WINDOW, pipeline
from simulations.fleet.stages import BEGIN, batches, packed
from simulations.fleet.traffic import Fleet, Trouble

HOMES_EACH = 200
MOST_MORE, MOST_TIMES = 0.15, 3.0
READINGS = 5_400_000
"""Of all meters together, where nobody says how many of each, and so many close a window."""
STRETCH = 128
"""Batches that a way takes in before it is another's turn."""


def group_policy() -> GroupPolicy:
    """The sum of each quarter of an hour."""
    return GroupPolicy(
        domain=Domain(0, 5_000_000, 10),
        questions=(question("avg", 1, 100),),
        size=WINDOW,
        interval=WINDOW,
        hop=WINDOW,
        grace=30_000,
        idle=300_000,
        budget=per_watt("budget", 96, 100),
        horizon=86_400_000,
        presence="private",
        homes=PerHome(Decimal(0), Decimal(24_000), INTERVAL, 10),
    )


class Street:
    """The groups of one partition's homes: those who tell, and those who decide."""

    def __init__(self, fleet: Fleet) -> None:
        names = [fleet.name(meter).decode() for meter in range(fleet.meters)]
        members = [Membership(name, f"g-{nth // HOMES_EACH}") for nth, name in enumerate(names)]
        assigned = [AssignedGroups("", "feeder", group_policy())]
        roster = {"": Roster(members, Homes("murmur2", 1), Homes("murmur2", 1))}
        known = set(names)
        self.homes = HomePipeline(
            assigned, KEY, roster, 0, max_skew=10_000, is_member=known.__contains__
        )
        self.homes.restore({})
        self.totals = TotalPipeline(assigned, KEY, roster, 0)
        self.totals.restore({})
        self._offset = 0

    def feed(self, readings: Readings) -> Iterator[Step]:
        """What is decided of groups by these."""
        for step in self.homes.feed(readings):
            for _, record in step.told:
                yield from self.totals.feed(Partials([self._offset], [record]))
                self._offset += 1


class Way:
    """One way of doing it, from batches to releases as bytes."""

    def __init__(self, fleet: Fleet, *, groups: bool, once: bool) -> None:
        self._meters, self._encoder = pipeline(fleet.meters), Encoder()
        self._street = Street(fleet) if groups else None
        self._unpacker = Unpacker(Decoder())
        self._other = self._unpacker if once else Unpacker(Decoder())
        self._once = once
        self.of_meters: list[float] = []
        """Seconds from a batch that decides anything to the releases of meters ..."""
        self.of_groups: list[float] = []
        """... and to those of groups."""
        self.released = 0

    def take(self, fetched: Fetched) -> None:
        """A batch, by all work that there is."""
        readings = self._unpacker.columns(fetched)
        if readings is None:
            return
        self._noted(self.of_meters, lambda: self._meters.feed(readings))
        self._meters.position()
        street = self._street
        if street is None:
            return
        its = readings if self._once else self._other.columns(fetched)
        if its is not None:
            self._noted(self.of_groups, lambda: street.feed(its))
            street.homes.position()

    def _noted(self, into: list[float], steps: Callable[[], Iterator[Step]]) -> None:
        begun, released = time.perf_counter(), 0
        for step in steps():
            released += len(self._encoder.encode(step.releases))
        if released:
            into.append(time.perf_counter() - begun)
        self.released += released


def measure(given: list[Fetched], way: Way) -> float:
    """Seconds of the processor."""
    begun = time.process_time()
    for fetched in given:
        way.take(fetched)
    return time.process_time() - begun


def in_turn(fleet: Fleet, ways: dict[str, Way]) -> dict[str, float]:
    """Seconds of the processor of each way, for the whole log."""
    seconds = dict.fromkeys(ways, 0.0)
    log = (packed(*batch) for batch in batches(fleet))
    while stretch := [*islice(log, STRETCH)]:
        for name, way in ways.items():
            seconds[name] += measure(stretch, way)
    return seconds


def least_steps() -> int:
    """So many readings of each meter close a window of groups, though the last may be missing."""
    policy = group_policy()
    return policy.due(WINDOW) // INTERVAL + 2


def arguments_of(arguments: list[str]) -> argparse.Namespace:
    """What is asked for; an error, if no window of groups would be over."""
    parser = argparse.ArgumentParser(prog="python -m simulations.fleet groups")
    parser.add_argument("--meters", type=int, default=20_000, help="of a partition")
    parser.add_argument("--steps", type=int, help="readings of each; as many as it takes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check", action="store_true", help="end with 1 if a target is missed")
    given = parser.parse_args(arguments)
    least = least_steps()
    if given.steps is None:
        given.steps = max(least, READINGS // given.meters)
    if given.steps < least:
        parser.error(f"--steps: no window of groups is over after {given.steps}: {least} at least")
    return given


def main(arguments: list[str]) -> int:
    """Print a row for each way."""
    given = arguments_of(arguments)
    fleet = Fleet(given.meters, given.steps, BEGIN, trouble=replace(Trouble(), bad=0))
    hows = {
        "meters alone": {"groups": False, "once": True},
        "and groups, decoded twice": {"groups": True, "once": False},
        "and groups, decoded once": {"groups": True, "once": True},
    }
    seconds = []
    for _ in range(given.rounds):
        ways = {name: Way(fleet, **how) for name, how in hows.items()}
        seconds.append(in_turn(fleet, ways))
    last = ways["and groups, decoded once"]
    print(f"{'':<28}{'ns a reading':>13}{'times':>7}   {last.released:,} releases")
    readings = given.meters * given.steps
    least = {name: min(its[name] for its in seconds) for name in hows}
    alone = least["meters alone"]
    for name, took in least.items():
        print(f"{name:<28}{took / readings * 1e9:>13.0f}{took / alone:>7.2f}", flush=True)
    late = [float(np.percentile(its, 99)) for its in (last.of_meters, last.of_groups)]
    print(f"p99 from a batch to releases: {late[0]:.4f} s of meters, {late[1]:.4f} s of groups")
    more = least["and groups, decoded once"] / alone - 1
    return int(given.check and (more > MOST_MORE or late[1] > MOST_TIMES * late[0]))
