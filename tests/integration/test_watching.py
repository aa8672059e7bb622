"""The agent as operators see it: what it exports under load, and what its probes say in trouble."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from random import sample
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from prometheus_client.parser import text_string_to_metric_families

from meteragent.config import keyfile
from meteragent.stream.homes import Homes
from tests.integration.fleet import QUICK, Agent, Fleet
from tests.watch.browse import get

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.integration.local_broker import Broker

pytestmark = pytest.mark.integration

HOMES = Homes("murmur2", 2)
MINUTE, DAY = 60_000, 86_400_000
METERS = 40
MINUTES = 30
JUNK = 17
CONFIG = """
[agent]
key_file = "noise.key"
max_skew = "30d"
commit_interval = "100ms"

[kafka]
bootstrap_servers = "{servers}"
group = "{name}"
input = "{name}-in"
output = "{name}-out"
ledger = "{name}-ledger"
rejected = "{name}-rejected"
policies = "{name}-policies"

[http]
port = 0

[[policy]]
name = "household"
window = "1m"
interval = "10s"
idle = "2h"
maximum = "24kW"
queries = ["avg", {{ query = "p95", epsilon = "0.5" }}]
epsilon = "1"
radius = "200W"
budget = "15"
horizon = "20m"
"""

QUOTA = ("tool", "configs", "--alter", "--entity-type", "clients", "--entity-name", "meteragent")

Samples = dict[tuple[str, ...], float]


@dataclass
class Watched(Fleet):
    """With one policy, whose figures are easy to foretell."""

    def write(self) -> None:
        self.file.write_text(CONFIG.format(servers=self.servers, name=self.name))
        keyfile.create(self.directory / "noise.key")


async def scraped(agent: Agent) -> Samples:
    """Every series by name and label values."""
    status, body = await agent.shows("/metrics")
    assert status == 200
    return {
        (sample.name.removeprefix("meteragent_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(body)
        for sample in family.samples
    }


async def probe(agent: Agent, path: str) -> int:
    """The code that a probe gets, or 0 where it has waited for a second."""
    try:
        async with asyncio.timeout(1):
            return (await get(str(agent.said("listening")[0]["address"]), path)).status
    except TimeoutError:
        return 0


async def to_the_end(fleet: Fleet, scenario: Awaitable[None]) -> None:
    """Leave no process behind."""
    try:
        await scenario
    finally:
        await fleet.kill()


async def until(holds: Callable[[], Awaitable[bool]], seconds: float = 40) -> None:
    async with asyncio.timeout(seconds):
        while not await holds():  # noqa: ASYNC110 - it is another process that is waited for
            await asyncio.sleep(0.1)


async def comes(agent: Agent, path: str, code: int) -> None:
    """Wait until a probe gets this code."""
    codes: Counter[int] = Counter()

    async def has_come() -> bool:
        codes[last := await probe(agent, path)] += 1
        return last == code

    try:
        await until(has_come)
    except TimeoutError:
        pytest.fail(f"{path} did not come to {code}, but to {dict(codes)}")


async def produce(fleet: Fleet) -> None:
    """Blocks of the last minutes, each with an empty slot, and a few records that are none."""
    begin = (int(time.time() * 1000) // MINUTE - MINUTES) * MINUTE
    async with AIOKafkaProducer(bootstrap_servers=fleet.servers, acks="all") as producer:
        for minute in range(MINUTES):
            for meter in range(METERS):
                document = {
                    "meter_id": f"m-{meter}",
                    "start": begin + minute * MINUTE,
                    "interval_ms": 10_000,
                    "values": [10 * meter, 20, 30, 40, 50, None],
                }
                value = json.dumps(document).encode()
                await producer.send(fleet.config.kafka.input, value, key=f"m-{meter}".encode())
        for _ in range(JUNK):
            await producer.send(fleet.config.kafka.input, b"{", partition=0)
        await producer.flush()


async def published(fleet: Fleet, count: int) -> list[dict[str, Any]]:
    consumer = AIOKafkaConsumer(
        fleet.config.kafka.output,
        bootstrap_servers=fleet.servers,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    found: list[dict[str, Any]] = []
    await consumer.start()
    try:
        async with asyncio.timeout(30):
            while len(found) < count:
                for records in (await consumer.getmany(timeout_ms=500)).values():
                    found += [json.loads(record.value) for record in records]
    finally:
        await consumer.stop()
    return found


def test_what_is_scraped_is_what_was_published(kafka: str, tmp_path: Path) -> None:
    fleet = Watched(tmp_path, kafka, partitions=3)

    async def scenario() -> None:
        await fleet.create()
        agent = await fleet.start()
        await agent.becomes("ready")
        producing = asyncio.create_task(produce(fleet))
        records, windows = METERS * MINUTES, METERS * (MINUTES - 1)  # the last ones stay open
        before: Samples = {}

        async def all_closed() -> bool:
            nonlocal before
            now = await scraped(agent)
            falling = [key for key in before if "_total" in key[0] and now[key] < before[key]]
            assert not falling
            before = now
            return now["windows_closed_total", "household"] == windows

        await until(all_closed, 60)
        await producing
        await fleet.all_done()
        await asyncio.sleep(1.5)  # lags are asked for once a second
        found, releases = await scraped(agent), await published(fleet, windows)
        status = json.loads((await agent.shows("/status.json"))[1])

        assert len(releases) == windows
        assert found["records_total",] == records + JUNK
        assert found["readings_total", "accepted"] == 5 * records
        assert found["rejects_total", "not_json"] == JUNK
        assert sum(n for key, n in found.items() if key[0] == "rejects_total") == JUNK
        by_status = Counter(release["status"] for release in releases)
        assert by_status["suppressed"] > 0
        assert found["windows_released_total", "household"] == by_status["released"]
        assert found["windows_suppressed_total", "household", "budget"] == by_status["suppressed"]
        for query, epsilon in (("avg", 1), ("p95", 0.5)):
            answers = [release for release in releases if query in release["values"]]
            assert found["released_total", "household", query] == len(answers)
            spent = found["epsilon_spent_total", "household", query]
            assert spent == pytest.approx(epsilon * len(answers))
        assert found["meters", "household"] == found["windows_open", "household"] == METERS
        assert found["partitions", "running"] + found["partitions", "committing"] == 3
        assert [found["partition_lag_records", str(p)] for p in range(3)] == [0, 0, 0]
        assert found["transactions_total", "abandoned"] == 0
        assert found["transactions_total", "committed"] > 0
        assert found["release_delay_seconds_count", "household"] > 0
        assert found["process_resident_memory_bytes",] > 0
        assert status["state"]["word"] == "running"
        assert status["policies"][0]["windows"]["closed"] == windows
        await fleet.stop()

    asyncio.run(to_the_end(fleet, scenario()))


async def trickle(fleet: Fleet) -> None:
    """A window of another meter closes, again and again."""
    async with AIOKafkaProducer(bootstrap_servers=fleet.servers) as producer:
        for meter in (n for n in count() if HOMES.of(f"m-{n}") == 0):
            for ago in (MINUTE, 0):  # the later one closes the window of the earlier one
                time_ms = int(time.time() * 1000) - ago
                reading = {"meter_id": f"m-{meter}", "ts": time_ms, "value": 1}
                value = json.dumps(reading).encode()
                await producer.send(fleet.config.kafka.input, value, partition=0)
            await asyncio.sleep(0.2)


def test_releases_of_a_replay_that_kafka_deletes_at_once_are_said(
    kafka: str, tmp_path: Path
) -> None:
    """Three windows of twenty days ago, where releases are kept for fourteen, and two of today."""
    fleet = Watched(tmp_path, kafka, partitions=1)
    now = int(time.time() * 1000) // MINUTE * MINUTE

    async def scenario() -> None:
        await fleet.create()
        code, said = await fleet.command("check")
        assert code == 0, said
        assert f"{fleet.config.kafka.output}: releases are kept for 14d from the end" in said
        agent = await fleet.start()
        async with AIOKafkaProducer(bootstrap_servers=kafka) as producer:
            for begin in (*(now - 20 * DAY + n * MINUTE for n in range(3)), now - 9 * MINUTE, now):
                times = {"start": begin, "interval_ms": 10_000}
                value = json.dumps({"meter_id": "m", **times, "values": [5] * 6}).encode()
                await producer.send_and_wait(fleet.config.kafka.input, value, key=b"m")
        await fleet.all_done()
        assert (await scraped(agent))["releases_outlived_total",] == 3
        lines = [line for line in agent.lines() if line["event"].startswith("releases are deleted")]
        assert [(line["level"], line["releases"]) for line in lines] == [("warning", 3)]
        await fleet.stop()

    asyncio.run(to_the_end(fleet, scenario()))


def free_pair() -> int:
    """The first of two ports that are free, below those that the kernel gives to clients."""
    for first in sample(range(12_000, 30_000), 100):
        ends = [("127.0.0.1", port) for port in (first, first + 1)]
        with suppress(OSError), socket.create_server(ends[0]), socket.create_server(ends[1]):
            return first
    pytest.fail("no two ports are free")


def test_the_probes_tell_trouble_and_its_end(broker: Broker, tmp_path: Path) -> None:
    port = free_pair()
    servers = f"127.0.0.1:{port}"
    deadline = 'progress_deadline = "3s"'
    fleet = Fleet(tmp_path, servers, partitions=2, agent=deadline, name="watched")

    async def call(*arguments: str) -> None:
        await asyncio.to_thread(broker, *arguments)

    async def scenario() -> None:
        # The topics are there, but no broker yet: it lives, but it is not ready.
        await call("start", "--port", str(port), *QUICK)
        await fleet.create()
        await call("stop", "--keep")
        agent = await fleet.start()
        await agent.says("listening")
        assert await probe(agent, "/healthz") == 200
        assert await probe(agent, "/readyz") == 503
        assert (await scraped(agent))["ready",] == 0

        # The broker comes.
        await call("start", "--port", str(port), *QUICK)
        await comes(agent, "/readyz", 200)
        await comes(agent, "/healthz", 200)

        # The process is stopped, one thread after the other: nobody answers, until it goes on.
        agent.signal(signal.SIGSTOP)
        await comes(agent, "/healthz", 0)
        agent.signal(signal.SIGCONT)
        await comes(agent, "/healthz", 200)
        await comes(agent, "/readyz", 200)

        # The broker says nothing.
        await call("freeze", "1")
        await comes(agent, "/healthz", 503)
        await call("thaw", "1")
        await comes(agent, "/healthz", 200)
        await comes(agent, "/readyz", 200)

        # The broker is gone.
        await call("kill", "1")
        await comes(agent, "/healthz", 503)
        await comes(agent, "/readyz", 503)
        await call("restart", "1")
        await comes(agent, "/readyz", 200)
        await comes(agent, "/healthz", 200)

        # The broker answers, and lets what writes much wait: so does a commit.
        await call(*QUOTA, "--add-config", "producer_byte_rate=5")
        trickling = asyncio.create_task(trickle(fleet))
        await comes(agent, "/healthz", 503)
        assert (await agent.shows("/readyz"))[0] == 200
        trickling.cancel()
        await call(*QUOTA, "--delete-config", "producer_byte_rate")
        await comes(agent, "/healthz", 200)

    asyncio.run(to_the_end(fleet, scenario()))


def test_a_transaction_upstream_that_hangs_is_said(kafka: str, tmp_path: Path) -> None:
    """A gateway that writes in transactions dies within one; others' readings stand behind it."""
    fleet = Watched(tmp_path, kafka, partitions=1)

    async def scenario() -> None:
        await fleet.create()
        agent = await fleet.start()
        await agent.becomes("ready")
        topic = fleet.config.kafka.input
        reading = b'{"meter_id": "m-1", "ts": 1763424000000, "value": 400}'
        hanging = AIOKafkaProducer(bootstrap_servers=kafka, transactional_id=f"{topic}-gateway")
        other = AIOKafkaProducer(bootstrap_servers=kafka)
        await hanging.start()
        await other.start()
        try:
            await hanging.begin_transaction()
            await hanging.send_and_wait(topic, reading, partition=0)
            for _ in range(20):
                await other.send_and_wait(topic, reading, partition=0)

            async def is_said() -> bool:
                found = await scraped(agent)
                return found.get(("partition_blocked_records", "0"), 0) == 21

            await until(is_said)
            found = await scraped(agent)
            assert found["partition_lag_records", "0"] == 21
            before = found["partition_blocked_seconds", "0"]
            await asyncio.sleep(2.5)
            assert (await scraped(agent))["partition_blocked_seconds", "0"] >= before + 1
            await hanging.abort_transaction()

            async def is_over() -> bool:
                found = await scraped(agent)
                return not found["partition_lag_records", "0"]

            await until(is_over)
            found = await scraped(agent)
            assert found["partition_blocked_seconds", "0"] == 0
            assert found["records_total",] == 20
        finally:
            await hanging.stop()
            await other.stop()
        await fleet.stop()

    asyncio.run(to_the_end(fleet, scenario()))
