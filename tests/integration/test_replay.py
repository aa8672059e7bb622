"""Simulated televisions in a real Kafka: keyed by meter, in time, as the agent reads them."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.config import Config, load
from meteragent.formats.decoder import Decoder
from meteragent.kafka.agent import Agent
from meteragent.watch.events import BatchTaken
from simulations.tv import replay
from tests.files.given import write_key
from tests.integration.test_same_as_files import configured

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

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


DAY_OF_FILMS = ["--homes", "4", "--hours", "24"]


PATIENCE = 300
"""Seconds in which an agent that has readings to take takes one, however busy the machine is."""


@dataclass
class Watching:
    """What an agent tells of what it took."""

    taken: list[BatchTaken] = field(default_factory=list)

    def hear(self, event: object) -> None:
        if isinstance(event, BatchTaken):
            self.taken.append(event)

    @property
    def accepted(self) -> int:
        return sum(batch.accepted for batch in self.taken)

    async def next_of(self, consumer: AIOKafkaConsumer) -> bytes:
        """One more release, waited for as long as readings are taken."""
        asked, before = asyncio.ensure_future(consumer.getone()), -1
        while not (await asyncio.wait([asked], timeout=PATIENCE))[0]:
            assert self.accepted > before, f"it stands still, after {before} readings"
            before = self.accepted
        return asked.result().value or b""


async def played_to_an_agent(config: Config, played: list[str]) -> tuple[list[bytes], list[bytes]]:
    """What was read and what was released, while an agent runs from the first reading on.

    It ends when every window is released that `sanitize` releases, and says what was late.
    """
    watching = Watching()
    agent = Agent(config, config.agent.noise_key(), watching.hear)
    running = asyncio.create_task(agent.run())
    try:
        arguments = ["--to", "agent", *played, "--speed", "600", "-c", "agent.toml"]
        assert await asyncio.to_thread(replay.main, arguments) == 0
        read = await played_into(config)
        files = await asyncio.to_thread(through_sanitize, read)
        released = await released_by(config, watching, len(files))
    finally:
        agent.stop()
        await running
    assert watching.accepted == len(read)
    assert sum(batch.late + batch.duplicate for batch in watching.taken) == 0
    assert not any(batch.rejects for batch in watching.taken)
    return files, released


@asynccontextmanager
async def reading(config: Config, topic: str) -> AsyncIterator[AIOKafkaConsumer]:
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=list(config.kafka.bootstrap_servers),
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    )
    async with consumer:
        yield consumer


async def played_into(config: Config) -> list[bytes]:
    """All that the input holds, up to its end."""
    found: list[bytes] = []
    async with reading(config, config.kafka.input) as consumer:
        ends = await consumer.end_offsets(consumer.assignment())
        while len(found) < sum(ends.values()):
            found.append((await consumer.getone()).value or b"")
    return found


async def released_by(config: Config, watching: Watching, count: int) -> list[bytes]:
    """So many releases, and what comes besides."""
    async with reading(config, config.kafka.output) as consumer:
        found = [await watching.next_of(consumer) for _ in range(count)]
        while batches := await consumer.getmany(timeout_ms=2000):
            found += [record.value or b"" for some in batches.values() for record in some]
    return found


def through_sanitize(read: list[bytes]) -> list[bytes]:
    """What files release of the same readings; end marks close windows there, too."""
    in_time = sorted(read, key=lambda line: int(json.loads(line)["ts"]))
    Path("in.jsonl").write_bytes(b"\n".join(in_time))
    files = ["in.jsonl", "-o", "out.jsonl", "--ledger", "spend.db"]
    assert main(["sanitize", *files, "-c", "agent.toml"]) == Exit.OK
    return [one for one in Path("out.jsonl").read_bytes().splitlines() if b'"released"' in one]


@pytest.mark.parametrize(
    "played",
    [
        ["--homes", "4", "--hours", "1", "--seed", "4"],
        pytest.param(
            ["--traces", folder] if (folder := os.environ.get("TRACES", "")) else DAY_OF_FILMS,
            id="a-day",
            marks=[pytest.mark.slow, pytest.mark.timeout(3600)],
        ),
    ],
)
def test_an_agent_takes_all_of_a_replay_and_releases_what_files_do(
    played: list[str],
    kafka: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """At 600 times the speed, against a running agent: no reading is late, and no byte differs.

    `TRACES=DIR tests/run --slow tests/integration/test_replay.py` plays recordings of a day.
    """
    monkeypatch.chdir(tmp_path)
    write_key(tmp_path)
    (tmp_path / "agent.toml").write_text(configured(kafka, f"played-{len(played)}", AGENT))
    assert main(["topics", "create", "-c", "agent.toml", "--partitions", "2"]) == Exit.OK
    config = load(tmp_path / "agent.toml", {})
    of_files, released = asyncio.run(played_to_an_agent(config, played))
    assert " 0 late" in capsys.readouterr().err
    whole = [one for one in released if b'"released"' in one]
    assert sorted(whole) == sorted(of_files)
    assert len(whole) >= 16


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
        replay.main(["--to", "agent", "--homes", "4", "--hours", "1", "-c", "agent.toml"])
