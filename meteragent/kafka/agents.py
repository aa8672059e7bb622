"""All the work that a configuration asks for, in one process: an agent for each kind of it."""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial

from meteragent.config import Config
from meteragent.config.works import Work, works
from meteragent.kafka.agent import Agent
from meteragent.kafka.clients import Clients
from meteragent.kafka.decode_once import DecodedOnce
from meteragent.kafka.preparing import PrepareGroups, nothing
from meteragent.privacy.entropy import NoiseKey
from meteragent.process.instance import heeded
from meteragent.process.loop import Clock
from meteragent.stream.pipeline import Pipeline
from meteragent.watch.events import Listener
from meteragent.watch.watched import Clocks


def shown(works: Collection[Work]) -> Work:
    """The work whose partitions and accounts the status page shows: what releases."""
    return Work.METERS if Work.METERS in works else Work.GROUPS


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
        todo = works(config)
        both = {Work.METERS, Work.HOMES} <= todo.keys()
        once = DecodedOnce(config) if both else None
        self.of: Mapping[Work, Agent] = {
            work: Agent(
                own,
                key,
                tell(work),
                clients(own),
                clock,
                wall,
                partial(nothing, once=once)
                if work is Work.METERS
                else PrepareGroups(work, config, key, tell(work), once),
            )
            for work, own in todo.items()
        }

    async def run(self) -> None:
        """Run until a signal or `stop`; raise what will not get better by waiting."""
        with heeded(self.stop):
            ends = map(self._to_its_end, self.of.values())
            for end in await asyncio.gather(*ends, return_exceptions=True):
                if end is not None:
                    raise end

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
    def shown(self) -> Work:
        """The work whose partitions and accounts the status page shows: what releases."""
        return shown(self.of)

    @property
    def _shown(self) -> Agent:
        return self.of[self.shown]

    # What is asked of an agent by those who watch it.

    @property
    def ready(self) -> bool:
        """Whether every partition of ours is running, whatever it works on."""
        return all(agent.ready for agent in self.of.values())

    @property
    def alive(self) -> bool:
        """Whether all get on."""
        return all(agent.alive for agent in self.of.values())

    @property
    def stopping(self) -> bool:
        """Whether it has been told to end."""
        return any(agent.stopping for agent in self.of.values())

    @property
    def stood_still(self) -> float:
        """For how many seconds one of them has not got on."""
        return max(agent.stood_still for agent in self.of.values())

    @property
    def fingerprint(self) -> str:
        """Of the noise key."""
        return self._shown.fingerprint

    @property
    def clocks(self) -> Clocks:
        """This machine's clock beside the brokers', of whoever trusts it least."""
        return min((agent.clocks for agent in self.of.values()), key=lambda c: c.trusted)

    def pipelines(self) -> Mapping[int, Pipeline]:
        """The windows and accounts of each partition of what is shown."""
        return self._shown.pipelines()

    def lags(self) -> Mapping[int, int]:
        """How many records each of them has that were not read yet."""
        return self._shown.lags()

    def awaited(self) -> Mapping[int, float]:
        """For how many seconds each of them has waited for a schema."""
        return self._shown.awaited()

    def blocked(self) -> Mapping[int, tuple[int, float]]:
        """How many of them a transaction upstream holds back, and for how many seconds."""
        return self._shown.blocked()
