"""`python -m simulations.fleet.replay`: a street of meters in real time, for as long as it is let.

    python -m simulations.fleet.replay --bootstrap kafka:9092 --meters 200

Every home sends what its day's trace says for this time of the day, every ten seconds.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Iterator
from itertools import count

from aiokafka import AIOKafkaProducer

from simulations.demo.street import INTERVAL, SLOTS, Street, street


def readings(homes: Street, slot: int) -> Iterator[tuple[bytes, bytes]]:
    """(key, record) of every home in a slot, counted from the epoch."""
    watts = homes.watts[:, slot % SLOTS]
    for home, value in zip(homes.homes, watts.tolist(), strict=True):
        record = {"meter_id": home, "ts": slot * INTERVAL, "value": value}
        yield home.encode(), json.dumps(record, separators=(",", ":")).encode()


async def replay(bootstrap: str, topic: str, homes: Street, slots: int | None = None) -> None:
    """Send every slot when it is over; for ever, unless only so many are asked for."""
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=50) as producer:
        first = int(time.time() * 1000) // INTERVAL
        for slot in count(first) if slots is None else range(first, first + slots):
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
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    homes = street(given.meters, 0, given.seed)
    asyncio.run(replay(given.bootstrap, given.topic, homes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
