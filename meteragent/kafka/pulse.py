"""Whether the brokers answer, and how much is left to read: asked once a second, beside the poll.

Why ask: a consumer whose brokers have gone polls on and gets nothing, as on a quiet day, and
the end that it remembers of a partition that waits is as old as its last fetch.
"""

import asyncio
import time
from collections.abc import Callable, Iterable

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError

EVERY_SECONDS = 1.0


class Pulse:
    """What the brokers said last."""

    def __init__(self, consumer: AIOKafkaConsumer, topic: str) -> None:
        self._consumer = consumer
        self._always = TopicPartition(topic, 0)  # to have something to ask where nothing is ours
        self.heard = time.monotonic()
        self.lags: dict[TopicPartition, int] = {}
        """How many records, markers among them, are committed and not yet read."""

    async def run(self, sources: Callable[[], Iterable[TopicPartition]]) -> None:
        """Ask for as long as nobody cancels; `sources` are those that have a position."""
        while True:
            await self._ask(list(sources()))
            await asyncio.sleep(EVERY_SECONDS)

    async def _ask(self, sources: list[TopicPartition]) -> None:
        try:
            ends = await self._consumer.end_offsets([*{self._always, *sources}])
        except (KafkaError, OSError):
            return
        self.heard = time.monotonic()
        self.lags = {
            source: max(0, ends[source] - position)
            for source in sources
            if (position := await self._position(source)) is not None
        }

    async def _position(self, source: TopicPartition) -> int | None:
        try:
            return int(await self._consumer.position(source))
        except IllegalStateError:  # taken away meanwhile
            return None
