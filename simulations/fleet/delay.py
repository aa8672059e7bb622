"""From the record that closes a window to its committed release, at half load.

    python -m simulations.fleet delay                        the default commit interval
    python -m simulations.fleet delay --commit-interval 50   low latency
    python -m simulations.fleet delay --groups               homes in groups too

A process sends a fleet's readings as time passes; another runs the agent; this one reads the
releases at read_committed and notes when each came. Which record closed which window is worked
out afterwards, from the input topic: a record's timestamp is when it was sent. A group's window is
closed by the last partition of the input whose clock comes so far; from there its release goes by
way of what that partition tells. Target: three times what a meter's release takes, p99.
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
from meteragent.privacy.members import Membership
from simulations.drain import tail
from simulations.fleet.load import BATCH_BYTES, make_topic, send
from simulations.fleet.traffic import CALM, Fleet, Portion, portions
from simulations.local_kafka import running
from simulations.processes import module, processor_seconds, started
from simulations.setting import Setting, group, prepare

INTERVAL = 1_000
WINDOW = 10_000
GRACE = 1_000
SLICE = 0.02
PARTITIONS = 4
NEVER = np.iinfo(np.int64).max

Integers = NDArray[np.int64]
Arrived = list[tuple[int, int, int]]
"""(meter or group, window, when)"""
HOMES_EACH = 200


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
        (
            _number(document.get("meter_id") or document["group_id"]),
            document["window_start"] // WINDOW,
            when,
        )
        for when, values in raw
        for document in map(json.loads, values)
    ]


async def closings(
    bootstrap: str, topic: str, meters: int, first: int, windows: int
) -> tuple[Integers, Integers]:
    """When the record was sent that closed it: [meter, window], by its meter's own time ...

    ... and [all groups, window], by the time of the last partition that came so far.
    """
    found = np.full((meters, windows), NEVER)
    of_groups = np.full((PARTITIONS, windows), NEVER)
    reader = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    await reader.start()
    parts = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    reader.assign(parts)
    left, decoder = sum((await reader.end_offsets(parts)).values()), Decoder()
    while left:
        for at, records in (await reader.getmany(timeout_ms=500)).items():
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
            over = (readings.times - GRACE - INTERVAL) // WINDOW - 1 - first
            inside = (over >= 0) & (over < windows)
            np.minimum.at(of_groups[at.partition], over[inside], readings.timestamps[inside])
    await reader.stop()
    earliest = np.minimum.accumulate(of_groups[:, ::-1], axis=1)[:, ::-1]
    return found, earliest.max(axis=0, keepdims=True)


def _number(meter: str) -> int:
    return int(meter.rpartition("-")[2])


def delays(arrived: Arrived, closing: Integers, first: int) -> Integers:
    """Milliseconds from closing[meter, window] to each release of these windows."""
    rows, windows = closing.shape
    found = [
        when - closing[number % rows, window - first]
        for number, window, when in arrived
        if 0 <= window - first < windows and closing[number % rows, window - first] != NEVER
    ]
    return np.array(found, dtype=np.int64)


async def measure(
    bootstrap: str,
    home: Path,
    *,
    rate: int,
    seconds: int,
    commit: int,
    lead: float,
    groups: bool = False,
) -> tuple[Integers, Integers, float]:
    """Delays in milliseconds, of meters and of groups, and the agent's use of a processor."""
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
    setting = Setting(commit, window=WINDOW, interval=INTERVAL, grace=GRACE, groups=groups)
    file, output = await prepare(bootstrap, topic, PARTITIONS, home, setting)
    outputs = [output, await group(file, PARTITIONS, streets(fleet))] if groups else [output]
    log = home / "delay.log"
    sender = [bootstrap, topic, str(fleet.meters), str(fleet.steps), str(begin)]
    with (
        started(module("meteragent", "run", "-c", file), log) as agent,
        started(module("simulations.fleet.delay", "send", *sender), log),
    ):
        until = fleet.end / 1000 + 3
        collecting = asyncio.gather(*(collect(bootstrap, output, until) for output in outputs))
        await asyncio.sleep(begin / 1000 + 2 - time.time())
        before, at = processor_seconds(agent.pid), time.time()
        await asyncio.sleep(fleet.end / 1000 - time.time())
        used = (processor_seconds(agent.pid) - before) / (time.time() - at)
        arrived = await collecting
    first, windows = begin // WINDOW, seconds * 1000 // WINDOW
    closing = await closings(bootstrap, topic, fleet.meters, first, windows)
    found = [delays(its, when, first) for its, when in zip(arrived, closing, strict=False)]
    if not all(map(len, found)):
        raise SystemExit(f"nothing was released:\n{tail(log)}")
    return found[0], found[-1], used


def streets(fleet: Fleet) -> list[Membership]:
    """Neighbours by their numbers are in one group."""
    homes = (fleet.name(meter).decode() for meter in range(fleet.meters))
    return [Membership(home, f"g-{nth // HOMES_EACH}") for nth, home in enumerate(homes)]


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
    parser.add_argument("--groups", action="store_true", help=f"of {HOMES_EACH} homes each")
    parser.add_argument("--lead", type=float, default=12, help="seconds for the agent to start")
    parser.add_argument("--bootstrap", help="a broker; without it one is started")
    given = parser.parse_args(arguments)
    with running(given.bootstrap) as broker, tempfile.TemporaryDirectory() as home:
        of_meters, of_groups, used = asyncio.run(
            measure(
                broker.bootstrap,
                Path(home),
                rate=given.rate,
                seconds=given.seconds,
                commit=given.commit_interval,
                lead=given.lead,
                groups=given.groups,
            )
        )
    print(f"{given.rate:,} readings/s, committed every {given.commit_interval} ms:")
    print(f"{_said(of_meters)}; the agent used {used:.0%} of a processor")
    if given.groups:
        times = np.percentile(of_groups, 99) / np.percentile(of_meters, 99)
        print(f"of groups {_said(of_groups)}: p99 {times:.2f} times a meter's")
    return 0


def _said(delays: Integers) -> str:
    middle, most = np.percentile(delays, [50, 99])
    longest = delays.max()
    return f"{len(delays):,} releases, p50 {middle:.0f} ms, p99 {most:.0f} ms, longest {longest} ms"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
