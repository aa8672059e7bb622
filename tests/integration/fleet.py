"""The agent as it is run: processes of the command line, started, frozen and killed at will."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError

from meteragent import config as configuration
from meteragent.config import keyfile
from meteragent.kafka import topics
from meteragent.kafka.clients import Clients
from meteragent.kafka.fitness import AHEAD, SENDERS, STAMPED_BY
from meteragent.kafka.restore import parse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from meteragent.config import Config

QUICK = (
    "--set",
    "group.min.session.timeout.ms=500",
    "--set",
    "group.initial.rebalance.delay.ms=0",
)
"""For brokers: the dead are missed soon."""

MISSET = """
import runpy, time
right = time.time
time.time = lambda: right() + {ahead}
runpy.run_module("meteragent", run_name="__main__")
"""
"""The agent and all its libraries, where somebody has set the clock."""

AGENT = """
[agent]
key_file = "noise.key"
max_skew = "{max_skew}"
commit_interval = "{commit}"
drain_deadline = "8s"
{agent}
[kafka]
bootstrap_servers = "{servers}"
group = "{name}"
input = "{name}-in"
output = "{name}-out"
ledger = "{name}-ledger"
rejected = "{name}-rejected"
policies = "{name}-policies"
session_timeout = "2s"
rebalance_timeout = "10s"
request_timeout = "10s"
{kafka}
[http]
port = 0

{policies}
"""

POLICIES = """
[[policy]]
name = "plain"
window = "30s"
interval = "10s"
grace = "10s"
idle = "2m"
maximum = "3kW"
queries = ["avg", { query = "p95", epsilon = "0.5" }]
epsilon = "1"
budget = "6"
horizon = "2m"
min_coverage = "0.6"

[[policy]]
name = "private"
match = "p-"
window = "30s"
interval = "10s"
grace = "10s"
idle = "1m"
maximum = "3kW"
epsilon = "1"
budget = "24"
presence = "private"

[[policy]]
name = "hopping"
match = "h-"
window = "1m"
hop = "30s"
interval = "10s"
grace = "20s"
idle = "1m"
maximum = "3kW"
queries = ["avg", "max"]
epsilon = "1"
budget = "5"
horizon = "3m"
on_exhausted = "partial"
"""


@asynccontextmanager
async def watching(servers: str) -> AsyncIterator[tuple[AIOKafkaConsumer, AIOKafkaAdminClient]]:
    """Clients to look at Kafka with."""
    consumer = AIOKafkaConsumer(bootstrap_servers=servers)
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    try:
        await consumer.start()
        await admin.start()
        yield consumer, admin
    finally:
        await consumer.stop()
        await admin.close()


def reasons(said: str) -> list[str]:
    """Why a command ended: after its name, or in the last lines of the agent's log."""
    lines = said.splitlines()
    plain = [line.removeprefix("meteragent: ") for line in lines if line.startswith("meteragent: ")]
    return plain + [json.loads(line)["message"] for line in lines if '"agent ended"' in line]


@dataclass
class Agent:
    """One process."""

    process: asyncio.subprocess.Process
    log: Path

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def ended(self, seconds: float = 30) -> int:
        """Its exit code."""
        async with asyncio.timeout(seconds):
            return await self.process.wait()

    def lines(self) -> list[dict[str, Any]]:
        """What it has said so far."""
        said = self.log.read_text().splitlines()
        return [json.loads(line) for line in said if line.startswith("{") and line.endswith("}")]

    def said(self, event: str, **fields: object) -> list[dict[str, Any]]:
        """The lines of one event."""
        wanted = {"event": event, **fields}.items()
        return [line for line in self.lines() if wanted <= _hashable(line).items()]

    async def shows(self, path: str) -> tuple[int, str]:
        """What its status page answers: the code, and the body."""
        host, _, port = str(self.said("listening")[0]["address"]).rpartition("/")[2].rpartition(":")
        for _ in range(3):  # a machine that stands still for five seconds hangs up on its readers
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(f"GET {path} HTTP/1.0\r\n\r\n".encode())
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
            writer.close()
            if head:
                return int(head.split()[1]), body.decode()
        raise AssertionError(f"{path} is not answered:\n{self.log.read_text()[-3000:]}")

    async def becomes(self, state: str, seconds: float = 30) -> None:
        """Wait until it is "ready", or "not ready"."""
        await self.says("listening")
        async with asyncio.timeout(seconds):
            while (await self.shows("/readyz"))[1].strip() != state:
                assert self.process.returncode is None, self.log.read_text()[-3000:]
                await asyncio.sleep(0.1)

    async def says(self, event: str, seconds: float = 30, **fields: object) -> None:
        """Wait until it has said so."""
        async with asyncio.timeout(seconds):
            while not self.said(event, **fields):
                assert self.process.returncode is None, self.log.read_text()[-3000:]
                await asyncio.sleep(0.05)


