"""From the record that closes a window to its committed release, at half load.

    python -m simulations.fleet delay                        the default commit interval
    python -m simulations.fleet delay --commit-interval 50   low latency

A process sends a fleet's readings as time passes; another runs the agent; this one reads the
releases at read_committed and notes when each came. Which record closed which window is worked
out afterwards, from the input topic: a record's timestamp is when it was sent.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from numpy.typing import NDArray

from meteragent.formats.decoder import Decoder
from simulations.drain import tail
from simulations.fleet.load import BATCH_BYTES, make_topic, send
from simulations.fleet.traffic import CALM, Fleet, Portion, portions
from simulations.local_kafka import running
from simulations.processes import module, processor_seconds, started
from simulations.setting import Setting, prepare

INTERVAL = 1_000
WINDOW = 10_000
GRACE = 1_000
SLICE = 0.02
PARTITIONS = 4
NEVER = np.iinfo(np.int64).max

Integers = NDArray[np.int64]
Arrived = list[tuple[int, int, int]]
"""(meter, window, when)"""


async def send_live(bootstrap: str, topic: str, fleet: Fleet) -> None:
    """Send each record when its time has come, and not before."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, max_batch_size=BATCH_BYTES)
    await producer.start()
    try:
        several = [portions(fleet, partition) for partition in range(fleet.partitions)]
        for portion in zip(*several, strict=True):
            sending = (
                _send_on_time(producer, topic, partition, fleet, mine)
                for partition, mine in enumerate(portion)
            )
            await asyncio.gather(*sending)
    finally:
        await producer.stop()


async def _send_on_time(
    producer: AIOKafkaProducer, topic: str, partition: int, fleet: Fleet, portion: Portion
) -> None:
    records = [(key, value) for key, value, _ in portion.records(fleet)]
    first = 0
    while first < len(records):
        now = int(time.time() * 1000)
        last = max(first, int(np.searchsorted(portion.sent, now, side="right")))
        if last > first:
            batch = ((key, value, now) for key, value in records[first:last])
            await send(producer, topic, partition, batch)
        first = last
        await asyncio.sleep(SLICE)


async def collect(bootstrap: str, topic: str, until: float) -> Arrived:
    """Every release, with the time at which it could be read."""
    reader = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        fetch_max_wait_ms=20,
    )
    await reader.start()
    reader.assign([TopicPartition(topic, number) for number in range(PARTITIONS)])
    raw: list[tuple[int, list[bytes]]] = []
    try:
        while time.time() < until:
            found = await reader.getmany(timeout_ms=20)
            now = int(time.time() * 1000)
            raw += [(now, [r.value for r in records]) for records in found.values()]
    finally:
        await reader.stop()
    return [
        (_number(document["meter_id"]), document["window_start"] // WINDOW, when)
        for when, values in raw
        for document in map(json.loads, values)
    ]


async def closings(bootstrap: str, topic: str, meters: int, first: int, windows: int) -> Integers:
    """closing[meter, window]: when the record was sent that closed it, by its meter's own time."""
    found = np.full((meters, windows), NEVER)
    reader = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    await reader.start()
    parts = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    reader.assign(parts)
    left, decoder = sum((await reader.end_offsets(parts)).values()), Decoder()
    while left:
        for records in (await reader.getmany(timeout_ms=500)).values():
            left -= len(records)
            readings = decoder.decode(
                [r.value for r in records],
                [r.offset for r in records],
                [r.timestamp for r in records],
            )
            window = (readings.times - GRACE) // WINDOW - 1 - first
            meter = np.array(list(map(_number, readings.meters)))
            inside = (window >= 0) & (window < windows)
            cells = meter[inside], window[inside]
            np.minimum.at(found, cells, readings.timestamps[inside])
    await reader.stop()
    return found


def _number(meter: str) -> int:
    return int(meter.rpartition("-")[2])


async def measure(
    bootstrap: str, home: Path, *, rate: int, seconds: int, commit: int, lead: float
) -> tuple[Integers, float]:
    """Delays of all windows of the run in milliseconds, and the agent's use of a processor."""
    begin = (int((time.time() + lead) * 1000) // WINDOW + 1) * WINDOW
    fleet = Fleet(
        rate * INTERVAL // 1000,
        seconds * 1000 // INTERVAL,
        begin,
        interval=INTERVAL,
        partitions=PARTITIONS,
        trouble=CALM,
    )
    topic = f"live-{begin}-{commit}"
    await make_topic(bootstrap, topic, PARTITIONS)
    setting = Setting(commit, window=WINDOW, interval=INTERVAL, grace=GRACE)
    file, output = await prepare(bootstrap, topic, PARTITIONS, home, setting)
    log = home / "delay.log"
    sender = [bootstrap, topic, str(fleet.meters), str(fleet.steps), str(begin)]
    with (
        started(module("meteragent", "run", "-c", file), log) as agent,
        started(module("simulations.fleet.delay", "send", *sender), log),
    ):
        collecting = asyncio.create_task(collect(bootstrap, output, fleet.end / 1000 + 3))
        await asyncio.sleep(begin / 1000 + 2 - time.time())
        before, at = processor_seconds(agent.pid), time.time()
        await asyncio.sleep(fleet.end / 1000 - time.time())
        used = (processor_seconds(agent.pid) - before) / (time.time() - at)
        arrived = await collecting
    windows = seconds * 1000 // WINDOW
    closing = await closings(bootstrap, topic, fleet.meters, begin // WINDOW, windows)
    delays = [
        when - closing[meter, window - begin // WINDOW]
        for meter, window, when in arrived
        if 0 <= window - begin // WINDOW < windows
        and closing[meter, window - begin // WINDOW] != NEVER
    ]
    if not delays:
        raise SystemExit(f"nothing was released:\n{tail(log)}")
    return np.array(delays), used


def main(arguments: list[str]) -> int:
    """Measure and print."""
    if arguments[:1] == ["send"]:
        bootstrap, topic, *numbers = arguments[1:]
        meters, steps, begin = map(int, numbers)
        fleet = Fleet(meters, steps, begin, interval=INTERVAL, partitions=PARTITIONS, trouble=CALM)
        asyncio.run(send_live(bootstrap, topic, fleet))
        return 0
    parser = argparse.ArgumentParser(prog="python -m simulations.fleet delay")
    parser.add_argument("--rate", type=int, default=50_000, help="readings per second")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--commit-interval", type=int, default=500, help="in milliseconds")
    parser.add_argument("--lead", type=float, default=12, help="seconds for the agent to start")
    parser.add_argument("--bootstrap", help="a broker; without it one is started")
    given = parser.parse_args(arguments)
    with running(given.bootstrap) as broker, tempfile.TemporaryDirectory() as home:
        delays, used = asyncio.run(
            measure(
                broker.bootstrap,
                Path(home),
                rate=given.rate,
                seconds=given.seconds,
                commit=given.commit_interval,
                lead=given.lead,
            )
        )
    middle, most = np.percentile(delays, [50, 99])
    print(
        f"{given.rate:,} readings/s, committed every {given.commit_interval} ms: "
        f"{len(delays):,} releases, p50 {middle:.0f} ms, p99 {most:.0f} ms, "
        f"longest {delays.max()} ms; the agent used {used:.0%} of a processor"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
