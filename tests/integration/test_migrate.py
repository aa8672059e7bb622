"""Accounts follow their meters to more partitions, alone, whole, and wherever it is broken off."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import NewPartitions

from meteragent.commands.exit_codes import Exit
from meteragent.kafka import migrate, restore
from meteragent.kafka.clients import Clients
from meteragent.privacy.billing import load
from meteragent.stream.homes import Homes
from tests.integration.fleet import watching
from tests.integration.test_partitions import send
from tests.integration.tight import BUDGET, HOUR, Tight, blocks, decided, released

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.integration

METERS = [f"m-{number}" for number in range(24)]


async def feed(fleet: Tight, meters: list[str], *, ago: int, windows: int = 7) -> None:
    """Windows of each meter, the last of which ended so long ago, or ends so much later."""
    how = {"murmur2": "murmur2_random", "crc32": "consistent_random", "fnv1a": "fnv1a_random"}
    names = fleet.config.kafka
    records = list(blocks(meters, windows, ago=ago))
    await asyncio.to_thread(send, fleet.servers, names.input, records, how[names.partitioner])


async def run_through(fleet: Tight) -> None:
    """Let an agent decide what there is, and end it in good order."""
    agent = await fleet.start()
    await agent.becomes("ready")
    await fleet.all_done()
    await asyncio.sleep(2.5)  # the clock closes the last window
    await fleet.stop()


async def widen(fleet: Tight, partitions: int) -> None:
    """Give the input more partitions, as somebody does who runs the brokers."""
    async with watching(fleet.servers) as (_, admin):
        await admin.create_partitions({fleet.config.kafka.input: NewPartitions(partitions)})
        fleet.partitions = partitions
        for _ in range(50):
            [topic] = await admin.describe_topics([fleet.config.kafka.input])
            if len(topic["partitions"]) == partitions:
                return
            await asyncio.sleep(0.1)


@asynccontextmanager
async def grown(fleet: Tight, partitions: int, meters: list[str] = METERS) -> AsyncIterator[None]:
    """Meters that have spent their budget in few partitions, on an input that has more by now."""
    await fleet.create()
    try:
        await feed(fleet, meters, ago=HOUR // 6)
        await run_through(fleet)
        assert await released(fleet) == dict.fromkeys(meters, BUDGET)
        await widen(fleet, partitions)
        yield
    finally:
        await fleet.kill()


async def spend_again(fleet: Tight, meters: list[str] = METERS) -> None:
    """As much as is left, which is nothing: all windows lie in one horizon."""
    await feed(fleet, meters, ago=-HOUR // 12)
    await run_through(fleet)
    assert await released(fleet) == dict.fromkeys(meters, BUDGET)
    assert len(await decided(fleet)) > len(meters) * (BUDGET + 7)


async def accounts(fleet: Tight) -> dict[str, int]:
    """Meter -> the partition of its account; of each there is but one."""
    found: dict[str, int] = {}
    for partition in range(fleet.partitions):
        kept = await restore.accounts(Clients(fleet.config.kafka), partition)
        assert not found.keys() & kept.accounts.keys()
        found |= dict.fromkeys(kept.accounts, partition)
    return found


@pytest.mark.parametrize("partitioner", ["murmur2", "crc32", "fnv1a"])
def test_accounts_go_where_senders_put_their_meters(
    tmp_path: Path, servers: str, partitioner: str
) -> None:
    fleet = Tight(tmp_path, servers, partitions=2, kafka=f'partitioner = "{partitioner}"')

    async def scenario() -> None:
        async with grown(fleet, 5):
            agent = await fleet.start()
            assert await agent.ended() == Exit.TOPICS
            assert "run `meteragent ledger migrate`" in agent.log.read_text()
            code, said = await fleet.command("ledger", "migrate")
            assert code == 0, said
            homes = Homes(partitioner, 5)
            assert await accounts(fleet) == {meter: homes.of(meter) for meter in METERS}
            assert await fleet.command("ledger", "migrate") == (0, "0 accounts moved\n")
            await spend_again(fleet)

    asyncio.run(scenario())


def test_windows_that_are_over_are_closed_by_the_migration_itself(
    tmp_path: Path, servers: str
) -> None:
    """Nobody is sent back to `run`, which would send him here."""
    fleet = Tight(tmp_path, servers, partitions=2)

    async def scenario() -> None:
        async with grown(fleet, 3):
            clients = Clients(fleet.config.kafka)
            homes = Homes("murmur2", 2)
            records = list(blocks(METERS[:4], 1, ago=-60_000))
            async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
                for meter, block in records:
                    await producer.send_and_wait(
                        clients.kafka.input, block, partition=homes.of(meter)
                    )
            code, said = await fleet.command("ledger", "migrate")
            assert code == Exit.UNAVAILABLE
            assert "has readings that are waited for until 20" in said
            fleet.partitions = 2  # of the output, until it is widened too
            before = await decided(fleet)
            fleet.partitions = 3
            now = int(time.time() * 1000) + HOUR
            key = fleet.config.agent.noise_key()
            done = await migrate.migrate(fleet.config, key, clients, now)
            assert done.windows == 4
            assert len(await decided(fleet)) == len(before) + 4
            await feed(fleet, METERS, ago=-HOUR // 4)
            await run_through(fleet)
            assert await released(fleet) == dict.fromkeys(METERS, BUDGET)
            assert len(await decided(fleet)) > len(before) + 4

    asyncio.run(scenario())


def test_agents_that_are_started_again_and_again_find_no_half_moved_ledger(
    tmp_path: Path, servers: str
) -> None:
    """As by a service manager, every half second, while many accounts move."""
    fleet = Tight(tmp_path, servers, partitions=1, kafka='partitioner = "murmur2"')
    meters = [f"m-{number}" for number in range(3000)]

    async def start_again_and_again() -> None:
        while True:
            agent = await fleet.start()
            await asyncio.wait([asyncio.create_task(agent.ended(5))], timeout=5)
            if agent.process.returncode is None:
                agent.signal(signal.SIGKILL)
                await agent.ended()

    async def scenario() -> None:
        with patch.object(migrate, "AT_ONCE", 50):
            async with grown(fleet, 3, meters):
                restarting = [asyncio.create_task(start_again_and_again()) for _ in range(2)]
                await asyncio.sleep(2)
                now, key = int(time.time() * 1000), fleet.config.agent.noise_key()
                clients = Clients(fleet.config.kafka)
                for _ in range(20):
                    try:
                        await migrate.migrate(fleet.config, key, clients, now)
                        break
                    except Exception as error:  # noqa: BLE001 - whatever an agent does to it
                        print(type(error).__name__, error)  # noqa: T201 - shown if all fails
                for task in restarting:
                    task.cancel()
                await asyncio.wait(restarting)
                await fleet.kill()
                assert len(await accounts(fleet)) == len(meters)
                await spend_again(fleet, meters)

    asyncio.run(scenario())


class BrokenOff(Exception):
    """In the middle."""


@pytest.mark.parametrize("step", ["mark", "widen", "move", "finish"])
def test_a_migration_that_was_broken_off_is_waited_for_and_goes_on(
    tmp_path: Path, servers: str, step: str
) -> None:
    fleet = Tight(tmp_path, servers, partitions=2)
    real, calls = getattr(migrate, step), []

    async def breaks(*arguments: object, **named: object) -> object:
        calls.append(arguments)
        if len(calls) == (1 if step == "widen" else 2):
            raise BrokenOff
        return await real(*arguments, **named)

    async def scenario() -> None:
        async with grown(fleet, 4):
            now, key = int(time.time() * 1000), fleet.config.agent.noise_key()
            clients = Clients(fleet.config.kafka)
            with patch.object(migrate, step, breaks), pytest.raises(BrokenOff):
                await migrate.migrate(fleet.config, key, clients, now)
            agent = await fleet.start()
            if step in {"move", "finish"}:
                await agent.says("agent failed", error="LedgerMoving")
                agent.signal(signal.SIGTERM)
                assert await agent.ended() == 0
            else:
                assert await agent.ended() == Exit.TOPICS
            code, said = await fleet.command("ledger", "migrate")
            assert code == 0, said
            homes = Homes("murmur2", 4)
            assert await accounts(fleet) == {meter: homes.of(meter) for meter in METERS}
            await spend_again(fleet)

    asyncio.run(scenario())


def test_a_partitioner_that_is_not_the_senders_is_refused_and_the_one_that_fits_is_named(
    tmp_path: Path, servers: str
) -> None:
    fleet = Tight(tmp_path, servers, partitions=2, kafka='partitioner = "crc32"')

    async def scenario() -> None:
        async with grown(fleet, 3):
            fleet.kafka = ""
            fleet.write()
            code, said = await fleet.command("ledger", "migrate")
            assert code == Exit.TOPICS
            assert (
                'write kafka.partitioner = "crc32" if senders use it, as all of them lie so' in said
            )
            fleet.kafka = 'partitioner = "crc32"'
            fleet.write()
            code, said = await fleet.command("ledger", "migrate")
            assert code == 0, said
            fleet.kafka = ""
            fleet.write()
            agent = await fleet.start()
            assert await agent.ended() == Exit.TOPICS
            logged = agent.log.read_text().replace('\\"', '"')
            for words in (logged, (await fleet.command("check"))[1]):
                assert (
                    'write kafka.partitioner = "crc32" if senders use it, as all of them lie so'
                    in words
                )
            fleet.kafka = 'partitioner = "crc32"'
            fleet.write()
            await spend_again(fleet)

    asyncio.run(scenario())


def test_from_one_partition_it_must_be_said_how_senders_choose(
    tmp_path: Path, servers: str
) -> None:
    fleet = Tight(tmp_path, servers, partitions=1)

    async def scenario() -> None:
        async with grown(fleet, 3):
            code, said = await fleet.command("ledger", "migrate")
            assert code == Exit.CONFIGURATION
            assert "kafka.partitioner: is not set, and one partition does not show" in said
            fleet.kafka = 'partitioner = "murmur2"'
            fleet.write()
            assert (await fleet.command("ledger", "migrate"))[0] == 0
            await spend_again(fleet)

    asyncio.run(scenario())


def test_accounts_of_one_meter_in_several_partitions_add_up(tmp_path: Path, servers: str) -> None:
    """As senders without keys have left them, before their readings were rejected."""
    fleet = Tight(tmp_path, servers, partitions=3)

    async def scenario() -> None:
        await fleet.create()
        try:
            await feed(fleet, METERS, ago=HOUR // 6, windows=2)  # of which one is released
            await run_through(fleet)
            names, homes = fleet.config.kafka, Homes("murmur2", 3)
            before: dict[str, bytes] = {}
            for partition in range(3):
                before |= (await restore.accounts(Clients(names), partition)).accounts
            async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
                for meter in METERS[:12]:
                    for partition in {0, 1, 2} - {homes.of(meter)}:
                        await producer.send_and_wait(
                            names.ledger, before[meter], key=meter.encode(), partition=partition
                        )
            agent = await fleet.start()
            assert await agent.ended() == Exit.TOPICS
            for said in (agent.log.read_text(), (await fleet.command("check"))[1]):
                assert "run `meteragent ledger migrate --gather`" in said
            code, said = await fleet.command("ledger", "migrate", "--gather")
            assert code == 0, said
            assert await accounts(fleet) == {meter: homes.of(meter) for meter in METERS}
            [share] = [one.share for one in fleet.config.assigned if not one.prefix]
            for partition in range(3):
                kept = (await restore.accounts(Clients(names), partition)).accounts
                for meter, record in kept.items():
                    [now], [then] = load([share], [record]), load([share], [before[meter]])
                    spent = sum(now.history(0).values())
                    once = sum(then.history(0).values())
                    assert 0 < spent == (3 if meter in METERS[:12] else 1) * once
        finally:
            await fleet.kill()

    asyncio.run(scenario())


def test_an_account_that_is_damaged_is_said_to_be_and_none_moves(
    tmp_path: Path, servers: str
) -> None:
    fleet = Tight(tmp_path, servers, partitions=2)

    async def scenario() -> None:
        async with grown(fleet, 3, METERS[:4]):
            names, at = fleet.config.kafka, Homes("murmur2", 2).of(METERS[0])
            async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
                await producer.send_and_wait(
                    names.ledger, b"mtr2" + bytes(9), key=METERS[0].encode(), partition=at
                )
            code, said = await fleet.command("ledger", "migrate")
            assert code == Exit.LOST
            assert f"is damaged in partition {at}" in said
            fleet.partitions = 2  # of the ledger, which was not widened
            assert (await accounts(fleet))[METERS[0]] == at

    asyncio.run(scenario())
