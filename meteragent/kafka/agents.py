"""All the work that a configuration asks for, in one process: an agent for each kind of it."""

import asyncio
import time
from collections.abc import Callable, Mapping

from meteragent.config import Config
from meteragent.config.works import Work, works
from meteragent.kafka.agent import SIGNALS, Agent
from meteragent.kafka.clients import Clients
from meteragent.kafka.loop import Clock
from meteragent.kafka.preparing import PrepareGroups, nothing
from meteragent.privacy.entropy import NoiseKey
from meteragent.watch.events import Listener


class Agents:
    """One instance: its agents begin together, and end together."""

    def __init__(
        self,
        config: Config,
        key: NoiseKey,
        tell: Callable[[Work], Listener],
        clients: Callable[[Config], Clients] = lambda config: Clients(config.kafka),
        clock: Clock = time.monotonic,
        wall: Clock = time.time,
    ) -> None:
        """`tell`: who is told of each work; `clients`: what reaches Kafka for it."""
        self.of: Mapping[Work, Agent] = {
            work: Agent(
                own,
                key,
                tell(work),
                clients(own),
                clock,
                wall,
                nothing if work is Work.METERS else PrepareGroups(work, config, key, tell(work)),
            )
            for work, own in works(config).items()
        }

    async def run(self) -> None:
        """Run until a signal or `stop`; raise what will not get better by waiting."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self.stop)
        try:
            ends = map(self._to_its_end, self.of.values())
            for end in await asyncio.gather(*ends, return_exceptions=True):
                if end is not None:
                    raise end
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)

    async def _to_its_end(self, agent: Agent) -> None:
        """One that ends takes the others with it, and lets them commit first."""
        try:
            await agent.work()
        finally:
            self.stop()

    def stop(self) -> None:
        """Commit what there is, and end."""
        for agent in self.of.values():
            agent.stop()

    @property
    def ready(self) -> bool:
        """Whether every partition of ours is running, whatever it works on."""
        return all(agent.ready for agent in self.of.values())
