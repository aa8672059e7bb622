"""The broker that all other integration tests stand on."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaConnectionError, TopicAuthorizationFailedError
from aiokafka.helpers import create_ssl_context

from tests.integration.local_broker import NOT_RUNNING, UNAVAILABLE, new_topic

if TYPE_CHECKING:
    from tests.integration.local_broker import Broker

pytestmark = pytest.mark.integration


async def produce(bootstrap: str, topic: str, *values: bytes, **options: object) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all", **options) as producer:
        for value in values:
            await producer.send_and_wait(topic, value)


async def consume(bootstrap: str, topic: str, count: int, **options: object) -> list[bytes]:
    """Read the first values, or as many as are there after ten seconds."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap, auto_offset_reset="earliest", **options
    )
    try:  # `async with` would leak a consumer whose start fails
        await consumer.start()
        consumer.assign([TopicPartition(topic, 0)])
        read: list[bytes] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(10):
                while len(read) < count:
                    read.append((await consumer.getone()).value)
        return read
    finally:
        await consumer.stop()


async def round_trip(bootstrap: str, topic: str, **options: object) -> list[bytes]:
    await produce(bootstrap, topic, b"there", b"back", **options)
    return await consume(bootstrap, topic, 2, **options)


def test_what_is_produced_is_consumed(kafka: str) -> None:
    async def scenario() -> list[bytes]:
        return await round_trip(kafka, await new_topic(kafka))

    assert asyncio.run(scenario()) == [b"there", b"back"]


def test_only_committed_transactions_are_read(kafka: str) -> None:
    async def scenario() -> list[bytes]:
        topic = await new_topic(kafka)
        async with AIOKafkaProducer(
            bootstrap_servers=kafka, transactional_id=f"{topic}-0"
        ) as producer:
            for value, keep in ((b"1", True), (b"2", False), (b"3", True)):
                await producer.begin_transaction()
                await producer.send_and_wait(topic, value)
                await (producer.commit_transaction() if keep else producer.abort_transaction())
        return await consume(kafka, topic, 2, isolation_level="read_committed")

    assert asyncio.run(scenario()) == [b"1", b"3"]


def test_start_is_idempotent_and_stop_leaves_nothing(broker: Broker) -> None:
    first = broker("start")
    assert broker("start") == first
    assert broker("status") == first | {"broker_1": "running"}
    assert broker.run("start", "--tls").returncode == 1  # not what runs there

    broker("stop")
    assert broker.run("status").returncode == NOT_RUNNING
    assert {path.name for path in broker.directory.iterdir()} == {"lock"}
    broker("stop")


def test_stop_can_keep_the_data(broker: Broker) -> None:
    address = broker("start")["bootstrap"]
    topic = asyncio.run(new_topic(address))
    asyncio.run(produce(address, topic, b"kept"))

    broker("stop", "--keep")
    assert broker.run("status").returncode == NOT_RUNNING
    assert broker("start")["bootstrap"] == address
    assert asyncio.run(consume(address, topic, 1)) == [b"kept"]


def test_a_process_that_took_over_the_number_is_left_alone(broker: Broker) -> None:
    broker("start")
    pid = broker.directory / "broker-1" / "pid"
    ours = pid.read_text()
    pid.write_text(str(os.getpid()))
    assert broker.run("status").returncode == NOT_RUNNING
    broker("kill", "1")  # would have ended this very test

    pid.write_text(ours)
    broker("status")


def listening_where_nobody_else_goes() -> socket.socket:
    """Beside the ports that brokers draw, and below those that systems give to whoever connects.

    One of the latter would be anybody's as soon as it is let go.
    """
    for port in random.sample(range(30_001, 32_000), 100):
        with suppress(OSError):
            return socket.create_server(("127.0.0.1", port))
    raise AssertionError("a hundred ports are taken")


