"""Simulated televisions in a real Kafka: keyed by meter, in time, as the agent reads them."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.config import Config, load
from meteragent.formats.decoder import Decoder
from meteragent.kafka.agent import Agent
from simulations.tv import replay
from tests.files.given import write_key
from tests.integration.test_same_as_files import configured

if TYPE_CHECKING:
    from pathlib import Path

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


AGENT = """
[agent]
key_file = "noise.key"
commit_interval = "50ms"
[[policy]]
name = "homes"
window = "15m"
interval = "10s"
maximum = "24kW"
epsilon = "1"
budget = "96"
delay = "9d"
"""
PLAYED = ["--homes", "4", "--hours", "1", "--seed", "4", "--speed", "600", "-c", "agent.toml"]


async def played_to_an_agent(config: Config, count: int) -> tuple[list[bytes], list[bytes]]:
    """What was read and what was released, while an agent runs from the first reading on."""
    agent = Agent(config, config.agent.noise_key(), lambda _: None)
    running = asyncio.create_task(agent.run())
    try:
        assert await asyncio.to_thread(replay.main, ["--to", "agent", *PLAYED]) == 0
        servers, kafka = list(config.kafka.bootstrap_servers), config.kafka
        found: list[list[bytes]] = []
        for topic, least in ((kafka.input, 4 * 360 + 4), (kafka.output, count)):
            consumer = AIOKafkaConsumer(
                topic,
                bootstrap_servers=servers,
                isolation_level="read_committed",
                auto_offset_reset="earliest",
            )
            async with consumer:
                got = [await asyncio.wait_for(consumer.getone(), 60) for _ in range(least)]
            found.append([record.value or b"" for record in got])
        return found[0], found[1]
    finally:
        agent.stop()
        await running


def test_an_agent_takes_all_of_a_replay_and_releases_what_files_do(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_key(tmp_path)
    (tmp_path / "agent.toml").write_text(configured(kafka, "played", AGENT))
    assert main(["topics", "create", "-c", "agent.toml", "--partitions", "2"]) == Exit.OK
    config = load(tmp_path / "agent.toml", {})
    read, released = asyncio.run(played_to_an_agent(config, 4 * 4))
    in_time = sorted(read, key=lambda line: int(json.loads(line)["ts"]))
    (tmp_path / "in.jsonl").write_bytes(b"\n".join(in_time))
    files = ["in.jsonl", "-o", "out.jsonl", "--ledger", "spend.db"]
    assert main(["sanitize", *files, "-c", "agent.toml"]) == Exit.OK
    assert " 0 late" in capsys.readouterr().err
    of_files = (tmp_path / "out.jsonl").read_bytes().splitlines()
    assert sorted(released) == sorted(one for one in of_files if b'"released"' in one)
    assert len(released) == 16


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (('delay = "9d"', ""), 'delay: would close windows .* write delay = "[23]d"'),
        (('delay = "9d"', 'presence = "private"'), "presence: its windows close by the clock"),
        (('interval = "10s"', 'interval = "10s"\nmatch = "home-"'), "no .* is for tv-0"),
    ],
)
def test_an_agent_that_would_not_take_all_is_not_played_to(
    change: tuple[str, str], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_key(tmp_path)
    text = configured("localhost:1", "nobody", AGENT).replace(*change)
    (tmp_path / "agent.toml").write_text(text)
    with pytest.raises(SystemExit, match=problem):
        replay.main(["--to", "agent", *PLAYED])
