"""`python -m simulations.watching`: ten lively minutes, and the pictures of the dashboards.

    python -m simulations.watching                    draw into deploy/grafana/pictures
    python -m simulations.watching --minutes 3 --to DIRECTORY

A second instance joins, the first is killed and comes back, the second is frozen for a while;
feeders spend more than their budget, some meters send too little, some records are broken. Homes
are in streets, of which one is too small to be released; one home is in more than it reserves.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from deploy.grafana import draw
from meteragent import config as configuration
from meteragent.config import keyfile
from simulations.local_kafka import broker
from simulations.watching.load import Load, config, prepare
from simulations.watching.prometheus import Prometheus, prometheus

WINDOW, WINDOWS, PARTITIONS = 5, 24, 6
INTERVAL = "2s"


@dataclass
class Instances:
    """Agents by name."""

    file: Path
    watcher: Prometheus
    processes: dict[str, asyncio.subprocess.Process] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)

    async def start(self, name: str) -> None:
        """Until it listens."""
        log = self.file.with_name(f"{name}.log")
        with log.open("wb") as stream:
            self.processes[name] = await asyncio.create_subprocess_exec(
                *(sys.executable, "-W", "ignore", "-m", "meteragent", "run", "-c", str(self.file)),
                stdout=stream,
                stderr=stream,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        while not (said := _listening(log)):  # noqa: ASYNC110 - it is another process
            await asyncio.sleep(0.1)
        self.addresses[name] = said.rpartition("/")[2]
        self.watcher.scrape(self.addresses)

    def signal(self, name: str, number: signal.Signals) -> None:
        """Freeze, thaw or kill."""
        self.processes[name].send_signal(number)

    async def stop(self) -> None:
        """All of them."""
        for process in self.processes.values():
            if process.returncode is None:
                process.kill()
            await process.wait()


def _listening(log: Path) -> str:
    for line in log.read_text().splitlines():
        if line.startswith("{") and (said := json.loads(line)).get("event") == "listening":
            return str(said["address"])
    return ""


async def scenario(servers: str, directory: Path, seconds: float, to: Path) -> None:
    """The story, and its pictures."""
    file = directory / "agent.toml"
    file.write_text(config(servers, "watched", WINDOW, WINDOWS))
    keyfile.create(directory / "noise.key")
    settings = configuration.load(file, {})
    await prepare(settings, PARTITIONS)
    load = Load(settings.kafka.input, joining=0.15)
    async with prometheus(directory / "prometheus", INTERVAL) as watcher:
        instances = Instances(file, watcher)
        try:
            await instances.start("agent-1")
            sending = asyncio.create_task(load.send(servers, 2 * seconds))
            over = asyncio.create_task(asyncio.sleep(seconds))
            await _story(instances, seconds)
            await over
            await asyncio.to_thread(draw.all_of, watcher.source, seconds - 5, "20s", to)
            sending.cancel()
        finally:
            await instances.stop()


async def _story(instances: Instances, seconds: float) -> None:
    await asyncio.sleep(0.25 * seconds)
    await instances.start("agent-2")
    await asyncio.sleep(0.25 * seconds)
    instances.signal("agent-1", signal.SIGKILL)
    await asyncio.sleep(10)
    await instances.start("agent-1")
    await asyncio.sleep(0.2 * seconds)
    instances.signal("agent-2", signal.SIGSTOP)
    await asyncio.sleep(15)
    instances.signal("agent-2", signal.SIGCONT)


def main() -> int:
    """Run and draw."""
    parser = argparse.ArgumentParser(prog="python -m simulations.watching", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--bootstrap", help="a broker; without it one is started")
    parser.add_argument("--to", type=Path, default=draw.PICTURES)
    given = parser.parse_args()
    with broker(given.bootstrap) as servers, tempfile.TemporaryDirectory() as directory:
        asyncio.run(scenario(servers, Path(directory), 60 * given.minutes, given.to))
    return 0


if __name__ == "__main__":
    sys.exit(main())
