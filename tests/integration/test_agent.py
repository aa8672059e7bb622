"""An agent starts when Kafka is there, says when it does not get on, and fails in parts.

These run the agent inside the test, to ask it what its probes would say.
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import NewPartitions, RecordsToDelete
from aiokafka.errors import IllegalOperation, KafkaError, ProducerFenced
from aiokafka.structs import OffsetAndMetadata

from meteragent.errors import LedgerLost, PartitionsChanged, TopicReplaced, TopicsUnfit
from meteragent.kafka import clients, group
from meteragent.kafka.agent import Agent
from meteragent.stream.homes import Homes
from meteragent.stream.partition import State
from meteragent.watch import events
from tests.integration.fleet import QUICK, Fleet, watching
from tests.integration.load import Load, produce
from tests.integration.oracle import assert_exactly_once, read

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.integration.local_broker import Broker

pytestmark = pytest.mark.integration


class Run:
    """An agent at work, and what it has told."""

    def __init__(self, fleet: Fleet, stumbles: Callable[[events.Occurrence], None]) -> None:
        config = fleet.config
        self.told: list[events.Occurrence] = []
        self._stumbles = stumbles
        self.agent = Agent(config, config.agent.noise_key(), self._tell)
        self.task = asyncio.create_task(self.agent.run())

    def _tell(self, event: events.Occurrence) -> None:
        self.told.append(event)
        self._stumbles(event)

    def failed(self) -> set[int]:
        """The partitions that have failed."""
        return {e.partition for e in self.told if isinstance(e, events.PartitionFailed)}

    async def until(self, holds: Callable[[], bool], seconds: float = 30) -> None:
        """Wait for something that the agent does."""
        async with asyncio.timeout(seconds):
            while not holds():
                if self.task.done():
                    await self.task
                    pytest.fail("the agent has ended")
                await asyncio.sleep(0.02)


@asynccontextmanager
async def running(
    fleet: Fleet, stumbles: Callable[[events.Occurrence], None] = lambda _: None
) -> AsyncIterator[Run]:
    """Run an agent; it ends within its deadlines, whatever Kafka does."""
    run = Run(fleet, stumbles)
    try:
        yield run
    finally:
        run.agent.stop()
        begun = time.monotonic()
        await asyncio.wait([run.task], timeout=60)
        assert run.task.done()
        assert time.monotonic() - begun < fleet.config.agent.drain_deadline / 1000 + 10


def test_an_agent_waits_for_a_broker_that_is_not_there_yet(tmp_path: Path, broker: Broker) -> None:
    async def scenario() -> None:
        started = await asyncio.to_thread(broker, "start", *QUICK)
        fleet = Fleet(tmp_path, started["bootstrap"], partitions=2)
        await fleet.create()
        await asyncio.to_thread(broker, "stop", "--keep")
        async with running(fleet) as run:
            await run.until(lambda: len(run.told) >= 2)
            assert not run.agent.ready
            assert run.agent.alive
            waits = [e.retry_in for e in run.told if isinstance(e, events.AgentFailed)]
            assert waits[1] > waits[0]
            await asyncio.to_thread(broker, "start", *QUICK)
            await run.until(lambda: run.agent.ready)

    asyncio.run(scenario())


def test_an_agent_whose_brokers_are_silent_is_not_alive_until_they_answer(
    tmp_path: Path, broker: Broker
) -> None:
    async def scenario() -> None:
        started = await asyncio.to_thread(broker, "start", *QUICK)
        deadline = 'progress_deadline = "3s"'
        fleet = Fleet(tmp_path, started["bootstrap"], partitions=2, agent=deadline)
        await fleet.create()
        async with running(fleet) as run:
            await run.until(lambda: run.agent.ready)
            await asyncio.to_thread(broker, "freeze", "1")
            await run.until(lambda: not run.agent.alive, seconds=6)
            await asyncio.to_thread(broker, "thaw", "1")
            await run.until(lambda: run.agent.alive and run.agent.ready)

    asyncio.run(scenario())


def test_an_agent_ends_in_time_though_its_broker_is_dead(tmp_path: Path, broker: Broker) -> None:
    async def scenario() -> None:
        started = await asyncio.to_thread(broker, "start", *QUICK)
        fleet = Fleet(tmp_path, started["bootstrap"], partitions=2)
        await fleet.create()
        async with running(fleet) as run:
            await run.until(lambda: run.agent.ready)
            topic = fleet.config.kafka.input
            await produce(fleet.servers, topic, Load(1, meters=200, partitions=2), 0)
            await asyncio.to_thread(broker, "kill", "1")

    asyncio.run(scenario())


def test_a_partition_that_cannot_be_restored_ends_the_agent(tmp_path: Path, kafka: str) -> None:
    async def scenario() -> None:
        fleet = Fleet(tmp_path, kafka, partitions=3)
        await fleet.create()
        names = fleet.config.kafka
        async with AIOKafkaProducer(bootstrap_servers=kafka) as producer:
            there = next(m for m in ("m-0", "m-1", "m-2", "m-3") if Homes("murmur2", 3).of(m) == 1)
            await producer.send_and_wait(
                names.ledger, b"no account", key=there.encode(), partition=1
            )
        async with running(fleet) as run:
            with pytest.raises(LedgerLost, match="is damaged in partition 1"):
                await run.until(lambda: False)
            assert run.failed() == {1}
            assert not run.agent.ready
        assert not await read(kafka, names.output, 1)

    asyncio.run(scenario())


def failures(run: Run) -> list[events.PartitionFailed]:
    return [e for e in run.told if isinstance(e, events.PartitionFailed)]


def test_offsets_of_another_topic_of_that_name_are_refused(tmp_path: Path, kafka: str) -> None:
    async def scenario() -> None:
        fleet = Fleet(tmp_path, kafka, partitions=2)
        await fleet.create()
        names = fleet.config.kafka
        metadata = "meteragent/1 0:1000"
        async with (
            AIOKafkaProducer(bootstrap_servers=kafka, transactional_id=fleet.name) as producer,
            producer.transaction(),
        ):
            offsets = {TopicPartition(names.input, 0): OffsetAndMetadata(1000, metadata)}
            await producer.send_offsets_to_transaction(offsets, names.group)
        async with running(fleet) as run:
            await run.until(lambda: bool(failures(run)))
            assert isinstance(failures(run)[0].error, TopicReplaced)
            assert run.failed() == {0}

    asyncio.run(scenario())


def test_an_input_with_new_partitions_is_not_read_with_old_accounts(
    tmp_path: Path, kafka: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "METADATA_MS", 500)

    async def scenario() -> None:
        fleet = Fleet(tmp_path, kafka, partitions=2)
        await fleet.create()
        async with running(fleet) as run:
            await run.until(lambda: run.agent.ready)
            async with watching(kafka) as (_, admin):
                await admin.create_partitions({fleet.config.kafka.input: NewPartitions(3)})
            with pytest.raises(TopicsUnfit, match="accounts would not be found"):
                await run.until(lambda: False)
        assert any(
            isinstance(e.error, PartitionsChanged)
            for e in run.told
            if isinstance(e, events.AgentFailed)
        )

    asyncio.run(scenario())


def test_what_fails_while_partitions_change_hands_is_told_and_tried_again(
    tmp_path: Path, kafka: str
) -> None:
    async def scenario() -> None:
        fleet = Fleet(tmp_path, kafka, partitions=2)
        await fleet.create()
        faults = [KafkaError("planted"), KafkaError("planted")]

        def stumbles(event: events.Occurrence) -> None:
            if faults and isinstance(event, events.Rebalanced):
                raise faults.pop()

        async with running(fleet, stumbles) as run:
            await run.until(lambda: run.agent.ready)
            assert len([e for e in run.told if isinstance(e, events.AgentFailed)]) == 2
            assert not faults

    asyncio.run(scenario())


def test_an_agent_drains_all_its_partitions_when_it_ends(tmp_path: Path, kafka: str) -> None:
    async def scenario() -> None:
        fleet = Fleet(tmp_path, kafka, partitions=4)
        await fleet.create()
        async with running(fleet) as run:
            await run.until(lambda: run.agent.ready)
        last = {e.partition: e.state for e in run.told if isinstance(e, events.PartitionMoved)}
        assert last == dict.fromkeys(range(4), State.LOST)
        assert not run.failed()

    asyncio.run(scenario())


def test_partitions_that_stay_go_on_where_they_stood(tmp_path: Path, kafka: str) -> None:
    async def scenario() -> None:
        fleet = Fleet(tmp_path, kafka)
        await fleet.create()
        load = Load(2, meters=600)
        production = asyncio.create_task(produce(kafka, fleet.config.kafka.input, load, 8))
        async with running(fleet) as first:
            await first.until(lambda: first.agent.ready)
            async with running(fleet) as second:
                await second.until(lambda: second.agent.ready)
            # A group on a slow machine may deal again what it has dealt.
            await first.until(lambda: shares(first)[-1] == 6 and 3 in shares(first))
            await first.until(lambda: first.agent.ready)
            dealt = [set[int](), *map(set, rebalances(first))]
            gained = [number for old, new in pairwise(dealt) for number in new - old]
            restored = [e.partition for e in first.told if isinstance(e, events.PartitionRestored)]
            assert sorted(restored) == sorted(gained)
            assert len(gained) < sum(shares(first))
            await production
            await fleet.all_done()
            assert not first.failed()
        await assert_exactly_once(kafka, fleet.config, fleet.partitions)

    asyncio.run(scenario())


def shares(run: Run) -> list[int]:
    """How many partitions it had, one rebalance after the other."""
    return [len(partitions) for partitions in rebalances(run)]


def rebalances(run: Run) -> list[tuple[int, ...]]:
    return [e.partitions for e in run.told if isinstance(e, events.Rebalanced)]


def test_who_was_fenced_goes_on_from_what_is_committed(tmp_path: Path, kafka: str) -> None:
    async def scenario() -> None:
        fleet = Fleet(tmp_path, kafka)
        await fleet.create()
        names = fleet.config.kafka
        async with running(fleet) as run:
            await run.until(lambda: run.agent.ready)
            for partition in range(fleet.partitions):
                name = f"{names.group}-{names.input}-{partition}"
                async with AIOKafkaProducer(bootstrap_servers=kafka, transactional_id=name):
                    pass
            await produce(kafka, names.input, Load(3, meters=600), 0)
            await fleet.all_done()
            assert run.failed() == set(range(fleet.partitions))
            assert {type(e.error) for e in failures(run)} <= {ProducerFenced, IllegalOperation}
        await assert_exactly_once(kafka, fleet.config, fleet.partitions)

    asyncio.run(scenario())


def test_the_wall_clock_closes_windows_where_nothing_is_left_to_read(
    tmp_path: Path, kafka: str
) -> None:
    async def scenario() -> None:
        fleet = Fleet(tmp_path, kafka, partitions=1)
        await fleet.create()
        names = fleet.config.kafka
        start = int(time.time() * 1000) - 600_000
        async with AIOKafkaProducer(bootstrap_servers=kafka) as producer:
            for ts in (start, start + 10_000):
                reading = {"meter_id": "m", "ts": ts, "value": 400}
                await producer.send_and_wait(names.input, json.dumps(reading).encode())
        async with running(fleet) as run:
            # A slow machine may commit the readings first, and the window with the tick after it.
            await run.until(
                lambda: any(isinstance(e, events.TransactionEnded) and e.windows for e in run.told)
            )
        first = await read(kafka, names.output, 0)
        assert first
        async with running(fleet) as run:
            await run.until(lambda: run.agent.ready)
            await asyncio.sleep(1.5)  # a tick of the wall clock, which must find nothing to do
        assert [r.value for r in await read(kafka, names.output, 0)] == [r.value for r in first]

    asyncio.run(scenario())


def test_back_pressure_changes_nothing_that_comes_out(
    tmp_path: Path, kafka: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group, "MOST_WAITING", 1)
    monkeypatch.setattr(group, "LEAST_WAITING", 1)
    paused: list[tuple[TopicPartition, ...]] = []
    pause = AIOKafkaConsumer.pause

    def noted(consumer: AIOKafkaConsumer, *sources: TopicPartition) -> None:
        paused.append(sources)
        pause(consumer, *sources)

    monkeypatch.setattr(AIOKafkaConsumer, "pause", noted)

    async def scenario() -> None:
        fleet = Fleet(tmp_path, kafka, partitions=2, agent="max_batch = 100")
        await fleet.create()
        async with running(fleet):
            load = Load(1, meters=300, partitions=2)
            await produce(kafka, fleet.config.kafka.input, load, 0)
            await fleet.all_done()
        await assert_exactly_once(kafka, fleet.config, fleet.partitions)
        assert len(paused) > 10

    asyncio.run(scenario())


def test_records_that_open_windows_needed_and_kafka_deleted_are_counted(
    tmp_path: Path, kafka: str
) -> None:
    async def scenario() -> None:
        fleet = Fleet(tmp_path, kafka, partitions=1)
        await fleet.create()
        topic = fleet.config.kafka.input
        async with AIOKafkaProducer(bootstrap_servers=kafka) as producer:
            for number in range(5):
                reading = {"meter_id": f"m{number}", "ts": int(time.time() * 1000), "value": 4}
                await producer.send_and_wait(topic, json.dumps(reading).encode())
        async with running(fleet):
            await fleet.all_done()
        async with watching(kafka) as (_, admin):
            await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(3)})
        async with running(fleet) as run:
            await run.until(lambda: run.agent.ready)
            restored = [e for e in run.told if isinstance(e, events.PartitionRestored)]
            assert [e.lost for e in restored] == [3]

    asyncio.run(scenario())
