"""A real Prometheus with the project's own rules, for as long as it is needed."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.grafana.source import Source

RULES = Path(__file__).resolve().parents[2] / "deploy" / "prometheus"
CONFIG = """
global:
  scrape_interval: {interval}
  scrape_timeout: {interval}
  evaluation_interval: {interval}
rule_files: ["{rules}/rules.yml", "{rules}/alerts.yml"]
scrape_configs:
  - job_name: meteragent
    file_sd_configs:
      - files: [targets.json]
        refresh_interval: 1s
"""
PATIENCE = 30


@dataclass(frozen=True)
class Prometheus:
    """One process."""

    directory: Path
    source: Source

    def scrape(self, addresses: Mapping[str, str]) -> None:
        """From now on, these: instance -> `host:port`."""
        target = self.directory / "targets.json"
        written = target.with_suffix(".new")
        found = [{"targets": [a], "labels": {"instance": name}} for name, a in addresses.items()]
        written.write_text(json.dumps(found))
        written.rename(target)

    async def at(self, expression: str, seconds: float = PATIENCE) -> float:
        """Wait until an expression has a result, and give the first value."""
        async with asyncio.timeout(seconds):
            while not (found := await asyncio.to_thread(self.source.at, expression)):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.2)
        return found[0].last


@asynccontextmanager
async def prometheus(
    directory: Path, interval: str = "1s", options: Sequence[str] = ()
) -> AsyncIterator[Prometheus]:
    """Started, and ended with the block; `options` are more of its own."""
    directory.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 - quickly done
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (directory / "prometheus.yml").write_text(CONFIG.format(interval=interval, rules=RULES))
    one = Prometheus(directory, Source(f"http://{address}"))
    one.scrape({})
    with (directory / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            "prometheus",
            f"--config.file={directory / 'prometheus.yml'}",
            f"--storage.tsdb.path={directory / 'data'}",
            f"--web.listen-address={address}",
            *options,
            stdout=log,
            stderr=log,
        )
    try:
        await _answers(one, process)
        yield one
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _answers(one: Prometheus, process: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            if process.returncode is not None:
                raise RuntimeError((one.directory / "log").read_text()[-2000:])
            try:
                await one.at("vector(1)")
            except OSError:
                await asyncio.sleep(0.1)
            else:
                return
