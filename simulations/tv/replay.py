"""`python -m simulations.tv replay`: homes with a television on, as readings that an agent takes.

    python -m simulations.tv replay --to file --out readings.jsonl --homes 20 --hours 4
    python -m simulations.tv replay --to file --traces DIR | meteragent sanitize - ...
    python -m simulations.tv replay --to kafka --bootstrap localhost:9092 --speed 60
    python -m simulations.tv replay --to agent -c agent.toml --speed 600

`--to agent` plays to one that runs, by its own configuration, so that it takes every reading: it
refuses a policy that would not wait (`delay`), moves the days near to today, and ends with a mark
of each meter that closes its last windows. What is released is what `sanitize` releases.

One JSON reading a line, or a record, in the order of time; `--speed 60` plays an hour in a
minute, `--speed 0` as fast as it goes. The key of a record is the meter's id.
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from meteragent.config import load
from simulations.kit.command import SEED
from simulations.kit.traces import Trace
from simulations.tv.background import background
from simulations.tv.contest import EPOCH
from simulations.tv.displays import TELLING
from simulations.tv.library import library, metered
from simulations.tv.playing import Playing, playing
from simulations.tv.plugs import recordings

EVENING_BEGIN = EPOCH + 19 * 3_600_000
FILMS = 60


@dataclass(frozen=True, slots=True)
class Moment:
    """What all meters measure in one slot: `(meter, JSON)` of each that measures anything."""

    time: int
    records: list[tuple[bytes, bytes]]


def main(arguments: Sequence[str]) -> int:
    """Play what the arguments ask for."""
    given = _parser().parse_args(arguments)
    played = (
        real(given.traces, given.interval)
        if given.traces
        else made(given.seed, given.homes, given.hours, given.interval)
    )
    if given.to == "agent":
        _to_agent(played, given.config, given.speed)
        return 0
    moments = paced(moments_of(played), given.speed)
    if given.to == "kafka":
        asyncio.run(_to_kafka(moments, given.bootstrap, given.topic))
    else:
        _to_file(moments, given.out)
    return 0


def _to_agent(traces: list[Trace], path: Path, speed: float) -> None:
    config = load(path, os.environ)
    one = playing(traces, config, time.time_ns() // 1_000_000, speed)
    moments = paced(moments_of(one.traces), speed)
    kafka = config.kafka
    servers = ",".join(kafka.bootstrap_servers)
    count = asyncio.run(_to_kafka(chain(moments, ended(one)), servers, kafka.input))
    print(f"{count - len(one.marks)} readings of {len(one.marks)} meters, and an end mark of each")


def ended(one: Playing) -> Iterator[Moment]:
    """The end marks, in the order of time."""
    for meter, mark in sorted(one.marks.items(), key=lambda pair: pair[1]):
        yield Moment(mark, [_record(meter, mark, 0.0)])


def made(seed: int, homes: int, hours: float, seconds: int) -> list[Trace]:
    """An evening of as many homes, each with its own set and channel."""
    draw = np.random.default_rng([seed, 90])
    shown = library(draw, FILMS).evenings(draw, homes, int(hours * 3600))
    rest = background(draw, homes, shown.shape[1] // seconds, seconds, 19 * 3600)
    watts = [
        metered(row[np.newaxis], TELLING[number % len(TELLING)], seconds, draw)[0]
        for number, row in enumerate(shown)
    ]
    return [
        Trace(f"tv-{number}", EVENING_BEGIN, 1000 * seconds, np.round(tv + rest[number], 1))
        for number, tv in enumerate(watts)
    ]


def real(folder: Path, seconds: int) -> list[Trace]:
    """Recorded days, all moved to one date, so that they play together."""
    coarse = [recording.trace.coarser(1000 * seconds) for recording in recordings(folder)]
    return [
        Trace(f"plug-{number}", EPOCH + trace.begin % 86_400_000, trace.interval, trace.watts)
        for number, trace in enumerate(coarse)
    ]


def moments_of(traces: Sequence[Trace]) -> Iterator[Moment]:
    """Slot after slot. Precondition: all traces have the same interval."""
    interval = traces[0].interval
    time_of, until = (
        min(trace.begin for trace in traces),
        max(trace.begin + len(trace.watts) * interval for trace in traces),
    )
    for moment in range(time_of, until, interval):
        yield Moment(moment, list(_measured(traces, moment)))


def _measured(traces: Sequence[Trace], moment: int) -> Iterator[tuple[bytes, bytes]]:
    for trace in traces:
        slot = (moment - trace.begin) // trace.interval
        if 0 <= slot < len(trace.watts) and np.isfinite(trace.watts[slot]):
            yield _record(trace.name, moment, round(float(trace.watts[slot]), 1))


def _record(meter: str, moment: int, watts: float) -> tuple[bytes, bytes]:
    text = f'{{"meter_id": "{meter}", "ts": {moment}, "value": {watts}}}'
    return meter.encode(), text.encode()


def paced(moments: Iterator[Moment], speed: float) -> Iterator[Moment]:
    """The same, each when its time has come; at speed 0 at once."""
    begun, first = time.monotonic(), None
    for moment in moments:
        first = moment.time if first is None else first
        if speed > 0:
            due = begun + (moment.time - first) / 1000 / speed
            time.sleep(max(0.0, due - time.monotonic()))
        yield moment


def _to_file(moments: Iterator[Moment], out: Path | None) -> None:
    with out.open("wb") if out else open(sys.stdout.fileno(), "wb", closefd=False) as file:
        for moment in moments:
            file.writelines(text + b"\n" for _, text in moment.records)
            file.flush()


async def _to_kafka(moments: Iterator[Moment], bootstrap: str, topic: str) -> int:
    """How many readings were written."""
    from aiokafka import AIOKafkaProducer  # noqa: PLC0415 - files need no broker
    from aiokafka.errors import KafkaError, UnknownTopicOrPartitionError  # noqa: PLC0415

    count = 0
    try:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all") as producer:
            while moment := await asyncio.to_thread(next, moments, None):
                sent = [
                    await producer.send(topic, value, key=meter, timestamp_ms=moment.time)
                    for meter, value in moment.records
                ]
                await asyncio.gather(*sent)
                count += len(sent)
    except UnknownTopicOrPartitionError:
        message = f"{bootstrap} has no topic {topic}: meteragent topics create makes it"
        raise SystemExit(message) from None
    except KafkaError as error:
        raise SystemExit(f"{bootstrap}: {error}") from None
    return count


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m simulations.tv replay",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--to", choices=("file", "kafka", "agent"), default="file")
    parser.add_argument("--out", type=Path, help="a file; standard output without it")
    parser.add_argument("-c", "--config", type=Path, default=Path("agent.toml"), help="the agent's")
    parser.add_argument("--bootstrap", default="localhost:9092")
    parser.add_argument("--topic", default="meter.readings")
    parser.add_argument("--speed", type=float, default=0.0, help="1 is real time, 0 at once")
    parser.add_argument("--homes", type=int, default=20)
    parser.add_argument("--hours", type=float, default=4.0)
    parser.add_argument("--interval", type=int, default=10, help="seconds, an even number")
    parser.add_argument("--traces", type=Path, metavar="DIR", help="recordings instead of films")
    parser.add_argument("--seed", type=int, default=SEED)
    return parser
