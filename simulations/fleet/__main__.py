"""`python -m simulations.fleet`: what one process holds, beside the bare limits.

    python -m simulations.fleet --meters 1000000            print the table
    python -m simulations.fleet --meters 1000000 --check    end with 1 if a target is missed
    python -m simulations.fleet --json FILE                 write the numbers too

    python -m simulations.fleet load --help       fill a topic with a fleet's records
    python -m simulations.fleet measure --help    the agent from Kafka to Kafka: rates, restart
    python -m simulations.fleet delay --help      from the record that closes to the release
    python -m simulations.fleet soak --help       an hour: do memory, descriptors and lag stay?
    python -m simulations.fleet stages --help     where a reading's microseconds go
    python -m simulations.fleet policies --help   what a hundred policies cost beside one
    python -m simulations.fleet draws --help      what noise takes: joint draws, and order
    python -m simulations.fleet memory --help     what a meter takes under each preset
    python -m simulations.fleet restart --help    killed late in a day: when has it caught up?
    python -m simulations.fleet days --help       windows of a day beside quarters of an hour
    python -m simulations.fleet placement --help  ten million meters over four instances, on paper
    python -m simulations.fleet groups --help     homes in groups too, beside homes alone

Targets: at most 1 KiB per meter; the ledger restored in at most three bare reads of its topic;
no pause of the event loop above 0.5 s while 100,000 windows close at once.
"""

import argparse
import asyncio
import json
import platform
import sys
from importlib import import_module
from pathlib import Path

from simulations.fleet import scale
from simulations.local_kafka import broker

MOST_BYTES = 1024
MOST_RATIO = 3.0
MOST_PAUSE = 0.5
AT_ONCE = 100_000
COMMANDS = (
    *("load", "measure", "delay", "soak", "stages", "policies", "draws", "memory", "days"),
    *("restart", "groups", "placement"),
)


def main(arguments: list[str]) -> int:
    """Run a command, or measure what one process holds."""
    if arguments and arguments[0] in COMMANDS:
        command = import_module(f"simulations.fleet.{arguments[0]}")
        return int(command.main(arguments[1:]))
    return hold(arguments)


def hold(arguments: list[str]) -> int:
    """Measure, print, and say whether the targets are met."""
    parser = argparse.ArgumentParser(prog="python -m simulations.fleet", description=__doc__)
    parser.add_argument("--meters", type=int, default=1_000_000)
    parser.add_argument("--bootstrap", help="a broker; without it one is started")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--check", action="store_true", help="end with 1 if a target is missed")
    given = parser.parse_args(arguments)

    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    memory = scale.memory(given.meters)
    _row("memory", f"{memory.bytes_per_meter:,.0f} bytes per meter", f"<= {MOST_BYTES}")
    pause = asyncio.run(scale.measure_pause(min(given.meters, AT_ONCE)))
    _row(
        "pause",
        f"{pause.longest_seconds:.3f} s at most while {pause.windows:,} windows closed "
        f"in {pause.seconds:.2f} s",
        f"<= {MOST_PAUSE} s",
    )
    with broker(given.bootstrap) as bootstrap:
        restore = asyncio.run(scale.measure_restore(bootstrap, given.meters))
    _row(
        "restore",
        f"{restore.seconds:.2f} s for {restore.meters:,} accounts, {restore.ratio:.2f} times a "
        f"bare read ({restore.bare_seconds:.2f} s)",
        f"<= {MOST_RATIO} times",
    )
    met = (
        memory.bytes_per_meter <= MOST_BYTES
        and pause.longest_seconds <= MOST_PAUSE
        and restore.ratio <= MOST_RATIO
    )
    if given.json:
        numbers = {"memory": vars(memory), "pause": vars(pause), "restore": vars(restore)}
        given.json.write_text(json.dumps(numbers, indent=2) + "\n")
    print("all targets met" if met else "a target is missed")
    return 0 if met or not given.check else 1


def _row(what: str, measured: str, target: str) -> None:
    print(f"{what:<8} {measured}  (target {target})", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