def _hashable(line: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in line.items() if not isinstance(value, list | dict)}


@dataclass
class Fleet:
    """Agents of one group, on topics of their own."""

    directory: Path
    servers: str
    partitions: int = 6
    agent: str = ""
    commit: str = "100ms"
    kafka: str = ""
    policies: str = POLICIES
    max_skew: str = "30d"
    listener: str = ""
    """Where agents connect, if not where tests look."""
    name: str = field(default_factory=lambda: f"xo-{secrets.token_hex(3)}")
    agents: list[Agent] = field(default_factory=list)

    @property
    def file(self) -> Path:
        return self.directory / "agent.toml"

    @property
    def config(self) -> Config:
        return configuration.load(self.file, {})

    def write(self) -> None:
        """Write the configuration, and the key beside it."""
        text = AGENT.format(
            servers=self.listener or self.servers,
            name=self.name,
            agent=self.agent,
            commit=self.commit,
            kafka=self.kafka,
            policies=self.policies,
            max_skew=self.max_skew,
        )
        self.file.write_text(text)
        if not (self.directory / "noise.key").exists():
            keyfile.create(self.directory / "noise.key")

    async def create(self) -> None:
        """Write the configuration and make the topics."""
        self.write()
        clients = Clients(self.config.kafka)
        await topics.create(self.config, clients, self.partitions, self.servers.count(",") + 1)

    async def start(self, *, ahead: int = 0) -> Agent:
        """Start another instance, on a machine whose clock is ahead by so many seconds."""
        program = ("-c", MISSET.format(ahead=ahead)) if ahead else ("-m", "meteragent")
        log = self.directory / f"agent-{len(self.agents)}.log"
        with log.open("wb") as stream:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-W", "ignore", *program, "run", "-c", str(self.file)),
                stdout=stream,
                stderr=stream,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        agent = Agent(process, log)
        self.agents.append(agent)
        return agent

    async def command(self, *arguments: str) -> tuple[int, str]:
        """Run another command to its end: its exit code, and all that it says."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-W", "ignore", "-m", "meteragent"),
            *(*arguments, "-c", str(self.file)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(60):
            said, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, said.decode()

    async def alter(self, topic: str, **settings: str) -> None:
        """Set how a topic is kept, all of it: `max_message_bytes="100"`.

        An output stays one that takes windows, whenever they end.
        """
        named = {name.replace("_", "."): value for name, value in settings.items()}
        if topic in self.config.kafka.outputs:
            named |= {STAMPED_BY: SENDERS, AHEAD: str(self.config.agent.max_skew)}
        async with watching(self.servers) as (_, admin):
            await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, named)])

    async def all_done(self, seconds: float = 60) -> None:
        """Wait until everything that is in the input has been processed and committed."""
        sources = [TopicPartition(self.config.kafka.input, n) for n in range(self.partitions)]
        async with watching(self.servers) as (consumer, admin):
            ends = await consumer.end_offsets(sources)
            async with asyncio.timeout(seconds):
                while not await self._all_through(admin, ends):
                    assert not self.agents or self.running()
                    await asyncio.sleep(0.2)

    async def _all_through(self, admin: AIOKafkaAdminClient, ends: dict[Any, int]) -> bool:
        try:
            committed = await admin.list_consumer_group_offsets(self.name, partitions=list(ends))
        except KafkaError:  # a coordinator that moves
            return False
        return all(
            source in committed
            and committed[source].offset >= 0
            and parse(self.config.kafka, source.partition, committed[source]).processed == end
            for source, end in ends.items()
        )

    def running(self) -> list[Agent]:
        """The instances that have not ended."""
        return [agent for agent in self.agents if agent.process.returncode is None]

    async def stop(self) -> None:
        """Let all drain and end, each with exit code 0."""
        running = self.running()
        for agent in running:
            await agent.says("rebalanced")  # a signal before would end an interpreter that starts
            agent.signal(signal.SIGTERM)
        assert [await agent.ended() for agent in running] == [0] * len(running)

    async def kill(self) -> None:
        """End what still runs, whatever happened."""
        for agent in self.running():
            agent.process.kill()
            await agent.process.wait()
