"""Readings as they are sent now, with everything that can be wrong with some of them."""

import asyncio
import json
import random
import time
from dataclasses import dataclass

from aiokafka import AIOKafkaProducer

from meteragent.config import Config
from meteragent.config.works import works
from meteragent.kafka import memberships, topics
from meteragent.kafka.clients import Clients
from meteragent.privacy.members import Membership

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
groups = "{name}-groups"
groups_output = "{name}-groups-out"
partials = "{name}-partials"
homes_ledger = "{name}-homes-ledger"
groups_ledger = "{name}-groups-ledger"
session_timeout = "3s"
rebalance_timeout = "10s"

[http]
port = 0

[budget]
amount = "{amount}"
groups = "{reserved}"
horizon = "{day}s"

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
share = "{lasting}"
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
share = "{short}"
on_exhausted = "partial"

# Sums of households, of which one group is too small.
[[group]]
name = "streets"
match = "s-"
window = "{window}s"
interval = "1s"
grace = "1s"
idle = "4s"
maximum = "200kW"
home_maximum = "24kW"
min_homes = 5
epsilon = "0.5"
share = "{each}"
"""
STREETS = 4
FEW = ("h-0", "h-1", "h-2")
MEMBERS = [
    *(Membership(f"h-{n}", f"s-{n % STREETS}") for n in range(60)),
    *(Membership(home, "s-few") for home in FEW),
    Membership(FEW[-1], "s-third"),  # which is more than a home reserves
]


def config(servers: str, name: str, window: int, windows: int) -> str:
    """Policies with windows of so many seconds, and a day of so many windows."""
    lasting, each = 1.5 * windows, 0.5 * windows
    return CONFIG.format(
        servers=servers,
        name=name,
        window=window,
        day=windows * window,
        amount=lasting + 2 * each,
        reserved=2 * each,
        each=each,
        lasting=lasting,
        short=round(0.125 * windows * 2 / 3, 3),  # at 100 W
    )


async def prepare(settings: Config, partitions: int) -> None:
    """Topics for all the work, and who is in which group."""
    for own in works(settings).values():
        await topics.create(own, Clients(own.kafka), partitions, 1)
    now = int(time.time() * 1000)
    await memberships.tell(settings, Clients(settings.kafka), MEMBERS, now)


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
