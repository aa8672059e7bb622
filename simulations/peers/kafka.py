"""The same job on the same broker, data and machine: a tumbling mean per meter, Kafka to Kafka.

    python -m simulations.peers.kafka                 everybody, three rounds: about half an hour
    python -m simulations.peers.kafka --only ours     the agent, its variants and the bare limit
    python -m simulations.peers.kafka --check         end with 1 if a target is missed
    python -m simulations.peers.kafka --quick         small: does it run?
    python -m simulations.peers.kafka --prove         does every peer tell the right means?
    python -m simulations.peers.kafka --long --meters 100000 --compression lz4 --json FILE
    python -m simulations.peers.kafka --long --beside DIR    an older agent too, in every round

Rates are readings per second by the clock, and of the processor, children included: several things
may run on the machine at once. What start-up takes is not in them, nor what the broker does; its
share is printed. Peers are made their own environments in the cache, once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import secrets
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from meteragent.privacy import native
from simulations.drain import Drained, Task, middle, run
from simulations.fleet.load import fill, make_topic, shown
from simulations.fleet.traffic import Fleet, Trouble
from simulations.local_kafka import Broker, running
from simulations.peers import answers
from simulations.peers import contenders as them
from simulations.peers.targets import judge
from simulations.processes import module, started
from simulations.setting import INTERVAL, WINDOW, prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

BEGIN = 1_763_424_000_000 // WINDOW * WINDOW
PARTITIONS = 4
SLOTS = WINDOW // INTERVAL
BLOCK = 30
MORE_BLOCKS, MORE_OF_MANY = 16, 4
LONG = 30_000_000
"""Readings that are drained in ten seconds: half a second lies between two transactions."""
BESIDE = (
    "a checkout of an older version, with an environment of its own: git worktree add DIR COMMIT; "
    "python -m venv DIR/.venv; DIR/.venv/bin/pip install -r DIR/requirements.lock; "
    "DIR/.venv/bin/pip install --no-deps -e DIR"
)
TROUBLE = Trouble(bad=0, late=0)
"""Jitter, gaps, duplicates and disorder; what only some of them would reject is left out."""


class Kind(NamedTuple):
    """What a topic holds."""

    block: int
    share: int = 1
    """One meter in so many is in it."""
    partitions: int = PARTITIONS

    @property
    def topic(self) -> str:
        """Its name."""
        return f"{'blocks' if self.block > 1 else 'readings'}-{self.share}-{self.partitions}"


READINGS, BLOCKS = Kind(1), Kind(BLOCK)


@dataclass
class Field:
    """One run: the broker, the topics, and where things are kept."""

    broker: Broker
    home: Path
    meters: int
    waves: int
    seconds: float
    compression: str | None = None
    more_blocks: int = MORE_BLOCKS
    rates: dict[str, list[Drained]] = field(default_factory=dict)

    def fleet(self, kind: Kind) -> Fleet:
        """Readings, or blocks of them: there are more, or they would be drained in a moment."""
        waves = self.waves * (self.more_blocks if kind.block > 1 else 1)
        return Fleet(
            self.meters // kind.share,
            waves * SLOTS,
            BEGIN,
            block=kind.block,
            partitions=kind.partitions,
            trouble=TROUBLE,
        )

    def task(self, kind: Kind) -> Task:
        """What is to be drained."""
        fleet, partitions = self.fleet(kind), kind.partitions
        readings = fleet.meters * SLOTS * (1 - TROUBLE.gap) * (1 + TROUBLE.twice)
        waves = fleet.steps // SLOTS
        name, meters = kind.topic, fleet.meters
        return Task(self.broker, name, partitions, meters, readings, waves, self.seconds)


def fill_topics(field: Field, kinds: Iterable[Kind]) -> None:
    """A topic for each, with progress."""
    for kind in kinds:
        topic, fleet = kind.topic, field.fleet(kind)

        async def make(kind: Kind = kind, fleet: Fleet = fleet) -> int:
            bootstrap, pressed = field.broker.bootstrap, field.compression
            await make_topic(bootstrap, kind.topic, kind.partitions)
            return await fill(bootstrap, kind.topic, fleet, show=shown, compression=pressed)

        records = asyncio.run(make())
        print(f"\r{topic}: {records:,} records of {fleet.meters:,} meters", flush=True)


def bare(field: Field, kind: Kind, how: str) -> Drained:
    """The limit."""
    command = module(
        "simulations.peers.apps.bare",
        *(field.broker.bootstrap, kind.topic, str(PARTITIONS), how),
    )
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    records, seconds, processor = map(float, done.stdout.split())
    return Drained(records * kind.block, seconds, processor, 0.0, 0.0, 0)


def ours(field: Field, kind: Kind, one: them.Ours) -> Drained:
    """The agent."""
    task = field.task(kind)
    made = prepare(field.broker.bootstrap, task.topic, PARTITIONS, field.home, one.setting)
    file, output = asyncio.run(made)
    if one.checkout is not None:
        file.write_text(them.as_known_to(one.checkout, file.read_text()))
    with started(one.command(file), field.home / "ours.log") as process:
        return run(task, output, [process.pid])


def kind_for(one: them.Peer) -> Kind:
    """What one of the others is given."""
    return Kind(1, one.share, one.partitions or PARTITIONS)


def peer(
    field: Field,
    one: them.Peer,
    home: Path,
    told: Callable[[str], object] = lambda _topic: None,
) -> Drained:
    """One of the others; `told` is where its answers are."""
    name = f"peer-{secrets.token_hex(4)}"
    told(name)
    state = field.home / name
    state.mkdir()
    task = field.task(kind_for(one))
    asyncio.run(make_topic(field.broker.bootstrap, name, task.partitions))
    job = them.Job(field.broker.bootstrap, task.topic, name, f"{name}-app", state)
    log = field.home / f"{one.name}.log"
    with started(one.command(home, job), log, {"PYTHONWARNINGS": "ignore"}) as process:
        return run(task, name, [process.pid])


def prove(field: Field, one: them.Peer, home: Path) -> bool:
    """Whether a peer's means are those of what was sent, each told once; a line that says it."""
    topics: list[str] = []
    kind = kind_for(one)
    peer(field, one, home, told=topics.append)
    found = asyncio.run(answers.told(field.broker.bootstrap, topics[0], kind.partitions))
    judged = answers.judge(field.fleet(kind), found)
    said = f"{judged.right:,} right, {judged.wrong:,} wrong, {judged.skipped:,} skipped"
    said += f" of {judged.expected:,}"
    print(f"{one.name:<26}{said}{'' if judged.good else '  WRONG'}", flush=True)
    return judged.good


