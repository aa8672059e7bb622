"""An agent whose clock is wrong hurts nobody and says so, as one that cannot learn the time."""

from __future__ import annotations

import asyncio
import json
import re
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import AIOKafkaProducer

from meteragent.commands.exit_codes import Exit
from meteragent.config import keyfile
from meteragent.kafka import restore
from meteragent.kafka.clients import Clients
from meteragent.kafka.clock import RECORD
from meteragent.kafka.owner import OWNER
from tests.integration.fleet import QUICK, Agent, Fleet
from tests.integration.local_broker import Broker
from tests.integration.oracle import read

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

pytestmark = pytest.mark.integration

HOUR = 3600
WINDOW = 5
METERS = ("m-1", "m-2", "m-3")
CONFIG = """
[agent]
key_file = "noise.key"
max_skew = "10s"
commit_interval = "100ms"

[kafka]
bootstrap_servers = "{servers}"
group = "{name}"
input = "{name}-in"
output = "{name}-out"
ledger = "{name}-ledger"
rejected = "{name}-rejected"
policies = "{name}-policies"
session_timeout = "2s"

[http]
port = 0

[[policy]]
name = "all"
window = "5s"
interval = "1s"
grace = "2s"
idle = "3s"
maximum = "1kW"
epsilon = "1"
budget = "1000"
min_coverage = "0.6"
"""


@dataclass
class Timed(Fleet):
    """With windows of seconds, that the clock may close."""

    partitions: int = 1

    def write(self) -> None:
        self.file.write_text(CONFIG.format(servers=self.servers, name=self.name))
        keyfile.create(self.directory / "noise.key")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    shared = Broker(tmp_path_factory.mktemp("kafka"))
    yield shared
    shared("stop")


@pytest.fixture(scope="module")
def servers(broker: Broker) -> str:
    return broker("start", *QUICK)["bootstrap"]


@asynccontextmanager
async def made(fleet: Timed) -> AsyncIterator[Timed]:
    try:
        await fleet.create()
        yield fleet
    finally:
        await fleet.kill()


async def metered(fleet: Timed, seconds: int) -> set[int]:
    """Whole windows of readings, a second apart, each sent as it is measured; where they begin."""
    topic = fleet.config.kafka.input
    async with AIOKafkaProducer(bootstrap_servers=fleet.servers) as producer:
        begin = (int(time.time()) // WINDOW + 1) * WINDOW
        for second in range(begin, begin + seconds):
            await asyncio.sleep(second - time.time())
            for meter in METERS:
                reading = {"meter_id": meter, "ts": second * 1000, "value": 100}
                await producer.send(topic, json.dumps(reading).encode(), key=meter.encode())
            await producer.flush()
    return {start * 1000 for start in range(begin, begin + seconds, WINDOW)}


async def published(fleet: Timed) -> dict[tuple[str, int], str]:
    """What became of each meter's windows."""
    documents: list[dict[str, Any]] = [
        json.loads(record.value)
        for record in await read(fleet.servers, fleet.config.kafka.output, 0)
    ]
    return {(d["meter_id"], d["window_start"]): d["status"] for d in documents}


async def until_published(fleet: Timed, releases: int) -> None:
    async with asyncio.timeout(30):
        while len(await published(fleet)) < releases:
            pass  # each look is many round trips long


async def sample(agent: Agent, name: str) -> float:
    """A series, as it is scraped."""
    _, text = await agent.shows("/metrics")
    return float(next(line for line in text.splitlines() if line.startswith(name)).split()[-1])


LATE = 'meteragent_readings_total{outcome="late"}'


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
def test_an_agent_whose_clock_is_wrong_makes_nobody_late_and_says_so(
    tmp_path: Path, servers: str, ahead: int
) -> None:
    async def scenario() -> None:
        async with made(Timed(tmp_path, servers)) as fleet:
            wrong = await fleet.start(ahead=ahead)
            await wrong.says("rebalanced")
            windows = await metered(fleet, 2 * WINDOW)
            assert await sample(wrong, LATE) == 0
            assert await wrong.shows("/readyz") == (503, "not ready\n")
            shown = await sample(wrong, "meteragent_clock_ahead_seconds")
            assert abs(shown - ahead) < 2
            assert await sample(wrong, "meteragent_clock_trusted") == 0
            [line] = wrong.said("clock differs from the brokers'")
            assert abs(line["ahead"] - ahead) < 2
            state = json.loads((await wrong.shows("/status.json"))[1])["state"]
            way = "ahead of" if ahead > 0 else "behind"
            assert re.fullmatch(
                rf"Not ready: this machine's clock is 3,(598|599|600|601) s {way} the brokers'; "
                "only readings close windows\\.",
                state["sentence"],
            )
            await fleet.stop()

            right = await fleet.start()
            await right.becomes("ready")
            windows |= await metered(fleet, 2 * WINDOW)
            # The clock closes the last ones: nobody sends any more.
            await until_published(fleet, len(windows) * len(METERS))
            assert await sample(right, LATE) == 0
            await fleet.stop()
            assert await published(fleet) == {
                (meter, start): "released" for meter in METERS for start in windows
            }

    asyncio.run(scenario())


def test_an_agent_that_cannot_learn_the_time_says_so_until_it_can(
    tmp_path: Path, broker: Broker, servers: str
) -> None:
    async def stamp(fleet: Timed, by: str) -> None:
        await fleet.alter(
            fleet.config.kafka.ledger, message_timestamp_type=by, cleanup_policy="compact"
        )

    async def scenario() -> None:
        async with made(Timed(tmp_path, servers)) as fleet:
            ledger = fleet.config.kafka.ledger
            agent = await fleet.start()
            await agent.becomes("ready")
            await stamp(fleet, "CreateTime")
            await agent.becomes("not ready")
            [message] = {line["message"] for line in agent.said("clock failed")}
            instead = f"--alter --topic {ledger} --add-config message.timestamp.type=LogAppendTime"
            assert message.startswith(f"kafka.ledger: records of {ledger} carry their senders'")
            assert instead in message
            assert await sample(agent, "meteragent_clock_age_seconds") > 5
            assert await sample(agent, "meteragent_clock_trusted") == 0
            sentence = json.loads((await agent.shows("/status.json"))[1])["state"]["sentence"]
            assert "Not ready: the brokers' time has not been learned for " in sentence
            for command in ("check", "run"):
                code, said = await fleet.command(command)
                assert (code, said.count(message)) == (Exit.TOPICS, 1)
            arguments = ("tool", "configs", *instead.split())
            done = await asyncio.to_thread(broker.run, *arguments)
            assert done.returncode == 0, done.stderr
            await agent.becomes("ready")
            code, said = await fleet.command("check")
            assert code == Exit.OK, said
            await fleet.stop()

    asyncio.run(scenario())


def test_the_time_is_asked_for_in_the_ledger_and_is_nobodys_account(
    tmp_path: Path, servers: str
) -> None:
    async def scenario() -> None:
        async with made(Timed(tmp_path, servers)) as fleet:
            agent = await fleet.start()
            await agent.becomes("ready")
            await asyncio.sleep(2)
            await fleet.stop()
            names = fleet.config.kafka
            records = [r for r in await read(servers, names.ledger, 0) if r.key != OWNER]
            assert len(records) >= 2
            assert {(r.key, r.value, r.timestamp_type) for r in records} == {(RECORD, None, 1)}
            assert (await restore.accounts(Clients(names), 0)).accounts == {}

    asyncio.run(scenario())
