"""The agent as a whole, where a test on a broker would have to be lucky."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from meteragent.kafka.agent import Agent
from meteragent.watch.watched import Clocks
from tests.given import KEY
from tests.schedules.clients import ModelClients
from tests.schedules.kafka_model import Kafka
from tests.schedules.loop import Loop
from tests.schedules.members import Members
from tests.schedules.network import Network
from tests.schedules.world import PARTITIONS, START, world

if TYPE_CHECKING:
    from collections.abc import Callable

    from meteragent.watch.events import Occurrence
    from tests.schedules.producer import Producer


class Signalled(ModelClients):
    """Does something in the last step of the start, when the policies have been published."""

    signal: Callable[[], None]
    _publisher: object = None

    def producer(self, transactional_id: str | None) -> Producer:
        made = super().producer(transactional_id)
        self._publisher = None if transactional_id else made
        return made

    async def close(self, client: Any) -> None:  # noqa: ANN401 - any of aiokafka's
        await super().close(client)
        if client is self._publisher:
            self.signal()


def test_how_far_a_group_got_outlasts_it() -> None:
    """What stood still is counted from when the last one got on, and not from the start."""
    loop = Loop(0)
    config = world(0).config
    network = Network(loop, Kafka(), lambda: START)
    members = Members(network, config.kafka.input, PARTITIONS)
    clients = ModelClients(config.kafka, network, members)
    agent = Agent(config, KEY, lambda _: None, clients, loop.time)

    async def scenario() -> None:
        running = asyncio.ensure_future(agent.run())
        await asyncio.sleep(50)
        agent.stop()
        await running

    loop.run(asyncio.wait_for(scenario(), 100))
    assert agent.group is None
    assert loop.time() >= 50
    assert agent.stood_still < 10


def test_before_it_has_joined_anybody_it_says_nothing_of_clocks() -> None:
    loop = Loop(0)
    config = world(0).config
    network = Network(loop, Kafka(), lambda: START)
    clients = ModelClients(config.kafka, network, Members(network, config.kafka.input, PARTITIONS))
    agent = Agent(config, KEY, lambda _: None, clients, loop.time)
    assert agent.clocks == Clocks()
    assert not agent.pipelines()
    assert not agent.ready
    loop.close()


def test_a_signal_at_the_end_of_the_start_is_heard_and_policies_are_published() -> None:
    loop = Loop(0)
    config = world(0).config
    network = Network(loop, Kafka(), lambda: START)
    clients = Signalled(config.kafka, network, Members(network, config.kafka.input, PARTITIONS))
    told: list[Occurrence] = []
    agent = Agent(config, KEY, told.append, clients, loop.time)
    clients.signal = agent.stop
    loop.run(asyncio.wait_for(agent.run(), 60))
    assert agent.stopping
    published = network.kafka.log((config.kafka.policies, 0)).entries
    assert [entry.key.decode() for entry in published] == [one.id for one in config.policies]
    assert [json.loads(entry.value) for entry in published] == [
        one.document() for one in config.policies
    ]
    assert told == []  # it has not so much as tried to join the group
