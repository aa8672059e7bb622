"""The life of a gateway: read back what is on the disk, connect again and again, end.

Only the connection is given up and made anew while the gateway lives. Whatever goes wrong with
what is on the disk ends it: begun again, it reads back what is true.
"""

import asyncio
import time
from collections.abc import Coroutine
from contextlib import closing, suppress
from functools import partial

from meteragent.config import Config
from meteragent.errors import BrokerUnreachable
from meteragent.files.ledger import SqliteLedger
from meteragent.gateway.connection import Connection, connected
from meteragent.gateway.disk import Disk, RealDisk
from meteragent.gateway.journal import MEGABYTE, Journal
from meteragent.gateway.traffic import Traffic
from meteragent.gateway.works import HERE, Works
from meteragent.privacy.entropy import NoiseKey
from meteragent.process.instance import Instance
from meteragent.process.loop import Clock, unless
from meteragent.stream.partition import State
from meteragent.stream.pipeline import Pipeline
from meteragent.watch.events import Listener, PartitionMoved, SessionLost
from meteragent.watch.watched import Clocks


class Gateway(Instance):
    """One gateway. It waits for its broker for ever, and never gives up data."""

    def __init__(
        self,
        config: Config,
        key: NoiseKey,
        tell: Listener,
        *,
        accept_loss: bool = False,
        clock: Clock = time.monotonic,
        wall: Clock = time.time,
    ) -> None:
        super().__init__(config, key, tell, clock, wall)
        self._accept_loss = accept_loss
        self._expected = False
        """Whether the broker should have a session of ours."""
        self._works: Works | None = None
        self._traffic: Traffic | None = None
        self._echoes = 0

    async def work(self) -> None:
        """Until it is told to end: commit what there is, send it, and end."""
        try:
            with closing(SqliteLedger(str(self._config.mqtt.ledger))) as ledger:
                await self._work(ledger, RealDisk(self._config.mqtt.journal))
        finally:
            self._works = None

    async def _work(self, ledger: SqliteLedger, disk: Disk) -> None:
        mqtt = self._config.mqtt
        journal = Journal(disk, str(mqtt.journal), limit=mqtt.journal_limit * MEGABYTE)
        with closing(journal):
            works = Works(self._config, self._key, journal, ledger, self._tell, self._now)
            self._expected = not works.is_new
            self._moved(State.RESTORING)
            for _ in works.restore(accept_loss=self._accept_loss):
                self._progressed = self._now()
                await asyncio.sleep(0)
                if self._stopping.is_set():
                    return
            self._works = works
            await self._again_and_again(partial(self._connect, works), BrokerUnreachable)
            works.commit()
        self._moved(State.LOST)

    async def _connect(self, works: Works) -> None:
        """Once, for as long as it lasts."""
        try:
            async with connected(self._config.mqtt) as connection:
                if self._expected and not connection.session_present:
                    self._tell(SessionLost(HERE))
                self._expected = True
                await self._talk(connection, works)
        except BrokerUnreachable:
            works.commit()
            self._moved(State.FAILED)
            raise

    async def _talk(self, connection: Connection, works: Works) -> None:
        """Until it ends, or we are told to."""
        mqtt, agent = self._config.mqtt, self._config.agent
        traffic = Traffic(connection, works, mqtt, agent.max_batch, self._milliseconds)
        self._traffic = traffic
        self._moved(State.RUNNING)
        jobs = (traffic.intake(), traffic.echo(), traffic.sending(), self._keep(works, traffic))
        try:
            await unless(self._stopping, _all(*jobs))
        finally:
            self._traffic = None
        if self._stopping.is_set():
            self._moved(State.DRAINING)
            works.commit()
            with suppress(TimeoutError):
                async with asyncio.timeout(agent.drain_deadline / 1000):
                    await traffic.send_all()

    async def _keep(self, works: Works, traffic: Traffic) -> None:
        """Commit what is due, and see whether there is progress."""
        while True:
            await asyncio.sleep(self._config.agent.commit_interval / 1000)
            if works.is_due:
                works.commit()
                traffic.wake()
            if traffic.echoes > 0 and traffic.echoes != self._echoes:
                self._echoes, self._progressed = traffic.echoes, self._now()

    async def _wait(self, error: BaseException, seconds: float) -> None:
        self._progressed = self._now()  # to be started anew would not bring the broker back
        await super()._wait(error, seconds)

    def _moved(self, state: State) -> None:
        self._tell(PartitionMoved(HERE, state))

    def _milliseconds(self) -> int:
        return int(self._wall() * 1000)

    # What is asked by those who show how it is.

    @property
    def ready(self) -> bool:
        """Whether the broker lets us read, and we have heard ourselves over this connection."""
        heard = self._traffic is not None and self._traffic.echoes > 0
        return heard and not self._stopping.is_set()

    @property
    def clocks(self) -> Clocks:
        """This machine's is the only one."""
        return Clocks()

    def awaited(self) -> dict[int, float]:
        """Schemas are of Kafka's messages."""
        return {}

    def pipelines(self) -> dict[int, Pipeline]:
        """Windows and accounts, once they are read back."""
        return {HERE: self._works.pipeline} if self._works else {}

    def lags(self) -> dict[int, int]:
        """How much a broker keeps for us, it does not say."""
        return {}

    def blocked(self) -> dict[int, tuple[int, float]]:
        """Nothing is."""
        return {}

    @property
    def journal_bytes(self) -> int:
        """How large the journal is."""
        return self._works.journal.size if self._works else 0

    @property
    def unsent(self) -> int:
        """How many messages the broker does not have yet."""
        return self._works.outbox.waiting if self._works else 0


async def _all(*jobs: Coroutine[object, object, None]) -> None:
    """Do all of them until the first one fails; then none of them goes on."""
    tasks = [asyncio.ensure_future(job) for job in jobs]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for one in ended:
        if isinstance(one, BaseException) and not isinstance(one, asyncio.CancelledError):
            raise one
