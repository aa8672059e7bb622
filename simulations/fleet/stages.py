"""Where a reading's microseconds go, in one process and without Kafka.

    python -m simulations.fleet stages

decode    bytes to columns
windows   meters to rows, readings into slots, windows laid out
decide    budget, queries, keyed noise, accounts as bytes
encode    releases to bytes
position  what is committed beside them, once per batch

Each row is measured in Python alone, and by the wheel where it is installed: the wheel's `decode`
also unpacks what the brokers hold, which else is the client's business. Times are of the processor,
medians of the rounds. What Kafka's client takes is the bare limit of
`python -m simulations.peers.kafka`.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice
from statistics import median
from typing import TypeVar
from unittest.mock import patch

from aiokafka.record.default_records import DefaultRecordBatchBuilder

from meteragent.formats.decoder import Decoder
from meteragent.formats.encoder import Encoder
from meteragent.kafka.unpack import Unpacker
from meteragent.kafka.walk import Fetched
from meteragent.privacy import native
from meteragent.stream.branch import Branch
from meteragent.stream.closed import Closed
from meteragent.stream.cohort import Cohort
from meteragent.stream.readings import Readings
from meteragent.stream.releases import Step
from simulations.fleet.scale import WINDOW, pipeline
from simulations.fleet.traffic import Fleet, Trouble, portions

BATCH = 2_000
SHORTEST = 180
"""So many intervals, in which a window closes."""
BEGIN = 1_763_424_000_000 // WINDOW * WINDOW
STAGES = ("decode", "windows", "decide", "encode", "position")

ROOM = 2**30

Batch = tuple[list[bytes], range, list[int]]
Decode = Callable[[], Readings | None]
T = TypeVar("T")


class Clock:
    """Adds up seconds of the processor by stage; what is timed within a stage is not its own."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._inner = 0.0

    def of(self, stage: str, work: Callable[[], T]) -> T:
        """Do it, and note how long it took."""
        outer, self._inner = self._inner, 0.0
        begun = time.thread_time()
        result = work()
        took = time.thread_time() - begun
        self.seconds[stage] += took - self._inner
        self._inner = outer + took
        return result


def batches(fleet: Fleet) -> Iterator[Batch]:
    """A partition's records, as a consumer hands them over."""
    records = chain.from_iterable(p.records(fleet) for p in portions(fleet, 0))
    offset = 0
    while some := list(islice(records, BATCH)):
        _, values, timestamps = zip(*some, strict=True)
        yield list(values), range(offset, offset + len(some)), list(timestamps)
        offset += len(some)


def packed(values: list[bytes], offsets: range, timestamps: list[int]) -> Fetched:
    """The same as the brokers hold it, in one batch."""
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, ROOM)  # noqa: FBT003 - aiokafka's
    for nth, (value, timestamp) in enumerate(zip(values, timestamps, strict=True)):
        builder.append(nth, timestamp=timestamp, key=None, value=value, headers=[])
    raw = offsets[0].to_bytes(8, "big") + bytes(builder.build())[8:]
    return Fetched(raw, ((0, len(raw)),), offsets[0])


def by_python(prepared: list[Batch]) -> list[Decode]:
    """How each batch is decoded there."""
    decoder = Decoder()
    return [partial(decoder.decode, *batch) for batch in prepared]


def by_wheel(prepared: list[Batch]) -> list[Decode]:
    """How each batch is unpacked and decoded there."""
    unpacker = Unpacker(Decoder())
    return [partial(unpacker.columns, packed(*batch)) for batch in prepared]


def measure(given: list[Decode], meters: int) -> tuple[dict[str, float], int, int]:
    """Seconds by stage, readings, and releases."""
    clock, encoder = Clock(), Encoder()
    one, readings, releases = pipeline(meters), 0, 0
    decide = Cohort.decide

    def timed(self: Cohort, branch: Branch, closed: Closed) -> Step | None:
        return clock.of("decide", lambda: decide(self, branch, closed))

    Cohort.decide = timed  # type: ignore[method-assign]
    try:
        for decode in given:
            columns = clock.of("decode", decode)
            if columns is None:
                continue
            readings += len(columns.watts)
            steps = clock.of("windows", lambda c=columns: list(one.feed(c)))  # type: ignore[misc]
            for step in steps:
                releases += len(clock.of("encode", lambda s=step: encoder.encode(s.releases)))  # type: ignore[misc]
            clock.of("position", one.position)
    finally:
        Cohort.decide = decide  # type: ignore[method-assign]
    return clock.seconds, readings, releases


def main(arguments: list[str]) -> int:
    """Print a row per kind of record and size of fleet."""
    parser = argparse.ArgumentParser(prog="python -m simulations.fleet stages")
    parser.add_argument("--readings", type=int, default=2_000_000, help="per row")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small")
    given = parser.parse_args(arguments)
    few, many = (100, 200) if given.quick else (1_000, 20_000)
    print(f"{'nanoseconds per reading':<31}" + "".join(f"{one:>10}" for one in (*STAGES, "sum")))
    for block, meters in ((1, few), (1, many), (30, few), (30, many)):
        steps = max(given.readings // meters, SHORTEST)
        calm = Trouble(bad=0)
        prepared = list(batches(Fleet(meters, steps, BEGIN, block=block, trouble=calm)))
        name = f"{'blocks of 30' if block > 1 else 'readings'}, {meters:,} meters"
        with patch.object(native, "wheel", None):
            tell(name, [measure(by_python(prepared), meters) for _ in range(given.rounds)])
        if native.fits():
            rounds = [measure(by_wheel(prepared), meters) for _ in range(given.rounds)]
            tell("  by the wheel", rounds)
    return 0


def tell(name: str, rounds: list[tuple[dict[str, float], int, int]]) -> None:
    """Print the medians of some rounds."""
    readings, releases = rounds[0][1:]
    nano = [median(r[0][stage] for r in rounds) / readings * 1e9 for stage in STAGES]
    print(f"{name:<31}" + "".join(f"{n:>10.0f}" for n in (*nano, sum(nano))), flush=True)
    each = sum(nano[2:4]) * readings / max(1, releases) / 1000
    print(f"{'':<31}{releases:>10,} windows, of which each took {each:.1f} microseconds")
