"""One process and very many meters: memory, rebuild from Kafka, and the longest pause.

Three measurements, each against what it must be compared with in the same run:

memory    resident bytes per meter, windows, accounts and names included
restore   the ledger read back into a pipeline, against a bare read of the same topic
pause     the longest time the event loop did not turn while windows of 100,000 meters closed
"""

import asyncio
import gc
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from meteragent.config.kafka import Kafka
from meteragent.formats.encoder import Encoder
from meteragent.kafka import restore
from meteragent.kafka.clients import Clients
from meteragent.kafka.outbox import Record, send
from meteragent.privacy.domain import Domain
from meteragent.privacy.entropy import NoiseKey
from meteragent.privacy.policy import Policy
from meteragent.privacy.question import per_watt, question
from meteragent.stream.pipeline import Assigned, Pipeline
from meteragent.stream.readings import Readings

INTERVAL = 10_000
WINDOW = 900_000
KEY = NoiseKey(bytes(range(32)))
AT_ONCE = 5_000


def household_policy() -> Policy:
    """Fifteen-minute windows of 10 s readings, three queries, a budget for a day."""
    return Policy(
        domain=Domain(0, 24_000, 10),
        questions=tuple(question(name, 1, 100) for name in ("avg", "median", "p95")),
        size=WINDOW,
        interval=INTERVAL,
        hop=WINDOW,
        grace=30_000,
        idle=300_000,
        budget=per_watt("budget", 3 * 96, 100),
        horizon=86_400_000,
    )


def pipeline(meters: int) -> Pipeline:
    """An empty one for so many meters."""
    return Pipeline(
        [Assigned("", "all", household_policy())], KEY, max_skew=10_000, max_meters=meters
    )


def rounds(meters: int, begin: int, count: int, seed: int) -> Iterator[Readings]:
    """Every meter's reading, `count` times over, in batches as Kafka would give them."""
    draw = np.random.default_rng(seed)
    names = [f"meter-{i:07d}" for i in range(meters)]
    offset = 0
    for nth in range(count):
        for low in range(0, meters, AT_ONCE):
            some = names[low : low + AT_ONCE]
            size = len(some)
            yield Readings(
                meters=some,
                offsets=np.arange(offset, offset + size),
                timestamps=np.full(size, begin + nth * INTERVAL + INTERVAL),
                counts=np.ones(size, dtype=np.int64),
                starts=begin + nth * INTERVAL + draw.integers(0, INTERVAL, size),
                intervals=np.ones(size, dtype=np.int64),
                watts=draw.integers(0, 3000, size).astype(np.float64),
                rejects=[],
                next_offset=offset + size,
            )
            offset += size


@dataclass(frozen=True)
class Memory:
    """What meters take."""

    meters: int
    bytes_per_meter: float
    seconds: float


def memory(meters: int) -> Memory:
    """Feed every meter once, and see how much larger the process has become."""
    gc.collect()
    before, begun = _resident(), time.perf_counter()
    one = pipeline(meters)
    for batch in rounds(meters, 0, 1, seed=1):
        for _ in one.feed(batch):
            pass
    gc.collect()
    return Memory(meters, (_resident() - before) / meters, time.perf_counter() - begun)


@dataclass(frozen=True)
class Restore:
    """How long a ledger takes to come back."""

    meters: int
    bare_seconds: float
    seconds: float

    @property
    def ratio(self) -> float:
        """How many bare reads it takes."""
        return self.seconds / self.bare_seconds


async def measure_restore(bootstrap: str, meters: int, repeats: int = 3) -> Restore:
    """Write an account of each meter to a ledger topic; read it bare, then restore it."""
    kafka = Kafka.model_validate({"bootstrap_servers": [bootstrap], "ledger": "scale.ledger"})
    await _make(bootstrap, kafka.ledger)
    await _write_accounts(kafka, meters)
    bare, whole = [], []
    for _ in range(repeats):
        bare.append(await _timed_bare_read(kafka))
        begun = time.perf_counter()
        accounts, *_ = await restore.accounts(Clients(kafka), 0)
        one = pipeline(meters)
        await asyncio.to_thread(one.restore, accounts)
        whole.append(time.perf_counter() - begun)
        assert len(accounts) == meters  # noqa: S101 - or the measurement means nothing
        del accounts, one
    return Restore(meters, float(np.median(bare)), float(np.median(whole)))


async def _write_accounts(kafka: Kafka, meters: int) -> None:
    """As an agent would: one reading per meter, whose windows the clock then closes."""
    one = pipeline(meters)
    clients = Clients(kafka)
    writer = clients.producer("scale-writer")
    await writer.start()
    await writer.begin_transaction()
    for batch in rounds(meters, 0, 1, seed=2):
        for _ in one.feed(batch):
            pass
    for step in one.tick(3 * WINDOW):
        records = [Record(meter.encode(), account) for meter, account in step.accounts]
        await asyncio.gather(*await send(writer, kafka.ledger, 0, records))
    await writer.commit_transaction()
    await clients.close(writer)


async def _timed_bare_read(kafka: Kafka) -> float:
    """Every byte of the topic through the same client, and nothing done with it."""
    begun = time.perf_counter()
    clients = Clients(kafka)
    reader = clients.consumer()
    ledger = TopicPartition(kafka.ledger, 0)
    await reader.start()
    reader.assign([ledger])
    await reader.seek_to_beginning(ledger)
    end = (await reader.end_offsets([ledger]))[ledger]
    while await reader.position(ledger) < end:
        await reader.getmany(ledger, timeout_ms=1000, max_records=5000)
    await clients.close(reader)
    return time.perf_counter() - begun


@dataclass(frozen=True)
class Pause:
    """How smoothly the loop turned."""

    windows: int
    longest_seconds: float
    seconds: float


async def measure_pause(meters: int) -> Pause:
    """Close a window of every meter at once, as the worker does, and watch the loop."""
    one, encoder = pipeline(meters), Encoder()
    for batch in rounds(meters, 0, 3, seed=3):
        for _ in one.feed(batch):
            pass
    watch = LoopWatch()
    watching = asyncio.create_task(watch.run())
    await asyncio.sleep(0.05)
    begun, windows = time.perf_counter(), 0
    for step in one.tick(3 * WINDOW):
        windows += len(encoder.encode(step.releases))
        await asyncio.sleep(0)
    seconds = time.perf_counter() - begun
    watching.cancel()
    await asyncio.wait([watching])
    return Pause(windows, watch.longest, seconds)


class LoopWatch:
    """Sees how long the event loop takes to come round."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def run(self) -> None:
        """Watch until cancelled."""
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0)
            now = time.perf_counter()
            self.longest, last = max(self.longest, now - last), now


async def _make(bootstrap: str, topic: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(topic, 1, 1)])
    await admin.close()


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
