"""The agent end to end, from a full topic to releases at read_committed.

    python -m simulations.fleet measure             the table, in some minutes
    python -m simulations.fleet measure --million   also 10^6 meters beside 10^4
    python -m simulations.fleet measure --quick     small: does it run?

Rates are readings per second by the clock, and per second of the agents' processors; the
broker's share of all the work is printed. `ready` is the time from the start of a process, after
the agents were killed, until all of its partitions are; `caught up`, until it has taken in all that
was there when it began. Under each preset, late in a window: `python -m simulations.fleet restart`.
"""

import argparse
import asyncio
import socket
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from simulations.drain import Drained, Task, middle, ratio, watch
from simulations.fleet.caught_up import Back, ends, watched
from simulations.fleet.load import fill, make_topic, shown
from simulations.fleet.traffic import Fleet
from simulations.local_kafka import Broker, running
from simulations.processes import module, started
from simulations.setting import INTERVAL, WINDOW, Setting, prepare

BEGIN = 1_763_424_000_000 // WINDOW * WINDOW
BACK_SECONDS = 120.0
SCALE_WINDOW = 5 * INTERVAL
"""Short, so that a million meters have several."""


@dataclass(frozen=True)
class Case:
    """A fleet, and who works on it."""

    name: str
    meters: int
    waves: int
    block: int = 1
    window: int = WINDOW
    partitions: int = 4
    instances: int = 1

    @property
    def topic(self) -> str:
        """The same for all that read the same."""
        return f"{self.meters}-{self.waves}-{self.block}-{self.window}-{self.partitions}"

    @property
    def fleet(self) -> Fleet:
        """What is sent."""
        steps = self.waves * self.window // INTERVAL
        return Fleet(self.meters, steps, BEGIN, block=self.block, partitions=self.partitions)


@dataclass(frozen=True)
class Found:
    """What came of it."""

    drained: Drained
    back: Back


def cases(*, million: bool, quick: bool) -> list[Case]:
    """What is measured."""
    if quick:
        return [Case("readings", 50, 4), Case("readings, 2 instances", 50, 4, instances=2)]
    some = [
        Case("readings", 1_000, 240),
        Case("readings, 1 partition", 1_000, 240, partitions=1),
        Case("readings, 2 instances", 1_000, 240, instances=2),
        Case("blocks of 30", 1_000, 1_200, block=30),
    ]
    if not million:
        return some
    scale = {"window": SCALE_WINDOW}
    few, many = "10^4 meters, 50 s windows", "10^6 meters, 50 s windows"
    return [*some, Case(few, 10_000, 60, **scale), Case(many, 1_000_000, 3, **scale)]


async def measure(broker: Broker, case: Case, home: Path) -> Found:
    """Drain the case's topic with new agents; kill them, and see one come back."""
    fleet, bootstrap = case.fleet, broker.bootstrap
    trouble = fleet.trouble
    readings = (1 - trouble.gap) * (1 + trouble.twice) * case.meters * case.window / INTERVAL
    task = Task(broker, case.topic, case.partitions, case.meters, readings, case.waves, seconds=300)
    port = free_port()
    setting = Setting(window=case.window, port=port)
    file, output = await prepare(bootstrap, case.topic, case.partitions, home, setting)
    files = [file, *(_beside(file, nth) for nth in range(1, case.instances))]
    wanted = await ends(bootstrap, case.topic, case.partitions)
    log = home / "agents.log"
    with ExitStack() as stack:
        agents = [
            stack.enter_context(started(module("meteragent", "run", "-c", file), log))
            for file in files
        ]
        drained = await watch(task, output, [agent.pid for agent in agents])
        for agent in agents:
            agent.kill()
            agent.wait()
        begun = time.monotonic()
        stack.enter_context(started(module("meteragent", "run", "-c", file), log))
        back = await watched(port, wanted, BACK_SECONDS, begun)
    return Found(drained, back)


def _beside(file: Path, nth: int) -> Path:
    """The same configuration with another port."""
    other = file.with_name(f"{nth}-{file.name}")
    lines = file.read_text().splitlines()
    other.write_text("\n".join("port = 0" if x.startswith("port") else x for x in lines))
    return other


def free_port() -> int:
    """One that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _row(case: Case, found: Found) -> str:
    one = found.drained
    rates = f"{one.per_second:>12,.0f}{one.per_processor_second:>14,.0f}{one.broker_share:>8.0%}"
    memory = f"{one.resident / 2**20:>7,.0f} MB{one.resident / case.meters / 1024:>8.1f} KiB"
    return f"{case.name:<28}{rates}{memory}{found.back.ready:>8.1f} s{found.back.caught_up:>9.1f} s"


async def run(broker: Broker, some: list[Case], rounds: int, home: Path) -> dict[str, list[Found]]:
    """Fill the topics, then every case once in every round."""
    for case in {case.topic: case for case in some}.values():
        await make_topic(broker.bootstrap, case.topic, case.partitions)
        await fill(broker.bootstrap, case.topic, case.fleet, show=shown)
        print(file=sys.stderr)
    title = f"{'readings/s':>12}{'per cpu-second':>14}{'broker':>8}"
    print(f"{'':<28}{title}{'resident':>10}{'a meter':>12}{'ready':>10}{'caught up':>11}")
    found: dict[str, list[Found]] = {case.name: [] for case in some}
    for _ in range(rounds):
        for case in some:
            found[case.name].append(await measure(broker, case, home))
            print(_row(case, found[case.name][-1]), flush=True)
    return found


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m simulations.fleet measure")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--million", action="store_true", help="10^6 meters beside 10^4")
    parser.add_argument("--quick", action="store_true", help="small")
    parser.add_argument("--bootstrap", help="a broker; without it one is started")
    given = parser.parse_args(arguments)
    some = cases(million=given.million, quick=given.quick)
    rounds = 1 if given.quick else given.rounds
    with running(given.bootstrap) as broker, tempfile.TemporaryDirectory() as home:
        found = asyncio.run(run(broker, some, rounds, Path(home)))
    print(f"\nmedian of {rounds}")
    drained = {name: [one.drained for one in several] for name, several in found.items()}
    for case in some:
        best = middle(drained[case.name])
        print(_row(case, next(one for one in found[case.name] if one.drained is best)))
    few, many = "10^4 meters, 50 s windows", "10^6 meters, 50 s windows"
    if many in drained:
        times = ratio(drained[few], drained[many])
        print(f"a reading of 10^6 meters costs {times:.2f} times one of 10^4 (at most 1.3)")
    one, two = "readings", "readings, 2 instances"
    if two in drained:
        faster = middle(drained[two]).per_second / middle(drained[one]).per_second
        print(f"two instances are {faster:.2f} times as fast as one by the clock (at least 1.7)")
    return 0
