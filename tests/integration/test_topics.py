"""Topics are made as they must be, refused as they must not be, and followed when they grow."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from meteragent.config import Config, load
from meteragent.config.keyfile import create
from meteragent.errors import TopicsUnfit
from meteragent.kafka import restore, topics
from meteragent.kafka.agent import Agent
from meteragent.kafka.clients import Clients
from meteragent.kafka.migrate import Moved, migrate
from tests.given import read

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration

SENDERS_TIME = {"message_timestamp_type": "CreateTime"}
STAMPED = "--add-config message.timestamp.type=LogAppendTime"
METERS = [f"meter-{i}" for i in range(60)]


@pytest.fixture
def config(tmp_path: Path, kafka: str) -> Config:
    """An agent with topics of its own, and ten-second windows."""
    mark = secrets.token_hex(4)
    create(tmp_path / "noise.key")
    names = "\n".join(
        f'{s} = "{mark}.{s}"'
        for s in ("group", "input", "output", "ledger", "rejected", "policies")
    )
    (tmp_path / "agent.toml").write_text(
        f"""
        [agent]
        key_file = "noise.key"
        commit_interval = "100ms"
        [kafka]
        bootstrap_servers = ["{kafka}"]
        {names}
        [[policy]]
        name = "short"
        window = "10s"
        interval = "10s"
        grace = "0s"
        idle = "0s"
        maximum = "1kW"
        queries = ["avg"]
        epsilon = "1"
        budget = "24"
        """
    )
    return load(tmp_path / "agent.toml", {})


async def alter(config: Config, topic: str, **settings: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=list(config.kafka.bootstrap_servers))
    await admin.start()
    try:
        renamed = {key.replace("_", "."): value for key, value in settings.items()}
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, renamed)])
    finally:
        await admin.close()


async def widen(config: Config, topic: str, partitions: int) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=list(config.kafka.bootstrap_servers))
    await admin.start()
    try:
        await admin.create_partitions({topic: NewPartitions(total_count=partitions)})
    finally:
        await admin.close()


async def refused(config: Config) -> str:
    """What is said of the topics, once the brokers agree on how they stand."""
    for _ in range(50):
        try:
            await topics.refuse_unfit(config, Clients(config.kafka))
        except TopicsUnfit as error:
            return str(error)
        await asyncio.sleep(0.1)
    return "nothing"


def test_topics_that_are_made_are_fit(config: Config) -> None:
    async def scenario() -> None:
        with pytest.raises(TopicsUnfit, match="does not exist; run `meteragent topics create`"):
            await topics.refuse_unfit(config, Clients(config.kafka))
        made = await topics.create(config, Clients(config.kafka), partitions=3, replication=1)
        assert len(made) == 5
        assert await topics.refuse_unfit(config, Clients(config.kafka)) == 3
        assert await topics.create(config, Clients(config.kafka), partitions=3, replication=1) == []

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("stream", "settings", "said"),
    [
        ("ledger", {"cleanup_policy": "delete"}, "what is in it would be deleted"),
        ("input", {"cleanup_policy": "compact"}, "readings would vanish"),
        ("input", {"retention_ms": "5000"}, "keeps records for 5s, open windows need 10s"),
        ("input", SENDERS_TIME, f"run `{{stamp}} {STAMPED}`, or write kafka.trust_timestamps"),
        ("ledger", SENDERS_TIME, f"by which windows close; run `{{stamp}} {STAMPED}`"),
        ("output", {"max_message_bytes": "2000"}, "takes records of 2000 bytes, a release of"),
        ("output", {"message_timestamp_type": "LogAppendTime"}, "=CreateTime"),
        ("output", {"message_timestamp_after_max_ms": "99"}, "may end agent.max_skew ahead"),
        ("ledger", {"max_message_bytes": "1000"}, "takes records of 1000 bytes, an account of"),
    ],
)
def test_settings_that_break_the_promise_are_refused(
    config: Config, stream: str, settings: dict[str, str], said: str
) -> None:
    async def scenario() -> None:
        await topics.create(config, Clients(config.kafka), partitions=1, replication=1)
        await alter(config, getattr(config.kafka, stream), **settings)
        topic = getattr(config.kafka, stream)
        [server] = config.kafka.bootstrap_servers
        stamp = f"kafka-configs.sh --bootstrap-server {server} --alter --topic {topic}"
        assert said.format(stamp=stamp) in await refused(config)

    asyncio.run(scenario())


def test_releases_that_are_deleted_before_their_readings_are_warned_of(config: Config) -> None:
    async def scenario() -> None:
        clients = Clients(config.kafka)
        await topics.create(config, clients, partitions=1, replication=1)
        told, warnings = await topics.lifetimes(clients)
        assert warnings == []
        [line] = told
        assert line.startswith(f"{config.kafka.output}: releases are kept for 14d from the end of")
        await alter(config, config.kafka.input, retention_ms=str(15 * 86_400_000))
        _, ((topic, warning),) = await topics.lifetimes(clients)
        assert topic == config.kafka.output
        assert "kept for 14d from the end of their windows, readings for 15d" in warning
        await alter(config, config.kafka.input, retention_ms="-1")
        _, ((_, warning),) = await topics.lifetimes(clients)
        assert "readings for ever" in warning
        await alter(config, config.kafka.output, retention_ms="-1")
        assert await topics.lifetimes(clients) == ([], [])

    asyncio.run(scenario())


async def write_readings(config: Config, window: int, compression: str | None = None) -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers=list(config.kafka.bootstrap_servers), compression_type=compression
    )
    await producer.start()
    for meter in METERS:
        reading = {"meter_id": meter, "ts": window, "value": 100}
        await producer.send(config.kafka.input, json.dumps(reading).encode(), key=meter.encode())
    await producer.stop()


async def moved(config: Config) -> Moved:
    now = int(time.time() * 1000)
    return await migrate(config, config.agent.noise_key(), Clients(config.kafka), now)


async def run_until(config: Config, releases: int, window: int) -> dict[str, int]:
    """Meter -> partition of the releases of a window, once there are so many releases in all."""
    agent = Agent(config, config.agent.noise_key(), lambda _: None)
    running = asyncio.create_task(agent.run())
    reader = AIOKafkaConsumer(
        config.kafka.output,
        bootstrap_servers=list(config.kafka.bootstrap_servers),
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    )
    await reader.start()
    found: list[ConsumerRecord] = []
    async with asyncio.timeout(60):
        while len(found) < releases:
            for records in (await reader.getmany(timeout_ms=100)).values():
                found += records
    await reader.stop()
    agent.stop()
    await running
    return {
        record.key.decode(): record.partition
        for record in found
        if json.loads(record.value)["window_start"] == window
    }


def test_accounts_follow_their_meters_to_new_partitions(config: Config) -> None:
    async def scenario() -> None:
        kafka = config.kafka
        now = int(time.time()) // 10 * 10_000 - 60_000
        await topics.create(config, Clients(config.kafka), partitions=2, replication=1)
        await write_readings(config, now)
        await run_until(config, len(METERS), now)
        await widen(config, kafka.input, 5)
        assert "run `meteragent ledger migrate`" in await refused(config)

        assert (await moved(config)).accounts > 0
        assert await topics.refuse_unfit(config, Clients(config.kafka)) == 5
        assert await moved(config) == (0, 0, 0)

        now = int(time.time()) // 10 * 10_000  # the old partitions' clocks have come this far
        await write_readings(config, now)
        released_in = await run_until(config, 2 * len(METERS), now)
        kept = [await restore.accounts(Clients(kafka), partition) for partition in range(5)]
        accounts = [one.accounts for one in kept]
        assert sum(map(len, accounts)) == len(METERS)
        assert released_in == {meter: p for p, found in enumerate(accounts) for meter in found}
        terms = config.policies[0].terms
        for found in accounts:
            ledger = read(terms, list(found.values()))
            spent = [sum(ledger.history(account).values()) for account in range(len(found))]
            assert spent == [2 * terms.costs[0]] * len(found)

    asyncio.run(scenario())


@pytest.mark.parametrize("compression", ["gzip", "lz4", "snappy", "zstd"])
def test_readings_may_be_compressed_in_any_way(config: Config, compression: str) -> None:
    async def scenario() -> None:
        await topics.create(config, Clients(config.kafka), partitions=1, replication=1)
        now = int(time.time()) // 10 * 10_000 - 60_000
        await write_readings(config, now, compression)
        assert len(await run_until(config, len(METERS), now)) == len(METERS)

    asyncio.run(scenario())


def test_an_input_whose_senders_are_trusted_is_taken(config: Config) -> None:
    async def scenario() -> None:
        clients = Clients(config.kafka)
        await topics.create(config, clients, partitions=1, replication=1)
        await alter(config, config.kafka.input, message_timestamp_type="CreateTime")
        assert "trust_timestamps" in await refused(config)
        trusting = config.kafka.model_copy(update={"trust_timestamps": True})
        assert await topics.refuse_unfit(config.model_copy(update={"kafka": trusting}), clients)

    asyncio.run(scenario())
