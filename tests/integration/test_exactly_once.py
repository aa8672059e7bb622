"""Exactly once, byte for byte: what comes out is what the pipeline alone would have made of it.

The agents are processes of the command line on a real broker; `oracle` predicts their whole
output from their input, and every test ends by comparing the two.
"""

from __future__ import annotations

import asyncio
import random
import signal
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from tests.integration.fleet import QUICK, Fleet
from tests.integration.load import Load, produce
from tests.integration.oracle import assert_exactly_once

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.integration.local_broker import Broker

pytestmark = pytest.mark.integration

seeds = pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))]
)


@asynccontextmanager
async def fleet(directory: Path, servers: str, *, commit: str = "100ms") -> AsyncIterator[Fleet]:
    """A fleet of no agents yet; whatever happens, none outlives it."""
    made = Fleet(directory, servers, commit=commit)
    try:
        await made.create()
        yield made
    finally:
        await made.kill()


async def settle(fleet: Fleet, production: asyncio.Task[None]) -> None:
    """Let everything be processed, end the agents in good order, and judge what they did."""
    await production
    await fleet.all_done()
    await fleet.stop()
    releases, again = await assert_exactly_once(fleet.servers, fleet.config, fleet.partitions)
    print(f"{releases} releases, {again} written again")  # noqa: T201 - shown by -s


def test_undisturbed(tmp_path: Path, servers: str) -> None:
    async def scenario() -> None:
        async with fleet(tmp_path, servers) as some:
            agent = await some.start()
            production = asyncio.create_task(produce(servers, some.config.kafka.input, Load(1), 3))
            await settle(some, production)
            assert not agent.said("partition failed")
            assert not agent.said("agent failed")

    asyncio.run(scenario())


@seeds
def test_twenty_kills(tmp_path: Path, servers: str, seed: int) -> None:
    async def scenario() -> None:
        draw = random.Random(seed)
        async with fleet(tmp_path, servers) as some:
            load = Load(seed, steps=30)
            production = asyncio.create_task(produce(servers, some.config.kafka.input, load, 30))
            agent = await some.start()
            for kill in range(20):
                if kill % 4:
                    await agent.says("partition state changed", state="running")
                await asyncio.sleep(draw.uniform(0, 1))
                agent.signal(signal.SIGKILL)
                await agent.ended()
                agent = await some.start()
            await settle(some, production)

    asyncio.run(scenario())


@seeds
def test_instances_join_and_leave(tmp_path: Path, servers: str, seed: int) -> None:
    async def scenario() -> None:
        draw = random.Random(seed)
        async with fleet(tmp_path, servers) as some:
            load = Load(seed, steps=30)
            production = asyncio.create_task(produce(servers, some.config.kafka.input, load, 15))
            running = [await some.start()]
            while not production.done():
                await asyncio.sleep(draw.uniform(1, 3))
                leaves = len(running) == 3 or (len(running) == 2 and draw.random() < 0.5)
                if not leaves:
                    running.append(await some.start())
                    continue
                leaver = running.pop(draw.randrange(len(running)))
                if draw.random() < 0.5:
                    leaver.signal(signal.SIGKILL)
                    await leaver.ended()
                else:
                    await leaver.says("rebalanced")
                    leaver.signal(signal.SIGTERM)
                    assert await leaver.ended() == 0
            await settle(some, production)

    asyncio.run(scenario())


@seeds
def test_a_frozen_instance_is_replaced_and_fenced_when_it_wakes(
    tmp_path: Path, servers: str, seed: int
) -> None:
    async def scenario() -> None:
        async with fleet(tmp_path, servers, commit="2s") as some:
            draw = random.Random(seed)
            load = Load(seed, steps=24)
            production = asyncio.create_task(produce(servers, some.config.kafka.input, load, 15))
            sleeper = await some.start()
            await sleeper.says("partition state changed", state="running")
            await asyncio.sleep(draw.uniform(0, 3))
            sleeper.signal(signal.SIGSTOP)
            replacement = await some.start()
            await replacement.says("partition state changed", state="running", partition=5)
            await asyncio.sleep(2)
            sleeper.signal(signal.SIGCONT)
            await sleeper.says("partition failed")
            failed = {line["error"] for line in sleeper.said("partition failed")}
            assert failed <= {"ProducerFenced", "IllegalOperation"}  # as aiokafka has it
            await settle(some, production)

    asyncio.run(scenario())


def test_a_refused_record_takes_its_transaction_with_it(tmp_path: Path, servers: str) -> None:
    async def scenario() -> None:
        async with fleet(tmp_path, servers) as some:
            output = some.config.kafka.output
            load = Load(5, steps=24)
            production = asyncio.create_task(produce(servers, some.config.kafka.input, load, 12))
            agent = await some.start()
            await agent.says("partition state changed", state="running")
            await some.alter(output, max_message_bytes="100")
            await agent.says("partition failed", error="MessageSizeTooLargeError")
            await asyncio.sleep(3)
            assert not agent.said("partition failed", error="OutOfOrderSequenceNumber")
            await some.alter(output, max_message_bytes="1048588")
            await settle(some, production)

    asyncio.run(scenario())


def test_a_signal_under_load_ends_in_time_and_loses_nothing(tmp_path: Path, servers: str) -> None:
    async def scenario() -> None:
        async with fleet(tmp_path, servers) as some:
            load = Load(6)
            production = asyncio.create_task(produce(servers, some.config.kafka.input, load, 6))
            agent = await some.start()
            await agent.says("partition state changed", state="running")
            await asyncio.sleep(1)
            begun = time.monotonic()
            agent.signal(signal.SIGTERM)
            assert await agent.ended() == 0
            assert time.monotonic() - begun < some.config.agent.drain_deadline / 1000
            assert len(agent.said("partition state changed", state="draining")) == some.partitions
            assert not agent.said("partition failed")
            await some.start()
            await settle(some, production)

    asyncio.run(scenario())


def test_a_broker_that_dies_and_comes_back(tmp_path: Path, broker: Broker) -> None:
    async def scenario() -> None:
        servers = (await asyncio.to_thread(broker, "start", *QUICK))["bootstrap"]
        async with fleet(tmp_path, servers) as some:
            load = Load(7, steps=24)
            production = asyncio.create_task(produce(servers, some.config.kafka.input, load, 10))
            agent = await some.start()
            await agent.says("partition state changed", state="running")
            await asyncio.sleep(2)
            await asyncio.to_thread(broker, "kill", "1")
            await asyncio.sleep(3)
            await asyncio.to_thread(broker, "restart", "1")
            await settle(some, production)

    asyncio.run(scenario())


@seeds
def test_a_cluster_that_loses_a_broker_and_regains_it(
    tmp_path: Path, broker: Broker, seed: int
) -> None:
    async def scenario() -> None:
        draw = random.Random(seed)
        started = await asyncio.to_thread(broker, "start", "--brokers", "3", *QUICK)
        servers = started["bootstrap"]
        async with fleet(tmp_path, servers) as some:
            load = Load(seed, steps=24)
            production = asyncio.create_task(produce(servers, some.config.kafka.input, load, 14))
            for _ in range(2):
                await (await some.start()).says("partition state changed", state="running")
            for node in draw.sample(("1", "2", "3"), 1 if seed == 1 else 3):
                await asyncio.sleep(draw.uniform(0, 3))
                await asyncio.to_thread(broker, "kill", node)
                await asyncio.sleep(draw.uniform(2, 6))
                await asyncio.to_thread(broker, "restart", node)
            await settle(some, production)

    asyncio.run(scenario())
