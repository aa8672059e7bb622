"""What files give without Kafka, the same records give through it: release for release, in order.

A file is a partition: meters share its clock, as far as they are silent.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.config import Config, load
from meteragent.kafka.agent import Agent
from meteragent.stream.homes import Homes
from tests.files.given import CONFIGURATION, SHARED, lively, write_key
from tests.files.test_tiers import TIERS
from tests.given import DAY
from tests.integration.test_topics import alter

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.integration

LINES = 1500


def configured(kafka: str, name: str, tables: str) -> str:
    topics = ("group", "input", "output", "ledger", "rejected", "policies")
    names = "\n".join(f'{topic} = "{name}.{topic}"' for topic in topics)
    return f'{tables}[kafka]\nbootstrap_servers = ["{kafka}"]\n{names}\n'


def partition_of(line: bytes, partitions: int) -> int:
    """A meter's records go to its home; a line that names none may go anywhere."""
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        return Homes("murmur2", partitions).of(json.loads(line)["meter_id"])
    return sum(line) % partitions


async def produce(config: Config, partitions: int, lines: list[bytes]) -> None:
    async with AIOKafkaProducer(
        bootstrap_servers=list(config.kafka.bootstrap_servers), acks="all", enable_idempotence=True
    ) as producer:
        for line in lines:
            partition = partition_of(line, partitions)
            await producer.send(config.kafka.input, line, partition=partition)
        await producer.flush()


Published = dict[tuple[int, str], list[tuple[int, bytes]]]
"""Partition and policy -> releases, in their order, with the ends of their windows."""


def through_files(partitions: int, lines: list[bytes], tiers: Sequence[str]) -> Published:
    """All releases of a file for each partition, with one ledger."""
    read: Published = defaultdict(list)
    for number in range(partitions):
        mine = [line for line in lines if partition_of(line, partitions) == number]
        Path(f"{number}.jsonl").write_bytes(b"\n".join(mine))
        out, copies = f"{number}.out", [f"{number}.{tier}" for tier in tiers]
        files = [f"{number}.jsonl", "-o", out, "--ledger", "spend.db"]
        files += (f"--tier={tier}={copy}" for tier, copy in zip(tiers, copies, strict=True))
        assert main(["sanitize", *files, "-c", "agent.toml"]) == Exit.OK
        for name in (out, *copies):
            for text in Path(name).read_bytes().splitlines():
                told = json.loads(text)
                read[number, told["policy"]].append((told["window_end"], text))
    return read


Sender = Callable[[Config, int, list[bytes]], Awaitable[None]]


async def through_kafka(
    config: Config,
    partitions: int,
    lines: list[bytes],
    count: int,
    *,
    send: Sender = produce,
    policy: Callable[[bytes], str] = lambda value: json.loads(value)["policy"],
) -> Published:
    """All releases of an agent that starts when the readings are there, with their times."""
    await send(config, partitions, lines)
    agent = Agent(config, config.agent.noise_key(), lambda _: None)
    running = asyncio.create_task(agent.run())
    consumer = AIOKafkaConsumer(
        bootstrap_servers=list(config.kafka.bootstrap_servers),
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    )
    await consumer.start()
    try:
        outputs = config.kafka.outputs
        consumer.assign([TopicPartition(o, p) for o in outputs for p in range(partitions)])
        found: list[ConsumerRecord] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(60):
                while len(found) < count:
                    found.append(await consumer.getone())
        with suppress(TimeoutError):  # and no more than these
            async with asyncio.timeout(2):
                found.append(await consumer.getone())
        read: Published = defaultdict(list)
        for record in found:
            whose = record.partition, policy(record.value)
            read[whose].append((record.timestamp, record.value))
        return read
    finally:
        await consumer.stop()
        agent.stop()
        await running


@pytest.mark.parametrize(
    ("partitions", "tables"),
    [(1, CONFIGURATION), (3, CONFIGURATION), (2, SHARED), (4, CONFIGURATION + TIERS)],
)
def test_files_give_what_kafka_gives(
    kafka: str, partitions: int, tables: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_key(tmp_path)
    name = f"files-{os.getpid()}-{partitions}"
    text = configured(kafka, name, tables).replace("{research}", f"{name}.research")
    (tmp_path / "agent.toml").write_text(text)
    lines = [line for line in lively(LINES, seed=partitions).splitlines() if line]
    tiers = ("research", "public") if tables.endswith(TIERS) else ()
    expected = through_files(partitions, lines, tiers)
    create = ["topics", "create", "-c", "agent.toml", "--partitions", str(partitions)]
    assert main(create) == Exit.OK

    config = load(tmp_path / "agent.toml", {})
    for output in config.kafka.outputs:  # or brokers delete at once what is released of last year
        asyncio.run(alter(config, output, retention_ms="-1"))
    count = sum(map(len, expected.values()))
    assert count > 200
    read = asyncio.run(through_kafka(config, partitions, lines, count))
    assert read == expected
    if tables is SHARED:
        refuse_overspent([text for its in read.values() for _, text in its], "0.14")


def refuse_overspent(documents: list[bytes], amount: str) -> None:
    """No day of a meter costs more than its account has, whoever asked; and some come near."""
    spent: dict[str, list[tuple[int, Decimal]]] = defaultdict(list)
    policies = set()
    for document in documents:
        told = json.loads(document)
        policies.add(told["policy"])
        cost = sum(map(Decimal, told["epsilon"].values()), Decimal(0))
        spent[told["meter_id"]].append((told["window_start"], cost))
    days = [
        sum(cost for start, cost in its if begin <= start < begin + DAY)
        for its in spent.values()
        for begin, _ in its
    ]
    assert len(policies) == 2
    assert Decimal(amount) * 9 / 10 < max(days) <= Decimal(amount)
