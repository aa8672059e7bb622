"""Readings as they are sent now, with everything that can be wrong with some of them."""

import asyncio
import json
import random
import time
from dataclasses import dataclass

from aiokafka import AIOKafkaProducer

CONFIG = """
[agent]
key_file = "noise.key"
max_skew = "10s"
commit_interval = "500ms"
drain_deadline = "5s"

[kafka]
bootstrap_servers = "{servers}"
group = "{name}"
input = "{name}-in"
output = "{name}-out"
ledger = "{name}-ledger"
rejected = "{name}-rejected"
policies = "{name}-policies"
session_timeout = "3s"
rebalance_timeout = "10s"

[http]
port = 0

# Pays for every window, for ever.
[[policy]]
name = "household"
match = "h-"
window = "{window}s"
interval = "1s"
grace = "1s"
idle = "4s"
maximum = "24kW"
queries = ["avg", {{ query = "p95", epsilon = "0.5" }}]
epsilon = "1"
budget = "{lasting}"
horizon = "{day}s"
min_coverage = "0.5"

# Pays for two windows of three, and drops its later queries before it withholds.
[[policy]]
name = "feeder"
match = "f-"
window = "{window}s"
interval = "1s"
grace = "1s"
idle = "4s"
maximum = "400kW"
step = "100W"
queries = ["avg", "max", {{ query = "min", epsilon = "0.25" }}]
epsilon = "0.5"
radius = "1kW"
budget = "{short}"
horizon = "{day}s"
on_exhausted = "partial"
"""


def config(servers: str, name: str, window: int, windows: int) -> str:
    """Two policies with windows of so many seconds, and a day of so many windows."""
    return CONFIG.format(
        servers=servers,
        name=name,
        window=window,
        day=windows * window,
        lasting=1.5 * windows,
        short=round(1.25 * windows * 2 / 3, 2),
    )


@dataclass
class Load:
    """Meters that send every second, and new ones, which begin with a full budget."""

    topic: str
    households: int = 60
    feeders: int = 20
    seed: int = 1
    joining: float = 0.0
    """Meters per second that are new."""

    def __post_init__(self) -> None:
        self._draw = random.Random(self.seed)
        self._joined = 0.0

    async def send(self, servers: str, seconds: float) -> None:
        """For so long, in real time."""
        begun = time.monotonic()
        async with AIOKafkaProducer(bootstrap_servers=servers, linger_ms=20) as producer:
            second = 0
            while second < seconds:
                for key, value in self.records():
                    await producer.send(self.topic, value, key=key)
                second += 1
                await asyncio.sleep(max(0.0, begun + second - time.monotonic()))

    def records(self) -> list[tuple[bytes, bytes]]:
        """Those of one second."""
        now, draw = int(time.time() * 1000), self._draw
        self._joined += self.joining
        found = []
        households = self.households + int(self._joined)
        for name, count, watts in (("h-", households, 3000), ("f-", self.feeders, 300_000)):
            for number in range(count):
                if number % 20 == 19 and draw.random() < 0.6:
                    continue  # a meter with a bad line: too thinly covered
                moment = now - (40_000 if draw.random() < 0.01 else 0)
                meter = f"{name}{number}"
                found.append((meter, self._reading(meter, moment, draw.uniform(0, watts))))
                if draw.random() < 0.02:
                    found.append(found[-1])
        if draw.random() < 0.5:
            found.append(("h-1", b"{"))
        if draw.random() < 0.3:
            found.append(("h-0", self._reading("h-0", now + 3_600_000, 1)))
        if draw.random() < 0.3:
            found.append(("x-0", self._reading("x-0", now, 1)))
        return [(meter.encode(), value) for meter, value in found]

    @staticmethod
    def _reading(meter: str, moment: int, watts: float) -> bytes:
        return json.dumps({"meter_id": meter, "ts": moment, "value": watts}).encode()
