"""Instances of a group agree: the newer configuration wins, and a key is the ledger's."""

from __future__ import annotations

import asyncio
import signal
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaProducer

from meteragent.commands.exit_codes import Exit
from meteragent.config import keyfile
from meteragent.kafka import restore
from meteragent.kafka.clients import Clients
from meteragent.kafka.ownership import owner_of
from tests.integration.tight import BUDGET, HOUR, Tight, blocks, decided, released

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.integration.fleet import Agent

pytestmark = pytest.mark.integration

METERS = [f"m-{number}" for number in range(24)]


@asynccontextmanager
async def made(directory: Path, servers: str) -> AsyncIterator[Tight]:
    fleet = Tight(directory, servers, partitions=6)
    try:
        await fleet.create()
        yield fleet
    finally:
        await fleet.kill()


async def feed(fleet: Tight, *, ago: int) -> None:
    async with AIOKafkaProducer(bootstrap_servers=fleet.servers) as producer:
        for meter, block in blocks(METERS, 7, ago=ago):
            await producer.send(fleet.config.kafka.input, block, key=meter.encode())
        await producer.flush()


def rewritten(fleet: Tight, before: str, after: str) -> None:
    """Change the configuration for those who start from now on."""
    text = fleet.file.read_text()
    assert before in text
    fleet.file.write_text(text.replace(before, after, 1))


async def generations(fleet: Tight) -> set[int | None]:
    """Of all partitions; None of those that belong to nobody yet."""
    found: set[int | None] = set()
    for partition in range(fleet.partitions):
        owner = owner_of(await restore.accounts(Clients(fleet.config.kafka), partition))
        found.add(owner.generation.number if owner else None)
    return found


async def belong_to(fleet: Tight, generation: int) -> None:
    """Wait until all partitions do: positions without releases are committed now and then."""
    async with asyncio.timeout(60):
        while await generations(fleet) != {generation}:
            pass  # each look is many round trips long


async def has_all(agent: Agent) -> None:
    """Wait until it runs every partition."""
    for _ in range(300):
        text = (await agent.shows("/metrics"))[1]
        if text.count('_partition_lag_records{partition="') == 6:
            break
        await asyncio.sleep(0.2)
    await agent.becomes("ready", seconds=60)


def test_in_a_rolling_update_the_old_instances_leave_and_nothing_is_lost_or_released_twice(
    tmp_path: Path, servers: str
) -> None:
    async def scenario() -> None:
        async with made(tmp_path, servers) as fleet:
            old = [await fleet.start() for _ in range(2)]
            for agent in old:
                await agent.becomes("ready")
            await feed(fleet, ago=HOUR // 6)
            await fleet.all_done()

            rewritten(fleet, 'epsilon = "0.5"', 'epsilon = "0.4"')
            new = await fleet.start()
            assert [await agent.ended(60) for agent in old] == [Exit.SUPERSEDED] * 2
            for agent in old:
                assert "are running with a newer configuration" in agent.log.read_text()
            await has_all(new)
            await feed(fleet, ago=-HOUR // 6)
            await fleet.all_done()
            assert await released(fleet) == dict.fromkeys(METERS, BUDGET)
            windows = await decided(fleet)  # none twice
            assert len(windows) > len(METERS) * 12
            assert await generations(fleet) == {2}

            rebalanced = len(new.said("rebalanced"))
            rewritten(fleet, 'epsilon = "0.4"', 'epsilon = "0.5"')
            for _ in range(2):  # as the service manager would
                again = await fleet.start()
                assert await again.ended(60) == Exit.SUPERSEDED
            code, said = await fleet.command("check")
            assert code == Exit.SUPERSEDED
            assert "write another kafka.revision to go back" in said
            assert len(new.said("rebalanced")) == rebalanced

            rewritten(fleet, "[kafka]", "[kafka]\nrevision = 1")
            back = await fleet.start()
            assert await new.ended(60) == Exit.SUPERSEDED
            await has_all(back)
            await belong_to(fleet, 3)
            await fleet.stop()

    asyncio.run(scenario())


def test_another_key_is_refused_until_the_ledger_adopts_it(tmp_path: Path, servers: str) -> None:
    async def scenario() -> None:
        async with made(tmp_path, servers) as fleet:
            agent = await fleet.start()
            await agent.becomes("ready")
            await feed(fleet, ago=HOUR // 6)
            await fleet.all_done()
            await belong_to(fleet, 1)

            (tmp_path / "noise.key").rename(tmp_path / "old.key")
            keyfile.create(tmp_path / "noise.key")
            other = await fleet.start()
            assert await other.ended(60) == Exit.OWNER
            assert not other.said("rebalanced")  # it has fenced nobody
            assert "run `meteragent key adopt`" in other.log.read_text()
            code, said = await fleet.command("check")
            assert code == Exit.OWNER
            code, said = await fleet.command("key", "adopt")
            assert code == Exit.UNAVAILABLE
            assert "has running agents; stop them all first" in said
            agent.signal(signal.SIGTERM)
            assert await agent.ended(60) == 0

            for count in (6, 0):
                code, said = await fleet.command("key", "adopt")
                assert code == 0, said
                assert f"{count} partitions belong to this key" in said
            agent = await fleet.start()
            await agent.becomes("ready")
            await feed(fleet, ago=-HOUR // 6)
            await fleet.all_done()
            await fleet.stop()
            assert await released(fleet) == dict.fromkeys(METERS, BUDGET)
            (tmp_path / "noise.key").unlink()
            (tmp_path / "old.key").rename(tmp_path / "noise.key")
            assert (await fleet.command("check"))[0] == Exit.OWNER

    asyncio.run(scenario())


def test_a_second_group_does_not_spend_from_the_ledger_of_the_first(
    tmp_path: Path, servers: str
) -> None:
    async def scenario() -> None:
        async with made(tmp_path, servers) as fleet:
            agent = await fleet.start()
            await agent.becomes("ready")
            await feed(fleet, ago=HOUR // 6)
            await fleet.all_done()
            await fleet.stop()
            rewritten(fleet, f'group = "{fleet.name}"', f'group = "{fleet.name}-second"')
            second = await fleet.start()
            assert await second.ended(60) == Exit.OWNER
            assert f"its kafka.group is {fleet.name}, and {fleet.name}-second here" in (
                second.log.read_text()
            )
            assert (await fleet.command("check"))[0] == Exit.OWNER
            assert await released(fleet) == dict.fromkeys(METERS, BUDGET)

    asyncio.run(scenario())
