"""A ledger that was lost is not an empty one: nobody spends a second budget, and it is said."""

from __future__ import annotations

import asyncio
import json
import re
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition

from meteragent.commands.exit_codes import Exit
from meteragent.errors import TooEarly
from meteragent.kafka import restore, topics
from meteragent.kafka.clients import Clients
from meteragent.kafka.loss import accept_all
from meteragent.kafka.owner import OWNER
from meteragent.stream.homes import Homes
from tests.integration.fleet import watching
from tests.integration.tight import BUDGET, HOUR, Tight, blocks, decided, released

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

from tests.integration.fleet import Agent

pytestmark = pytest.mark.integration

METERS = [f"m-{number}" for number in range(8)]
THERE = next(meter for meter in METERS if Homes("murmur2", 2).of(meter) == 1)
LOST = "what its meters have spent is unknown; `meteragent ledger accept-loss` says"


async def feed(fleet: Tight, *, ago: int) -> None:
    """Seven windows of each meter, the last of which ended so long ago, or ends so much later."""
    topic = fleet.config.kafka.input
    async with AIOKafkaProducer(bootstrap_servers=fleet.servers) as producer:
        for meter, block in blocks(METERS, 7, ago=ago):
            await producer.send(topic, block, key=meter.encode())
        await producer.flush()


async def run_through(fleet: Tight) -> None:
    """Let an agent decide what there is, and end it in good order."""
    agent = await fleet.start()
    await agent.becomes("ready")
    await fleet.all_done()
    await asyncio.sleep(2.5)  # the wall clock closes the last window
    await fleet.stop()


@asynccontextmanager
async def spent(directory: Path, servers: str, *, ago: int) -> AsyncIterator[Tight]:
    """Meters that have spent their budget, and no agent at work."""
    fleet = Tight(directory, servers, partitions=2)
    await fleet.create()
    try:
        await feed(fleet, ago=ago)
        await run_through(fleet)
        assert await released(fleet) == dict.fromkeys(METERS, BUDGET)
        yield fleet
    finally:
        await fleet.kill()


async def delete_ledger(fleet: Tight) -> None:
    ledger = fleet.config.kafka.ledger
    async with watching(fleet.servers) as (_, admin):
        await admin.delete_topics([ledger])
        for _ in range(100):
            if ledger not in await topics.describe(admin, fleet.config.kafka):
                return
            await asyncio.sleep(0.2)


async def make_ledger(fleet: Tight) -> None:
    """As somebody does who believes that it is only missing."""
    async with watching(fleet.servers) as (_, admin):
        await topics.make_ledger(admin, fleet.config.kafka, fleet.partitions)


async def ended(fleet: Tight) -> tuple[int, str]:
    """How an agent ends that nobody stops, and what it says."""
    agent: Agent = await fleet.start()
    code = await agent.ended(60)
    return code, agent.log.read_text()


