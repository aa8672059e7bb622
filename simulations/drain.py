"""How fast a full topic is drained: by what comes out, in one run with what it costs.

Meters' windows end together, so releases come in waves, one wave per window. What lies between
two waves has been read from the input, worked on and committed to the output; what comes before
the first is start-up, and counts for nothing here.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from aiokafka import AIOKafkaConsumer, TopicPartition

from simulations.local_kafka import Broker
from simulations.processes import processor_seconds, resident_bytes

PATIENCE_SECONDS = 90.0
END_SECONDS = 8.0


@dataclass(frozen=True)
class Task:
    """A full topic, and what is to come out of it."""

    broker: Broker
    topic: str
    partitions: int
    wave: int
    """Windows that end together."""
    readings: float
    """Readings per wave."""
    waves: int
    seconds: float = 60.0
    """Longer than this nobody is watched."""


@dataclass(frozen=True)
class Sample:
    """What had come out by when, at what cost so far."""

    clock: float
    processor: float
    broker: float
    windows: int


@dataclass(frozen=True)
class Drained:
    """Readings between two waves, and what they cost."""

    readings: float
    seconds: float
    processor: float
    broker: float
    first: float
    """Seconds from the start of the process to its first release."""
    resident: int

    @property
    def per_second(self) -> float:
        """By the clock."""
        return self.readings / self.seconds

    @property
    def per_processor_second(self) -> float:
        """Of the process and its children; the broker's work is not in it."""
        return self.readings / max(self.processor, 0.01)  # which is how finely it is counted

    @property
    def broker_share(self) -> float:
        """The broker's part of all the work."""
        return self.broker / max(self.broker + self.processor, 0.01)


async def watch(task: Task, output: str, pids: Sequence[int]) -> Drained:
    """Watch processes fill `output`, at read_committed, until they have drained their input."""
    reader = AIOKafkaConsumer(
        bootstrap_servers=task.broker.bootstrap,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    await reader.start()
    try:
        reader.assign([TopicPartition(output, number) for number in range(task.partitions)])
        return await _watch(task, reader, pids)
    finally:
        await reader.stop()


async def _watch(task: Task, reader: AIOKafkaConsumer, pids: Sequence[int]) -> Drained:
    begun, windows, resident = time.monotonic(), 0, 0
    samples = [Sample(begun, 0.0, processor_seconds(task.broker.pid), 0)]
    while windows < task.wave * task.waves:
        found = await reader.getmany(timeout_ms=50)
        now = time.monotonic()
        if count := sum(map(len, found.values())):
            windows += count
            used = sum(map(processor_seconds, pids))
            samples.append(Sample(now, used, processor_seconds(task.broker.pid), windows))
            resident = max(resident, *map(resident_bytes, pids))
        if not windows and now - begun > max(PATIENCE_SECONDS, 3 * task.seconds):
            raise SystemExit(f"nothing comes out of {task.topic}: see the log")
        if windows and now - samples[1].clock > task.seconds:
            break
        if windows and now - samples[-1].clock > max(END_SECONDS, task.seconds / 2):
            break
    return _between_waves(task, samples, samples[1].clock - begun, resident)


def _between_waves(task: Task, samples: list[Sample], first: float, resident: int) -> Drained:
    """From the first sample that holds most of a wave to the last that does.

    The last wave of all is left out where there are others: the wall clock closes it, later.
    """

    def wave(sample: Sample) -> int:
        return round(sample.windows / task.wave + 0.4)

    settled = [s for s in samples[1:] if 1 <= wave(s) < task.waves] or samples[:1]
    if wave(settled[-1]) == wave(settled[0]):
        if samples[-1].windows < task.wave:
            raise SystemExit(f"{samples[-1].windows} windows are not one wave: watch for longer")
        settled = samples  # drained at once: so start-up is in it
    begin = settled[0]
    end = next(s for s in settled if wave(s) == wave(settled[-1]))
    return Drained(
        readings=(wave(end) - wave(begin)) * task.readings,
        seconds=end.clock - begin.clock,
        processor=end.processor - begin.processor,
        broker=end.broker - begin.broker,
        first=first,
        resident=resident,
    )


def middle(rounds: Sequence[Drained]) -> Drained:
    """The round whose rate per second of the processor is the median."""
    ordered = sorted(rounds, key=lambda one: one.per_processor_second)
    return ordered[len(ordered) // 2]


def ratio(ones: Sequence[Drained], others: Sequence[Drained]) -> float:
    """The median over rounds of how many times as fast per second of the processor."""
    pairs = zip(ones, others, strict=True)
    return median(a.per_processor_second / b.per_processor_second for a, b in pairs)


def run(task: Task, output: str, pids: Sequence[int]) -> Drained:
    """`watch`, for those who are not in a loop."""
    return asyncio.run(watch(task, output, pids))


def tail(log: Path, lines: int = 12) -> str:
    """The end of what a process said."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
