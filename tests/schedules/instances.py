"""The agents of a schedule: they are born, killed, stopped and frozen, and must come to rest."""

import asyncio
from asyncio import Task

from aiokafka.errors import IllegalOperation, IllegalStateError, KafkaError

from meteragent.errors import BrokerUnreachable
from meteragent.kafka.agent import Agent
from meteragent.kafka.worker import Worker
from meteragent.stream.partition import State
from meteragent.watch.events import AgentFailed, Occurrence, PartitionFailed
from tests.schedules.check import Broken
from tests.schedules.clients import ModelClients
from tests.schedules.members import Members
from tests.schedules.network import Network
from tests.schedules.world import KEY, PARTITIONS, World

BY_THE_NETWORK = (KafkaError, BrokerUnreachable, TimeoutError, asyncio.CancelledError)
"""What a partition, or an agent, may fail for in here ..."""
BY_MISUSE = (IllegalOperation, IllegalStateError)
"""... and which of these says that a client was not used as it should be."""


class Instances:
    """Whoever is alive."""

    def __init__(self, network: Network, members: Members, world: World) -> None:
        self._network = network
        self._loop = network.loop
        self._members = members
        self._world = world
        self._born = 0
        self._agents: dict[str, Agent] = {}
        self._stopped: dict[str, Task[None]] = {}
        self._tasks: dict[str, Task[None]] = {}

    def give_birth(self) -> None:
        """Start another agent."""
        self._born += 1
        home, config, loop = f"i{self._born}", self._world.config, self._loop

        async def live() -> None:
            clients = ModelClients(config.kafka, self._network, self._members)
            agent = Agent(config, KEY, lambda event: self._hear(home, event), clients, loop.time)
            self._agents[home] = agent
            await agent.run()
            if not agent.stopping:
                raise Broken(f"{home} has ended by itself")

        self._tasks[home] = loop.spawn(live(), home)
        self._tasks[home].add_done_callback(lambda task: loop.fail(task.exception()))

    def _hear(self, home: str, event: Occurrence) -> None:
        self._loop.say(home, event)
        if isinstance(event, PartitionFailed | AgentFailed):
            error = event.error
            if isinstance(error, BY_MISUSE) or not isinstance(error, BY_THE_NETWORK):
                self._loop.fail(error)

    def drawn(self) -> str | None:
        """Somebody, if there is anybody."""
        return self._loop.random.choice([*self._agents]) if self._agents else None

    def kill(self, home: str) -> None:
        """As SIGKILL does; the group notices later, and somebody takes the place."""
        del self._agents[home]
        self._loop.kill(home)
        self._loop.call_later(2 * self._loop.random.random(), self._members.bury, home)
        self.give_birth()

    def stop(self, home: str) -> None:
        """As SIGTERM does; somebody takes the place."""
        self._agents.pop(home).stop()
        self._stopped[home] = self._tasks[home]
        self.give_birth()

    @property
    def rest(self) -> bool:
        """Whether all that was written is decided and committed, and everybody says so."""
        workers = [w for a in self._agents.values() if a.group for w in a.group.workers.values()]
        return (
            sorted(worker.partition for worker in workers) == [*range(PARTITIONS)]
            and all(map(self._rests, workers))
            and all(agent.ready and agent.alive for agent in self._agents.values())
            and not any(lag for agent in self._agents.values() for lag in agent.lags().values())
            and all(task.done() for task in self._stopped.values())
        )

    def _rests(self, worker: Worker) -> bool:
        intake = worker.intake
        if worker.life.state is not State.RUNNING or intake is None:
            return False
        place = self._world.config.kafka.input, worker.partition
        position = intake.pipeline.position()
        return (
            intake.next == len(self._network.kafka.log(place).entries)
            and position == worker.handover.committed
            and position.offset == position.processed
            and not (intake.busy or intake.waiting)
        )
