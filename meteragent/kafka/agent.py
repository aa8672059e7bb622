"""The life of the agent: start when Kafka is there, run, drain on a signal, end in time."""

import asyncio
import json
import signal
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
from meteragent.kafka.loop import LAST_RETRY_SECONDS, Clock, back_off, unless
from meteragent.kafka.memberships import MembersChanged
from meteragent.kafka.ownership import Ownership, bonds
from meteragent.kafka.preparing import Prepare, Prepared, nothing
from meteragent.kafka.subjects import release_encoder
from meteragent.privacy.entropy import NoiseKey
from meteragent.stream.pipeline import Pipeline
from meteragent.watch.events import AgentFailed, Listener
from meteragent.watch.watched import Clocks

if TYPE_CHECKING:
    from meteragent.formats.forms import ReleaseEncoder

FIRST_RETRY_SECONDS = 0.5
SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Agent:
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
        self._prepare_work = prepare
        self._prepared = Prepared()
        self._config = config
        self._key = key
        self._tell = tell
        self._clients = clients or Clients(config.kafka)
        self._now = clock
        self._wall = wall
        self._ownership = Ownership(config, key)
        self._stopping = asyncio.Event()
        self._progressed = clock()
        self._lasting: dict[str, int] = {}
        """Output -> for how many milliseconds it keeps releases, as it was at the last start."""
        self._encoder: ReleaseEncoder = Encoder()
        self.group: Group | None = None

    async def run(self) -> None:
        """Run until a signal or `stop`; raise what will not get better by waiting."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self.stop)
        try:
            await self.work()
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)

    async def work(self) -> None:
        """The same, where others heed the signals."""
        failures = 0
        while not self._stopping.is_set():
            begun = self._now()
            try:
                await self._run_once()
            except MembersChanged:
                continue
            except (KafkaError, OSError, MeterAgentError, TimeoutError) as error:
                lasted = self._now() - begun > LAST_RETRY_SECONDS
                failures = 1 if lasted else failures + 1
                await self._wait(error, failures)

    def stop(self) -> None:
        """Commit what there is, and end."""
        self._stopping.set()
        if self.group is not None:
            self.group.stop()

    @property
    def fingerprint(self) -> str:
        """Of the noise key, so that instances with different ones are noticed."""
        return self._key.fingerprint

    @property
    def ready(self) -> bool:
        """Whether Kafka is there, and every partition of ours is running."""
        return self.group is not None and not self._stopping.is_set() and self.group.ready

    @property
    def stopping(self) -> bool:
        """Whether it has been told to end."""
        return self._stopping.is_set()

    @property
    def alive(self) -> bool:
        """Whether there is progress: not that the process is up, but that it gets somewhere."""
        return self.stood_still < self._config.agent.progress_deadline / 1000

    @property
    def stood_still(self) -> float:
        """For how many seconds the loop, the brokers or a commit have let wait for them."""
        if self.group is not None:
            self._progressed = max(self._progressed, self.group.progressed)
        return self._now() - self._progressed

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

    async def _wait(self, error: Exception, failures: int) -> None:
        """Back off, unless waiting does not help."""
        if isinstance(error, MeterAgentError) and not error.retriable:
            raise error
        seconds = back_off(FIRST_RETRY_SECONDS, failures)
        self._tell(AgentFailed(error, seconds))
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)
