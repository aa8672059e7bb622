"""One meter, one account: where senders put a meter, and what becomes of it anywhere else."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from meteragent.stream.homes import Homes
from tests.integration.local_broker import new_topic
from tests.integration.oracle import read
from tests.integration.tight import BUDGET, Tight, blocks, released

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable
    from pathlib import Path

    from tests.integration.fleet import Agent, Fleet

pytestmark = pytest.mark.integration

PARTITIONS = 7
IDS = [*(f"m-{n}" for n in range(60)), "x", "ab", "abc", "äöü", "🏠-17", "שלום", "m" * 128, "M-1 "]


def send(servers: str, topic: str, records: Iterable[tuple[str, bytes]], how: str) -> None:
    """As a program on librdkafka does, set up as `how` says."""
    producer = Producer({"bootstrap.servers": servers, "partitioner": how, "linger.ms": 20})
    for key, value in records:
        producer.produce(topic, value, key=key)
    assert producer.flush(30) == 0


def send_without_keys(servers: str, topic: str, records: Iterable[tuple[str, bytes]]) -> None:
    """To one partition after the other."""
    producer = Producer({"bootstrap.servers": servers})
    for number, (_, value) in enumerate(records):
        producer.produce(topic, value, partition=number % 3)
    assert producer.flush(30) == 0


@pytest.mark.parametrize(
    ("how", "partitioner"),
    [
        ("murmur2", "murmur2"),
        ("murmur2_random", "murmur2"),
        ("consistent", "crc32"),
        ("consistent_random", "crc32"),
        ("fnv1a", "fnv1a"),
        ("fnv1a_random", "fnv1a"),
    ],
)
def test_librdkafka_puts_meters_where_they_are_at_home(
    servers: str, how: str, partitioner: str
) -> None:
    async def scenario() -> None:
        topic = await new_topic(servers, partitions=PARTITIONS)
        await asyncio.to_thread(send, servers, topic, [(i, i.encode()) for i in IDS], how)
        found = {
            record.value.decode(): partition
            for partition in range(PARTITIONS)
            for record in await read(servers, topic, partition)
        }
        homes = Homes(partitioner, PARTITIONS)
        assert found == {meter: homes.of(meter) for meter in IDS}
        assert len(set(found.values())) == PARTITIONS

    asyncio.run(scenario())


async def rejected(agent: Agent) -> int:
    """Records of the wrong partition, as its metrics say."""
    _, text = await agent.shows("/metrics")
    [line] = [line for line in text.splitlines() if 'reason="wrong_partition"' in line]
    return int(float(line.split()[-1]))


WINDOWS = 7
"""Of which the last stays open."""


async def outcome(fleet: Fleet, meters: list[str], *ways: str | None) -> tuple[Counter[str], int]:
    """What comes of senders that choose partitions in these ways; None is without a key."""
    await fleet.create()
    topic = fleet.config.kafka.input
    try:
        agent = await fleet.start()
        await agent.becomes("ready")
        for way in ways:
            if way is None:
                await asyncio.to_thread(
                    send_without_keys, fleet.servers, topic, blocks(meters, WINDOWS)
                )
            else:
                await asyncio.to_thread(send, fleet.servers, topic, blocks(meters, WINDOWS), way)
        await fleet.all_done()
        found = await released(fleet), await rejected(agent)
        await fleet.stop()
    finally:
        await fleet.kill()
    return found


def test_senders_without_keys_get_no_budget_for_each_partition(
    tmp_path: Path, servers: str
) -> None:
    fleet = Tight(tmp_path, servers, partitions=3)

    async def scenario() -> None:
        found, wrong = await outcome(fleet, ["home-1"], None, None)
        assert found.total() <= BUDGET
        assert 0 < wrong < 2 * WINDOWS

    asyncio.run(scenario())


def test_a_second_head_end_with_another_client_gets_no_second_budget(
    tmp_path: Path, servers: str
) -> None:
    fleet = Tight(tmp_path, servers, partitions=3)
    meters = [f"m-{number}" for number in range(12)]
    same = sum(Homes("murmur2", 3).of(meter) == Homes("crc32", 3).of(meter) for meter in meters)

    async def scenario() -> None:
        found, wrong = await outcome(fleet, meters, "murmur2_random", "consistent_random")
        assert found == dict.fromkeys(meters, BUDGET)
        assert wrong == WINDOWS * (len(meters) - same) > 0

    asyncio.run(scenario())


def test_senders_on_librdkafka_as_it_comes_are_taken_if_that_is_said(
    tmp_path: Path, servers: str
) -> None:
    fleet = Tight(tmp_path, servers, partitions=3, kafka='partitioner = "crc32"')
    meters = [f"m-{number}" for number in range(12)]

    async def scenario() -> None:
        found, wrong = await outcome(fleet, meters, "consistent_random")
        assert found == dict.fromkeys(meters, BUDGET)
        assert wrong == 0
        code, said = await fleet.command("check")
        assert code == 0
        assert "readings are taken from the partition that crc32 puts their meter in" in said

    asyncio.run(scenario())