def test_a_port_and_a_setting_can_be_chosen(broker: Broker) -> None:
    with listening_where_nobody_else_goes() as taken:
        port = taken.getsockname()[1]
        refused = broker.run("start", "--port", str(port))
        assert refused.returncode == 1
        assert f"port {port} is taken" in refused.stderr

    started = broker("start", "--port", str(port), "--set", "message.max.bytes=4321")
    assert started["bootstrap"] == f"127.0.0.1:{port}"
    shown = broker.run("tool", "configs", "--describe", "--broker", "1", "--all").stdout
    assert "message.max.bytes=4321" in shown


def test_a_broker_that_cannot_start_says_why(broker: Broker) -> None:
    refused = broker.run("start", "--set", "log.segment.bytes=1")
    assert refused.returncode == 1
    assert "log.segment.bytes" in refused.stderr


def test_a_machine_without_java_and_docker_is_told_what_to_install(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "python3").symlink_to(sys.executable)
    with monkeypatch.context() as bare:
        bare.setenv("PATH", str(tmp_path))
        refused = broker.run("start")
    assert refused.returncode == UNAVAILABLE
    assert "Install Java" in refused.stderr


def test_tls_and_sasl(broker: Broker) -> None:
    started = broker("start", "--tls", "--sasl")
    secrets = {user: Path(started[f"{user}_password_file"]) for user in ("admin", "guest")}
    assert {stat.S_IMODE(path.stat().st_mode) for path in secrets.values()} == {0o600}
    trusting = create_ssl_context(cafile=started["ca"])
    known = create_ssl_context(
        cafile=started["ca"], certfile=started["client_crt"], keyfile=started["client_key"]
    )

    def sasl(user: str, mechanism: str) -> dict[str, Any]:
        password = secrets[user].read_text()
        return {
            "sasl_mechanism": mechanism,
            "sasl_plain_username": user,
            "sasl_plain_password": password,
        }

    async def scenario() -> None:
        topic = await new_topic(started["bootstrap"])
        await produce(started["bootstrap"], topic, b"there", b"back")
        expected = [b"there", b"back"]

        tls: dict[str, Any] = {"security_protocol": "SSL", "ssl_context": trusting}
        assert await consume(started["ssl"], topic, 2, **tls) == expected
        mutual = tls | {"ssl_context": known}
        assert await consume(started["mtls"], topic, 2, **mutual) == expected
        with pytest.raises(KafkaConnectionError):
            await consume(started["mtls"], topic, 2, **tls)

        for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
            clear: dict[str, Any] = {"security_protocol": "SASL_PLAINTEXT"}
            clear |= sasl("admin", mechanism)
            assert await consume(started["sasl_plaintext"], topic, 2, **clear) == expected
            both: dict[str, Any] = {"security_protocol": "SASL_SSL", "ssl_context": trusting}
            both |= sasl("admin", mechanism)
            assert await consume(started["sasl_ssl"], topic, 2, **both) == expected
            with pytest.raises(TopicAuthorizationFailedError):
                await produce(
                    started["sasl_plaintext"], topic, b"no", **clear | sasl("guest", mechanism)
                )

    asyncio.run(scenario())


def test_three_brokers_survive_the_loss_of_one(broker: Broker) -> None:
    address = broker("start", "--brokers", "3")["bootstrap"]
    assert address.count(",") == 2

    async def scenario() -> list[bytes]:
        topic = await new_topic(address)
        await produce(address, topic, b"before")
        await asyncio.to_thread(broker, "kill", "1")
        await produce(address, topic, b"without")
        await asyncio.to_thread(broker, "restart", "1")
        await produce(address, topic, b"after")
        return await consume(address, topic, 3)

    assert asyncio.run(scenario()) == [b"before", b"without", b"after"]


def test_a_frozen_broker_thaws(broker: Broker) -> None:
    address = broker("start")["bootstrap"]

    async def scenario() -> list[bytes]:
        topic = await new_topic(address)
        await asyncio.to_thread(broker, "freeze", "1")
        sending = asyncio.create_task(produce(address, topic, b"late"))
        done, _ = await asyncio.wait([sending], timeout=1)
        assert not done
        await asyncio.to_thread(broker, "thaw", "1")
        await sending
        return await consume(address, topic, 1)

    assert asyncio.run(scenario()) == [b"late"]
