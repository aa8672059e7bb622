"""Whether the brokers answer, and how much is left to read: asked once a second, beside the poll.

Why ask: a consumer whose brokers have gone polls on and gets nothing, as on a quiet day, and
the end that it remembers of a partition that waits is as old as its last fetch.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError

from meteragent.errors import MeterAgentError
from meteragent.kafka.clients import Clients
from meteragent.process.loop import Clock

EVERY_SECONDS = 1.0
PATIENCE_SECONDS = 5.0


class Blocked(NamedTuple):
    """Records behind a transaction of somebody else's that has not ended."""

    records: int
    readable: int
    """Where the first of them stands."""
    since: float
    """When the clock said that nothing before it was left to come."""


class Liveness:
    """What the brokers said last."""

    def __init__(self, consumer: AIOKafkaConsumer, clients: Clients, clock: Clock) -> None:
        self._consumer = consumer
        self._clients = clients
        self._clock = clock
        self._always = TopicPartition(clients.kafka.input, 0)  # to ask where nothing is ours
        self.heard = clock()
        self.lags: dict[int, int] = {}
        """Partition -> how many records, markers among them, are not yet read."""
        self.blocked: dict[int, Blocked] = {}
        """Partition -> those of them that nobody may read yet."""

    async def run(
        self,
        sources: Callable[[], Iterable[TopicPartition]],
        refused: Callable[[Exception], None],
    ) -> None:
        """Ask for as long as nobody cancels; `sources` are those that have a position.

        `refused` is told why, if brokers that do not answer let us in no more: the clients
        would knock for ever, many times a second, until the account is locked.
        """
        while True:
            if not await self._ask(list(sources())):
                await self._probe(refused)
            await asyncio.sleep(EVERY_SECONDS)

    async def _probe(self, refused: Callable[[Exception], None]) -> None:
        """Find out why nobody answers; not for long, or an answer would be missed meanwhile."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._clients.probe()
        except MeterAgentError as error:
            if not error.retriable:
                refused(error)
        except TimeoutError:
            return

    async def _ask(self, sources: list[TopicPartition]) -> bool:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                ends = await self._consumer.end_offsets([*{self._always, *sources}])
        except (KafkaError, OSError):
            return False
        self.heard = self._clock()
        lags, blocked = {}, {}
        for source in sources:
            if (position := await self._position(source)) is not None:
                readable = ends[source]  # for who reads what is committed
                end = max(readable, self._consumer.highwater(source) or 0)
                lags[source.partition] = max(0, end - position)
                blocked[source.partition] = self._blocked(source.partition, readable, end)
        self.lags, self.blocked = lags, blocked
        return True

    def _blocked(self, partition: int, readable: int, end: int) -> Blocked:
        before = self.blocked.get(partition)
        same = before is not None and before.records and before.readable == readable
        since = before.since if before is not None and same else self._clock()
        return Blocked(end - readable, readable, since)

    async def _position(self, source: TopicPartition) -> int | None:
        try:
            return int(await self._consumer.position(source))
        except IllegalStateError:  # taken away meanwhile
            return None
