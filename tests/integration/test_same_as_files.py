"""What files give without Kafka, the same records give through it: release for release.

A file is a partition: meters share its clock, as far as they are silent.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from meteragent.cli import main
from meteragent.commands.exits import Exit
from meteragent.config import Config, load
from meteragent.kafka.agent import Agent
from tests.files.given import CONFIGURATION, lively, write_key

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = pytest.mark.integration

LINES = 1500


def configured(kafka: str, name: str) -> str:
    topics = ("group", "input", "output", "ledger", "rejected", "policies")
    names = "\n".join(f'{topic} = "{name}.{topic}"' for topic in topics)
    return f'{CONFIGURATION}[kafka]\nbootstrap_servers = ["{kafka}"]\n{names}\n'


def per_meter(documents: Iterable[bytes]) -> dict[str, list[bytes]]:
    found = defaultdict(list)
    for document in documents:
        found[json.loads(document)["meter_id"]].append(document)
    return found


def partition_of(line: bytes, partitions: int) -> int:
    """A meter's records stay together; a line that names none may go anywhere."""
    meter = line.partition(b'"meter_id": ')[2].partition(b",")[0]
    return sum(meter) % partitions


async def produce(config: Config, partitions: int, lines: list[bytes]) -> None:
    async with AIOKafkaProducer(
        bootstrap_servers=list(config.kafka.bootstrap_servers), acks="all", enable_idempotence=True
    ) as producer:
        for line in lines:
            partition = partition_of(line, partitions)
            await producer.send(config.kafka.input, line, partition=partition)
        await producer.flush()


def through_files(partitions: int, lines: list[bytes]) -> list[bytes]:
    """All releases of a file for each partition, with one ledger."""
    read = []
    for number in range(partitions):
        mine = [line for line in lines if partition_of(line, partitions) == number]
        Path(f"{number}.jsonl").write_bytes(b"\n".join(mine))
        out = f"{number}.out"
        files = [f"{number}.jsonl", "-o", out, "--ledger", "spend.db"]
        assert main(["sanitize", *files, "-c", "agent.toml"]) == Exit.OK
        read += Path(out).read_bytes().splitlines()
    return read


async def through_kafka(
    config: Config, partitions: int, lines: list[bytes], count: int
) -> list[bytes]:
    """All releases of an agent that starts when the readings are there."""
    await produce(config, partitions, lines)
    agent = Agent(config, config.agent.noise_key(), lambda _: None)
    running = asyncio.create_task(agent.run())
    consumer = AIOKafkaConsumer(
        bootstrap_servers=list(config.kafka.bootstrap_servers),
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    )
    await consumer.start()
    try:
        consumer.assign([TopicPartition(config.kafka.output, p) for p in range(partitions)])
        read: list[bytes] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(60):
                while len(read) < count:
                    read.append((await consumer.getone()).value)
        with suppress(TimeoutError):  # and no more than these
            async with asyncio.timeout(2):
                read.append((await consumer.getone()).value)
        return read
    finally:
        await consumer.stop()
        agent.stop()
        await running


@pytest.mark.parametrize("partitions", [1, 3])
def test_files_give_what_kafka_gives(
    kafka: str, partitions: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_key(tmp_path)
    (tmp_path / "agent.toml").write_text(configured(kafka, f"files-{os.getpid()}-{partitions}"))
    lines = [line for line in lively(LINES, seed=partitions).splitlines() if line]
    expected = through_files(partitions, lines)
    create = ["topics", "create", "-c", "agent.toml", "--partitions", str(partitions)]
    assert main(create) == Exit.OK

    config = load(tmp_path / "agent.toml", {})
    read = asyncio.run(through_kafka(config, partitions, lines, len(expected)))
    assert len(expected) > 200
    assert per_meter(read) == per_meter(expected)
