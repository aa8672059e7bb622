"""`python -m simulations.fleet.replay`: a street of meters in real time, for as long as it is let.

    python -m simulations.fleet.replay --bootstrap kafka:9092 --meters 200 --days 14

Every home sends what its day's trace says for this time of the day, every ten seconds. Before
that, if the topic is empty, it sends the days before today and today so far, as fast as it can.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Iterator
from itertools import count

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from simulations.demo.street import BLOCK, INTERVAL, SLOTS, Street, street

EACH = BLOCK // INTERVAL


def readings(homes: Street, slot: int) -> Iterator[tuple[bytes, bytes]]:
    """(key, record) of every home in a slot, counted from the epoch."""
    watts = homes.watts[:, slot % SLOTS]
    for home, value in zip(homes.homes, watts.tolist(), strict=True):
        record = {"meter_id": home, "ts": slot * INTERVAL, "value": value}
        yield home.encode(), json.dumps(record, separators=(",", ":")).encode()


def blocks(homes: Street, days: int, now: int) -> Iterator[tuple[bytes, bytes]]:
    """(key, record) of whole days and of what is over of the last one, in order of time."""
    for first in range((now // SLOTS - days) * SLOTS, now, EACH):
        begin, size = first % SLOTS, min(EACH, now - first)
        watts = homes.watts[:, begin : begin + size]
        for home, values in zip(homes.homes, watts.tolist(), strict=True):
            times = {"start": first * INTERVAL, "interval_ms": INTERVAL}
            record = {"meter_id": home, **times, "values": values}
            yield home.encode(), json.dumps(record, separators=(",", ":")).encode()


async def is_empty(bootstrap: str, topic: str) -> bool:
    """Whether nothing was ever sent there: what comes twice would be late, or a duplicate."""
    async with AIOKafkaConsumer(topic, bootstrap_servers=bootstrap) as consumer:
        partitions = consumer.partitions_for_topic(topic) or ()
        ends = await consumer.end_offsets([TopicPartition(topic, one) for one in partitions])
        return not any(ends.values())


async def replay(bootstrap: str, topic: str, homes: Street, days: int) -> None:
    """Send the days before, where nothing was sent yet, and then every slot when it is over."""
    empty = await is_empty(bootstrap, topic)
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=50) as producer:
        now = int(time.time() * 1000) // INTERVAL
        for key, record in blocks(homes, days, now) if empty else ():
            await producer.send(topic, record, key=key)
        for slot in count(now):
            for key, record in readings(homes, slot):
                await producer.send(topic, record, key=key)
            await producer.flush()
            await asyncio.sleep(max(0.0, (slot + 1) * INTERVAL / 1000 - time.time()))


def main() -> int:
    """Read the command line, and replay."""
    parser = argparse.ArgumentParser(prog="python -m simulations.fleet.replay", description=__doc__)
    parser.add_argument("--bootstrap", required=True, help="a broker")
    parser.add_argument("--topic", default="meter.readings")
    parser.add_argument("--meters", type=int, default=200)
    parser.add_argument("--days", type=int, default=0, help="how many before today (default: 0)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    homes = street(given.meters, 0, given.seed)
    asyncio.run(replay(given.bootstrap, given.topic, homes, given.days))
    return 0


if __name__ == "__main__":
    sys.exit(main())