def test_a_ledger_that_was_deleted_is_not_made_anew_by_those_who_ask_for_topics(
    tmp_path: Path, servers: str
) -> None:
    async def scenario() -> None:
        async with spent(tmp_path, servers, ago=HOUR // 6) as fleet:
            await delete_ledger(fleet)
            for code, said in (
                await ended(fleet),
                await fleet.command("check"),
                await fleet.command("topics", "create", "--partitions", "2"),
            ):
                assert code == Exit.LOST
                assert LOST in said
            await feed(fleet, ago=-HOUR // 12)
            assert await released(fleet) == dict.fromkeys(METERS, BUDGET)

    asyncio.run(scenario())


def test_a_ledger_that_was_made_anew_is_not_taken_for_an_empty_one(
    tmp_path: Path, servers: str
) -> None:
    async def scenario() -> None:
        async with spent(tmp_path, servers, ago=HOUR // 6) as fleet:
            await delete_ledger(fleet)
            await make_ledger(fleet)
            await feed(fleet, ago=-HOUR // 12)
            for code, said in (await ended(fleet), await fleet.command("check")):
                assert code == Exit.LOST, said
                assert "is new in partition" in said
            assert await released(fleet) == dict.fromkeys(METERS, BUDGET)

            code, said = await fleet.command("ledger", "accept-loss")
            assert code == Exit.UNAVAILABLE
            assert re.search(r"is released before \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ; run again", said)
            assert (await ended(fleet))[0] == Exit.LOST

            code, said = await fleet.command("ledger", "accept-loss", "--yes")
            assert code == 0, said
            assert said.count("accounts begin anew") == 2
            await run_through(fleet)
            assert await released(fleet) == dict.fromkeys(METERS, 2 * BUDGET)
            assert (await fleet.command("check"))[0] == 0
            assert await fleet.command("ledger", "accept-loss") == (0, "nothing was lost\n")

    asyncio.run(scenario())


async def accept_loss_later(fleet: Tight, hours: int) -> dict[int, int]:
    """So many hours from now, as far as the command knows."""
    key, now = fleet.config.agent.noise_key(), int(time.time() * 1000) + hours * HOUR
    accepted = await accept_all(fleet.config, key, now, confirmed=False)
    assert {ledger for ledger, _ in accepted} == {fleet.config.kafka.ledger}
    return {partition: since or 0 for (_, partition), since in accepted.items()}


def test_a_horizon_after_the_loss_accounts_begin_anew_and_nothing_older_is_released(
    tmp_path: Path, servers: str
) -> None:
    async def scenario() -> None:
        async with spent(tmp_path, servers, ago=HOUR // 6) as fleet:
            await delete_ledger(fleet)
            before = await decided(fleet)
            with pytest.raises(TooEarly):
                await accept_loss_later(fleet, hours=1)
            accepted = await accept_loss_later(fleet, hours=2)
            assert sorted(accepted) == [0, 1]
            await feed(fleet, ago=-HOUR // 2)  # in one horizon with what was lost
            await run_through(fleet)
            assert await decided(fleet) == before
            await feed(fleet, ago=-2 * HOUR)
            await run_through(fleet)
            assert await released(fleet) == dict.fromkeys(METERS, 2 * BUDGET)

    asyncio.run(scenario())


def test_a_ledger_that_ends_too_early_is_lost(tmp_path: Path, servers: str) -> None:
    """As after the election of a leader that had not heard of everything, or from a snapshot."""

    async def scenario() -> None:
        async with spent(tmp_path, servers, ago=HOUR // 6) as fleet:
            names = fleet.config.kafka
            owners = {
                partition: (await restore.accounts(Clients(names), partition)).reserved[OWNER]
                for partition in range(2)
            }
            await delete_ledger(fleet)
            await make_ledger(fleet)
            async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
                for partition, owner in owners.items():
                    await producer.send_and_wait(
                        names.ledger, owner, key=OWNER, partition=partition
                    )
            await feed(fleet, ago=-HOUR // 12)
            for code, said in (await ended(fleet), await fleet.command("check")):
                assert code == Exit.LOST
                assert re.search(r"ends at \d+ in partition \d, and went up to \d+", said)
            assert await released(fleet) == dict.fromkeys(METERS, BUDGET)

    asyncio.run(scenario())


@pytest.mark.parametrize("key", [THERE.encode(), b"\xff"])
def test_a_ledger_that_is_damaged_is_lost_where_it_is(
    tmp_path: Path, servers: str, key: bytes
) -> None:
    async def scenario() -> None:
        async with spent(tmp_path, servers, ago=HOUR // 6) as fleet:
            names = fleet.config.kafka
            async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
                await producer.send_and_wait(names.ledger, b"no account", key=key, partition=1)
            for code, said in (await ended(fleet), await fleet.command("check")):
                assert code == Exit.LOST
                assert "is damaged in partition 1 (a" in said
            assert [*await accept_loss_later(fleet, hours=2)] == [1]
            await feed(fleet, ago=-2 * HOUR)
            await run_through(fleet)
            assert await released(fleet) == dict.fromkeys(METERS, 2 * BUDGET)

    asyncio.run(scenario())


def test_a_ledger_that_is_deleted_under_an_agent_gives_no_second_budget(
    tmp_path: Path, servers: str
) -> None:
    async def scenario() -> None:
        async with spent(tmp_path, servers, ago=HOUR // 6) as fleet:
            agent = await fleet.start()
            await agent.becomes("ready")
            await delete_ledger(fleet)
            await make_ledger(fleet)
            await feed(fleet, ago=-HOUR // 12)
            assert await agent.ended(120) == Exit.LOST
            assert (await ended(fleet))[0] == Exit.LOST
            assert await released(fleet) == dict.fromkeys(METERS, BUDGET)

    asyncio.run(scenario())


def test_a_position_that_knows_no_ledger_takes_the_one_that_is_there(
    tmp_path: Path, servers: str
) -> None:
    """As an agent of before ledgers had names has left it."""

    async def scenario() -> None:
        async with spent(tmp_path, servers, ago=HOUR // 6) as fleet:
            names = fleet.config.kafka
            async with watching(servers) as (_, admin):
                found = await restore.committed(admin, names, 2)
            old = {
                TopicPartition(names.input, partition): (
                    one.offset,
                    "meteragent/1 " + one.metadata.split(maxsplit=2)[2],
                )
                for partition, one in found.items()
            }
            for partition, offset in old.items():
                async with (
                    AIOKafkaProducer(
                        bootstrap_servers=servers, transactional_id=f"{names.group}-{names.input}-0"
                    ) as producer,
                    producer.transaction(),
                ):
                    await producer.send_offsets_to_transaction({partition: offset}, names.group)
            async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
                for partition in range(2):
                    await producer.send_and_wait(names.ledger, None, key=OWNER, partition=partition)
            await feed(fleet, ago=-HOUR // 12)
            await run_through(fleet)
            assert await released(fleet) == dict.fromkeys(METERS, BUDGET)
            for partition in range(2):
                kept = await restore.accounts(Clients(names), partition)
                assert json.loads(kept.reserved[OWNER])["group"] == names.group

    asyncio.run(scenario())
