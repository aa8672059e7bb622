"""The agents of a schedule: they are born, killed, stopped and frozen, and must come to rest."""

import asyncio
from asyncio import Task
from collections.abc import Mapping
from functools import partial

from aiokafka.errors import IllegalOperation, IllegalStateError, KafkaError

from meteragent.config import Config
from meteragent.errors import BrokerUnreachable, MeterAgentError
from meteragent.kafka.agents import Agents
from meteragent.kafka.portions import TransactionTooLong
from meteragent.kafka.worker import Worker
from meteragent.stream.partition import State
from meteragent.watch.events import AgentFailed, Occurrence, PartitionFailed
from tests.given import KEY
from tests.schedules.check import Broken
from tests.schedules.clients import ModelClients
from tests.schedules.members import Members
from tests.schedules.network import Network
from tests.schedules.world import AnyWorld

BY_THE_NETWORK = (
    *(KafkaError, BrokerUnreachable, TimeoutError, TransactionTooLong),
    asyncio.CancelledError,
)
"""What a partition, or an agent, may fail for in here ..."""
BY_MISUSE = (IllegalOperation, IllegalStateError)
"""... and which of these says that a client was not used as it should be."""


class Instances:
    """Whoever is alive."""

    def __init__(self, network: Network, members: Mapping[str, Members], world: AnyWorld) -> None:
        """`members`: of each consumer group."""
        self._network = network
        self._loop = network.loop
        self._members = members
        self._world = world
        self.may_end_with: tuple[type[MeterAgentError], ...] = ()
        """What an agent may meet in this schedule that ends it."""
        self.ended: list[str] = []
        """Who did."""
        self.configurations: tuple[Config, ...] = (world.config,)
        """Of which each that is born has one."""
        self._born = 0
        self._agents: dict[str, Agents] = {}
        self._stopped: dict[str, Task[None]] = {}
        self._tasks: dict[str, Task[None]] = {}
        self._ahead: dict[str, int] = {}
        """Whose clock is wrong, and by how many seconds of the meters'."""

    def give_birth(self) -> None:
        """Start another agent."""
        self._born += 1
        home, loop = f"i{self._born}", self._loop
        config = loop.random.choice(self.configurations)

        async def live() -> None:
            agent = Agents(
                config,
                KEY,
                lambda work: partial(self._hear, f"{home} {work}"),
                self._clients,
                loop.time,
                partial(self._wall, home),
            )
            self._agents[home] = agent
            try:
                await agent.run()
            except self.may_end_with:
                self.ended.append(home)
                self._agents.pop(home, None)
                return
            if not agent.stopping:
                raise Broken(f"{home} has ended by itself")

        self._tasks[home] = loop.spawn(live(), home)
        self._tasks[home].add_done_callback(lambda task: loop.fail(task.exception()))

    def _clients(self, config: Config) -> ModelClients:
        return ModelClients(config.kafka, self._network, self._members[config.kafka.group])

    def _wall(self, home: str) -> float:
        return self._network.wall() / 1000 + self._ahead.get(home, 0)

    def set_clock(self, home: str, ahead: int) -> None:
        """Set somebody's clock."""
        self._ahead[home] = ahead

    def set_clocks_right(self) -> None:
        """Everybody's."""
        self._ahead.clear()

    def _hear(self, home: str, event: Occurrence) -> None:
        self._loop.say(home, event)
        if isinstance(event, PartitionFailed | AgentFailed):
            error = event.error
            expected = (*BY_THE_NETWORK, *self.may_end_with)
            if isinstance(error, BY_MISUSE) or not isinstance(error, expected):
                self._loop.fail(error)

    @property
    def nobody(self) -> bool:
        """Whether nobody is alive."""
        return not self._agents

    def drawn(self) -> str | None:
        """Somebody, if there is anybody."""
        return self._loop.random.choice([*self._agents]) if self._agents else None

    def kill(self, home: str) -> None:
        """As SIGKILL does; the group notices later, and somebody takes the place."""
        del self._agents[home]
        self._loop.kill(home)
        for members in self._members.values():
            self._loop.call_later(2 * self._loop.random.random(), members.bury, home)
        self.give_birth()

    def kill_all(self) -> None:
        """Everybody who is alive."""
        for home in [*self._agents]:
            self.kill(home)

    def stop(self, home: str) -> None:
        """As SIGTERM does; somebody takes the place."""
        self._agents.pop(home).stop()
        self._stopped[home] = self._tasks[home]
        self.give_birth()

    @property
    def rest(self) -> bool:
        """Whether all that was written is decided and committed, and everybody says so."""
        parts = [part for agents in self._agents.values() for part in agents.of.values()]
        workers = [w for part in parts if part.group for w in part.group.workers.values()]
        wanted = [(j.kafka.input, p) for j in self._world.jobs for p in range(j.partitions)]
        return (
            sorted(worker.source for worker in workers) == sorted(wanted)
            and all(map(self._rests, workers))
            and all(agent.ready and agent.alive for agent in self._agents.values())
            and not any(lag for part in parts for lag in part.lags().values())
            and all(task.done() for task in self._stopped.values())
        )

    def _rests(self, worker: Worker) -> bool:
        intake = worker.intake
        if worker.life.state is not State.RUNNING or intake is None:
            return False
        position = intake.pipeline.position()
        return (
            intake.next == self._network.kafka.log(tuple(worker.source)).read_until
            and position == worker.handover.committed
            and position.offset == position.processed
            and not (intake.busy or intake.waiting)
        )
