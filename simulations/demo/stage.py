"""What the demonstration starts: a broker and the agent, or `sanitize` alone."""

import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from meteragent.config import Config, load
from simulations.demo.interrupts import Interrupts
from simulations.demo.processes import ROOT, Broker, Child, Trouble
from simulations.demo.replay import Pipe, Published, Show, through_kafka, through_pipes
from simulations.demo.street import STREET, Street
from simulations.demo.table import Counts

_LISTENING = re.compile(r'"address": ?"(http://[^"]+)"')
METERAGENT = (sys.executable, "-m", "meteragent")
READY_WITHIN = 60.0
CONFIGURATION = """\
[agent]
key_file = "noise.key"
max_skew = "3d"  # the day that is played is not over yet: readings alone close its windows
[budget]
amount = "12"
groups = "6"
[kafka]
bootstrap_servers = ["{servers}"]
[http]
port = 0
[[policy]]
name = "homes"
preset = "tv-content"
window = "1h"  # shorter than the preset's, so that there is something to see ...
interval = "10s"
step = "10W"
grace = "30s"  # the street sends in order
epsilon = "0.25"
radius = "100W"
share = "6"  # ... but a day of all 24 still keeps a bound
[[group]]
name = "street"
window = "1h"
interval = "10s"
step = "10W"
maximum = "1MW"
home_maximum = "24kW"
min_homes = 1
grace = "30s"
idle = "0s"
epsilon = "0.25"  # the same promise once more: one draw for all homes
radius = "100W"
share = "6"
"""
MEMBERS = "groups.csv"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Stage:
    """A place where a street can be played; `play` fills in what is published."""

    config: Config
    """Of its homes, and of the group that all of them are in."""
    url: str | None
    """Of the status page, where there is one."""
    play: Callable[[Published, float, Show], Counts]
    ending: str
    """What a user types to end what was kept."""


@contextmanager
def scratch(interrupts: Interrupts, stack: ExitStack) -> Iterator[Path]:
    """A directory that is gone afterwards, unless the stack was told to keep all."""
    with interrupts.later():
        directory = Path(tempfile.mkdtemp(prefix="meteragent-demo-"))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
    yield directory


def members(street: Street, directory: Path) -> None:
    """Write down that all homes are in one group."""
    rows = [f"{home},{STREET}" for home in street.homes]
    (directory / MEMBERS).write_text("\n".join(["meter_id,group_id", *rows, ""]), "utf-8")


def with_kafka(directory: Path, interrupts: Interrupts, stack: ExitStack, say: Say) -> Stage:
    """A broker and the agent. Trouble: a broker cannot be had here."""
    say("starting a Kafka broker on this machine (the first time, Maven fetches it) …")
    broker = Broker(directory / "broker", interrupts)
    stack.callback(broker.stop)
    servers = broker.start()
    config = _configured(directory, servers)
    _meteragent("topics", "create", "-c", directory / "agent.toml", "--partitions", 4)
    _meteragent("topics", "members", directory / MEMBERS, "-c", directory / "agent.toml")
    say("starting the agent …")
    with interrupts.later():
        command = (*METERAGENT, "run", "-c", directory / "agent.toml")
        agent = Child(command, directory / "agent.log")
        stack.callback(agent.end)
    url = _ready(agent)
    stop = f"kill {agent.pid}; {(ROOT / 'deploy/kafka/broker').relative_to(ROOT)} stop"
    ending = f"{stop} --dir {broker.directory}; rm -r {directory}"

    def play(published: Published, seconds: float, show: Show) -> Counts:
        return asyncio.run(through_kafka(published, seconds, f"{url}metrics", agent, show))

    return Stage(config, url, play, ending)


def without_kafka(directory: Path, interrupts: Interrupts, stack: ExitStack) -> Stage:
    """The same pipelines in `meteragent sanitize`: once for homes, once for their group."""
    config = _configured(directory, "localhost:9092")

    def sanitizing(name: str, *more: object) -> Pipe:
        output = directory / f"{name}.jsonl"
        output.touch()
        files = ("-o", output, "--ledger", directory / f"{name}.db", *more)
        command = (*METERAGENT, "sanitize", "-", "-c", directory / "agent.toml", *files)
        with interrupts.later():
            child = Child(command, directory / f"{name}.log", fed=True)
            stack.callback(child.end)
        return Pipe(child, stack.enter_context(output.open("rb")))

    def play(published: Published, seconds: float, show: Show) -> Counts:
        pipes = sanitizing("homes"), sanitizing("street", "--groups", directory / MEMBERS)
        return asyncio.run(through_pipes(published, seconds, pipes, show))

    return Stage(config, None, play, f"rm -r {directory}")


def published(street: Street, stage: Stage) -> Published:
    """Nothing yet, of that street."""
    return Published(street, stage.config)


def _configured(directory: Path, servers: str) -> Config:
    written = CONFIGURATION.format(servers=servers)
    (directory / "agent.toml").write_text(written, "utf-8")
    _meteragent("key", "create", directory / "noise.key")
    return load(directory / "agent.toml", {})


def _meteragent(*arguments: object) -> None:
    done = subprocess.run(  # noqa: S603 - our own command
        [*METERAGENT, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Trouble(done.stderr.strip())


def _ready(agent: Child) -> str:
    """Where its status page is, as it says itself, once it is ready."""
    deadline = time.monotonic() + READY_WITHIN
    while time.monotonic() < deadline and agent.running:
        if found := _LISTENING.search(agent.words()):
            with suppress(OSError), urlopen(f"{found[1]}/readyz", timeout=1):  # noqa: S310 - ours
                return f"{found[1]}/"
        time.sleep(0.1)
    raise Trouble(f"the agent is not ready: {agent.last_words()}")
