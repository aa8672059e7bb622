"""Days and months of a time zone: exactly once, and read back no further than open panes need."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import time
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition

from meteragent.kafka.fitness import SENDERS
from meteragent.kafka.restore import parse
from meteragent.stream.trail import MILE, expected
from tests.given import DAY, HOUR, MINUTE
from tests.integration.fleet import Fleet, watching
from tests.integration.load import Load, produce
from tests.integration.oracle import assert_exactly_once

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.integration

DAYS = """
[[policy]]
name = "plain"
window = "day"
timezone = "Europe/Paris"
interval = "30m"
grace = "1h"
idle = "3h"
maximum = "3kW"
queries = ["avg", "max", "max(1h)"]
epsilon = "1"
budget = "9"
horizon = "3d"

[[policy]]
name = "private"
match = "p-"
window = "24h"
offset = "6h"
interval = "30m"
grace = "30m"
idle = "4h"
maximum = "3kW"
epsilon = "1"
budget = "24"
horizon = "7d"
presence = "private"

[[policy]]
name = "hopping"
match = "h-"
window = "24h"
hop = "6h"
interval = "30m"
grace = "1h"
idle = "2h"
maximum = "3kW"
queries = ["avg", "median"]
epsilon = "1"
budget = "20"
horizon = "3d"
on_exhausted = "partial"
"""

MONTHS = """
[[policy]]
name = "plain"
window = "month"
timezone = "Europe/Paris"
interval = "1h"
grace = "6h"
idle = "2d"
maximum = "3kW"
queries = ["avg", "min", "max(1h)"]
epsilon = "1"
budget = "9"
horizon = "100d"
"""

SILENT = """
[[policy]]
name = "plain"
window = "24h"
interval = "1m"
grace = "10m"
delay = "36h"
maximum = "3kW"
epsilon = "1"
budget = "9"
horizon = "7d"
min_coverage = "0"
"""


@asynccontextmanager
async def made(fleet: Fleet) -> AsyncIterator[Fleet]:
    """Its topics; whatever happens, no agent outlives it."""
    try:
        await fleet.create()
        yield fleet
    finally:
        await fleet.kill()


async def chaos(fleet: Fleet, load: Load, begin: int, seconds: float, seed: int) -> None:
    """Agents are killed and join while a load is sent; judge what they did."""
    draw = random.Random(seed)
    topic = fleet.config.kafka.input
    production = asyncio.create_task(produce(fleet.servers, topic, load, seconds, begin))
    running = [await fleet.start()]
    while not production.done():
        await running[-1].says("partition state changed", state="running")
        await asyncio.sleep(draw.uniform(0, 1.5))
        if len(running) == 2 or draw.random() < 0.5:
            victim = running.pop(draw.randrange(len(running)))
            victim.signal(signal.SIGKILL)
            await victim.ended()
        if len(running) < 2:
            running.append(await fleet.start())
    await production
    await fleet.all_done()
    await fleet.stop()
    releases, again = await assert_exactly_once(fleet.servers, fleet.config, fleet.partitions)
    print(f"{releases} releases, {again} written again")  # noqa: T201 - shown by -s


seeds = pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))]
)


@seeds
def test_days_under_kills_and_joins(tmp_path: Path, servers: str, seed: int) -> None:
    """Five days of 300 meters in some seconds: they begin when clocks on the wall say so."""

    async def scenario() -> None:
        fleet = Fleet(tmp_path, servers, partitions=2, policies=DAYS)
        load = Load(seed, 300, 2, steps=5 * 48, interval=30 * MINUTE, flush=100)
        async with made(fleet):
            await chaos(fleet, load, int(time.time() * 1000) + DAY, 12 * (1 + seed), seed)

    asyncio.run(scenario())


@seeds
def test_months_whose_clocks_change_under_kills_and_joins(
    tmp_path: Path, servers: str, seed: int
) -> None:
    """March and April of Paris: of 743 hours and of 720."""
    zone = ZoneInfo("Europe/Paris")
    begin = datetime(datetime.now(zone).year + 1, 3, 1, tzinfo=zone)

    async def scenario() -> None:
        fleet = Fleet(tmp_path, servers, partitions=2, policies=MONTHS, max_skew="800d")
        load = Load(seed, 24, 2, steps=61 * 24, interval=HOUR, flush=100)
        async with made(fleet):
            start = int(begin.timestamp() * 1000)
            await chaos(fleet, load, start, 12 * (1 + seed), seed)

    asyncio.run(scenario())


def test_a_kill_in_the_midst_of_a_day_reads_back_little_though_a_meter_is_silent(
    tmp_path: Path, servers: str
) -> None:
    """Twenty meters send for twelve hours, one has sent once; it is collected once a day."""
    meters = [f"m{number}" for number in range(20)]

    async def scenario() -> None:
        fleet = Fleet(
            tmp_path,
            servers,
            partitions=1,
            policies=SILENT,
            kafka="trust_timestamps = true",
        )
        begin = int(time.time() * 1000) // MINUTE * MINUTE - 12 * HOUR
        async with made(fleet), AIOKafkaProducer(bootstrap_servers=servers) as producer:
            kafka = fleet.config.kafka
            await fleet.alter(kafka.input, message_timestamp_type=SENDERS)

            async def send(meter: str, ts: int, at: int) -> None:
                value = json.dumps({"meter_id": meter, "ts": ts, "value": 300}).encode()
                await producer.send(
                    kafka.input, value, key=meter.encode(), partition=0, timestamp_ms=at
                )

            async def minutes(first: int, last: int) -> None:
                for minute in range(first, last):
                    for meter in meters:
                        await send(meter, begin + minute * MINUTE, begin + minute * MINUTE)
                    if minute % 10 == 0:
                        await producer.flush()
                        await asyncio.sleep(0.05)
                await producer.flush()

            agent = await fleet.start()
            await agent.says("partition state changed", state="running")
            await send("silent", begin, begin)
            await producer.send(kafka.input, b"{", partition=0, timestamp_ms=begin)
            await minutes(0, 700)
            await fleet.all_done()
            agent.signal(signal.SIGKILL)
            await agent.ended()

            end, offset = await _stand(fleet)
            policy = fleet.config.policies[0]
            allowed = (expected(policy) + MILE + 20 * MINUTE) // MINUTE * len(meters)
            assert 0 < end - offset <= allowed < end // 4
            begun = time.monotonic()
            await fleet.start()
            await minutes(700, 720)
            await fleet.all_done()
            took = time.monotonic() - begun
            print(f"{end - offset} of {end} records read back; behind the end after {took:.1f} s")  # noqa: T201
            late = begin + 5 * MINUTE  # into the pane that was carried
            await send("silent", late, begin + 720 * MINUTE)
            for meter in meters:
                await send(meter, begin + 6 * DAY, begin + 720 * MINUTE)
            await producer.flush()
            await fleet.all_done()
            await fleet.stop()
            releases, _ = await assert_exactly_once(servers, fleet.config, 1)
            assert releases >= len(meters) + 1

    asyncio.run(scenario())


async def _stand(fleet: Fleet) -> tuple[int, int]:
    """Up to where the input was taken in, and from where on it is needed."""
    source = TopicPartition(fleet.config.kafka.input, 0)
    async with watching(fleet.servers) as (_, admin):
        found = (await admin.list_consumer_group_offsets(fleet.name, partitions=[source]))[source]
    position = parse(fleet.config.kafka, 0, found)
    return position.processed, position.offset