def compete(
    field: Field, rounds: int, only: str, names: Sequence[str], beside: Path | None
) -> None:
    """Everybody once in every round, and a row for each as it is done."""
    runs: dict[str, Callable[[], Drained]] = {
        "bare, pydantic": lambda: bare(field, READINGS, "each"),
        "bare, our decoder": lambda: bare(field, READINGS, "joined"),
        **{one.name: (lambda one=one: ours(field, READINGS, one)) for one in them.OURS},  # type: ignore[misc]
        "bare blocks": lambda: bare(field, BLOCKS, "each"),
        "bare blocks, our decoder": lambda: bare(field, BLOCKS, "joined"),
        "blocks": lambda: ours(field, BLOCKS, them.AGENT),
    }
    if beside is not None:
        older = them.older(beside)
        runs[older.name] = lambda: ours(field, READINGS, older)
        runs[f"blocks, {older.name}"] = lambda: ours(field, BLOCKS, older)
    if only != "ours":
        for one in them.PEERS:
            if names and one.name not in names:
                continue
            home = them.install(one, cache())
            runs[one.name] = lambda one=one, home=home: peer(field, one, home)  # type: ignore[misc]
    chosen = {name: once for name, once in runs.items() if not names or name in names}
    for nth in range(rounds):
        for name, once in chosen.items():
            try:
                done = once()
            except SystemExit as why:
                print(f"{name:<26} round {nth + 1}: no result ({why})", flush=True)
                continue
            field.rates.setdefault(name, []).append(done)
            print(_row(name, done), flush=True)


