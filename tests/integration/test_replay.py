"""Simulated televisions in a real Kafka: keyed by meter, in time, as the agent reads them."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from meteragent.formats.decoder import Decoder
from simulations.tv import replay

pytestmark = pytest.mark.integration

HOMES, SLOTS = 3, 6
SENT = ["--to", "kafka", "--homes", f"{HOMES}", "--hours", f"{SLOTS / 360}", "--seed", "4"]


async def create(kafka: str, topic: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, 2, 1)])
    finally:
        await admin.close()


async def everything(kafka: str, topic: str) -> list[tuple[bytes, int, bytes]]:
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=kafka, auto_offset_reset="earliest")
    async with consumer:
        found = [await asyncio.wait_for(consumer.getone(), 30) for _ in range(HOMES * SLOTS)]
    return [(record.key or b"", record.timestamp, record.value or b"") for record in found]


def test_a_replay_is_what_the_agent_reads(kafka: str) -> None:
    asyncio.run(create(kafka, "replay"))
    assert replay.main([*SENT, "--bootstrap", kafka, "--topic", "replay"]) == 0
    keys, timestamps, values = zip(*asyncio.run(everything(kafka, "replay")), strict=True)
    decoded = Decoder().decode(values, range(len(values)), timestamps)
    assert not decoded.rejects
    assert [meter.encode() for meter in decoded.meters] == list(keys)
    assert decoded.times.tolist() == list(timestamps)
    traces = {trace.name: trace for trace in replay.made(4, HOMES, SLOTS / 360, 10)}
    for meter, time, watts in zip(decoded.meters, timestamps, decoded.watts, strict=True):
        trace = traces[meter]
        assert watts == trace.watts[(time - trace.begin) // trace.interval]


def test_a_topic_that_is_not_there_is_named(kafka: str) -> None:
    with pytest.raises(SystemExit, match="no topic nowhere"):
        replay.main([*SENT, "--bootstrap", kafka, "--topic", "nowhere"])
