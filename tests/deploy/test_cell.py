"""The image's agent at work: no rights, nothing to write to, and one broker in its world.

Configured, mounted and started as in deploy/compose, with the service manager's socket added.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from meteragent.config import keyfile
from simulations.demo.street import INTERVAL, street
from simulations.fleet.replay import blocks
from tests.deploy.image import ROOT, STAGES, USER, Cell, owned
from tests.deploy.island import network
from tests.integration.fleet import QUICK
from tests.integration.local_broker import Broker

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.integration

COMPOSE = ROOT / "deploy" / "compose"
SERVICE: dict[str, Any] = yaml.safe_load((COMPOSE / "compose.yaml").read_text())["services"]
CONFIG = "/etc/meteragent/agent.toml"
HOMES = 5
QUICKER = {
    "METERAGENT__AGENT__PROGRESS_DEADLINE": "3s",
    "WATCHDOG_USEC": "2000000",
}


@pytest.fixture
def kafka() -> Iterator[tuple[Broker, str]]:
    with tempfile.TemporaryDirectory() as directory:
        broker = Broker(Path(directory) / "kafka")
        try:
            yield broker, broker("start", *QUICK)["bootstrap"]
        finally:
            broker("stop")


@pytest.fixture
def cell(image: Path, kafka: tuple[Broker, str]) -> Iterator[Cell]:
    with tempfile.TemporaryDirectory() as directory, network(kafka[1]) as namespace:
        home, state = Path(directory) / "config", Path(directory) / "state"
        for path in (home, state):
            path.mkdir()
        shutil.copy(COMPOSE / "agent.toml", home)
        keyfile.create(state / "noise.key")
        owned(Path(directory))
        environ = SERVICE["agent"]["environment"] | QUICKER
        environ["METERAGENT__KAFKA__BOOTSTRAP_SERVERS"] = kafka[1]
        shown = {"/etc/meteragent": home, "/var/lib/meteragent": state}
        yield Cell(image, network=namespace, shown=shown, environ=environ)


@contextmanager
def manager(cell: Cell) -> Iterator[socket.socket]:
    """The service manager's socket, where the agent sees it."""
    with (
        tempfile.TemporaryDirectory() as directory,
        closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as ear,
    ):
        ear.bind(f"{directory}/notify")
        ear.settimeout(60)
        owned(Path(directory))
        cell.shown["/run/secrets"] = Path(directory)
        cell.environ["NOTIFY_SOCKET"] = "/run/secrets/notify"
        yield ear


@contextmanager
def agent(cell: Cell) -> Iterator[subprocess.Popen[str]]:
    words = (*STAGES["agent"].exec_form("ENTRYPOINT"), *STAGES["agent"].exec_form("CMD"))
    process = subprocess.Popen(cell.command(*words), stderr=subprocess.PIPE, text=True)  # noqa: S603
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until(ear: socket.socket, line: str, seconds: float = 60) -> list[str]:
    """What is heard up to and with `line`."""
    heard: list[str] = []
    end = time.monotonic() + seconds
    while line not in heard:
        assert time.monotonic() < end, heard
        heard += ear.recv(4096).decode().splitlines()
    return heard


def until_pings_stop(ear: socket.socket, seconds: float = 60) -> None:
    """Wait until there is none for two deadlines of the watchdog."""
    end = time.monotonic() + seconds
    last = time.monotonic()
    ear.settimeout(0.2)
    while time.monotonic() - last < 4:
        assert time.monotonic() < end
        with suppress(TimeoutError):
            if b"WATCHDOG=1" in ear.recv(4096):
                last = time.monotonic()
    ear.settimeout(60)


async def send(servers: str) -> None:
    """Two days of a street and today so far, as the fleet of compose begins."""
    homes, now = street(HOMES, 0, seed=1), int(time.time() * 1000) // INTERVAL
    async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
        for key, record in blocks(homes, 2, now):
            await producer.send("meter.readings", record, key=key)


async def released(servers: str, count: int) -> list[dict[str, Any]]:
    """The first releases of the output."""
    found: list[dict[str, Any]] = []
    async with AIOKafkaConsumer(
        "meter.sanitized",
        bootstrap_servers=servers,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    ) as consumer:
        async with asyncio.timeout(60):
            async for record in consumer:
                found.append(json.loads(record.value))
                if len(found) == count:
                    return found
    return found


def innermost(process: subprocess.Popen[str]) -> int:
    """The agent itself: the youngest of the processes that the cell is made of."""
    number = process.pid
    while children := Path(f"/proc/{number}/task/{number}/children").read_text().split():
        number = int(children[0])
    return number


def status_of(process: int) -> dict[str, str]:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return dict(line.split(":", 1) for line in lines if line)


def test_it_works_with_no_rights_and_pings_while_there_is_progress(
    cell: Cell, kafka: tuple[Broker, str]
) -> None:
    broker, servers = kafka
    made = cell.run("/opt/meteragent/bin/meteragent", *SERVICE["topics"]["command"])
    assert made.returncode == 0, made.stderr
    with manager(cell) as ear, agent(cell) as process:
        heard = until(ear, "READY=1")
        assert any(line.startswith("STATUS=") for line in heard)

        # Readings come in, and are released.
        asyncio.run(send(servers))
        first = asyncio.run(released(servers, HOMES))
        assert {release["status"] for release in first} == {"released"}

        # It is nobody, and may do nothing.
        status = status_of(innermost(process))
        assert status["Name"].strip() in {"meteragent", "python"}
        assert set(status["Uid"].split()) == {USER}
        assert set(status["Gid"].split()) == {USER}
        for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert int(status[kind], 16) == 0
        assert status["NoNewPrivs"].strip() == "1"

        # Health as the image's own check sees it.
        assert cell.run(*STAGES["agent"].exec_form("HEALTHCHECK")).returncode == 0

        # The broker stands still: so do the pings, until it goes on.
        broker("freeze", "1")
        until_pings_stop(ear)
        broker("thaw", "1")
        until(ear, "WATCHDOG=1")

        os.kill(innermost(process), signal.SIGTERM)
        until(ear, "STOPPING=1")
        assert process.wait(30) == 0


def test_nothing_but_the_broker_can_be_reached(cell: Cell, kafka: tuple[Broker, str]) -> None:
    port = int(kafka[1].rpartition(":")[2])
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        reached = {
            where: cell.python(f"import socket; socket.create_connection({where}, 3)").stderr
            for where in (
                ("127.0.0.1", port),
                other.getsockname(),
                ("192.0.2.1", 80),
                ("2001:db8::1", 80),
            )
        }
    broker, listener, *world = reached.values()
    assert broker == ""
    assert "Connection refused" in listener
    assert all("Network is unreachable" in tried for tried in world)
