"""The life of the agent: start when Kafka is there, run, drain on a signal, end in time."""

import asyncio
import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from aiokafka.errors import KafkaError

from meteragent.config import Config
from meteragent.errors import MeterAgentError
from meteragent.formats.encoder import Encoder
from meteragent.kafka import fitness, topics
from meteragent.kafka.clients import Clients
from meteragent.kafka.group import Group
from meteragent.kafka.memberships import MembersChanged
from meteragent.kafka.ownership import Ownership, bonds
from meteragent.kafka.preparing import Prepare, Prepared, nothing
from meteragent.kafka.subjects import release_encoder
from meteragent.privacy.entropy import NoiseKey
from meteragent.process.instance import Instance
from meteragent.process.loop import Clock, unless
from meteragent.stream.pipeline import Pipeline
from meteragent.watch.events import Listener
from meteragent.watch.watched import Clocks

if TYPE_CHECKING:
    from meteragent.formats.forms import ReleaseEncoder


class Agent(Instance):
    """One instance. It starts over for as long as Kafka may come back, and never gives up data."""

    def __init__(
        self,
        config: Config,
        key: NoiseKey,
        tell: Listener,
        clients: Clients | None = None,
        clock: Clock = time.monotonic,
        wall: Clock = time.time,
        prepare: Prepare = nothing,
    ) -> None:
        """`prepare` learns what its work has to know before it begins."""
        super().__init__(config, key, tell, clock, wall)
        self._prepare_work = prepare
        self._prepared = Prepared()
        self._clients = clients or Clients(config.kafka)
        self._ownership = Ownership(config, key)
        self._lasting: dict[str, int] = {}
        """Output -> for how many milliseconds it keeps releases, as it was at the last start."""
        self._encoder: ReleaseEncoder = Encoder()
        self.group: Group | None = None

    async def work(self) -> None:
        """Until it is told to end; whatever Kafka may get over is waited for."""
        patient = (KafkaError, OSError, MeterAgentError, TimeoutError)
        await self._again_and_again(self._with_these_members, *patient)

    def stop(self) -> None:
        """Commit what there is, and end."""
        super().stop()
        if self.group is not None:
            self.group.stop()

    @property
    def ready(self) -> bool:
        """Whether Kafka is there, and every partition of ours is running."""
        return self.group is not None and not self._stopping.is_set() and self.group.ready

    @property
    def stood_still(self) -> float:
        """For how many seconds the loop, the brokers or a commit have made no progress."""
        if self.group is not None:
            self._progressed = max(self._progressed, self.group.progressed)
        return super().stood_still

    @property
    def clocks(self) -> Clocks:
        """This machine's clock beside the brokers'; that is only needed where a partition is."""
        return self.group.clock.seen() if self.group and self.group.workers else Clocks()

    def pipelines(self) -> dict[int, Pipeline]:
        """The windows and accounts of each partition of ours that has them."""
        workers = self.group.workers.values() if self.group else ()
        return {w.partition: w.pipeline for w in workers if w.pipeline is not None}

    def lags(self) -> dict[int, int]:
        """How many records each partition of ours has that were not read yet, where known."""
        return self.group.liveness.lags if self.group else {}

    def blocked(self) -> dict[int, tuple[int, float]]:
        """How many of them a transaction upstream holds back, and for how many seconds."""
        blocked = self.group.liveness.blocked if self.group else {}
        return {
            partition: (held.records, self._now() - held.since if held.records else 0.0)
            for partition, held in blocked.items()
        }

    def awaited(self) -> dict[int, float]:
        """For how many seconds each partition of ours has waited for a schema."""
        workers = self.group.workers.values() if self.group else ()
        return {worker.partition: worker.wanted.seconds for worker in workers}

    async def _with_these_members(self) -> None:
        with suppress(MembersChanged):  # then at once again, with those that there are now
            await self._run_once()

    async def _run_once(self) -> None:
        partitions = await unless(self._stopping, self._prepare())
        if partitions is None or self._stopping.is_set():
            return
        self.group = Group(
            self._config,
            self._key,
            self._tell,
            self._clients,
            self._now,
            self._wall,
            partitions=partitions,
            owner=self._ownership,
            lasting=self._lasting,
            encoder=self._encoder,
            prepared=self._prepared,
        )
        try:
            await self.group.run()
        finally:
            self._progressed = max(self._progressed, self.group.progressed)
            self.group = None

    async def _prepare(self) -> int:
        partitions = await topics.refuse_unfit(self._config, self._clients)
        async with topics.admin(self._clients) as admin:  # before anybody is fenced
            described = await topics.describe(admin, self._config.kafka)
            self._lasting = fitness.lasting(self._config.kafka, described)
            found = await bonds(admin, self._config, partitions)
            self._ownership.refuse_others(self._ownership.claim(partitions), found.values())
            self._prepared = await self._prepare_work(admin, self._clients)
        async with asyncio.timeout(self._config.kafka.request_timeout / 1000):
            await self._publish_policies()
        self._encoder = await release_encoder(self._config)
        return partitions

    async def _publish_policies(self) -> None:
        """Once each: the topic is compacted by policy id, so again changes nothing."""
        producer = self._clients.producer(None)
        try:
            await producer.start()
            topic = self._config.kafka.policies
            for policy in self._config.policies:
                document = json.dumps(policy.document(), separators=(",", ":")).encode()
                await producer.send_and_wait(topic, document, key=policy.id.encode())
        finally:
            await self._clients.close(producer)