def cache() -> Path:
    """Where peers are built."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "meteragent" / "peers"


def _row(name: str, done: Drained) -> str:
    share = f"{done.broker_share:>8.0%}" if done.broker else " " * 8
    return f"{name:<26}{done.per_second:>12,.0f}{done.per_processor_second:>14,.0f}{share}"


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and say whether the targets are met."""
    parser = argparse.ArgumentParser(prog="python -m simulations.peers.kafka")
    parser.add_argument("--meters", type=int, default=1_000)
    parser.add_argument("--waves", type=int, default=24, help="windows of each meter")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=45, help="the longest to watch one")
    parser.add_argument("--only", choices=("ours", "all"), default="all")
    parser.add_argument("--bootstrap", help="a broker; without it one is started")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--quick", action="store_true", help="small")
    parser.add_argument("--check", action="store_true", help="end with 1 if a target is missed")
    parser.add_argument("--long", action="store_true", help="at least 30 million readings")
    parser.add_argument("--compression", choices=("gzip", "snappy", "lz4", "zstd"))
    parser.add_argument("--names", nargs="*", default=[], help="of rows: only these")
    parser.add_argument("--beside", type=Path, metavar="DIR", help=BESIDE)
    parser.add_argument("--prove", action="store_true", help="are the peers' answers right?")
    given = parser.parse_args(arguments)
    if given.long:
        given.waves = max(5, -(-LONG // (given.meters * SLOTS)) + 2)
    if given.quick or given.prove:
        given.meters, given.waves, given.rounds = 200, 8, 1

    setting = _setting(given)
    print(json.dumps(setting, indent=2))
    with running(given.bootstrap) as broker, tempfile.TemporaryDirectory() as home:
        field = Field(
            *(broker, Path(home), given.meters, given.waves, given.seconds, given.compression),
            more_blocks=MORE_OF_MANY if given.long else MORE_BLOCKS,
        )
        some = [p for p in them.PEERS if given.only == "all" and _is_named(p.name, given.names)]
        names = given.names or ["blocks"]
        blocks = [BLOCKS] if not given.prove and any("blocks" in name for name in names) else []
        fill_topics(field, [*sorted({READINGS, *map(kind_for, some)}), *blocks])
        if given.prove:
            wrong = [one for one in some if not prove(field, one, them.install(one, cache()))]
            return int(bool(wrong))
        print(f"{'':<26}{'readings/s':>12}{'per cpu-second':>14}{'broker':>8}")
        compete(field, given.rounds, given.only, given.names, given.beside)
    print(f"\nmedian of {given.rounds}")
    for name, rounds in field.rates.items():
        print(_row(name, middle(rounds)))
    print()
    met = judge(field.rates)
    if given.json:
        numbers = {name: [vars(one) for one in rounds] for name, rounds in field.rates.items()}
        found = {"setting": setting, "rounds": numbers}
        given.json.write_text(json.dumps(found, indent=2) + "\n")
    return int(given.check and not met)


def _is_named(name: str, names: Sequence[str]) -> bool:
    return not names or name in names


def _setting(given: argparse.Namespace) -> dict[str, object]:
    """What is compared on what: versions and settings, for people and beside the numbers."""
    peers = {
        one.name: {
            "versions": them.versions(one),
            "settings": one.settings,
            "keeps": one.keeps,
        }
        for one in them.PEERS
        if given.only == "all" and _is_named(one.name, given.names)
    }
    return {
        "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "records": f"read by {native.way()}",
        "an older one": them.commit(given.beside) if given.beside else "none",
        "meters": given.meters,
        "windows": given.waves,
        "compression": given.compression or "none",
        "peers": peers,
    }


if __name__ == "__main__":
    sys.exit(main())
