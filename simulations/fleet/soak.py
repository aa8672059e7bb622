"""Whether an agent that runs for long stays as it is: its memory, its descriptors, its lag.

    python -m simulations.fleet soak                       an hour at 20,000 readings a second
    python -m simulations.fleet soak --minutes 5 --check   end with 1 if something grows

A process sends readings as time passes, another runs the agent with its own command line; this
one looks at it every few seconds. A slope is that of a line through what was seen after the first
tenth of the run. Neighbouring looks are much alike, so its error is that of the means of tenths: it
is noise if it is less than three of its errors, and nothing if it would take a day to matter.
"""

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
import urllib.request
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simulations.drain import tail
from simulations.fleet.delay import GRACE, INTERVAL, PARTITIONS, WINDOW
from simulations.fleet.load import make_topic
from simulations.fleet.measure import free_port
from simulations.local_kafka import running
from simulations.processes import module, processor_seconds, resident_bytes, started
from simulations.setting import Setting, prepare

EVERY_SECONDS = 5
PARTS = 10
ERRORS = 3.0
Floats = NDArray[np.float64]
HOUR = 3600
KEPT = {"retention_ms": "900000", "segment_bytes": str(2**26)}
"""Of the input: longer than the agent needs, and less than an hour fills a disk with."""
_SAMPLE = re.compile(r"^(\w+)(?:\{[^}]*\})? ([-+.0-9e]+)$", re.MULTILINE)
_LAG, _TAKEN = "meteragent_partition_lag_records", "meteragent_readings_total"


@dataclass(frozen=True)
class Look:
    """What was seen at a moment."""

    seconds: float
    resident: int
    descriptors: int
    lag: float


@dataclass(frozen=True)
class Trend:
    """A line through what was seen."""

    mean: float
    slope: float
    """Per hour."""
    error: float
    """Of the slope."""

    @property
    def flat(self) -> bool:
        """Whether it is noise, or would not come to a hundredth in a day."""
        return abs(self.slope) <= max(ERRORS * self.error, abs(self.mean) / 100 / 24)


def trend(seconds: Floats, values: Floats) -> Trend:
    """The line through the means of equal parts of the run, and how sure its slope is."""
    x = np.array([part.mean() for part in np.array_split(seconds, PARTS)]) / HOUR
    y = np.array([part.mean() for part in np.array_split(values, PARTS)])
    slope, begin = np.polyfit(x, y, 1)
    residual = y - (slope * x + begin)
    error = np.sqrt((residual**2).sum() / (PARTS - 2) / ((x - x.mean()) ** 2).sum())
    return Trend(float(y.mean()), float(slope), float(error))


def trends(looks: list[Look]) -> dict[str, Trend]:
    """Of everything that might grow, after the first tenth."""
    seen = looks[len(looks) // PARTS :]
    seconds = np.array([look.seconds for look in seen])
    names = ("resident", "descriptors", "lag")
    return {
        name: trend(seconds, np.array([float(getattr(look, name)) for look in seen]))
        for name in names
    }


def look(pid: int, port: int, seconds: float) -> Look:
    """At the agent, as an operator would."""
    descriptors = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return Look(seconds, resident_bytes(pid), descriptors, metric(port, _LAG))


def metric(port: int, name: str) -> float:
    """The sum of a metric over its labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
        text = page.read().decode()
    return sum(float(value) for found, value in _SAMPLE.findall(text) if found == name)


async def soak(
    bootstrap: str, home: Path, *, rate: int, minutes: float
) -> tuple[list[Look], float]:
    """Let it run; what was seen, and the share of a processor that it used."""
    begin = (int((time.time() + 12) * 1000) // WINDOW + 1) * WINDOW
    meters, steps = rate * INTERVAL // 1000, int(minutes * 60_000) // INTERVAL
    topic = f"soak-{begin}"
    await make_topic(bootstrap, topic, PARTITIONS, **KEPT)
    port = free_port()
    setting = Setting(window=WINDOW, interval=INTERVAL, grace=GRACE, port=port)
    file, _ = await prepare(bootstrap, topic, PARTITIONS, home, setting)
    log = home / "soak.log"
    sender = [bootstrap, topic, str(meters), str(steps), str(begin)]
    with (
        started(module("meteragent", "run", "-c", file), log) as agent,
        started(module("simulations.fleet.delay", "send", *sender), log),
    ):
        await asyncio.sleep(begin / 1000 + EVERY_SECONDS - time.time())
        looks, end = [], begin / 1000 + steps * INTERVAL / 1000
        before, at = processor_seconds(agent.pid), time.time()
        while time.time() < end - EVERY_SECONDS:
            if agent.poll() is not None:
                raise SystemExit(f"the agent ended:\n{tail(log)}")
            seconds = time.time() - begin / 1000
            looks.append(await asyncio.to_thread(look, agent.pid, port, seconds))
            await asyncio.sleep(EVERY_SECONDS)
        used = (processor_seconds(agent.pid) - before) / (time.time() - at)
        taken = await asyncio.to_thread(metric, port, _TAKEN)
    if taken < 0.9 * rate * (looks[-1].seconds if looks else 0):
        raise SystemExit(f"only {taken:,.0f} readings were taken in:\n{tail(log)}")
    return looks, used


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m simulations.fleet soak")
    parser.add_argument("--rate", type=int, default=20_000, help="readings per second")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--json", type=Path, help="write what was seen, too")
    parser.add_argument("--check", action="store_true", help="end with 1 if something grows")
    parser.add_argument("--bootstrap", help="a broker; without it one is started")
    given = parser.parse_args(arguments)
    with running(given.bootstrap) as broker, tempfile.TemporaryDirectory() as home:
        looks, used = asyncio.run(
            soak(broker.bootstrap, Path(home), rate=given.rate, minutes=given.minutes)
        )
    found = trends(looks)
    print(f"{given.rate:,} readings/s for {given.minutes:g} minutes, {used:.0%} of a processor")
    for name, line in found.items():
        scale, unit = (2**20, " MiB") if name == "resident" else (1, "")
        verdict = "flat" if line.flat else "grows" if line.slope > 0 else "falls"
        print(
            f"{name:<12}{line.mean / scale:>10.1f}{unit:<4}  an hour adds "
            f"{line.slope / scale:+.2f}{unit} (error {line.error / scale:.2f})  {verdict}"
        )
    if given.json:
        told = {"looks": [*map(asdict, looks)], "trends": {n: asdict(t) for n, t in found.items()}}
        given.json.write_text(json.dumps(told) + "\n")
    return int(given.check and any(line.slope > 0 and not line.flat for line in found.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
