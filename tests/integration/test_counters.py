"""Registers through Kafka: what one agent was shown last, the next one counts from."""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.config import Config, load
from tests.files.given import write_key
from tests.integration.test_same_as_files import configured, through_kafka

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration

TABLES = """
[input]
kind = "register"
unit = "Wh"
[agent]
key_file = "noise.key"
commit_interval = "20ms"
max_skew = "1h"
[[policy]]
name = "homes"
window = "15m"
interval = "5m"
maximum = "24kW"
step = "1W"
epsilon = "3000"
budget = "1000000"
grace = "0s"
idle = "3d"
pseudonyms = true
"""
METERS, SLOTS, STEP = 5, 12, 300_000


def shown(begin: int, first: int, last: int) -> list[bytes]:
    """What registers show at the ends of some slots: each meter takes 10 Wh more than the last."""
    return [
        json.dumps(
            {
                "meter_id": f"m-{meter}",
                "ts": begin + slot * STEP,
                "value": 10**6 * meter + 10 * (meter + 1) * slot,
            }
        ).encode()
        for slot in range(first, last)
        for meter in range(METERS)
    ]


async def everything(config: Config, partitions: int) -> list[ConsumerRecord]:
    async with AIOKafkaConsumer(
        bootstrap_servers=list(config.kafka.bootstrap_servers),
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    ) as consumer:
        consumer.assign([TopicPartition(config.kafka.output, p) for p in range(partitions)])
        async with asyncio.timeout(60):
            return [await consumer.getone() for _ in range(METERS * SLOTS // 3)]


def test_an_agent_goes_on_from_the_registers_that_the_last_one_was_shown(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_key(tmp_path)
    (tmp_path / "agent.toml").write_text(configured(kafka, f"registers-{os.getpid()}", TABLES))
    config = load(tmp_path / "agent.toml", {})
    assert main(["topics", "create", "-c", "agent.toml", "--partitions", "2"]) == Exit.OK
    begin = int(time.time() * 1000) // 900_000 * 900_000 - 86_400_000
    half = SLOTS // 2 + 2  # with one that closes the windows before it
    asyncio.run(through_kafka(config, 2, shown(begin, 0, half), METERS * SLOTS // 6))
    asyncio.run(through_kafka(config, 2, shown(begin, half, SLOTS + 2), METERS * SLOTS // 3))

    records = asyncio.run(everything(config, 2))
    found = [json.loads(record.value) for record in records]
    assert {one["status"] for one in found} == {"released"}
    assert {one["readings"] for one in found} == {"all"}
    averages = sorted(one["values"]["avg"] for one in found)
    assert averages == sorted(120.0 * (m + 1) for m in range(METERS) for _ in range(SLOTS // 3))

    called, *_ = config.assigned[0].called(config.agent.noise_key())
    policy = config.policies[0].id.encode()
    assert {record.key.decode() for record in records} == {called(f"m-{m}") for m in range(METERS)}
    assert {record.key.decode() for record in records} == {one["meter_id"] for one in found}
    headers = [("schema", b"meteragent.release/2"), ("policy", policy)]
    assert all([*record.headers] == headers for record in records)
    assert not any(f"m-{m}".encode() in record.value for record in records for m in range(METERS))
    assert main(["check", "-c", "agent.toml"]) == Exit.OK
