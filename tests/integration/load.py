"""Seeded readings as a utility's head-end sends them: late, twice, out of order, broken."""

from __future__ import annotations

import asyncio
import json
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiokafka import AIOKafkaProducer

from meteragent.stream.homes import Homes

if TYPE_CHECKING:
    from collections.abc import Iterator

INTERVAL = 10_000
AHEAD = 3_600_000
"""Event time begins this far ahead of the wall clock, which therefore closes no window."""
PORTION = 500

BAD = (
    b"",
    b"\xff\xfe",
    b"{",
    b"[1, 2]",
    b'{"meter_id": "", "ts": 1, "value": 2}',
    b'{"meter_id": "x", "ts": "yesterday", "value": 2}',
    b'{"meter_id": "x", "ts": 1, "value": 1e400}',
    b'{"meter_id": "x", "ts": 1, "value": 2, "unit": "hp"}',
    b'{"meter_id": "x", "ts": 253402300000000, "value": 2}',
    b'{"meter_id": "x", "start": 1, "interval_ms": 0, "values": [1]}',
)


@dataclass(frozen=True, slots=True)
class Sent:
    """A record and the time on the readings' own clock at which it is sent."""

    at: int
    partition: int
    key: bytes
    value: bytes


@dataclass(frozen=True, slots=True)
class Load:
    """What `meters` meters send in `steps` intervals of 10 s, all of it derived from `seed`."""

    seed: int
    meters: int = 2000
    partitions: int = 6
    steps: int = 18
    """Six windows of 30 s."""
    interval: int = INTERVAL
    """All else that takes time is so many times as long as with the usual one."""
    flush: int = 30
    """So many intervals behind the end is the reading that closes all windows."""

    @property
    def _slower(self) -> int:
        return self.interval // INTERVAL

    @property
    def _homes(self) -> Homes:
        return Homes("murmur2", self.partitions)

    def records(self, begin: int) -> list[Sent]:
        """In the order in which they are sent; the last of each partition closes all windows."""
        draw = random.Random(self.seed)
        sent = [r for number in range(self.meters) for r in self._meter(draw, number, begin)]
        sent.sort(key=lambda record: record.at)
        end = begin + self.steps * self.interval
        return sent + [self._flush(partition, end) for partition in range(self.partitions)]

    def _meter(self, draw: random.Random, number: int, begin: int) -> Iterator[Sent]:
        meter = f"{draw.choice(('', '', 'p-', 'h-'))}m{number}"
        where = self._homes.of(meter)
        step = 0
        while step < self.steps:
            length = 1 if draw.random() < 0.97 else min(draw.randint(2, 6), self.steps - step)
            time_of = begin + step * self.interval + draw.randrange(self.interval)
            at = time_of + length * self.interval + int(draw.expovariate(1 / 2000) * self._slower)
            value = self._document(draw, meter, time_of, length)
            step += length
            if draw.random() < 0.04:
                continue  # a gap
            if draw.random() < 0.01:
                at += 120_000 * self._slower  # late
            yield Sent(at, where, meter.encode(), value)
            if draw.random() < 0.02:
                yield Sent(at + draw.randrange(2 * self.interval), where, meter.encode(), value)
            if draw.random() < 0.005:
                yield Sent(at, where, meter.encode(), draw.choice(BAD))

    def _document(self, draw: random.Random, meter: str, time_of: int, length: int) -> bytes:
        watts = [round(draw.uniform(-50, 3000), 1) for _ in range(length)]
        if length == 1:
            return json.dumps({"meter_id": meter, "ts": time_of, "value": watts[0]}).encode()
        values = [None if draw.random() < 0.1 else value for value in watts]
        block = {"meter_id": meter, "start": time_of, "interval_ms": self.interval}
        return json.dumps({**block, "values": values}).encode()

    def _flush(self, partition: int, end: int) -> Sent:
        numbers = (f"flush-{number}" for number in range(100 * self.partitions))
        meter = next(name for name in numbers if self._homes.of(name) == partition)
        document = {"meter_id": meter, "ts": end + self.flush * self.interval, "value": 1}
        return Sent(end, partition, meter.encode(), json.dumps(document).encode())


async def produce(
    bootstrap: str, topic: str, load: Load, seconds: float, begin: int | None = None
) -> None:
    """Send a load, spread evenly over so many seconds, each meter to its own partition."""
    records = load.records(int(time.time() * 1000) + AHEAD if begin is None else begin)
    begun = time.monotonic()
    async with AIOKafkaProducer(
        bootstrap_servers=bootstrap, acks="all", enable_idempotence=True, linger_ms=20
    ) as producer:
        for first in range(0, len(records), PORTION):
            await asyncio.sleep(begun + seconds * first / len(records) - time.monotonic())
            for record in records[first : first + PORTION]:
                await producer.send(topic, record.value, key=record.key, partition=record.partition)
        await producer.flush()
