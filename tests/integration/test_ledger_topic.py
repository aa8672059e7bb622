"""`ledger show`, `top` and `totals` of what a real agent has written to a real ledger topic."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import secrets
import time
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaProducer

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.config import load
from meteragent.config.keyfile import create
from meteragent.kafka import ledger_topic, topics
from meteragent.kafka.agent import Agent
from meteragent.kafka.clients import Clients

if TYPE_CHECKING:
    from pathlib import Path

    from meteragent.config import Config

pytestmark = pytest.mark.integration

Said = pytest.CaptureFixture[str]

METERS = [f"m-{number}" for number in range(11)] + ["M-1"]


@pytest.fixture
def configuration(tmp_path: Path, kafka: str) -> Path:
    mark = secrets.token_hex(4)
    create(tmp_path / "noise.key")
    names = "\n".join(
        f'{s} = "{mark}.{s}"'
        for s in ("group", "input", "output", "ledger", "rejected", "policies")
    )
    path = tmp_path / "agent.toml"
    path.write_text(
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
        epsilon = "1.5"
        budget = "24"
        """
    )
    return path


async def release_one_window(config: Config) -> None:
    """Of every meter; it is over when all accounts can be seen."""
    await topics.create(config, Clients(config.kafka), partitions=3, replication=1)
    kafka = config.kafka
    async with AIOKafkaProducer(bootstrap_servers=list(kafka.bootstrap_servers)) as producer:
        window = int(time.time()) // 10 * 10_000 - 60_000
        for meter in METERS:
            reading = json.dumps({"meter_id": meter, "ts": window, "value": 100}).encode()
            await producer.send_and_wait(kafka.input, reading, key=meter.encode())
    agent = Agent(config, config.agent.noise_key(), lambda _: None)
    running = asyncio.create_task(agent.run())
    async with asyncio.timeout(60):
        while len(await ledger_topic.everybody(Clients(config.kafka))) < len(METERS):
            pass  # each look is many round trips long
    agent.stop()
    await running


def test_accounts_are_read_from_the_ledger_topic(configuration: Path, capsys: Said) -> None:
    file = ("-c", str(configuration))
    assert main(["ledger", "totals", *file]) == Exit.TOPICS
    assert "does not exist; run `meteragent topics create`" in capsys.readouterr().err

    asyncio.run(release_one_window(load(configuration, {})))
    capsys.readouterr()  # what the agent logged, where a broker was slow

    assert main(["ledger", "top", "--count", "99", "--csv", *file]) == Exit.OK
    told = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert sorted(row["meter"] for row in told) == sorted(METERS)
    assert {(row["policy"], row["spent"], row["remaining"]) for row in told} == {
        ("short", "1.5", "22.5")
    }

    assert main(["ledger", "totals", "--csv", *file]) == Exit.OK
    [total] = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (total["meters"], total["exhausted"], total["spent"]) == ("12", "0", "18")

    for meter in ("m-0", "m-3"):
        assert main(["ledger", "show", meter, *file]) == Exit.OK
        said = capsys.readouterr().out
        assert said.startswith(f"{meter}: policy short (")
        assert "next refresh: 1.5 (0.015 per watt) from the window of " in said

    assert main(["ledger", "show", "m-99", *file]) == Exit.CONFIGURATION
    assert "METER: has no account here" in capsys.readouterr().err

    ledger = load(configuration, {}).kafka.ledger
    warning = f"{ledger}: warning: ids that differ from another one in case"
    assert main(["check", *file]) == Exit.OK
    assert warning in capsys.readouterr().out
    text = configuration.read_text().replace("[agent]", "[agent]\nnormalise_ids = true")
    configuration.write_text(text)
    assert main(["check", *file]) == Exit.TOPICS  # M-1 is not m-1 any more, and lies elsewhere
    assert "run `meteragent ledger migrate --gather`" in capsys.readouterr().err
    assert main(["ledger", "migrate", "--gather", *file]) == Exit.OK
    assert main(["check", *file]) == Exit.OK
    assert warning not in capsys.readouterr().out
