"""When an agent that was started again is ready, and when it has caught up: asked of its own pages.

Ready is who runs its partitions; caught up, who has taken in all that was in them when it began.
"""

import asyncio
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer, TopicPartition
from prometheus_client.parser import text_string_to_metric_families

LOOK_SECONDS = 0.1

Samples = dict[tuple[str, ...], float]


@dataclass(frozen=True)
class Back:
    """Seconds since a process began."""

    ready: float
    caught_up: float
    records: float
    """That it had to read for it."""


async def ends(bootstrap: str, topic: str, partitions: int) -> dict[int, int]:
    """Where a topic's partitions end. Precondition: no transactions, whose marks nobody reads."""
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap) as reader:
        found = await reader.end_offsets([TopicPartition(topic, n) for n in range(partitions)])
        return {one.partition: offset for one, offset in found.items()}


async def watched(port: int, wanted: Mapping[int, int], seconds: float, begun: float) -> Back:
    """Watch an agent until it has caught up. SystemExit: it has not within so many seconds."""
    ready = 0.0
    while (now := time.monotonic() - begun) < seconds:
        samples = await asyncio.to_thread(scraped, port)
        if samples.get(("ready",)) and not ready:
            ready = now
        done = {n: samples.get(("partition_processed_offset", str(n)), -1.0) for n in wanted}
        if ready and all(done[partition] >= end for partition, end in wanted.items()):
            return Back(ready, now, samples["records_total",])
        await asyncio.sleep(LOOK_SECONDS)
    raise SystemExit(f"not caught up after {seconds:.0f} s")


def scraped(port: int) -> Samples:
    """What an agent shows now, by name and the values of labels; nothing while it does not."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as page:
            text = page.read().decode()
    except OSError:
        return {}
    return {
        (sample.name.removeprefix("meteragent_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
