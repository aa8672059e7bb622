"""Fills a topic with a fleet's records, each meter's in its partition, faster than anybody reads.

    python -m simulations.fleet load BOOTSTRAP TOPIC --meters 100000 --steps 90

Whole record batches are handed to the producer; several processes share the partitions. What
they have sent is asked of the brokers, so the progress that is shown is what there is.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import chain, islice
from multiprocessing import get_context

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError

from simulations.fleet.traffic import Fleet, portions

BATCH_BYTES = 512 * 1024
AT_ONCE = 20_000
LOOK_SECONDS = 1.0
LED_SECONDS, AGAIN_SECONDS = 30.0, 0.1

Records = Iterable[tuple[bytes, bytes, int]]


async def make_topic(bootstrap: str, topic: str, partitions: int, **configs: str) -> None:
    """Make a topic; `cleanup_policy="compact"` etc. Its partitions are led when it is there."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        settings = {name.replace("_", "."): value for name, value in configs.items()}
        answer = await admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=settings)])
    finally:
        await admin.close()
    if any(error[1] for error in answer.topic_errors):
        raise SystemExit(f"topic {topic} cannot be made: {answer.topic_errors}")
    async with asyncio.timeout(LED_SECONDS):
        await _led(bootstrap, [TopicPartition(topic, number) for number in range(partitions)])


async def _led(bootstrap: str, partitions: list[TopicPartition]) -> None:
    """Wait until brokers answer for all of them, which a busy machine takes a while for."""
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap) as asking:
        while True:
            try:
                await asking.end_offsets(partitions)
            except KafkaError:
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                return


async def fill(
    bootstrap: str,
    topic: str,
    fleet: Fleet,
    *,
    processes: int = 2,
    show: Callable[[int, float], None] = lambda _records, _seconds: None,
    compression: str | None = None,
) -> int:
    """Send all of a fleet's records to a topic; answer how many there are in it."""
    begun = time.perf_counter()
    share = [range(first, fleet.partitions, processes) for first in range(processes)]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        work = [
            pool.submit(send_partitions, bootstrap, topic, fleet, some, compression)
            for some in share
        ]
        while not _finished(work):
            await asyncio.sleep(LOOK_SECONDS)
            show(await count(bootstrap, topic, fleet.partitions), time.perf_counter() - begun)
    return await count(bootstrap, topic, fleet.partitions)


def _finished(work: list[Future[None]]) -> bool:
    """Whether all is sent; a failure is raised."""
    return sum(job.done() and job.result() is None for job in work) == len(work)


async def count(bootstrap: str, topic: str, partitions: int) -> int:
    """How many records a topic holds. Precondition: no transactions, no compaction."""
    reader = AIOKafkaConsumer(bootstrap_servers=bootstrap)
    await reader.start()
    try:
        everywhere = [TopicPartition(topic, number) for number in range(partitions)]
        return sum((await reader.end_offsets(everywhere)).values())
    finally:
        await reader.stop()


def send_partitions(
    bootstrap: str, topic: str, fleet: Fleet, partitions: range, compression: str | None
) -> None:
    """Send what the meters of these partitions send."""
    asyncio.run(_send_partitions(bootstrap, topic, fleet, partitions, compression))


async def _send_partitions(
    bootstrap: str, topic: str, fleet: Fleet, partitions: range, compression: str | None
) -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        max_batch_size=BATCH_BYTES,
        enable_idempotence=True,
        compression_type=compression,
    )
    await producer.start()
    try:
        streams = {
            partition: chain.from_iterable(p.records(fleet) for p in portions(fleet, partition))
            for partition in partitions
        }
        while streams:
            for partition, stream in list(streams.items()):
                if some := list(islice(stream, AT_ONCE)):
                    await send(producer, topic, partition, some)
                else:
                    del streams[partition]
    finally:
        await producer.stop()


async def send(producer: AIOKafkaProducer, topic: str, partition: int, records: Records) -> None:
    """Send records in whole batches."""
    futures, batch = [], producer.create_batch()
    for key, value, timestamp in records:
        if batch.append(key=key, value=value, timestamp=timestamp) is None:
            futures.append(await producer.send_batch(batch, topic, partition=partition))
            batch = producer.create_batch()
            batch.append(key=key, value=value, timestamp=timestamp)
    if batch.record_count():
        batch.close()
        futures.append(await producer.send_batch(batch, topic, partition=partition))
    await asyncio.gather(*futures)


def shown(records: int, seconds: float) -> None:
    """Progress, on standard error."""
    print(f"\r{records:>12,} records in {seconds:5.0f} s", end="", file=sys.stderr, flush=True)


def main(arguments: list[str]) -> int:
    """Make a topic and fill it."""
    parser = argparse.ArgumentParser(prog="python -m simulations.fleet load")
    parser.add_argument("bootstrap")
    parser.add_argument("topic", help="which must not exist yet")
    parser.add_argument("--meters", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=360, help="intervals")
    parser.add_argument("--interval", type=int, default=10_000, help="in milliseconds")
    parser.add_argument("--block", type=int, default=1, help="readings per record")
    parser.add_argument("--partitions", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--begin", type=int, help="ms since the epoch; so that all ends now")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args(arguments)
    begin = given.begin or int(time.time() * 1000) - given.steps * given.interval
    fleet = Fleet(
        given.meters,
        given.steps,
        begin,
        interval=given.interval,
        block=given.block,
        partitions=given.partitions,
        seed=given.seed,
    )
    begun = time.perf_counter()

    async def make() -> int:
        await make_topic(given.bootstrap, given.topic, given.partitions)
        return await fill(
            given.bootstrap, given.topic, fleet, processes=given.processes, show=shown
        )

    records = asyncio.run(make())
    seconds = time.perf_counter() - begun
    print(f"\r{records:,} records in {seconds:.1f} s, {records / seconds:,.0f} a second")
    return 0
